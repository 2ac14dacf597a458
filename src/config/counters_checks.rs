//! Checks of the counters.

use std::ops::RangeInclusive;

use super::Config;
use super::checks::Checks;
use domain::counters::config::{CountersConfig, DirectConfig};
use model::counters::direct::DirectCounter;
use model::counters::{CounterId, CounterKey, Definition, When};
use storage::{hot_store, statistics};

pub(super) const DERIVED: &str = "counters.derived";
/// Each written beat is judged by all of them.
const DERIVED_MAX: usize = 32;
const DIRECT: &str = "counters.direct";
const COUNTERS_MAX: usize = 64;
const NUMBERS: RangeInclusive<i64> = -DirectCounter::NUMBER_MAX..=DirectCounter::NUMBER_MAX;

impl Checks<'_> {
    pub(super) fn counters(&mut self, config: &Config) {
        let counters = &config.counters;
        let count = counters.direct.len();
        self.require(count <= COUNTERS_MAX, DIRECT, || format!("has {count} counters; at most {COUNTERS_MAX}"));
        self.derived_counters(config);
        for (index, counter) in counters.direct.iter().enumerate() {
            for (field, message) in complaints(counters, index, counter) {
                self.require(false, DIRECT, || format!("counter \"{}\": {field}: {message}", counter.id));
            }
        }
    }
}

impl Checks<'_> {
    fn derived_counters(&mut self, config: &Config) {
        let counters = &config.counters.derived;
        let count = counters.len();
        self.require(count <= DERIVED_MAX, DERIVED, || format!("has {count} counters; at most {DERIVED_MAX}"));
        for (index, counter) in counters.iter().enumerate() {
            for (field, message) in derived_complaints(&config.counters, index, counter) {
                self.require(false, DERIVED, || format!("counter \"{}\": {field}: {message}", counter.id));
            }
        }
        let on_redis = config.store.hot_store == hot_store::config::Backend::Redis;
        let in_mongodb = config.statistics.store == statistics::config::Backend::Mongodb;
        self.require(!on_redis || in_mongodb || count == 0, DERIVED, || {
            "with store.hot_store = \"redis\" derived counters need statistics.store = \"mongodb\"; set it and \
             statistics.url, or set counters.derived = []"
                .to_owned()
        });
    }
}

/// The faults of a derived counter: field and message.
fn derived_complaints(counters: &CountersConfig, index: usize, counter: &Definition) -> Vec<(&'static str, String)> {
    let mut complaints = Vec::new();
    let mut require = |holds: bool, field: &'static str, message: &str| {
        if !holds {
            complaints.push((field, message.to_owned()));
        }
    };
    let taken = counters.derived[..index].iter().any(|other| other.id == counter.id);
    let is_direct = counters.direct.iter().any(|other| other.id == counter.id);
    require(!taken && !is_direct, "id", "is also the id of another counter; choose another one");
    let mut fields = counter.key.clone();
    fields.sort_unstable();
    require(fields.windows(2).all(|pair| pair[0] != pair[1]), "key", "has a field twice");
    let When { kind, state, device, finished: _ } = &counter.when;
    require(kind.as_ref().is_none_or(|kinds| !kinds.is_empty()), "when.kind", "is empty: no record would count");
    require(state.as_ref().is_none_or(|states| !states.is_empty()), "when.state", "is empty: no record would count");
    require(device.as_ref().is_none_or(|names| !names.is_empty()), "when.device", "is empty: no record would count");
    complaints
}

