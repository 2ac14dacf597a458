//! The stream of a gateway: which users are connected to it, and what others change of them.

use std::future::Future;
use std::pin::Pin;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use tokio::sync::mpsc;
use tokio::time::{Interval, interval};
use tonic::{Status, Streaming};

use super::{GatewayService, LOOK_INTERVAL, StoreState};
use domain::devices::gateways::{Message, Stream};
use domain::gateway_messages::encode_day;
use domain::gateway_messages::wire::follow_event::Event;
use domain::gateway_messages::wire::{Away, FollowEvent, FollowRequest, Hello};
use model::ids::{GatewayId, UserId};
use model::shard::Shard;

/// The way to the gateway.
struct Outgoing {
    messages: mpsc::Receiver<Message>,
    /// The begin of a drain; `None`: the gateway knows of it.
    ending: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    store: StoreState,
    /// The shards that the gateway was last told to be away.
    away: Vec<Shard>,
    look: Interval,
}

pub async fn follow(
    service: &GatewayService,
    mut requests: Streaming<FollowRequest>,
) -> Result<BoxStream<'static, Result<FollowEvent, Status>>, Status> {
    let first = requests.message().await?.ok_or_else(|| Status::invalid_argument("the first request is missing"))?;
    let stop = &service.context.stop;
    if stop.is_ending() {
        return Err(super::status::unavailable("the history service drains"));
    }
    let (mut stream, messages) = service.gateways.connect(GatewayId(first.gateway));
    apply(&mut stream, &first);
    tokio::spawn(async move {
        while let Ok(Some(request)) = requests.message().await {
            apply(&mut stream, &request);
        }
        // The gateway is gone, and with it the stream and the receiver's other end.
    });
    let (store, away) = (service.store.clone(), service.store.away());
    let hello = Hello {
        away: Some(encode_away(&away)),
        store: service.backing.store.clone(),
        today: encode_day(Some(service.context.connect_lookup.today())),
        rules_per_user: service.backing.rules_per_user,
        rules_per_content: service.backing.rules_per_content,
        settings: service.backing.settings.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
    };
    let look = interval(LOOK_INTERVAL);
    let outgoing = Outgoing { messages, ending: Some(Box::pin(stop.ending())), store, away, look };
    let hello = stream::once(async { Ok(event(Event::Hello(hello))) });
    Ok(hello.chain(stream::unfold(outgoing, Outgoing::next)).boxed())
}

fn apply(stream: &mut Stream, request: &FollowRequest) {
    request.come.iter().for_each(|mid| stream.come(UserId(*mid)));
    request.left.iter().for_each(|mid| stream.left(UserId(*mid)));
}

fn event(event: Event) -> FollowEvent {
    FollowEvent { event: Some(event) }
}

fn encode_away(away: &[Shard]) -> Away {
    Away { shards: away.iter().map(|shard| shard.0.into()).collect() }
}

impl Outgoing {
    async fn next(mut self) -> Option<(Result<FollowEvent, Status>, Self)> {
        let next = loop {
            let goodbye = async {
                match &mut self.ending {
                    Some(ending) => ending.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = goodbye => {
                    self.ending = None;
                    break Event::Goodbye(true);
                }
                _ = self.look.tick() => {
                    let away = self.store.away();
                    if away != self.away {
                        self.away = away;
                        break Event::Away(encode_away(&self.away));
                    }
                }
                message = self.messages.recv() => break Event::Told(message?.encode()),
            }
        };
        Some((Ok(event(next)), self))
    }
}
