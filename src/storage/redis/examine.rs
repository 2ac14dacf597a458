//! What `heartline doctor` finds. Each master is connected to and checked once; nothing is waited for, and nothing is
//! written.

use std::sync::Arc;
use std::thread;

use tokio::runtime::Builder;

use super::deployment;
use super::dial;
use super::refused::{RedisRefused, RefusalCause};
use super::target::Target;
use super::topology::{self, Master};
use storage::config::redis::{Durability, RedisConfig};

/// One line for each master that can be used, for each advice, and for each fault with its fix.
#[derive(Debug, Default)]
pub struct Examined {
    pub found: Vec<String>,
    pub advice: Vec<String>,
    pub faults: Vec<String>,
}

/// Blocks for some seconds if a server is away.
pub fn examine(config: &RedisConfig) -> Examined {
    let examined = Target::open(config).and_then(|target| {
        let (runtime, durability) = (Builder::new_current_thread().enable_all().build(), config.durability);
        let runtime = runtime.map_err(RedisRefused::Process)?;
        // Not on this one, which may be another runtime's.
        let thread = thread::Builder::new().name("redis".to_owned());
        let thread = thread.spawn(move || runtime.block_on(all(&target, durability)));
        Ok(thread.map_err(RedisRefused::Process)?.join().expect("it does not panic"))
    });
    examined.unwrap_or_else(|refused| Examined { faults: lines(&refused), ..Examined::default() })
}

async fn all(target: &Target, durability: Durability) -> Examined {
    let mut examined = Examined::default();
    let masters = match topology::discover(target, Vec::new()).await {
        Ok(masters) => masters,
        Err(trouble) => {
            examined.faults = lines(&trouble.into());
            return examined;
        }
    };
    if let Err(trouble) = topology::whole(&masters) {
        examined.faults.push(trouble.text());
    }
    let mut deployment = None;
    for master in &masters {
        match one(target, durability, master, &mut deployment).await {
            Ok((line, advice)) => {
                examined.found.push(line);
                examined.advice.extend(advice);
            }
            Err(trouble) => examined.faults.extend(lines(&trouble.into())),
        }
    }
    examined
}

/// `deployment`: that of the masters before.
async fn one(
    target: &Target,
    durability: Durability,
    Master { address, shards, .. }: &Master,
    deployment: &mut Option<Arc<str>>,
) -> Result<(String, Vec<String>), RefusalCause> {
    let mut connection = dial::server(target, address).await?;
    let server = dial::look(&mut connection, address, durability).await?;
    let advice = server.judge(address, target, durability, None)?;
    let marks = dial::marks(&mut connection, address, shards).await?;
    let agreed = deployment::agreed(&marks, deployment.as_ref());
    *deployment = agreed.map_err(|wrong| RefusalCause::unfit(format!("{address} {wrong}")))?;
    let id = deployment.as_deref().map_or("none", deployment::id);
    let version = server.info.get("redis_version").map_or("of unknown version", String::as_str);
    let tls = if target.encrypted { "with TLS" } else { "without TLS" };
    let worth = match durability {
        Durability::Strict => "an ack means that the write is on its disk".to_owned(),
        Durability::Relaxed => "acked beats may be lost".to_owned(),
        Durability::Managed => server.promises(address),
    };
    let count = shards.len();
    Ok((format!("{address}: Redis {version} {tls}, {count} shards of the deployment {id}; {worth}"), advice.warnings))
}

fn lines(refused: &RedisRefused) -> Vec<String> {
    refused.to_string().lines().map(str::to_owned).collect()
}
