//! Records that were removed, counted by cause.

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use crate::commit_listener::{CommitListener, CommittedGroup};
use model::transition::Cause;

pub struct RemovalCount(Family<Labels, Counter>);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    cause: Label,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Label(Cause);

impl RemovalCount {
    pub fn new(registry: &mut Registry) -> Self {
        let counted = Family::<Labels, Counter>::default();
        // Exported from the start.
        for cause in [Cause::Delete, Cause::Clear, Cause::Erase, Cause::Cap, Cause::Expiry] {
            drop(counted.get_or_create(&Labels { cause: Label(cause) }));
        }
        registry.register("records_removed", "Records that were removed, by cause", counted.clone());
        RemovalCount(counted)
    }
}

impl CommitListener for RemovalCount {
    fn name(&self) -> &'static str {
        "removal_count"
    }

    fn committed(&self, group: &CommittedGroup) {
        for (_, transition) in group.transitions.iter().filter(|(_, transition)| transition.after.is_none()) {
            self.0.get_or_create(&Labels { cause: Label(transition.cause) }).inc();
        }
    }
}

impl EncodeLabelValue for Label {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> std::fmt::Result {
        let word = match self.0 {
            Cause::Beat => "beat",
            Cause::Delete => "delete",
            Cause::Clear => "clear",
            Cause::Erase => "erase",
            Cause::Cap => "cap",
            Cause::Expiry => "expiry",
            Cause::Trim => "trim",
        };
        EncodeLabelValue::encode(&word, encoder)
    }
}
