//! How many files and sockets the process may have open.

use std::io;

use rlimit::Resource;

/// How far [`raise_limit`] can go.
pub(super) fn hard_limit() -> io::Result<u64> {
    Ok(Resource::NOFILE.get()?.1)
}

/// Raises the soft limit as far as the hard one allows: each socket takes one, and the usual soft limit is 1,024.
pub(super) fn raise_limit() {
    match rlimit::increase_nofile_limit(u64::MAX) {
        Ok(limit) => tracing::info!(event = "open_files", limit, "open files limit"),
        Err(error) => tracing::warn!(event = "open_files", %error, "cannot raise the open files limit"),
    }
}
