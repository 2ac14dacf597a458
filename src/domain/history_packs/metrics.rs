//! The metrics of history packs.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Clone, Default)]
pub struct Metrics {
    pub packs: Counter,
    pub bytes: Counter,
    pub users: Counter,
    pub rows: Counter,
    pub failures: Counter,
    pub unlisted: Counter,
    pub unreadable: Counter,
    pub(super) listed: Gauge,
    pub(super) overdue_seconds: Gauge,
}

impl Metrics {
    pub fn new(registry: &mut Registry) -> Self {
        let metrics = Metrics::default();
        let Metrics { packs, bytes, users, rows, failures, unlisted, unreadable, listed, overdue_seconds } =
            metrics.clone();
        registry.register("history_packs", "Packs that were delivered to the history bus", packs);
        registry.register("history_pack_bytes", "Bytes of the packs that were delivered, uncompressed", bytes);
        registry.register("history_packed_users", "Users whose changes were delivered, each time anew", users);
        registry.register("history_packed_rows", "Rows of contents that were delivered, each time anew", rows);
        let meaning = "Packs that were not delivered for sure; their users stay listed and are packed again";
        registry.register("history_pack_failures", meaning, failures);
        registry.register(
            "history_unlisted",
            "Users that left the list since all of their changes were delivered",
            unlisted,
        );
        let meaning =
            "Listed users whose stored state cannot be read or sent as a whole; each is tried again after an hour";
        registry.register("history_unreadable", meaning, unreadable);
        let meaning = "Users with changes that are to be delivered, of all gateways together";
        registry.register("history_listed_users", meaning, listed);
        let meaning = "Seconds since the longest waiting listed user was due; 0 = none is late";
        registry.register("history_overdue_seconds", meaning, overdue_seconds);
        metrics
    }
}
