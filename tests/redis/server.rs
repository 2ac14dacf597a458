//! Processes of Redis.

use std::fs::{self, File};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use heartline::storage::config::redis::RedisConfig;
use heartline::storage_redis::{Redis, RedisRefused, prepare};
use redis::{FromRedisValue, RedisResult, cmd};
use tempfile::TempDir;

use super::PATIENCE;
pub use crate::support::redis_server::free_port;

/// One process on loopback; ended when it is dropped.
pub struct Server {
    pub port: u16,
    arguments: Vec<String>,
    process: Child,
    directory: TempDir,
}

/// What keeps what it is given.
pub const DURABLE: &[&str] = &["--save", "", "--appendonly", "yes", "--appendfsync", "always"];

impl Server {
    /// With these arguments over [`DURABLE`].
    pub fn start(more: &[&str]) -> Self {
        let port = free_port();
        let mut arguments: Vec<String> = DURABLE.iter().map(|word| (*word).to_owned()).collect();
        arguments.extend(["--port".to_owned(), port.to_string(), "--bind".to_owned(), "127.0.0.1".to_owned()]);
        arguments.extend(more.iter().map(|word| (*word).to_owned()));
        Self::run(port, arguments, TempDir::new().unwrap())
    }

    /// One that is prepared.
    pub fn prepared() -> Self {
        let server = Self::start(&[]);
        prepare::prepare(&server.config()).unwrap();
        server
    }

    /// A Sentinel with these lines in its file.
    pub fn sentinel(lines: &str) -> Self {
        let (port, directory) = (free_port(), TempDir::new().unwrap());
        let file = directory.path().join("sentinel.conf");
        fs::write(&file, format!("port {port}\nbind 127.0.0.1\n{lines}")).unwrap();
        Self::run(port, vec![file.to_str().unwrap().to_owned(), "--sentinel".to_owned()], directory)
    }

    fn run(port: u16, arguments: Vec<String>, directory: TempDir) -> Self {
        let process = spawn(&arguments, &directory);
        let server = Server { port, arguments, process, directory };
        server.wait();
        server
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub fn config(&self) -> RedisConfig {
        RedisConfig::strict(&self.url())
    }

    pub fn open(&self) -> Redis {
        Redis::open(&self.config()).unwrap()
    }

    /// What it says when it is refused.
    pub fn refusal(&self) -> String {
        refusal(&self.config())
    }

    /// The answer to a command, in words.
    pub fn tell<T: FromRedisValue>(&self, words: &[&str]) -> T {
        self.try_to_tell(words).unwrap()
    }

    pub fn try_to_tell<T: FromRedisValue>(&self, words: &[&str]) -> RedisResult<T> {
        let mut connection = redis::Client::open(self.url())?.get_connection()?;
        cmd(words[0]).arg(&words[1..]).query(&mut connection)
    }

    pub fn set(&self, name: &str, value: &str) {
        self.tell::<()>(&["CONFIG", "SET", name, value]);
    }

    /// As SIGKILL does.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// After `kill`: it has lost all its data, and knows its Cluster.
    pub fn wipe(&self) {
        fs::remove_dir_all(self.directory.path().join("appendonlydir")).unwrap();
    }

    pub fn start_again(&mut self) {
        self.process = spawn(&self.arguments, &self.directory);
        self.wait();
    }

    /// With these arguments over those of before.
    pub fn start_again_with(&mut self, more: &[&str]) {
        self.arguments.extend(more.iter().map(|word| (*word).to_owned()));
        self.start_again();
    }

    pub fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap().success());
    }

    fn wait(&self) {
        let began = Instant::now();
        let answers = || {
            let client = redis::Client::open(self.url()).ok()?;
            let mut connection = client.get_connection_with_timeout(Duration::from_secs(1)).ok()?;
            match cmd("PING").query::<String>(&mut connection) {
                Err(error) if error.code() == Some("LOADING") => None,
                _ => Some(()),
            }
        };
        while answers().is_none() {
            let log = || fs::read_to_string(self.directory.path().join("out")).unwrap_or_default();
            assert!(began.elapsed() < PATIENCE, "no redis-server answers: {}", log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub fn refusal(config: &RedisConfig) -> String {
    match Redis::open(config) {
        Ok(_) => panic!("it is not refused"),
        Err(refused @ RedisRefused::Unfit(_)) => refused.to_string(),
        Err(other) => panic!("not refused, but {other}"),
    }
}

/// Runs redis-cli to its end.
pub fn redis_cli(arguments: &[&str]) -> String {
    let output = Command::new("redis-cli").args(arguments).output().expect("redis-cli: apt-get install redis-tools");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "redis-cli {arguments:?}: {text}");
    text
}

fn spawn(arguments: &[String], directory: &TempDir) -> Child {
    let out = File::create(directory.path().join("out")).unwrap();
    let mut redis = Command::new("redis-server");
    redis.args(arguments).current_dir(directory.path()).stdin(Stdio::null()).stdout(out);
    redis.spawn().expect("redis-server: apt-get install redis-server")
}
