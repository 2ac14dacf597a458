//! Checks of how users are named.

use super::Config;
use super::checks::Checks;
use edge::auth::Subjects;

const SUBJECTS: &str = "auth.subjects";

impl Checks<'_> {
    pub(super) fn subjects(&mut self, config: &Config) {
        let has_names = config.auth.subjects == Subjects::Any;
        self.require(has_names || config.auth.user_claim.is_empty(), "auth.user_claim", || {
            "needs auth.subjects = \"any\"; numbers are taken from sub".to_owned()
        });
        if !has_names {
            return;
        }
        self.require(!config.history.is_kept(), SUBJECTS, || {
            "\"any\" cannot be used with a history store yet: a lost Redis would lose the numbers by which it has the users; set \
             history.store = \"none\", or \"number\""
                .to_owned()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::config;

    fn problems(text: &str) -> Vec<String> {
        config(text, &[]).err().unwrap_or_default()
    }

    #[test]
    fn names_exclude_what_tells_users_by_number() {
        assert_eq!(problems("[auth]\nsubjects = \"any\"\nuser_claim = \"uid\""), Vec::<String>::new());
        for (text, word) in [
            ("[auth]\nuser_claim = \"uid\"", "needs auth.subjects = \"any\""),
            ("[auth]\nsubjects = \"any\"\n[history]\nstore = \"cassandra\"", "cannot be used with a history store yet"),
        ] {
            let problems = problems(text);
            assert!(problems.iter().any(|problem| problem.contains(word)), "{text}: {problems:?}");
        }
    }
}
