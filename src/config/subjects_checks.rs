//! Checks of how users are named.

use super::Config;
use super::checks::Checks;
use edge::auth::Subjects;
use model::counters::KeyField;
use storage::hot_store::config::Backend;

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
        self.require(config.store.hot_store != Backend::HistoryService, SUBJECTS, || {
            "\"any\" needs a store that this gateway opens itself; with store.hot_store = \"history-service\" set \"number\""
                .to_owned()
        });
        self.require(config.grpc.listen.0.is_none(), SUBJECTS, || {
            "\"any\" is not served over gRPC yet; leave grpc.listen empty, or set \"number\"".to_owned()
        });
        self.require(!config.history.is_kept(), SUBJECTS, || {
            "\"any\" cannot be used with a history store yet: a lost Redis would lose the numbers by which it has the users; set \
             history.store = \"none\", or \"number\""
                .to_owned()
        });
        let by_user = config.counters.derived.iter().find(|counter| counter.key.contains(&KeyField::Mid));
        self.require(by_user.is_none(), "counters.derived", || {
            let id = by_user.map(|counter| counter.id.to_string()).unwrap_or_default();
            format!("counter \"{id}\": key: mid is not told by name yet; leave it out with auth.subjects = \"any\"")
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
    fn names_need_a_store_of_the_gateway() {
        assert_eq!(problems("[auth]\nsubjects = \"any\"\nuser_claim = \"uid\""), Vec::<String>::new());
        for (text, word) in [
            ("[auth]\nuser_claim = \"uid\"", "needs auth.subjects = \"any\""),
            ("[auth]\nsubjects = \"any\"\n[grpc]\nlisten = \"127.0.0.1:7703\"", "not served over gRPC yet"),
            ("[auth]\nsubjects = \"any\"\n[history]\nstore = \"cassandra\"", "cannot be used with a history store yet"),
            (
                "[auth]\nsubjects = \"any\"\n[[counters.derived]]\nid = \"x\"\nkey = [\"mid\"]",
                "counter \"x\": key: mid is not told by name yet",
            ),
        ] {
            let problems = problems(text);
            assert!(problems.iter().any(|problem| problem.contains(word)), "{text}: {problems:?}");
        }
    }
}
