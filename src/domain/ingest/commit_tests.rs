use std::collections::VecDeque;

use futures_util::future::{BoxFuture, FutureExt, ready};
use parking_lot::Mutex;
use prometheus_client::registry::Registry;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, yield_now};

use super::*;
use crate::commit_listener::CommittedChange;
use crate::devices::inbox::Inbox;
use crate::devices::inbox::tests::inbox;
use crate::devices::ready_list::Notifier;
use crate::ingest::hold_index::HoldIndex;
use crate::ingest::submit_queue::Completions;
use crate::ingest::submit_queue::tests::{beat, play, submit};
use crate::ingest::user_trace::UserTrace;
use crate::rewards::config::RewardsConfig;
use crate::rewards::memory::Memory;
use crate::rewards::metrics::{Metrics as RewardMetrics, ViewsByPlayback};
use crate::rewards::today::Today;
use model::change::{Action, Outcome};
use model::ids::{Content, UserId};
use model::mid_hash::MidHash;
use model::outbox_entry::OutboxEntry;
use model::page::{Page, PageRequest};
use model::recording::Switch;
use model::rewards::rule::Rules;
use model::rows_read::RowsRead;
use model::shard::Shards;
use model::transition::{Cause, Transition};
use model::visitor::Visitor;
use storage::hot_store::{Answer, Found};
use storage::outbox::{Outbox, OutboxNumber};

const SIDE_BY_SIDE: usize = 2;

/// A store that commits two groups concurrently, and ends each when and how the test says.
#[derive(Default)]
struct Told {
    begun: Mutex<VecDeque<Begun>>,
}

/// The moment of the order or beat in the group, by which the test knows it, and where its end is awaited.
type Begun = (u64, oneshot::Sender<Result<(), StoreError>>);

impl Told {
    /// The commits that began since the last look.
    fn begun(&self) -> Vec<Begun> {
        self.begun.lock().drain(..).collect()
    }
}

impl Positions for Told {
    fn commit<'a>(&'a self, group: &'a Group) -> BoxFuture<'a, Result<Committed, StoreError>> {
        let moments: Vec<u64> = group.changes.iter().map(|change| moment(&change.action)).collect();
        let (end, ended) = oneshot::channel();
        self.begun.lock().push_back((moments[0], end));
        async move {
            ended.await.expect("the test ends each")?;
            let transitions = moments.iter().map(|at| transition(*at)).enumerate().collect();
            let outcomes = moments.into_iter().map(|at| Outcome::Cleared { moved: true, at }).collect();
            Ok(Committed { outcomes, transitions, ..Committed::default() })
        }
        .boxed()
    }

    fn groups_max(&self) -> usize {
        SIDE_BY_SIDE
    }

    fn get(&self, _: UserId, _: Vec<Content>, _: u64) -> Answer<Found> {
        ready(Ok(Found::default())).boxed()
    }

    fn list(&self, _: UserId, _: PageRequest, _: u64, _: RowsRead) -> Answer<Page> {
        ready(Ok(Page::default())).boxed()
    }

    fn last_switch(&self, _: UserId) -> Answer<Option<Switch>> {
        ready(Ok(None)).boxed()
    }
}

impl Outbox for Told {
    fn read(&self, _: OutboxNumber, _: usize) -> Answer<Vec<(OutboxNumber, OutboxEntry)>> {
        ready(Ok(Vec::new())).boxed()
    }

    fn remove(&self, _: Vec<OutboxNumber>) -> Answer<()> {
        ready(Ok(())).boxed()
    }

    fn len(&self) -> u64 {
        0
    }
}

fn moment(action: &Action) -> u64 {
    match action {
        Action::Clear { at } => *at,
        Action::Beat { beat, .. } => beat.at,
        other => panic!("not asked for: {other:?}"),
    }
}

/// The change of a record that the store returns for the order of that moment.
fn transition(at: u64) -> Transition {
    let (content, cause) = (Content { kind: 1, oid: at }, Cause::Clear);
    Transition { user: UserId(at), content, before: None, after: None, cause }
}

/// A committer over such a store, and the order in which its groups were heard of.
struct Scene {
    store: Arc<Told>,
    submit_queue: Arc<SubmitQueue>,
    scribe: Arc<Scribe>,
    committer: JoinHandle<StoreError>,
    registry: Registry,
}

/// A listener that records its calls.
struct Scribe {
    heard: Mutex<Vec<u64>>,
    /// How many lists of answers were handed back at each call.
    answered: Mutex<Vec<usize>>,
    completions: Mutex<Completions>,
}

