//! `check-config` finds what would stop `serve`, all at once, and changes nothing.

use std::fs;
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};

use crate::support::{DEMO_OVERRIDE, SECRET, TestGateway, run};

const BAD_CONFIGURATION: i32 = 78;

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}

/// The lines for a person, without the name of the program.
fn told(output: &Output) -> Vec<&str> {
    text(&output.stderr).lines().filter_map(|line| line.strip_prefix("heartline: ")).collect()
}

fn complaints(settings: &[(&str, &str)]) -> Vec<String> {
    let output = run(&["check-config"], settings);
    assert_eq!(output.status.code(), Some(BAD_CONFIGURATION), "{}", text(&output.stderr));
    let told = told(&output).into_iter().filter(|line| !line.starts_with("warning: "));
    told.map(str::to_owned).collect()
}

/// The warnings for these settings, of the check and of a start.
fn warnings(settings: &[(&str, &str)]) -> Vec<String> {
    let output = run(&["check-config"], settings);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let warned = |output: &Output| -> Vec<String> {
        told(output).iter().filter_map(|line| line.strip_prefix("warning: ")).map(str::to_owned).collect()
    };
    let warnings = warned(&output);
    let strict = run(&["check-config", "--strict"], settings);
    assert_eq!(warned(&strict), warnings);
    let code = if warnings.is_empty() { 0 } else { BAD_CONFIGURATION };
    assert_eq!(strict.status.code(), Some(code), "{}", text(&strict.stderr));
    assert_eq!(strict.stdout.is_empty(), !warnings.is_empty(), "no settings beside an error");
    warnings
}

/// The binary in a directory of its own, with these variables and no others.
fn bare(arguments: &[&str], variables: &[(&str, &str)], home: &std::path::Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heartline"));
    command.args(arguments).current_dir(home).env_clear().stdin(Stdio::null());
    command.envs(variables.iter().copied()).output().expect("the binary runs")
}

#[test]
fn wrong_types_values_and_contradictions_are_reported_together() {
    let complaints = complaints(&[
        ("limits.beats", "many"),
        ("log.level", "loud"),
        ("server.trusted_proxies", "10.0.0.1,10.0.0.0/8,2001:db8::1,proxy"),
        ("server.origins", "https://a.example,https://b.example/"),
        ("socket.ping", "90s"),
        ("reading.finished_at", "1.5"),
        ("store.records_per_user", "0"),
    ]);
    let variable = |name: &str| format!("HEARTLINE__{name}: ");
    for (place, says) in [
        ("LIMITS__BEATS", "expected a whole number, got \"many\""),
        ("LOG__LEVEL", "expected \"error\", \"warn\", \"info\", \"debug\" or \"trace\", got \"loud\""),
        ("SERVER__TRUSTED_PROXIES[0]", "write 10.0.0.1/32"),
        ("SERVER__TRUSTED_PROXIES[2]", "write 2001:db8::1/128"),
        ("SERVER__TRUSTED_PROXIES[3]", "expected a network such as 10.0.0.0/8, got \"proxy\""),
        ("SERVER__ORIGINS[1]", "https://b.example/"),
        ("READING__FINISHED_AT", "1.5"),
        ("STORE__RECORDS_PER_USER", "expected a whole number of at least 1, got 0"),
    ] {
        let found = complaints.iter().any(|line| line.starts_with(&variable(place)) && line.contains(says));
        assert!(found, "{place}: {says}: {complaints:#?}");
    }
    assert!(complaints.iter().any(|line| line.starts_with("socket.idle: ")), "{complaints:#?}");
    assert_eq!(complaints.len(), 9, "and nothing about the defaults of settings that are wrong: {complaints:#?}");
    for word in ["u16", "usize", "variant", "nonzero", "syntax", "invalid"] {
        assert!(complaints.iter().all(|line| !line.contains(word)), "{word}: {complaints:#?}");
    }
}

