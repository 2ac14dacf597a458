//! Removes what clears and the retention have left, in steps, so that no commit waits long. Until then no read returns
//! it, and nothing brings it back.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::commit::Optimistic;
use super::draft::{Draft, Finished};
use super::known::{Known, Need};
use super::{Applied, Apply, Load, UserStore};
use crate::model::ids::UserId;
use crate::storage::hot_store::StoreError;

/// Users at one time. One more keeps what is left until the next time.
const SWEEPS_MAX: usize = 64;

pub struct Sweeper(Arc<Semaphore>);

impl Sweeper {
    pub fn new() -> Self {
        Sweeper(Arc::new(Semaphore::new(SWEEPS_MAX)))
    }

    /// Goes on in a task of its own. `now`: the server's clock, milliseconds.
    pub fn sweep<S: UserStore>(&self, store: Optimistic<S>, user: UserId, now: u64) {
        let Ok(permit) = self.0.clone().try_acquire_owned() else { return };
        tokio::spawn(async move {
            let _permit = permit;
            let mut more = Ok(true);
            while let Ok(true) = more {
                more = step(&store, user, now).await;
            }
            if let Err(error) = more {
                tracing::warn!(%error, "cleared records not removed; they stay hidden until the next change of the user");
            }
        });
    }
}

/// True: there may be more.
async fn step<S: UserStore>(store: &Optimistic<S>, user: UserId, now: u64) -> Result<bool, StoreError> {
    let shared = &store.shared;
    let horizon = shared.limits.horizon(now);
    let mut alone = shared.enter_alone(user);
    let mut known = match alone.head().await? {
        Some(head) => Known::of_head(Some(head)),
        None => {
            let mut known = Known::default();
            let load = Load { user, needs: vec![Need::Head] };
            shared.load(&[load]).await?.into_iter().for_each(|loaded| known.add(loaded));
            known
        }
    };
    let Some(Some(head)) = &known.head else { return Ok(false) };
    let (expected, until) = (head.token, head.forgetting.watermark.max(horizon.saturating_sub(1)));
    let load = Load { user, needs: vec![Need::Dead(until, horizon)] };
    for loaded in shared.load(&[load]).await? {
        match loaded.unreadable {
            Some(why) => return Err(StoreError::Away(why)),
            None => known.add(loaded),
        }
    }
    let Ok(mut draft) = Draft::new(&known) else { return Ok(false) };
    let found = draft.sweep(horizon).unwrap_or(false);
    // What went is told to nobody yet: see `Cause`.
    let Some(Finished { mut head, writes, .. }) = draft.finish(now, horizon).filter(|_| found) else {
        known.head.flatten().into_iter().for_each(|head| alone.remember(head));
        return Ok(false);
    };
    head.renew(shared.tokens.next(Some(expected), now));
    let apply = Apply { user, expected: Some(expected), head: Some(head.clone()), writes, news: false };
    if let Some(Applied::Done { .. }) = shared.store.apply(&[&apply]).await?.first() {
        alone.remember(head);
    }
    // Refused: another gateway was here. The next step begins with what is there now.
    Ok(true)
}
