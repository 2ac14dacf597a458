//! Which rules are tried.

use super::rule::Rule;
use super::scenario::Scenario;
use super::scenarios;

/// All rules, or only some.
#[derive(Clone, Debug)]
pub struct Selection(Vec<&'static str>);

/// There is no such rule.
#[derive(Debug, PartialEq, Eq)]
pub struct UnknownRule(pub String);

impl Selection {
    /// `only` nothing is all.
    pub fn new(only: &[String], skip: &[String]) -> Result<Self, UnknownRule> {
        let all: Vec<&'static str> = scenarios::rules().map(|(rule, _)| rule.name).collect();
        if let Some(name) = only.iter().chain(skip).find(|name| !all.contains(&name.as_str())) {
            return Err(UnknownRule(name.clone()));
        }
        let is_wanted = |name: &str| only.is_empty() || only.iter().any(|wanted| wanted == name);
        let is_left_out = |name: &str| skip.iter().any(|unwanted| unwanted == name);
        Ok(Selection(all.into_iter().filter(|name| is_wanted(name) && !is_left_out(name)).collect()))
    }

    pub fn has(&self, rule: &Rule) -> bool {
        self.0.contains(&rule.name)
    }

    /// Those that can break a rule of the selection. If it has only rules that hold everywhere, the first will do.
    pub fn scenarios(&self) -> Vec<&'static Scenario> {
        let wanted: Vec<_> =
            scenarios::ALL.iter().filter(|scenario| scenario.rules.iter().any(|rule| self.has(rule))).collect();
        if wanted.is_empty() && !self.0.is_empty() { vec![&scenarios::ALL[0]] } else { wanted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(selection: &Selection) -> Vec<&str> {
        selection.scenarios().iter().map(|scenario| scenario.name).collect()
    }

    fn chosen(only: &[&str], skip: &[&str]) -> Selection {
        let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        Selection::new(&texts(only), &texts(skip)).expect("they exist")
    }

    #[test]
    fn a_selection_plays_the_scenarios_of_its_rules() {
        assert_eq!(names(&chosen(&[], &[])).len(), scenarios::ALL.len());
        assert_eq!(names(&chosen(&["backs-off", "resends-unacked"], &[])), ["lost-acks", "no-socket"]);
        assert_eq!(names(&chosen(&["seq-increases"], &[])), ["steady"]);
        assert_eq!(names(&chosen(&["backs-off"], &["backs-off"])), [""; 0]);
        assert!(!names(&chosen(&[], &["a-bug-stays-away"])).contains(&"bug"));
    }

    #[test]
    fn a_rule_that_does_not_exist_is_named() {
        let unknown = Selection::new(&[], &["back-off".to_owned()]).expect_err("there is none");
        assert_eq!(unknown, UnknownRule("back-off".to_owned()));
    }
}
