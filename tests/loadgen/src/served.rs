//! Servers started here, each as a child process with a directory of its own.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tokio::time::timeout;

use super::host::Setting;
use super::load::Load;
use super::meter::Watched;
use super::naive_store::Place;
use super::offspring::Offspring;
use super::redis_server::RedisServer;
use super::scratch::Scratch;
use super::target::{Credentials, Target};

/// The name under which a Redis is measured by itself.
const REDIS: &str = "redis";
const START_MAX: Duration = Duration::from_secs(120);
/// The gateway's default limit of frames a second per connection.
const FRAMES_PER_SECOND: f64 = 20.0;

#[derive(Args, Clone, Debug)]
pub struct ServerOptions {
    /// The gateway to start; without it, the one beside this program.
    #[arg(long, value_name = "PATH")]
    pub heartline: Option<PathBuf>,
    /// Threads that serve sockets, of each server; 0 = one per core.
    #[arg(long, default_value_t = 0)]
    pub server_threads: usize,
    /// Read buffer of a socket of the echo server and the naive gateway, bytes; as the gateway's.
    #[arg(long, default_value_t = 2048)]
    pub read_buffer: usize,
    /// The store of the servers; each server has its own.
    #[arg(long, value_enum, default_value_t = HotStore::Embedded)]
    pub hot_store: HotStore,
    /// The Redis to start for --hot-store redis, such as a valkey-server.
    #[arg(long, value_name = "PATH", default_value = "redis-server")]
    pub redis_server: PathBuf,
    /// A setting of the gateway, such as store.group_interval=5ms. May be repeated.
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE", value_parser = setting)]
    pub settings: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HotStore {
    /// Files of the server.
    Embedded,
    /// A Redis that is started for it, and measured with it.
    Redis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    Gateway,
    Echo,
    Naive,
}

/// The control token of gateways that are started here.
pub const CONTROL_TOKEN: &str = "the-control-token-of-the-load-generator";

/// A server that ends when this is dropped.
pub struct Served {
    pub target: Target,
    /// A gateway's probe listener.
    pub admin: Option<Target>,
    /// A gateway's control listener.
    pub control: Option<Target>,
    /// The server and its Redis, both under the server's name; and the Redis again under its own.
    pub watched: Vec<Watched>,
    // Dropped in this order: each ends before what it needs.
    _process: Offspring,
    _redis: Option<RedisServer>,
    _scratch: Scratch,
}

impl Sort {
    pub fn name(self) -> &'static str {
        match self {
            Sort::Gateway => "gateway",
            Sort::Echo => "echo",
            Sort::Naive => "naive",
        }
    }

    pub async fn start(
        self,
        options: &ServerOptions,
        load: &Load,
        credentials: &Credentials,
    ) -> Result<Served, String> {
        let scratch = Scratch::make()?;
        let redis = match options.hot_store {
            HotStore::Redis if self != Sort::Echo => Some(RedisServer::start(&options.redis_server).await?),
            _ => None,
        };
        let mut process = match self {
            Sort::Gateway => gateway(options, load, credentials, &scratch, redis.as_ref())?,
            Sort::Echo | Sort::Naive => {
                let mut process = Offspring::of_myself(self.name())?;
                process.tell(&Setting {
                    threads: options.threads(),
                    read_buffer: options.read_buffer,
                    credentials: credentials.clone(),
                    place: match &redis {
                        Some(redis) => Place::Redis(redis.address.clone()),
                        None => Place::Directory(scratch.path().join("data")),
                    },
                })?;
                process
            }
        };
        let urls = timeout(START_MAX, listening(&mut process)).await.ok().flatten();
        let Urls { url, admin, control } = urls.ok_or_else(|| format!("the {} does not start", self.name()))?;
        let target = Target { echo: self == Sort::Echo, ..Target::parse(&url)? };
        let parsed = |url: Option<String>| url.map(|url| Target::parse(&url)).transpose();
        let (admin, control) = (parsed(admin)?, parsed(control)?);
        let watched = |name: &str, pid| Watched { name: name.to_owned(), pid };
        let mut all = vec![watched(self.name(), process.pid())];
        if let Some(redis) = &redis {
            all.extend([self.name(), REDIS].map(|name| watched(name, redis.pid())));
        }
        Ok(Served { target, admin, control, watched: all, _process: process, _redis: redis, _scratch: scratch })
    }
}

impl ServerOptions {
    fn threads(&self) -> usize {
        match self.server_threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }
}

fn gateway(
    options: &ServerOptions,
    load: &Load,
    credentials: &Credentials,
    scratch: &Scratch,
    redis: Option<&RedisServer>,
) -> Result<Offspring, String> {
    let beside = || std::env::current_exe().ok()?.parent().map(|directory| directory.join("heartline"));
    let program = options.heartline.clone().or_else(beside).ok_or("where the gateway is cannot be told")?;
    let mut environment = Vec::new();
    let mut set = |name: &str, value: &str| {
        environment.push((format!("HEARTLINE__{}", name.to_uppercase().replace('.', "__")), value.to_owned()));
    };
    set("server.listen", "127.0.0.1:0");
    set("admin.listen", "127.0.0.1:0");
    set("control.listen", "127.0.0.1:0");
    set("control.token", CONTROL_TOKEN);
    set("server.threads", &options.threads().to_string());
    set("auth.hs256_secret", &credentials.secret);
    set("auth.audience", &credentials.audience);
    set("auth.issuer", &credentials.issuer);
    set("store.data_dir", "data");
    set("log.level", "warn");
    // A socket that was held up sends due beats as fast as they are acked.
    let allowed = (4.0 * load.rate / load.sockets as f64).max(FRAMES_PER_SECOND);
    set("limits.frames_per_second", &allowed.ceil().to_string());
    if let Some(redis) = redis {
        set("store.hot_store", "redis");
        set("redis.url", &format!("redis://{}", redis.address));
    }
    options.settings.iter().for_each(|(name, value)| set(name, value));
    let command = |argument: &str| {
        let mut command = Command::new(&program);
        command.arg(argument).current_dir(scratch.path()).env_clear().envs(environment.iter().cloned());
        command
    };
    if redis.is_some() {
        let prepared = command("init").output().map_err(|error| format!("{}: {error}", program.display()))?;
        if !prepared.status.success() {
            return Err(format!("Redis was not prepared: {}", String::from_utf8_lossy(&prepared.stderr).trim_end()));
        }
    }
    Offspring::start(&mut command("serve"))
}

/// The addresses that a server prints when it serves. Only a gateway has more than the public address.
struct Urls {
    url: String,
    admin: Option<String>,
    control: Option<String>,
}

async fn listening(process: &mut Offspring) -> Option<Urls> {
    loop {
        let line = process.lines.recv().await?;
        if let Some((_, urls)) = line.split_once("listening on ") {
            let (url, admin) = urls.split_once(" (admin ").unwrap_or((urls, ""));
            let admin = admin.strip_suffix(')').map(str::to_owned);
            let control = match admin {
                Some(_) => {
                    Some(process.lines.recv().await?.strip_prefix("control listener: ")?.split(' ').next()?.to_owned())
                }
                None => None,
            };
            return Some(Urls { url: url.to_owned(), admin, control });
        }
    }
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("{text} is not SECTION.KEY=VALUE"))?;
    Ok((name.to_owned(), value.to_owned()))
}
