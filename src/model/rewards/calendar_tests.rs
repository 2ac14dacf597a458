//! Days never go back, through every change of clocks, of zone and of rules.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::tz::{self, TimeZone};
use jiff::{Span, Timestamp, ToSpan};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::super::rewarding::Rewarding;
use super::super::rule::{Per, RuleMemory};
use super::*;

const HOUR: u64 = 3_600_000;

fn at(text: &str) -> u64 {
    ms(text.parse().unwrap())
}

fn ms(at: Timestamp) -> u64 {
    at.as_millisecond() as u64
}

fn zone(name: &str) -> Zone {
    Zone::named(name).unwrap()
}

fn rules(ids: &[&str]) -> Arc<Rules> {
    let rule = |id: &&str| RewardRule {
        id: (*id).into(),
        per: Per::User,
        kinds: Vec::new(),
        watched: Duration::ZERO,
        memory: RuleMemory::Exact,
    };
    Arc::new(Rules::new(ids.iter().map(rule).collect()))
}

fn stored(day: &str, zone: &str, rules: &[&str]) -> StoredCalendar {
    let rules = rules.iter().map(|id| id.to_string()).collect();
    StoredCalendar { day: day.parse().unwrap(), zone: zone.to_owned(), rules }
}

/// Day, ids of the rules and zone.
fn told(calendar: &mut Calendar, now: &str) -> (String, Vec<String>, String) {
    let rules = calendar.rules.clone();
    let today = calendar.advance(at(now));
    let ids = today.rules.iter().map(|index| rules.get(index).id.to_string()).collect();
    (today.day.to_string(), ids, today.zone.to_string())
}

fn day(calendar: &mut Calendar, now: &str) -> String {
    told(calendar, now).0
}

#[test]
fn a_day_does_not_go_back_with_the_clock() {
    let mut calendar = Calendar::open(zone("UTC"), rules(&[]), None, at("2026-11-20T12:00:00Z"));
    assert_eq!(day(&mut calendar, "2026-11-20T12:00:00Z"), "2026-11-20");
    assert_eq!(day(&mut calendar, "2026-11-21T00:00:00Z"), "2026-11-21");
    assert_eq!(day(&mut calendar, "2026-11-20T23:59:59Z"), "2026-11-21");
    assert_eq!(day(&mut calendar, "2026-11-22T00:00:00Z"), "2026-11-22");
    assert_eq!(day(&mut calendar, "2020-01-01T00:00:00Z"), "2026-11-22");
}

#[test]
fn a_stored_day_of_the_future_holds_until_it_is_over() {
    let stored = stored("2027-03-01", "UTC", &[]);
    let mut calendar = Calendar::open(zone("UTC"), rules(&[]), Some(&stored), at("2026-11-20T12:00:00Z"));
    assert_eq!(day(&mut calendar, "2026-11-21T12:00:00Z"), "2027-03-01");
    assert_eq!(calendar.until(), at("2027-03-02T00:00:00Z"));
    assert_eq!(day(&mut calendar, "2027-03-02T00:00:00Z"), "2027-03-02");
}

#[test]
fn a_zone_further_west_takes_over_at_midnight_and_makes_that_day_longer() {
    let stored = stored("2026-11-20", "Asia/Tokyo", &["a"]);
    let mut calendar = Calendar::open(zone("UTC"), rules(&["a"]), Some(&stored), at("2026-11-20T08:00:00Z"));
    assert_eq!(told(&mut calendar, "2026-11-20T14:59:59Z").2, "Asia/Tokyo");
    let (day_after, _, zone) = told(&mut calendar, "2026-11-20T15:00:00Z");
    assert_eq!((day_after.as_str(), zone.as_str()), ("2026-11-20", "UTC"));
    assert_eq!(calendar.until(), at("2026-11-21T00:00:00Z"));
    assert_eq!(day(&mut calendar, "2026-11-21T00:00:00Z"), "2026-11-21");
}

