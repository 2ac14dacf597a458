//! The real binary on free ports, with a data directory of its own, and if the environment asks for it with a Redis.

use std::env;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, PipeReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::binary::{Settings, command};
use super::ready_lines::{control_of, listening};
use super::threads::is_busy;
use super::{
    CONTROL_TOKEN, HistoryService, Http, JSON_PROTOCOL, PATIENCE, RawSocket, RedisServer, SECRET, TestClient, Token,
    Upgrade, until,
};

type Started = Result<TestGateway, FailedStart>;

/// The hot store of all gateways that are not `embedded`: `embedded`, which holds without it, `redis`, or
/// `history-service`: then each has a history service of its own, with the same settings.
const STORE: &str = "HEARTLINE_TEST_STORE";

/// The role of `serve` without a word about it.
const ALL: &str = "all";

pub struct TestGateway {
    child: Child,
    role: &'static str,
    /// `None`: clients are not served.
    address: Option<SocketAddr>,
    admin: SocketAddr,
    control: SocketAddr,
    /// What it printed before the listening line.
    printed: Vec<String>,
    settings: Settings,
    home: Arc<Home>,
}

/// What outlives a process of the gateway.
struct Home {
    /// Ends before the directory goes.
    redis: Option<Arc<RedisServer>>,
    /// Likewise.
    service: Option<Arc<HistoryService>>,
    directory: TempDir,
}

/// Without it there is no demo beside a configured key.
pub const DEMO_OVERRIDE: &str = "demo.issue_tokens_for_any_user_with_the_real_key";

/// A start that was refused.
#[derive(Debug)]
pub struct FailedStart {
    pub code: Option<i32>,
    pub stderr: String,
}

/// Runs the binary to its end with `arguments` and `settings` such as `("socket.ping", "300ms")`.
pub fn run(arguments: &[&str], settings: &[(&str, &str)]) -> Output {
    let home = Home::embedded();
    let settings = home.merge(settings);
    command(arguments, &settings, home.path()).output().expect("the binary runs")
}

impl TestGateway {
    pub fn start() -> Self {
        Self::with(&[])
    }

    /// Settings are written as in the file: `("socket.ping", "300ms")`.
    pub fn with(settings: &[(&str, &str)]) -> Self {
        Self::on(Arc::new(Home::new()), settings)
    }

    /// A process of another role.
    pub fn of_role(role: &'static str, settings: &[(&str, &str)]) -> Self {
        Self::launched(Arc::new(Home::new()), role, settings)
    }

    /// The same on a Redis of its own whatever the environment asks for.
    pub fn of_role_on_redis(role: &'static str, settings: &[(&str, &str)]) -> Self {
        Self::launched(Arc::new(Home::with_redis()), role, settings)
    }

    /// Its log goes to a pipe, whose other end is returned.
    pub fn with_piped_log(settings: &[(&str, &str)]) -> (Self, PipeReader) {
        let home = Arc::new(Home::new());
        if let Some(service) = &home.service {
            service.start(settings);
        }
        let (reader, writer) = std::io::pipe().expect("a pipe");
        fs::write(home.log_path(), "").expect("a log that stays empty");
        let settings = home.merge(settings);
        let gateway = launch_with(home, ALL, &[], settings, writer.into());
        (gateway.unwrap_or_else(|failed| panic!("the gateway did not start: {failed:?}")), reader)
    }

    /// On the embedded store whatever the environment asks for: for what only its files and its process promise.
    pub fn embedded(settings: &[(&str, &str)]) -> Self {
        Self::on(Arc::new(Home::embedded()), settings)
    }

    /// On a Redis of its own whatever the environment asks for.
    pub fn on_redis(settings: &[(&str, &str)]) -> Self {
        Self::on(Arc::new(Home::with_redis()), settings)
    }

    /// On a store that a [neighbour](Self::neighbour) can share: that of the environment, or a Redis of its own.
    pub fn shared(settings: &[(&str, &str)]) -> Self {
        match env::var(STORE).as_deref() {
            Ok("history-service") => Self::with(settings),
            _ => Self::on_redis(settings),
        }
    }

    /// Another gateway with the settings and the Redis of this one, and a data directory of its own.
    pub fn neighbour(&self) -> Self {
        self.neighbour_as(self.role, &[])
    }

