//! The end of a lease that a worker was given before its subscriber was paused or deleted: until then the worker may begin
//! tries.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{SubscribersError, in_time};
use model::subscribers::SubscriberId;
use storage::owner_queues::{Change, Changed, OwnerQueues, Version};

const LOOK_AFTER: Duration = Duration::from_millis(50);
/// A look may be a change, so there are fewer and fewer.
const LOOK_EVERY_MAX: Duration = Duration::from_secs(1);

/// Waits for that end. `version`: after the change, when a lease still lasted for `leased_for`. Each look repeats the
/// change, and names that version: a subscriber that was resumed or made meanwhile stays as it is.
pub async fn wait(
    queues: &dyn OwnerQueues,
    id: &SubscriberId,
    change: &Change,
    mut version: Version,
    leased_for: Duration,
) -> Result<(), SubscribersError> {
    let (end, mut left, mut look_after) = (Instant::now() + leased_for, leased_for, LOOK_AFTER);
    while !left.is_zero() {
        sleep(left.min(look_after)).await;
        look_after = LOOK_EVERY_MAX.min(look_after * 2);
        left = match in_time(queues.change(id.clone(), version, change.clone())).await? {
            // A worker ends its lease early when its turn is over.
            Changed::Done { version: raised, leased_for, .. } => {
                version = raised;
                leased_for
            }
            Changed::Missing { leased_for } => leased_for,
            Changed::Moved(_) => end.saturating_duration_since(Instant::now()),
        };
    }
    Ok(())
}
