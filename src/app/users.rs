//! The operations of operators on the data of one user.

use std::net::SocketAddr;
use std::sync::Arc;

use super::assembly::Assembly;
use super::common::Common;
use domain::ingest::lanes::Lanes;
use domain::rewards::lookup::Lookup;
use domain::stored_users::Users;
use domain::views::ViewCounting;
use edge::called_users::CalledUsers;
use edge::control::users::{UserOperations, routes};
use model::reading::Reading;

/// `main`: the address of the main listener, which identifies this process.
pub(super) fn build(
    reading: &Reading,
    lanes: Lanes,
    connect_lookup: Arc<dyn Lookup>,
    views: Option<Arc<ViewCounting>>,
    main: SocketAddr,
    common: &Common,
    assembly: &mut Assembly,
) {
    assembly.serve_control(routes(UserOperations {
        lanes,
        presence: common.presence.clone(),
        clock: common.clock.clone(),
        history: common.history.clone(),
        users: Users { store: common.hot.clone(), clock: common.clock.clone(), cold: common.cold.clone() },
        connect_lookup,
        views,
        reading: reading.clone(),
        mid_hash: common.mid_hash.clone(),
        called_users: CalledUsers(common.names.clone()),
        contents: common.contents.clone(),
        gateway: name_of(main),
    }));
}

/// Told apart from others by the machine's name, which in a container is the container's.
fn name_of(main: SocketAddr) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{}:{}", host.trim_end(), main.port())
}