    /// The same for another role, with these settings besides.
    pub fn neighbour_as(&self, role: &'static str, further: &[(&str, &str)]) -> Self {
        let (home, settings) = self.elsewhere(further);
        launch(home, role, settings).unwrap_or_else(|failed| panic!("the gateway did not start: {failed:?}"))
    }

    /// The same, if it starts. `words`: of the command.
    pub fn try_neighbour(&self, role: &'static str, more: &[(&str, &str)], words: &[&str]) -> Started {
        let (home, settings) = self.elsewhere(more);
        launch_as(home, role, words, settings)
    }

    /// Another data directory for the Redis and the settings of this gateway.
    fn elsewhere(&self, further: &[(&str, &str)]) -> (Arc<Home>, Settings) {
        let (redis, service) = (self.home.redis.clone(), self.home.service.clone());
        assert!(redis.is_some() || service.is_some(), "a gateway on Redis, or without a store");
        let home = Home { redis, service, directory: tempfile::tempdir().expect("a temporary directory") };
        let own = |name: &str| self.home.merge(&[]).iter().any(|(default, _)| default == name);
        let settings: Vec<_> = self.settings.iter().filter(|(name, _)| !own(name)).collect();
        let settings = settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let settings = home.merge(&settings.chain(further.iter().copied()).collect::<Vec<_>>());
        (Arc::new(home), settings)
    }

    /// Another gateway on the data directory of this one.
    pub fn beside(&self) -> Result<Self, FailedStart> {
        launch(Arc::clone(&self.home), self.role, self.settings.clone())
    }

    fn on(home: Arc<Home>, settings: &[(&str, &str)]) -> Self {
        if let Some(service) = &home.service {
            service.start(settings);
        }
        Self::launched(home, ALL, settings)
    }

    fn launched(home: Arc<Home>, role: &'static str, settings: &[(&str, &str)]) -> Self {
        let settings = home.merge(settings);
        launch(home, role, settings).unwrap_or_else(|failed| panic!("the gateway did not start: {failed:?}"))
    }

    pub fn fails_with(settings: &[(&str, &str)]) -> FailedStart {
        Self::fails_on(Home::embedded(), ALL, settings)
    }

    pub fn fails_as(role: &'static str, settings: &[(&str, &str)]) -> FailedStart {
        Self::fails_on(Home::embedded(), role, settings)
    }

    /// On a Redis of its own.
    pub fn fails_on_redis(settings: &[(&str, &str)]) -> FailedStart {
        Self::fails_on(Home::with_redis(), ALL, settings)
    }

    fn fails_on(home: Home, role: &'static str, settings: &[(&str, &str)]) -> FailedStart {
        let home = Arc::new(home);
        let settings = home.merge(settings);
        match launch(home, role, settings) {
            Ok(_) => panic!("the gateway started"),
            Err(failed) => failed,
        }
    }

    /// Of the Redis that a gateway `on_redis` has.
    pub fn redis_url(&self) -> String {
        self.home.redis.as_ref().expect("a gateway on Redis").url()
    }

    pub fn is_on_redis(&self) -> bool {
        self.home.redis.is_some()
    }

    /// The history service behind a gateway without a store.
    pub fn service(&self) -> Option<&HistoryService> {
        self.home.service.as_deref()
    }

    pub fn address(&self) -> SocketAddr {
        self.address.expect("a role that serves clients")
    }

    pub fn admin_address(&self) -> SocketAddr {
        self.admin
    }

