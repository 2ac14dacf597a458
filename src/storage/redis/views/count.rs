//! Counts views, in batches of all views that wait.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ::redis::{Script, Value};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use super::keys::{self, Mark};
use super::stored::StoredTotals;
use crate::script::script;
use crate::value::{self, DecodeError};
use crate::{Call, Redis, joined};
use model::ids::Content;
use model::sums::StoredTotal;
use model::view::{View, Viewed};
use storage::store_error::StoreError;
use storage::views::ViewsError;

static COUNT: LazyLock<Script> = LazyLock::new(|| script(include_str!("count.lua")));

/// Fields that one shard may have pending: the contents of some 4,000 views on one day. All shards together take 500
/// MB. Views by playback add to the fields, but are never refused.
const PENDING_MAX: usize = 8_192;
/// Totals that one shard remembers, some 70 bytes each.
const TOTALS_MAX: usize = 2_048;
/// The life of marks: two days, and as much again for zones and clocks that differ.
const MARKS: Duration = Duration::from_hours(96);
/// A call whose outcome is unknown is repeated for up to this time.
const REPEAT_MAX: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(50);
/// Repeated reads of a total because a flight was removed in between. After them the view is counted without its total.
const STALE_MAX: usize = 4;

/// A view that waits to be counted.
pub struct WaitingView {
    view: View,
    mark: Mark,
    /// Distinguishes this request from others with the same mark.
    request: [u8; 8],
    total: Total,
    answer: oneshot::Sender<Result<Viewed, ViewsError>>,
}

/// The known state of a total that Redis does not remember.
#[derive(Clone, Copy, Debug)]
enum Total {
    /// Not read yet.
    Ask,
    /// The statistics store did not answer.
    Unknown,
    Stored {
        stored: StoredTotal,
        /// The last flight that the shard had removed before the store was read.
        removed: u64,
    },
}

/// The result for one view.
enum Counted {
    Done(Viewed),
    /// The view was not counted; `removed`: the last removed flight of the shard.
    Miss {
        removed: u64,
    },
    Stale,
    Full,
}

impl WaitingView {
    pub fn new(view: View, answer: oneshot::Sender<Result<Viewed, ViewsError>>) -> Self {
        let request: u64 = rand::random();
        let mark = keys::mark(view.user, view.content, view.session, request);
        WaitingView { view, mark, request: request.to_be_bytes(), total: Total::Ask, answer }
    }

    fn answer(self, answer: Result<Viewed, ViewsError>) {
        let _ = self.answer.send(answer);
    }

    fn put(&self, index: usize, args: &mut Vec<Vec<u8>>) {
        let [before, day, after] = self.view.day.around().map(|day| day.to_string().into_bytes());
        let total = match self.total {
            Total::Ask => "ask".to_owned(),
            Total::Unknown => "unknown".to_owned(),
            Total::Stored { stored, removed } => format!("{} {} {removed}", stored.total, stored.flight),
        };
        args.extend([
            index.to_string().into_bytes(),
            keys::content(self.view.content).into_bytes(),
            day,
            before,
            after,
            self.mark.to_vec(),
            self.request.to_vec(),
            total.into_bytes(),
        ]);
    }
}

/// Counts these views and answers those whose total is remembered. Returns the others uncounted, each with the last
/// removed flight of its shard.
pub async fn count_remembered(redis: &Redis, views: Vec<WaitingView>) -> Vec<(WaitingView, u64)> {
    let (mut misses, mut full) = (Vec::new(), Vec::new());
    for (view, counted) in count(redis, views).await {
        match counted {
            Counted::Done(viewed) => view.answer(Ok(viewed)),
            Counted::Miss { removed } => misses.push((view, removed)),
            Counted::Stale | Counted::Full => full.push(view),
        }
    }
    full.into_iter().for_each(refuse);
    misses
}

