//! The promises of the history store, one suite for all of its backends, and what `heartline history` prints of it.
//!
//! The tests on Cassandra need one and say so: `tests/run cassandra` starts it and runs them.

mod cassandra;
mod cassandra_node;
mod command;
mod counted;
mod expiry;
mod faults;
mod forgetting;
mod newest_wins;
pub mod plain_store;
mod refusals;
mod searched;
mod whole_users;
pub mod words;

use crate::support::redis_server;

use std::time::Duration;

/// The longest a test waits for what it was promised.
const PATIENCE: Duration = Duration::from_secs(60);

/// Each case as a test of its own, for this backend.
macro_rules! suite {
    ($backend:ty $(, $attribute:meta)?) => {
        suite! { @ [$($attribute)?] $backend,
            newest_wins::a_row_is_read_as_it_was_written
            newest_wins::of_two_versions_the_newer_stays_in_any_order
            newest_wins::writing_again_changes_nothing
            newest_wins::a_delete_keeps_an_older_record_away
            newest_wins::a_record_after_a_delete_keeps_the_tombstone
            newest_wins::no_row_is_made_of_two_versions
            newest_wins::a_record_that_a_clear_took_stays_away
            forgetting::a_watermark_takes_what_is_not_newer_in_any_order
            forgetting::a_clear_leaves_what_was_forgotten
            forgetting::what_was_forgotten_is_replaced_as_a_whole
            forgetting::an_erased_user_keeps_the_watermark_alone
            expiry::a_row_goes_at_its_own_time
            expiry::a_row_that_is_written_again_goes_no_later
            expiry::what_has_expired_is_not_written
            expiry::what_a_longer_retention_keeps_is_written
            expiry::a_read_leaves_out_what_has_expired_by_then
            expiry::what_was_forgotten_goes_a_retention_later
            expiry::a_pause_that_goes_on_stays
            expiry::a_pause_that_has_ended_goes_although_it_was_for_ever
            whole_users::an_unknown_user_has_nothing
            whole_users::users_do_not_see_each_other
            whole_users::a_large_user_is_written_and_read_whole
            whole_users::many_users_are_written_at_once
            searched::packs_in_any_order_with_repeats_give_the_same
        }
    };
    (@ $attribute:tt $backend:ty, $($module:ident::$case:ident)*) => { $(case! { $attribute $backend, $module $case })* };
}

macro_rules! case {
    ([$($attribute:meta)?] $backend:ty, $module:ident $case:ident) => {
        #[test]
        $(#[$attribute])?
        fn $case() {
            crate::history_store::$module::$case::<$backend>();
        }
    };
}

mod in_memory {
    suite!(crate::history_store::plain_store::PlainStore);
}

mod on_cassandra {
    suite!(crate::history_store::cassandra::OnCassandra, ignore = "needs Cassandra: tests/run cassandra");
}
