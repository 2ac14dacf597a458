use super::super::tests::{config, good};
use model::rewards::rule::{Per, RuleMemory};

const OF_USER: &str = r#"id = "a", per = "user", watched = "5s", exact = true"#;
const OF_CONTENT: &str = r#"id = "b", per = "content", watched = "0s", expected = 1000, probability = 0.1"#;

fn file(rules: &[&str]) -> String {
    let rules: Vec<_> = rules.iter().map(|rule| format!("{{ {rule} }}")).collect();
    format!("[rewards]\nrules = [{}]", rules.join(", "))
}

/// The problems of these rules.
fn problems(rules: &[&str]) -> Vec<String> {
    let after = |problem: &String| problem.split_once("rewards.rules: ").expect("the setting is named").1.to_owned();
    config(&file(rules), &[]).map_or_else(|problems| problems.iter().map(after).collect(), |_| Vec::new())
}

#[test]
fn the_defaults_are_the_first_watch_of_the_day_and_the_first_view_of_a_content() {
    let rewards = good("", &[]).rewards;
    let rules = rewards.rules();
    let told: Vec<_> = rules.iter().map(|(_, rule)| (&*rule.id, rule.per, rule.watched_ms(), rule.memory)).collect();
    let bloom = RuleMemory::Bloom { expected: 1_000_000, probability: 0.01 };
    assert_eq!(
        told,
        [("first-of-day", Per::User, 5_000, RuleMemory::Exact), ("first-view", Per::Content, 5_000, bloom)]
    );
    assert!(rules.iter().all(|(_, rule)| rule.kinds.is_empty()));
    assert_eq!(rewards.zone, "UTC");
}

#[test]
fn rules_can_be_said_in_a_file_and_in_a_variable() {
    assert!(good("[rewards]\nrules = []", &[]).rewards.rules().is_empty());
    let blocks = "[[rewards.rules]]\nid = \"a\"\nper = \"user\"\nkinds = [1, 2]\nwatched = \"1m\"\nexact = true";
    let rules = good(blocks, &[]).rewards.rules();
    assert_eq!((&rules.get(0).kinds[..], rules.get(0).watched_ms()), (&[1, 2][..], 60_000));
    let variable = format!("[{{ {OF_CONTENT} }}]");
    let rules = good(blocks, &[("HEARTLINE__REWARDS__RULES", &variable)]).rewards.rules();
    assert_eq!((rules.count(), rules.get(0).per), (1, Per::Content));
    assert!(good("", &[("HEARTLINE__REWARDS__RULES", "[]")]).rewards.rules().is_empty());
}

#[test]
fn a_value_that_is_no_list_of_rules_is_refused_with_its_setting() {
    let expected = r#"expected a list of tables such as [{ id = "a" }], got"#;
    for (text, got) in [("first-of-day", "\"first-of-day\""), ("[1]", "\"[1]\""), ("[{ id = 1", "\"[{ id = 1\"")] {
        let problems = config("", &[("HEARTLINE__REWARDS__RULES", text)]).unwrap_err();
        assert_eq!(problems, [format!("HEARTLINE__REWARDS__RULES: {expected} {got}")]);
    }
    let problems = config("[rewards]\nrules = [\"a\"]", &[]).unwrap_err();
    assert_eq!(problems, [format!("/etc/heartline.toml: rewards.rules: {expected} another list")]);
}

