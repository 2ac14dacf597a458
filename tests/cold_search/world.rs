//! One run: two gateways on one store, a packer, a trimmer and a history store, one step after the other in any order. In
//! some runs the store is lost now and then.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use heartline::domain::history_trim::compare::{Found, compare};
use heartline::model::change::{Action, Change, Outcome};
use heartline::model::cold::{ColdContents, ColdMark, ColdRows};
use heartline::model::forgetting::ContentRow;
use heartline::model::ids::Content;
use heartline::model::ids::UserId;
use heartline::model::pack::{PackedRow, UserPack};
use heartline::model::record::Record;
use heartline::model::retention::Retention;
use heartline::model::rewards::credit::Credit;
use heartline::model::rewards::rewarding::Rewarding;
use heartline::model::version::Version;
use heartline::storage::history_store::{HistoryStore, HistoryUser};
use heartline::storage::hot_store::cold_filter::ColdFilter;
use heartline::storage::hot_store::optimistic::{
    Applied, Apply, Limits, ListedUser, Load, Loaded, Need, Optimistic, TokenSource, UserStore, Write, make_head,
    read_at_once, read_listed, trim, unlist,
};
use heartline::storage::hot_store::{Group, StoreError};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use super::change::{self, USER, contents, told};
use crate::backends::plain_store::PlainStore as Truth;
use crate::backends::requests::Limits as TruthLimits;
use crate::history_store::plain_store::PlainStore as History;
use crate::history_store::words::{Backend, wall};

const HOUR: u64 = 3_600_000;
const RETENTION: Retention = Retention::of(Duration::from_hours(240));

pub struct World<B> {
    store: Arc<B>,
    /// The store may be lost: an absent head means that the history store has to be read.
    is_rebuilt: bool,
    gateways: Vec<Optimistic<Common<B>>>,
    /// Gateways that were ever started.
    started: u64,
    packing: TokenSource,
    truth: Truth,
    history: History,
    rng: SmallRng,
    now: u64,
    moments: Vec<u64>,
    /// Packs on their way.
    bus: Vec<UserPack>,
    /// A user who was packed, and whose pack is the last on the bus.
    packed: Option<ListedUser>,
    trimming: Option<Trimming>,
    late: Vec<Late>,
    pub trace: Vec<String>,
    pub seen: Seen,
}

/// What the runs have met.
#[derive(Default)]
pub struct Seen {
    trimmed: usize,
    cold_changes: usize,
    read_from_history: usize,
    trims_refused: usize,
    lost: usize,
    heads_made: usize,
}

impl Seen {
    pub fn add(&mut self, other: &Seen) {
        self.trimmed += other.trimmed;
        self.cold_changes += other.cold_changes;
        self.read_from_history += other.read_from_history;
        self.trims_refused += other.trims_refused;
        self.lost += other.lost;
        self.heads_made += other.heads_made;
    }

    /// A search that meets nothing proves nothing.
    pub fn check(&self) {
        let Seen { trimmed, cold_changes, read_from_history, trims_refused, lost, heads_made } = *self;
        let all = [trimmed, cold_changes, read_from_history, trims_refused, lost, heads_made];
        assert!(all.iter().all(|seen| *seen > 0), "{all:?}");
    }
}

struct Trimming {
    hot: ListedUser,
    history: Option<HistoryUser>,
}

/// A change that waits for the history store.
struct Late {
    change: Change,
    wanted: ColdContents,
    rows: Option<ColdRows>,
    /// All of the user, if no head was there.
    history: Option<HistoryUser>,
}

/// The store as each gateway has it.
struct Common<B>(Arc<B>);

impl<B: UserStore> UserStore for Common<B> {
    async fn load(&self, loads: &[Load]) -> Result<Vec<Loaded>, StoreError> {
        self.0.load(loads).await
    }

    async fn apply(&self, applies: &[&Apply]) -> Result<Vec<Applied>, StoreError> {
        self.0.apply(applies).await
    }

    async fn put_off(&self, users: &[(UserId, Version)], due: u64) -> Result<(), StoreError> {
        self.0.put_off(users, due).await
    }
}

