//! `heartline events`, in front of a log that breaks off, goes away and comes back.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{PATIENCE, run};

/// Answers `/v1/events` as the protocol says. Event N is `{"id":"eN"}`.
struct Log {
    address: SocketAddr,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    events: AtomicU64,
    /// The next answer ends in its middle.
    cut: AtomicBool,
    ended: AtomicBool,
}

impl Log {
    fn with(events: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        Self::on(listener, Arc::new(State { events: events.into(), ..State::default() }))
    }

    fn on(listener: TcpListener, state: Arc<State>) -> Self {
        let address = listener.local_addr().expect("an address");
        listener.set_nonblocking(true).expect("a listener");
        let serving = state.clone();
        let thread = thread::spawn(move || {
            while !serving.ended.load(Ordering::Relaxed) {
                match listener.accept() {
                    // A peer that has gone is none of ours.
                    Ok((stream, _)) => drop(answer(stream, &serving)),
                    Err(_) => thread::sleep(Duration::from_millis(5)),
                }
            }
        });
        Log { address, state, thread: Some(thread) }
    }

    fn add(&self, events: u64) {
        self.state.events.fetch_add(events, Ordering::Relaxed);
    }

    /// Nothing listens for a while.
    fn restart(mut self) -> Self {
        self.end();
        thread::sleep(Duration::from_millis(300));
        let state = State { events: self.state.events.load(Ordering::Relaxed).into(), ..State::default() };
        Self::on(TcpListener::bind(self.address).expect("the port is free"), Arc::new(state))
    }

    fn end(&mut self) {
        self.state.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("no panic");
        }
    }

    fn setting(&self) -> String {
        self.address.to_string()
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.end();
    }
}

fn answer(stream: TcpStream, state: &State) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    let mut reader = BufReader::new(&stream);
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        // It has gone without a word.
        return Ok(());
    }
    let number = |name: &str| {
        let value = line.split(['?', '&', ' ']).find_map(|field| field.strip_prefix(name)).expect("the field");
        value.parse::<u64>().expect("a number")
    };
    let (after, limit, wait) = (number("after="), number("limit="), number("wait="));
    while reader.read_line(&mut String::new())? > 2 {}
    let until = Instant::now() + Duration::from_millis(wait);
    let newest = state.events.load(Ordering::Relaxed);
    let beyond_end = after > newest;
    while !beyond_end
        && state.events.load(Ordering::Relaxed) <= after
        && Instant::now() < until
        && !state.ended.load(Ordering::Relaxed)
    {
        thread::sleep(Duration::from_millis(5));
    }
    let last = state.events.load(Ordering::Relaxed).min(after + limit);
    let events: Vec<Value> =
        (after + 1..=last).map(|offset| json!({"offset": offset, "event": {"id": format!("e{offset}")}})).collect();
    let body =
        json!({"events": events, "next": if beyond_end { 0 } else { last.max(after) }, "log": "a1", "newest": newest,
        "beyond_end": beyond_end})
        .to_string();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len());
    let given = if state.cut.swap(false, Ordering::Relaxed) { body.len() / 2 } else { body.len() };
    (&stream).write_all(&[head.as_bytes(), &body.as_bytes()[..given]].concat())
}

/// The command, following, and the lines it prints.
struct Follower {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Follower {
    fn of(log: &Log, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_heartline"));
        command.args(["events", "--follow"]).args(arguments).env_clear();
        command.env("HEARTLINE__CONTROL__LISTEN", log.setting());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the binary runs");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, lines) = mpsc::sync_channel(10_000);
        thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Follower { child, lines }
    }