#[test]
fn a_zone_further_east_takes_over_at_midnight_too() {
    let stored = stored("2026-11-20", "UTC", &["a"]);
    let mut calendar = Calendar::open(zone("Asia/Tokyo"), rules(&["a"]), Some(&stored), at("2026-11-20T18:00:00Z"));
    let (day_before, _, zone_before) = told(&mut calendar, "2026-11-20T18:00:00Z");
    assert_eq!((day_before.as_str(), zone_before.as_str()), ("2026-11-20", "UTC"), "in Tokyo it is the 21st");
    let (day_after, _, zone_after) = told(&mut calendar, "2026-11-21T00:00:00Z");
    assert_eq!((day_after.as_str(), zone_after.as_str()), ("2026-11-21", "Asia/Tokyo"));
    assert_eq!(calendar.until(), at("2026-11-21T15:00:00Z"));
}

#[test]
fn a_zone_that_was_changed_while_nothing_ran_holds_at_once() {
    let stored = stored("2026-11-18", "UTC", &["a"]);
    let mut calendar = Calendar::open(zone("Asia/Tokyo"), rules(&["a"]), Some(&stored), at("2026-11-20T18:00:00Z"));
    let (day, _, zone) = told(&mut calendar, "2026-11-20T18:00:00Z");
    assert_eq!((day.as_str(), zone.as_str()), ("2026-11-21", "Asia/Tokyo"));
}

#[test]
fn a_stored_zone_that_is_no_longer_known_is_replaced_at_once() {
    let stored = stored("2026-11-20", "Mars/Olympus", &["a"]);
    let mut calendar = Calendar::open(zone("Asia/Tokyo"), rules(&["a"]), Some(&stored), at("2026-11-20T12:00:00Z"));
    assert_eq!(told(&mut calendar, "2026-11-20T12:00:00Z").2, "Asia/Tokyo");
    assert_eq!(day(&mut calendar, "2026-11-20T15:00:00Z"), "2026-11-21");
}

#[test]
fn a_new_rule_begins_the_next_day_and_one_taken_out_ends_at_once() {
    let stored = stored("2026-11-20", "UTC", &["old", "gone"]);
    let mut calendar = Calendar::open(zone("UTC"), rules(&["new", "old"]), Some(&stored), at("2026-11-20T12:00:00Z"));
    assert_eq!(told(&mut calendar, "2026-11-20T12:00:00Z").1, ["old"]);
    assert_eq!(told(&mut calendar, "2026-11-21T00:00:00Z").1, ["new", "old"]);
}

#[test]
fn a_store_without_a_calendar_begins_with_all_rules() {
    let mut calendar = Calendar::open(zone("UTC"), rules(&["a", "b"]), None, at("2026-11-20T12:00:00Z"));
    assert_eq!(told(&mut calendar, "2026-11-20T12:00:00Z").1, ["a", "b"]);
}

/// One user who watches at each look at the clock, and two stores of claims: `days` keeps every day, and `flag` only
/// the newest. They agree because days never go back.
#[derive(Default)]
struct Viewer {
    days: BTreeSet<Day>,
    flag: Option<Day>,
    claims: usize,
}

impl Viewer {
    fn watch(&mut self, today: Day) {
        let first = self.days.insert(today);
        assert_eq!(first, self.flag < Some(today), "exactly one claim on {today}");
        self.flag = self.flag.max(Some(today));
        self.claims += usize::from(first);
    }
}

/// Walks through the clock changes of one zone in 2025 to 2027, and the midnights around each.
struct Walk {
    zone: TimeZone,
    calendar: Calendar,
    seen: Day,
    viewer: Viewer,
    random: StdRng,
    steps: usize,
}

impl Walk {
    fn through(name: &str, seed: u64) -> (usize, usize) {
        let zone = TimeZone::get(name).unwrap();
        let moments = moments(&zone);
        let begin = moments[0] - 40 * HOUR;
        let calendar = Calendar::open(self::zone(name), rules(&["first-of-day"]), None, begin);
        let seen = civil(&zone, begin);
        let random = StdRng::seed_from_u64(seed);
        let mut walk = Walk { zone, calendar, seen, viewer: Viewer::default(), random, steps: 0 };
        let mut now = begin;
        for moment in &moments {
            // Small steps towards the moment, never beyond it.
            while now + 2 * HOUR < *moment && walk.random.random_ratio(9, 10) {
                now += walk.random.random_range(1..=moment - now) / 2;
                walk.ask(now);
            }
            for small in [moment - 1000, moment - 1, *moment, moment + 1, moment + 999] {
                now = now.max(small);
                walk.ask(small);
            }
            // The clock is set back, by up to three days, and forward again.
            let back = walk.random.random_range(1..72 * HOUR);
            walk.ask(now - back);
            walk.ask(now);
        }
        assert_eq!(walk.viewer.claims, walk.viewer.days.len(), "{name}");
        (walk.steps, walk.viewer.claims)
    }

