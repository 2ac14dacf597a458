//! Settings of the callers of the control listener.

use std::collections::HashSet;

use super::Config;
use super::checks::Checks;

impl Checks<'_> {
    pub(super) fn control_callers(&mut self, config: &Config) {
        let (callers, listen) = (&config.control.callers, config.control.listen);
        let has_keys = !config.auth.hs256_secret.is_empty() || config.auth.has_key_set();
        self.require(callers.is_empty() || has_keys || listen.ip().is_loopback(), "control.callers", || {
            format!(
                "control.listen ({listen}) is not a loopback address, and a development key would sign the tokens; set \
                 auth.hs256_secret, auth.jwks_file or auth.jwks_url"
            )
        });
        let mut names = HashSet::new();
        for (index, caller) in callers.iter().enumerate() {
            let setting = format!("control.callers[{index}]");
            self.require(!caller.name.is_empty(), &setting, || "has an empty name".to_owned());
            self.require(names.insert(&caller.name), &setting, || {
                format!("{:?} is listed before; list each name once", caller.name)
            });
            self.require(!caller.scopes.is_empty(), &setting, || {
                format!("{:?} has no scopes; give it one, such as \"heartline.counters\"", caller.name)
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{config, good};

    fn refused(callers: &str, word: &str) {
        let problems = config(&format!("[control]\ncallers = {callers}"), &[]).expect_err(callers);
        assert_eq!(problems.len(), 1, "{callers}: {problems:?}");
        assert!(problems[0].contains("control.callers") && problems[0].contains(word), "{callers}: {problems:?}");
    }

    #[test]
    fn each_caller_has_a_name_of_its_own_and_scopes() {
        let two = r#"[{ name = "shop", scopes = ["heartline.counters", "heartline.live"] },
            { name = "privacy", scopes = ["heartline.erase"] }]"#;
        assert_eq!(good(&format!("[control]\ncallers = {two}"), &[]).control.callers.len(), 2);
        refused(r#"[{ name = "", scopes = ["heartline.live"] }]"#, "empty name");
        refused(r#"[{ name = "shop", scopes = [] }]"#, "no scopes");
        refused(r#"[{ name = "shop", scopes = ["heartline.read"] }]"#, "heartline.counters");
        let twice = r#"{ name = "shop", scopes = ["heartline.live"] }"#;
        refused(&format!("[{twice}, {twice}]"), "listed before");
    }

    #[test]
    fn beyond_loopback_a_development_key_lets_no_caller_in() {
        let open = "[control]\nlisten = \"10.0.0.1:7702\"\ntoken = \"0123456789abcdef0123456789abcdef\"\n\
                    callers = [{ name = \"shop\", scopes = [\"heartline.live\"] }]\n";
        let problems = config(open, &[]).expect_err("no key");
        assert!(problems.iter().any(|problem| problem.contains("control.callers")), "{problems:?}");
        good(&format!("{open}[auth]\nhs256_secret = \"0123456789abcdef0123456789abcdef\""), &[]);
    }
}