impl<B: UserStore> World<B> {
    pub fn new(seed: u64, store: B) -> Self {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut world = World {
            gateways: Vec::new(),
            started: 0,
            is_rebuilt: rng.random_bool(0.3),
            store: Arc::new(store),
            packing: TokenSource::new(9),
            truth: Truth::new(TruthLimits { retention_ms: 240 * HOUR, records_per_user: 100 }),
            history: History::open(RETENTION),
            rng,
            // The history store expires what it has by the wall clock, too.
            now: wall() - 100 * HOUR,
            moments: Vec::new(),
            bus: Vec::new(),
            packed: None,
            trimming: None,
            late: Vec::new(),
            trace: Vec::new(),
            seen: Seen::default(),
        };
        world.start_gateways();
        world
    }

    fn start_gateways(&mut self) {
        let limits = Limits {
            retention: RETENTION,
            contents_max: 100,
            history_interval: Some(1_000),
            is_rebuilt: self.is_rebuilt,
        };
        let heads = NonZeroUsize::new(2).unwrap();
        let numbers = self.started + 10..self.started + 12;
        self.started += 2;
        let common = || Common(self.store.clone());
        let gateways = numbers.map(|number| Optimistic::new(common(), limits, TokenSource::new(number), heads));
        self.gateways = gateways.collect();
    }

    pub async fn run(&mut self, steps: usize) -> Result<(), String> {
        // In some runs there is time for trims, and in others they are mostly refused.
        let (calm, quick) = (self.rng.random_range(0..34), self.rng.random_bool(0.5));
        for _ in 0..steps {
            if self.rng.random_bool(0.5) {
                self.read_unread().await?;
            }
            match self.rng.random_range(calm..100) {
                0..34 => {
                    let mut change = change::any(&mut self.rng, self.now, RETENTION.horizon(self.now), &self.moments);
                    if let Action::Erase { at } = &mut change.action {
                        // A store that was lost does not recognize a repetition.
                        self.now += 1;
                        *at = self.now;
                    }
                    self.moments.push(change::moment(&change));
                    self.commit(change, None).await?;
                }
                34..38 => self.pack().await,
                38..44 if quick => self.carry().await,
                38..44 => self.pack().await,
                44..56 => self.deliver().await,
                56..64 => self.unlist().await,
                64..72 if quick => {
                    self.begin_trim().await;
                    self.read_back().await;
                    self.trim().await;
                }
                64..72 => self.begin_trim().await,
                72..80 => self.read_back().await,
                80..86 => self.trim().await,
                86..89 => self.go_on_with_late().await?,
                89..91 => self.overtake_late().await?,
                91..93 => self.commit(Change { user: USER, action: Action::Prune { horizon: u64::MAX } }, None).await?,
                93 if self.is_rebuilt => self.lose().await,
                93..97 => {
                    self.now += [1, 1_000, 60_000, HOUR, HOUR, 26 * HOUR, 80 * HOUR].choose(&mut self.rng).unwrap()
                }
                _ => self.now += self.rng.random_range(1..3),
            }
            self.check().await?;
        }
        Ok(())
    }

    async fn commit(&mut self, change: Change, cold: Option<ColdRows>) -> Result<(), String> {
        let index = self.rng.random_range(0..self.gateways.len());
        let mut group = Group::new(self.now, vec![change.clone()], Rewarding::none());
        group.cold.extend(cold.map(|rows| (0, Arc::new(rows))));
        let (committed, _) = self.gateways[index].commit(&group).await.map_err(|error| error.to_string())?;
        let outcome = &committed.outcomes[0];
        self.trace.push(format!("{}: gateway {index}: {:?}: {outcome:?}", self.now, change.action));
        if let Outcome::Cold(wanted) = outcome {
            self.seen.cold_changes += 1;
            self.late.push(Late { change, wanted: (**wanted).clone(), rows: None, history: None });
            return Ok(());
        }
        let truth = self.truth.commit(self.now, &Rewarding::none(), std::slice::from_ref(&change));
        if matches!(change.action, Action::Prune { .. }) || told(&truth.outcomes[0]) == told(outcome) {
            return Ok(());
        }
        Err(format!("{:?} of {change:?}, not {:?}", outcome, truth.outcomes[0]))
    }

    async fn pack(&mut self) {
        let listed = read_listed(&*self.store, &[USER]).await.unwrap().remove(0);
        self.trace.push(format!("packed {:?}", listed.token()));
        self.bus.push(listed.pack());
        self.packed = Some(listed);
    }

