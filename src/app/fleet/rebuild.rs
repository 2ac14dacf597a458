//! Rebuilds a hot store that was lost, for the users of the history store.
//!
//! ```text
//! nothing of the old deployment runs ─▶ the bus is carried home ─▶ claims of two days ─▶ statistics ─▶ open
//! ```
//!
//! No records are copied: the head of a user is made when it is needed for the first time.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use tokio::time::sleep;

use super::super::error::StartError;
use super::super::rebuild::{RebuildError, RebuildOptions, Told};
use super::super::spawn::runtime;
use super::history_to_read;
use crate::config::Config;
use domain::time::clock;
use model::rewards::claim::ClaimKey;
use model::rewards::day::Day;
use model::rewards::reward_event::REWARD;
use model::rewards::zone::Zone;
use storage::event_bus::EventTopic;
use storage::event_bus::config::Backend as EventBackend;
use storage::event_bus::part::Part;
use storage::event_bus::source::EventArchive;
use storage::event_bus::unmarked::Unmarked;
use storage::hot_store::config::Backend;
use storage::statistics::config::Backend as StatisticsBackend;
use storage_kafka::event_bus::KafkaEvents;
use storage_kafka::history_bus::Carried;
use storage_kafka::history_bus::source::KafkaSource;
use storage_mongodb::{MongoConfig, Owner};
use storage_redis::rebuild::{Found, Rebuild};

/// A gateway that is connected shows within this time, also one that has just lost its connection.
const LOOKS: u32 = 5;
const LOOK_PAUSE: Duration = Duration::from_secs(1);
/// Between two looks at what is carried home.
const CARRY_PAUSE: Duration = Duration::from_secs(1);
/// Yesterday began no longer ago, whatever the zone.
const TWO_DAYS_MS: u64 = 50 * 3_600_000;
/// Events that are read in one step.
const STEP_EVENTS: usize = 5_000;

/// Rebuilds the hot store; blocks. `tell`: gets each step.
pub fn rebuild(config: &Config, options: RebuildOptions, tell: &mut dyn FnMut(Told)) -> Result<(), RebuildError> {
    if config.store.hot_store != Backend::Redis || !config.history.is_kept() {
        let why = "store.hot_store and history.store: only a hot store on Redis with a history store can be rebuilt";
        return Err(StartError::Misfit(why.to_owned()).into());
    }
    // It says whether the store can be read, before anything is written.
    drop(history_to_read(config)?);
    let runtime = runtime().map_err(StartError::Process)?;
    runtime.block_on(Run { config, options, tell }.run())
}

struct Run<'r> {
    config: &'r Config,
    options: RebuildOptions,
    tell: &'r mut dyn FnMut(Told),
}

