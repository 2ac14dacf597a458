//! The masters that the keys of a deployment are written to.

use ::redis::aio::MultiplexedConnection;
use ::redis::{Pipeline, Value, cmd};

use super::address::Address;
use super::deployment::{self, Mark};
use super::dial;
use super::probe;
use super::refused::RefusalCause;
use super::terms::Terms;
use super::topology::{self, Master};
use model::shard::Shard;

/// A master to write the keys to.
pub(super) struct Site {
    pub master: Master,
    pub connection: MultiplexedConnection,
}

impl Site {
    /// Sends commands, and returns when all are done.
    pub async fn send(&mut self, commands: &Pipeline) -> Result<(), RefusalCause> {
        let address = &self.master.address;
        let sent = dial::send(&mut self.connection, commands, commands.cmd_iter().count()).await;
        let values = sent.map_err(|error| dial::trouble(address, &error))?;
        match values.into_iter().find(|value| matches!(value, Value::ServerError(_))) {
            Some(Value::ServerError(error)) => Err(dial::trouble(address, &error.into())),
            _ => Ok(()),
        }
    }
}

/// All masters, found fit, and what their keys hold.
pub(super) async fn sites(terms: &Terms) -> Result<(Vec<Site>, Vec<(Shard, Mark)>), RefusalCause> {
    let masters = topology::discover(&terms.target, Vec::new()).await?;
    topology::whole(&masters)?;
    let mut sites = Vec::new();
    for master in masters {
        let mut connection = dial::server(&terms.target, &master.address).await?;
        terms.fit(&master.address, &mut connection).await?;
        sites.push(Site { master, connection });
    }
    let mut marks = Vec::new();
    for Site { master, connection } in &mut sites {
        let found = dial::marks(connection, &master.address, &master.shards).await?;
        if found.len() < master.shards.len() {
            return Err(RefusalCause::Away(format!("{}: slots are being moved to another node", master.address)));
        }
        marks.extend(found);
    }
    Ok((sites, marks))
}

/// Checks that the server holds no keys but those of deployments.
pub(super) async fn empty(connection: &mut MultiplexedConnection, address: &Address) -> Result<(), RefusalCause> {
    let mut cursor = 0;
    loop {
        let mut scan = cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg("{h*").arg("COUNT").arg(10_000);
        let found: Result<(u64, Vec<Vec<u8>>), _> = scan.query_async(connection).await;
        let (next, keys) = found.map_err(|error| dial::trouble(address, &error))?;
        if let Some(key) = keys.iter().find(|key| is_of_a_user(key)) {
            return Err(RefusalCause::unfit(format!(
                "{address} holds {:?} and has no whole deployment: it has lost a part; restore it from a backup, or empty \
                 it (FLUSHALL on every master, after all gateways have ended) and run this command again",
                String::from_utf8_lossy(key)
            )));
        }
        if next == 0 {
            return Ok(());
        }
        cursor = next;
    }
}

/// Whether a key carries the tag of a shard, and is neither that of its deployment nor one that any gateway writes.
fn is_of_a_user(key: &[u8]) -> bool {
    let Some((number, rest)) = std::str::from_utf8(key).ok().and_then(|key| key.strip_prefix("{h")?.split_once('}'))
    else {
        return false;
    };
    number.parse::<u16>().is_ok() && rest != ":deployment" && rest != probe::NAME
}

/// Writes the key of the first shard, or takes the id that a concurrent command has written there. So all agree on one id.
/// `begun`: the value of a key when the command has begun.
pub(super) async fn first(
    sites: &mut [Site],
    id: &str,
    begun: impl Fn(&str) -> String,
) -> Result<String, RefusalCause> {
    let first = Shard(0);
    let site = sites.iter_mut().find(|site| site.master.shards.contains(&first));
    let Some(Site { master, connection }) = site else { return Ok(id.to_owned()) };
    let away = |error| dial::trouble(&master.address, &error);
    let mut set = cmd("SET");
    set.arg(deployment::key(first)).arg(begun(id)).arg("NX");
    let _: Option<String> = set.query_async(connection).await.map_err(away)?;
    let marks = dial::marks(connection, &master.address, &[first]).await?;
    match marks.first() {
        Some((_, Mark::Preparing(id) | Mark::Rebuilding(id))) => Ok(id.clone()),
        Some((_, Mark::Ready(text))) => Ok(deployment::id(text).to_owned()),
        _ => Err(RefusalCause::Away(format!("{} is being written to by another process", master.address))),
    }
}

/// Writes all keys, and returns when all are written.
pub(super) async fn write_all(sites: &mut [Site], text: &str) -> Result<(), RefusalCause> {
    for site in sites {
        let mut commands = Pipeline::with_capacity(site.master.shards.len());
        for shard in &site.master.shards {
            commands.cmd("SET").arg(deployment::key(*shard)).arg(text);
        }
        site.send(&commands).await?;
    }
    Ok(())
}

/// Random, in the form of a UUID of version 4 (RFC 9562).
pub(super) fn new_id() -> String {
    let number = (rand::random::<u128>() & !(0xf << 76 | 0b11 << 62)) | 4 << 76 | 0b10 << 62;
    let hex = format!("{number:032x}");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn an_id_is_a_uuid() {
        let id = new_id();
        assert!(id.len() == 36 && id.as_bytes()[14] == b'4' && "89ab".contains(&id[19..20]), "{id}");
        assert_ne!(id, new_id());
        assert_eq!(Mark::read(Some(deployment::ready(&id).as_bytes())), Mark::Ready(Arc::from(deployment::ready(&id))));
    }

    #[test]
    fn foreign_keys_do_not_count_as_keys_of_users() {
        for other in ["{h12}:deployment", "{h12}:probe", "{hello}:a", "{h}", "h12", "{h12", "{h70000}:a"] {
            assert!(!is_of_a_user(other.as_bytes()), "{other}");
        }
        for ours in ["{h12}:r:42", "{h0}:o", "{h999}:h:1"] {
            assert!(is_of_a_user(ours.as_bytes()), "{ours}");
        }
    }
}
