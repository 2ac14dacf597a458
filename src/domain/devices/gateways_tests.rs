use std::future::ready;

use super::*;
use model::ids::ConnectionId;
use model::push::Push;

const USER: UserId = UserId(42);

/// The calls that the inner channel has received.
#[derive(Default)]
struct Inner(Mutex<Vec<String>>);

impl DeviceChannel for Inner {
    fn follow(&self, user: UserId) {
        self.0.lock().push(format!("follow {}", user.0));
    }

    fn unfollow(&self, user: UserId) {
        self.0.lock().push(format!("unfollow {}", user.0));
    }

    fn publish(&self, user: UserId, _change: UserChange) {
        self.0.lock().push(format!("tell {}", user.0));
    }

    fn announce(&self, announcement: Announcement) -> BoxFuture<'static, Result<(), ChannelAway>> {
        self.0.lock().push(format!("{announcement:?}"));
        Box::pin(ready(Ok(())))
    }
}

fn gateways() -> (Arc<Gateways>, Arc<Inner>) {
    let inner = Arc::new(Inner::default());
    (Gateways::before(inner.clone()), inner)
}

fn change() -> UserChange {
    UserChange { origin: ConnectionId(1), push: Push::Recording { paused: true }, steady: false }
}

fn heard(messages: &mut mpsc::Receiver<Message>) -> Vec<Message> {
    std::iter::from_fn(|| messages.try_recv().ok()).collect()
}

#[test]
fn a_user_is_followed_behind_from_the_first_to_the_last_follower() {
    let (gateways, inner) = gateways();
    let (mut one, _messages) = gateways.connect(GatewayId(1));
    let (mut two, _messages) = gateways.connect(GatewayId(2));
    gateways.follow(USER);
    one.come(USER);
    two.come(USER);
    one.come(USER);
    gateways.unfollow(USER);
    one.left(USER);
    assert_eq!(*inner.0.lock(), ["follow 42"]);
    drop(two);
    assert_eq!(*inner.0.lock(), ["follow 42", "unfollow 42"]);
}

#[test]
fn the_gateway_that_sent_a_change_is_not_told_of_it() {
    let (gateways, _) = gateways();
    assert!(!gateways.has_followers(USER, None));
    let (mut one, mut of_one) = gateways.connect(GatewayId(1));
    let (mut two, mut of_two) = gateways.connect(GatewayId(2));
    one.come(USER);
    assert!(!gateways.has_followers(USER, Some(GatewayId(1))) && gateways.has_followers(USER, None));
    two.come(USER);
    gateways.publish_to_followers(USER, &change(), Some(GatewayId(1)));
    assert_eq!((heard(&mut of_one), heard(&mut of_two)), (vec![], vec![Message::Changed(USER, change())]));
    gateways.publish_to_followers(UserId(7), &change(), None);
    assert_eq!(heard(&mut of_two), []);
}

#[test]
fn a_gateway_that_connects_again_goes_on_when_its_old_stream_ends() {
    let (gateways, inner) = gateways();
    let (mut old, _messages) = gateways.connect(GatewayId(1));
    old.come(USER);
    let (mut new, mut messages) = gateways.connect(GatewayId(1));
    new.come(USER);
    drop(old);
    gateways.publish_to_followers(USER, &change(), None);
    assert_eq!(heard(&mut messages).len(), 1);
    assert_eq!(*inner.0.lock(), ["follow 42"]);
}

#[tokio::test]
async fn an_announcement_goes_to_all_others_and_behind() {
    let (gateways, inner) = gateways();
    let (_one, mut of_one) = gateways.connect(GatewayId(1));
    let (_two, mut of_two) = gateways.connect(GatewayId(2));
    let kick = Announcement::Kicked(USER, 5);
    gateways.announced(GatewayId(1), kick).await.expect("told");
    assert_eq!((heard(&mut of_one), heard(&mut of_two)), (vec![], vec![Message::Announced(kick)]));
    assert_eq!(*inner.0.lock(), [format!("{kick:?}")]);
}

#[test]
fn a_gateway_that_does_not_read_loses_messages() {
    let (gateways, _) = gateways();
    let (mut one, mut messages) = gateways.connect(GatewayId(1));
    one.come(USER);
    (0..=WAITING_MAX).for_each(|_| gateways.publish_to_followers(USER, &change(), None));
    assert_eq!((heard(&mut messages).len(), gateways.dropped.get()), (WAITING_MAX, 1));
}
