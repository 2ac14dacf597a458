//! The listeners and protocols of the gateway.
//!
//! [`listener`] accepts connections; a socket goes to [`connection`], any other request to [`http`]. Both use [`auth`]
//! to identify the user, and speak [`protocol`]. [`admin`] and [`control`] are listeners of their own. The domain
//! depends on none of them.

pub mod address;
pub mod admin;
pub mod auth;
pub mod called_users;
pub mod config;
pub mod connection;
pub mod context;
pub mod control;
pub mod demo;
pub mod grpc;
pub mod http;
pub mod limits;
pub mod listener;
pub mod metrics;
pub mod operator_server;
pub mod origin;
pub mod protocol;
pub mod shutdown;
pub mod visitor;
pub mod widget;
