//! Checks of the thresholds of reading.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Config;
use super::checks::{Checks, LONGEST};
use model::reading::{KindOverride, Reading};

const OVERRIDES: &str = "reading.overrides";

/// Each record that is shown is looked up among them.
const OVERRIDES_MAX: usize = 64;

impl Checks<'_> {
    pub(super) fn reading(&mut self, config: &Config) {
        let reading = &config.reading;
        let (resume, finished) = (reading.resume_below, reading.finished_at);
        for (setting, share) in [("reading.resume_below", resume), ("reading.finished_at", finished)] {
            self.require(is_share(share), setting, || format!("{share} is not between 0 and 1"));
        }
        self.require(resume < finished, "reading.finished_at", || {
            format!("{finished} is not above reading.resume_below ({resume})")
        });
        for (setting, bound) in [
            ("reading.resume_below_max", reading.resume_below_max),
            ("reading.finished_remaining_max", reading.finished_remaining_max),
        ] {
            self.require(bound <= LONGEST, setting, || "must be at most 3650d; 0s is no bound".to_owned());
        }
        let count = reading.overrides.len();
        self.require(count <= OVERRIDES_MAX, OVERRIDES, || {
            format!("{count} overrides are too many; at most {OVERRIDES_MAX}")
        });
        let mut kinds = BTreeSet::new();
        for of_kind in &reading.overrides {
            let kind = of_kind.kind;
            self.require(kinds.insert(kind), OVERRIDES, || format!("kind {kind} has two entries; merge them"));
            for (field, message) in complaints(reading, of_kind) {
                self.require(false, OVERRIDES, || format!("kind {kind}: {field}: {message}"));
            }
        }
    }
}

/// The faults of an override: field and message.
fn complaints(reading: &Reading, of_kind: &KindOverride) -> Vec<(&'static str, String)> {
    let mut complaints = Vec::new();
    let shares = [("resume_below", of_kind.resume_below), ("finished_at", of_kind.finished_at)];
    let bounds =
        [("resume_below_max", of_kind.resume_below_max), ("finished_remaining_max", of_kind.finished_remaining_max)];
    for (field, share) in shares {
        if let Some(share) = share.filter(|share| !is_share(*share)) {
            complaints.push((field, format!("{share} is not between 0 and 1")));
        }
    }
    for (field, bound) in bounds {
        if bound.is_some_and(|bound: Duration| bound > LONGEST) {
            complaints.push((field, "must be at most 3650d; 0s is no bound".to_owned()));
        }
    }
    match reading.thresholds(of_kind.kind) {
        Some(thresholds) => {
            let (resume, finished) = (thresholds.resume_below, thresholds.finished_at);
            if complaints.is_empty() && resume >= finished {
                complaints.push(("finished_at", format!("{finished} is not above resume_below ({resume})")));
            }
        }
        None => {
            let said = shares.iter().find(|(_, share)| share.is_some()).map(|(field, _)| *field);
            let said = said.or(bounds.iter().find(|(_, bound)| bound.is_some()).map(|(field, _)| *field));
            complaints
                .extend(said.map(|field| (field, "has no effect with thresholds = false; leave it out".to_owned())));
        }
    }
    complaints
}

fn is_share(share: f64) -> bool {
    (0.0..=1.0).contains(&share)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{config, good};

    /// The problems of this section.
    fn problems(section: &str) -> Vec<String> {
        let after = |problem: &String| problem.split_once("reading.").expect("the setting is named").1.to_owned();
        let read = config(&format!("[reading]\n{section}"), &[]);
        read.map_or_else(|problems| problems.iter().map(after).collect(), |_| Vec::new())
    }

    fn refused(section: &str, message: &str) {
        assert_eq!(problems(section), [message], "{section}");
    }

    #[test]
    fn thresholds_are_shares_in_their_order() {
        refused("finished_at = 90", "finished_at: 90 is not between 0 and 1");
        refused("finished_at = 0.01", "finished_at: 0.01 is not above reading.resume_below (0.05)");
        refused("resume_below = -0.1", "resume_below: -0.1 is not between 0 and 1");
        refused("resume_below_max = \"11y\"", "resume_below_max: must be at most 3650d; 0s is no bound");
        assert!(problems("resume_below = 0\nfinished_at = 1\nfinished_remaining_max = \"5m\"").is_empty());
    }

    #[test]
    fn an_override_is_checked_together_with_its_defaults() {
        let refused = |table: &str, message: &str| {
            refused(&format!("overrides = [{{ kind = 7, {table} }}]"), &format!("overrides: kind 7: {message}"));
        };
        refused("resume_below = 1.5", "resume_below: 1.5 is not between 0 and 1");
        refused("finished_at = 0.05", "finished_at: 0.05 is not above resume_below (0.05)");
        refused("resume_below = 0.9", "finished_at: 0.9 is not above resume_below (0.9)");
        refused("resume_below_max = \"11y\"", "resume_below_max: must be at most 3650d; 0s is no bound");
        let idle = "has no effect with thresholds = false; leave it out";
        refused("thresholds = false, finished_at = 0.5", &format!("finished_at: {idle}"));
        refused("thresholds = false, resume_below_max = \"1s\"", &format!("resume_below_max: {idle}"));
        assert!(problems("overrides = [{ kind = 7, resume_below = 0, finished_at = 1 }, { kind = 8 }]").is_empty());
    }

    #[test]
    fn a_kind_is_overridden_once_and_not_too_many_are() {
        refused("overrides = [{ kind = 7 }, { kind = 7 }]", "overrides: kind 7 has two entries; merge them");
        let many: Vec<_> = (0..65).map(|kind| format!("{{ kind = {kind} }}")).collect();
        refused(&format!("overrides = [{}]", many.join(",")), "overrides: 65 overrides are too many; at most 64");
        let problem = problems("overrides = [{ kind = 70000 }]").remove(0);
        assert_eq!(problem, "overrides: override 1: kind: expected a whole number from 0 to 65535, got 70000");
    }

    #[test]
    fn live_and_articles_have_no_thresholds_by_default() {
        let reading = good("", &[]).reading;
        assert_eq!([1, 2, 3].map(|kind| reading.thresholds(kind).is_some()), [true, false, false]);
    }
}
