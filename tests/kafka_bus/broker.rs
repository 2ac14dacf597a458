//! Brokers: the one that is there for all tests, and those of a test's own that may be killed.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::kafka_bus::PATIENCE;

const ADDRESS: &str = "HEARTLINE_TEST_KAFKA";

/// The address of the broker for all tests.
pub fn shared() -> String {
    std::env::var(ADDRESS).unwrap_or_else(|_| panic!("{ADDRESS} is not set; run: tests/run kafka"))
}

/// Where it asks for a login: tests/services/kafka.sh.
pub fn with_login() -> String {
    let shared = shared();
    let (host, port) = shared.rsplit_once(':').expect("host and port");
    format!("{host}:{}", port.parse::<u16>().expect("a port") + 2)
}

pub struct Broker {
    home: Arc<TempDir>,
    /// Of how many it is which, from 1 on.
    place: (u16, u16),
    process: Option<Child>,
}

impl Broker {
    pub fn start() -> Self {
        Self::cluster::<1>().into_iter().next().unwrap()
    }

    /// So many that belong together.
    pub fn cluster<const COUNT: u16>() -> Vec<Self> {
        let home = Arc::new(tempfile::tempdir().unwrap());
        let broker = |node| Broker { home: home.clone(), place: (node, COUNT), process: None };
        let mut brokers: Vec<Broker> = (1..=COUNT).map(broker).collect();
        // None has started before most of the others are there.
        brokers.iter_mut().for_each(Broker::launch);
        brokers.iter_mut().for_each(Broker::started);
        brokers
    }

    /// On the same port, with the same data.
    pub fn start_again(&mut self) {
        self.launch();
        self.started();
    }

    fn launch(&mut self) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/services/kafka.sh");
        let file = std::fs::File::create(self.log()).unwrap();
        let mut command = Command::new(script);
        command.arg(self.home.path());
        if let (node, count @ 2..) = self.place {
            command.args([node.to_string(), "of".to_owned(), count.to_string()]);
        }
        command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
        self.process = Some(command.spawn().unwrap());
    }

    fn started(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        let path = self.log();
        let log = || std::fs::read_to_string(&path).unwrap();
        while !log().contains("Kafka Server started") {
            let ended = self.process.as_mut().unwrap().try_wait().unwrap();
            assert!(Instant::now() < deadline, "{}", faults(&log()));
            match ended {
                // While it was down, another process may have had one of its ports.
                Some(_) if log().contains("Address already in use") => self.launch(),
                Some(status) => panic!("{status}\n{}", faults(&log())),
                None => {}
            }
            thread::sleep(Duration::from_millis(50));
        }
        TcpStream::connect(self.address()).unwrap();
    }

    fn log(&self) -> PathBuf {
        self.home.path().join(format!("log-{}", self.place.0))
    }

    pub fn address(&self) -> String {
        let first: u16 = std::fs::read_to_string(self.home.path().join("port")).unwrap().trim().parse().unwrap();
        format!("127.0.0.1:{}", first + self.place.0 - 1)
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

/// What a log says went wrong, in lines that a summary of tests shows, and then the whole log.
fn faults(log: &str) -> String {
    let is_fault = |line: &&str| ["ERROR", "FATAL", "Exception"].iter().any(|word| line.contains(word));
    let faults: Vec<String> = log.lines().filter(is_fault).take(3).map(|line| format!("error: {line}")).collect();
    format!("{}\n\n{log}", faults.join("\n"))
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.kill();
    }
}
