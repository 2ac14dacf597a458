//! Where the world comes in.
//!
//! [`listener`] accepts; a socket goes to [`connection`], anything else to [`http`]; both let [`auth`] say who is there and
//! speak [`protocol`]. [`admin`] is a listener of its own. The domain behind them knows none of it.

pub mod address;
pub mod admin;
pub mod auth;
pub mod config;
pub mod connection;
pub mod demo;
pub mod desk;
pub mod http;
pub mod listener;
pub mod metrics;
pub mod origin;
pub mod protocol;
pub mod rates;
pub mod traffic;
