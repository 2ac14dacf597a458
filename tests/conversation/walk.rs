//! Two clients, and everything at random: what they send and whether they read, commits, times when the store is away,
//! reads, turns, kicks, drains, time. Each walk follows from a seed.

use std::collections::VecDeque;
use std::time::Duration;

use heartline::domain::ingest::coalesce::Entry;
use heartline::domain::ingest::submit_queue::LargeFramePermit;
use heartline::edge::limits::list_limiter::ListPermit;
use heartline::model::change::Action;
use heartline::model::ids::UserId;
use heartline::model::push::Push;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::conversation::gateway::Gateway;
use crate::conversation::peer::Peer;
use crate::conversation::script::Script;
use crate::conversation::store::Asked;
use crate::conversation::time::{now, pass, play};
use crate::conversation::witness::{Committed, Kind, Witness};

const WALKS: u64 = 2_000;
const STEPS: usize = 120;
const USERS: [UserId; 2] = [UserId(42), UserId(7)];
/// No timer is late by more.
const TICK: Duration = Duration::from_millis(250);
/// The last lists have waited by then, and acks were as late as they may be.
const REST: Duration = Duration::from_secs(40);

#[test]
fn whatever_happens_every_frame_is_answered_once_and_in_order() {
    let mut held = 0;
    for seed in 0..WALKS {
        play(async {
            let mut walk = Walk::new(seed);
            for _ in 0..STEPS {
                walk.step().await;
            }
            walk.come_to_rest().await;
            held += walk.gateway.held();
        });
    }
    assert!(held > WALKS / 8, "only {held} beats were held");
}

struct Walk {
    seed: u64,
    rng: SmallRng,
    gateway: Gateway,
    clients: Vec<Client>,
    /// Taken, and not committed.
    groups: VecDeque<Vec<Entry>>,
    committed: Committed,
    asked: Vec<Asked>,
    away: bool,
    /// What another client has.
    large_frame_permit: Option<LargeFramePermit>,
    list_turn: Option<ListPermit>,
    trace: Vec<String>,
}

struct Client {
    peer: Peer,
    script: Script,
    witness: Witness,
}

impl Client {
    /// `made`: moments of the user before.
    fn new(gateway: &Gateway, user: UserId, made: u64, rng: &mut SmallRng) -> Self {
        let seq = if rng.random_bool(0.02) { u32::MAX - rng.random_range(0..4) } else { rng.random_range(0..2) };
        let ack_delay = Duration::from_millis([0, 0, 300, 2_000][rng.random_range(0..4)]);
        let peer = Peer::new(gateway, user, seq, ack_delay);
        Client { peer, script: Script::new(user, seq, made), witness: Witness::new(user) }
    }
}

impl Walk {
    fn new(seed: u64) -> Self {
        let mut rng = SmallRng::seed_from_u64(seed);
        // Every second one holds steady beats.
        let hold = Duration::from_millis([0, 700][(seed % 2) as usize]);
        let gateway = Gateway::holding(hold);
        let clients = USERS.map(|user| Client::new(&gateway, user, 0, &mut rng)).into();
        Walk {
            seed,
            rng,
            gateway,
            clients,
            groups: VecDeque::new(),
            committed: Committed::new(),
            asked: Vec::new(),
            away: false,
            large_frame_permit: None,
            list_turn: None,
            trace: Vec::new(),
        }
    }

    /// One thing that happens, and all that follows from it at once.
    async fn step(&mut self) {
        let index = self.rng.random_range(0..self.clients.len());
        let user = self.clients[index].peer.user;
        match self.rng.random_range(0..100) {
            0..40 => self.send(index),
            40..52 => self.take(),
            52..68 if !self.away => self.commit(),
            52..68 => {}
            68..80 => self.answer_read(),
            80..89 => {
                let spans = [1, 1, 50, 300, 1_000, 2_500, 6_000, 31_000];
                let span = spans[self.rng.random_range(0..spans.len())];
                self.wait(Duration::from_millis(span)).await;
            }
            89..91 => self.away = !self.away,
            91..93 => {
                let peer = &mut self.clients[index].peer;
                peer.stuck = !peer.stuck;
                self.trace.push(format!("{user:?} reads: {}", !peer.stuck));
            }
            93..95 => {
                self.large_frame_permit = match self.large_frame_permit {
                    None => self.gateway.submit_queue().try_large_frame_permit(),
                    Some(_) => None,
                };
            }
            95..97 => self.list_elsewhere(user),
            97 if self.rng.random_bool(0.5) => drop(self.gateway.commit_held(user)),
            97 => self.gateway.tell(user, |inbox| inbox.push(Push::Recording { paused: false })),
            98 if self.rng.random_bool(0.3) => {
                self.trace.push(format!("{user:?} is kicked"));
                self.gateway.kick(user);
            }
            98 => {}
            _ => {
                self.trace.push(format!("{user:?} is to leave"));
                self.clients[index].peer.hurry();
            }
        }
        self.go_on();
    }

    fn send(&mut self, index: usize) {
        let Client { peer, script, witness } = &mut self.clients[index];
        if peer.end.is_some() {
            self.trace.push(format!("{:?} comes back", peer.user));
            self.clients[index] = Client::new(&self.gateway, peer.user, script.made(), &mut self.rng);
            return;
        }
        let said = script.next(&mut self.rng, &self.gateway);
        self.trace.push(format!("{:?} sends {:?}: {:?}", peer.user, said.seq, said.kind));
        witness.sends(said.seq, said.kind);
        peer.send(said.text);
    }

