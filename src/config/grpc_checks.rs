//! Settings of the gRPC listener that are right by themselves and wrong together, or out of bounds.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use super::Config;
use super::checks::Checks;
use edge::grpc::config::ClientAuth;

/// Calls that a process can have in progress, whatever is configured: each may hold megabytes.
const CALLS_LIMIT: usize = 65_536;
/// A longer call holds its slot for too long.
const DEADLINE_LIMIT: Duration = Duration::from_secs(600);
const DEADLINE_MIN: Duration = Duration::from_millis(10);
/// As many as one list can ask for.
const KINDS_LIMIT: usize = 32;

impl Checks<'_> {
    pub(super) fn grpc(&mut self, config: &Config) {
        let calls = config.limits.grpc_calls;
        self.at_least_one("limits.grpc_calls", calls as u64);
        self.require(calls <= CALLS_LIMIT, "limits.grpc_calls", || format!("is {calls}; set at most {CALLS_LIMIT}"));
        let deadline = config.grpc.deadline;
        self.require((DEADLINE_MIN..=DEADLINE_LIMIT).contains(&deadline), "grpc.deadline", || {
            format!("is {deadline:?}; set {DEADLINE_MIN:?} to {DEADLINE_LIMIT:?}")
        });
        self.grpc_address(config);
        self.grpc_certificates(config);
        self.grpc_callers(config);
    }

    fn grpc_address(&mut self, config: &Config) {
        let Some(address) = config.grpc.listen.0 else { return };
        let (public, admin, control) = (config.server.listen, config.admin.listen, config.control.listen);
        for (other, taken) in [("server.listen", public), ("admin.listen", admin), ("control.listen", control)] {
            self.require(address.port() == 0 || address != taken, "grpc.listen", || {
                format!("{address} is also the address of {other}; choose another one")
            });
        }
        let (keys, required) = (
            !config.auth.hs256_secret.is_empty() || config.auth.has_key_set(),
            config.grpc.client_auth == ClientAuth::Required,
        );
        self.require(address.ip().is_loopback() || keys || required, "grpc.listen", || {
            format!(
                "{address} is not a loopback address, and a development key signs the tokens; set auth.hs256_secret or \
                 auth.jwks_file or jwks_url, or grpc.client_auth = \"required\""
            )
        });
    }

    fn grpc_certificates(&mut self, config: &Config) {
        let grpc = &config.grpc;
        let has = |path: &Path| !path.as_os_str().is_empty();
        let (chain, key, authorities) = (has(&grpc.tls_cert), has(&grpc.tls_key), has(&grpc.client_ca));
        self.require(chain || !key, "grpc.tls_cert", || {
            "is empty, but grpc.tls_key is set; set both or none".to_owned()
        });
        self.require(key || !chain, "grpc.tls_key", || {
            "is empty, but grpc.tls_cert is set; set both or none".to_owned()
        });
        let asked = grpc.client_auth != ClientAuth::None;
        self.require(!asked || (chain && key), "grpc.client_auth", || {
            "needs TLS; set grpc.tls_cert and grpc.tls_key, or grpc.client_auth = \"none\"".to_owned()
        });
        self.require(!asked || authorities, "grpc.client_ca", || {
            "is empty; name a file, or set grpc.client_auth = \"none\"".to_owned()
        });
        self.require(asked || !authorities, "grpc.client_auth", || {
            "is \"none\", so grpc.client_ca has no effect; set \"optional\" or \"required\"".to_owned()
        });
    }

    fn grpc_callers(&mut self, config: &Config) {
        let mut names = HashSet::new();
        for (index, caller) in config.grpc.callers.iter().enumerate() {
            let setting = format!("grpc.callers[{index}]");
            self.require(!caller.name.is_empty(), &setting, || "has an empty name".to_owned());
            self.require(names.insert(&caller.name), &setting, || {
                format!("{:?} is listed before; list each name once", caller.name)
            });
            self.require(!caller.scopes.is_empty(), &setting, || {
                format!(
                    "{:?} has no scopes; give it \"heartline.read\" or \"heartline.write\", or if it is a gateway \
                     \"heartline.internal\"",
                    caller.name
                )
            });
            self.require(caller.kinds.len() <= KINDS_LIMIT, &setting, || {
                format!("{:?} has {} kinds; list at most {KINDS_LIMIT}", caller.name, caller.kinds.len())
            });
        }
    }
}