#[test]
fn views_need_a_store_of_their_totals_that_fits() {
    let redis = ("store.hot_store", "redis");
    let mongodb = ("statistics.store", "mongodb");
    let url = ("statistics.url", "mongodb://me:hunter2@127.0.0.1:1");
    for (settings, place, says) in [
        (&[mongodb, url][..], "STATISTICS__STORE", "needs store.hot_store = \"redis\""),
        (&[redis, mongodb], "statistics.url", "is empty, but statistics.store is \"mongodb\""),
        (&[redis, url], "STATISTICS__URL", "is set, but statistics.store is \"embedded\""),
        (&[redis, ("views.by_request", "[3]")], "VIEWS__BY_REQUEST", "statistics.store = \"mongodb\""),
        (&[redis, mongodb, ("statistics.url", "mongodb+srv://a")], "STATISTICS__URL", "mongodb+srv://"),
        (&[redis, mongodb, url, ("statistics.database", "a.b")], "STATISTICS__DATABASE", "cannot be used"),
        (&[("counters.flush_interval", "1h")], "COUNTERS__FLUSH_INTERVAL", "must be 100ms to 1m"),
    ] {
        let complaints = complaints(settings);
        let place = if place.contains('.') { place.to_owned() } else { format!("HEARTLINE__{place}") };
        assert_eq!(complaints.len(), 1, "{complaints:?}");
        assert!(complaints[0].starts_with(&format!("{place}: ")) && complaints[0].contains(says), "{complaints:?}");
        let refused = TestGateway::fails_with(settings);
        assert_eq!(refused.code, Some(BAD_CONFIGURATION), "{}", refused.stderr);
        assert!(refused.stderr.contains(&complaints[0]), "{}", refused.stderr);
    }
    // It is not asked whether it is there.
    let good = run(&["check-config"], &[redis, mongodb, url, ("views.by_request", "[3, 4]")]);
    assert!(good.status.success(), "{}", text(&good.stderr));
    let printed = text(&good.stdout);
    assert!(printed.contains("mongodb://me:********@127.0.0.1:1") && !printed.contains("hunter2"), "{printed}");
}

#[test]
fn counters_that_make_no_sense_are_named() {
    let complaints = complaints(&[(
        "counters.direct",
        r#"[{ id = "a", max = -1 }, { id = "b", thresholds = [5, 4] }, { id = "b", key = ["x", "x"] }]"#,
    )]);
    let after: Vec<_> =
        complaints.iter().filter_map(|line| line.strip_prefix("HEARTLINE__COUNTERS__DIRECT: counter ")).collect();
    assert_eq!(
        after,
        [
            "\"a\": initial: must be from min to max, -9007199254740991 to -1",
            "\"b\": thresholds: must be ascending, each once",
            "\"b\": id: is also the id of another counter; choose another one",
            "\"b\": key: \"x\" is there twice",
        ]
    );
}

#[test]
fn files_that_serve_could_not_use_are_told_together() {
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("file");
    fs::write(&file, "no directory, no certificate").expect("a file");
    let file = file.to_str().expect("ASCII");
    let complaints = complaints(&[
        ("server.tls_cert", file),
        ("server.tls_key", "/nonexistent/key.pem"),
        ("auth.jwks_file", "/nonexistent/keys.json"),
        ("live.geoip", file),
        ("store.data_dir", file),
        ("admin.listen", "192.0.2.77:7701"),
        ("limits.items", "x"),
    ]);
    for says in ["server.tls_cert", "auth.jwks_file", "live.geoip", "data directory", "admin.listen", "LIMITS__ITEMS"] {
        assert!(complaints.iter().any(|line| line.contains(says)), "{says}: {complaints:#?}");
    }
    assert_eq!(complaints.len(), 6, "{complaints:#?}");
}

