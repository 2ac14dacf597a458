//! The load generator against the real gateway: what it reports, and that it leaves nothing behind.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

#[path = "../../support/mod.rs"]
mod support;

use support::{SECRET, TestGateway};

/// Temporary directories of a run go below a directory of the test's own.
fn loadgen(scratch: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadgen"));
    command.args(arguments).env_clear().env("TMPDIR", scratch).stdin(Stdio::null());
    command.output().expect("the binary runs")
}

/// The one line on standard output.
fn report(output: &Output) -> Value {
    let text = String::from_utf8(output.stdout.clone()).expect("UTF-8");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(text.lines().count(), 1, "{text}\n{stderr}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}\n{stderr}"))
}

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn assert_nothing_lost(run: &Value, beats: u64) {
    assert_eq!((&run["intended"], &run["sent"], &run["acked"]), (&beats.into(), &beats.into(), &beats.into()), "{run}");
    for name in ["unsent", "unanswered", "reconnects"] {
        assert_eq!(run[name], 0, "{name} in {run}");
    }
    for name in ["rejected", "errors", "closes"] {
        assert!(run[name].as_object().is_some_and(|kinds| kinds.is_empty()), "{name} in {run}");
    }
}

fn assert_all_stored(run: &Value, users: u64) {
    let verified = &run["verified"];
    assert_eq!((&verified["users"], &verified["missing"], &verified["unread"]), (&users.into(), &0.into(), &0.into()));
    assert_eq!(verified["stored"], verified["acked"], "{verified}");
    assert!(verified["acked"].as_u64().is_some_and(|contents| contents >= users), "{verified}");
}

#[test]
fn a_load_on_a_gateway_is_reported_and_read_back() {
    let (gateway, scratch) = (TestGateway::start(), scratch());
    let (url, pid) = (format!("ws://{}", gateway.address()), format!("gateway={}", gateway.pid()));
    let mut line = vec!["--url", &url, "--secret", SECRET, "--pid", &pid, "--verify"];
    line.extend(["--sockets", "50", "--rate", "200", "--warm-up", "500ms", "--duration", "1s"]);
    line.extend(["--processes", "2", "--resends", "0.1", "--stale-flags", "0.1", "--churn", "1"]);
    let output = loadgen(scratch.path(), &line);
    let run = report(&output);
    assert_eq!(output.status.code(), Some(0), "{run}");
    assert_nothing_lost(&run, 300);
    assert_all_stored(&run, 50);
    assert!(run["latency_ms"]["p99.9"].as_f64() >= run["latency_ms"]["p50"].as_f64());
    assert!(run["latency_ms"]["p50"].as_f64().is_some_and(|millis| millis > 0.0), "{run}");
    assert!(run["rate_reached"].as_f64().is_some_and(|rate| rate > 100.0), "{run}");
    let process = &run["processes"]["gateway"];
    assert!(process["cpu_us_per_ack"].is_f64() && process["rss_per_socket"].is_f64(), "{run}");
    assert_eq!(run["client"]["processes"], 2);
}

