use super::super::ConfigError;
use super::*;

const FILE: &str = "heartline.toml";
const KEY: &str = "[auth]\nhs256_secret = \"a-key-for-tests-only-0123456789abcdef\"\n";

fn problems_of(file: &str) -> Vec<String> {
    let mut layers = Layers::defaults();
    assert_eq!(layers.add_text(FILE, file), []);
    match Config::from_layers(&layers) {
        Ok(_) => Vec::new(),
        Err(ConfigError { problems }) => problems.iter().map(Problem::to_string).collect(),
    }
}

/// The file is refused for one reason, which begins with `place` and says `word`.
fn refused(file: &str, place: &str, word: &str) {
    let problems = problems_of(file);
    assert_eq!(problems.len(), 1, "{file}: {problems:?}");
    assert!(problems[0].starts_with(&format!("{place}: ")) && problems[0].contains(word), "{file}: {problems:?}");
}

fn accepted(file: &str) {
    assert_eq!(problems_of(file), [] as [&str; 0], "{file}");
}

fn in_file(setting: &str) -> String {
    format!("{FILE}: {setting}")
}

#[test]
fn other_addresses_than_loopback_need_a_key() {
    let open = "[server]\nlisten = \"0.0.0.0:7700\"\n[demo]\nenabled = false\n";
    refused(open, "auth.hs256_secret", "0.0.0.0:7700");
    accepted(&format!("{open}{KEY}"));
    accepted(&format!("{open}[auth]\njwks_file = \"keys.json\""));
    for loopback in ["127.0.0.1:0", "127.3.2.1:80", "[::1]:7700"] {
        accepted(&format!("[server]\nlisten = \"{loopback}\""));
    }
}

#[test]
fn the_demo_stays_on_loopback() {
    refused(&format!("[server]\nlisten = \"[::]:7700\"\n{KEY}"), "demo.enabled", "any user");
}

#[test]
fn a_short_key_is_refused_and_not_shown() {
    refused("[auth]\nhs256_secret = \"31-bytes-are-not-enough-0123456\"", &in_file("auth.hs256_secret"), "31 bytes");
    assert!(!problems_of("[auth]\nhs256_secret = \"hunter2\"")[0].contains("hunter2"));
}

#[test]
fn each_listener_has_its_own_address() {
    refused("[admin]\nlisten = \"127.0.0.1:7700\"", &in_file("admin.listen"), "server.listen");
    refused("[control]\nlisten = \"127.0.0.1:7700\"", &in_file("control.listen"), "server.listen");
    refused("[control]\nlisten = \"127.0.0.1:7701\"", &in_file("control.listen"), "admin.listen");
    let free = |section| format!("[{section}]\nlisten = \"127.0.0.1:0\"\n");
    accepted(&["server", "admin", "control"].map(free).concat());
}

#[test]
fn control_needs_a_token_of_its_own_off_loopback() {
    const TOKEN: &str = "a-control-token-for-tests-0123456789";
    let open = "[control]\nlisten = \"10.0.0.5:7702\"\n";
    refused(open, "control.token", "10.0.0.5:7702");
    accepted(&format!("{open}token = \"{TOKEN}\""));
    accepted("[control]\nlisten = \"[::1]:7702\"");
    refused("[control]\ntoken = \"hunter2\"", &in_file("control.token"), "7 bytes");
    assert!(!problems_of("[control]\ntoken = \"hunter2\"")[0].contains("hunter2"));
    refused(&format!("[control]\ntoken = \"{TOKEN} {TOKEN}\""), &in_file("control.token"), "visible ASCII");
}

#[test]
fn origins_are_what_a_browser_sends() {
    for origin in [
        "https://a.example",
        "http://localhost:8080",
        "http://[::1]:3000",
        "null",
        "app-x://a",
        "https://a:443",
        "file://",
    ] {
        accepted(&format!("[server]\norigins = [\"{origin}\"]"));
    }
    for origin in [
        "*",
        "",
        "a.example",
        "https://a.example/",
        "https://A.example",
        "https://*.example",
        "://a",
        "https://",
        "file:///",
        "file",
    ] {
        refused(&format!("[server]\norigins = [\"{origin}\"]"), &in_file("server.origins[0]"), "not an origin");
    }
}

#[test]
fn a_certificate_has_a_key() {
    refused("[server]\ntls_cert = \"a.pem\"", "server.tls_key", "server.tls_cert");
    refused("[server]\ntls_key = \"a.pem\"", "server.tls_cert", "server.tls_key");
    accepted("[server]\ntls_cert = \"a.pem\"\ntls_key = \"b.pem\"");
}

#[test]
fn full_size_beats_fit_into_a_frame_and_into_a_body() {
    refused(
        "[limits]\nbeats = 521\nuncommitted_slots = 521\nbody_bytes = 200000",
        "limits.frame_bytes",
        "needs at least 131274",
    );
    refused("[limits]\nbody_bytes = 1000", &in_file("limits.body_bytes"), "limits.beats (500)");
    refused(
        "[limits]\nbytes_burst = 20000000\nframe_bytes = 16777217",
        &in_file("limits.frame_bytes"),
        "at most 16777216",
    );
    accepted("[limits]\nbeats = 1\nframe_bytes = 1274\nbody_bytes = 1274");
}