    fn take(&mut self) {
        if self.groups.len() < 2 {
            let group = self.gateway.take(self.rng.random_range(1..6));
            self.trace.push(format!("a group of {}", group.len()));
            self.groups.push_back(group);
        }
    }

    fn commit(&mut self) {
        let Some(group) = self.groups.pop_front() else { return };
        self.trace.push(format!("commits {}", group.len()));
        for entry in &group {
            let (user, connection) = (entry.inbox().user, entry.inbox().id);
            match entry {
                Entry::Slot(slot) => {
                    let of_playback = (user, slot.beat.content, slot.beat.session);
                    let newest = self.committed.entry(of_playback).or_default();
                    *newest = slot.beat.at.max(*newest);
                }
                Entry::Order { action: Action::Delete { at, .. } | Action::Clear { at }, .. } => {
                    let reads = self.asked.iter().any(|asked| asked.user == user && asked.is_awaited());
                    let client = self.clients.iter().find(|client| client.peer.connection == connection);
                    let awaited = client.is_some_and(|Client { peer, witness, .. }| {
                        // What a client does not read may answer what is before it.
                        witness.is_ordered(*at, !peer.stuck, &self.committed)
                    });
                    assert!(!awaited || !reads, "an order beside a read");
                }
                Entry::Order { action, .. } => panic!("an unexpected order: {action:?}"),
            }
        }
        self.gateway.commit(group);
    }

    fn answer_read(&mut self) {
        if !self.asked.is_empty() {
            let asked = self.asked.swap_remove(self.rng.random_range(0..self.asked.len()));
            let goes_well = self.rng.random_bool(0.95);
            self.trace.push(format!("a read of {:?} goes well: {goes_well}", asked.user));
            asked.answer(goes_well);
        }
    }

    /// Another socket of the user begins a list, or ends it.
    fn list_elsewhere(&mut self, user: UserId) {
        match self.list_turn.take() {
            None => self.list_turn = self.gateway.context.lists.try_acquire(user, now()).ok(),
            Some(permit) => permit.rows().add(self.rng.random_range(0..10)),
        }
    }

    async fn wait(&mut self, time: Duration) {
        let until = now() + time;
        self.trace.push(format!("waits {time:?}"));
        while now() < until {
            let deadlines = self.clients.iter().filter_map(|client| client.peer.next_deadline());
            let next = deadlines.filter(|deadline| *deadline > now()).min();
            pass(next.unwrap_or(until).min(until).min(now() + TICK) - now()).await;
            self.go_on();
        }
    }

    /// Both conversations go on as far as they can.
    fn go_on(&mut self) {
        // What one of them does may let the other go on.
        for index in [0, 1, 0, 1] {
            self.clients[index].peer.go_on();
            for Client { peer, witness, .. } in &mut self.clients {
                witness.heard(std::mem::take(&mut peer.heard).len());
            }
            for Client { peer, witness, .. } in &mut self.clients {
                for frame in std::mem::take(&mut peer.said) {
                    self.trace.push(format!("{:?} is told {frame:?}", peer.user));
                    witness.is_said(&frame, &self.committed);
                }
                if let Some(end) = peer.end {
                    witness.ends(end);
                }
            }
            for asked in self.gateway.reads.asked() {
                let under_way = self.asked.iter().any(|other| other.user == asked.user && other.is_awaited());
                assert!(!under_way, "two reads at a time");
                let client = self.clients.iter().find(|client| client.peer.user == asked.user);
                client.unwrap().witness.reads(&self.committed);
                self.asked.push(asked);
            }
        }
    }

    /// Nothing goes wrong any more: without a moment's delay all is answered but what waits for a time, and then that
    /// is.
    async fn come_to_rest(&mut self) {
        self.trace.push("all goes well from now on".to_owned());
        self.away = false;
        (self.large_frame_permit, self.list_turn) = (None, None);
        self.answer_all();
        self.clients.iter_mut().for_each(|client| client.peer.stuck = false);
        self.go_on();
        self.clients.iter_mut().for_each(|client| client.witness.refused.clear());
        (0..50).for_each(|_| self.answer_all());
        // In some walks a read ends all holds, in others their time does.
        let reads = self.seed % 4 == 1;
        if reads {
            USERS.iter().for_each(|user| drop(self.gateway.commit_held(*user)));
            self.answer_all();
        }
        for Client { peer, witness, .. } in &self.clients {
            let open: Vec<_> = witness.open().collect();
            assert!(witness.refused.is_empty(), "{:?} could have been answered", witness.refused);
            let may_be_held = !reads && open.iter().all(|(_, kind)| matches!(kind, Kind::Beats(_)));
            let rests = may_be_held || peer.end.is_some() || witness.waits_for_time(&self.committed);
            assert!(rests, "{:?} is not answered {open:?}", peer.user);
        }
        let until = now() + REST;
        while now() < until {
            self.wait(TICK).await;
            self.answer_all();
        }
        for Client { peer, witness, .. } in &self.clients {
            let open: Vec<_> = witness.open().collect();
            assert!(peer.end.is_some() || witness.is_at_rest(), "{:?} is not answered {open:?}", peer.user);
            assert!(peer.end.is_some() || !peer.has_unread(), "{:?} is not read", peer.user);
        }
    }

    fn answer_all(&mut self) {
        while !self.groups.is_empty() {
            self.commit();
        }
        self.groups.push_back(self.gateway.take(usize::MAX));
        self.commit();
        self.asked.drain(..).for_each(|asked| asked.answer(true));
        self.go_on();
    }
}

impl Drop for Walk {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("walk {}:\n{}", self.seed, self.trace.join("\n"));
        }
    }
}
