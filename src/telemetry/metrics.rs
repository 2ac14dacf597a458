//! The registry that parts put their metrics in.

use prometheus_client::registry::Registry;

/// All names begin with `heartline_`. A part registers its metrics in its constructor.
pub fn registry() -> Registry {
    Registry::with_prefix(env!("CARGO_PKG_NAME"))
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text;
    use prometheus_client::metrics::counter::Counter;

    use super::*;

    #[test]
    fn counters_are_named_as_prometheus_wants_them() {
        let mut registry = registry();
        let pushes: Counter = Counter::default();
        registry.register("pushes", "Pushes sent", pushes.clone());
        pushes.inc();
        let mut page = String::new();
        text::encode(&mut page, &registry).expect("a String takes all that is written to it");
        assert!(page.contains("\nheartline_pushes_total 1\n"), "{page}");
        assert!(page.ends_with("# EOF\n"));
    }
}