impl Run<'_> {
    async fn run(mut self) -> Result<(), RebuildError> {
        let mut redis = Rebuild::look(&self.config.redis).await.map_err(StartError::from)?;
        match redis.found {
            Found::Empty => {}
            Found::Begun => self.line("an interrupted rebuild goes on".to_owned()),
            Found::Opening { .. } => return self.open(&mut redis).await,
            Found::Rebuilt => {
                self.line(format!("nothing to do: it was rebuilt as the deployment {}", redis.id()));
                return Ok(());
            }
        }
        self.nothing_runs(&mut redis).await?;
        self.carried_home().await?;
        self.rewards_are_known()?;
        let owner = self.owner().await?;
        self.say_what_is_lost(&owner);
        if self.options.dry_run {
            self.line("nothing was changed".to_owned());
            return Ok(());
        }
        redis.mark().await.map_err(StartError::from)?;
        self.refill_claims(&mut redis).await?;
        self.hand_over(&mut redis, owner).await?;
        self.open(&mut redis).await
    }

    /// Gateways and cascades of the old deployment would write with what they remember.
    async fn nothing_runs(&mut self, redis: &mut Rebuild) -> Result<(), RebuildError> {
        for _ in 0..LOOKS {
            let connected = redis.connected().await.map_err(StartError::from)?;
            if !connected.is_empty() {
                let who = format!("gateways or cascades are connected to Redis ({}); end them", connected.join(", "));
                return self.given_up(who);
            }
            sleep(LOOK_PAUSE).await;
        }
        self.line("no gateway and no cascade is connected to Redis".to_owned());
        Ok(())
    }

    /// Waits until everything that was sent to the history store is there.
    async fn carried_home(&mut self) -> Result<(), RebuildError> {
        let mut first = None;
        let carried = loop {
            let carried = self.carried().await?;
            let of = *first.get_or_insert(carried.unread);
            if carried.unread == 0 || self.options.dry_run {
                break carried;
            }
            if carried.jobs == 0 {
                let waits = format!(
                    "{} packs of changes wait in Kafka and no job reads them; start one (heartline serve --role job)",
                    carried.unread
                );
                self.given_up(waits)?;
                break carried;
            }
            (self.tell)(Told::Progress { what: "packs carried home", done: of.saturating_sub(carried.unread), of });
            sleep(CARRY_PAUSE).await;
        };
        match carried.unread {
            0 => self.line("all packs of changes are in the history store".to_owned()),
            unread => self.line(format!("{unread} packs of changes are not in the history store yet")),
        }
        if carried.quarantined > 0 {
            let topic = &self.config.kafka.topics.quarantine;
            let count = carried.quarantined;
            let unread = format!("the topic {topic} has {count} packs or rows that could not be read");
            self.given_up(format!("{unread}; have them mended and sent again, and delete the topic"))?;
        }
        self.say_newest(carried.newest);
        Ok(())
    }

    async fn carried(&self) -> Result<Carried, RebuildError> {
        let (kafka, group) = (self.config.kafka.clone(), KafkaSource::group(&self.config.events.deployment));
        let looked = tokio::task::spawn_blocking(move || Carried::look(&kafka, &group)).await;
        let looked = looked.map_err(|error| StartError::Process(error.into()))?;
        Ok(looked?)
    }

    fn say_newest(&mut self, newest: Option<u64>) {
        let line = match newest {
            Some(at) => {
                let ago = clock::wall().saturating_sub(at) / 1_000;
                format!("the newest pack is {ago} s old: later changes existed in Redis only, and are lost")
            }
            None => "no pack is in Kafka any more: it is not known how old the newest change is".to_owned(),
        };
        self.line(line);
    }

    async fn owner(&self) -> Result<Option<Owner>, RebuildError> {
        if self.config.statistics.store != StatisticsBackend::Mongodb {
            return Ok(None);
        }
        let config = MongoConfig::from(&self.config.statistics);
        Ok(Some(Owner::read(&config).await.map_err(StartError::from)?))
    }

    fn say_what_is_lost(&mut self, owner: &Option<Owner>) {
        let always = "subscribers and their queues, direct counters, revoked tokens, events that were not in Kafka yet";
        let lines = match owner {
            Some(_) => {
                [format!("lost with Redis: {always}; derived counters begin anew"), "totals of views stay".to_owned()]
            }
            None => [format!("lost with Redis: {always}"), "no statistics store is configured".to_owned()],
        };
        lines.into_iter().for_each(|line| self.line(line));
    }

    fn knows_rewards(&self) -> bool {
        self.config.events.event_bus == EventBackend::Kafka
    }

    fn rewards_are_known(&mut self) -> Result<(), RebuildError> {
        if self.knows_rewards() {
            return Ok(());
        }
        let unknown =
            "rewards of today and yesterday are in no topic of Kafka (events.event_bus) and may be given once more";
        self.given_up(unknown.to_owned())
    }

    /// Claims that were published before the loss: each reward is given once.
    async fn refill_claims(&mut self, redis: &mut Rebuild) -> Result<(), RebuildError> {
        if !self.knows_rewards() {
            return Ok(());
        }
        let zone = Zone::named(&self.config.rewards.zone).map_err(StartError::from)?;
        let now = clock::wall();
        let yesterday = Day::of_number(zone.day(now).number().saturating_sub(1));
        let (kafka, deployment) = (&self.config.kafka, &self.config.events.deployment);
        let archive = KafkaEvents::open(kafka, deployment, EventTopic::Rewards, Arc::new(Unmarked));
        let archive = archive.map_err(StartError::from)?;
        let source = format!("/heartline/{deployment}");
        let (begins, ends) = (archive.before(now - TWO_DAYS_MS).await?, archive.ends().await?);
        let noted = redis.progress().await.map_err(StartError::from)?;
        let begin_of = |part: &Part| begins.get(part).copied().unwrap_or_default();
        let of = ends.iter().map(|(part, end)| end.saturating_sub(begin_of(part))).sum();
        let (mut read, mut kept) = (0, 0);
        for (part, end) in ends {
            let begin = begin_of(&part);
            let mut after = noted.get(part.as_str()).copied().unwrap_or_default().max(begin);
            read += after - begin;
            while after < end {
                let events = archive.read(part.clone(), after, STEP_EVENTS).await?;
                let claims = events.events.iter().filter_map(|(_, event)| claim_of(event, &source));
                let claims: Vec<ClaimKey> = claims.filter(|claim| claim.day >= yesterday).collect();
                redis.put_claims(&claims).await.map_err(StartError::from)?;
                redis.note_progress(part.as_str(), events.to).await.map_err(StartError::from)?;
                kept += claims.len();
                read += events.to - after;
                after = if events.is_end { end } else { events.to };
                (self.tell)(Told::Progress { what: "events of rewards", done: read.min(of), of });
            }
        }
        self.line(format!("{kept} rewards of today and yesterday are known again"));
        Ok(())
    }

    /// Totals stay where they are. Numbers of generations are not used again.
    async fn hand_over(&mut self, redis: &mut Rebuild, owner: Option<Owner>) -> Result<(), RebuildError> {
        let Some(Owner { deployment, generations }) = owner else { return Ok(()) };
        if let Some(last) = generations.last() {
            redis.put_generations(*last, generations.clone()).await.map_err(StartError::from)?;
        }
        if deployment.is_some() {
            let config = MongoConfig::from(&self.config.statistics);
            Owner::hand_over(&config, redis.id()).await.map_err(StartError::from)?;
            self.line("the statistics store belongs to the new deployment".to_owned());
        }
        Ok(())
    }

    async fn open(&mut self, redis: &mut Rebuild) -> Result<(), RebuildError> {
        redis.open(clock::wall()).await.map_err(StartError::from)?;
        self.line(format!("Redis is rebuilt: deployment {}; start the gateways", redis.id()));
        Ok(())
    }

    /// An error, unless it is given up.
    fn given_up(&mut self, what: String) -> Result<(), RebuildError> {
        if self.options.force || self.options.dry_run {
            self.line(format!("{}: {what}", if self.options.force { "given up" } else { "would stop it" }));
            return Ok(());
        }
        Err(RebuildError::NotYet(what))
    }

    fn line(&mut self, line: String) {
        (self.tell)(Told::Line(line));
    }
}

/// The claim that an event tells of, if it is one of this deployment.
fn claim_of(event: &str, source: &str) -> Option<ClaimKey> {
    #[derive(Deserialize)]
    struct Event<'e> {
        id: &'e str,
        source: &'e str,
        #[serde(rename = "type")]
        kind: &'e str,
    }
    let event: Event<'_> = serde_json::from_str(event).ok()?;
    (event.kind == REWARD && event.source == source).then(|| event.id.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_found_in_the_events_of_their_deployment() {
        let event =
            |id: &str, source: &str, kind: &str| format!(r#"{{"id":"{id}","source":"{source}","type":"{kind}"}}"#);
        let claim = |event: &str| claim_of(event, "/heartline/eu").map(|claim| claim.to_string());
        let id = "first-view:2026-11-20:42:1:100";
        assert_eq!(claim(&event(id, "/heartline/eu", REWARD)).as_deref(), Some(id));
        for other in [
            event(id, "/heartline/us", REWARD),
            event(id, "/heartline/eu", "dev.heartline.crossing.v1"),
            event("x", "/heartline/eu", REWARD),
            "no event".to_owned(),
        ] {
            assert_eq!(claim(&other), None, "{other}");
        }
    }
}
