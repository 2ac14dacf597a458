//! The published protocol, promise by promise, over real sockets to the real binary.
//!
//! One file per subject. A name is a promise; nothing of `src/` is imported.

#[path = "../support/mod.rs"]
mod support;

mod acks;
mod addresses;
mod admission;
mod beats_over_http;
mod bus_away;
mod closing;
mod coalescing;
mod cross_origin;
mod crowds;
mod deletes;
mod demo_routes;
mod drain;
mod durability;
mod erasure;
mod events_command;
mod floods;
mod frames;
mod greeting;
mod history_over_http;
mod isolation;
mod keys;
mod kicks;
mod late_acks;
mod lists;
mod loads;
mod malformed;
mod operations;
mod origins;
mod outboxes;
mod problems;
mod push;
mod push_steady;
mod reads;
mod recording;
mod rejections;
mod renewal;
mod resume;
mod retention;
mod revocation;
mod rewards_credit;
mod rewards_events;
mod rewards_flag;
mod rewards_forgery;
mod rewards_http;
mod rewards_lookups;
mod rewards_midnight;
mod rewards_race;
mod rewards_views;
mod sequence;
mod settings;
mod silence;
mod slow_readers;
mod start;
mod strikes;
mod tls;
mod tokens;
mod two_gateways;
mod which_beat_wins;
mod wire_errors;
