//! TLS to Redis: one server, a Cluster, and a master that Sentinel names; certificates that are wrong, and that are
//! replaced. What a gateway makes of it is in `gateway`.

pub mod authority;
mod cluster;
mod faults;
mod gateway;
mod rotation;
mod sentinel;
pub mod server;
