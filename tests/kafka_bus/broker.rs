//! Brokers: the one that is there for all tests, and one of a test's own that may be killed.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

const ADDRESS: &str = "HEARTLINE_TEST_KAFKA";
const START: Duration = Duration::from_secs(60);

/// The address of the broker for all tests.
pub fn shared() -> String {
    std::env::var(ADDRESS).unwrap_or_else(|_| panic!("{ADDRESS} is not set; run: tests/run kafka"))
}

pub struct Broker {
    home: TempDir,
    process: Option<Child>,
}

impl Broker {
    pub fn start() -> Self {
        let mut broker = Broker { home: tempfile::tempdir().unwrap(), process: None };
        broker.start_again();
        broker
    }

    /// On the same port, with the same data.
    pub fn start_again(&mut self) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/services/kafka.sh");
        let log = self.home.path().join("log");
        let file = std::fs::File::create(&log).unwrap();
        let mut command = Command::new(script);
        command.arg(self.home.path()).stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
        let mut process = command.spawn().unwrap();
        let deadline = Instant::now() + START;
        while !std::fs::read_to_string(&log).unwrap().contains("Kafka Server started") {
            let ended = process.try_wait().unwrap();
            assert!(ended.is_none() && Instant::now() < deadline, "{}", std::fs::read_to_string(&log).unwrap());
            thread::sleep(Duration::from_millis(50));
        }
        self.process = Some(process);
        TcpStream::connect(self.address()).unwrap();
    }

    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", std::fs::read_to_string(self.home.path().join("port")).unwrap().trim())
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// `STOP` or `CONT`.
    pub fn signal(&self, name: &str) {
        let pid = self.process.as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap().success());
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.kill();
    }
}
