//! Kicked users that may not reconnect yet.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use tokio::time::sleep;

use super::inbox::CloseRequest;
use super::presence::Presence;
use model::ids::UserId;
use storage::device_channel::{Alone, Announcement, ChannelAway, DeviceChannel};

/// How long a kicked user is refused.
pub const BLOCKED_FOR: Duration = Duration::from_secs(60);
/// How long a kick tries to reach the other gateways.
const TOLD_WITHIN: Duration = Duration::from_secs(2);
const TOLD_AGAIN_AFTER: Duration = Duration::from_millis(250);
/// Users blocked at one time; beyond it the block that would end first ends early.
const BLOCKED_MAX: usize = 65_536;

/// Closes a user's connections, and refuses new ones for a while. Does not outlive the process.
pub struct KickList {
    presence: Arc<Presence>,
    channel: Arc<dyn DeviceChannel>,
    /// Called with each user who is kicked; must not block.
    heard: Box<dyn Fn(UserId) + Send + Sync>,
    until: Mutex<HashMap<UserId, Instant>>,
    /// Saves the lock while no user is blocked, which is nearly always.
    any: AtomicBool,
}

impl KickList {
    /// The kick list of a single gateway.
    pub fn new(presence: Arc<Presence>) -> Self {
        Self::with_channel(presence, Arc::new(Alone), Box::new(|_| {}))
    }

    /// The kick list of one gateway among several. `heard` is called with each user who is kicked, here or elsewhere;
    /// it must not block.
    pub fn with_channel(
        presence: Arc<Presence>,
        channel: Arc<dyn DeviceChannel>,
        heard: Box<dyn Fn(UserId) + Send + Sync>,
    ) -> Self {
        KickList { presence, channel, heard, until: Mutex::default(), any: AtomicBool::new(false) }
    }

    /// Kicks here, and announces the kick to the other gateways. While that fails it is tried again for two seconds,
    /// since the channel may be reconnecting. `at`: by the server's clock, milliseconds.
    ///
    /// # Errors
    /// The user was kicked here, and perhaps on no other gateway. The caller may kick again.
    pub async fn kick_everywhere(&self, user: UserId, at: u64, now: Instant) -> Result<(), ChannelAway> {
        self.kick(user, now);
        loop {
            match self.channel.announce(Announcement::Kicked(user, at)).await {
                Err(_) if now.elapsed() < TOLD_WITHIN => sleep(TOLD_AGAIN_AFTER).await,
                told => return told,
            }
        }
    }

    /// A kick of another gateway, which may be late: it refuses the user for what is left of its time, and after that
    /// closes nothing. `at`: when it was made; 0 = that is not known. `now`: both by the server's clock, milliseconds.
    pub fn kicked_elsewhere(&self, user: UserId, at: u64, now: u64) {
        let age = if at == 0 { Duration::ZERO } else { Duration::from_millis(now.saturating_sub(at)) };
        let left = BLOCKED_FOR.saturating_sub(age);
        if !left.is_zero() {
            self.refuse(user, Instant::now(), left);
        }
    }

    /// Kicks here alone.
    pub fn kick(&self, user: UserId, now: Instant) {
        self.refuse(user, now, BLOCKED_FOR);
    }

    fn refuse(&self, user: UserId, now: Instant, time: Duration) {
        let mut until = self.lock();
        if until.len() >= BLOCKED_MAX {
            until.retain(|_, end| *end > now);
        }
        if until.len() >= BLOCKED_MAX {
            let soonest = until.iter().min_by_key(|(_, end)| **end).map(|(user, _)| *user);
            soonest.map(|user| until.remove(&user));
        }
        // A kick that comes twice is no later one.
        let end = until.entry(user).or_insert(now);
        *end = (*end).max(now + time);
        self.any.store(true, Ordering::Release);
        drop(until);
        (self.heard)(user);
        self.presence.dismiss(user, CloseRequest::Kicked);
    }

    /// Whether the user is refused. Call it after the connection is registered, so that no connection escapes a kick.
    pub fn refuses(&self, user: UserId, now: Instant) -> bool {
        if !self.any.load(Ordering::Acquire) {
            return false;
        }
        let mut until = self.lock();
        let blocked = until.get(&user).is_some_and(|end| *end > now);
        if !blocked {
            until.remove(&user);
            self.any.store(!until.is_empty(), Ordering::Release);
        }
        blocked
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<UserId, Instant>> {
        self.until.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::ready_list::Notifier;
    use model::revocation::TokenMark;
    use model::visitor::Visitor;

    #[test]
    fn a_kicked_user_is_refused_for_a_minute() {
        let (kick_list, now) = (KickList::new(Presence::new(8)), Instant::now());
        kick_list.kick(UserId(1), now);
        assert!(kick_list.refuses(UserId(1), now + BLOCKED_FOR - Duration::from_millis(1)));
        assert!(!kick_list.refuses(UserId(2), now));
        assert!(!kick_list.refuses(UserId(1), now + BLOCKED_FOR));
    }

    #[test]
    fn a_kick_that_arrives_late_holds_for_what_is_left_of_its_time() {
        const MADE: u64 = 1_795_150_000_000;
        let presence = Presence::new(8);
        let connect =
            || presence.register(UserId(1), TokenMark::default(), Visitor::default(), Notifier::Own(Arc::default()));
        let kick_list = KickList::new(presence.clone());
        let connected = connect();
        kick_list.kicked_elsewhere(UserId(1), MADE, MADE + 60_000);
        assert!(!kick_list.refuses(UserId(1), Instant::now()), "its time is over");
        assert_eq!(connected.inbox().take(Instant::now()).close_request, None);
        kick_list.kicked_elsewhere(UserId(1), MADE, MADE + 40_000);
        let now = Instant::now();
        assert!(kick_list.refuses(UserId(1), now + Duration::from_secs(15)));
        assert!(!kick_list.refuses(UserId(1), now + Duration::from_secs(21)));
        assert_eq!(connected.inbox().take(now).close_request, Some(CloseRequest::Kicked));
        kick_list.kicked_elsewhere(UserId(2), 0, MADE);
        assert!(kick_list.refuses(UserId(2), now + Duration::from_secs(59)), "an older version does not say when");
    }

    #[test]
    fn a_kick_closes_what_is_open() {
        let presence = Presence::new(8);
        let registration =
            presence.register(UserId(1), TokenMark::default(), Visitor::default(), Notifier::Own(Arc::default()));
        KickList::new(presence).kick(UserId(1), Instant::now());
        assert_eq!(registration.inbox().take(Instant::now()).close_request, Some(CloseRequest::Kicked));
    }
}
