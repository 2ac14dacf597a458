//! The scenarios, each in a file of its own with the rules that it can break.

mod advertisement;
mod again;
mod answered;
mod bug;
mod burst;
mod changes;
mod clears;
mod clock_back;
mod clock_step;
mod deletes;
mod drain;
mod early_beats;
mod elsewhere;
mod expiring;
mod flag;
mod full_outbox;
mod half_open;
mod hidden;
mod kicked;
mod late_position;
mod later_version;
mod lost_acks;
mod moved_viewer;
mod new_token;
mod no_socket;
mod own_record;
mod refused_again;
mod refused_frame;
mod reload;
mod reordered;
mod steady;
mod superseded;
mod too_many;

use crate::everywhere;
use crate::rule::Rule;
use crate::scenario::Scenario;

/// In the order in which they are played.
pub const ALL: &[Scenario] = &[
    steady::SCENARIO,
    changes::SCENARIO,
    advertisement::SCENARIO,
    late_position::SCENARIO,
    moved_viewer::SCENARIO,
    early_beats::SCENARIO,
    reordered::SCENARIO,
    lost_acks::SCENARIO,
    answered::SCENARIO,
    refused_frame::SCENARIO,
    reload::SCENARIO,
    clock_back::SCENARIO,
    clock_step::SCENARIO,
    elsewhere::SCENARIO,
    superseded::SCENARIO,
    own_record::SCENARIO,
    deletes::SCENARIO,
    clears::SCENARIO,
    flag::SCENARIO,
    hidden::SCENARIO,
    full_outbox::SCENARIO,
    no_socket::SCENARIO,
    drain::SCENARIO,
    expiring::SCENARIO,
    new_token::SCENARIO,
    refused_again::SCENARIO,
    kicked::SCENARIO,
    bug::SCENARIO,
    again::SCENARIO,
    too_many::SCENARIO,
    half_open::SCENARIO,
    later_version::SCENARIO,
    burst::SCENARIO,
];

/// The rules that every scenario checks.
const EVERYWHERE: [&Rule; 3] = [&everywhere::FRAMES, &everywhere::SEQ, &everywhere::URL];

/// All rules, each with the name of its scenario; none for those that hold in every scenario.
pub fn rules() -> impl Iterator<Item = (&'static Rule, Option<&'static str>)> {
    let everywhere = EVERYWHERE.into_iter().map(|rule| (rule, None));
    let of_scenarios = ALL.iter().flat_map(|scenario| scenario.rules.iter().map(|rule| (*rule, Some(scenario.name))));
    of_scenarios.chain(everywhere)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_those_of_one_rule_or_scenario() {
        let names: BTreeSet<&str> = rules().map(|(rule, _)| rule.name).collect();
        assert_eq!(names.len(), rules().count());
        assert_eq!(ALL.iter().map(|scenario| scenario.name).collect::<BTreeSet<_>>().len(), ALL.len());
    }

    /// `tests/tidy` looks whether the sections exist.
    #[test]
    fn the_page_lists_all_rules_in_their_order() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/conformance.md");
        let page = std::fs::read_to_string(page).expect("the page");
        let listed = page.lines().filter(|line| line.starts_with("| `") && line.contains("](")).collect::<Vec<_>>();
        let expected = rules().map(|(rule, scenario)| {
            let start = format!("| `{}` | {} | [", rule.name, rule.text);
            (start, format!("]({}) | {} |", rule.section, scenario.unwrap_or("every-scenario")))
        });
        let expected: Vec<_> = expected.collect();
        for (line, (start, end)) in listed.iter().zip(&expected) {
            assert!(line.starts_with(start) && line.ends_with(end), "{line}\nis not\n{start}…{end}");
        }
        assert_eq!(listed.len(), expected.len());
    }
}
