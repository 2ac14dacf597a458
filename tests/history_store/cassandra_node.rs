//! A real Cassandra of one test's own, which may be killed.

use std::fs::File;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A node on a busy machine takes its time.
const START: Duration = Duration::from_secs(120);

pub struct CassandraNode {
    home: TempDir,
    /// Settings that hold over those of deploy/cassandra.
    settings: Vec<String>,
    process: Option<Child>,
}

impl CassandraNode {
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Each setting as `name=value`.
    pub fn start_with(settings: &[&str]) -> Self {
        let mut settings: Vec<String> =
            settings.iter().map(|setting| format!("-Dcassandra.settings.{setting}")).collect();
        settings.push("-Dcassandra.config.allow_system_properties=true".to_owned());
        let mut node = CassandraNode { home: tempfile::tempdir().unwrap(), settings, process: None };
        node.start_again();
        node
    }

    /// On the same port, with the same data.
    pub fn start_again(&mut self) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/services/cassandra.sh");
        let log = File::create(self.log()).unwrap();
        let mut command = Command::new(script);
        command
            .arg(self.home.path())
            .env("JDK_JAVA_OPTIONS", self.settings.join(" "))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        let mut process = command.spawn().unwrap();
        let deadline = Instant::now() + START;
        let log = || std::fs::read_to_string(self.log()).unwrap();
        while !log().contains("Startup complete") {
            let ended = process.try_wait().unwrap();
            assert!(ended.is_none() && Instant::now() < deadline, "{}", log());
            thread::sleep(Duration::from_millis(50));
        }
        self.process = Some(process);
        TcpStream::connect(self.address()).unwrap();
    }

    fn log(&self) -> PathBuf {
        self.home.path().join("log")
    }

    pub fn address(&self) -> String {
        let port = std::fs::read_to_string(self.home.path().join("port")).unwrap();
        format!("127.0.0.1:{}", port.trim())
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }
}

impl Drop for CassandraNode {
    fn drop(&mut self) {
        self.kill();
    }
}