    pub fn control_address(&self) -> SocketAddr {
        self.control
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn data_dir(&self) -> PathBuf {
        self.home.path().join("data")
    }

    pub fn printed(&self) -> &[String] {
        &self.printed
    }

    /// Everything logged so far, by this process and those before it in this directory.
    pub fn log(&self) -> String {
        // A thread of its own writes what others have logged; then it sleeps.
        while is_busy(self.pid(), "log") {
            thread::yield_now();
        }
        fs::read_to_string(self.home.log_path()).expect("the log")
    }

    // Clients

    pub fn upgrade(&self) -> Upgrade {
        Upgrade::to(self.address())
    }

    /// Welcomed as `mid`, with the token in the header, as an app does it.
    pub async fn connect(&self, mid: u64) -> TestClient {
        let upgrade = self.upgrade().protocols(&[JSON_PROTOCOL]);
        upgrade.bearer(&Token::of(mid).sign()).welcomed().await
    }

    /// A bare socket, upgraded and welcomed as `mid`.
    pub async fn raw(&self, mid: u64) -> RawSocket {
        RawSocket::upgrade(self.address(), Some(&Token::of(mid).sign())).await
    }

    /// The public listener as `mid`.
    pub fn http(&self, mid: u64) -> Http {
        Http::to(self.address()).bearer(&Token::of(mid).sign())
    }

    pub fn anonymous_http(&self) -> Http {
        Http::to(self.address())
    }

    /// The probe listener.
    pub fn admin(&self) -> Http {
        Http::to(self.admin)
    }

    /// The control listener, with its token.
    pub fn control(&self) -> Http {
        Http::to(self.control).bearer(CONTROL_TOKEN)
    }

    /// The control listener of the process that has the store.
    pub fn store_control(&self) -> Http {
        self.service().map_or_else(|| self.control(), HistoryService::control)
    }

    /// The value of one metric of the process that has the store.
    pub async fn store_metric(&self, name: &str) -> f64 {
        let admin = self.service().map_or_else(|| self.admin(), HistoryService::admin);
        metric(&admin, name).await
    }

    /// The value of one metric, labels included in the name; absent is 0.
    pub async fn metric(&self, name: &str) -> f64 {
        metric(&self.admin(), name).await
    }

    pub async fn wait_for_metric(&self, name: &str, wanted: impl Fn(f64) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !wanted(self.metric(name).await) {
            assert!(Instant::now() < deadline, "{name} stays at {}", self.metric(name).await);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until the probes and the metrics say that this could not be read again.
    pub async fn shows_a_failed_reload_of(&self, what: &str) {
        self.wait_for_metric(&format!("heartline_reload_failed{{what=\"{what}\"}}"), |failed| failed == 1.0).await;
        let said = self.admin().get("/readyz").await;
        assert!(said.status == 200 && said.text().contains("the last reload failed"), "{}", said.text());
    }

    /// Waits until the probes and the metrics say nothing of it any more.
    pub async fn shows_no_failed_reload_of(&self, what: &str) {
        self.wait_for_metric(&format!("heartline_reload_failed{{what=\"{what}\"}}"), |failed| failed == 0.0).await;
        assert_eq!(self.admin().get("/readyz").await.text(), r#"{"ready":true}"#);
    }

    /// Waits until the log has this in it.
    pub async fn wait_for_log(&self, said: &str) {
        until(&format!("{said:?} in the log"), async || self.log().contains(said)).await;
    }

    /// Waits until it knows that it is to end: from then on `/readyz` says so.
    pub async fn wait_for_drain(&self) {
        until("the drain", async || self.admin().get("/readyz").await.status != 200).await;
    }

    // Ends

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.child.kill().expect("a process to kill");
        self.child.wait().expect("its end");
    }

    /// SIGKILL, and a new process on the same data directory.
    pub fn restart(&mut self) {
        self.kill();
        *self = self.beside().unwrap_or_else(|failed| panic!("no restart: {failed:?}"));
    }

    /// SIGKILL, and a new process on the same data directory with other settings, also if those are the deployment's.
    pub fn restart_with(&mut self, settings: &[(&str, &str)]) {
        self.kill();
        let settings = self.home.merge(settings);
        let started = launch_as(Arc::clone(&self.home), self.role, &["--accept-settings"], settings);
        *self = started.unwrap_or_else(|failed| panic!("no restart: {failed:?}"));
    }

    /// SIGTERM.
    pub fn terminate(&self) {
        self.signal("TERM");
    }

    /// SIGHUP: keys and certificate are read again.
    pub fn hang_up(&self) {
        self.signal("HUP");
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill").args([&format!("-{name}"), &self.pid().to_string()]).status();
        assert!(status.expect("kill").success());
    }

    pub async fn ended(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status;
            }
            assert!(Instant::now() < deadline, "the gateway does not end");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Drop for TestGateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            eprintln!("--- the gateway's log ---\n{}", self.log());
        }
    }
}

impl Home {
    /// On the store that the environment names.
    fn new() -> Self {
        match env::var(STORE).as_deref() {
            Err(env::VarError::NotPresent) | Ok("embedded") => Self::embedded(),
            Ok("redis") => Self::with_redis(),
            Ok("history-service") => Self::with_service(),
            other => panic!("{STORE} is {other:?}; it may be embedded, redis or history-service"),
        }
    }

