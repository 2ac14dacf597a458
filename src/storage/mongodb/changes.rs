//! A flight as changes of documents, each one statement of an `update` command.

use std::collections::{BTreeMap, BTreeSet};

use mongodb::bson::{Document, doc};

use super::counter_document::{COUNTERS, Name, counter_id};
use super::document::{Month, VIEW_DAYS, VIEWS, day_name, month_id, number_path, views_id};
use model::ids::Content;
use model::rewards::day::Day;
use model::sums::{CounterSum, Flight, Sum, SumKey, Unit};

/// The change of a flight to one document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Total {
        content: Content,
        sum: Sum,
    },
    /// `restarts`: days of the month that are not named are removed.
    Days {
        content: Content,
        month: Month,
        days: Vec<(Day, Sum)>,
        restarts: bool,
    },
    /// Empties a stored month that the flight does not name.
    Empty {
        id: String,
    },
    Counter {
        of: CounterSum,
        by: i64,
    },
}

/// All changes of a flight, except for the months that it does not name.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub totals: Vec<Change>,
    pub days: Vec<Change>,
    pub counters: Vec<Change>,
    /// The contents that were deleted, each with the documents of its months that are in `days`.
    pub restarting: BTreeMap<Content, BTreeSet<String>>,
}

/// The changes of one command.
#[derive(Debug)]
pub(super) struct Batch {
    pub collection: &'static str,
    pub changes: Vec<Change>,
}

impl Changes {
    /// The changes of a flight, without sums that change nothing.
    pub fn of(flight: &Flight) -> Self {
        let mut changes = Changes::default();
        // The keys are sorted: totals come first, and the days of a month are adjacent.
        for (key, sum) in &flight.sums {
            if *sum == Sum::default() {
                continue;
            }
            match key {
                SumKey::Views(content) => {
                    if sum.restarts {
                        changes.restarting.insert(*content, BTreeSet::new());
                    }
                    changes.totals.push(Change::Total { content: *content, sum: *sum });
                }
                SumKey::ViewsOn(content, day) => changes.add_day(*content, *day, *sum),
                SumKey::Counter(of) => changes.counters.push(Change::Counter { of: of.clone(), by: sum.by }),
            }
        }
        changes
    }

    /// Batches of one collection each. Their order does not matter.
    pub fn batches(self, statements_max: usize) -> Vec<Batch> {
        let mut batches = Vec::new();
        for (collection, changes) in [(VIEWS, self.totals), (VIEW_DAYS, self.days), (COUNTERS, self.counters)] {
            let changes = changes.chunks(statements_max);
            batches.extend(changes.map(|changes| Batch { collection, changes: changes.to_vec() }));
        }
        batches
    }

    fn add_day(&mut self, content: Content, day: Day, sum: Sum) {
        let month = Month::of(day);
        if let Some(Change::Days { content: of, month: in_month, days, .. }) = self.days.last_mut()
            && (*of, *in_month) == (content, month)
        {
            days.push((day, sum));
            return;
        }
        let named = self.restarting.get_mut(&content);
        let restarts = named.is_some();
        named.map(|named| named.insert(month_id(content, month)));
        self.days.push(Change::Days { content, month, days: vec![(day, sum)], restarts });
    }
}

impl Change {
    fn id(&self) -> String {
        match self {
            Change::Total { content, .. } => views_id(*content),
            Change::Days { content, month, .. } => month_id(*content, *month),
            Change::Empty { id } => id.clone(),
            Change::Counter { of, .. } => counter_id(of),
        }
    }

    /// Whether the document is created if it is missing.
    pub fn is_upsert(&self) -> bool {
        !matches!(self, Change::Empty { .. })
    }

    /// The guard, the sums and the number in one statement: MongoDB applies all of them to the document, or none.
    pub fn statement(&self, unit: Unit, number: i64) -> Document {
        let path = number_path(unit);
        let (mut set, mut increment, mut named) = (doc! { &path: number }, Document::new(), Document::new());
        match self {
            Change::Total { sum, .. } => put("total".to_owned(), *sum, &mut set, &mut increment),
            Change::Days { days, restarts: true, .. } => {
                let views = days.iter().filter(|(_, sum)| sum.by != 0);
                set.insert("days", views.map(|(day, sum)| (day_name(*day), sum.by.into())).collect::<Document>());
            }
            Change::Days { days, .. } => {
                days.iter().for_each(|(day, sum)| {
                    put(format!("days.{}", day_name(*day)), *sum, &mut set, &mut increment);
                });
            }
            Change::Empty { .. } => {
                set.insert("days", Document::new());
            }
            Change::Counter { of, by } => {
                increment.insert("n", *by);
                named = doc! { "c": Name::of(of.generation, &of.id).as_str(), "k": of.key.encoded() };
            }
        }
        let mut update = doc! { "$set": set };
        for (word, fields) in [("$inc", increment), ("$setOnInsert", named)] {
            if !fields.is_empty() {
                update.insert(word, fields);
            }
        }
        // A document without a number passes, too: `$not` is true of a missing field.
        let guard = doc! { "_id": self.id(), path: { "$not": { "$gte": number } } };
        doc! { "q": guard, "u": update, "upsert": self.is_upsert() }
    }
}