/// The faults of a counter: field and message.
fn complaints(counters: &CountersConfig, index: usize, counter: &DirectConfig) -> Vec<(&'static str, String)> {
    let mut complaints = Vec::new();
    let mut require = |holds: bool, field: &'static str, message: &dyn Fn() -> String| {
        if !holds {
            complaints.push((field, message()));
        }
    };
    let taken = counters.direct[..index].iter().any(|other| other.id == counter.id);
    require(!taken, "id", &|| "is also the id of another counter; choose another one".to_owned());
    let (parts, most) = (counter.key.len(), CounterKey::PARTS_MAX);
    require(parts <= most, "key", &|| format!("has {parts} parts; at most {most}"));
    for (name_index, name) in counter.key.iter().enumerate() {
        // A part is named like a counter.
        require(name.parse::<CounterId>().is_ok(), "key", &|| {
            format!("{name:?} cannot be used; write 1 to 64 letters, digits, '.', '_' and '-'")
        });
        require(!counter.key[..name_index].contains(name), "key", &|| format!("{name:?} is there twice"));
    }
    let (min, max, initial) = (counter.min(), counter.max(), counter.initial);
    for (field, number) in [("min", min), ("max", max), ("initial", initial)] {
        require(NUMBERS.contains(&number), field, &out_of_range);
    }
    require(min <= max, "min", &|| format!("is above max, which is {max}"));
    let within = min > max || (min..=max).contains(&initial);
    require(within, "initial", &|| format!("must be from min to max, {min} to {max}"));
    thresholds(counter, &mut require);
    complaints
}

