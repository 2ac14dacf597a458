//! The JSON of protocol v1.
//!
//! Decoding takes one pass over borrowed text straight into the values of [`frame`](super::frame) (`envelope`,
//! `operation`). Only when that fails does a second, slower pass look for the path of the field and for the `seq`
//! (`decode`, `fault`): a correct client never pays for a good message. Encoding serializes borrowed views of the
//! values (`record`, `encode`, `answer`).
//!
//! Serde alone would accept too much (arrays for objects), and its messages quote what the client sent; hence the types
//! of `number`, `text` and `shape`. `null` means missing: an optional field is an `Option`, and a required one that is
//! `null` is reported as missing (`fault`).

mod answer;
mod body;
mod counters;
mod decode;
mod encode;
mod envelope;
mod events;
mod fault;
mod import_line;
mod live;
mod number;
mod operation;
mod query;
mod record;
mod revocation;
mod shape;
mod shares;
mod subscribers;
mod text;
mod user;
mod views;
mod widget;

#[cfg(test)]
mod decode_properties;
#[cfg(test)]
mod decode_tests;
#[cfg(test)]
mod encode_tests;
#[cfg(test)]
mod malformed_tests;
#[cfg(test)]
mod null_tests;

pub use answer::{
    BeatsAnswer, Connected, Exported, encode_asked_origin, encode_beats_answer, encode_connections, encode_export,
    encode_page, encode_record, encode_recording, encode_records, encode_rewards,
};
pub use body::{BeatsBody, RecordingBody, decode_beats_body, decode_get_body, decode_recording_body, decode_user_body};
pub use counters::{
    AdditionBody, decode_addition, decode_counter_key, decode_counter_keys, decode_counter_top, decode_recount,
    encode_counter_top, encode_counter_value, encode_counter_values, encode_job, encode_recount,
};
pub use decode::decode;
pub use encode::{encode, encode_into};
pub use events::{decode_event_request, encode_events};
pub use import_line::{ImportLine, decode_import_line};
pub use live::{
    RankedBy, decode_tail, decode_top, encode_live, encode_live_counts, encode_live_event, encode_series, encode_tail,
    encode_top,
};
pub use query::{
    ExportPage, ListQuery, decode_connection, decode_content, decode_export, decode_forgetting, decode_list,
    decode_list_query, decode_whom,
};
pub use revocation::{NamedRevoked, RevokeBody, decode_revoke_body, decode_revoked, encode_revocations};
pub use shares::encode_shares;
pub use subscribers::{
    FilterNames, SubscriberBody, decode_dead, decode_replay, decode_subscriber, decode_subscriber_list, encode_dead,
    encode_resent, encode_secret, encode_subscriber, encode_subscriber_list,
};
pub use views::{decode_view_body, decode_view_days, encode_view_days, encode_view_totals, encode_viewed};
pub use widget::encode_widget;
