//! Metrics of the rewards.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use model::change::Decided;
use model::rewards::rule::{RewardRule, Rules};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    rule: String,
}

/// Each counter by the rule's index, looked up once and not per beat.
#[derive(Clone)]
pub struct Metrics {
    claims: Vec<Counter>,
    known: Vec<Counter>,
    pub store_reads: Counter,
}

/// Counters of the rule that counts views, which is no reward.
#[derive(Clone, Debug, Default)]
pub struct ViewsByPlayback {
    pub counted: Counter,
    /// The user had already viewed the content on that day.
    pub repeated: Counter,
}

impl Metrics {
    pub fn new(rules: &Rules, views: ViewsByPlayback, registry: &mut Registry) -> Self {
        let mut of_each = |name, help, of_views: Counter| {
            let family = Family::<Labels, Counter>::default();
            registry.register(name, help, family.clone());
            let of = |(_, rule): (usize, &RewardRule)| match rule.counts_views() {
                true => of_views.clone(),
                false => family.get_or_create(&Labels { rule: rule.id.to_string() }).clone(),
            };
            rules.iter().map(of).collect()
        };
        let claims = of_each("reward_claims", "Rewards claimed", views.counted);
        let known = of_each("reward_claims_known", "Claims that the store already had", views.repeated);
        let store_reads = Counter::default();
        registry.register("reward_store_reads", "Claims looked up in the store", store_reads.clone());
        Metrics { claims, known, store_reads }
    }

    pub fn decided(&self, decided: &Decided) {
        self.store_reads.inc();
        let of = if decided.first { &self.claims } else { &self.known };
        of[decided.rule].inc();
    }
}
