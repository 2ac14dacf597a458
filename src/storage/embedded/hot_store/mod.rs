//! The hot store inside the gateway's own process, on [fjall], an LSM tree with a journal.
//!
//! ```text
//! a group  → draft: its rows, cached or read once; decided by the model  → one batch, one fdatasync  → outcomes
//! a read   → queue → reader thread: a snapshot of the tables   → answer; a list in slices
//! a view   → view counter: one batch and one fdatasync for all waiting views  → total
//! a step of a direct counter → likewise, with the entries of the thresholds that it crosses  → value
//! counters → recounter: counts all records for new definitions, in steps between commits
//! the rest → pruner: finds dead rows; commits of the janitor remove them
//! ```
//!
//! **Durability.** A batch is written to the journal and synced before the tables in memory change, so that no reader
//! sees what could still be lost. After a kill the journal is replayed. Each batch in it begins with the number of its
//! entries and ends with a checksum and a trailer; one without its end, the torn tail of a process killed in the middle
//! of a write, is cut off and was never answered. A whole batch whose checksum is wrong is a damaged disk, and fjall
//! refuses to open.
//!
//! **Failure.** After a failed write or sync it is unknown what is on disk, so nothing is written any more until the
//! store is opened again: [`StoreError::Failed`]. Reads go on.
//!
//! On a disk that is full when the store is opened, nothing is written until there is room: [`StoreError::Away`].
//!
//! **Memory.** `cache_bytes` for blocks, `MEMTABLE_BYTES` for the table in the making (up to four more
//! wait for the disk), `user_cache` users, `QUEUE_MAX` questions.

mod batch;
mod candidates;
mod claims;
mod codec;
#[cfg(test)]
mod codec_properties;
mod commit;
mod content_names;
mod counters;
mod day_tables;
mod direct;
#[cfg(test)]
mod disk_room_tests;
mod draft;
mod due_seconds;
mod list;
mod names;
mod notices;
mod outbox;
mod prune;
#[cfg(test)]
mod prune_tests;
mod read;
mod recount;
mod stored;
mod tables;
mod user_cache;
#[cfg(test)]
mod user_cache_tests;
mod users;
mod view_counter;
mod views;
mod worker_watch;

use std::future::ready;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::future::BoxFuture;

pub use self::content_names::EmbeddedContentNames;
pub use self::direct::EmbeddedDirect;
pub use self::names::EmbeddedNames;
pub use crate::open_error::OpenError;

use self::commit::{Effects, GroupWriter};
use self::counters::{CounterTables, Counting};
use self::list::List;
use self::notices::NoticeTable;
use self::outbox::Extent;
use self::prune::Pruner;
use self::read::{Asker, Readers};
pub use self::recount::EmbeddedCounters;
use self::recount::{Jobs, Recounter};
use self::tables::Tables;
use self::users::Users;
use self::view_counter::ViewCounter;
use self::views::ViewTables;
use self::worker_watch::WorkerWatch;
use crate::data_dir::DataDir;
use crate::database::Journal;
use crate::disk_room::DiskRoom;
use crate::folder::Folder;
use model::change::Outcome;
use model::ids::{Content, UserId};
use model::page::{Page, PageRequest, UsersRequest};
use model::recording::Switch;
use model::rewards::calendar::StoredCalendar;
use model::rewards::claim::ClaimKey;
use model::rewards::day::Day;
use model::rows_read::RowsRead;
use model::rule::Admission;
use model::shard::Shard;
use model::walk::{WalkRequest, Walked};
use storage::Clock;
use storage::hot_store::config::Config;
use storage::hot_store::{
    Answer, Claims, Committed, Due, Found, Group, Positions, StoreClock, StoreError, StoredUsers, UserStatus,
};

/// The most that the newest commit may be ahead of the wall clock.
const AHEAD_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// [`Positions::commit`] blocks the thread it is called on until the group is synced: give it one of its own.
pub struct EmbeddedStore {
    // The threads end before what they use is closed.
    readers: Readers,
    pruner: Pruner,
    view_counter: ViewCounter,
    recounter: Recounter,
    views: ViewTables,
    counters: CounterTables,
    notices: NoticeTable,
    worker_watch: WorkerWatch,
    shared: Arc<Shared>,
    clock_floor: u64,
    calendar: Option<StoredCalendar>,
    id: String,
}

