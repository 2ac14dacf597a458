use std::ffi::OsString;

use super::*;
use crate::telemetry::{Format, Level};
use edge::auth::SECRET_BYTES_MIN;
use model::secret::MASK;

const FILE: &str = "/etc/heartline.toml";

/// The settings of this file and these variables, or what is wrong, one line each.
pub(super) fn config(file: &str, variables: &[(&str, &str)]) -> Result<Config, Vec<String>> {
    let mut layers = Layers::defaults();
    let mut problems = layers.add_text(FILE, file);
    problems.extend(layers.add_environment(owned(variables)));
    Checked::of(layers, problems).good().map_err(|error| error.problems.iter().map(Problem::to_string).collect())
}

fn owned(variables: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    variables.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

pub(super) fn good(file: &str, variables: &[(&str, &str)]) -> Config {
    config(file, variables).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// The one thing that is wrong.
fn problem(file: &str, variables: &[(&str, &str)]) -> String {
    let problems = config(file, variables).expect_err("something is wrong");
    assert_eq!(problems.len(), 1, "{problems:?}");
    problems.into_iter().next().expect("one problem")
}

/// The problem of this file, without the file's name.
fn file_problem(file: &str) -> String {
    problem(file, &[]).strip_prefix(FILE).expect("the file is named").to_owned()
}

#[test]
fn the_defaults_are_complete_and_valid() {
    let config = good("", &[]);
    assert_eq!(config.server.listen.to_string(), "127.0.0.1:7700");
    assert_eq!(config.limits.beats, 500);
    assert_eq!(config.reading.overrides.len(), 2);
    assert_eq!((config.log.level, config.log.format), (Level::Info, Format::Text));
}

#[test]
fn every_default_is_explained() {
    let lines: Vec<_> = DEFAULTS.lines().collect();
    // The settings that share the comment of the line before them.
    let sharing = [
        "burst =",
        "bytes_burst =",
        "hot_keep =",
        "list_rows_burst =",
        "tls_key =",
        "upgrades_per_second_per_address =",
    ];
    let shares = |line: &str| sharing.iter().any(|name| line.starts_with(name));
    // A line that is indented goes on with the setting before.
    for pair in lines.windows(2).filter(|pair| pair[1].contains(" = ") && !pair[1].starts_with(['#', ' '])) {
        assert!(pair[0].starts_with("# ") || shares(pair[1]), "{}", pair[1]);
    }
}

#[test]
fn the_environment_goes_over_the_file_and_the_file_over_the_defaults() {
    let config = good("[limits]\nbeats = 100\nitems = 200", &[("HEARTLINE__LIMITS__BEATS", "50")]);
    assert_eq!((config.limits.beats, config.limits.items, config.limits.list), (50, 200, 200));
}

#[test]
fn an_empty_value_in_the_file_does_not_change_the_type_of_the_setting() {
    let file = "[auth]\naudience = \"10s\"\n[reading]\noverrides = []";
    let variables = [("HEARTLINE__AUTH__AUDIENCE", "tv"), ("HEARTLINE__READING__OVERRIDES", "[{ kind = 7 }]")];
    let config = good(file, &variables);
    assert_eq!(config.auth.audience, "tv");
    assert_eq!(config.reading.overrides[0].kind, 7);
}

#[test]
fn texts_of_the_environment_are_taken_as_they_are() {
    let digits = "12345678901234567890123456789012";
    let config = good(
        "",
        &[
            ("HEARTLINE__AUTH__HS256_SECRET", digits),
            ("HEARTLINE__AUTH__ISSUER", " \"quoted\" "),
            ("HEARTLINE__STORE__DATA_DIR", "/srv/heart line"),
        ],
    );
    assert_eq!(config.auth.hs256_secret.expose(), digits);
    assert_eq!(config.auth.issuer, " \"quoted\" ");
    assert_eq!(config.store.data_dir, Path::new("/srv/heart line"));
}

#[test]
fn other_values_of_the_environment_are_written_as_in_toml() {
    let config = good(
        "",
        &[
            ("HEARTLINE__SERVER__ORIGINS", r#"["https://example.org", "null"]"#),
            ("HEARTLINE__DEMO__ENABLED", "false"),
            ("HEARTLINE__DEMO__CLOCK", "false"),
            ("HEARTLINE__READING__FINISHED_AT", "1"),
            ("HEARTLINE__SOCKET__IDLE", "2m"),
            ("HEARTLINE__LIMITS__CONNECTIONS", "1_000_000"),
        ],
    );
    assert_eq!(config.server.origins, ["https://example.org", "null"]);
    assert!(!config.demo.enabled && !config.demo.clock);
    assert_eq!(config.reading.finished_at, 1.0);
    assert_eq!(config.socket.idle.as_secs(), 120);
    assert_eq!(config.limits.connections, 1_000_000);
}

#[test]
fn a_value_of_another_type_is_named_with_its_place() {
    for (name, value, expected) in [
        ("LIMITS__BEATS", "x", r#"expected a whole number, got "x""#),
        ("LIMITS__BEATS", "-1", r#"expected a whole number, got "-1""#),
        ("LIMITS__BEATS", "", r#"expected a whole number, got """#),
        ("LIMITS__BEATS", "1\nitems = 2", r#"expected a whole number, got "1\nitems = 2""#),
        ("READING__RESUME_BELOW", "5%", r#"expected a number, got "5%""#),
        ("DEMO__ENABLED", "yes", r#"expected true or false, got "yes""#),
        ("SOCKET__PING", "60", r#"expected a duration such as "30s", got "60""#),
        (
            "SERVER__LISTEN",
            "nowhere",
            r#"expected an address with a port, such as "127.0.0.1:7700" or "localhost:7700", got "nowhere""#,
        ),
        ("SERVER__ORIGINS", "[1]", r#"expected a list of strings such as ["a", "b"], got "[1]""#),
        ("READING__OVERRIDES", "[2, 3]", "expected a list of tables such as [{ id = \"a\" }], got \"[2, 3]\""),
    ] {
        let name = format!("HEARTLINE__{name}");
        assert_eq!(problem("", &[(&name, value)]), format!("{name}: {expected}"));
    }
    assert_eq!(file_problem("[limits]\nbeats = \"x\""), r#": limits.beats: expected a whole number, got "x""#);
    assert_eq!(file_problem("[limits]\nbeats = 1.5"), ": limits.beats: expected a whole number, got 1.5");
    assert_eq!(file_problem("[limits.beats]\nx = 1"), ": limits.beats: expected a whole number, got a table");
    assert_eq!(file_problem("limits = 5"), ": limits: expected a section, such as [limits]");
    assert_eq!(file_problem("[kafka]\ntopics = \"x\""), ": kafka.topics: expected a section, such as [kafka.topics]");
    assert_eq!(file_problem("[kafka.topics]\nhistory = 5"), ": kafka.topics.history: expected a string, got 5");
}

#[test]
fn a_value_its_part_cannot_take_is_named_with_its_place() {
    let level = problem("", &[("HEARTLINE__LOG__LEVEL", "loud")]);
    let words = r#"expected "error", "warn", "info", "debug" or "trace", got "loud""#;
    assert_eq!(level, format!("HEARTLINE__LOG__LEVEL: {words}"));
    let none = file_problem("[store]\nrecords_per_user = 0");
    assert_eq!(none, ": store.records_per_user: expected a whole number of at least 1, got 0");
}

#[test]
fn unknown_keys_are_refused_and_the_nearest_is_named() {
    assert_eq!(file_problem("[limits]\nbeat = 1"), ": limits.beat: no such setting; did you mean limits.beats?");
    assert_eq!(
        file_problem("[server]\ndata_dir = \"x\""),
        ": server.data_dir: no such setting; did you mean store.data_dir?"
    );
    assert_eq!(file_problem("[limit]\nbeats = 1"), ": limit: no such section; did you mean limits?");
    assert_eq!(file_problem("[tls]\ncert = \"x\""), ": tls: no such section");
    assert_eq!(
        problem("", &[("HEARTLINE__LIMITS__BEAT", "1")]),
        "HEARTLINE__LIMITS__BEAT: no such setting; did you mean HEARTLINE__LIMITS__BEATS?"
    );
    assert_eq!(
        problem("", &[("HEARTLINE__limits__beats", "1")]),
        "HEARTLINE__limits__beats: no such setting; did you mean HEARTLINE__LIMITS__BEATS?"
    );
    assert_eq!(problem("", &[("HEARTLINE__POSTGRES__URL", "x")]), "HEARTLINE__POSTGRES__URL: no such setting");
    assert_eq!(
        problem("", &[("HEARTLINE__KAFKA__TOPICS__REWARD", "x")]),
        "HEARTLINE__KAFKA__TOPICS__REWARD: no such setting; did you mean HEARTLINE__KAFKA__TOPICS__REWARDS?"
    );
    assert_eq!(
        file_problem("[kafka.topics]\nhistorys = \"x\""),
        ": kafka.topics.historys: no such setting; did you mean kafka.topics.history?"
    );
    assert_eq!(problem("", &[("HEARTLINE__", "x")]), "HEARTLINE__: no such setting");
}

#[test]
fn variables_of_others_are_left_alone() {
    good("", &[("HEARTLINE", "x"), ("HEARTLINE_LIMITS_BEATS", "x"), ("PATH", "/bin")]);
}

#[test]
fn all_problems_are_reported_together() {
    let problems = config("[limits]\nbeat = 1\nlist = \"x\"", &[("HEARTLINE__LOG__LEVELS", "info")]);
    assert_eq!(problems.expect_err("much is wrong").len(), 3);
}

#[test]
fn a_wrong_value_hides_no_other_problem_and_causes_none_in_defaults() {
    let file = "[limits]\nbeats = \"x\"\nuncommitted_slots = 5\nitems = 0\n[reading]\noverrides = [{ kind = 70000 }, { kind = 1 }, { kind = 70001 }]";
    let problems = config(file, &[("HEARTLINE__LOG__LEVEL", "loud")]).expect_err("much is wrong");
    let named = ["limits.beats: ", "LOG__LEVEL: ", "override 1: kind: ", "override 3: kind: ", "limits.items: "];
    assert!(named.iter().all(|name| problems.iter().any(|line| line.contains(name))), "{problems:?}");
    assert_eq!(problems.len(), named.len(), "limits.uncommitted_slots may be enough for the beats that were meant");
    let broken = config("[limits]\nbeats = ", &[("HEARTLINE__SERVER__LISTEN", "0.0.0.0:80")]).expect_err("no TOML");
    assert_eq!(broken.len(), 1, "what the file would set is not known: {broken:?}");
}

#[test]
fn a_start_that_fails_says_one_line() {
    let problem = |place: &str| Problem::new(place, "is wrong");
    let error = |problems: Vec<Problem>| ConfigError { problems }.to_string();
    assert_eq!(error(vec![problem("a.b")]), "a.b: is wrong");
    let several = error(vec![problem("a.b"), problem("c.d"), problem("e.f")]);
    assert_eq!(several, "a.b: is wrong (and 2 more: see heartline check-config)");
}

#[test]
fn a_file_that_is_no_toml_is_named_with_the_line_and_without_its_text() {
    let problem = file_problem("[auth]\nhs256_secret = \"do-not-show-me\nissuer = \"\"");
    assert!(problem.starts_with(", line 2: "), "{problem}");
    assert!(!problem.contains("do-not-show-me"), "{problem}");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let problems = Layers::defaults().add_file(Path::new("/nowhere/heartline.toml"));
    assert_eq!(problems.len(), 1);
    assert!(problems[0].to_string().starts_with("/nowhere/heartline.toml: cannot be read: "), "{}", problems[0]);
}

/// Every key that is named like a secret is kept in a [`model::secret::Secret`], and the other way round.
#[test]
fn secrets_are_masked_in_dumps_and_in_what_check_config_prints() {
    let canary = "canary-of-32-bytes-or-a-few-more!";
    assert!(canary.len() >= SECRET_BYTES_MIN);
    let variables = [
        "AUTH__HS256_SECRET",
        "CONTROL__TOKEN",
        "LOG__MID_KEY",
        "KAFKA__SASL_PASSWORD",
        "CASSANDRA__PASSWORD",
        "HISTORY_SERVICE__TOKEN",
    ];
    let variables = variables.map(|key| format!("HEARTLINE__{key}"));
    let mut layers = Layers::defaults();
    let file = "[kafka]\nsecurity = \"sasl_plaintext\"\nsasl_user = \"u\"\n[cassandra]\nuser = \"u\"\n\
                [store]\nhot_store = \"redis\"\n[statistics]\nstore = \"mongodb\"";
    assert_eq!(layers.add_text(FILE, file), []);
    let mut variables: Vec<_> = variables.iter().map(|name| (name.as_str(), canary)).collect();
    let url = format!("redis-cluster://me:{canary}@10.0.0.5:7000,10.0.0.6:7000");
    variables.push(("HEARTLINE__REDIS__URL", &url));
    let mongodb = format!("mongodb://me:{canary}@10.0.0.7:27017,10.0.0.8:27017/?replicaSet=rs0");
    variables.push(("HEARTLINE__STATISTICS__URL", &mongodb));
    assert_eq!(layers.add_environment(owned(&variables)), []);
    let config = Config::from_layers(&layers).expect("good settings");
    let (dump, printed) = (format!("{config:?}"), layers.masked());
    assert!(!dump.contains(canary) && !printed.contains(canary));
    let texts = DEFAULTS.lines().filter_map(|line| line.split_once(" = ")).filter(|(_, value)| value.starts_with('"'));
    let secrets = texts.filter(|(key, _)| secrets::is_secret(key));
    assert_eq!(secrets.count(), variables.len() - 2, "a URL is none, but may hold one");
    for place in
        ["redis-cluster://me:{MASK}@10.0.0.5:7000,10.0.0.6:7000", "mongodb://me:{MASK}@10.0.0.7:27017,10.0.0.8"]
    {
        assert!(printed.contains(&place.replace("{MASK}", MASK)), "{printed}");
    }
    assert_eq!(dump.matches(MASK).count(), variables.len());
    assert_eq!(printed.matches(MASK).count(), variables.len());
}

#[test]
fn a_secret_of_the_wrong_type_is_not_shown() {
    assert_eq!(
        file_problem("[auth]\nhs256_secret = 4711"),
        ": auth.hs256_secret: expected a string, got something else"
    );
}

#[test]
fn check_config_prints_a_file_with_the_same_settings() {
    let mut layers = Layers::defaults();
    let given = "[limits]\nbeats = 100\n[kafka.topics]\nhistory = \"h\"\n[cassandra]\nreplication = { dc1 = 3 }";
    assert_eq!(layers.add_text(FILE, given), []);
    let printed = layers.masked();
    let mut again = Layers::defaults();
    assert_eq!(again.add_text(FILE, &printed), []);
    assert_eq!(again.table(), layers.table());
}
