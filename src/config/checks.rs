//! Settings that are right by themselves and wrong together, or out of bounds.

use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use super::Config;
use super::error::Problem;
use super::layers::Layers;
use edge::auth::SECRET_BYTES_MIN;
use edge::config::ForwardedHeader;
use edge::limits::config::{BEAT_BYTES_MAX, CONTENT_NAME_BYTES_MAX, FRAME_OVERHEAD_BYTES_MAX, RECORD_BYTES_MAX};
use model::content_name::ContentIds;
use model::subscribers::{EndpointHost, EndpointUrl, NoEndpointUrl};
use storage::event_bus::config::{RETENTION_BYTES_MIN, is_deployment};

/// A frame or body may not be larger, whatever is configured: every thread holds some of them at once.
const FRAME_BYTES_LIMIT: usize = 16 * 1024 * 1024;

const THREADS_LIMIT: usize = 1024;

pub(super) const STEADY_INTERVAL: &str = "push.steady_interval";

/// A shorter time is over before the next look at the clock.
const SHORTEST: Duration = Duration::from_millis(1);

/// Ten years: no clock overflows when it is added.
pub(super) const LONGEST: Duration = Duration::from_secs(3650 * 24 * 3600);

/// How often published keys may be fetched.
const REFRESH: RangeInclusive<Duration> = Duration::from_mins(1)..=Duration::from_hours(24);

const GROUP_INTERVAL_LIMIT: Duration = Duration::from_secs(1);

/// Everything that is wrong, each with the setting to change.
pub(super) fn problems(config: &Config, layers: &Layers) -> Vec<Problem> {
    let mut checks = Checks::new(layers);
    checks.listeners(config);
    checks.key(config);
    checks.key_url(config);
    checks.subjects(config);
    checks.contents(config);
    checks.control_token(config);
    checks.grpc(config);
    checks.origins(config);
    checks.proxies(config);
    checks.certificate(config);
    checks.counts(config);
    checks.sizes(config);
    checks.times(config);
    checks.fleet(config);
    checks.rewards(config);
    checks.events(config);
    checks.kafka(config);
    checks.history(config);
    checks.history_service(config);
    checks.cassandra(config);
    checks.reading(config);
    checks.live(config);
    checks.statistics(config);
    checks.views(config);
    checks.counters(config);
    checks.subscribers(config);
    checks.into_problems()
}

pub(super) struct Checks<'a> {
    layers: &'a Layers,
    problems: Vec<Problem>,
}

impl<'a> Checks<'a> {
    pub(super) fn new(layers: &'a Layers) -> Self {
        Checks { layers, problems: Vec::new() }
    }

    /// The problems found.
    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }
}