#[test]
fn sockets_that_are_lost_come_back_and_nothing_acked_is_lost_with_them() {
    let (mut gateway, scratch) = (TestGateway::with(&[("server.listen", &free_address())]), scratch());
    let url = format!("ws://{}", gateway.address());
    let mut line =
        vec!["--url", &url, "--secret", SECRET, "--reconnect", "--verify", "--sockets", "20", "--rate", "100"];
    line.extend(["--warm-up", "0s", "--duration", "4s", "--drain", "60s"]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadgen"));
    let command = command.args(line).env("TMPDIR", scratch.path()).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs");
    let mut progress = BufReader::new(child.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
    progress.find(|line| line.contains(" sent, ")).expect("a second under load");
    gateway.restart();
    progress.for_each(drop);
    let output = child.wait_with_output().expect("its end");
    let run = report(&output);
    assert_eq!(output.status.code(), Some(0), "{run}");
    assert_eq!((&run["acked"], &run["unanswered"], &run["reconnects"]), (&400.into(), &0.into(), &20.into()), "{run}");
    assert_all_stored(&run, 20);
}

#[test]
fn a_load_without_a_duration_lasts_until_standard_input_ends() {
    let (gateway, scratch) = (TestGateway::start(), scratch());
    let url = format!("ws://{}", gateway.address());
    let mut line = vec!["--url", &url, "--secret", SECRET, "--until-stdin-ends", "--warm-up", "0s", "--verify"];
    line.extend(["--sockets", "20", "--rate", "200", "--processes", "2", "--drain", "60s"]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadgen"));
    let command = command.args(line).env("TMPDIR", scratch.path()).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs");
    let mut progress = BufReader::new(child.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
    for _ in 0..2 {
        progress.find(|line| line.contains(" sent, ")).expect("a second under load");
    }
    drop(child.stdin.take());
    progress.for_each(drop);
    let output = child.wait_with_output().expect("its end");
    let run = report(&output);
    assert_eq!(output.status.code(), Some(0), "{run}");
    let beats = run["intended"].as_u64().expect("a number");
    assert!(beats >= 300, "{run}");
    assert_nothing_lost(&run, beats);
    assert_all_stored(&run, 20);
    assert!(run["seconds"].as_f64().is_some_and(|seconds| seconds > 1.5 && seconds < 3600.0), "{run}");
}

/// Free a moment ago: a gateway that is killed comes back where its clients look for it.
fn free_address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").to_string()
}

#[test]
fn the_servers_to_compare_with_take_the_same_load() {
    let scratch = scratch();
    let mut line = vec!["--baseline", "--rounds", "1", "--verify", "--ack-delay", "200ms"];
    line.extend(["--sockets", "20", "--rate", "100", "--warm-up", "500ms", "--duration", "500ms"]);
    let output = loadgen(scratch.path(), &line);
    let baseline = report(&output);
    assert_eq!(output.status.code(), Some(0), "{baseline}");
    // At so low a rate the naive gateway keeps up, and there is nothing to be compared again.
    assert_eq!(baseline["comparisons"].as_array().map(Vec::len), Some(1), "{baseline}");
    let runs = baseline["comparisons"][0]["runs"].as_array().expect("runs");
    let named = |run: &Value| run[0].as_str().expect("a name").to_owned();
    assert_eq!(runs.iter().map(named).collect::<Vec<_>>(), ["echo", "naive", "gateway", "gateway_ack_delay"]);
    for run in runs {
        assert_nothing_lost(&run[1], 100);
        if run[0] != "echo" {
            assert_all_stored(&run[1], 20);
        }
    }
    let left: Vec<_> = scratch.path().read_dir().expect("the directory").collect();
    assert!(left.is_empty(), "{left:?}");
}

/// The words for what is wrong with it.
fn missed(verdict: &Value) -> Vec<&str> {
    verdict["missed"].as_array().expect("a list").iter().filter_map(Value::as_str).collect()
}

/// The verdict on an attack that hurts no client.
fn repelled(attack: &str) -> Value {
    let scratch = scratch();
    let mut line = vec!["--attack", attack, "--attack-share", "0.05", "--verify"];
    // How quick a gateway is that was not optimized, beside other tests, is not judged here.
    line.extend(["--sockets", "20", "--rate", "50", "--warm-up", "0s", "--quiet", "1s", "--p99-floor", "60s"]);
    let output = loadgen(scratch.path(), &line);
    let mut siege = report(&output);
    assert_eq!((output.status.code(), &siege["passed"]), (Some(0), &true.into()), "{siege}");
    let verdict = siege["attacks"][0].take();
    assert_eq!((missed(&verdict).len(), &verdict["lost"]), (0, &0.into()), "{verdict}");
    assert_all_stored(&verdict["run"], 20);
    assert!(verdict["gateway"]["rss_peak"].as_u64() >= verdict["gateway"]["rss_before"].as_u64(), "{verdict}");
    assert!(verdict["under"]["newcomers"]["welcomed"].as_u64().is_some_and(|some| some > 10), "{verdict}");
    verdict
}

/// Connections of the attacker that ended so.
fn ended(verdict: &Value, how: &str) -> Option<u64> {
    verdict["attacker"]["endings"][how].as_u64()
}

#[test]
fn a_socket_that_pings_too_often_is_closed_with_4008() {
    let verdict = repelled("pings");
    assert_eq!((ended(&verdict, "close 4008"), &verdict["counted"]["close 4008"]), (Some(50), &50.into()));
}

#[test]
fn a_socket_that_sends_too_much_at_once_is_closed_with_1009() {
    assert_eq!(ended(&repelled("oversized"), "close 1009"), Some(50));
}

#[test]
fn a_user_with_too_many_connections_loses_the_oldest_with_4004() {
    let verdict = repelled("one-user");
    assert_eq!((ended(&verdict, "close 4004"), ended(&verdict, "still open")), (Some(468), Some(32)));
}

#[test]
fn an_attack_that_the_gateway_lets_through_misses_its_bar() {
    let scratch = scratch();
    let mut line = vec!["--attack", "frames", "--attack-share", "0.05", "--attack-time", "0.2", "--p99-floor", "60s"];
    line.extend(["--sockets", "20", "--rate", "50", "--warm-up", "0s", "--quiet", "1s"]);
    line.extend(["--set", "limits.burst=2000", "--set", "limits.frames_per_second=2000"]);
    let output = loadgen(scratch.path(), &line);
    let siege = report(&output);
    assert_eq!((output.status.code(), &siege["passed"]), (Some(1), &false.into()), "{siege}");
    assert_eq!(missed(&siege["attacks"][0]), ["of the attacker's connections 10 ended with \"still open\""]);
}

#[test]
fn a_socket_among_many_is_compared_with_one_among_few() {
    let scratch = scratch();
    let mut line = vec!["--gateways", "2", "--sockets", "40", "--rate", "80", "--compare-with", "10", "--verify"];
    line.extend(["--warm-up", "0s", "--duration", "1s"]);
    let output = loadgen(scratch.path(), &line);
    let growth = report(&output);
    // So few sockets share what a process needs anyway that the ratios mean nothing.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{growth}");
    assert_eq!((&growth["few"]["sockets"], &growth["many"]["sockets"]), (&10.into(), &40.into()), "{growth}");
    assert_eq!((&growth["few"]["lost"], &growth["many"]["lost"]), (&0.into(), &0.into()), "{growth}");
    assert!(growth["rss_ratio"].is_f64(), "{growth}");
    assert_nothing_lost(&growth["runs"][1], 80);
    assert_all_stored(&growth["runs"][1], 40);
}

#[test]
fn an_unreachable_server_ends_the_load() {
    let scratch = scratch();
    let line = ["--url", "ws://127.0.0.1:1", "--secret", SECRET, "--sockets", "3", "--connect-tries", "1"];
    let output = loadgen(scratch.path(), &line);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(69), 0));
    assert!(String::from_utf8_lossy(&output.stderr).contains("connection refused"), "{output:?}");
}

#[test]
fn a_race_has_one_winner_for_each_user_and_content() {
    let scratch = scratch();
    let line = ["--race", "--race-users", "20", "--racers", "5", "--race-wave", "5"];
    let output = loadgen(scratch.path(), &line);
    let race = report(&output);
    assert_eq!((output.status.code(), &race["passed"]), (Some(0), &true.into()), "{race}");
    // Half of the users race for one content, the others for five.
    for (what, count) in [("user_rewards", 20), ("user_claims", 20), ("content_claims", 60), ("events", 80)] {
        assert_eq!(race[what], count, "{what} in {race}");
    }
}

#[test]
fn a_race_with_a_refused_connection_ends_with_an_error() {
    let scratch = scratch();
    let line = ["--race", "--race-users", "2", "--racers", "2", "--set", "limits.connections_per_user=1"];
    let output = loadgen(scratch.path(), &line);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(69), 0), "{output:?}");
}