    /// Everything in one go.
    async fn carry(&mut self) {
        self.pack().await;
        while !self.bus.is_empty() {
            self.deliver().await;
        }
        self.unlist().await;
    }

    async fn deliver(&mut self) {
        if self.bus.is_empty() {
            return;
        }
        let index = self.rng.random_range(0..self.bus.len());
        let pack = self.bus[index].clone();
        self.trace.push(format!("delivered {index} of {}: {:?}", self.bus.len(), versions(&pack)));
        self.history.write(Arc::from([pack]), None, self.now).await.unwrap();
        // What was sent last stays there, so that it is known not to have arrived.
        let is_last = index + 1 == self.bus.len();
        if is_last || self.rng.random_bool(0.5) {
            self.bus.remove(index);
        }
    }

    /// Only after everything up to it was delivered.
    async fn unlist(&mut self) {
        if !self.bus.is_empty() {
            return;
        }
        if let Some(packed) = self.packed.take() {
            let left = unlist(&*self.store, &self.packing, std::slice::from_ref(&packed), self.now).await.unwrap();
            self.trace.push(format!("unlisted {:?}: {left:?}", packed.token()));
        }
    }

    /// The store loses everything after it was carried, and its gateways have ended.
    async fn lose(&mut self) {
        self.carry().await;
        let user = read_at_once(&*self.store, USER).await.unwrap();
        if !user.is_carried() {
            return;
        }
        let load = Load { user: USER, needs: vec![Need::Head] };
        let expected = self.store.load(&[load]).await.unwrap().remove(0).head.flatten();
        let (writes, generations) = (vec![Write::RemoveUser], self.store.generations());
        let apply = Apply { user: USER, expected, head: None, writes, news: false, generations };
        self.store.apply(&[&apply]).await.unwrap();
        self.trace.push(format!("{}: lost", self.now));
        self.seen.lost += 1;
        self.start_gateways();
        self.trimming = None;
        // Clients send again what was not acked.
        self.late.iter_mut().for_each(|late| (late.rows, late.history) = (None, None));
    }

    async fn begin_trim(&mut self) {
        let hot = read_at_once(&*self.store, USER).await.unwrap();
        if hot.is_carried() {
            self.trimming = Some(Trimming { hot, history: None });
        }
    }

    async fn read_back(&mut self) {
        let read = self.history.read(USER, self.now).await.unwrap();
        if let Some(trimming) = &mut self.trimming {
            trimming.history = Some(read);
        }
    }

    async fn trim(&mut self) {
        let Some(Trimming { hot, history: Some(history) }) = self.trimming.take() else { return };
        let found = compare(&hot.pack(), &history, RETENTION, self.now);
        if found.all().any(Found::is_behind) {
            return;
        }
        let mut leaving: Vec<Content> = found.rows.iter().map(|(content, _)| *content).collect();
        leaving.retain(|content| hot.playing() != Some(*content) && self.rng.random_bool(0.7));
        if leaving.is_empty() {
            return;
        }
        let filter = ColdFilter::of(history.rows.iter().map(|row| row.content)).filter(|_| self.rng.random_bool(0.9));
        let trimmed = trim(&*self.store, &self.packing, hot, &leaving, filter, self.now).await.unwrap();
        self.trace.push(format!("{}: trims {leaving:?}: {trimmed:?}", self.now));
        self.seen.trimmed += trimmed.rows as usize;
        self.seen.trims_refused += usize::from(trimmed.interrupted);
    }

    /// Reads what a late change waits for, or commits it again.
    async fn go_on_with_late(&mut self) -> Result<(), String> {
        if self.late.is_empty() {
            return Ok(());
        }
        let index = self.rng.random_range(0..self.late.len());
        let history = self.history.read(USER, self.now).await.unwrap();
        let late = &mut self.late[index];
        if late.wanted.mark == ColdMark::UNREAD {
            return Ok(());
        }
        if late.rows.is_none() {
            let row = |content: &Content| (*content, row_of(&history, *content).map(ContentRow::of_packed));
            let rows = late.wanted.contents.iter().map(row).collect();
            late.rows = Some(ColdRows { mark: late.wanted.mark, rows });
            return Ok(());
        }
        let Late { change, rows, .. } = self.late.remove(index);
        self.commit_again(change, rows).await
    }

