//! Where the world comes in.
//!
//! [`listener`] accepts; a socket goes to [`connection`], anything else to [`http`]; both use [`auth`] to identify the
//! user and speak [`protocol`]. [`admin`] and [`control`] are listeners of their own. The domain behind them knows none
//! of it.

pub mod address;
pub mod admin;
pub mod auth;
pub mod config;
pub mod connection;
pub mod context;
pub mod control;
pub mod demo;
pub mod http;
pub mod limits;
pub mod listener;
pub mod metrics;
pub mod operator_server;
pub mod origin;
pub mod protocol;
pub mod visitor;
pub mod widget;