fn put(field: String, sum: Sum, set: &mut Document, increment: &mut Document) {
    let chosen = if sum.restarts { set } else { increment };
    chosen.insert(field, sum.by);
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::counters::CounterKey;
    use model::sums::Unit;

    const RESTART: Sum = Sum { restarts: true, by: 2 };

    fn content(oid: u64) -> Content {
        Content { kind: 1, oid }
    }

    fn on(oid: u64, day: &str) -> SumKey {
        SumKey::ViewsOn(content(oid), day.parse().expect("a day"))
    }

    fn flight(sums: &[(SumKey, Sum)]) -> Flight {
        let mut flight = Flight::new(Unit(3), 9);
        flight.join(sums.iter().cloned());
        flight
    }

    fn statements(sums: &[(SumKey, Sum)]) -> (Vec<Document>, Vec<Document>) {
        let changes = Changes::of(&flight(sums));
        let list = |changes: &[Change]| changes.iter().map(|change| change.statement(Unit(3), 9)).collect();
        (list(&changes.totals), list(&changes.days))
    }

    fn guard(id: &str) -> Document {
        doc! { "_id": id, "s.3": { "$not": { "$gte": 9_i64 } } }
    }

    #[test]
    fn a_document_is_guarded_by_the_number_that_is_set_with_the_sum() {
        let (totals, days) = statements(&[
            (SumKey::Views(content(100)), Sum::of(3)),
            (on(100, "2026-11-30"), Sum::of(1)),
            (on(100, "2026-11-09"), Sum::of(2)),
            (on(100, "2026-12-01"), Sum::of(4)),
        ]);
        let total = doc! { "$set": { "s.3": 9_i64 }, "$inc": { "total": 3_i64 } };
        assert_eq!(totals, [doc! { "q": guard("1:100"), "u": total, "upsert": true }]);
        let november = doc! { "$set": { "s.3": 9_i64 }, "$inc": { "days.09": 2_i64, "days.30": 1_i64 } };
        let december = doc! { "$set": { "s.3": 9_i64 }, "$inc": { "days.01": 4_i64 } };
        let expected = [("1:100:2026-11", november), ("1:100:2026-12", december)]
            .map(|(id, update)| doc! { "q": guard(id), "u": update, "upsert": true });
        assert_eq!(days, expected);
    }

    #[test]
    fn a_restart_sets_the_total_and_the_whole_month() {
        let (totals, days) = statements(&[(SumKey::Views(content(1)), RESTART), (on(1, "2026-11-30"), Sum::of(2))]);
        assert_eq!(totals[0]["u"], doc! { "$set": { "s.3": 9_i64, "total": 2_i64 } }.into());
        assert_eq!(days[0]["u"], doc! { "$set": { "s.3": 9_i64, "days": { "30": 2_i64 } } }.into());
        let empty = Change::Empty { id: "1:1:2026-10".to_owned() }.statement(Unit(3), 9);
        let update = doc! { "$set": { "s.3": 9_i64, "days": {} } };
        assert_eq!(empty, doc! { "q": guard("1:1:2026-10"), "u": update, "upsert": false });
    }

    #[test]
    fn a_counters_document_is_named_when_it_is_created() {
        let key = CounterKey::of(["1", "100"]).unwrap();
        let counter = SumKey::Counter(CounterSum { generation: 3, id: "viewers".parse().unwrap(), key });
        let statement = Changes::of(&flight(&[(counter.clone(), Sum::of(-2))])).counters[0].statement(Unit(3), 9);
        let named = doc! { "c": "3:viewers", "k": "1!100" };
        let update = doc! { "$set": { "s.3": 9_i64 }, "$inc": { "n": -2_i64 }, "$setOnInsert": named };
        assert_eq!(statement, doc! { "q": guard("3:viewers:1!100"), "u": update, "upsert": true });
        assert!(Changes::of(&flight(&[(counter, Sum::of(0))])).counters.is_empty());
    }

    #[test]
    fn months_of_neighbours_are_not_joined() {
        let (_, days) = statements(&[(on(1, "2026-11-30"), Sum::of(1)), (on(2, "2026-11-30"), Sum::of(1))]);
        assert_eq!(days.len(), 2);
    }

    #[test]
    fn a_sum_that_changes_nothing_needs_no_document() {
        let nothing = Sum::of(0);
        let (totals, days) = statements(&[(SumKey::Views(content(1)), nothing), (on(1, "2026-11-30"), nothing)]);
        assert_eq!((totals.len(), days.len()), (0, 0));
        let deleted = Sum { restarts: true, by: 0 };
        let (totals, days) = statements(&[(SumKey::Views(content(1)), deleted), (on(1, "2026-11-30"), nothing)]);
        assert_eq!((totals.len(), days.len()), (1, 0));
        let (totals, _) = statements(&[(SumKey::Views(content(1)), Sum::of(-1))]);
        assert_eq!(totals.len(), 1);
    }
}
