//! A gateway: commits groups, some of them side by side, as the committer does.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use heartline::model::change::Change;
use heartline::model::rewards::claim::Claim;
use heartline::storage::hot_store::optimistic::{Limits, Optimistic, TokenSource};
use heartline::storage::hot_store::{Committed, Group, StoreError};

use crate::state_search::network::{Line, Network};
use crate::state_search::packers::INTERVAL_MS;
use crate::state_search::scenario::{Scenario, rewarding};

const GROUPS_MAX: usize = 4;

pub struct Gateway {
    pub number: usize,
    users: Optimistic<Line>,
    network: Arc<Mutex<Network>>,
    /// In the order in which they were begun.
    attempts: VecDeque<Attempt>,
    /// One has failed: none is begun until all that were begun are answered.
    failing: bool,
}

pub struct Attempt {
    pub op: usize,
    group: Arc<Group>,
    stage: Stage,
}

enum Stage {
    UnderWay(Pin<Box<dyn Future<Output = Answer> + Send>>),
    Answered(Committed),
    Failed,
}

type Answer = Result<(Committed, Vec<Claim>), StoreError>;

impl Gateway {
    pub fn new(number: usize, scenario: &Scenario, network: &Arc<Mutex<Network>>) -> Self {
        let line = Line { gateway: number, network: network.clone() };
        let limits = Limits {
            retention: scenario.limits.retention(),
            contents_max: scenario.limits.records_per_user,
            history_interval: scenario.carries(number).then_some(INTERVAL_MS),
            is_rebuilt: false,
        };
        let heads = NonZeroUsize::new(scenario.heads).unwrap();
        let users = Optimistic::new(line, limits, TokenSource::new(number as u64), heads);
        Gateway { number, users, network: network.clone(), attempts: VecDeque::new(), failing: false }
    }

    pub fn may_begin(&self) -> bool {
        !self.failing && self.attempts.len() < GROUPS_MAX
    }

    pub fn is_idle(&self) -> bool {
        self.attempts.is_empty()
    }

    pub fn begin(&mut self, op: usize, now: u64, claims_max: u64, changes: Vec<Change>) {
        let group = Arc::new(Group::new(now, changes, rewarding(now, claims_max)));
        let stage = self.commit(&group);
        self.attempts.push_back(Attempt { op, group, stage });
    }

    fn commit(&self, group: &Arc<Group>) -> Stage {
        let (users, group) = (self.users.clone(), group.clone());
        Stage::UnderWay(Box::pin(async move { users.commit(&group).await }))
    }

    /// The first has failed, and nothing else is under way: it is tried again.
    pub fn may_retry(&self) -> bool {
        let mut stages = self.attempts.iter().map(|attempt| &attempt.stage);
        matches!(stages.next(), Some(Stage::Failed)) && stages.all(|stage| !matches!(stage, Stage::UnderWay(_)))
    }

    /// Returns the op.
    pub fn retry(&mut self, now: u64) -> usize {
        let Group { number, changes, rewards, .. } = &*self.attempts[0].group;
        let (senders, cold) = (Vec::new(), Vec::new());
        let (changes, rewards) = (changes.clone(), rewards.clone());
        let group = Group { number: *number, now, changes, rewards, senders, cold };
        let group = Arc::new(group);
        let stage = self.commit(&group);
        self.attempts[0] = Attempt { op: self.attempts[0].op, group, stage };
        self.attempts[0].op
    }

    /// Whoever waits for the last group that was begun gives up. Returns its op.
    pub fn give_up(&mut self) -> Option<usize> {
        let under_way = |attempt: &mut Attempt| matches!(attempt.stage, Stage::UnderWay(_));
        self.attempts.pop_back_if(under_way).map(|attempt| attempt.op)
    }

    /// Goes on with all groups as far as they come. Returns the ops that have their outcome now.
    pub fn poll(&mut self) -> Vec<usize> {
        let mut known = Vec::new();
        for attempt in &mut self.attempts {
            let Stage::UnderWay(future) = &mut attempt.stage else { continue };
            self.network.lock().unwrap().polled = Some(attempt.op);
            let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            self.network.lock().unwrap().polled = None;
            attempt.stage = match polled {
                Poll::Pending => continue,
                Poll::Ready(Ok((committed, _))) => {
                    known.push(attempt.op);
                    Stage::Answered(committed)
                }
                Poll::Ready(Err(_)) => Stage::Failed,
            };
        }
        known
    }

    /// The answers to the first groups, as far as they are known.
    pub fn answers(&mut self) -> Vec<(usize, Arc<Group>, Committed)> {
        let mut answers = Vec::new();
        while let Some(attempt) = self.attempts.pop_front() {
            match attempt.stage {
                Stage::Answered(committed) => answers.push((attempt.op, attempt.group, committed)),
                stage => {
                    self.failing |= matches!(stage, Stage::Failed);
                    self.attempts.push_front(Attempt { stage, ..attempt });
                    break;
                }
            }
        }
        self.failing &= !self.attempts.is_empty();
        answers
    }
}