impl Checks<'_> {
    /// `setting`, perhaps with the index of an entry, is where the mistake can be mended. The message names every other
    /// setting that it depends on: when one of them could not be taken, its default proves nothing.
    pub(super) fn require(&mut self, holds: bool, setting: &str, message: impl FnOnce() -> String) {
        if holds {
            return;
        }
        let message = message();
        if !self.layers.names_broken(setting) && !self.layers.names_broken(&message) {
            self.problems.push(Problem::new(self.layers.place(setting), message));
        }
    }

    /// Whether a file or the environment sets it, be it to the default.
    pub(super) fn is_given(&self, setting: &str) -> bool {
        self.layers.is_given(setting)
    }

    fn listeners(&mut self, config: &Config) {
        let (public, admin, control) = (config.server.listen, config.admin.listen, config.control.listen);
        for (setting, address, other, taken) in [
            ("admin.listen", admin, "server.listen", public),
            ("control.listen", control, "server.listen", public),
            ("control.listen", control, "admin.listen", admin),
        ] {
            self.require(address.port() == 0 || address != taken, setting, || {
                format!("{address} is also the address of {other}; choose another one")
            });
        }
        self.require(public.ip().is_loopback() || !config.demo.enabled, "demo.enabled", || {
            format!(
                "the demo hands out a token for any user, and server.listen ({public}) is not a loopback address; set \
                 demo.enabled = false, or listen on 127.0.0.1"
            )
        });
    }

    fn key(&mut self, config: &Config) {
        let (public, secret) = (config.server.listen, &config.auth.hs256_secret);
        let keys = !secret.is_empty() || config.auth.has_key_set();
        self.require(public.ip().is_loopback() || keys, "auth.hs256_secret", || {
            format!(
                "a key is required, because server.listen ({public}) is not a loopback address; set auth.hs256_secret (at \
                 least {SECRET_BYTES_MIN} bytes), auth.jwks_file or auth.jwks_url, or listen on 127.0.0.1"
            )
        });
        let bytes = secret.expose().len();
        self.require(secret.is_empty() || bytes >= SECRET_BYTES_MIN, "auth.hs256_secret", || {
            format!("is {bytes} bytes long; use at least {SECRET_BYTES_MIN}")
        });
    }

    fn key_url(&mut self, config: &Config) {
        let refresh = config.auth.jwks_refresh;
        self.require(REFRESH.contains(&refresh), "auth.jwks_refresh", || format!("is {refresh:?}; set 1m to 24h"));
        let Some(url) = config.auth.jwks_url() else { return };
        let url: Result<EndpointUrl, _> = url.parse();
        let wrong = match &url {
            Err(NoEndpointUrl::User) => Some("must not have a user or a password"),
            Err(_) => Some("must be a URL, such as https://id.example.com/.well-known/jwks.json"),
            Ok(url) if url.is_https() || is_here(&url.host()) => None,
            Ok(_) => Some("must begin with https://, because a changed answer would let in forged tokens"),
        };
        self.require(wrong.is_none(), "auth.jwks_url", || wrong.unwrap_or_default().to_owned());
    }

    fn control_token(&mut self, config: &Config) {
        let (listen, token) = (config.control.listen, &config.control.token);
        self.require(listen.ip().is_loopback() || !token.is_empty(), "control.token", || {
            format!(
                "is empty, and control.listen ({listen}) is not a loopback address; set a token of at least \
                 {SECRET_BYTES_MIN} bytes, or listen on 127.0.0.1"
            )
        });
        let bytes = token.expose().len();
        self.require(token.is_empty() || bytes >= SECRET_BYTES_MIN, "control.token", || {
            format!("is {bytes} bytes long; needs at least {SECRET_BYTES_MIN}")
        });
        self.control_callers(config);
        for (index, host) in config.control.hosts.iter().enumerate() {
            let is_name =
                !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
            self.require(is_name, &format!("control.hosts[{index}]"), || {
                format!("{host:?} is not a host name; write gateway-1, without a scheme, port or path")
            });
        }
        let plain = token.expose().bytes().all(|byte| byte.is_ascii_graphic());
        self.require(plain, "control.token", || {
            "must be visible ASCII without spaces: it is sent in a header".to_owned()
        });
    }

    fn origins(&mut self, config: &Config) {
        for (index, origin) in config.server.origins.iter().enumerate() {
            self.require(is_origin(origin), &format!("server.origins[{index}]"), || {
                format!(
                    "{origin:?} is not an origin; write it as browsers send it, such as \"https://example.org\": in lower \
                     case, with a port if it is not the default one, and without a path; or \"null\" or \"file://\""
                )
            });
        }
    }

    fn proxies(&mut self, config: &Config) {
        let server = &config.server;
        let believes = server.proxy_protocol || server.forwarded_header != ForwardedHeader::Absent;
        self.require(!believes || !server.trusted_proxies.is_empty(), "server.trusted_proxies", || {
            "is empty; list the proxies, or set server.proxy_protocol = false and server.forwarded_header = \"\""
                .to_owned()
        });
    }

    fn certificate(&mut self, config: &Config) {
        let has = |path: &Path| !path.as_os_str().is_empty();
        let (chain, key) = (has(&config.server.tls_cert), has(&config.server.tls_key));
        self.require(chain || !key, "server.tls_cert", || {
            "is empty, but server.tls_key is set; set both or none".to_owned()
        });
        self.require(key || !chain, "server.tls_key", || {
            "is empty, but server.tls_cert is set; set both or none".to_owned()
        });
    }

    fn counts(&mut self, config: &Config) {
        let limits = &config.limits;
        self.require(config.server.threads <= THREADS_LIMIT, "server.threads", || {
            format!("is {}; set at most {THREADS_LIMIT}", config.server.threads)
        });
        self.at_least_one("limits.beats", limits.beats as u64);
        self.at_least_one("limits.items", limits.items as u64);
        self.at_least_one("limits.list", limits.list as u64);
        self.at_least_one("limits.connections_per_user", limits.connections_per_user as u64);
        self.at_least_one("limits.frames_per_second", limits.frames_per_second.into());
        self.at_least_one("limits.burst", limits.burst.into());
        self.at_least_one("limits.bytes_per_second", limits.bytes_per_second.into());
        self.at_least_one("limits.list_rows_per_second", limits.list_rows_per_second.into());
        self.at_least_one("limits.list_rows_burst", limits.list_rows_burst.into());
        self.require(limits.uncommitted_slots >= limits.beats, "limits.uncommitted_slots", || {
            format!(
                "is {}; set at least limits.beats ({}), because one frame may hold that many",
                limits.uncommitted_slots, limits.beats
            )
        });
    }

    pub(super) fn at_least_one(&mut self, setting: &str, number: u64) {
        self.require(number >= 1, setting, || "is 0; set at least 1".to_owned());
    }

    fn sizes(&mut self, config: &Config) {
        let limits = &config.limits;
        let of_name = match config.contents.ids {
            ContentIds::Number => 0,
            ContentIds::Any => CONTENT_NAME_BYTES_MAX,
        };
        let beat = BEAT_BYTES_MAX + of_name;
        let beats = limits.beats.saturating_mul(beat).saturating_add(FRAME_OVERHEAD_BYTES_MAX);
        for (setting, bytes) in [("limits.frame_bytes", limits.frame_bytes), ("limits.body_bytes", limits.body_bytes)] {
            self.require(bytes >= beats, setting, || {
                format!(
                    "{bytes} bytes cannot hold limits.beats ({}) beats of {beat} bytes; needs at least {beats}",
                    limits.beats
                )
            });
            self.require(bytes <= FRAME_BYTES_LIMIT, setting, || {
                format!("is {bytes} bytes; set at most {FRAME_BYTES_LIMIT}")
            });
        }
        // A client's frame has two bytes, eight of its length and four of its mask before its payload.
        let frame = limits.frame_bytes.saturating_add(14);
        self.require(limits.bytes_burst as usize >= frame, "limits.bytes_burst", || {
            format!("{} bytes cannot hold one frame of limits.frame_bytes; needs at least {frame}", limits.bytes_burst)
        });
        // An ack may have a record for each beat that waited.
        let most = limits.items.max(limits.list).max(limits.uncommitted_slots);
        // Twice: half of it may be full of what was said before when a full answer comes.
        let record = RECORD_BYTES_MAX + of_name;
        let records = most.saturating_mul(record).saturating_add(FRAME_OVERHEAD_BYTES_MAX).saturating_mul(2);
        self.require(limits.write_buffer_bytes >= records, "limits.write_buffer_bytes", || {
            format!(
                "{} bytes cannot hold two answers of {most} records of {record} bytes (the largest of limits.items, \
                 limits.list and limits.uncommitted_slots); needs at least {records}",
                limits.write_buffer_bytes
            )
        });
    }

    fn times(&mut self, config: &Config) {
        let (server, socket) = (&config.server, &config.socket);
        let durations = [
            ("server.drain_timeout", server.drain_timeout),
            ("server.handshake_timeout", server.handshake_timeout),
            ("server.request_timeout", server.request_timeout),
            ("server.keep_alive", server.keep_alive),
            ("socket.heartbeat_interval", socket.heartbeat_interval),
            ("socket.ping", socket.ping),
            ("socket.idle", socket.idle),
            ("socket.message_timeout", socket.message_timeout),
            ("socket.hello_timeout", socket.hello_timeout),
            ("socket.write_timeout", socket.write_timeout),
            ("limits.ack_delay", config.limits.ack_delay),
            (STEADY_INTERVAL, config.push.steady_interval),
            ("store.retention", config.store.retention),
            ("store.prune_interval", config.store.prune_interval),
            ("store.clock_step_max", config.store.clock_step_max),
            ("events.retention", config.events.retention),
        ];
        for (setting, duration) in durations {
            self.require(duration >= SHORTEST, setting, || "must be at least 1ms".to_owned());
            self.require(duration <= LONGEST, setting, || "must be at most 3650d".to_owned());
        }
        let watch = server.watch_files;
        let is_sane = watch.is_zero() || (Duration::from_secs(1)..=Duration::from_secs(3_600)).contains(&watch);
        self.require(is_sane, "server.watch_files", || format!("is {watch:?}; set 1s to 1h, or 0s"));
        self.require(server.lame_duck <= LONGEST, "server.lame_duck", || "must be at most 3650d".to_owned());
        self.require(config.auth.token_life_max <= LONGEST, "auth.token_life_max", || {
            "must be at most 3650d; 0s = no limit".to_owned()
        });
        self.require(config.store.group_interval <= GROUP_INTERVAL_LIMIT, "store.group_interval", || {
            "must be at most 1s: an ack may wait that long".to_owned()
        });
        let hold = config.store.steady_hold;
        self.require(hold <= config.push.steady_interval, "store.steady_hold", || {
            let interval = config.push.steady_interval;
            format!("{hold:?} must not be longer than push.steady_interval ({interval:?}): it would delay pushes")
        });
        self.require(hold <= config.limits.ack_delay, "store.steady_hold", || {
            let delay = config.limits.ack_delay;
            format!("{hold:?} must not be longer than limits.ack_delay ({delay:?}): no beat would be held so long")
        });
        self.require(hold <= socket.idle / 2, "store.steady_hold", || {
            format!(
                "{hold:?} must be at most half of socket.idle ({:?}): a client would take it for a lost ack",
                socket.idle
            )
        });
        let share = config.store.ready_share;
        self.require(share > 0.0 && share <= 1.0, "store.ready_share", || "must be above 0 and at most 1".to_owned());
        self.require(socket.ping < socket.idle, "socket.idle", || {
            format!(
                "{:?} must be longer than socket.ping ({:?}), so that a client can answer a ping",
                socket.idle, socket.ping
            )
        });
    }

    fn events(&mut self, config: &Config) {
        let events = &config.events;
        self.require(is_deployment(&events.deployment), "events.deployment", || {
            format!("{:?} cannot be used; write 1 to 64 lower-case letters, digits and hyphens", events.deployment)
        });
        self.require(events.retention_bytes >= RETENTION_BYTES_MIN, "events.retention_bytes", || {
            format!("is {} bytes; set at least {RETENTION_BYTES_MIN}", events.retention_bytes)
        });
    }
}

/// As a browser writes it: anything else would be compared and never be equal.
fn is_origin(text: &str) -> bool {
    let Some((scheme, host)) = text.split_once("://") else { return text == "null" };
    // A page without a host has this origin: some web views send it, while browsers send "null".
    if (scheme, host) == ("file", "") {
        return true;
    }
    let plain = |part: &str, also: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || also.contains(c))
    };
    plain(scheme, "+-.") && plain(host, "-._:[]")
}

fn is_here(host: &EndpointHost<'_>) -> bool {
    match host {
        EndpointHost::Address(address) => address.is_loopback(),
        EndpointHost::Name(name) => *name == "localhost",
    }
}

#[cfg(test)]
#[path = "checks_tests.rs"]
mod tests;
