//! Settings of the limits and of sockets: sizes, counts, rates, silence.

use std::time::Duration;

use serde::Deserialize;

use model::content_name::{ContentIds, ContentName};

/// The most bytes of one full-size beat in JSON: `limits.beats` of them fit into one frame or body.
pub const BEAT_BYTES_MAX: usize = 250;

/// The most bytes of a frame or body beside its beats (operation, flag, device, connection).
pub const FRAME_OVERHEAD_BYTES_MAX: usize = 1024;

/// More bytes of a beat, and of a record, whose content has a name: the longest name that is all quotes instead of the longest
/// number.
pub const CONTENT_NAME_BYTES_MAX: usize = 2 * ContentName::BYTES_MAX - 20;

/// The most bytes of one record in JSON; a device name of control characters grows sixfold.
pub const RECORD_BYTES_MAX: usize = 768;

/// How contents are named.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContentsConfig {
    pub ids: ContentIds,
}

/// Sizes, counts and rates. HTTP requests are held to the same.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitsConfig {
    /// Bytes of one message.
    pub frame_bytes: usize,
    /// Bytes of one HTTP request body.
    pub body_bytes: usize,
    /// Beats in one frame or request.
    pub beats: usize,
    /// Contents in one `get` or `delete`.
    pub items: usize,
    /// Records in one page; more is clamped.
    pub list: usize,
    /// How late a client may ask for the acks of steady beats.
    #[serde(with = "humantime_serde")]
    pub ack_delay: Duration,
    /// Connections of one user.
    pub connections_per_user: usize,
    /// Connections in all; 0 = no limit.
    pub connections: usize,
    /// Connections of one address; 0 = no limit.
    pub connections_per_address: usize,
    /// Connections that have not been welcomed; 0 = no limit.
    pub handshakes: usize,
    /// Connections of one address that have not been welcomed; 0 = no limit.
    pub handshakes_per_address: usize,
    /// Upgrades a second, in all; 0 = no limit.
    pub upgrades_per_second: u32,
    /// Upgrades a second of one address; 0 = no limit.
    pub upgrades_per_second_per_address: u32,
    /// Frames a second, for long.
    pub frames_per_second: u32,
    /// Frames at once, after a pause.
    pub burst: u32,
    /// Bytes a second that one connection may send for long.
    pub bytes_per_second: u32,
    /// Bytes at once, after a pause.
    pub bytes_burst: u32,
    /// Rows a second that the lists of one user may look at for long.
    pub list_rows_per_second: u32,
    /// Rows at once, after a pause.
    pub list_rows_burst: u32,
    /// Beats of one connection that wait for their commit.
    pub uncommitted_slots: usize,
    /// Bytes that wait for one client to read them.
    pub write_buffer_bytes: usize,
    /// Calls over gRPC in progress.
    pub grpc_calls: usize,
}

/// How long a socket may be silent, and how often a client is to be heard.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SocketConfig {
    /// How often a playing client makes a beat.
    #[serde(with = "humantime_serde")]
    pub heartbeat_interval: Duration,
    /// Silence after which the server pings.
    #[serde(with = "humantime_serde")]
    pub ping: Duration,
    /// Silence after which it closes; longer than `ping`.
    #[serde(with = "humantime_serde")]
    pub idle: Duration,
    /// From the first byte of a message to its last, at most.
    #[serde(with = "humantime_serde")]
    pub message_timeout: Duration,
    /// From the upgrade to the `hello` of a socket without a token, at most.
    #[serde(with = "humantime_serde")]
    pub hello_timeout: Duration,
    /// How long sent bytes may wait for the client to read them.
    #[serde(with = "humantime_serde")]
    pub write_timeout: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_size_beat_is_no_longer_than_said() {
        let most = u64::MAX;
        let beat = format!(
            r#"{{"kind":65535,"oid":"{most}","pos":{most},"dur":{most},"state":"playing","session":"{most}","watched":{most},"rate":1.2345678901234567,"at":{most}}},"#
        );
        assert!(beat.len() <= BEAT_BYTES_MAX, "{} bytes", beat.len());
    }

    #[test]
    fn a_full_size_record_is_no_longer_than_said() {
        let (most, device) = (u64::MAX, "\\u0001".repeat(64));
        let record = format!(
            r#"{{"kind":65535,"oid":"{most}","pos":{most},"dur":{most},"state":"playing","session":"{most}","device":"{device}","watched":{most},"at":{most},"progress":0.12345678901234567,"finished":false,"resume":{most}}},"#
        );
        assert!(record.len() <= RECORD_BYTES_MAX, "{} bytes", record.len());
    }
}