#[test]
fn rewards_are_compared_with_none() {
    let scratch = scratch();
    let rules = "rewards.rules=[{ id = \"first-of-day\", per = \"user\", kinds = [], watched = \"0s\", exact = true }]";
    let mut line = vec!["--compare-rewards", "--rounds", "1", "--set", rules];
    line.extend(["--sockets", "20", "--rate", "100", "--warm-up", "500ms", "--duration", "500ms"]);
    let output = loadgen(scratch.path(), &line);
    let cost = report(&output);
    // In so short a time, and not optimized, the ratios mean nothing.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{cost}");
    assert!(cost["with_flags_ratio"].is_f64() && cost["without_flags_ratio"].is_f64(), "{cost}");
    let rewards = |run: &Value| (run[0].as_str().expect("a name").to_owned(), run[1]["rewards"].as_u64());
    let told: Vec<_> = cost["runs"].as_array().expect("runs").iter().map(rewards).collect();
    let expected = [("no_rules", 0), ("with_flags", 20), ("without_flags", 20)];
    assert_eq!(told, expected.map(|(name, count)| (name.to_owned(), Some(count))));
    let too_short = loadgen(scratch.path(), &["--compare-rewards", "--warm-up", "1s"]);
    assert_eq!(too_short.status.code(), Some(2), "{too_short:?}");
}

#[test]
fn users_who_take_turns_on_a_socket_lose_nothing() {
    let (gateway, scratch) = (TestGateway::start(), scratch());
    let url = format!("ws://{}", gateway.address());
    let mut line = vec!["--url", &url, "--secret", SECRET, "--verify", "--users-per-socket", "5", "--visit", "200ms"];
    line.extend(["--sockets", "20", "--rate", "200", "--warm-up", "500ms", "--duration", "2s"]);
    let output = loadgen(scratch.path(), &line);
    let run = report(&output);
    assert_eq!(output.status.code(), Some(0), "{run}");
    assert_nothing_lost(&run, 500);
    assert_eq!((&run["verified"]["users"], &run["verified"]["missing"]), (&100.into(), &0.into()), "{run}");
    // Twenty sockets for two seconds and a half, with a dial each time.
    assert!(run["visits"].as_u64().is_some_and(|visits| visits > 60), "{run}");
    let alone = loadgen(scratch.path(), &["--url", &url, "--secret", SECRET, "--users-per-socket", "5"]);
    assert_eq!(alone.status.code(), Some(2), "{}", String::from_utf8_lossy(&alone.stderr));
}
