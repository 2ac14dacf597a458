//! The parts of a gateway, wired.

use std::sync::Arc;

use prometheus_client::registry::Registry;
use tokio::sync::Notify;

use super::rewards::{Backstage, Calendar, Rewards};
use super::stores::Stores;
use crate::config::Config;
use crate::domain::clock::Clock;
use crate::domain::devices::block::Block;
use crate::domain::devices::fanout::Fanout;
use crate::domain::devices::neighbours::Neighbours;
use crate::domain::devices::presence::Presence;
use crate::domain::history::History;
use crate::domain::ingest::commit::Committer;
use crate::domain::ingest::health::StoreHealth;
use crate::domain::ingest::intake::Intake;
use crate::domain::ingest::lane::{Lane, Returns};
use crate::domain::ingest::metrics::{Metrics, UncommittedSlots};
use crate::domain::revocations::Revocations;
use crate::domain::timekeeper::Timekeeper;
use crate::edge;
use crate::edge::admin::Admin;
use crate::edge::admin::users::Users;
use crate::edge::auth::Verifier;
use crate::edge::auth::gate::Gate;
use crate::edge::connection::rate::Pace;
use crate::edge::desk::Desk;
use crate::edge::listener::room::Room;
use crate::edge::origin::Origins;
use crate::edge::rates::Rates;
use crate::model::rule::Admission;
use crate::shutdown::Shutdown;
use crate::telemetry::metrics;

pub(super) struct Gateway {
    pub registry: Registry,
    pub committer: Committer,
    pub timekeeper: Timekeeper,
    /// One for each edge thread.
    pub lanes: Vec<(Arc<Desk>, Returns)>,
    pub admin: Admin,
    pub users: Users,
    /// Of the admin listener's lane.
    pub office: Returns,
    pub backstage: Backstage,
    /// Hears the other gateways on the same store.
    pub neighbours: Arc<Neighbours>,
}

/// What decides who comes in, opened before anything is built on it.
pub(super) struct Door {
    pub verifier: Arc<Verifier>,
    pub presence: Arc<Presence>,
    pub revocations: Arc<Revocations>,
}

impl Gateway {
    pub fn build(
        config: &Config,
        stores: Stores,
        clock: Arc<Clock>,
        calendar: Calendar,
        door: Door,
        threads: usize,
        shutdown: &Shutdown,
    ) -> Self {
        let mut registry = metrics::registry();
        let ingest = Metrics::new(&mut registry);
        let rewards = Rewards::build(config, &stores, calendar, &clock, &mut registry);
        let Door { verifier, presence, revocations } = door;
        let channel = stores.channel.clone();
        let fanout =
            Arc::new(Fanout::new(presence.clone(), channel.clone(), config.push.steady_interval, &mut registry));
        let block = Arc::new(Block::with_channel(presence.clone(), channel));
        let gate = Gate::new(verifier, presence.clone(), block.clone(), revocations.clone(), &mut registry);
        let edge = edge::metrics::Metrics::new(&mut registry);
        let (hot, judged) = (stores.hot.clone(), clock.clone());
        let timekeeper = Timekeeper::new(move || hot.time(), judged, &mut registry);
        let history = History::new(stores.hot.clone(), clock.clone());
        let requests = Arc::new(Rates::new(config.limits.frames_per_second, config.limits.burst));
        let room = Room::new(&config.limits);
        let mid_hash = config.log.mid_hash();
        let bell = Arc::new(Notify::new());
        let (edge_lanes, returns): (Vec<_>, Vec<_>) = (0..threads).map(|_| Lane::new(bell.clone())).unzip();
        let (office_lane, office) = Lane::new(bell.clone());
        let lanes: Vec<_> = edge_lanes.iter().chain([&office_lane]).cloned().collect();
        registry.register_collector(Box::new(UncommittedSlots(lanes.clone())));
        let health = Arc::new(StoreHealth::default());
        let intake = |lane: &Arc<Lane>| Intake {
            lane: lane.clone(),
            admission: Admission { retention_ms: config.store.retention.as_millis() as u64 },
            clock: clock.clone(),
            metrics: ingest.clone(),
        };
        let desk = |lane: &Arc<Lane>| {
            Arc::new(Desk {
                intake: intake(lane),
                history: history.clone(),
                arrivals: rewards.arrivals.clone(),
                gate: gate.clone(),
                origins: Origins::new(config.server.origins.clone()),
                limits: config.limits.clone(),
                pace: Pace::new(config.limits.frames_per_second, config.limits.burst),
                socket: config.socket.clone(),
                reading: config.reading.clone(),
                metrics: edge.clone(),
                mid_hash: mid_hash.clone(),
                requests: requests.clone(),
                room: room.clone(),
                stop: shutdown.stop(),
                timekeeping: timekeeper.timekeeping(),
            })
        };
        let desks: Vec<_> = edge_lanes.iter().map(desk).collect();
        let users = Users {
            intake: intake(&office_lane),
            presence: presence.clone(),
            history: history.clone(),
            arrivals: rewards.arrivals.clone(),
            reading: config.reading.clone(),
            mid_hash: mid_hash.clone(),
        };
        let committer = Committer {
            store: stores.hot,
            clock,
            judge: rewards.judge,
            lanes,
            listeners: vec![fanout.clone()],
            bell,
            interval: config.store.group_interval,
            health: health.clone(),
            metrics: ingest,
        };
        let neighbours = Arc::new(Neighbours {
            fanout,
            block: block.clone(),
            memory: rewards.backstage.memory(),
            revocations: revocations.clone(),
        });
        let admin = Admin {
            health,
            stop: shutdown.stop(),
            timekeeping: timekeeper.timekeeping(),
            registry: Arc::default(),
            block,
            revocations,
            mid_hash,
            bus: rewards.health,
        };
        Gateway {
            registry,
            committer,
            timekeeper,
            lanes: desks.into_iter().zip(returns).collect(),
            admin,
            users,
            office,
            backstage: rewards.backstage,
            neighbours,
        }
    }
}