#[test]
fn a_data_directory_is_looked_at_and_left_as_it_is() {
    let place = tempfile::tempdir().expect("a directory");
    let foreign = place.path().join("thesis");
    fs::create_dir(&foreign).expect("a directory");
    fs::write(foreign.join("thesis.tex"), "years of work").expect("a file");
    let refused = complaints(&[("store.data_dir", foreign.to_str().expect("ASCII"))]);
    assert!(refused.len() == 1 && refused[0].contains("thesis.tex"), "{refused:?}");

    let missing = place.path().join("new/data");
    let output =
        run(&["check-config"], &[("store.data_dir", missing.to_str().expect("ASCII")), ("auth.hs256_secret", "")]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(!place.path().join("new").exists(), "nothing is made");

    let mut gateway = TestGateway::embedded(&[]);
    gateway.kill();
    let data = gateway.data_dir();
    fs::write(data.join("store/format"), "65535\n").expect("another format");
    let before = fs::read_dir(&data).expect("the directory").count();
    let refused = complaints(&[("store.data_dir", data.to_str().expect("ASCII"))]);
    assert!(refused.len() == 1 && refused[0].contains("65535"), "{refused:?}");
    assert_eq!(fs::read_dir(&data).expect("the directory").count(), before);
}

#[test]
fn resources_of_a_running_gateway_are_warnings_and_no_errors() {
    let gateway = TestGateway::embedded(&[]);
    let (data, address) = (gateway.data_dir(), gateway.address().to_string());
    let data = data.to_str().expect("ASCII");
    let output = run(&["check-config"], &[("store.data_dir", data), ("server.listen", &address)]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let warned = told(&output);
    let is_warned_of = |text: &str| warned.iter().any(|line| line.starts_with("warning: ") && line.contains(text));
    assert!(is_warned_of(&format!("process {}", gateway.pid())), "{warned:?}");
    assert!(is_warned_of(&format!("server.listen: {address}")), "{warned:?}");
    let strict = run(&["check-config", "--strict"], &[("store.data_dir", data), ("server.listen", &address), QUIET]);
    assert_eq!(strict.status.code(), Some(BAD_CONFIGURATION));
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    assert!(run(&["check-config"], &[("admin.listen", &address)]).status.success());
}

#[test]
fn variables_that_only_look_like_settings_are_named() {
    let home = tempfile::tempdir().expect("a directory");
    let variables = [
        ("HEARTLINE_SERVER_LISTEN", "127.0.0.1:80"),
        ("HEARTLINE_LIMITS_BEAT", "5"),
        ("HEARTLINE_STORE__DATA_DIR", "x"),
        ("HEARTLINE__SERVER__LISTEN", "127.0.0.1:0"),
        ("HEARTLINE__ADMIN__LISTEN", "127.0.0.1:0"),
        ("HEARTLINE__CONTROL__LISTEN", "127.0.0.1:0"),
        ("HEARTLINE_BIN", "x"),
        ("HEARTLINE_KEY", "x"),
        ("HEARTLINE_TEST_STORE", "x"),
        ("HEARTLINE_REDIS_SERVICE_HOST", "10.0.0.7"),
        ("HEARTLINE_REDIS_PORT", "tcp://10.0.0.7:6379"),
        ("HEARTLINE_REDIS_PORT_6379_TCP_ADDR", "10.0.0.7"),
    ];
    let output = bare(&["check-config"], &variables, home.path());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(
        told(&output),
        [
            "warning: HEARTLINE_LIMITS_BEAT is not a setting and is ignored; did you mean HEARTLINE__LIMITS__BEATS?",
            "warning: HEARTLINE_SERVER_LISTEN is not a setting and is ignored; did you mean HEARTLINE__SERVER__LISTEN?",
            "warning: HEARTLINE_STORE__DATA_DIR is not a setting and is ignored; did you mean HEARTLINE__STORE__DATA_DIR?",
        ]
    );
}

/// Settings of a gateway that has nothing to be warned of.
const QUIET: (&str, &str) = (DEMO_OVERRIDE, "false");

#[test]
fn settings_that_may_not_be_meant_are_warned_of_at_the_check_and_at_the_start() {
    assert_eq!(warnings(&[QUIET]), [""; 0]);
    for (settings, place, says) in [
        (&[("store.retention", "23h")][..], "HEARTLINE__STORE__RETENTION", "23h is less than a day"),
        (&[("server.trusted_proxies", "0.0.0.0/0")], "HEARTLINE__SERVER__TRUSTED_PROXIES", "0.0.0.0/0"),
        (&[("server.trusted_proxies", "10.0.0.0/8,::/0")], "HEARTLINE__SERVER__TRUSTED_PROXIES", "::/0"),
        (&[("store.clock_step_max", "61m")], "HEARTLINE__STORE__CLOCK_STEP_MAX", "1h 1m is more than an hour"),
        (
            &[("store.accept_clock_before_store", "true")],
            "HEARTLINE__STORE__ACCEPT_CLOCK_BEFORE_STORE",
            "for one start only",
        ),
        (&[("control.token", SECRET)], "control.token", "set another one"),
        (&[("limits.connections", "4000000000")], "limits.connections", "4000000000"),
        (&[("redis.durability", "relaxed")], "HEARTLINE__REDIS__DURABILITY", "store.hot_store is \"embedded\""),
        (&[(DEMO_OVERRIDE, "true")], "HEARTLINE__DEMO__ISSUE_TOKENS_FOR_ANY_USER_WITH_THE_REAL_KEY", "any user"),
    ] {
        let settings = [&[QUIET], settings].concat();
        let warned = warnings(&settings);
        assert_eq!(warned.len(), 1, "{settings:?}: {warned:?}");
        assert!(warned[0].starts_with(&format!("{place}: ")) && warned[0].contains(says), "{warned:?}");
        let log = TestGateway::embedded(&settings).log();
        let lines: Vec<_> = log.lines().filter(|line| line.contains("event=\"config_warning\"")).collect();
        assert!(lines.len() == 1 && lines[0].contains(" WARN ") && lines[0].contains(&warned[0]), "{log}");
    }
}

#[test]
fn a_control_token_that_is_the_development_key_is_warned_of() {
    let mut first = TestGateway::embedded(&[("auth.hs256_secret", ""), QUIET]);
    let key = fs::read_to_string(first.data_dir().join("development-key")).expect("the key");
    let data = first.data_dir();
    let settings = [("auth.hs256_secret", ""), ("store.data_dir", data.to_str().expect("ASCII")), QUIET];
    first.kill();
    assert_eq!(run(&["check-config", "--strict"], &settings).status.code(), Some(0));
    let same = [&settings[..], &[("control.token", key.trim())]].concat();
    let output = run(&["check-config"], &same);
    let warned = told(&output);
    assert!(warned.len() == 1 && warned[0].starts_with("warning: control.token: "), "{warned:?}");
    assert!(!text(&output.stderr).contains(key.trim()), "{warned:?}");
}

#[test]
fn more_connections_than_files_are_warned_of() {
    let within = |limit: u32, connections: u32| {
        let check = format!(
            "ulimit -n {limit} && HEARTLINE__LIMITS__CONNECTIONS={connections} exec {} check-config",
            env!("CARGO_BIN_EXE_heartline")
        );
        let home = tempfile::tempdir().expect("a directory");
        let ports = ["SERVER", "ADMIN", "CONTROL"].map(|part| (format!("HEARTLINE__{part}__LISTEN"), "127.0.0.1:0"));
        let mut shell = Command::new("sh");
        shell.args(["-c", &check]).current_dir(home.path()).env_clear().envs(ports);
        shell.output().expect("a shell")
    };
    let enough = within(256, 256);
    assert_eq!(told(&enough), [""; 0]);
    let output = within(256, 257);
    assert!(output.status.success());
    let warned = told(&output);
    assert!(warned.len() == 1 && warned[0].starts_with("warning: limits.connections: "), "{warned:?}");
    assert!(warned[0].contains("257") && warned[0].contains(" 256 files"), "{warned:?}");
}

#[test]
fn a_listener_may_be_named_localhost() {
    let output = run(&["check-config"], &[("server.listen", "localhost:0"), ("admin.listen", "localhost:0")]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let gateway = TestGateway::with(&[("server.listen", "localhost:0")]);
    assert!(gateway.address().ip().is_loopback());
    for other in ["localhost", "nowhere.invalid:7700", "localhost:70000"] {
        let refused = complaints(&[("server.listen", other)]);
        assert!(refused.len() == 1 && refused[0].starts_with("HEARTLINE__SERVER__LISTEN: "), "{refused:?}");
        assert!(refused[0].contains("localhost:7700"), "{refused:?}");
    }
}

#[test]
fn a_token_is_only_signed_with_a_key_that_a_gateway_has() {
    let home = tempfile::tempdir().expect("a directory");
    let output = bare(&["token", "--mid", "42"], &[], home.path());
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(BAD_CONFIGURATION), ""));
    let told = told(&output);
    assert!(told.len() == 1 && told[0].contains("auth.hs256_secret") && told[0].contains("serve"), "{told:?}");
    assert_eq!(fs::read_dir(home.path()).expect("the directory").count(), 0, "nothing is made");

    let gateway = TestGateway::with(&[("auth.hs256_secret", "")]);
    let data = gateway.data_dir();
    let settings = [("auth.hs256_secret", ""), ("store.data_dir", data.to_str().expect("ASCII"))];
    let output = run(&["token", "--mid", "42"], &settings);
    assert!(output.status.success() && text(&output.stdout).starts_with("eyJ"), "{}", text(&output.stderr));
}