    fn ask(&mut self, now: u64) {
        self.steps += 1;
        let date = civil(&self.zone, now);
        self.seen = self.seen.max(date);
        let today = self.calendar.advance(now).day;
        assert_eq!(today, self.seen, "at {now} it is {date} in {:?}", self.zone.iana_name());
        let until = self.calendar.until();
        assert!(now < until, "the day holds for at least a moment");
        assert!(civil(&self.zone, until) > today, "{today} ends no later than {until}: {:?}", self.zone.iana_name());
        assert!(civil(&self.zone, until - 1) <= today, "{today} ends no sooner than {until}");
        self.viewer.watch(today);
    }
}

/// The date of the zone, computed independently.
fn civil(zone: &TimeZone, now: u64) -> Day {
    Day::of(Timestamp::from_millisecond(now as i64).unwrap().to_zoned(zone.clone()).date())
}

/// Clock changes, the midnights around each, and those of some days without a change; in order.
fn moments(zone: &TimeZone) -> Vec<u64> {
    let (begin, end) = ("2025-01-01T00:00:00Z".parse().unwrap(), "2028-01-01T00:00:00Z".parse::<Timestamp>().unwrap());
    let changes = zone.following(begin).map(|change| change.timestamp()).take_while(|change| *change < end);
    let quiet = [begin, "2026-02-28T12:00:00Z".parse().unwrap(), end];
    let midnight = |near: Timestamp, days: Span| {
        let date = near.to_zoned(zone.clone()).date().checked_add(days).unwrap();
        date.to_zoned(zone.clone()).unwrap().timestamp()
    };
    let mut moments = BTreeSet::new();
    for moment in changes.chain(quiet) {
        moments.insert(ms(moment));
        moments.extend([-1, 0, 1, 2].map(|days| ms(midnight(moment, days.days()))));
    }
    moments.into_iter().collect()
}

#[test]
fn every_change_of_clocks_in_every_zone() {
    let (mut zones, mut steps, mut claims) = (0, 0, 0);
    for (seed, name) in tz::db().available().enumerate() {
        if Zone::named(name.as_str()).is_err() {
            continue;
        }
        let (walked, claimed) = Walk::through(name.as_str(), seed as u64);
        (zones, steps, claims) = (zones + 1, steps + walked, claims + claimed);
    }
    println!("{zones} zones, {steps} looks at the clock, {claims} claims");
    assert!(zones > 590 && steps > 50_000, "{zones} zones, {steps} looks at the clock");
}

#[test]
fn views_are_counted_at_once() {
    let views = RewardRule::of_views(vec![1], Duration::ZERO);
    let rules = Arc::new(Rules::clone(&rules(&["old", "new"])).and(Some(views)));
    let stored = stored("2026-11-20", "UTC", &["old"]);
    let mut calendar = Calendar::open(zone("UTC"), rules.clone(), Some(&stored), at("2026-11-20T12:00:00Z"));
    assert_eq!(told(&mut calendar, "2026-11-20T12:00:00Z").1, ["old", RewardRule::VIEWS]);
    let today = calendar.advance(at("2026-11-20T12:00:00Z")).clone();
    let rewarding = Rewarding { rules, today, claims_max: 0 };
    assert!(rewarding.is_of(&stored) && rewarding.calendar() == stored, "which rules are rewards is stored");
    assert_eq!(told(&mut calendar, "2026-11-21T00:00:00Z").1, ["old", "new", RewardRule::VIEWS]);
    assert!(!RewardRule::is_id(RewardRule::VIEWS), "settings cannot name it");
}
