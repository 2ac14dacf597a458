//! The result of a race, printed as one line of JSON.

use std::collections::HashSet;

use serde::Serialize;

use super::event_log::EventLog;
use super::wave::UserResult;
use super::{CONTENT_RULE, RaceOptions, USER_RULE};

const FAULTS_MAX: usize = 20;

#[derive(Debug, Serialize)]
pub struct Race {
    pub passed: bool,
    pub users: u64,
    racers: u64,
    pub seconds: f64,
    /// Distinct rewards that sockets were told, by kind of rule; `contents`: the expected number of content rewards.
    user_rewards: u64,
    content_rewards: u64,
    contents: u64,
    /// Claims by the gateway's counters.
    user_claims: u64,
    content_claims: u64,
    events: u64,
    /// The first faults.
    faults: Vec<String>,
    #[serde(skip)]
    ids: HashSet<String>,
}

impl Race {
    pub fn new(options: &RaceOptions) -> Self {
        Race {
            passed: false,
            users: 0,
            racers: options.racers,
            seconds: 0.0,
            user_rewards: 0,
            content_rewards: 0,
            contents: 0,
            user_claims: 0,
            content_claims: 0,
            events: 0,
            faults: Vec::new(),
            ids: HashSet::new(),
        }
    }

    /// The expected number of rewards, claims and events.
    pub fn rewards(&self) -> u64 {
        self.users + self.contents
    }

    pub fn note(&mut self, result: &UserResult) {
        self.users += 1;
        self.contents += result.contents;
        let told = |rule: &str| {
            let rewards = result.heard.iter().flat_map(|heard| &heard.rewards);
            rewards.filter(|(of, _)| of == rule).count() as u64
        };
        let (of_user, of_contents) = (told(USER_RULE), told(CONTENT_RULE));
        self.user_rewards += of_user;
        self.content_rewards += of_contents;
        if (of_user, of_contents) != (1, result.contents) {
            let contents = result.contents;
            self.fault(format!("user {}: {of_user} rewards, and {of_contents} of {contents} contents", result.mid));
        }
        for (_, id) in result.heard.iter().flat_map(|heard| &heard.rewards) {
            if !self.ids.insert(id.clone()) {
                self.fault(format!("{id} was given twice"));
            }
        }
    }

    /// Compares rewards told, claims counted and events published.
    pub fn judge(&mut self, log: &EventLog, claims: impl Fn(&str) -> u64) {
        (self.user_claims, self.content_claims) = (claims(USER_RULE), claims(CONTENT_RULE));
        self.events = log.events();
        let expected = (self.users, self.contents, self.rewards());
        let found = (self.user_claims, self.content_claims, self.events);
        if found != expected {
            self.fault(format!("claims of users and contents, and events: {found:?} instead of {expected:?}"));
        }
        let untold: Vec<_> = log.0.keys().filter(|id| !self.ids.contains(*id)).cloned().collect();
        let unpublished: Vec<_> = self.ids.iter().filter(|id| !log.0.contains_key(*id)).cloned().collect();
        untold.into_iter().for_each(|id| self.fault(format!("{id} has an event, but no socket was told")));
        unpublished.into_iter().for_each(|id| self.fault(format!("{id} has no event")));
        self.passed = self.faults.is_empty();
    }

    fn fault(&mut self, what: String) {
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::racer::Heard;
    use super::*;

    fn race(rewards: &[(&str, &str)], events: &[(&str, u64)]) -> Race {
        let mut race = Race::new(&RaceOptions { users: 1, racers: 2, wave: 1 });
        let owned = |(rule, id): &(&str, &str)| ((*rule).to_owned(), (*id).to_owned());
        let mut heard = Heard::default();
        heard.rewards.extend(rewards.iter().map(owned));
        race.note(&UserResult { mid: 1, contents: 1, heard: vec![heard, Heard::default()] });
        let log = EventLog(events.iter().map(|(id, count)| ((*id).to_owned(), *count)).collect());
        race.judge(&log, |_| 1);
        race
    }

    #[test]
    fn each_reward_must_be_sent_and_published_exactly_once() {
        let both = [(USER_RULE, "u"), (CONTENT_RULE, "c")];
        assert!(race(&both, &[("u", 1), ("c", 1)]).passed);
        assert!(!race(&both, &[("u", 1), ("c", 2)]).passed, "two events");
        assert!(!race(&both, &[("u", 1), ("x", 1)]).passed, "another event");
        assert!(!race(&both[..1], &[("u", 1), ("c", 1)]).passed, "not told");
        let twice = [both[0], both[0], both[1]];
        assert!(!race(&twice, &[("u", 1), ("c", 1)]).passed, "told twice");
    }
}
