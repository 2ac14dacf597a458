//! A gateway without its sockets: submit queue, committer, judge, and the store with connections of its own.

use std::collections::HashMap;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use heartline::domain::devices::inbox::Inbox;
use heartline::domain::devices::ready_list::Notifier;
use heartline::domain::ingest::commit::Committer;
use heartline::domain::ingest::intake::Intake;
use heartline::domain::ingest::metrics::Metrics;
use heartline::domain::ingest::source::Source;
use heartline::domain::ingest::submit_queue::SubmitQueue;
use heartline::domain::ingest::user_trace::UserTrace;
use heartline::domain::rewards::config::RewardsConfig;
use heartline::domain::rewards::decisions::Decisions;
use heartline::domain::rewards::judge::Judge;
use heartline::domain::rewards::memory::Memory;
use heartline::domain::rewards::metrics::Metrics as RewardMetrics;
use heartline::domain::rewards::today::Today;
use heartline::domain::time::clock::Clock;
use heartline::model::change::Action;
use heartline::model::ids::UserId;
use heartline::model::mid_hash::MidHash;
use heartline::model::rule::Admission;
use heartline::model::shard::Shards;
use heartline::model::visitor::Visitor;
use heartline::storage::config::redis::RedisConfig;
use heartline::storage::hot_store::optimistic;
use heartline::storage_redis::Redis;
use heartline::storage_redis::hot_store::{RedisStore, Settings};
use prometheus_client::registry::Registry;
use tokio::runtime::Builder;
use tokio::sync::Notify;
use tokio::task::LocalSet;
use tokio::time::sleep;

use crate::conflicts::crowd::{Crowd, RULES};
use crate::conflicts::requests::Limits;
use crate::conflicts::witness::{CommittedOnce, Witness};

/// So many users' heads are remembered, of a thousand: some are evicted, others are out of date.
const USER_CACHE: usize = 400;
/// Changes that wait or are under way before no more are submitted: some groups.
const UNCOMMITTED_MAX: usize = 500;
/// Changes that come together. A busy committer makes a group of not much more.
const BURST: usize = 64;
const GROUP_INTERVAL: Duration = Duration::from_millis(5);
/// More than all claims of a run.
const OUTBOX_MAX: u64 = 10_000_000;
/// When a gateway that does not come to its end is given up.
const STUCK_AFTER: Duration = Duration::from_secs(240);

/// A gateway that was run to its end.
pub struct Account {
    /// In the order in which they were begun.
    pub groups: Vec<CommittedOnce>,
    /// Groups that were under way at one time.
    pub side_by_side: usize,
    pub metrics: optimistic::Metrics,
}

pub struct Plan {
    /// Of the Redis.
    pub url: String,
    pub limits: Limits,
    pub seed: u64,
    pub changes: usize,
    /// A user that only this gateway changes, and first: so the tokens of the gateway are known.
    pub own_user: UserId,
}

pub fn settings(limits: Limits) -> Settings {
    Settings {
        retention: limits.retention(),
        records_per_user: NonZeroU32::new(limits.records_per_user).unwrap(),
        user_cache: NonZeroUsize::new(USER_CACHE).unwrap(),
        history_interval: None,
        outbox_max: OUTBOX_MAX,
        takeover_after: Settings::TAKEOVER_AFTER,
    }
}

/// On a thread of its own.
pub fn start(plan: Plan) -> JoinHandle<Account> {
    thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        LocalSet::new().block_on(&runtime, run(plan))
    })
}

