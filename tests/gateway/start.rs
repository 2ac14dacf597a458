//! Starts that must fail: one clear line, an exit code of its own, and nothing lost.

use std::fs;
use std::net::TcpListener;

use crate::support::{FailedStart, MID, TestGateway, beat, run};

const BAD_CONFIGURATION: i32 = 78;
const DATA_UNUSABLE: i32 = 73;
const ADDRESS_UNUSABLE: i32 = 69;

/// One line for a person, and nothing else but logs.
fn told(failed: &FailedStart, code: i32) -> String {
    assert_eq!(failed.code, Some(code), "{}", failed.stderr);
    let lines: Vec<&str> = failed.stderr.lines().filter(|line| line.starts_with("heartline: ")).collect();
    assert_eq!(lines.len(), 1, "{}", failed.stderr);
    assert!(!failed.stderr.contains("panicked"), "{}", failed.stderr);
    lines[0].to_owned()
}

#[tokio::test]
async fn a_second_process_on_a_data_directory_names_the_first() {
    let gateway = TestGateway::embedded(&[]);
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(100, at)]).await;
    let failed = gateway.beside().err().expect("a refusal");
    let line = told(&failed, DATA_UNUSABLE);
    let pid = gateway.pid().to_string();
    assert!(line.split(|c: char| !c.is_ascii_digit()).any(|word| word == pid), "{line}");
    assert_eq!(client.position(100).await, Some(10_000));
    client.watch([beat(100, at + 1).pos(20_000)]).await;
}

#[tokio::test]
async fn a_killed_process_leaves_its_data_directory_free() {
    let mut gateway = TestGateway::embedded(&[]);
    for _ in 0..3 {
        gateway.restart();
    }
    gateway.connect(MID).await;
}

#[tokio::test]
async fn an_impossible_data_directory_is_refused() {
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("file");
    fs::write(&file, "no directory").expect("a file");
    // A path below a file cannot be written, not even by root.
    for path in [file.clone(), file.join("data")] {
        let path = path.to_str().expect("ASCII");
        let failed = TestGateway::fails_with(&[("store.data_dir", path)]);
        let line = told(&failed, DATA_UNUSABLE);
        assert!(line.contains(path), "{line}");
    }
    assert_eq!(fs::read_to_string(file).expect("the file"), "no directory");
}

#[tokio::test]
async fn a_format_of_another_version_is_refused_and_left_alone() {
    let mut gateway = TestGateway::embedded(&[]);
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(100, at)]).await;
    gateway.kill();
    let format = gateway.data_dir().join("store/format");
    let known = fs::read(&format).expect("a format");
    fs::write(&format, "65535\n").expect("another format");
    let line = told(&gateway.beside().err().expect("a refusal"), DATA_UNUSABLE);
    assert!(line.contains("65535"), "{line}");
    fs::write(&format, known).expect("the known format");
    gateway.restart();
    assert_eq!(gateway.connect(MID).await.position(100).await, Some(10_000));
}

#[test]
fn a_directory_with_foreign_files_is_refused_and_unchanged() {
    let place = tempfile::tempdir().expect("a directory");
    fs::write(place.path().join("thesis.tex"), "years of work").expect("a file");
    let path = place.path().to_str().expect("ASCII");
    told(&TestGateway::fails_with(&[("store.data_dir", path)]), DATA_UNUSABLE);
    assert_eq!(fs::read_dir(path).expect("the directory").count(), 1);
}

#[test]
fn a_taken_port_is_refused() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address").to_string();
    for setting in ["server.listen", "admin.listen", "control.listen"] {
        let failed = TestGateway::fails_with(&[(setting, &address)]);
        let line = told(&failed, ADDRESS_UNUSABLE);
        assert!(line.contains(&address), "{line}");
    }
}

/// Sharing a port among its own threads must not let a second gateway in.
#[test]
fn the_port_of_another_gateway_is_refused() {
    let gateway = TestGateway::start();
    let addresses = [
        ("server.listen", gateway.address()),
        ("admin.listen", gateway.admin_address()),
        ("control.listen", gateway.control_address()),
    ];
    for (setting, address) in addresses {
        told(&TestGateway::fails_with(&[(setting, &address.to_string())]), ADDRESS_UNUSABLE);
    }
}

#[test]
fn an_address_other_than_loopback_needs_a_key() {
    let open = [("server.listen", "0.0.0.0:0"), ("auth.hs256_secret", ""), ("demo.enabled", "false")];
    let line = told(&TestGateway::fails_with(&open), BAD_CONFIGURATION);
    assert!(line.to_lowercase().contains("hs256_secret"), "{line}");
}

#[test]
fn an_address_other_than_loopback_shows_no_demo() {
    let open = [("server.listen", "0.0.0.0:0"), ("demo.enabled", "true")];
    let line = told(&TestGateway::fails_with(&open), BAD_CONFIGURATION);
    assert!(line.to_lowercase().contains("demo"), "{line}");
}

#[test]
fn a_bad_setting_is_named() {
    for (setting, value) in [
        ("auth.hs256_secret", "too short"),
        ("server.listen", "nowhere"),
        ("server.listen", ""),
        ("server.origins", "app.example, https://app.example"),
        ("server.origins", r#"["no origin"]"#),
        ("server.drain_timeout", "soon"),
        ("admin.listen", "127.0.0.1"),
        ("limits.beats", "0"),
        ("limits.beats", "many"),
        ("limits.frame_bytes", "-1"),
        ("socket.ping", "0s"),
        ("socket.heartbeat_interval", "5 parsecs"),
        ("store.retention", "0s"),
        ("reading.finished_at", "1.5"),
        ("reading.resume_below", "-0.1"),
        ("log.level", "loud"),
        ("log.format", "xml"),
        ("demo.enabled", "perhaps"),
    ] {
        let line = told(&TestGateway::fails_with(&[(setting, value)]), BAD_CONFIGURATION);
        let key = setting.split('.').nth(1).expect("a key");
        assert!(line.to_lowercase().contains(key), "{setting}={value}: {line}");
    }
}

#[test]
fn an_unknown_setting_is_named() {
    for setting in ["socket.pings", "sockets.ping", "socket.ping.often"] {
        let line = told(&TestGateway::fails_with(&[(setting, "60s")]), BAD_CONFIGURATION);
        assert!(line.to_lowercase().contains(&setting.replace('.', "__")) || line.contains(setting), "{line}");
    }
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    // Pings must go out before silence ends the connection.
    told(&TestGateway::fails_with(&[("socket.ping", "60s"), ("socket.idle", "30s")]), BAD_CONFIGURATION);
}

#[test]
fn a_wrong_command_line_is_refused() {
    for arguments in [&["dance"][..], &["serve", "--loud"], &["token"]] {
        assert_eq!(run(arguments, &[]).status.code(), Some(2), "{arguments:?}");
    }
}