/// Reads the totals of these views, then counts the views with them.
pub async fn count_missed(redis: Redis, totals: Arc<StoredTotals>, mut missed: Vec<(WaitingView, u64)>) {
    for round in 0..=STALE_MAX {
        let contents: Vec<Content> = missed.iter().map(|(view, _)| view.view.content).collect();
        let read = if round < STALE_MAX { totals.read(contents).await } else { None };
        let views = missed.drain(..).enumerate().map(|(index, (mut view, removed))| {
            let stored = read.as_ref().map(|stored| stored[index]);
            view.total = stored.map_or(Total::Unknown, |stored| Total::Stored { stored, removed });
            view
        });
        let mut stale = Vec::new();
        for (view, counted) in count(&redis, views.collect()).await {
            match counted {
                Counted::Done(viewed) => view.answer(Ok(viewed)),
                Counted::Miss { .. } | Counted::Full => refuse(view),
                Counted::Stale => stale.push(WaitingView { total: Total::Ask, ..view }),
            }
        }
        if stale.is_empty() {
            return;
        }
        missed = count_remembered(&redis, stale).await;
    }
}

fn refuse(view: WaitingView) {
    let why = "too many views wait for the statistics store".to_owned();
    view.answer(Err(StoreError::Busy(why).into()));
}

/// The result of each view. Views whose outcome stays unknown are answered here.
async fn count(redis: &Redis, mut views: Vec<WaitingView>) -> Vec<(WaitingView, Counted)> {
    let (mut all, until) = (Vec::with_capacity(views.len()), Instant::now() + REPEAT_MAX);
    loop {
        views.sort_by_key(|view| keys::shard_of(view.view.content));
        let shard = |view: &WaitingView| keys::shard_of(view.view.content);
        let parts = joined::split(redis, &mut views, shard, |_| 1);
        let sizes: Vec<usize> = parts.iter().map(|part| part.len()).collect();
        let calls = parts.into_iter().map(|part| call(redis, part)).collect();
        let mut rest = views.into_iter();
        let (mut unknown, mut why) = (Vec::new(), None);
        for (answer, size) in redis.run_each(&COUNT, calls).await.into_iter().zip(sizes) {
            let part: Vec<WaitingView> = rest.by_ref().take(size).collect();
            match answer.and_then(|answer| Ok(counted(answer, size)?)) {
                Ok(counted) => all.extend(part.into_iter().zip(counted)),
                Err(error) => {
                    unknown.extend(part);
                    why = Some(error);
                }
            }
        }
        let Some(why) = why else { return all };
        if Instant::now() + PAUSE > until {
            unknown.into_iter().for_each(|view| view.answer(Err(why.clone().into())));
            return all;
        }
        // A view that was counted is recognized by its mark.
        views = unknown;
        sleep(PAUSE).await;
    }
}

fn call(redis: &Redis, part: &[WaitingView]) -> Call {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let shards = joined::shards(part, |view| keys::shard_of(view.view.content));
    let mut args = vec![redis.deployment().as_bytes().to_vec()];
    args.extend([now, PENDING_MAX as u128, TOTALS_MAX as u128, MARKS.as_millis()].map(|arg| arg.to_string().into()));
    for view in part {
        let index = shards.binary_search(&keys::shard_of(view.view.content)).map_or(0, |index| index + 1);
        view.put(index, &mut args);
    }
    Call { shards, keys: Vec::new(), args }
}

const MALFORMED: DecodeError = DecodeError("an answer to a view");

/// Reads an answer of `count` results.
fn counted(answer: Value, count: usize) -> Result<Vec<Counted>, DecodeError> {
    let answers = value::array(answer)?;
    if answers.len() != count {
        return Err(MALFORMED);
    }
    answers.into_iter().map(counted_one).collect()
}

fn counted_one(answer: Value) -> Result<Counted, DecodeError> {
    let mut parts = value::array(answer)?.into_iter();
    let what = value::bytes(parts.next().ok_or(MALFORMED)?)?;
    let number = match parts.next() {
        Some(Value::Int(number)) => u64::try_from(number).ok(),
        Some(Value::BulkString(text)) => std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok()),
        _ => None,
    };
    match what.as_slice() {
        b"counted" => Ok(Counted::Done(Viewed { counted: true, total: number })),
        b"seen" => Ok(Counted::Done(Viewed { counted: false, total: number })),
        b"miss" => Ok(Counted::Miss { removed: number.ok_or(MALFORMED)? }),
        b"stale" => Ok(Counted::Stale),
        b"full" => Ok(Counted::Full),
        _ => Err(MALFORMED),
    }
}
