//! A server of one test's own that speaks MongoDB's protocol, and may be killed or stopped.
#![allow(dead_code, reason = "others use the rest")]
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A server on a busy machine takes its time.
const START: Duration = Duration::from_secs(120);

pub struct MongoServer {
    home: TempDir,
    /// What it is to do worse than it could.
    faults: Vec<String>,
    process: Option<Child>,
}

impl MongoServer {
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Each fault is a property of `tests/services/mongo/MongoServer.java`.
    pub fn start_with(faults: &[&str]) -> Self {
        let faults = faults.iter().map(|fault| format!("-D{fault}=true")).collect();
        let mut server = MongoServer { home: tempfile::tempdir().unwrap(), faults, process: None };
        server.start_again();
        server
    }

    /// On the same port, with the same data.
    pub fn start_again(&mut self) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/services/mongo.sh");
        let path = self.home.path().join("log");
        let log = File::create(&path).unwrap();
        let mut command = Command::new(script);
        command
            .arg(self.home.path())
            .env("JDK_JAVA_OPTIONS", self.faults.join(" "))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        let mut process = command.spawn().unwrap();
        let deadline = Instant::now() + START;
        let log = || fs::read_to_string(&path).unwrap();
        while !log().lines().any(|line| line.starts_with("ready ")) {
            let ended = process.try_wait().unwrap();
            assert!(ended.is_none() && Instant::now() < deadline, "{}", log());
            thread::sleep(Duration::from_millis(20));
        }
        self.process = Some(process);
    }

    pub fn url(&self) -> String {
        let port = fs::read_to_string(self.home.path().join("port")).unwrap();
        format!("mongodb://127.0.0.1:{}", port.trim())
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// It keeps its connections, and answers nothing. Ends when all of its threads stand still: the signal reaches them a moment after it is sent.
    pub fn freeze(&self) {
        self.signal("STOP");
        let threads = format!("/proc/{}/task", self.process.as_ref().unwrap().id());
        let is_stopped = |thread: std::io::Result<fs::DirEntry>| {
            let status = fs::read_to_string(thread.unwrap().path().join("status")).unwrap_or_default();
            status.contains("\nState:\tT")
        };
        let deadline = Instant::now() + START;
        while !fs::read_dir(&threads).unwrap().all(is_stopped) {
            assert!(Instant::now() < deadline, "the server does not stand still");
            thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn go_on(&self) {
        self.signal("CONT");
    }

    fn signal(&self, name: &str) {
        let process = self.process.as_ref().unwrap().id();
        assert!(Command::new("kill").args([&format!("-{name}"), &process.to_string()]).status().unwrap().success());
    }
}

impl Drop for MongoServer {
    fn drop(&mut self) {
        self.kill();
    }
}
