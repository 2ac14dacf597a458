//! Settings of the counters. Each is explained, with its default, in `deploy/heartline.toml`.

use std::time::Duration;

use serde::Deserialize;

use model::counters::direct::{DirectCounter, DirectDefinitions};
use model::counters::{CounterId, Definition, Definitions};
use model::reading::Reading;

/// `[counters]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountersConfig {
    /// From one flight of sums to the next.
    #[serde(with = "humantime_serde")]
    pub flush_interval: Duration,
    /// Counters that follow from the stored records.
    pub derived: Vec<Definition>,
    /// Whether `derived` was given, be it empty. No setting of its own.
    #[serde(skip)]
    pub derived_is_given: bool,
    /// Counters that requests change.
    pub direct: Vec<DirectConfig>,
}

/// One direct counter as it is written down.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirectConfig {
    pub id: CounterId,
    /// The names of the parts of its keys; none: there is one number.
    #[serde(default)]
    pub key: Vec<String>,
    pub min: Option<i64>,
    pub max: Option<i64>,
    #[serde(default)]
    pub initial: i64,
    #[serde(default)]
    pub thresholds: Vec<i64>,
}

impl CountersConfig {
    /// The derived counters. `reading`: says when a record is finished.
    pub fn derived(&self, reading: &Reading) -> Definitions {
        Definitions { counters: self.derived.clone(), reading: reading.clone() }
    }

    /// Counts the shipped derived counters, unless the settings say which ones to count. A direct counter keeps its id.
    /// Returns the ids of those that it adds.
    pub fn add_shipped(&mut self) -> Vec<CounterId> {
        if self.derived_is_given {
            return Vec::new();
        }
        let is_direct = |definition: &Definition| self.direct.iter().any(|direct| direct.id == definition.id);
        let added: Vec<_> = Definition::shipped().into_iter().filter(|definition| !is_direct(definition)).collect();
        let ids = added.iter().map(|definition| definition.id.clone()).collect();
        self.derived.extend(added);
        ids
    }

    pub fn direct(&self) -> DirectDefinitions {
        DirectDefinitions::new(self.direct.iter().map(DirectConfig::counter))
    }
}

impl DirectConfig {
    pub fn min(&self) -> i64 {
        self.min.unwrap_or(-DirectCounter::NUMBER_MAX)
    }

    pub fn max(&self) -> i64 {
        self.max.unwrap_or(DirectCounter::NUMBER_MAX)
    }

    fn counter(&self) -> DirectCounter {
        DirectCounter {
            id: self.id.clone(),
            key: self.key.clone(),
            min: self.min(),
            max: self.max(),
            initial: self.initial,
            thresholds: self.thresholds.clone(),
        }
    }
}