impl CommitListener for Scribe {
    fn name(&self) -> &'static str {
        "scribe"
    }

    fn committed(&self, group: &CommittedGroup) {
        self.answered.lock().push(self.completions.lock().waiting());
        for change in &group.changes {
            let CommittedChange { user, outcome: Outcome::Cleared { at, .. }, .. } = change else {
                panic!("nothing else was asked for: {change:?}")
            };
            assert_eq!(*user, UserId(*at));
            assert_eq!(group.transitions_of(change).collect::<Vec<_>>(), [&transition(*at)]);
            self.heard.lock().push(*at);
        }
    }
}

/// A listener that panics at each call.
struct Nervous;

impl CommitListener for Nervous {
    fn name(&self) -> &'static str {
        "nervous"
    }

    fn committed(&self, group: &CommittedGroup) {
        panic!("the test wants it: {}", group.changes.len());
    }
}

impl Scene {
    fn new() -> Self {
        Scene::beside(Vec::new())
    }

    /// These listeners are told first.
    fn beside(mut listeners: Vec<Arc<dyn CommitListener>>) -> Self {
        let store = Arc::new(Told::default());
        let (wake, clock) = (Arc::new(Notify::new()), Arc::new(Clock::starting_at(0, Duration::MAX)));
        let trace = UserTrace::new(MidHash::with_key(&[0; 16]));
        let (submit_queue, completions) =
            SubmitQueue::new(wake.clone(), SubmitQueue::WEIGHT_MAX, Some(HoldIndex::new()), None, trace);
        let scribe = Scribe { heard: Mutex::default(), answered: Mutex::default(), completions: completions.into() };
        let scribe = Arc::new(scribe);
        listeners.push(scribe.clone());
        let (mut all_metrics, rules) = (Registry::default(), Arc::new(Rules::default()));
        let registry = &mut all_metrics;
        let config =
            RewardsConfig { zone: "UTC".to_owned(), rules: vec![], recent_users: 1, remembered_claims: 1, outbox: 1 };
        let committer = Committer {
            store: store.clone(),
            judge: Some(Arc::new(Judge {
                today: Arc::new(Today::open("UTC", rules.clone(), None, clock.now()).unwrap()),
                memory: Arc::new(Memory::new(rules.clone(), Shards::DEFAULT, &config, registry)),
                outbox: store.clone(),
                outbox_max: 1,
                notify: Arc::default(),
                metrics: RewardMetrics::new(&rules, ViewsByPlayback::default(), registry),
                rules,
                lost_day: None,
            })),
            clock,
            submit_queues: vec![submit_queue.clone()],
            listeners,
            wake,
            interval: Duration::ZERO,
            health: Arc::default(),
            metrics: Metrics::new(registry),
        };
        Scene { store, submit_queue, scribe, committer: tokio::spawn(committer.run()), registry: all_metrics }
    }

    /// Asks for something by which its group is known, and lets the committer go on as far as it can.
    async fn order(&self, moment: u64) {
        let inbox =
            Inbox::of_request(UserId(moment), None, Visitor::default(), Arc::default(), Notifier::Own(Arc::default()));
        self.submit_queue.order(&inbox, Action::Clear { at: moment });
        self.settle().await;
    }

    /// Lets the committer go on as far as it can; time advances only for its own timers.
    async fn settle(&self) {
        for _ in 0..20 {
            yield_now().await;
        }
        tokio::time::sleep(RETRY_MAX).await;
    }

    async fn end(&self, begun: Begun, answer: Result<(), StoreError>) {
        begun.1.send(answer).expect("it is awaited");
        self.settle().await;
    }

    fn heard(&self) -> Vec<u64> {
        self.scribe.heard.lock().clone()
    }

    fn metrics(&self) -> String {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry).unwrap();
        text
    }

    /// The commits that began since the last look, which must have these moments.
    fn begun<const N: usize>(&self, moments: [u64; N]) -> [Begun; N] {
        let begun = self.store.begun();
        assert_eq!(begun.iter().map(|(moment, _)| *moment).collect::<Vec<_>>(), moments);
        begun.try_into().expect("as many")
    }
}

fn away() -> Result<(), StoreError> {
    Err(StoreError::Away("as the test wants it".to_owned()))
}

