//! The report of a run, as text for people and as JUnit for machines.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::rule::{Fault, Rule, Verdict};
use super::scenarios;
use super::selection::Selection;

pub struct Report {
    seed: u64,
    lines: Vec<Line>,
}

struct Line {
    rule: &'static Rule,
    /// The name of the scenario.
    scenario: &'static str,
    verdict: Verdict,
}

/// How many rules became what.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub passed: usize,
    pub failed: usize,
    pub not_tried: usize,
}

impl Report {
    /// `verdicts` by the names of rules: a rule of the selection without one was not tried.
    pub fn new(seed: u64, selection: &Selection, verdicts: &BTreeMap<&'static str, Verdict>) -> Self {
        let rules = scenarios::rules().filter(|(rule, _)| selection.has(rule));
        let line = |(rule, scenario): (&'static Rule, Option<&'static str>)| Line {
            rule,
            scenario: scenario.unwrap_or("every-scenario"),
            verdict: verdicts
                .get(rule.name)
                .cloned()
                .unwrap_or_else(|| Verdict::NotTried("its scenario did not run".into())),
        };
        Report { seed, lines: rules.map(line).collect() }
    }

    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for line in &self.lines {
            match line.verdict {
                Verdict::Passed => counts.passed += 1,
                Verdict::Failed(_) => counts.failed += 1,
                Verdict::NotTried(_) => counts.not_tried += 1,
            }
        }
        counts
    }

    /// Whether all was tried, and passed.
    pub fn is_good(&self) -> bool {
        self.counts().passed == self.lines.len() && !self.lines.is_empty()
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        for line in &self.lines {
            let (word, more) = match &line.verdict {
                Verdict::Passed => ("passed   ", String::new()),
                Verdict::Failed(fault) => ("FAILED   ", shown(line.rule, fault)),
                Verdict::NotTried(why) => ("not tried", format!("\n             {why}")),
            };
            let _ = writeln!(text, "{word}  {}{more}", line.rule.name);
        }
        let Counts { passed, failed, not_tried } = self.counts();
        let seed = self.seed;
        let _ = writeln!(text, "\n{passed} passed, {failed} failed, {not_tried} not tried (seed {seed})");
        text
    }

    /// A rule that was not tried is an error: a build that reads this alone must not take it for a pass.
    pub fn junit(&self) -> String {
        let Counts { failed, not_tried, .. } = self.counts();
        let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let _ = writeln!(
            xml,
            "<testsuite name=\"heartline conformance\" tests=\"{}\" failures=\"{failed}\" errors=\"{not_tried}\">\n  \
             <properties><property name=\"seed\" value=\"{}\"/></properties>",
            self.lines.len(),
            self.seed
        );
        for line in &self.lines {
            let (scenario, name) = (line.scenario, line.rule.name);
            let _ = write!(xml, "  <testcase classname=\"{scenario}\" name=\"{name}\"");
            let _ = match &line.verdict {
                Verdict::Passed => writeln!(xml, "/>"),
                Verdict::Failed(fault) => writeln!(
                    xml,
                    ">\n    <failure message=\"{}\">{}</failure>\n  </testcase>",
                    escaped(line.rule.text),
                    escaped(&shown(line.rule, fault))
                ),
                Verdict::NotTried(why) => {
                    writeln!(xml, ">\n    <error message=\"not tried: {}\"/>\n  </testcase>", escaped(why))
                }
            };
        }
        xml + "</testsuite>\n"
    }
}

fn shown(rule: &Rule, Fault { expected, seen }: &Fault) -> String {
    let Rule { text, section, .. } = rule;
    format!(
        "\n             rule: {text} (docs/{section})\n             expected: {expected}\n             seen: {seen}"
    )
}

/// Text of XML, also within quotes. Control characters, which XML cannot have, become spaces.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push('\n'),
            control if control.is_control() => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(verdicts: &[(&'static str, Verdict)]) -> Report {
        let only = ["backs-off", "flag-is-honoured", "answers-pings"].map(str::to_owned);
        let selection = Selection::new(&only, &[]).expect("they exist");
        Report::new(7, &selection, &verdicts.iter().cloned().collect())
    }

    #[test]
    fn a_rule_without_a_verdict_was_not_tried_and_is_no_pass() {
        let report = report(&[("backs-off", Verdict::Passed), ("flag-is-honoured", Verdict::Passed)]);
        assert_eq!(report.counts(), Counts { passed: 2, failed: 0, not_tried: 1 });
        assert!(!report.is_good());
        assert!(report.text().contains("not tried  answers-pings\n             its scenario did not run\n"));
        assert!(report.junit().contains("errors=\"1\""));
    }

    #[test]
    fn only_passes_of_all_rules_are_good() {
        let passed = ["backs-off", "flag-is-honoured", "answers-pings"].map(|name| (name, Verdict::Passed));
        assert!(report(&passed).is_good());
        let mut failed = passed.clone();
        failed[0].1 = Verdict::Failed(Fault::new("waits", "none"));
        assert!(!report(&failed).is_good());
        let nothing = Selection::new(&["backs-off".to_owned()], &["backs-off".to_owned()]).expect("it exists");
        assert!(!Report::new(7, &nothing, &BTreeMap::new()).is_good());
    }

    #[test]
    fn what_was_seen_is_told_and_escaped() {
        let fault = Fault::new("a < b", "{\"flag\":\"x & y\"}\u{1}");
        let report = report(&[("flag-is-honoured", Verdict::Failed(fault))]);
        assert!(report.text().contains("FAILED     flag-is-honoured\n             rule: the newest `flag`"));
        assert!(report.text().contains("expected: a < b\n             seen: {\"flag\""));
        let xml = report.junit();
        assert!(xml.contains("a &lt; b") && xml.contains("&quot;x &amp; y&quot;} "), "{xml}");
        assert!(xml.contains("<testcase classname=\"flag\" name=\"flag-is-honoured\">"));
    }
}
