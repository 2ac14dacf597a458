//! The control listener lets in only callers with its token.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::support::{CONTROL_TOKEN, Http, MID, TestGateway, run};

const BAD_CONFIGURATION: i32 = 78;
const CALLS: [(&str, &str); 6] = [
    ("GET", "/v1/export?mid=42"),
    ("GET", "/v1/events"),
    ("GET", "/v1/revoke"),
    ("POST", "/v1/kick"),
    ("POST", "/v1/erase"),
    ("POST", "/v1/revoke"),
];

async fn status(http: &Http, (method, path): (&str, &str)) -> u16 {
    let body = (method == "POST").then(|| ("application/json", json!({"mid": "42"}).to_string()));
    http.send(method, path, body).await.status
}

#[tokio::test]
async fn the_probe_listener_controls_nothing() {
    let gateway = TestGateway::start();
    for call in CALLS {
        assert_eq!(status(&gateway.admin(), call).await, 404, "{call:?}");
        assert_eq!(status(&gateway.admin().bearer(CONTROL_TOKEN), call).await, 404, "{call:?}");
    }
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(gateway.admin().get(path).await.status, 200, "{path}");
        assert_eq!(gateway.control().get(path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn a_call_without_the_token_gets_nothing_and_does_nothing() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let bare = || Http::to(gateway.control_address());
    for call in CALLS {
        let answer = bare().send(call.0, call.1, None).await;
        assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("Bearer")), "{call:?}");
        let wrong = ["wrong", "", &CONTROL_TOKEN[..CONTROL_TOKEN.len() - 1], &format!("{CONTROL_TOKEN}0")];
        for token in wrong {
            assert_eq!(status(&bare().bearer(token), call).await, 401, "{call:?} with {token:?}");
        }
        assert_eq!(status(&bare().header("x-forwarded-for", "127.0.0.1"), call).await, 401, "{call:?}");
        // Users' tokens are for the public listener.
        let user = crate::support::Token::of(MID).sign();
        assert_eq!(status(&bare().bearer(&user), call).await, 401, "{call:?}");
    }
    client.still_serves().await;
}

/// A page whose name leads to 127.0.0.1 sends its own name as the host.
#[tokio::test]
async fn an_unknown_host_or_a_browser_page_is_refused_even_with_the_token() {
    let gateway = TestGateway::with(&[("control.hosts", "gateway-1")]);
    for call in CALLS {
        for host in ["evil.example", "evil.example:7702", "localhost.evil.example"] {
            let http = gateway.control().host(host);
            assert_eq!(status(&http, call).await, 403, "{call:?} as {host}");
        }
        for origin in ["https://evil.example", "null", "http://127.0.0.1:7702"] {
            assert_eq!(status(&gateway.control().header("origin", origin), call).await, 403, "{call:?} from {origin}");
        }
    }
    for host in ["localhost:7702", "127.0.0.1", "[::1]:7702", "gateway-1:7702"] {
        assert_eq!(gateway.control().host(host).get("/v1/events").await.status, 200, "{host}");
    }
}

#[tokio::test]
async fn without_a_setting_the_token_is_made_once_and_kept_private() {
    let mut gateway = TestGateway::embedded(&[("control.token", "")]);
    let file = gateway.data_dir().join("control-token");
    let token = fs::read_to_string(&file).expect("the token").trim().to_owned();
    assert!(token.len() >= 32, "{token}");
    assert_eq!(fs::metadata(&file).expect("the token").permissions().mode() & 0o777, 0o600);
    let is_it = async |gateway: &TestGateway| {
        let http = Http::to(gateway.control_address()).bearer(&token);
        assert_eq!(http.get("/v1/events").await.status, 200);
        assert!(!gateway.log().contains(&token) && !gateway.printed().join("\n").contains(&token));
    };
    is_it(&gateway).await;
    gateway.restart();
    is_it(&gateway).await;
}

#[tokio::test]
async fn the_events_command_finds_the_token_that_is_kept() {
    let gateway = TestGateway::embedded(&[("control.token", "")]);
    let (control, data) = (gateway.control_address().to_string(), gateway.data_dir());
    let data = data.to_str().expect("ASCII");
    let ask = |data: &str, token: &str| {
        let settings = [("control.listen", control.as_str()), ("control.token", token), ("store.data_dir", data)];
        let output = run(&["events"], &settings);
        (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
    };
    assert_eq!(ask(data, ""), (Some(0), String::new()));
    for (data, token, word) in [(data, CONTROL_TOKEN, "control.token"), ("/nowhere", "", "/nowhere/control-token")] {
        let (code, said) = ask(data, token);
        assert_eq!((code, said.lines().count()), (Some(77), 1), "{said}");
        assert!(said.contains("token") && said.contains(word) && !said.contains(CONTROL_TOKEN), "{said}");
    }
}

#[test]
fn off_loopback_a_token_must_be_configured() {
    let open = [("control.listen", "0.0.0.0:0"), ("control.token", "")];
    let failed = TestGateway::fails_with(&open);
    assert_eq!((failed.code, failed.stderr.lines().count()), (Some(BAD_CONFIGURATION), 1), "{}", failed.stderr);
    assert!(failed.stderr.contains("CONTROL__TOKEN") && failed.stderr.contains("0.0.0.0:0"), "{}", failed.stderr);
    let short = TestGateway::fails_with(&[("control.token", "hunter2")]);
    assert_eq!(short.code, Some(BAD_CONFIGURATION));
    assert!(!short.stderr.contains("hunter2"), "{}", short.stderr);
    drop(TestGateway::with(&[("control.listen", "0.0.0.0:0")]));
}

#[test]
fn check_config_masks_the_token() {
    let output = run(&["check-config"], &[]);
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(output.status.success() && !printed.contains(CONTROL_TOKEN), "{printed}");
}
