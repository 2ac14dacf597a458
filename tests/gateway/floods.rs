//! Clients that connect in crowds, or send far more than a player would.

use std::time::{Duration, Instant};

use crate::support::{MID, NEVER, Opcode, RawSocket, TestGateway, Token, until};

/// Connections that say nothing stay, and one thread accepts them in their order.
const PATIENT: [(&str, &str); 3] =
    [("server.handshake_timeout", NEVER), ("socket.hello_timeout", NEVER), ("server.threads", "1")];

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

async fn refused(gateway: &TestGateway, reason: &str, wanted: f64) {
    let name = format!("heartline_refused_total{{reason=\"{reason}\"}}");
    gateway.wait_for_metric(&name, |refused| refused >= wanted).await;
}

#[tokio::test]
async fn connections_that_say_nothing_use_up_their_own_slots_only() {
    let gateway = TestGateway::with(&[&PATIENT[..], &[("limits.handshakes", "3")]].concat());
    let mut welcomed = gateway.connect(1).await;
    let _silent = [RawSocket::connect(gateway.address()).await, RawSocket::connect(gateway.address()).await];
    let waits_for_hello = RawSocket::upgrade(gateway.address(), None).await;
    let mut one_more = RawSocket::connect(gateway.address()).await;
    assert_eq!(one_more.ask_for_upgrade(None).await, "");
    refused(&gateway, "handshakes", 1.0).await;
    welcomed.still_serves().await;
    drop(waits_for_hello);
    // Its slot is given back a moment later; a connection that comes earlier is closed.
    let comes_in = async || {
        let mut socket = RawSocket::connect(gateway.address()).await;
        socket.ask_for_upgrade(Some(&Token::of(2).sign())).await.starts_with("HTTP/1.1 101 ")
    };
    until("a slot", comes_in).await;
}

#[tokio::test]
async fn connections_of_one_address_that_are_no_sockets_are_limited() {
    let own_bound = [("limits.handshakes", "5"), ("limits.handshakes_per_address", "2")];
    for settings in [&[("limits.connections_per_address", "2")][..], &own_bound] {
        let gateway = TestGateway::with(&[&PATIENT[..], settings].concat());
        let _silent = [RawSocket::connect(gateway.address()).await, RawSocket::connect(gateway.address()).await];
        let mut one_more = RawSocket::connect(gateway.address()).await;
        assert_eq!(one_more.ask_for_upgrade(None).await, "", "{settings:?}");
        refused(&gateway, "address_handshakes", 1.0).await;
    }
}

#[tokio::test]
async fn upgrades_come_at_a_rate_whether_they_succeed_or_not() {
    for (setting, expected) in
        [("limits.upgrades_per_second", "503"), ("limits.upgrades_per_second_per_address", "429")]
    {
        let gateway = TestGateway::with(&[(setting, "3")]);
        let began = Instant::now();
        let mut first = gateway.connect(1).await;
        let (mut served, mut refused) = (0, 0);
        while refused < 6 {
            let mut socket = RawSocket::connect(gateway.address()).await;
            let answer = socket.ask_for_upgrade(Some("no-token")).await;
            if status(&answer) == expected {
                refused += 1;
                let problem = socket.rest().await;
                assert!(problem.contains("upgrades per second"), "{setting}: {problem}");
            } else {
                served += 1;
                assert_eq!(status(&answer), "401", "{answer}");
            }
            assert_eq!(status(&answer) == expected, answer.to_lowercase().contains("retry-after: 1"), "{answer}");
            // With the first one, what may come at once, and what may come since.
            let most = 3.0 + 3.0 * began.elapsed().as_secs_f64();
            assert!(f64::from(1 + served) <= most, "{served} served, {refused} refused in {:?}", began.elapsed());
        }
        assert!(served > 0, "none came at once");
        first.still_serves().await;
        tokio::time::sleep(Duration::from_millis(1_000)).await;
        gateway.connect(2).await;
    }
}

