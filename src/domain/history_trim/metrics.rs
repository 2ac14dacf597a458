//! The metrics of comparing the hot store with the history store.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use super::compare::Found;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    found: &'static str,
}

#[derive(Clone, Default)]
pub struct Metrics {
    compared: Family<Labels, Counter>,
    pub users: Counter,
    pub trimmable: Counter,
    pub trimmed: Counter,
    pub healed: Counter,
    pub failures: Counter,
}

impl Metrics {
    pub fn new(registry: &mut Registry) -> Self {
        let metrics = Metrics::default();
        // Shown as 0 from the start, so that the first one is an increase.
        Found::ALL.iter().for_each(|found| drop(metrics.compared.get_or_create(&labels(*found))));
        let Metrics { compared, users, trimmable, trimmed, healed, failures } = metrics.clone();
        let meaning = "Rows of the hot store that were looked up in the history store, each time anew, by found: same, newer, \
                       older, missing, different";
        registry.register("history_compared", meaning, compared);
        let meaning = "Users who were compared with the history store, each time anew";
        registry.register("history_compared_users", meaning, users);
        let meaning = "Rows of compared users that need not stay in the hot store, each time anew";
        registry.register("history_trimmable_rows", meaning, trimmable);
        registry.register("history_trimmed_rows", "Rows that have left the hot store", trimmed);
        let meaning = "Users who were listed again, since the history store lacked some of their data";
        registry.register("history_healed_users", meaning, healed);
        let meaning = "Users who could not be compared, since a store was away or a state was unreadable";
        registry.register("history_compare_failures", meaning, failures);
        metrics
    }

    pub(super) fn found(&self, found: Found) {
        self.compared.get_or_create(&labels(found)).inc();
    }

    #[cfg(test)]
    pub(super) fn count(&self, found: Found) -> u64 {
        self.compared.get_or_create(&labels(found)).get()
    }
}

fn labels(found: Found) -> Labels {
    Labels { found: found.word() }
}