#[test]
fn a_field_that_cannot_be_taken_is_named_with_its_rule() {
    for (rule, problem) in [
        (r#"id = "a", per = "device""#, "rule \"a\": per: expected \"user\" or \"content\", got \"device\""),
        (
            r#"id = "a", per = "user", kinds = [70000]"#,
            "rule \"a\": kinds[0]: expected a whole number from 0 to 65535, got 70000",
        ),
        (r#"id = "a", per = "user", watched = 5"#, "rule \"a\": watched: expected a duration such as \"30s\", got 5"),
        (
            r#"id = "a", per = "user", watched = "5""#,
            "rule \"a\": watched: expected a duration such as \"30s\", got \"5\"",
        ),
        (r#"id = "a", per = "user""#, "rule \"a\": watched is missing"),
        (r#"id = "a", pre = "user""#, "rule \"a\": pre: no such field; "),
        (r#"per = "user", watched = "5s""#, "rule 2: id is missing"),
        (r#"id = 5"#, "rule 2: id: expected a string, got 5"),
        (
            r#"id = "a", per = "content", watched = "5s", expected = -1"#,
            "rule \"a\": expected: expected a whole number, got -1",
        ),
    ] {
        let problems = problems(&[OF_CONTENT, rule]);
        assert!(problems.len() == 1 && problems[0].starts_with(problem), "{rule}: {problems:?}");
    }
}

#[test]
fn a_rule_that_cannot_be_decided_is_named_with_its_field() {
    let id = |id: &str| format!(r#"id = "{id}", per = "user", watched = "5s", exact = true"#);
    for wrong in ["", "A", "a_b", "ä", "a b", &"x".repeat(33)] {
        assert_eq!(
            problems(&[&id(wrong)]),
            [format!("rule {wrong:?}: id: cannot be used; write 1 to 32 lower-case letters, digits and hyphens")]
        );
    }
    for right in ["a", "first-of-day", "7", &"x".repeat(32)] {
        assert_eq!(problems(&[&id(right)]), [""; 0]);
    }
    assert_eq!(
        problems(&[OF_USER, OF_CONTENT, OF_USER]),
        ["rule \"a\": id: is also the id of another rule; choose another one"]
    );
    let ids: Vec<_> = (0..33).map(|number| id(&number.to_string())).collect();
    let ids: Vec<_> = ids.iter().map(String::as_str).collect();
    assert_eq!(problems(&ids[..32]), ["has 32 rules; at most 31 with views.by_playback"]);
    assert_eq!(problems(&ids[..31]), [""; 0]);
}

#[test]
fn two_rules_that_would_be_stored_alike_are_refused() {
    let rule = |id: &str| OF_CONTENT.replace("\"b\"", &format!("{id:?}"));
    let told = problems(&[&rule("rule-42237"), &rule("rule-83746")]);
    assert_eq!(told, ["rule \"rule-83746\": id: is stored like \"rule-42237\"; choose another one"]);
}

#[test]
fn a_rule_is_exact_or_says_how_large_its_filter_is() {
    for (rule, field) in [
        (r#"per = "user""#, "exact: must be true in a rule with per"),
        (r#"per = "user", expected = 5, probability = 0.1"#, "exact: must be true in a rule with per"),
        (r#"per = "user", exact = true, expected = 5"#, "expected: is not used in an exact rule"),
        (r#"per = "content", exact = true, probability = 0.1"#, "probability: is not used in an exact rule"),
        (r#"per = "content", expected = 5"#, "probability: set which share"),
        (r#"per = "content", probability = 0.1"#, "expected: set how many claims"),
        (r#"per = "content", expected = 0, probability = 0.1"#, "expected: set how many claims"),
        (r#"per = "content", expected = 100000001, probability = 0.1"#, "expected: set how many claims"),
        (r#"per = "content", expected = 5, probability = 0.0"#, "probability: set which share"),
        (r#"per = "content", expected = 5, probability = 0.6"#, "probability: set which share"),
        (r#"per = "content", expected = 5, probability = nan"#, "probability: set which share"),
        (r#"per = "content", exact = true, watched = "25h""#, "watched: must be at most 24h"),
    ] {
        let watched = if rule.contains("watched") { "" } else { r#", watched = "5s""# };
        let problems = problems(&[&format!(r#"id = "r", {rule}{watched}"#)]);
        assert!(
            problems.len() == 1 && problems[0].starts_with(&format!("rule \"r\": {field}")),
            "{rule}: {problems:?}"
        );
    }
    assert_eq!(problems(&[r#"id = "r", per = "content", watched = "24h", exact = true"#]), [""; 0]);
    assert_eq!(problems(&[r#"id = "r", per = "content", watched = "0s", expected = 1, probability = 0.5"#]), [""; 0]);
}

#[test]
fn a_zone_is_one_of_the_database() {
    assert_eq!(good("[rewards]\nzone = \"Europe/Berlin\"", &[]).rewards.zone, "Europe/Berlin");
    for zone in ["", "Berlin", "+01:00", "Etc/Unknown"] {
        let problems = config("", &[("HEARTLINE__REWARDS__ZONE", zone)]).unwrap_err();
        let place = "HEARTLINE__REWARDS__ZONE: must be a time zone of the IANA database, such as \"UTC\"";
        assert!(problems.len() == 1 && problems[0].starts_with(place), "{problems:?}");
        assert!(problems[0].ends_with(&format!("{zone:?} is none")), "{problems:?}");
    }
}

#[test]
fn bounds_of_rewards_are_at_least_1() {
    for key in ["recent_users", "remembered_claims", "outbox"] {
        let problems = config(&format!("[rewards]\n{key} = 0"), &[]).unwrap_err();
        assert_eq!(problems, [format!("/etc/heartline.toml: rewards.{key}: is 0; set at least 1")]);
    }
}
