//! The state that the sockets and requests of one thread share.

use std::sync::Arc;
use std::time::Duration;

use crate::address::Network;
use crate::auth::authenticator::Authenticator;
use crate::limits::config::{LimitsConfig, SocketConfig};
use crate::limits::connection_limiter::ConnectionLimiter;
use crate::limits::list_limiter::ListLimiter;
use crate::limits::quota::Quota;
use crate::limits::rates::Rates;
use crate::metrics::Metrics;
use crate::origin::Origins;
use crate::protocol::frame::{FrameLimits, Telling, WelcomeLimits};
use crate::shutdown::Stop;
use crate::visitor::VisitorClasses;
use domain::content_names::{ContentNamesUnavailable, NamedContents, ids_of, texts_of};
use domain::elsewhere::Elsewhere;
use domain::history::History;
use domain::ingest::lanes::Lanes;
use domain::rewards::lookup::Lookup;
use domain::time::clock::Clock;
use domain::time::guard::ClockStatus;
use domain::views::ViewCounting;
use model::content_name::{ContentIds, ContentName, ContentTexts};
use model::ids::{Content, UserId};
use model::mid_hash::MidHash;
use model::reading::Reading;

/// One for each thread, shared by its sockets and requests, so that they have the same semantics.
pub struct ConnectionContext {
    pub lanes: Lanes,
    pub clock: Arc<Clock>,
    pub history: History,
    /// The same for all threads; `None`: contents are named by numbers.
    pub contents: Option<NamedContents>,
    /// The same for all threads.
    pub connect_lookup: Arc<dyn Lookup>,
    /// The same for all threads; `None`: views are not counted.
    pub views: Option<Arc<ViewCounting>>,
    /// The history services, which answer for views where a gateway has no store.
    pub elsewhere: Option<Arc<Elsewhere>>,
    pub authenticator: Authenticator,
    /// Requests over HTTP; the same for all threads.
    pub requests: Arc<Rates<UserId>>,
    /// Requests over HTTP without a token; the same for all threads.
    pub anonymous: Arc<Rates<Network>>,
    /// The same for all threads.
    pub lists: Arc<ListLimiter>,
    /// The same for all threads.
    pub limiter: Arc<ConnectionLimiter>,
    pub origins: Origins,
    /// The same for all threads.
    pub visitors: Arc<VisitorClasses>,
    pub limits: LimitsConfig,
    /// The quota of frames of one socket.
    pub quota: Quota,
    pub socket: SocketConfig,
    pub reading: Reading,
    /// How long steady beats may wait for later ones; zero = they do not.
    pub steady_hold: Duration,
    pub metrics: Metrics,
    /// Names users in logs.
    pub mid_hash: MidHash,
    pub stop: Stop,
    pub clock_status: ClockStatus,
}

impl ConnectionContext {
    pub fn frame_limits(&self) -> FrameLimits {
        FrameLimits {
            ids: self.content_ids(),
            beats: self.limits.beats,
            items: self.limits.items,
            list: self.limits.list,
        }
    }

    pub fn content_ids(&self) -> ContentIds {
        ids_of(self.contents.as_ref())
    }

    /// The indexes of beats whose contents have numbers that belong to other names. `names`: of all of them.
    pub fn misnamed(&self, names: &[ContentName]) -> Vec<u32> {
        self.contents.as_ref().map(|contents| contents.taken(names)).unwrap_or_default()
    }

    /// The names of the contents of an answer, where contents have names.
    pub async fn texts_of(
        &self,
        contents: impl IntoIterator<Item = Content>,
    ) -> Result<ContentTexts, ContentNamesUnavailable> {
        texts_of(self.contents.as_ref(), contents).await
    }

    pub fn telling<'a>(&'a self, texts: &'a ContentTexts) -> Telling<'a> {
        Telling { reading: &self.reading, texts }
    }

    pub fn welcome_limits(&self) -> WelcomeLimits {
        WelcomeLimits {
            frame: self.limits.frame_bytes,
            beats: self.limits.beats,
            items: self.limits.items,
            list: self.limits.list,
            ack_delay: self.limits.ack_delay.as_millis() as u64,
            connections: self.limits.connections_per_user,
            frames_per_second: self.limits.frames_per_second,
            burst: self.limits.burst,
            bytes_per_second: self.limits.bytes_per_second,
            bytes_burst: self.limits.bytes_burst,
            ping: self.socket.ping.as_millis() as u64,
            idle: self.socket.idle.as_millis() as u64,
        }
    }
}
