//! A run: gateways, what is on its way, and a store, driven by a schedule.

#[path = "world_packing.rs"]
mod packing;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use heartline::model::change::{Change, Decided};
use heartline::model::forgetting::UserRow;
use heartline::model::ids::UserId;
use heartline::model::rewards::claim::Claim;
use heartline::storage::hot_store::optimistic::{Applied, Apply, Listing, Write};
use heartline::storage::hot_store::{Committed, Group, StoreError};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::state_search::backing::Backing;
use crate::state_search::carried;
use crate::state_search::gateway::Gateway;
use crate::state_search::network::{ApplyCall, Call, CallKey, LoadCall, Network, Sent};
use crate::state_search::oracle::Oracle;
use crate::state_search::packers::{Bus, PACKERS, Packer};
use crate::state_search::scenario::{
    BEGIN, DAY_MS, Fault, History, LONG_PAUSES_END, ROOM, RULES, Scenario, USERS, rewarding,
};
use crate::state_search::state::{Answer, Part};
use crate::state_search::stored;

/// Steps of a run for each of its ops, and for its end.
const STEPS_OF_OP: usize = 300;
/// One may be as late as a lease lets it be.
const PACKERS_COUNT: usize = 2;
/// The breach of a run that does not end in so many steps.
pub const RESTLESS: &str = "it does not come to rest";

pub struct World<'b, B> {
    scenario: &'b Scenario,
    backing: &'b B,
    rng: SmallRng,
    now: u64,
    network: Arc<Mutex<Network>>,
    gateways: Vec<Gateway>,
    /// Gateways so far.
    born: usize,
    oracle: Oracle,
    ops: Vec<Begun>,
    /// How many ops of the scenario were begun.
    next: usize,
    packers: Vec<Packer>,
    bus: Arc<Mutex<Bus>>,
    /// All users were looked through.
    walked: bool,
    /// Calls that will be done some time.
    late: Vec<Sent>,
    /// Nothing goes wrong any more.
    calm: bool,
    trace: Option<Vec<String>>,
}

/// An op that was begun.
struct Begun {
    number: usize,
    changes: Vec<Change>,
    claims_max: u64,
    /// When it was begun, and tried again.
    nows: Vec<u64>,
    /// Users of whom the outbox had no room for a claim.
    no_room: BTreeSet<UserId>,
    /// How many states each of its users had when it was begun, and when its outcome was known.
    ages: BTreeMap<UserId, (usize, usize)>,
}

impl<'b, B: Backing> World<'b, B> {
    pub fn new(scenario: &'b Scenario, backing: &'b B, traced: bool) -> Self {
        let mut world = World {
            scenario,
            backing,
            rng: SmallRng::seed_from_u64(scenario.schedule),
            now: BEGIN,
            network: Arc::default(),
            gateways: Vec::new(),
            born: 0,
            oracle: Oracle::new(scenario.limits),
            ops: Vec::new(),
            next: 0,
            packers: Vec::new(),
            bus: Arc::default(),
            walked: false,
            late: Vec::new(),
            calm: false,
            trace: traced.then(Vec::new),
        };
        (0..scenario.gateways).for_each(|_| world.start());
        let numbers = if scenario.history == History::None { 0..0 } else { PACKERS..PACKERS + PACKERS_COUNT };
        world.packers.extend(numbers.map(|number| Packer::new(number, &world.network, &world.bus)));
        world
    }

    /// Ends all gateways. Returns what has happened.
    pub fn end(self) -> Vec<String> {
        self.network().ended.extend(0..=self.born);
        self.network().calls.clear();
        self.trace.unwrap_or_default()
    }

