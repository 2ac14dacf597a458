//! Subscribers: owners outside Heartline who get the events that they want at an endpoint of theirs.
//!
//! A [`Subscriber`] says what it wants and where. What happened to its queue is its [`Status`]. Each has a queue of its
//! own (`storage::owner_queues`), and so it is called an *owner* there.

mod delivery;
mod endpoint_rules;
mod endpoint_url;
mod event_type;
mod facts;
mod filter;
mod id;
mod newer;
mod owner;
mod retries;
mod secret;
mod status;
mod subscriber;

pub use delivery::{Delivery, Hmac};
pub use endpoint_rules::EndpointRules;
pub use endpoint_url::{EndpointHost, EndpointUrl, NoEndpointUrl};
pub use event_type::{EventType, NoEventType};
pub use facts::Facts;
pub use filter::{Filter, WrittenFilter};
pub use id::SubscriberId;
pub use newer::Newer;
pub use owner::{Dead, DeadReason, Number, Owner, Unreadable, Version};
pub use retries::{NextTry, Retries};
pub use secret::{NoSigningSecret, Secrets, SigningSecret};
pub use status::{Failing, Failure, FailureReason, PauseReason, State, Status};
pub use subscriber::Subscriber;