/// The state that the threads of the store share.
struct Shared {
    /// A mutex of the standard library, since it is poisoned by a panic: a commit that panicked may have changed memory
    /// only partly.
    group_writer: Mutex<GroupWriter>,
    tables: Tables,
    outbox: Arc<Extent>,
    room: Arc<DiskRoom>,
    admission: Admission,
    /// The newest time of a commit or a read, in milliseconds of the server clock.
    now: AtomicU64,
    // Dropped last.
    dir: DataDir,
}

impl EmbeddedStore {
    /// The name of the folder in the data directory.
    pub const FOLDER: &str = "store";

    /// Takes the data directory, and makes it if it is missing. `wall_clock`: milliseconds since 1970.
    pub fn open(config: &Config, wall_clock: Clock) -> Result<Self, OpenError> {
        Self::open_with(config, wall_clock, DiskRoom::look)
    }

    fn open_with(
        config: &Config,
        wall_clock: Clock,
        look_for_room: impl FnOnce(&Path) -> DiskRoom,
    ) -> Result<Self, OpenError> {
        let dir = DataDir::take(&config.data_dir)?;
        let open = |path: &Path, journal| open_tables(path, journal, config);
        let tables = Folder::of(dir.path(), Self::FOLDER).open(open)?;
        let unopened = |error| OpenError::of_tables(&config.data_dir, error);
        let unreadable = |error: tables::ReadError| damaged(dir.path(), error.to_string());
        let newest_commit = tables.view().newest_commit().map_err(unreadable)?;
        let calendar = tables.view().calendar().map_err(unreadable)?;
        let outbox = Arc::new(Extent::read(&tables).map_err(unreadable)?);
        let id = tables.id().map_err(unopened)?;
        let views = ViewTables::open(&tables.database).map_err(unopened)?;
        let counters = CounterTables::open(&tables.database, tables.meta.clone()).map_err(unopened)?;
        let notices = NoticeTable::open(&tables.database).map_err(unopened)?;
        let noticing = notices.noticing().map_err(unreadable)?;
        let counting = Counting::read(&counters, &tables.view().snapshot).map_err(unreadable)?;
        let jobs = Jobs::read(&counters, &tables.view().snapshot).map_err(unreadable)?;
        let behind = Duration::from_millis(newest_commit.saturating_sub(wall_clock()));
        if behind > AHEAD_MAX && !config.accept_clock_before_store {
            let behind = Duration::from_secs(behind.as_secs());
            return Err(OpenError::Clock { path: dir.path().to_owned(), behind });
        }
        let clock_floor = if behind > AHEAD_MAX { 0 } else { newest_commit };
        let unusable = |source| OpenError::unusable(&config.data_dir, source);
        let room = Arc::new(look_for_room(dir.path()));
        let shared = Arc::new(Shared {
            group_writer: Mutex::new(GroupWriter::new(
                tables.clone(),
                Effects { views: views.clone(), counting, noticing },
                config,
                room.clone(),
                outbox.clone(),
                calendar.clone(),
            )),
            tables,
            outbox,
            room,
            admission: config.admission(),
            now: AtomicU64::new(clock_floor),
            dir,
        });
        Ok(EmbeddedStore {
            readers: Readers::start(&shared.tables).map_err(unusable)?,
            worker_watch: WorkerWatch::start(shared.tables.clone(), shared.room.clone()).map_err(unusable)?,
            pruner: Pruner::start(shared.clone(), config, wall_clock, newest_commit).map_err(unusable)?,
            view_counter: view_counter::start(shared.clone()).map_err(unusable)?,
            recounter: Recounter::start(shared.clone(), jobs).map_err(unusable)?,
            views,
            counters,
            notices,
            shared,
            clock_floor,
            calendar,
            id,
        })
    }

    /// The server clock must not start before this: the time of the newest commit when the store was opened, in
    /// milliseconds. 0 = there was no commit, or its clock is not believed.
    pub fn clock_floor(&self) -> u64 {
        self.clock_floor
    }

    /// The newest day of the rewards on which anything was committed before the store was opened.
    pub fn calendar(&self) -> Option<&StoredCalendar> {
        self.calendar.as_ref()
    }

    /// Tells this store from others.
    pub fn id(&self) -> &str {
        &self.id
    }

