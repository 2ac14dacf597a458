//! A statistics store in memory, which can be away, slow or frozen, and lose answers.
//!
//! It keeps the promises of [`Statistics`] as plainly as they can be kept, document by document.
#![allow(dead_code, reason = "others use the rest")]

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use heartline::model::counters::{CounterId, CounterKey};
use heartline::model::ids::Content;
use heartline::model::rewards::day::Day;
use heartline::model::sums::{CounterSum, Flight, FlightNumber, StoredTotal, Sum, SumKey, Unit};
use heartline::storage::statistics::{Answer, CounterStatistics, Statistics, StatisticsAway, Written};
use tokio::sync::watch;

/// What is wrong with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    #[default]
    Nothing,
    /// Nothing is done.
    Away,
    /// Everything is done, and answered as if it was not known.
    LostAnswers,
    /// The first half of a flight's documents is written. Nothing is read.
    Half,
    /// Nothing is done or answered before there is another fault.
    Frozen,
    /// All is done so much later.
    Delayed(Duration),
    /// Reads are done, and not answered before there is another fault.
    LateReads,
}

/// Clones are of the same store.
#[derive(Clone, Default)]
pub struct FakeStatistics {
    documents: Arc<Mutex<Documents>>,
    fault: Arc<watch::Sender<Fault>>,
    reads: Arc<watch::Sender<u64>>,
}

#[derive(Default)]
struct Documents {
    totals: BTreeMap<Content, Total>,
    months: BTreeMap<(Content, String), Days>,
    counters: BTreeMap<CounterSum, Total>,
    /// All flights that were asked to be written, in that order, repeats included.
    asked: Vec<Arc<Flight>>,
}

#[derive(Default)]
struct Total {
    total: i64,
    numbers: Numbers,
}

#[derive(Default)]
struct Days {
    days: BTreeMap<Day, i64>,
    numbers: Numbers,
}

/// Of the last flight, by unit.
#[derive(Default)]
struct Numbers(BTreeMap<Unit, FlightNumber>);

/// What a flight does to a document.
enum Change {
    Total(Content, Sum),
    Month(Content, String, Vec<(Day, Sum)>, bool),
    Counter(CounterSum, Sum),
}

impl FakeStatistics {
    pub fn fail(&self, fault: Fault) {
        self.fault.send_replace(fault);
    }

    pub fn recover(&self) {
        self.fail(Fault::Nothing);
    }

    pub fn total(&self, content: Content) -> i64 {
        self.documents.lock().unwrap().totals.get(&content).map_or(0, |kept| kept.total)
    }

    /// The flights that were asked to be written, in that order, repeats included.
    pub fn asked(&self) -> Vec<Arc<Flight>> {
        self.documents.lock().unwrap().asked.clone()
    }

    /// Waits until so many reads were done since the start, whether or not they are answered.
    pub async fn has_read(&self, count: u64) {
        self.reads.subscribe().wait_for(|reads| *reads >= count).await.expect("the store is there");
    }

    fn answer<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Documents, Fault) -> T + Send + 'static,
        is_write: bool,
    ) -> Answer<T> {
        let (documents, reads, mut fault) = (self.documents.clone(), self.reads.clone(), self.fault.subscribe());
        Box::pin(async move {
            let away = |why: &str| Err(StatisticsAway(why.to_owned()));
            let found = *fault.wait_for(|fault| *fault != Fault::Frozen).await.expect("the store is there");
            if let Fault::Delayed(time) = found {
                tokio::time::sleep(time).await;
            }
            if found == Fault::Away || (found == Fault::Half && !is_write) {
                return away("it is away");
            }
            let answer = act(&mut documents.lock().unwrap(), found);
            if !is_write {
                reads.send_modify(|reads| *reads += 1);
                fault.wait_for(|fault| *fault != Fault::LateReads).await.expect("the store is there");
            }
            if matches!(found, Fault::LostAnswers | Fault::Half) { away("the answer was lost") } else { Ok(answer) }
        })
    }
}

impl Statistics for FakeStatistics {
    fn write(&self, flight: Arc<Flight>) -> Answer<Written> {
        self.documents.lock().unwrap().asked.push(flight.clone());
        let write = move |documents: &mut Documents, fault| {
            let mut changes = documents.changes(&flight);
            if fault == Fault::Half {
                changes.truncate(changes.len().div_ceil(2));
            }
            let mut written = Written { documents: changes.len(), repeats: 0 };
            for change in changes {
                written.repeats += usize::from(!documents.apply(change, flight.unit, flight.number));
            }
            written
        };
        self.answer(write, true)
    }

    fn totals(&self, unit: Unit, contents: Vec<Content>) -> Answer<Vec<StoredTotal>> {
        let read = move |documents: &mut Documents, _| {
            let total = |content| match documents.totals.get(content) {
                None => StoredTotal::default(),
                Some(kept) => StoredTotal { total: kept.total, flight: kept.numbers.of(unit) },
            };
            contents.iter().map(total).collect()
        };
        self.answer(read, false)
    }