    fn network(&self) -> MutexGuard<'_, Network> {
        self.network.lock().unwrap()
    }

    fn tell(&mut self, what: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(what());
        }
    }

    fn start(&mut self) {
        self.born += 1;
        self.gateways.push(Gateway::new(self.born, self.scenario, &self.network));
    }

    /// The first promise that is broken, if one is.
    pub async fn run(&mut self) -> Result<(), String> {
        let steps = STEPS_OF_OP * (self.scenario.ops.len() + 5);
        for step in 0..steps {
            let all_begun = self.next == self.scenario.ops.len();
            self.calm |= all_begun && (step > steps / 2 || self.rng.random_bool(0.02));
            self.step().await?;
            self.go_on().await?;
            if self.calm && self.is_at_rest().await {
                match std::mem::replace(&mut self.walked, true) || self.packers.is_empty() {
                    true => return self.check_at_rest().await,
                    false => self.walk().await?,
                }
            }
        }
        Err(RESTLESS.to_owned())
    }

    async fn is_at_rest(&self) -> bool {
        let idle = self.gateways.iter().all(Gateway::is_idle) && self.packers.iter().all(Packer::is_idle);
        if !idle || !self.network().calls.is_empty() || !self.late.is_empty() || !self.bus().under_way.is_empty() {
            return false;
        }
        self.packers.is_empty() || self.listed().await.is_empty()
    }

    /// One thing that happens.
    async fn step(&mut self) -> Result<(), String> {
        match self.rng.random_range(0..116) {
            100..107 => self.pack().await,
            107..116 => self.deliver(),
            0..14 => self.begin().await,
            14..74 => return self.advance().await,
            74..84 => return self.do_late().await,
            84..92 => self.retry(),
            92..95 => self.pass_time(),
            95..98 => self.publish().await,
            98 => self.kill(),
            _ => self.give_up(),
        }
        Ok(())
    }

    /// All gateways go on as far as they come without the store.
    async fn go_on(&mut self) -> Result<(), String> {
        for index in 0..self.gateways.len() {
            for op in self.gateways[index].poll() {
                let oracle = &mut self.oracle;
                self.ops[op].ages.iter_mut().for_each(|(user, ages)| ages.1 = oracle.age(*user));
            }
            for (op, group, committed) in self.gateways[index].answers() {
                self.answered(op, &group, &committed)?;
            }
        }
        self.packers.iter_mut().for_each(Packer::poll);
        self.network().breach.take().map_or(Ok(()), Err)
    }

    async fn begin(&mut self) {
        let Some(op) = self.scenario.ops.get(self.next) else { return };
        let index = self.rng.random_range(0..self.gateways.len());
        if !self.gateways[index].may_begin() {
            return;
        }
        self.next += 1;
        let again = op.again.and_then(|number| self.ops.iter().find(|begun| begun.number == number));
        let mut changes = again.map_or_else(Vec::new, |begun| begun.changes.clone());
        let limits = &self.scenario.limits;
        changes.extend(op.changes.iter().filter_map(|(user, ask)| ask.change(*user, self.now, limits)));
        if changes.is_empty() {
            return;
        }
        self.backing.begin_day(&rewarding(self.now, op.claims_max)).await;
        let ages = changes.iter().map(|change| (change.user, (self.oracle.age(change.user), 0))).collect();
        let (number, claims_max, now) = (self.ops.len(), op.claims_max, self.now);
        let gateway = self.gateways[index].number;
        self.tell(|| format!("gateway {gateway} begins {number} at {now}: {changes:?}, claims at most {claims_max}"));
        self.gateways[index].begin(number, now, claims_max, changes.clone());
        self.ops.push(Begun {
            number: op.number,
            changes,
            claims_max,
            nows: vec![now],
            no_room: BTreeSet::new(),
            ages,
        });
    }

    fn retry(&mut self) {
        let index = self.rng.random_range(0..self.gateways.len());
        if self.gateways[index].may_retry() {
            let (now, gateway) = (self.now, self.gateways[index].number);
            let op = self.gateways[index].retry(now);
            if !self.ops[op].nows.contains(&now) {
                self.ops[op].nows.push(now);
            }
            self.tell(|| format!("gateway {gateway} tries {op} again at {now}"));
        }
    }

    fn pass_time(&mut self) {
        let long = self.now < LONG_PAUSES_END && self.strikes(Fault::LongPause, 0.15);
        let spans = [0, 1_000, 1_000, 5_000, 30_000, 70_000];
        self.now += match long {
            true => self.rng.random_range(1..=2) * DAY_MS / 2,
            false => spans[self.rng.random_range(0..spans.len())],
        };
    }

    async fn publish(&mut self) {
        if !self.scenario.has(Fault::FullOutbox) && !self.oracle.outbox.is_empty() {
            let index = self.rng.random_range(0..self.oracle.outbox.len());
            let claim = self.oracle.outbox[index].clone();
            self.oracle.outbox.retain(|entry| *entry != claim);
            self.backing.published(&claim).await;
        }
    }

    fn kill(&mut self) {
        if self.strikes(Fault::Killed, 0.5) {
            let index = self.rng.random_range(0..self.gateways.len());
            let ended = self.gateways.remove(index);
            self.network().ended.insert(ended.number);
            self.tell(|| format!("gateway {} ends", ended.number));
            drop(ended);
            self.start();
        }
    }

    fn give_up(&mut self) {
        if self.strikes(Fault::GivenUp, 0.5) {
            let index = self.rng.random_range(0..self.gateways.len());
            if let Some(op) = self.gateways[index].give_up() {
                self.tell(|| format!("{op} is given up"));
            }
        }
    }

    fn strikes(&mut self, fault: Fault, probability: f64) -> bool {
        !self.calm && self.scenario.has(fault) && self.rng.random_bool(probability)
    }

    /// Some call comes a step further.
    async fn advance(&mut self) -> Result<(), String> {
        let keys: Vec<CallKey> = self.network().calls.keys().copied().collect();
        if keys.is_empty() {
            return Ok(());
        }
        let key = keys[self.rng.random_range(0..keys.len())];
        let call = self.network().calls.remove(&key);
        let call = match call {
            Some(Call::Load(call)) => self.advance_load(key, call).await,
            Some(Call::Apply(call)) => self.advance_apply(key, call).await?,
            Some(Call::PutOff(call)) => {
                self.put_off(key, call).await?;
                None
            }
            None => None,
        };
        if let Some(call) = call {
            self.network().calls.insert(key, call);
        }
        Ok(())
    }

    /// Returns the call when it is not over.
    async fn advance_load(&mut self, key: CallKey, mut call: LoadCall) -> Option<Call> {
        if self.strikes(Fault::Lost, 0.05) {
            self.tell(|| format!("{key:?}: its load is lost"));
            let _ = call.reply.send(Err(lost()));
            return None;
        }
        let torn = self.strikes(Fault::Torn, 0.5);
        while let Some((index, load)) = call.next(!torn) {
            match self.backing.load(std::slice::from_ref(&load)).await {
                Ok(mut loaded) => {
                    let loaded = loaded.remove(0);
                    self.tell(|| format!("{key:?}: loads {load:?}: {loaded:?}"));
                    call.add(index, loaded);
                }
                Err(error) => {
                    let _ = call.reply.send(Err(error));
                    return None;
                }
            }
            if torn {
                return Some(Call::Load(call));
            }
        }
        let _ = call.reply.send(Ok(call.loaded));
        None
    }

    /// Returns the call when it is not over.
    async fn advance_apply(&mut self, key: CallKey, mut call: ApplyCall) -> Result<Option<Call>, String> {
        let open = call.applied.len();
        if self.strikes(Fault::Lost, 0.08) || self.strikes(Fault::Late, 0.08) {
            let late = self.strikes(Fault::Late, 0.5);
            self.tell(|| format!("{key:?}: {}", if late { "will be applied later" } else { "is lost" }));
            if late {
                self.late.extend(call.sent.drain(open..));
            }
            let _ = call.reply.send(Err(lost()));
            return Ok(None);
        }
        let all = self.rng.random_bool(0.6);
        while let Some(sent) = call.sent.get(call.applied.len()) {
            call.applied.push(self.apply(sent).await?);
            if !all {
                return Ok(Some(Call::Apply(call)));
            }
        }
        if open < call.sent.len() && self.rng.random_bool(0.5) {
            return Ok(Some(Call::Apply(call)));
        }
        if self.strikes(Fault::Repeated, 0.1) {
            self.late.append(&mut call.sent);
        }
        let reply = match self.strikes(Fault::ReplyLost, 0.15) {
            true => Err(lost()),
            false => Ok(call.applied),
        };
        self.tell(|| format!("{key:?}: {}", if reply.is_ok() { "is answered" } else { "its reply is lost" }));
        let _ = call.reply.send(reply);
        Ok(None)
    }

    async fn do_late(&mut self) -> Result<(), String> {
        if !self.late.is_empty() {
            let index = self.rng.random_range(0..self.late.len());
            let sent = self.late.swap_remove(index);
            if self.rng.random_bool(0.8) {
                self.apply(&sent).await?;
            }
        }
        Ok(())
    }

    /// Applies what concerns one user, and holds what is stored then to what is true.
    async fn apply(&mut self, sent: &Sent) -> Result<Applied, String> {
        let applied = self.backing.apply(&[&sent.apply]).await.map_err(|error| error.to_string())?.remove(0);
        let Sent { gateway, sender, apply, .. } = sent;
        self.tell(|| format!("gateway {gateway}, {sender:?}: {apply:?}: {applied:?}"));
        if matches!(applied, Applied::Done { .. }) && apply.writes.contains(&Write::RemoveUser) {
            self.may_go(apply)?;
        }
        self.is_safe(apply.user).await?;
        let Apply { user, head: Some(head), .. } = apply else { return Ok(applied) };
        if *gateway >= PACKERS {
            return Ok(applied);
        }
        if let Applied::NoRoom = applied {
            self.ops[*sender].no_room.insert(*user);
        }
        if matches!(applied, Applied::Done { .. }) {
            let found = stored::read(self.backing, *user).await?;
            found.is_entered(&self.scenario.limits, self.now, !self.packers.is_empty())?;
            let waited = apply.expected.as_ref().is_some_and(|head| head.listing == Listing::Listed);
            let mut part = self.part(*sender, *user);
            part.may_wait = waited && self.scenario.carries(*gateway);
            let before = self.oracle.state(*user).clone();
            let fits = |state: &_| found.fits(state, *user, head);
            self.oracle.applied(sent, &part, fits).map_err(|why| format!("{sender:?} of user {}: {why}", user.0))?;
            if part.may_wait {
                self.has_carried(*user, &before)?;
            }
        }
        Ok(applied)
    }

    /// A user goes when nothing is left to know, and a retention after the last write.
    fn may_go(&mut self, apply: &Apply) -> Result<(), String> {
        let state = self.oracle.state(apply.user);
        if !state.contents(apply.user).is_empty() || state.forgetting(apply.user) != UserRow::default() {
            return Err(format!("user {} goes, of whom something is known", apply.user.0));
        }
        let written = apply.expected.as_ref().map_or(0, |head| head.token.version.at());
        match apply.expected.is_some() && written + self.scenario.limits.retention_ms > self.now {
            true => Err(format!("user {} goes at {}, written at {written}", apply.user.0, self.now)),
            false => Ok(()),
        }
    }

    /// What of an op concerns one user.
    fn part(&self, op: usize, user: UserId) -> Part {
        let Begun { changes, claims_max, nows, no_room, .. } = &self.ops[op];
        let changes = changes.iter().cloned().enumerate().filter(|(_, change)| change.user == user).collect();
        let may_lack_claims = *claims_max < ROOM || no_room.contains(&user);
        Part {
            user,
            changes,
            rewards: rewarding(nows[0], *claims_max),
            may_lack_claims,
            nows: nows.clone(),
            may_wait: !self.packers.is_empty(),
        }
    }

    fn answered(&mut self, op: usize, group: &Group, committed: &Committed) -> Result<(), String> {
        let Committed { outcomes, decided, transitions, .. } = committed;
        self.tell(|| format!("{op} is answered: {outcomes:?}, {decided:?}, {transitions:?}"));
        if committed.outcomes.len() != group.changes.len() {
            return Err(format!("{op}: {} outcomes for {} changes", committed.outcomes.len(), group.changes.len()));
        }
        if !committed.transitions.is_sorted_by_key(|(change, _)| *change) {
            return Err(format!("{op}: transitions are not in the order of the changes"));
        }
        let enters = |decided: &&Decided| decided.first && !RULES.counts_views(decided.rule);
        let firsts = committed.decided.iter().filter(enters).count() as u64;
        if firsts > self.ops[op].claims_max {
            return Err(format!("{op}: {firsts} claims, with room for {}", self.ops[op].claims_max));
        }
        for (user, ages) in self.ops[op].ages.clone() {
            let part = self.part(op, user);
            let outcomes = part.changes.iter().map(|(index, _)| committed.outcomes[*index].clone()).collect();
            let of_user = |change: usize| group.changes[change].user == user;
            let decided = committed.decided.iter().filter(|decided| of_user(decided.change)).cloned().collect();
            let transitions = committed.transitions.iter().filter(|(change, _)| of_user(*change)).cloned().collect();
            let answer = Answer { outcomes, decided, transitions };
            let checked = self.oracle.answered(op, &part, &answer, ages);
            let checked = checked.and_then(|()| self.oracle.remembers(&part, &answer, self.now));
            checked.map_err(|why| format!("{op} of user {}: {why}", user.0))?;
        }
        Ok(())
    }

    async fn check_at_rest(&mut self) -> Result<(), String> {
        for user in USERS {
            let found = stored::read(self.backing, user).await?;
            match found.head.clone() {
                Some(head) => {
                    found.fits(self.oracle.state(user), user, &head)?;
                    found.is_entered(&self.scenario.limits, self.now, !self.packers.is_empty())?;
                }
                None => found.is_nothing()?,
            }
            if !self.packers.is_empty() {
                let carried = carried::read(self.backing, user).await?;
                let over = carried.is_over(&self.bus(), &self.scenario.limits, self.now);
                over.map_err(|why| format!("user {}: {why}", user.0))?;
            }
            let (views, expected) = (self.backing.views(user).await, self.oracle.views(user));
            if views != expected {
                return Err(format!("views of user {}: {views:?}, not {expected:?}", user.0));
            }
            // What was claimed, erased and claimed again in one moment may be one entry.
            let texts = |claims: &[Claim]| claims.iter().map(|claim| format!("{claim:?}")).collect::<BTreeSet<_>>();
            let of_user = |claim: &&Claim| claim.key.user == user;
            let expected: Vec<Claim> = self.oracle.outbox.iter().filter(of_user).cloned().collect();
            let (found, expected) = (texts(&self.backing.outbox(user).await), texts(&expected));
            if expected != found {
                return Err(format!("outbox of user {}: {found:?}, not {expected:?}", user.0));
            }
        }
        Ok(())
    }
}

fn lost() -> StoreError {
    StoreError::Away("the connection was lost".to_owned())
}