    fn embedded() -> Self {
        Self { directory: tempfile::tempdir().expect("a temporary directory"), redis: None, service: None }
    }

    fn with_service() -> Self {
        Self { service: Some(Arc::default()), ..Self::embedded() }
    }

    fn with_redis() -> Self {
        let mut home = Self::embedded();
        home.redis = Some(Arc::new(RedisServer::start(&home.path().join("redis"))));
        let prepared = command(&["init"], &home.merge(&[]), home.path()).output().expect("the binary runs");
        assert!(prepared.status.success(), "Redis is not prepared: {prepared:?}");
        home
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn log_path(&self) -> PathBuf {
        self.path().join("stderr")
    }

    /// The settings of every test gateway, `settings` over them.
    fn merge(&self, settings: &[(&str, &str)]) -> Settings {
        let data = self.path().join("data");
        let url = self.redis.as_ref().map(|redis| redis.url());
        let mut merged = vec![
            ("server.listen", "127.0.0.1:0"),
            ("admin.listen", "127.0.0.1:0"),
            ("control.listen", "127.0.0.1:0"),
            ("control.token", CONTROL_TOKEN),
            ("auth.hs256_secret", SECRET),
            // A test says when files are read again.
            ("server.watch_files", "0s"),
            // Beside that key there is no demo otherwise; there are no real users here.
            (DEMO_OVERRIDE, "true"),
            ("store.data_dir", data.to_str().expect("an ASCII path")),
        ];
        if let Some(url) = &url {
            merged.extend([("store.hot_store", "redis"), ("redis.url", url)]);
        }
        let service = self.service.as_ref().map(|service| format!("[\"{}\"]", service.address()));
        if let Some(addresses) = &service {
            merged.extend([("store.hot_store", "history-service"), ("history_service.addresses", addresses)]);
        }
        merged.extend(settings);
        merged.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }
}

fn launch(home: Arc<Home>, role: &'static str, settings: Settings) -> Started {
    launch_as(home, role, &[], settings)
}

fn launch_as(home: Arc<Home>, role: &'static str, options: &[&str], settings: Settings) -> Started {
    let stderr = File::options().create(true).append(true).open(home.log_path()).expect("a log file");
    launch_with(home, role, options, settings, stderr.into())
}

fn launch_with(home: Arc<Home>, role: &'static str, options: &[&str], settings: Settings, stderr: Stdio) -> Started {
    let log = home.log_path();
    let before = fs::metadata(&log).map_or(0, |metadata| metadata.len() as usize);
    let words = if role == ALL { &["serve"][..] } else { &["serve", "--role", role] };
    let mut command = command(&[words, options].concat(), &settings, home.path());
    let mut child = command.stdout(Stdio::piped()).stderr(stderr).spawn().expect("the binary runs");

    let (lines, printed_lines) = mpsc::sync_channel(64);
    let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    // Reads on to the end, so that the gateway never waits for a full pipe.
    thread::spawn(move || {
        for line in stdout.lines().map_while(Result::ok) {
            let _ = lines.send(line);
        }
    });

    let (mut printed, mut listens) = (Vec::new(), None);
    loop {
        match printed_lines.recv_timeout(PATIENCE) {
            Ok(line) => match (listening(&line), listens) {
                // A cascade has no control listener.
                (Some((address, admin)), _) if role == "cascade" => {
                    return Ok(TestGateway { child, role, address, admin, control: admin, printed, settings, home });
                }
                (Some(addresses), _) => listens = Some(addresses),
                (None, Some((address, admin))) => {
                    let control = control_of(&line).expect("the line of the control listener");
                    return Ok(TestGateway { child, role, address, admin, control, printed, settings, home });
                }
                (None, None) => printed.push(line),
            },
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let _ = child.kill();
                panic!("the gateway neither listens nor ends: {printed:?}");
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                let code = child.wait().expect("its end").code();
                let stderr = fs::read_to_string(&log).unwrap_or_default().split_off(before);
                return Err(FailedStart { code, stderr });
            }
        }
    }
}

pub(super) async fn metric(admin: &Http, name: &str) -> f64 {
    let answer = admin.get("/metrics").await;
    let value = answer.text().lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.map_or(0.0, |value| value.trim().parse().expect("a number"))
}
