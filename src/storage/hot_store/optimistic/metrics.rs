//! Metrics of commits to a store that other gateways write to, too.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Lookup {
    result: &'static str,
}

/// Counted once for a step of a group, not for each beat.
#[derive(Clone)]
pub struct Metrics {
    /// Users of groups that were decided again because another gateway had written.
    pub conflicts: Counter,
    /// Users of groups whose changes were found stored at a repetition.
    pub repeats_found: Counter,
    /// Users of groups whose heads were cached.
    pub hits: Counter,
    /// Users of groups whose heads had to be read.
    pub misses: Counter,
    /// Rows read outside heads, including rows to prune.
    pub rows_loaded: Counter,
    lookups: Family<Lookup, Counter>,
}

impl Default for Metrics {
    fn default() -> Self {
        let lookups = Family::<Lookup, Counter>::default();
        let [hits, misses] = ["hit", "miss"].map(|result| lookups.get_or_create_owned(&Lookup { result }));
        let (conflicts, repeats_found, rows_loaded) = Default::default();
        Metrics { conflicts, repeats_found, hits, misses, rows_loaded, lookups }
    }
}

impl Metrics {
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "store_conflicts",
            "Users of commit groups that were re-decided after a write conflict",
            self.conflicts.clone(),
        );
        registry.register(
            "store_repeats_found",
            "Users of commit groups whose changes were found stored when the group was committed again",
            self.repeats_found.clone(),
        );
        registry.register(
            "store_cache_lookups",
            "Users of commit groups that were looked up in the user cache, by result: hit, miss",
            self.lookups.clone(),
        );
        registry.register(
            "store_rows_loaded",
            "Rows of contents that were read to decide changes or to remove what was cleared",
            self.rows_loaded.clone(),
        );
    }
}