#[tokio::test(start_paused = true)]
async fn groups_are_committed_concurrently_and_answered_in_order() {
    let scene = Scene::new();
    for moment in [1, 2, 3] {
        scene.order(moment).await;
    }
    let [first, second] = scene.begun([1, 2]);
    scene.end(second, Ok(())).await;
    assert!(scene.heard().is_empty());
    scene.end(first, Ok(())).await;
    assert_eq!(scene.heard(), [1, 2]);
    let [third] = scene.begun([3]);
    scene.end(third, Ok(())).await;
    assert_eq!(scene.heard(), [1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn groups_of_unknown_outcome_are_committed_again_before_another_begins() {
    let scene = Scene::new();
    for moment in [1, 2, 3] {
        scene.order(moment).await;
    }
    let [first, second] = scene.begun([1, 2]);
    scene.end(first, away()).await;
    let [] = scene.begun([]);
    scene.end(second, away()).await;
    let [first] = scene.begun([1]);
    scene.end(first, away()).await;
    let [first] = scene.begun([1]);
    scene.end(first, Ok(())).await;
    assert_eq!(scene.heard(), [1]);
    let [second] = scene.begun([2]);
    scene.end(second, Ok(())).await;
    let [third] = scene.begun([3]);
    scene.end(third, Ok(())).await;
    assert_eq!(scene.heard(), [1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn a_committed_group_is_not_repeated_because_another_is_unknown() {
    let scene = Scene::new();
    scene.order(1).await;
    scene.order(2).await;
    let [first, second] = scene.begun([1, 2]);
    scene.end(first, away()).await;
    scene.end(second, Ok(())).await;
    assert!(scene.heard().is_empty());
    let [first] = scene.begun([1]);
    scene.end(first, Ok(())).await;
    assert_eq!(scene.heard(), [1, 2]);
    let [] = scene.begun([]);
}

#[tokio::test(start_paused = true)]
async fn listeners_are_notified_of_each_change_when_its_group_is_answered() {
    let scene = Scene::new();
    for moment in [1, 2, 3, 4] {
        scene.order(moment).await;
    }
    let [first, second] = scene.begun([1, 2]);
    scene.end(first, Ok(())).await;
    // The other two go in one group.
    let [third] = scene.begun([3]);
    scene.end(second, Ok(())).await;
    scene.end(third, Ok(())).await;
    assert_eq!(scene.heard(), [1, 2, 3, 4]);
    // This test does not read the answers.
    assert_eq!(*scene.scribe.answered.lock(), [1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_panics_stops_neither_the_committer_nor_the_others() {
    let scene = Scene::beside(vec![Arc::new(Nervous)]);
    for moment in [1, 2] {
        scene.order(moment).await;
        let [begun] = scene.begun([moment]);
        scene.end(begun, Ok(())).await;
    }
    assert_eq!(scene.heard(), [1, 2]);
    assert!(!scene.committer.is_finished());
    let metrics = scene.metrics();
    assert!(metrics.contains("commit_listener_panics_total 2"), "{metrics}");
}

#[tokio::test(start_paused = true)]
async fn a_held_slot_is_committed_when_its_hold_ends() {
    let scene = Scene::new();
    let inbox = inbox(UserId(7));
    play(&scene.submit_queue, &inbox, 6);
    let until = Instant::now() + 10 * RETRY_MAX;
    assert!(submit(&scene.submit_queue, &inbox, beat(7), Some(until.into_std())).held);
    // Time would stand still if the committer looked again and again.
    scene.settle().await;
    scene.order(1).await;
    let [first] = scene.begun([1]);
    scene.end(first, Ok(())).await;
    tokio::time::sleep_until(until - Duration::from_millis(1)).await;
    let [] = scene.begun([]);
    scene.settle().await;
    let [held] = scene.begun([7]);
    scene.end(held, Ok(())).await;
    assert_eq!(scene.heard(), [1, 7]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_store_ends_the_committer_without_answers() {
    let scene = Scene::new();
    scene.order(1).await;
    let [first] = scene.begun([1]);
    scene.end(first, Err(StoreError::Failed("as the test wants it".to_owned()))).await;
    assert!(scene.committer.is_finished() && scene.heard().is_empty());
}

#[test]
fn the_pause_before_a_group_shrinks_as_the_rate_of_entries_grows() {
    let ms = Duration::from_millis;
    let interval = ms(4);
    // After a rest, whatever came, and at 10,000 entries a second: the whole interval.
    assert_eq!(pause(interval, 1, ms(1_000)), interval);
    assert_eq!(pause(interval, 40, ms(4)), interval);
    // At 32,000 a second as long as 64 of them take, whether the last group gathered for so long or for longer.
    assert_eq!(pause(interval, 128, ms(4)), ms(2));
    assert_eq!(pause(interval, 64, ms(2)), ms(2));
    assert_eq!(pause(interval, GROUP_MAX, ms(128)), ms(2));
    // However many come; but the setting has the last word.
    assert_eq!(pause(interval, GROUP_MAX, ms(4)), PAUSE_MIN);
    assert_eq!(pause(ms(1), GROUP_MAX, ms(4)), ms(1));
}