#[test]
fn a_frame_fits_into_the_burst_of_bytes() {
    refused("[limits]\nbytes_burst = 131085", &in_file("limits.bytes_burst"), "needs at least 131086");
    accepted("[limits]\nbytes_burst = 131086");
}

#[test]
fn a_full_answer_fits_into_the_write_buffer() {
    refused("[limits]\nwrite_buffer_bytes = 700000", &in_file("limits.write_buffer_bytes"), "512 records");
    refused("[limits]\nlist = 100000", "limits.write_buffer_bytes", "100000 records");
}

#[test]
fn one_frame_fits_into_the_uncommitted_slots() {
    refused("[limits]\nuncommitted_slots = 499", &in_file("limits.uncommitted_slots"), "limits.beats (500)");
}

#[test]
fn limits_of_0_are_refused_where_nothing_could_be_served() {
    for key in ["items", "list", "connections_per_user", "frames_per_second", "burst", "bytes_per_second", "beats"] {
        refused(&format!("[limits]\n{key} = 0"), &in_file(&format!("limits.{key}")), "at least 1");
    }
    refused("[server]\nthreads = 5000", &in_file("server.threads"), "at most 1024");
    accepted("[limits]\nconnections = 0\n[server]\nthreads = 0");
}

#[test]
fn a_ping_can_be_answered_before_the_socket_is_idle() {
    refused("[socket]\nidle = \"50s\"", &in_file("socket.idle"), "ping");
    refused("[socket]\nping = \"0s\"", &in_file("socket.ping"), "at least 1ms");
}

#[test]
fn durations_are_between_1_ms_and_10_years_unless_0_has_a_meaning() {
    for (section, key) in [("server", "drain_timeout"), ("socket", "write_timeout"), ("store", "retention")] {
        let setting = format!("{section}.{key}");
        refused(&format!("[{section}]\n{key} = \"0s\""), &in_file(&setting), "at least 1ms");
        refused(&format!("[{section}]\n{key} = \"11y\""), &in_file(&setting), "at most 3650d");
    }
    accepted("[store]\ngroup_interval = \"0s\"");
    accepted("[auth]\ntoken_life_max = \"0s\"");
    refused("[auth]\ntoken_life_max = \"11y\"", &in_file("auth.token_life_max"), "at most 3650d");
    accepted("[store]\nready_share = 1.0");
    for outside in ["0.0", "-0.5", "1.1", "nan"] {
        refused(&format!("[store]\nready_share = {outside}"), &in_file("store.ready_share"), "above 0");
    }
    refused("[store]\ngroup_interval = \"2s\"", &in_file("store.group_interval"), "at most 1s");
    accepted("[store]\nsteady_hold = \"30s\"");
    let late = "[limits]\nack_delay = \"20s\"\n[store]\nsteady_hold = \"21s\"";
    refused(late, &in_file("store.steady_hold"), "limits.ack_delay");
    let push = "[push]\nsteady_interval = \"20s\"\n[store]\nsteady_hold = \"21s\"";
    refused(push, &in_file("store.steady_hold"), "push.steady_interval");
    let idle = "[socket]\nping = \"10s\"\nidle = \"20s\"\n[store]\nsteady_hold = \"11s\"";
    refused(idle, &in_file("store.steady_hold"), "half of socket.idle");
}

#[test]
fn a_deployment_has_a_plain_name() {
    for name in ["local", "eu-1", "0", &"x".repeat(64)] {
        accepted(&format!("[events]\ndeployment = \"{name}\""));
    }
    for name in ["", "Local", "eu_1", "eu/1", "ä", "a b", &"x".repeat(65)] {
        refused(&format!("[events]\ndeployment = \"{name}\""), &in_file("events.deployment"), "1 to 64 lower-case");
    }
}

#[test]
fn retention_of_events_has_bounds() {
    refused("[events]\nretention = \"0s\"", &in_file("events.retention"), "at least 1ms");
    refused("[events]\nretention = \"11y\"", &in_file("events.retention"), "at most 3650d");
    refused("[events]\nretention_bytes = 1048575", &in_file("events.retention_bytes"), "at least 1048576");
    accepted("[events]\nretention = \"1h\"\nretention_bytes = 1048576");
}

#[test]
fn keys_are_fetched_over_tls_or_from_this_machine() {
    for good in ["https://id.example/keys", "http://127.0.0.1:8080/keys", "http://localhost/keys", "http://[::1]/keys"]
    {
        accepted(&format!("[auth]\njwks_url = \"{good}\""));
    }
    let url = in_file("auth.jwks_url");
    refused("[auth]\njwks_url = \"http://id.example/keys\"", &url, "https://");
    refused("[auth]\njwks_url = \"id.example/keys\"", &url, "must be a URL");
    refused("[auth]\njwks_url = \"https://me:secret@id.example/\"", &url, "must not have a user");
    refused("[auth]\njwks_refresh = \"59s\"", &in_file("auth.jwks_refresh"), "1m to 24h");
    accepted(
        "[server]\nlisten = \"0.0.0.0:7700\"\n[demo]\nenabled = false\n[auth]\njwks_url = \"https://id.example/keys\"",
    );
}
