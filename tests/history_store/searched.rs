//! A search: what a hot store does to users, told in packs that arrive in any order, late and more than once, and what
//! the history store has then.

use std::collections::BTreeMap;

use heartline::model::forgetting::{ContentRow, ErasedRows, UserRow};
use heartline::model::ids::{Content, UserId};
use heartline::model::pack::{PackedForgetting, PackedRow, UserPack};
use heartline::model::record::Record;
use heartline::model::recording::Switch;
use heartline::model::rewards::credit::Credit;
use heartline::model::version::Version;
use heartline::storage::history_store::HistoryUser;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use crate::history_store::plain_store::PlainStore;
use crate::history_store::words::*;

/// Names the seed to look at again.
const SEED: &str = "HEARTLINE_TEST_SEED";
const USERS: usize = 60;
const STEPS: usize = 60;
const CONTENTS: u64 = 6;

/// A user in a hot store, and the packs that left it.
struct Told {
    user: UserId,
    row: UserRow,
    contents: BTreeMap<Content, ContentRow>,
    /// Server-clock milliseconds.
    clock: u64,
    token: Version,
    packs: Vec<UserPack>,
    /// What history has to have in the end.
    expected: BTreeMap<Content, PackedRow>,
    forgotten: Option<PackedForgetting>,
}

impl Told {
    fn new(user: UserId) -> Self {
        Told {
            user,
            row: UserRow::default(),
            contents: BTreeMap::new(),
            clock: wall() - 3 * DAY_MS,
            token: Version::NONE,
            packs: Vec::new(),
            expected: BTreeMap::new(),
            forgotten: None,
        }
    }

    fn step(&mut self, dice: &mut StdRng) {
        self.clock += dice.random_range(1..40);
        let content = Content { kind: 1, oid: dice.random_range(0..CONTENTS) };
        let at = self.clock - dice.random_range(0..60);
        match dice.random_range(0..100) {
            0..55 => self.play(content, at),
            55..75 => {
                self.contents.entry(content).or_default().delete(at);
            }
            75..83 => {
                self.row.clear(at);
            }
            83..90 => {
                self.row.recording.switch(Switch { at, paused: dice.random() }, 0);
            }
            90..93 => {
                let newest_gone = self.contents.values().map(ContentRow::newest).max().unwrap_or(0);
                self.row.erase(self.clock, &ErasedRows { newest_gone, oldest_kept: None });
                self.contents.clear();
            }
            _ => self.evict(content),
        }
        self.sweep(dice);
        self.tell(content, dice);
    }

    fn play(&mut self, content: Content, at: u64) {
        let row = self.contents.entry(content).or_default();
        let newest = row.record.as_ref().map_or(self.row.floor, |record| record.at);
        if at > newest.max(self.row.watermark).max(row.newest()) {
            let (packed, version) = (record(at), Version::first_of(at).max(row.last_version().next()));
            let credit = Credit { day: "2026-11-20".parse().unwrap(), since: 0, base: 0 };
            row.record = Some(Record {
                content,
                pos: packed.pos,
                dur: packed.dur,
                state: packed.state,
                session: packed.session,
                device: packed.device,
                watched: packed.watched,
                at,
                version,
                credit,
            });
        }
    }

    /// It stays in history.
    fn evict(&mut self, content: Content) {
        if let Some(row) = self.contents.remove(&content) {
            self.row.floor = self.row.floor.max(row.newest());
        }
    }

    /// What a clear hides goes, now or later.
    fn sweep(&mut self, dice: &mut StdRng) {
        if dice.random_bool(0.3) {
            for row in self.contents.values_mut() {
                row.prune(&self.row, 0);
            }
        }
        self.contents.retain(|_, row| !row.is_empty());
    }

    /// The content, or all of them; what was forgotten with each change of it.
    fn tell(&mut self, content: Content, dice: &mut StdRng) {
        self.token = self.token.next().max(Version::last_of(self.clock));
        let all = dice.random_bool(0.1);
        let packed = self.contents.iter().filter(|(told, _)| all || **told == content);
        let rows: Vec<_> = packed.map(|(content, row)| PackedRow::of(*content, row)).collect();
        for row in &rows {
            self.expect(row);
        }
        let forgetting = PackedForgetting::of(&self.row, self.token);
        let known = |forgotten: &PackedForgetting| PackedForgetting { version: self.token, ..forgotten.clone() };
        let forgetting = forgetting.filter(|told| self.forgotten.as_ref().map(known).as_ref() != Some(told));
        if forgetting.is_some() {
            self.forgotten.clone_from(&forgetting);
        }
        self.packs.push(UserPack { user: self.user, forgetting, rows });
    }

    /// A late delete of an evicted content may be older than what history has of it: the record stays.
    fn expect(&mut self, row: &PackedRow) {
        if self.expected.get(&row.content).is_none_or(|known| known.version <= row.version) {
            self.expected.insert(row.content, row.clone());
        }
    }

    /// By the definition.
    fn expected(&self) -> HistoryUser {
        let watermark = self.forgotten.as_ref().map_or(0, |forgotten| forgotten.watermark);
        let rows = self.expected.values().filter(|row| row.newest() > watermark).cloned().collect();
        HistoryUser { forgetting: self.forgotten.clone(), rows }
    }
}

pub fn packs_in_any_order_with_repeats_give_the_same<B: Backend>() {
    let seed = std::env::var(SEED).map_or_else(|_| rand::random(), |seed| seed.parse().unwrap());
    println!("{SEED}={seed}");
    let mut dice = StdRng::seed_from_u64(seed);
    let mut users: Vec<Told> = (0..USERS).map(|_| Told::new(some_user())).collect();
    for user in &mut users {
        let steps = dice.random_range(1..=STEPS);
        (0..steps).for_each(|_| user.step(&mut dice));
    }
    let (oracle, store) = (PlainStore::open(LONG), B::open(LONG));
    let mut packs: Vec<UserPack> = users.iter().flat_map(|user| user.packs.clone()).collect();
    write(&oracle, packs.clone());
    let again: Vec<UserPack> = packs.iter().filter(|_| dice.random_bool(0.3)).cloned().collect();
    packs.extend(again);
    packs.shuffle(&mut dice);
    while !packs.is_empty() {
        let some = packs.split_off(packs.len() - dice.random_range(1..=packs.len().min(200)));
        write(&store, some);
    }
    for user in &users {
        let found = read(&store, user.user, wall());
        assert_eq!(found, user.expected(), "seed {seed}, user {}: {:#?}", user.user.0, user.packs);
        assert_eq!(read(&oracle, user.user, wall()), user.expected(), "the oracle, seed {seed}");
    }
}