    fn days(&self, content: Content, from: Day, to: Day) -> Answer<Vec<(Day, u64)>> {
        let read = move |documents: &mut Documents, _| {
            let months = documents.months.iter().filter(|((of, _), _)| *of == content);
            let days = months.flat_map(|(_, month)| &month.days).filter(|(day, _)| (from..=to).contains(day));
            let days =
                days.filter_map(|(day, views)| Some((*day, u64::try_from(*views).ok().filter(|views| *views > 0)?)));
            let days: BTreeMap<Day, u64> = days.collect();
            days.into_iter().collect()
        };
        self.answer(read, false)
    }
}

impl CounterStatistics for FakeStatistics {
    fn counter_values(&self, generation: u32, id: CounterId, keys: Vec<CounterKey>) -> Answer<Vec<i64>> {
        let read = move |documents: &mut Documents, _| {
            let sum = |key: CounterKey| CounterSum { generation, id: id.clone(), key };
            let number = |key| documents.counters.get(&sum(key)).map_or(0, |kept| kept.total);
            keys.into_iter().map(number).collect()
        };
        self.answer(read, false)
    }

    fn counter_top(
        &self,
        generation: u32,
        id: CounterId,
        prefix: CounterKey,
        limit: usize,
    ) -> Answer<Vec<(CounterKey, i64)>> {
        let read = move |documents: &mut Documents, _| {
            let counted = documents.counted(generation, &id).filter(|(key, _)| key.begins_with(&prefix));
            let mut largest: Vec<_> = counted.collect();
            largest.sort_by_key(|(_, number)| Reverse(*number));
            largest.truncate(limit);
            largest
        };
        self.answer(read, false)
    }

    fn counter_page(
        &self,
        generation: u32,
        id: CounterId,
        after: Option<CounterKey>,
        limit: usize,
    ) -> Answer<Vec<(CounterKey, i64)>> {
        let read = move |documents: &mut Documents, _| {
            let counted = documents.counted(generation, &id);
            counted.filter(|(key, _)| after.as_ref().is_none_or(|after| key > after)).take(limit).collect()
        };
        self.answer(read, false)
    }

    fn drop_generation(&self, generation: u32) -> Answer<()> {
        let drop = move |documents: &mut Documents, _| documents.counters.retain(|sum, _| sum.generation != generation);
        self.answer(drop, true)
    }
}

impl Documents {
    /// In the order of their keys, without zeros.
    fn counted(&self, generation: u32, id: &CounterId) -> impl Iterator<Item = (CounterKey, i64)> {
        let counted = self.counters.iter().filter(move |(sum, _)| sum.generation == generation && sum.id == *id);
        counted.filter(|(_, kept)| kept.total != 0).map(|(sum, kept)| (sum.key.clone(), kept.total))
    }

    fn changes(&self, flight: &Flight) -> Vec<Change> {
        let restarts = |content| flight.sums.get(&SumKey::Views(content)).is_some_and(|sum| sum.restarts);
        let (mut changes, mut months) = (Vec::new(), BTreeMap::<(Content, String), Vec<(Day, Sum)>>::new());
        for (key, sum) in flight.sums.iter().filter(|(_, sum)| **sum != Sum::default()) {
            match key {
                SumKey::Views(content) => changes.push(Change::Total(*content, *sum)),
                SumKey::ViewsOn(content, day) => {
                    months.entry((*content, month_of(*day))).or_default().push((*day, *sum));
                }
                SumKey::Counter(counter) => changes.push(Change::Counter(counter.clone(), *sum)),
            }
        }
        for month in self.months.keys().filter(|(content, _)| restarts(*content)) {
            months.entry(month.clone()).or_default();
        }
        let months = months.into_iter();
        changes.extend(months.map(|((content, month), days)| Change::Month(content, month, days, restarts(content))));
        changes
    }

    /// Whether the document did not have it yet.
    fn apply(&mut self, change: Change, unit: Unit, number: FlightNumber) -> bool {
        match change {
            Change::Total(content, sum) => self.totals.entry(content).or_default().add(sum, unit, number),
            Change::Counter(counter, sum) => self.counters.entry(counter).or_default().add(sum, unit, number),
            Change::Month(content, month, days, restarts) => {
                let kept = self.months.entry((content, month)).or_default();
                if !kept.numbers.raise(unit, number) {
                    return false;
                }
                if restarts {
                    kept.days.clear();
                }
                for (day, sum) in days {
                    let views = kept.days.entry(day).or_default();
                    *views = sum.upon(*views);
                }
                true
            }
        }
    }
}

impl Total {
    /// Whether it did not have the flight yet.
    fn add(&mut self, sum: Sum, unit: Unit, number: FlightNumber) -> bool {
        let is_new = self.numbers.raise(unit, number);
        if is_new {
            self.total = sum.upon(self.total);
        }
        is_new
    }
}

impl Numbers {
    fn of(&self, unit: Unit) -> FlightNumber {
        self.0.get(&unit).copied().unwrap_or(0)
    }

    fn raise(&mut self, unit: Unit, number: FlightNumber) -> bool {
        let is_higher = self.of(unit) < number;
        if is_higher {
            self.0.insert(unit, number);
        }
        is_higher
    }
}

/// `2026-11`
fn month_of(day: Day) -> String {
    day.to_string()[..7].to_owned()
}