async fn run(plan: Plan) -> Account {
    let redis = Redis::open(&RedisConfig::strict(&plan.url)).unwrap();
    let store = RedisStore::open(redis, settings(plan.limits), Arc::new(|_| false)).await.unwrap();
    let (metrics, store) = (store.metrics().clone(), Arc::new(store));
    let witness = Arc::new(Witness::new(store.clone()));
    let clock = Arc::new(Clock::starting_at(0, Duration::MAX));
    let wake = Arc::new(Notify::new());
    let trace = UserTrace::new(MidHash::with_key(&[0; 16]));
    let (submit_queue, completions) = SubmitQueue::new(wake.clone(), SubmitQueue::WEIGHT_MAX, None, None, trace);
    let mut registry = Registry::default();
    let of_ingest = Metrics::new(&mut registry);
    let committer = Committer {
        store: witness.clone(),
        clock: clock.clone(),
        judge: Some(Arc::new(judge(store, &clock, &mut registry))),
        submit_queues: vec![submit_queue.clone()],
        listeners: vec![witness.clone()],
        wake,
        interval: GROUP_INTERVAL,
        health: Arc::default(),
        metrics: of_ingest.clone(),
    };
    let admission = Admission { retention: plan.limits.retention() };
    let intake = Intake { submit_queue, admission, clock, metrics: of_ingest };
    let drive = drive(&plan, &intake);
    tokio::select! {
        failure = committer.run() => panic!("the store has failed: {failure}"),
        () = completions.run() => panic!("answers have stopped"),
        () = drive => {}
    }
    Account { side_by_side: witness.side_by_side(), groups: witness.groups(), metrics }
}

fn judge(store: Arc<RedisStore>, clock: &Clock, registry: &mut Registry) -> Judge {
    let rules = RULES.clone();
    let config = RewardsConfig {
        zone: "UTC".to_owned(),
        rules: vec![],
        recent_users: 500,
        remembered_claims: 100_000,
        outbox: OUTBOX_MAX,
    };
    Judge {
        today: Arc::new(Today::open("UTC", rules.clone(), None, clock.now()).unwrap()),
        memory: Arc::new(Memory::new(rules.clone(), Shards::DEFAULT, &config, registry)),
        outbox: store,
        outbox_max: OUTBOX_MAX,
        notify: Arc::default(),
        metrics: RewardMetrics::new(&rules, Default::default(), registry),
        rules,
        lost_day: None,
    }
}

/// Submits all changes, and returns when each has its answer.
async fn drive(plan: &Plan, intake: &Intake) {
    let mut crowd = Crowd::new(plan.seed, intake.clock.now());
    let mut senders = Senders::default();
    senders.send(intake, plan.own_user, Action::Recording { paused: true, at: intake.clock.now() });
    for number in 1..=plan.changes {
        let (user, action) = crowd.next(intake.clock.now());
        senders.send(intake, user, action);
        if number % BURST == 0 {
            sleep(Duration::from_millis(1)).await;
        }
        while intake.submit_queue.len() >= UNCOMMITTED_MAX {
            sleep(Duration::from_millis(1)).await;
        }
    }
    let began = Instant::now();
    while !intake.submit_queue.is_empty() {
        assert!(began.elapsed() < STUCK_AFTER, "{} changes have no outcome", intake.submit_queue.len());
        sleep(Duration::from_millis(5)).await;
    }
    senders.check();
}

/// Those who have sent beats, each from a connection, and orders, each by a request.
#[derive(Default)]
struct Senders {
    connections: HashMap<UserId, (Arc<Inbox>, usize)>,
    requests: Vec<Arc<Inbox>>,
}

impl Senders {
    fn send(&mut self, intake: &Intake, user: UserId, action: Action) {
        let inbox = || Inbox::of_request(user, None, Visitor::default(), Arc::default(), Notifier::Own(Arc::default()));
        match action {
            Action::Beat { beat, device, .. } => {
                let (inbox, slots) = self.connections.entry(user).or_insert_with(|| (inbox(), 0));
                let decisions = Decisions::new(None);
                let (read, flag) = (Instant::now(), None);
                let source = Source {
                    inbox,
                    device: &device,
                    seq: 1,
                    read,
                    flag,
                    decisions: &decisions,
                    misnamed: &[],
                    hold_until: None,
                };
                *slots += intake.beats(&source, &[beat]).slots;
            }
            order => {
                let inbox = inbox();
                intake.order(&inbox, order);
                self.requests.push(inbox);
            }
        }
    }

    /// Each slot and each order was answered.
    fn check(self) {
        for (inbox, slots) in self.connections.into_values() {
            assert_eq!(inbox.take(Instant::now()).slots, slots, "answers to user {}", inbox.user.0);
        }
        for inbox in self.requests {
            assert!(inbox.take(Instant::now()).order.is_some(), "no answer to user {}", inbox.user.0);
        }
    }
}
