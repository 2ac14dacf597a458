//! The faults in files, directories and addresses that `serve` would find. Nothing is made, changed or kept, so that it
//! can be asked beside a running gateway. Other servers (Redis, Kafka, Cassandra, MongoDB) are not contacted.

use std::io;
use std::net::SocketAddr;

use super::descriptors;
use super::fleet;
use super::keys;
use super::role::Role;
use crate::config::Config;
use domain::time::clock;
use edge::auth::{CONTROL_TOKEN, SigningKey, key_set};
use edge::config::TlsFiles;
use edge::listener::{self, Tls};
use edge::visitor;
use storage::event_bus::config::Backend as Bus;
use storage::hot_store::config::Backend as HotStore;
use storage::revocation_list::RevocationList;
use storage::revocation_list::file::FileList;
use storage_embedded::data_dir::DataDir;
use storage_embedded::folder::Folder;
use storage_embedded::open_error::OpenError;
use storage_embedded::owner_queues::EmbeddedQueues;

/// One line each.
#[derive(Debug, Default)]
pub struct Findings {
    /// Problems that would end the start; and certificates that clients refuse, with which it goes on.
    pub faults: Vec<String>,
    /// Settings that may not be meant; and problems that would end the start only while another gateway is running.
    pub warnings: Vec<String>,
}

/// Checks a process of this role. `is_broken`: whether a setting was refused already, so that its value means nothing.
pub fn check(config: &Config, role: Role, is_broken: impl Fn(&str) -> bool) -> Findings {
    let mut findings = Findings::default();
    let usable = |settings: &[&str]| !settings.iter().any(|setting| is_broken(setting));
    let decisive: &[&str] = match role {
        Role::History => &["grpc.listen"],
        _ => &["history.store", "store.hot_store", "events.event_bus"],
    };
    if usable(decisive) {
        findings.faults.extend(role.misfit(config));
    }
    if usable(&["redis.url", "redis.tls_ca", "redis.tls_cert", "redis.tls_key"]) && role != Role::Job {
        findings.faults.extend(fleet::fault_of_certificates(config));
    }
    if !role.serves_callers() {
        if usable(&["admin.listen"]) {
            findings.address("admin.listen", config.admin.listen);
        }
        return findings;
    }
    let config = &role.settings(config.clone());
    if usable(&["server.tls_cert", "server.tls_key"]) {
        findings.certificate(config.server.tls());
    }
    if usable(&["grpc.tls_cert", "grpc.tls_key", "grpc.client_ca", "grpc.client_auth"]) {
        findings.certificate(config.grpc.tls());
    }
    if usable(&["history_service.tls_ca"]) && config.store.hot_store == HotStore::HistoryService {
        findings.fault(config.history_service.authorities());
    }
    if usable(&["auth.jwks_file"]) {
        let path = config.auth.jwks_file();
        let set = findings.fault(path.map(key_set::load).transpose()).flatten();
        findings.warnings.extend(path.zip(set).and_then(|(path, set)| set.warning(&key_set::origin_of(path))));
    }
    if usable(&["auth.jwks_ca"]) && config.auth.jwks_url().is_some() {
        findings.fault(keys::fetcher(config));
    }
    if usable(&["live.geoip"]) {
        findings.fault(config.live.geoip().map(visitor::check_country_file).transpose());
    }
    let store_here = config.store.hot_store == HotStore::Embedded;
    let events_here = config.events.event_bus == Bus::Embedded;
    let token_here = config.control.token.is_empty();
    if usable(&["store.data_dir", "store.hot_store", "events.event_bus"]) && (store_here || events_here || token_here) {
        findings.data_dir(config);
    }
    if usable(&["store.data_dir", "control.token"]) && token_here && CONTROL_TOKEN.path(&config.store.data_dir).exists()
    {
        findings.fault(CONTROL_TOKEN.load(&config.store.data_dir));
    }
    if usable(&["store.data_dir", "auth.hs256_secret", "auth.jwks_file", "auth.jwks_url"])
        && SigningKey::exists(&config.auth, &config.store.data_dir)
    {
        findings.fault(SigningKey::load(&config.auth, &config.store.data_dir));
    }
    if usable(&["store.data_dir", "auth.hs256_secret", "auth.jwks_file", "control.token", "limits.connections"]) {
        findings.warnings.extend(warnings(config, role));
    }
    let (server, admin, control) = (config.server.listen, config.admin.listen, config.control.listen);
    let public = role.serves_clients().then_some(("server.listen", server));
    let grpc = config.grpc.listen.0.map(|address| ("grpc.listen", address));
    let listeners = [("admin.listen", admin), ("control.listen", control)];
    for (setting, address) in public.into_iter().chain(listeners).chain(grpc) {
        if usable(&[setting]) {
            findings.address(setting, address);
        }
    }
    findings
}

/// Settings that may not be meant, given this machine and the files of the data directory: one line each.
pub fn warnings(config: &Config, role: Role) -> Vec<String> {
    let secret = role.serves_callers().then(|| same_secret(config)).flatten();
    let connections = role.serves_clients().then(|| too_many_connections(config)).flatten();
    secret.into_iter().chain(connections).collect()
}

fn same_secret(config: &Config) -> Option<String> {
    let (auth, token) = (&config.auth, &config.control.token);
    let exists = !token.is_empty() && SigningKey::exists(auth, &config.store.data_dir);
    // An unreadable key is found elsewhere.
    let key = exists.then(|| SigningKey::load(auth, &config.store.data_dir).ok().flatten()).flatten();
    key.filter(|key| key.is(token)).map(|_| {
        "control.token: is also the key of users' tokens, so any caller of the control listener can sign a token for any \
         user; set another one"
            .to_owned()
    })
}

fn too_many_connections(config: &Config) -> Option<String> {
    let connections = config.limits.connections;
    let limit = descriptors::hard_limit().ok().filter(|limit| connections as u64 > *limit)?;
    Some(format!(
        "limits.connections: is {connections}, and the process may open only {limit} files, one for each connection; raise \
         its limit of open files (LimitNOFILE=), or set fewer connections"
    ))
}

impl Findings {
    fn fault<T>(&mut self, found: Result<T, impl ToString>) -> Option<T> {
        found.map_err(|fault| self.faults.push(fault.to_string())).ok()
    }

    fn certificate(&mut self, files: Option<TlsFiles>) {
        if let Some(Some(tls)) = self.fault(files.map(Tls::load).transpose()) {
            self.faults.extend(tls.invalid(clock::wall()));
        }
    }

    fn data_dir(&mut self, config: &Config) {
        let path = &config.store.data_dir;
        let looked = DataDir::look(path).and_then(|holder| {
            Folder::of(path, "store").check()?;
            Folder::of(path, "events").check()?;
            Folder::of(path, EmbeddedQueues::FOLDER).check()?;
            Ok::<_, OpenError>(holder)
        });
        if config.store.hot_store == HotStore::Embedded && path.is_dir() {
            self.fault(FileList::of(path).load(None));
        }
        if let Some(Some(holder)) = self.fault(looked) {
            self.warnings.push(format!("store.data_dir: {} is in use by {holder}", path.display()));
        }
    }

    fn address(&mut self, setting: &str, address: SocketAddr) {
        match listener::try_bind(address) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                self.warnings.push(format!("{setting}: {address} is in use by another process"));
            }
            Err(error) => self.faults.push(format!("{setting}: cannot listen on {address}: {error}")),
            Ok(()) => {}
        }
    }
}
