//! Checks of the settings of a gateway without a store.

use super::Config;
use super::checks::Checks;
use storage::hot_store::config::Backend;

impl Checks<'_> {
    pub(super) fn history_service(&mut self, config: &Config) {
        let (service, is_used) = (&config.history_service, config.store.hot_store == Backend::HistoryService);
        self.require(!is_used || !service.addresses.is_empty(), "history_service.addresses", || {
            "is empty, and store.hot_store is \"history-service\"; list the history services, such as \
             \"http://history-1:7703\""
                .to_owned()
        });
        let plain = service.token.expose().bytes().all(|byte| byte.is_ascii_graphic());
        self.require(plain, "history_service.token", || {
            "must be visible ASCII without spaces: it is sent in a header".to_owned()
        });
        let signs = !config.auth.hs256_secret.is_empty() || !config.auth.has_key_set();
        self.require(!is_used || signs || !service.token.is_empty(), "history_service.token", || {
            "is empty, and the keys of a JWK set sign nothing; set a service token with the scope heartline.internal"
                .to_owned()
        });
        let is_encrypted = service.addresses.iter().any(|address| address.tls);
        self.require(service.tls_ca().is_none() || is_encrypted, "history_service.tls_ca", || {
            "has no effect: no address of history_service.addresses begins with https://".to_owned()
        });
        let serves = is_used && config.grpc.listen.0.is_some();
        self.require(!serves, "grpc.listen", || {
            "a gateway without a store (store.hot_store = \"history-service\") serves no gRPC; set \"\"".to_owned()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{config, good};

    const REMOTE: (&str, &str) = ("HEARTLINE__STORE__HOT_STORE", "history-service");
    const ADDRESSES: (&str, &str) = ("HEARTLINE__HISTORY_SERVICE__ADDRESSES", r#"["http://history:7703"]"#);

    fn wrong(environment: &[(&str, &str)], said: &str) {
        let problems = config("", environment).expect_err(said);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains(said), "{problems:?}");
    }

    #[test]
    fn a_gateway_without_a_store_needs_a_service() {
        let service = good("", &[REMOTE, ADDRESSES]).history_service;
        assert_eq!(service.addresses[0].to_string(), "http://history:7703");
        wrong(&[REMOTE], "history_service.addresses: is empty");
    }

    #[test]
    fn an_address_without_a_scheme_is_refused() {
        wrong(&[("HEARTLINE__HISTORY_SERVICE__ADDRESSES", r#"["history:7703"]"#)], "such as http://history-1:7703");
    }

    #[test]
    fn what_has_no_effect_is_refused() {
        wrong(&[REMOTE, ADDRESSES, ("HEARTLINE__HISTORY_SERVICE__TLS_CA", "/etc/ca.pem")], "https://");
        wrong(&[REMOTE, ADDRESSES, ("HEARTLINE__GRPC__LISTEN", "127.0.0.1:7703")], "serves no gRPC");
        wrong(&[REMOTE, ADDRESSES, ("HEARTLINE__HISTORY_SERVICE__TOKEN", "a b")], "visible ASCII");
    }
}