fn thresholds(counter: &DirectConfig, require: &mut impl FnMut(bool, &'static str, &dyn Fn() -> String)) {
    const THRESHOLDS: &str = "thresholds";
    let (thresholds, most) = (&counter.thresholds, DirectCounter::THRESHOLDS_MAX);
    let count = thresholds.len();
    require(count <= most, THRESHOLDS, &|| format!("has {count} numbers; at most {most}"));
    let ascending = thresholds.windows(2).all(|pair| pair[0] < pair[1]);
    require(ascending, THRESHOLDS, &|| "must be ascending, each once".to_owned());
    let in_range = thresholds.iter().all(|threshold| NUMBERS.contains(threshold));
    require(in_range, THRESHOLDS, &out_of_range);
    let (min, max) = (counter.min(), counter.max());
    let out_of_reach = thresholds.iter().find(|threshold| **threshold <= min || **threshold > max);
    if let Some(threshold) = out_of_reach.filter(|_| in_range && min <= max) {
        require(false, THRESHOLDS, &|| {
            format!("{threshold} is never reached from below; write numbers above min ({min}), up to max ({max})")
        });
    }
}

fn out_of_range() -> String {
    format!("must be a whole number from -{most} to {most}", most = DirectCounter::NUMBER_MAX)
}

#[cfg(test)]
mod tests {
    use super::super::DEFAULTS;
    use super::super::tests::{config, good};
    use model::counters::Definition;
    use model::counters::direct::DirectCounter;

    fn file(counters: &[&str]) -> String {
        let counters: Vec<_> = counters.iter().map(|counter| format!("{{ {counter} }}")).collect();
        format!("[counters]\ndirect = [{}]", counters.join(", "))
    }

    /// The problems of these counters.
    fn problems(counters: &[&str]) -> Vec<String> {
        let after = |problem: &String| problem.split_once("counters.direct: ").expect("the setting").1.to_owned();
        config(&file(counters), &[]).map_or_else(|problems| problems.iter().map(after).collect(), |_| Vec::new())
    }

    #[test]
    fn a_counter_needs_an_id_only() {
        assert!(good("", &[]).counters.direct().is_empty());
        let counters = good(&file(&[r#"id = "visits""#]), &[]).counters.direct();
        let most = DirectCounter::NUMBER_MAX;
        let id = "visits".parse().expect("an id");
        let plain = DirectCounter { id, key: vec![], min: -most, max: most, initial: 0, thresholds: vec![] };
        assert_eq!(counters.all().map(|counter| (**counter).clone()).collect::<Vec<_>>(), [plain]);
        let blocks = "[[counters.direct]]\nid = \"stock\"\nkey = [\"kind\", \"oid\"]\nmin = -5\nmax = 100\ninitial = 10\nthresholds = [-4, 50, 100]";
        let counters = good(blocks, &[]).counters.direct();
        let stock = counters.all().next().expect("a counter");
        assert_eq!((stock.min, stock.max, stock.initial, &stock.thresholds[..]), (-5, 100, 10, &[-4, 50, 100][..]));
        assert_eq!(stock.key, ["kind", "oid"]);
        let by_environment = good(blocks, &[("HEARTLINE__COUNTERS__DIRECT", r#"[{ id = "a" }, { id = "b" }]"#)]);
        assert_eq!(by_environment.counters.direct().all().count(), 2);
        assert!(good(blocks, &[("HEARTLINE__COUNTERS__DIRECT", "[]")]).counters.direct().is_empty());
    }

    #[test]
    fn a_field_that_cannot_be_taken_is_named_with_its_counter() {
        for (counter, problem) in [
            (r#"id = "a b""#, "direct \"a b\": id: \"a b\" is not the id of a counter; write 1 to 64"),
            (r#"key = ["oid"]"#, "direct 2: id is missing"),
            (r#"id = "a", mim = 5"#, "direct \"a\": mim: no such field; did you mean min?"),
            (r#"id = "a", min = "5""#, "direct \"a\": min: expected a whole number, got \"5\""),
            (r#"id = "a", thresholds = [1.5]"#, "direct \"a\": thresholds[0]: expected a whole number, got 1.5"),
        ] {
            let problems = problems(&[r#"id = "good""#, counter]);
            assert!(problems.len() == 1 && problems[0].starts_with(problem), "{counter}: {problems:?}");
        }
        let text = config("[counters]\ndirect = [\"likes\"]", &[]).expect_err("a text");
        assert!(text[0].contains("expected a list of tables"), "{text:?}");
    }

    #[test]
    fn a_counter_that_makes_no_sense_is_named_with_its_field() {
        let beyond = format!("must be a whole number from -{0} to {0}", DirectCounter::NUMBER_MAX);
        let long = "9007199254740992";
        for (counter, problem) in [
            ("max = -1", "initial: must be from min to max, -9007199254740991 to -1"),
            ("min = 5, max = 4", "min: is above max, which is 4"),
            (&format!("max = {long}"), &format!("max: {beyond}")),
            (&format!("min = -{long}"), &format!("min: {beyond}")),
            (&format!("thresholds = [{long}]"), &format!("thresholds: {beyond}")),
            ("thresholds = [5, 3]", "thresholds: must be ascending, each once"),
            ("thresholds = [5, 5]", "thresholds: must be ascending, each once"),
            ("max = 9, thresholds = [5, 10]", "thresholds: 10 is never reached from below; write numbers above min"),
            ("min = 0, thresholds = [0]", "thresholds: 0 is never reached from below; write numbers above min (0)"),
            (&format!("thresholds = {:?}", (1..=101).collect::<Vec<_>>()), "thresholds: has 101 numbers; at most 100"),
            (r#"key = ["a", "a"]"#, "key: \"a\" is there twice"),
            (r#"key = ["a b"]"#, "key: \"a b\" cannot be used; write 1 to 64 letters, digits"),
            (r#"key = ["a", "b", "c", "d", "e", "f", "g", "h", "i"]"#, "key: has 9 parts; at most 8"),
        ] {
            let problems = problems(&[&format!("id = \"likes\", {counter}")]);
            let problem = format!("counter \"likes\": {problem}");
            assert!(problems.len() == 1 && problems[0].starts_with(&problem), "{counter}: {problems:?}");
        }
        let twice = problems(&[r#"id = "a""#, r#"id = "b""#, r#"id = "a""#]);
        assert_eq!(twice, ["counter \"a\": id: is also the id of another counter; choose another one"]);
        let ids: Vec<_> = (0..65).map(|number| format!("id = \"c{number}\"")).collect();
        let ids: Vec<_> = ids.iter().map(String::as_str).collect();
        assert_eq!(problems(&ids), ["has 65 counters; at most 64"]);
        assert_eq!(problems(&ids[..64]), [""; 0]);
    }

    #[test]
    fn the_examples_are_what_is_shipped() {
        let (_, section) = DEFAULTS.split_once("\n[counters]").expect("the section");
        let (section, _) = section.split_once("\nderived = []").expect("the setting");
        let example: Vec<_> = section.lines().filter_map(|line| line.strip_prefix("#   ")).collect();
        let given = good(&example.join("\n"), &[]).counters.derived;
        assert!(given.len() == 1 && Definition::shipped().contains(&given[0]), "{given:?}");
        let guide = include_str!("../../docs/counters.md");
        let (_, guide) = guide.split_once("## Derived counters\n\n```toml\n").expect("the example of the guide");
        let (guide, _) = guide.split_once("```").expect("its end");
        assert_eq!(good(guide, &[]).counters.derived, Definition::shipped());
    }

    #[test]
    fn shipped_counters_come_only_where_no_setting_says_which() {
        let added = |file: &str| {
            let mut counters = good(file, &[]).counters;
            let ids: Vec<_> = counters.add_shipped().iter().map(ToString::to_string).collect();
            assert_eq!(ids.len(), counters.derived.len() - good(file, &[]).counters.derived.len());
            ids
        };
        assert_eq!(added(""), ["viewers", "finishers", "in-progress"]);
        assert_eq!(added("[counters]\nderived = []"), [""; 0]);
        assert_eq!(added("[counters]\nderived = [{ id = \"all\" }]"), [""; 0]);
        assert_eq!(added("[counters]\ndirect = [{ id = \"finishers\" }]"), ["viewers", "in-progress"]);
    }

    /// The problems of these derived counters.
    fn derived_problems(counters: &str) -> Vec<String> {
        let after = |problem: &String| problem.split_once("counters.derived: ").expect("the setting").1.to_owned();
        let file = format!("[counters]\nderived = [{counters}]");
        config(&file, &[]).map_or_else(|problems| problems.iter().map(after).collect(), |_| Vec::new())
    }

    #[test]
    fn a_derived_counter_is_named_with_what_is_wrong() {
        assert_eq!(derived_problems(r#"{ id = "viewers", key = ["kind", "oid"] }, { id = "all" }"#), [""; 0]);
        for (counters, problem) in [
            (r#"{ id = "a" }, { id = "a" }"#, "counter \"a\": id: is also the id of another counter"),
            (r#"{ id = "a", key = ["oid", "kind", "oid"] }"#, "counter \"a\": key: has a field twice"),
            (r#"{ id = "a", when = { kind = [] } }"#, "counter \"a\": when.kind: is empty"),
            (r#"{ id = "a", when = { state = [] } }"#, "counter \"a\": when.state: is empty"),
            (r#"{ id = "a", when = { device = [] } }"#, "counter \"a\": when.device: is empty"),
            (r#"{ id = "a", key = ["pos"] }"#, "derived \"a\": key"),
            (r#"{ id = "a", when = { states = ["ended"] } }"#, "derived \"a\": when"),
            (r#"{ id = "a", when = { state = ["over"] } }"#, "derived \"a\": when"),
            (r#"{ id = "a", value = 2 }"#, "derived \"a\": value"),
            (r#"{ id = "a", value = "at" }"#, "derived \"a\": value"),
        ] {
            let problems = derived_problems(counters);
            assert!(problems.len() == 1 && problems[0].starts_with(problem), "{counters}: {problems:?}");
        }
        let both = "[counters]\nderived = [{ id = \"a\" }]\ndirect = [{ id = \"a\" }]";
        assert_eq!(config(both, &[]).expect_err("one id").len(), 1);
        let many: Vec<_> = (0..33).map(|number| format!("{{ id = \"c{number}\" }}")).collect();
        assert_eq!(derived_problems(&many.join(", ")), ["has 33 counters; at most 32"]);
        let on_redis = "[store]\nhot_store = \"redis\"\n[views]\nby_playback = []\nby_request = []\n[counters]\nderived = [{ id = \"a\" }]";
        let problems = config(on_redis, &[]).expect_err("no statistics");
        assert!(problems.iter().any(|problem| problem.contains("counters.derived") && problem.contains("mongodb")));
    }
}
