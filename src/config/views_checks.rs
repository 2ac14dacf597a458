//! Whether views can be counted as the settings say.

use super::Config;
use super::checks::Checks;
use super::rewards_checks::WATCHED_MAX;

/// Each beat looks through them.
const PLAYED_MAX: usize = 32;

impl Checks<'_> {
    pub(super) fn views(&mut self, config: &Config) {
        let views = &config.views;
        let count = views.by_playback.len();
        self.require(count <= PLAYED_MAX, "views.by_playback", || format!("has {count} kinds; at most {PLAYED_MAX}"));
        for (index, kind) in views.by_playback.iter().enumerate() {
            self.require(!views.by_request.contains(kind), &format!("views.by_playback[{index}]"), || {
                format!("kind {kind} is also in views.by_request, and would count twice; take it out of one of them")
            });
        }
        self.require(views.watched <= WATCHED_MAX, "views.watched", || "must be at most 24h".to_owned());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::tests::{config, good};

    fn refused(file: &str, start: &str, word: &str) {
        let problems = config(file, &[]).expect_err(file);
        assert_eq!(problems.len(), 1, "{file}: {problems:?}");
        assert!(problems[0].contains(start) && problems[0].contains(word), "{file}: {problems:?}");
    }

    #[test]
    fn a_kind_is_counted_one_way() {
        let views = good("[views]\nby_playback = [1, 2]\nwatched = \"30s\"", &[]).views;
        assert_eq!((views.by_playback, views.watched), (vec![1, 2], Duration::from_secs(30)));
        let by_environment = good("", &[("HEARTLINE__VIEWS__BY_PLAYBACK", "[1, 2]")]).views;
        assert_eq!(by_environment.by_playback, [1, 2]);
        refused("[views]\nby_playback = [1, 3]", "views.by_playback[1]", "views.by_request");
        let many = format!("[views]\nby_request = []\nby_playback = {:?}", (0..33).collect::<Vec<_>>());
        refused(&many, "views.by_playback", "at most 32");
        refused("[views]\nwatched = \"25h\"", "views.watched", "24h");
    }

    #[test]
    fn views_take_the_place_of_a_rule() {
        let rule = |number| format!("{{ id = \"r{number}\", per = \"user\", watched = \"5s\", exact = true }}");
        let file = |count: u32, views| {
            let rules: Vec<_> = (0..count).map(rule).collect();
            format!("[rewards]\nrules = [{}]\n[views]\nby_playback = {views}", rules.join(", "))
        };
        assert_eq!(good(&file(32, "[]"), &[]).rewards.rules().count(), 32);
        let config = good(&file(31, "[1]"), &[]);
        assert_eq!(config.rewards.rules().and(config.views.rule()).count(), 32);
        refused(&file(32, "[1]"), "rewards.rules", "at most 31 with views.by_playback");
    }
}
