//! What is on its way between gateways and the store.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use heartline::model::ids::UserId;
use heartline::model::version::Version;
use heartline::storage::hot_store::StoreError;
use heartline::storage::hot_store::optimistic::{Applied, Apply, Load, Loaded, Token, UserStore};
use tokio::sync::oneshot;

/// The group that has sent a call, by the number of its op.
pub type Sender = usize;

/// Calls have an order that does not depend on that in which tasks are woken: the gateway, the sender, and a number
/// where the sender has given up a call.
pub type CallKey = (usize, Sender, usize);

pub enum Call {
    Load(LoadCall),
    Apply(ApplyCall),
    PutOff(PutOffCall),
}

pub struct PutOffCall {
    pub users: Vec<(UserId, Version)>,
    pub due: u64,
    pub reply: Reply<()>,
}

pub struct LoadCall {
    /// What is still to be read.
    pub loads: Vec<Load>,
    pub loaded: Vec<Loaded>,
    pub reply: Reply<Vec<Loaded>>,
}

pub struct ApplyCall {
    pub sent: Vec<Sent>,
    /// As many as are done.
    pub applied: Vec<Applied>,
    pub reply: Reply<Vec<Applied>>,
}

pub type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// What a call is to write of one user.
#[derive(Clone)]
pub struct Sent {
    pub gateway: usize,
    pub sender: Sender,
    pub apply: Apply,
}

#[derive(Default)]
pub struct Network {
    pub calls: BTreeMap<CallKey, Call>,
    /// Gateways that have ended: their messages are dropped.
    pub ended: HashSet<usize>,
    /// The group that is being polled. What is sent meanwhile is sent by it.
    pub polled: Option<usize>,
    /// All that were given out, each with what it was given out for.
    tokens: HashMap<Token, Apply>,
    /// What gateways have done wrong.
    pub breach: Option<String>,
}

impl Network {
    /// A token is given out once, for one thing.
    fn check(&mut self, apply: &Apply) {
        let Some(head) = &apply.head else { return };
        let same = |other: &Apply| (other.user, &other.head, &other.writes) == (apply.user, &apply.head, &apply.writes);
        if !same(self.tokens.entry(head.token).or_insert_with(|| apply.clone())) {
            self.breach = Some(format!("a token was given out twice: {apply:?}"));
        }
    }
}

/// A gateway's way to the store.
#[derive(Clone)]
pub struct Line {
    pub gateway: usize,
    pub network: Arc<Mutex<Network>>,
}

impl Line {
    fn network(&self) -> MutexGuard<'_, Network> {
        self.network.lock().unwrap()
    }

    async fn ask<T>(&self, call: impl FnOnce(&mut Network, Sender, Reply<T>) -> Call) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        {
            let mut network = self.network();
            let sender = network.polled.expect("groups and packers alone speak to the store");
            let call = call(&mut network, sender, reply);
            if !network.ended.contains(&self.gateway) {
                let mut key = (self.gateway, sender, 0);
                while network.calls.contains_key(&key) {
                    key.2 += 1;
                }
                network.calls.insert(key, call);
            }
        }
        answer.await.unwrap_or_else(|_| Err(StoreError::Away("the gateway has ended".to_owned())))
    }
}

impl UserStore for Line {
    async fn load(&self, loads: &[Load]) -> Result<Vec<Loaded>, StoreError> {
        let ask = self.ask(|_, _, reply| {
            let loaded = loads.iter().map(|_| Loaded::default()).collect();
            Call::Load(LoadCall { loads: loads.to_vec(), loaded, reply })
        });
        ask.await
    }

    async fn apply(&self, applies: &[&Apply]) -> Result<Vec<Applied>, StoreError> {
        let ask = self.ask(|network, sender, reply| {
            applies.iter().for_each(|apply| network.check(apply));
            let sent = applies.iter().map(|apply| Sent { gateway: self.gateway, sender, apply: (*apply).clone() });
            Call::Apply(ApplyCall { sent: sent.collect(), applied: Vec::new(), reply })
        });
        ask.await
    }

    async fn put_off(&self, users: &[(UserId, Version)], due: u64) -> Result<(), StoreError> {
        let users = users.to_vec();
        self.ask(|_, _, reply| Call::PutOff(PutOffCall { users, due, reply })).await
    }
}

impl LoadCall {
    /// What is to be read next: of one user one thing, or all of it.
    pub fn next(&mut self, all: bool) -> Option<(usize, Load)> {
        let index = self.loads.iter().position(|load| !load.needs.is_empty())?;
        let Load { user, needs } = &mut self.loads[index];
        let needs = if all { std::mem::take(needs) } else { vec![needs.remove(0)] };
        Some((index, Load { user: *user, needs }))
    }

    pub fn add(&mut self, index: usize, more: Loaded) {
        let loaded = &mut self.loaded[index];
        loaded.head = more.head.or(loaded.head.take());
        loaded.rows.extend(more.rows);
        loaded.contents = more.contents.or(loaded.contents);
        loaded.oldest = more.oldest.or(loaded.oldest.take());
        loaded.newest = more.newest.or(loaded.newest.take());
        loaded.all |= more.all;
        loaded.dead = more.dead.or(loaded.dead.take());
        loaded.claims.extend(more.claims);
        loaded.claim_rules = more.claim_rules.or(loaded.claim_rules.take());
        loaded.marked = more.marked.or(loaded.marked.take());
    }
}
