//! The command line around the configuration: defaults, checks, tokens, the development key.

use std::fs;

use crate::support::{MID, SECRET, TestGateway, run};

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}

#[test]
fn default_config_prints_the_commented_defaults() {
    let output = run(&["default-config"], &[]);
    assert!(output.status.success());
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/heartline.toml");
    assert_eq!(text(&output.stdout), fs::read_to_string(file).expect("the defaults"));
}

#[test]
fn check_config_accepts_the_defaults_and_shows_no_secret() {
    let output = run(&["check-config"], &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for stream in [&output.stdout, &output.stderr] {
        assert!(!text(stream).contains(SECRET));
    }
}

#[test]
fn check_config_says_what_memory_the_rewards_take_and_stays_a_file() {
    let output = run(&["check-config"], &[("rewards.zone", "Asia/Tokyo")]);
    let printed = text(&output.stdout);
    for line in [
        "# first-of-day: exact, bitmaps for 1127000 claims a day",
        "# first-view: a bloom filter for 1000000 claims a day, false-positive rate 1 %: 1127 claims, 10808 \
         bits, 7 hashes and 1711 bytes a shard, 1.7 MB in all",
    ] {
        assert!(printed.contains(line), "{printed}");
    }
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("heartline.toml");
    fs::write(&file, printed).expect("a file");
    let again = run(&["check-config", "--config", file.to_str().expect("ASCII")], &[]);
    assert!(again.status.success(), "{}", text(&again.stderr));
    assert!(text(&again.stdout).contains("zone = \"Asia/Tokyo\""), "{}", text(&again.stdout));
}

#[test]
fn check_config_names_what_is_wrong() {
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("heartline.toml");
    let path = file.to_str().expect("ASCII");
    for (content, named) in [
        ("[socket]\npings = \"60s\"\n", "pings"),
        ("[sockets]\nping = \"60s\"\n", "sockets"),
        ("[socket]\nping = 60\n", "ping"),
        ("[socket\n", "heartline.toml"),
    ] {
        fs::write(&file, content).expect("a file");
        let output = run(&["check-config", "--config", path], &[]);
        assert_eq!(output.status.code(), Some(78), "{content}");
        let stderr = text(&output.stderr);
        assert!(stderr.starts_with("heartline: ") && stderr.contains(named), "{content}: {stderr}");
    }
    let output = run(&["check-config", "--config", "/nonexistent/heartline.toml"], &[]);
    assert_eq!(output.status.code(), Some(78));
}

#[test]
fn a_secret_is_not_shown_even_when_it_is_wrong() {
    let output = run(&["check-config"], &[("auth.hs256_secret", "s3cr3t-but-short")]);
    assert_eq!(output.status.code(), Some(78));
    assert!(!text(&output.stderr).contains("s3cr3t"), "{}", text(&output.stderr));
}

#[test]
fn a_file_overrides_the_defaults_and_the_environment_the_file() {
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("heartline.toml");
    // Longer than the default of socket.idle.
    fs::write(&file, "[socket]\nping = \"80s\"\n").expect("a file");
    let arguments = ["check-config", "--config", file.to_str().expect("ASCII")];
    assert_eq!(run(&arguments, &[]).status.code(), Some(78));
    assert!(run(&arguments, &[("socket.ping", "50s")]).status.success());
}

#[tokio::test]
async fn a_printed_token_is_accepted() {
    let gateway = TestGateway::start();
    let output = run(&["token", "--mid", "42", "--ttl", "10m"], &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let token = text(&output.stdout).trim();
    let client = gateway.upgrade().bearer(token).welcomed().await;
    assert_eq!(client.welcome()["mid"], "42");
    let left = client.welcome()["expires"].as_u64().expect("expires") - client.now();
    assert!((590_000..=600_000).contains(&left), "{left}");
}

#[test]
fn a_token_needs_a_user() {
    for mid in ["", "-1", "nobody", "18446744073709551616"] {
        assert_eq!(run(&["token", "--mid", mid], &[]).status.code(), Some(2), "{mid}");
    }
}

#[tokio::test]
async fn without_a_key_a_development_key_is_made_once_kept_private_and_never_printed() {
    use std::os::unix::fs::PermissionsExt;

    let mut gateway = TestGateway::with(&[("auth.hs256_secret", "")]);
    let file = gateway.data_dir().join("development-key");
    let key = fs::read_to_string(&file).expect("the key").trim().to_owned();
    assert!(key.len() >= 32);
    assert_eq!(fs::metadata(&file).expect("the key").permissions().mode() & 0o777, 0o600);
    let says_where = |gateway: &TestGateway| {
        let printed = gateway.printed().join("\n");
        assert!(printed.contains(&format!("development key: kept at {}", file.display())), "{printed}");
        assert!(!printed.contains(&key) && !gateway.log().contains(&key), "a journal may keep what is printed");
    };
    says_where(&gateway);

    let token = crate::support::Token::of(MID).sign_with(jsonwebtoken::Algorithm::HS256, &key);
    gateway.upgrade().bearer(&token).welcomed().await;
    gateway.restart();
    says_where(&gateway);
    gateway.upgrade().bearer(&token).welcomed().await;
}

#[test]
fn with_a_key_only_the_listening_line_is_printed() {
    let gateway = TestGateway::start();
    assert_eq!(gateway.printed(), [""; 0]);
}