#[tokio::test]
async fn a_request_that_never_ends_is_cut_off() {
    let quick = [("server.request_timeout", "300ms"), ("server.handshake_timeout", "2s")];
    let gateway = TestGateway::with(&quick);
    let mut socket = RawSocket::connect(gateway.address()).await;
    let token = Token::of(MID).sign();
    let head = format!(
        "POST /v1/beats HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
    );
    socket.write(head.as_bytes()).await;
    let trickle = async {
        loop {
            socket.try_write(b" ").await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::select! {
        () = trickle => unreachable!("it never ends"),
        () = refused(&gateway, "slow_request", 1.0) => {}
    }
    assert_eq!(socket.rest().await, "");
}

#[tokio::test]
async fn an_answer_that_is_not_read_is_not_kept_for_ever() {
    let quick = [("server.request_timeout", "300ms"), ("server.handshake_timeout", "2s")];
    let gateway = TestGateway::with(&quick);
    let mut socket = RawSocket::connect_narrow(gateway.address()).await;
    // More than the kernel takes in for a reader that does not read.
    let request = "GET /demo/dawn.webm HTTP/1.1\r\nHost: here\r\n\r\n".repeat(20);
    socket.try_write(request.as_bytes()).await;
    refused(&gateway, "slow_request", 1.0).await;
}

#[tokio::test]
async fn a_flood_of_pings_closes_with_4008_before_the_welcome_and_after() {
    let gateway = TestGateway::start();
    let mut bystander = gateway.connect(MID).await;
    let ping = RawSocket::frame(0x80, Opcode::Ping, b"");
    for token in [None, Some(Token::of(MID).sign())] {
        let mut socket = RawSocket::upgrade(gateway.address(), token.as_deref()).await;
        socket.try_write(&ping.repeat(1_000)).await;
        assert_eq!(socket.close_code().await, Some(4008));
    }
    bystander.still_serves().await;
}

#[tokio::test]
async fn a_message_of_endless_empty_fragments_closes_with_4008() {
    let gateway = TestGateway::start();
    let mut bystander = gateway.connect(MID).await;
    let mut socket = gateway.raw(MID).await;
    socket.write(&RawSocket::frame(0, Opcode::Text, b"{")).await;
    socket.try_write(&RawSocket::frame(0, Opcode::Continuation, b"").repeat(1_000)).await;
    assert_eq!(socket.close_code().await, Some(4008));
    bystander.still_serves().await;
}

#[tokio::test]
async fn a_few_fragments_are_a_message_like_any_other() {
    let gateway = TestGateway::start();
    let mut socket = gateway.raw(MID).await;
    let text = r#"{"seq":1,"get":{"items":[]}}"#.as_bytes();
    let (last, others) = text.split_last().expect("bytes");
    let mut opcode = Opcode::Text;
    for byte in others {
        socket.write(&RawSocket::frame(0, opcode, &[*byte])).await;
        opcode = Opcode::Continuation;
    }
    socket.write(&RawSocket::frame(0x80, opcode, &[*last])).await;
    assert_eq!(socket.json().await["result"]["seq"], 1);
}

#[tokio::test]
async fn an_unfinished_message_closes_with_4010_even_between_pings() {
    let gateway = TestGateway::with(&[("socket.message_timeout", "500ms")]);
    let mut socket = gateway.raw(MID).await;
    socket.write(&RawSocket::frame(0, Opcode::Text, b"{")).await;
    for _ in 0..12 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        socket.try_write(&RawSocket::frame(0x80, Opcode::Ping, b"")).await;
    }
    assert_eq!(socket.close_code().await, Some(4010));
}

#[tokio::test]
async fn more_bytes_than_a_connection_may_send_close_it_with_4008() {
    let few = [("limits.bytes_per_second", "1000"), ("limits.bytes_burst", "200000")];
    let gateway = TestGateway::with(&few);
    let mut bystander = gateway.connect(MID).await;
    let mut socket = gateway.raw(MID).await;
    let frame = |seq: u32| format!(r#"{{"seq":{seq},"get":{{"items":[]}},"x":"{}"}}"#, "x".repeat(60_000));
    for seq in 1..=3 {
        socket.text(&frame(seq)).await;
        assert_eq!(socket.json().await["result"]["seq"], seq);
    }
    socket.try_write(&RawSocket::frame(0x80, Opcode::Text, frame(4).as_bytes())).await;
    assert_eq!(socket.close_code().await, Some(4008));
    bystander.still_serves().await;
}
