//! A real Redis of one test's own, with the file of `deploy/` and on a free port.
//!
//! Not one server for all: a message that is published is heard in all of its databases.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

#[path = "free_port.rs"]
mod free_port;

pub use free_port::free_port;

/// Names the program to start in place of `redis-server`, such as a Valkey.
const PROGRAM: &str = "HEARTLINE_TEST_REDIS_SERVER";
const START: Duration = Duration::from_secs(60);
/// Another process may take the port between the look and the start, another test's Redis for one.
const ATTEMPTS: usize = 5;

pub struct RedisServer {
    child: Child,
    port: u16,
    directory: PathBuf,
    arguments: Vec<String>,
}

impl RedisServer {
    /// Its data is kept in `directory`, which is made.
    pub fn start(directory: &Path) -> Self {
        Self::start_with(directory, &[])
    }

    /// With arguments that hold over the file.
    pub fn start_with(directory: &Path, arguments: &[String]) -> Self {
        fs::create_dir_all(directory).expect("a directory");
        for _ in 0..ATTEMPTS {
            let port = free_port();
            if let Some(child) = launch(directory, port, arguments) {
                return Self { child, port, directory: directory.to_owned(), arguments: arguments.to_vec() };
            }
        }
        panic!("Redis does not start: {}", fs::read_to_string(directory.join("log")).unwrap_or_default());
    }

    /// `redis.url` of a gateway.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.child.kill().expect("a process to kill");
        self.child.wait().expect("its end");
    }

    /// After `kill`: a new process on the same port and data.
    pub fn come_back(&mut self) {
        self.child = launch(&self.directory, self.port, &self.arguments).expect("a Redis that comes back");
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// None if it ends instead of answering.
fn launch(directory: &Path, port: u16, arguments: &[String]) -> Option<Child> {
    let log = File::options().create(true).append(true).open(directory.join("log")).expect("a log file");
    let program = std::env::var_os(PROGRAM).unwrap_or_else(|| "redis-server".into());
    let mut child = Command::new(program)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/redis/redis.conf"))
        .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--dir"])
        .arg(directory)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(log)
        .spawn()
        .unwrap_or_else(|error| match error.kind() {
            ErrorKind::NotFound => panic!("redis-server is missing; run: apt-get install -y redis-server"),
            _ => panic!("redis-server does not run: {error}"),
        });
    let deadline = Instant::now() + START;
    while answering(port) != Some(child.id()) {
        if child.try_wait().expect("a child").is_some() {
            return None;
        }
        assert!(Instant::now() < deadline, "Redis does not answer on port {port}");
        thread::sleep(Duration::from_millis(5));
    }
    Some(child)
}

/// The process that has read its data and takes commands there.
fn answering(port: u16) -> Option<u32> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    stream.write_all(b"INFO server\r\nPING\r\nQUIT\r\n").ok()?;
    let answers: Vec<String> = BufReader::new(stream).lines().map_while(Result::ok).collect();
    let process = answers.iter().find_map(|line| line.strip_prefix("process_id:")?.parse().ok());
    process.filter(|_| answers.iter().any(|line| line == "+PONG"))
}
