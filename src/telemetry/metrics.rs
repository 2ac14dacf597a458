//! The registry that parts put their metrics in, and how it is shown.

use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;

/// What [`exposition`] is, for `Content-Type`.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All names begin with `heartline_`. A part registers its metrics in its constructor.
pub fn registry() -> Registry {
    Registry::with_prefix(env!("CARGO_PKG_NAME"))
}

/// Everything in the registry, as Prometheus reads it.
pub fn exposition(registry: &Registry) -> String {
    let mut page = String::new();
    text::encode(&mut page, registry).expect("a String takes all that is written to it");
    page
}

#[cfg(test)]
mod tests {
    use prometheus_client::metrics::counter::Counter;

    use super::*;

    #[test]
    fn counters_are_named_as_prometheus_wants_them() {
        let mut registry = registry();
        let pushes: Counter = Counter::default();
        registry.register("pushes", "Pushes sent", pushes.clone());
        pushes.inc();
        let page = exposition(&registry);
        assert!(page.contains("\nheartline_pushes_total 1\n"), "{page}");
        assert!(page.ends_with("# EOF\n"));
    }
}