    fn prints(&self, offsets: impl IntoIterator<Item = u64>) {
        for offset in offsets {
            let line = self.lines.recv_timeout(PATIENCE).expect("a line in time");
            assert_eq!(line, format!(r#"{{"offset":{offset},"event":{{"id":"e{offset}"}}}}"#));
        }
    }

    fn ends(mut self, signal: &str) {
        let kill = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(kill.expect("kill runs").success());
        assert_eq!(self.child.wait().expect("it ends").code(), Some(0));
        assert_eq!(self.lines.recv_timeout(PATIENCE), Err(mpsc::RecvTimeoutError::Disconnected));
    }
}

fn offsets(output: &[u8]) -> Vec<u64> {
    let lines = String::from_utf8(output.to_vec()).expect("UTF-8");
    let offset = |line: &str| serde_json::from_str::<Value>(line).expect("JSON")["offset"].as_u64().expect("a number");
    lines.lines().map(offset).collect()
}

#[test]
fn the_events_command_prints_the_stored_events_and_ends() {
    let log = Log::with(2_500);
    let printed = |arguments: &[&str]| {
        let output = run(&[&["events"], arguments].concat(), &[("control.listen", &log.setting())]);
        assert!(output.status.success(), "{output:?}");
        offsets(&output.stdout)
    };
    assert_eq!(printed(&[]), (1..=2_500).collect::<Vec<_>>());
    assert_eq!(printed(&["--after", "2498"]), [2_499, 2_500]);
    assert_eq!(printed(&["--after", "7", "--limit", "1200"]), (8..=1_207).collect::<Vec<_>>());
    assert!(printed(&["--after", "2500"]).is_empty());
}

#[test]
fn a_follower_survives_broken_answers_and_restarts_without_loss_or_repeats() {
    let log = Log::with(3);
    let follower = Follower::of(&log, &["--after", "1"]);
    follower.prints(2..=3);
    log.add(2);
    follower.prints(4..=5);
    log.state.cut.store(true, Ordering::Relaxed);
    log.add(1_500);
    follower.prints(6..=1_505);
    let log = log.restart();
    log.add(1);
    follower.prints([1_506]);
    follower.ends("-INT");
}

#[test]
fn a_follower_ends_at_its_limit_and_at_sigterm() {
    let log = Log::with(1);
    let mut limited = Follower::of(&log, &["--limit", "2"]);
    limited.prints([1]);
    log.add(5);
    limited.prints([2]);
    assert_eq!(limited.child.wait().expect("it ends").code(), Some(0));
    let follower = Follower::of(&log, &[]);
    follower.prints(1..=6);
    follower.ends("-TERM");
}

#[test]
fn an_offset_beyond_the_end_is_an_error_and_a_follower_starts_over() {
    let log = Log::with(2);
    let output = run(&["events", "--after", "9"], &[("control.listen", &log.setting())]);
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(65), "{said}");
    assert!(said.contains("--after 9 is beyond the end") && said.contains("newest offset is 2"), "{said}");
    let follower = Follower::of(&log, &["--after", "9"]);
    follower.prints(1..=2);
    follower.ends("-TERM");
}

#[test]
fn a_closed_output_ends_the_command_with_success() {
    let log = Log::with(1_000);
    let mut command = Command::new(env!("CARGO_BIN_EXE_heartline"));
    command.args(["events", "--follow"]).env_clear().env("HEARTLINE__CONTROL__LISTEN", log.setting());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs");
    let mut line = String::new();
    BufReader::with_capacity(64, child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    log.add(1_000);
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    let mut said = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("UTF-8");
    assert_eq!(said, "");
}

#[test]
fn an_unreachable_gateway_is_reported_in_one_line() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("an address");
    for (address, code, word) in [(free.to_string(), 69, "refused"), ("127.0.0.1:0".to_owned(), 78, "port")] {
        let output = run(&["events"], &[("control.listen", &address)]);
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.lines().count() == 1 && said.contains(word) && said.contains("control.listen"), "{said}");
    }
    assert_eq!(run(&["events", "--after", "x"], &[]).status.code(), Some(2));
    let unknown = run(&["events", "--log", "history"], &[]);
    let said = String::from_utf8(unknown.stderr).expect("UTF-8");
    assert_eq!(unknown.status.code(), Some(2));
    assert!(said.contains("possible values: rewards, positions"), "{said}");
}

#[test]
fn an_answer_that_is_not_from_a_gateway_is_reported() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    let stranger = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let _ = stream.read(&mut [0; 1024]);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi").expect("an answer");
    });
    let output = run(&["events"], &[("control.listen", &address)]);
    stranger.join().expect("no panic");
    assert_eq!(output.status.code(), Some(76), "{output:?}");
}