    async fn commit_again(&mut self, change: Change, rows: Option<ColdRows>) -> Result<(), String> {
        // Too old to be admitted by now.
        if change::moment(&change) < RETENTION.horizon(self.now) {
            return Ok(());
        }
        self.commit(change, rows).await
    }

    /// Reads what a head is made from, or makes it and commits what waits for it.
    async fn read_unread(&mut self) -> Result<(), String> {
        let unread = self.late.iter().enumerate().filter(|(_, late)| late.wanted.mark == ColdMark::UNREAD);
        let unread: Vec<usize> = unread.map(|(index, _)| index).collect();
        let Some(index) = unread.choose(&mut self.rng).copied() else { return Ok(()) };
        let history = self.history.read(USER, self.now).await.unwrap();
        let Some(read) = self.late[index].history.take() else {
            self.late[index].history = Some(history);
            return Ok(());
        };
        let made = make_head(&*self.store, &self.packing, USER, &read, RETENTION, self.now).await.unwrap();
        self.trace.push(format!("{}: head made: {made:?}", self.now));
        self.seen.heads_made += usize::from(made.is_some());
        let Late { change, .. } = self.late.remove(index);
        self.commit_again(change, None).await
    }

    /// A newer beat of what a late change is about is committed, carried and trimmed, after its row was read.
    async fn overtake_late(&mut self) -> Result<(), String> {
        let Some(late) = self.late.iter().rfind(|late| late.rows.is_some()) else { return Ok(()) };
        let (content, at) = (late.wanted.contents[0], change::moment(&late.change) + self.rng.random_range(0..3));
        if at < RETENTION.horizon(self.now) {
            return Ok(());
        }
        self.commit(change::beat_of(content, at.min(self.now)), None).await?;
        self.commit(change::beat_of(change::content(change::OIDS), self.now), None).await?;
        self.carry().await;
        self.begin_trim().await;
        self.read_back().await;
        self.trim().await;
        self.go_on_with_late().await
    }

    /// Each record that would be there is read, and no other.
    async fn check(&mut self) -> Result<(), String> {
        let needs = [vec![Need::Head, Need::ColdFilter], contents().into_iter().map(Need::Row).collect()].concat();
        let loaded = self.store.load(&[Load { user: USER, needs }]).await.unwrap().remove(0);
        let head = loaded.head.flatten();
        let unread = head.is_none() && self.is_rebuilt;
        let head = head.unwrap_or_default();
        let horizon = RETENTION.horizon(self.now);
        let history = self.history.read(USER, self.now).await.unwrap();
        let filter = loaded.cold_filter.flatten();
        let mark = if unread { Some(ColdMark::UNREAD) } else { head.cold_mark(horizon) };
        for (content, row) in &loaded.rows {
            let current = head.current.as_ref().filter(|(current, _)| current == content);
            let hot = current.map(|(_, row)| row.row.clone()).or(row.as_ref().map(|row| row.row.clone()));
            let is_cold = hot.is_none() && mark.is_some() && filter.as_ref().is_none_or(|filter| filter.has(*content));
            let cold = row_of(&history, *content).filter(|_| is_cold).map(ContentRow::of_packed);
            self.seen.read_from_history += usize::from(cold.is_some());
            let found = hot.or(cold).and_then(|row| row.into_live(&head.forgetting, horizon));
            let expected = self.truth.get(USER, *content, self.now);
            let is_below = |found: &Record| expected.as_ref().is_some_and(|expected| found.version < expected.version);
            if found.as_ref().is_some_and(is_below) || found.clone().map(plain) != expected.clone().map(plain) {
                return Err(format!("{content:?}: {found:?}, not {expected:?}; {mark:?}; history {history:?}"));
            }
        }
        Ok(())
    }
}

/// The credit for rewards does not go to the history store. The version there is that of the row, which may be that of a
/// tombstone below the record.
fn plain(record: Record) -> Record {
    Record { credit: Credit::default(), version: Version::NONE, ..record }
}

fn row_of(history: &HistoryUser, content: Content) -> Option<&PackedRow> {
    history.rows.iter().find(|row| row.content == content)
}

fn versions(pack: &UserPack) -> Vec<(u64, Version)> {
    pack.rows.iter().map(|row| (row.content.oid, row.version)).collect()
}