    fn commit_now(&self, group: &Group) -> Result<Committed, StoreError> {
        self.shared.saw(group.now);
        let committed = self.shared.group_writer()?.commit(group)?;
        for (change, outcome) in group.changes.iter().zip(&committed.outcomes) {
            if let Outcome::Cleared { moved: true, .. } = outcome {
                self.pruner.cleared(change.user);
            }
        }
        Ok(committed)
    }
}

impl Positions for EmbeddedStore {
    fn commit<'a>(&'a self, group: &'a Group) -> BoxFuture<'a, Result<Committed, StoreError>> {
        Box::pin(ready(self.commit_now(group)))
    }

    fn due(&self, _now: u64) -> Answer<Due> {
        Box::pin(ready(Ok(self.pruner.due())))
    }

    /// Whether there is room on the disk, of which an idle store notices nothing otherwise.
    fn is_connected(&self, _shard: Shard) -> bool {
        self.shared.room.has_room()
    }

    fn troubles(&self) -> Vec<String> {
        match self.shared.room.require() {
            Ok(()) => Vec::new(),
            Err(StoreError::Away(why) | StoreError::Busy(why) | StoreError::Failed(why)) => vec![why],
        }
    }

    fn failure(&self) -> Option<StoreError> {
        self.worker_watch.failure().map(StoreError::Failed)
    }

    fn get(&self, user: UserId, contents: Vec<Content>, now: u64) -> Answer<Found> {
        let horizon = self.shared.saw(now);
        self.readers.ask(Asker::User(user), move |view| Ok(read::get(view, user, &contents, horizon)?.into()))
    }

    fn list(&self, user: UserId, request: PageRequest, now: u64, rows: RowsRead) -> Answer<Page> {
        self.readers.list(List::new(user, request, self.shared.saw(now), rows))
    }

    fn last_switch(&self, user: UserId) -> Answer<Option<Switch>> {
        self.readers.ask(Asker::User(user), move |view| Ok(view.user(user)?.recording.last()))
    }
}

impl Claims for EmbeddedStore {
    fn user_status(&self, user: UserId, day: Day) -> Answer<UserStatus> {
        self.readers.ask(Asker::User(user), move |view| {
            let rewarded = view.claims_per_user(user, day)?;
            let rewarded = rewarded.iter().map(|claim| claim.rule.to_string()).collect();
            Ok(UserStatus { paused: view.user(user)?.recording.paused(), rewarded })
        })
    }

    fn claims_of(&self, user: UserId, day: Day, limit: usize) -> Answer<Vec<ClaimKey>> {
        self.readers.ask(Asker::User(user), move |view| view.claims_of(user, day, limit))
    }

    fn claims_in(&self, shard: Shard, day: Day) -> Answer<Vec<ClaimKey>> {
        self.readers.ask(Asker::Gateway, move |view| view.claims_in(shard, day))
    }
}

impl StoredUsers for EmbeddedStore {
    fn users(&self, request: UsersRequest, now: u64) -> Answer<Vec<UserId>> {
        self.readers.users(Users::new(request, self.shared.saw(now)))
    }

    fn walk(&self, user: UserId, request: WalkRequest, now: u64) -> Answer<Walked> {
        let horizon = self.shared.saw(now);
        self.readers.ask(Asker::Gateway, move |view| read::walk(view, user, &request, horizon))
    }
}

impl StoreClock for EmbeddedStore {}

impl Shared {
    /// Locks the group writer: the holder is the only writer.
    fn group_writer(&self) -> Result<MutexGuard<'_, GroupWriter>, StoreError> {
        self.group_writer.lock().map_err(|_| StoreError::Failed(String::from("a commit panicked")))
    }

    /// Lets `write` write.
    fn write<T>(&self, write: impl FnOnce(&mut GroupWriter) -> Result<T, StoreError>) -> Result<T, StoreError> {
        write(&mut *self.group_writer()?)
    }

    /// Takes note of the time, and returns the horizon of expiry at that time.
    fn saw(&self, now: u64) -> u64 {
        self.now.fetch_max(now, Ordering::Relaxed);
        self.admission.retention.horizon(now)
    }
}

fn open_tables(path: &Path, journal: Journal, config: &Config) -> Result<Tables, OpenError> {
    Tables::open(path, journal, config.cache_bytes).map_err(|error| OpenError::of_tables(&config.data_dir, error))
}

fn damaged(path: &Path, why: String) -> OpenError {
    OpenError::Damaged { path: path.to_owned(), why }
}
