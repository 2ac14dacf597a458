//! The end of a subscriber: its queue goes at once, and the answer comes when no try of it can begin any more.
//!
//! It is deleted once. A subscriber that is made under the same id while the lease is waited for is another one, and stays.

use super::{SubscribersError, in_time, lease_end};
use model::subscribers::SubscriberId;
use storage::owner_queues::{Change, Changed, OwnerQueues};

pub async fn delete(queues: &dyn OwnerQueues, id: &SubscriberId) -> Result<(), SubscribersError> {
    loop {
        let (version, owner) = in_time(queues.owner(id.clone())).await?;
        if version == 0 && owner.is_none() {
            return Err(SubscribersError::Missing);
        }
        match in_time(queues.change(id.clone(), version, Change::Delete)).await? {
            Changed::Moved(_) => {}
            Changed::Done { version, leased_for, .. } => {
                return lease_end::wait(queues, id, &Change::Delete, version, leased_for).await;
            }
            Changed::Missing { leased_for } => {
                return lease_end::wait(queues, id, &Change::Delete, version, leased_for).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::time::{Instant, sleep};

    use super::*;
    use model::subscribers::Subscriber;
    use storage::event_bus::part::{Offsets, Part};
    use storage::owner_queues::{Append, Bounds, Limit, Version};
    use storage_embedded::owner_queues::EmbeddedQueues;

    const BOUNDS: Bounds = Bounds { events: 100, bytes: 1 << 20, age: Duration::from_hours(1) };

    async fn put(queues: &EmbeddedQueues, id: &SubscriberId) -> Version {
        let json = r#"{"url":"https://example.com/","types":["dev.heartline.reward.v1"],"batch":1,
            "secrets":{"newest":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}}"#;
        let subscriber: Arc<Subscriber> = Arc::new(serde_json::from_str(json).unwrap());
        let version = queues.owner(id.clone()).await.unwrap().0;
        match queues.change(id.clone(), version, Change::Put { subscriber, ends: Offsets::new() }).await.unwrap() {
            Changed::Done { version, .. } => version,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn an_owner_that_is_made_while_the_lease_is_waited_for_stays() {
        let directory = tempfile::tempdir().unwrap();
        let queues = Arc::new(EmbeddedQueues::open(directory.path(), BOUNDS, Arc::new(|| 1_000)).unwrap());
        let (id, lease) = ("a".parse::<SubscriberId>().unwrap(), Duration::from_millis(500));
        let incarnation = put(&queues, &id).await;
        let append = Append { owner: id.clone(), incarnation, offset: 1, event: "{}".into() };
        queues.append(Part::new("log"), vec![append]).await.unwrap();
        let began = Instant::now();
        assert_eq!(queues.take(Limit::of(1), lease).await.unwrap().taken.len(), 1);
        let (queues_too, id_too) = (queues.clone(), id.clone());
        let deletion = tokio::spawn(async move { delete(&*queues_too, &id_too).await });
        while queues.owner(id.clone()).await.unwrap().1.is_some() {
            sleep(Duration::from_millis(1)).await;
        }
        let made = put(&queues, &id).await;
        deletion.await.unwrap().unwrap();
        assert!(began.elapsed() >= lease, "the lease is not over");
        assert_eq!(queues.owner(id).await.unwrap().1.unwrap().unwrap().incarnation, made);
    }
}
