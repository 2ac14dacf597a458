//! The messages of gateways without a store, for the edge that receives them.

pub use storage::gateway_messages::{
    Malformed, answers, changes, claims, decode_contents, encode_day, forwarded, names, pages, records, revocations,
    wire,
};
