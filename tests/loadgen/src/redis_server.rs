//! A Redis for a server that is started here. It syncs its log before each answer, which is required to keep acked
//! beats.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tokio::time::timeout;

use super::offspring::Offspring;
use super::scratch::Scratch;

const START_MAX: Duration = Duration::from_secs(10);
const READY: &str = "Ready to accept connections";

/// The process ends when this is dropped.
pub struct RedisServer {
    /// `HOST:PORT`.
    pub address: String,
    process: Offspring,
    // Dropped after the process.
    _scratch: Scratch,
}

impl RedisServer {
    pub async fn start(program: &Path) -> Result<Self, String> {
        let scratch = Scratch::make()?;
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = free.map_err(|error| format!("no port for Redis: {error}"))?.port();
        // It starts in another directory; a bare name is searched in PATH.
        let named =
            if program.components().count() > 1 { std::path::absolute(program) } else { Ok(program.to_owned()) };
        let mut command = Command::new(named.map_err(|error| format!("{}: {error}", program.display()))?);
        command.current_dir(scratch.path()).args(["--bind", "127.0.0.1", "--port", &port.to_string()]);
        command.args(["--save", "", "--appendonly", "yes", "--appendfsync", "always"]);
        command.args(["--no-appendfsync-on-rewrite", "no", "--maxmemory-policy", "noeviction"]);
        command.args(["--set-max-intset-entries", "16384"]);
        let mut process = Offspring::start(&mut command)
            .map_err(|error| format!("{error}; run: apt-get install -y --no-install-recommends redis-server"))?;
        let ready = async {
            while let Some(line) = process.lines.recv().await {
                if line.contains(READY) {
                    return true;
                }
            }
            false
        };
        match timeout(START_MAX, ready).await {
            Ok(true) => Ok(RedisServer { address: format!("127.0.0.1:{port}"), process, _scratch: scratch }),
            _ => Err(format!("{} does not start", program.display())),
        }
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }
}
