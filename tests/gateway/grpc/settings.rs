//! The settings of the gRPC listener.

use crate::support::{TestGateway, run};

/// What `check-config` finds wrong, the start too.
fn refused(settings: &[(&str, &str)]) -> String {
    let checked = run(&["check-config"], settings);
    assert_eq!(checked.status.code(), Some(78), "{checked:?}");
    String::from_utf8(checked.stderr).expect("UTF-8")
}

#[test]
fn nothing_listens_unless_it_is_asked_for() {
    let gateway = TestGateway::start();
    assert!(!gateway.printed().iter().any(|line| line.contains("grpc")), "{:?}", gateway.printed());
}

#[test]
fn bad_settings_are_refused_by_name() {
    let on = ("grpc.listen", "127.0.0.1:0");
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[("grpc.listen", "here")], "grpc.listen"),
        (&[("grpc.listen", "127.0.0.1:7711"), ("admin.listen", "127.0.0.1:7711")], "also the address of admin.listen"),
        (&[on, ("grpc.tls_cert", "cert.pem")], "grpc.tls_key"),
        (&[on, ("grpc.tls_key", "key.pem")], "grpc.tls_cert"),
        (&[on, ("grpc.tls_cert", "no.pem"), ("grpc.tls_key", "no.pem")], "grpc.tls_cert = \"no.pem\" cannot be used"),
        (&[on, ("grpc.client_auth", "required")], "grpc.client_ca"),
        (&[on, ("grpc.client_auth", "always")], "grpc.client_auth"),
        (&[on, ("grpc.client_ca", "ca.pem")], "grpc.client_auth"),
        (&[on, ("grpc.deadline", "0s")], "grpc.deadline"),
        (&[on, ("grpc.deadline", "soon")], "grpc.deadline"),
        (&[on, ("limits.grpc_calls", "0")], "limits.grpc_calls"),
        (&[on, ("grpc.callers", r#"[{ name = "", scopes = ["heartline.read"] }]"#)], "grpc.callers[0]"),
        (&[on, ("grpc.callers", r#"[{ name = "a", scopes = [] }]"#)], "grpc.callers[0]"),
        (&[on, ("grpc.callers", r#"[{ name = "a", scopes = ["read"] }]"#)], "grpc.callers"),
        (&[on, ("grpc.callers", r#"[{ name = "a", scopes = ["heartline.read"], kind = [1] }]"#)], "grpc.callers"),
        (
            &[
                on,
                (
                    "grpc.callers",
                    r#"[{ name = "a", scopes = ["heartline.read"] }, { name = "a", scopes = ["heartline.read"] }]"#,
                ),
            ],
            "grpc.callers[1]",
        ),
        (&[("grpc.port", "7703")], "grpc.port"),
    ];
    for (settings, expected) in cases {
        let said = refused(settings).replace("HEARTLINE__", "").replace("__", ".").to_lowercase();
        assert!(said.contains(expected), "{settings:?}: {said}");
    }
}

#[test]
fn beyond_loopback_a_development_key_is_not_enough() {
    let said = refused(&[("auth.hs256_secret", ""), ("grpc.listen", "0.0.0.0:0")]);
    assert!(said.contains("GRPC__LISTEN") && said.contains("not a loopback address"), "{said}");
}

#[test]
fn a_port_that_is_taken_stops_the_start() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let failed = TestGateway::fails_with(&[("grpc.listen", &address)]);
    assert_eq!(failed.code, Some(69), "{failed:?}");
    assert!(failed.stderr.contains("grpc.listen"), "{failed:?}");
}
