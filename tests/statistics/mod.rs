//! The promises of the statistics store, one suite for all of its backends.
//!
//! The tests on MongoDB need a server that speaks its protocol and say so: `tests/run statistics` starts it and runs them.

mod away;
mod backlog;
mod counted;
mod counters;
mod fake;
mod kills;
mod mongo;
mod once;
mod reads;
mod refusals;
mod restarts;
mod searched;
mod searched_counters;
mod units;
mod words;

use crate::{fake_statistics as statistics, mongo_server};

use std::time::Duration;

/// The longest a test waits for what it was promised.
const PATIENCE: Duration = Duration::from_secs(120);

/// Each case as a test of its own, for this backend.
macro_rules! suite {
    ($backend:ty $(, $attribute:meta)?) => {
        suite! { @ [$($attribute)?] $backend,
            once::a_flight_that_is_written_twice_is_applied_once
            once::a_flight_of_two_writers_at_once_is_applied_once
            once::a_lower_number_changes_nothing
            once::a_flight_of_five_thousand_contents_is_written_whole
            once::a_sum_that_changes_nothing_needs_no_document
            once::sums_may_be_negative
            units::their_numbers_are_independent
            units::they_may_make_a_document_at_the_same_time
            restarts::a_restart_takes_the_total_and_all_days
            restarts::a_restart_leaves_other_contents_alone
            restarts::a_restart_keeps_what_its_flight_has
            restarts::a_restart_of_an_unknown_content_is_its_beginning
            restarts::a_restart_that_comes_late_changes_nothing
            restarts::a_content_goes_on_after_a_restart
            reads::totals_come_in_the_order_asked
            reads::nothing_is_known_of_nothing
            reads::days_are_those_from_the_first_to_the_last
            reads::days_lie_in_months_and_years
            reads::reads_see_every_write_that_was_answered
            counters::a_counter_in_a_flight_that_is_written_twice_is_added_once
            counters::counters_and_views_share_a_flight
            counters::a_counter_falls_and_rises
            counters::a_counter_of_which_nothing_is_left_needs_no_document
            counters::numbers_come_in_the_order_asked
            counters::the_largest_come_first
            counters::the_largest_of_a_prefix_begin_with_its_parts
            counters::pages_lead_through_all_keys
            counters::a_generation_is_dropped_alone
            counters::a_late_flight_of_a_dropped_generation_harms_no_other
            searched::flights_with_repeats_and_late_writers_give_the_same
        }
    };
    (@ $attribute:tt $backend:ty, $($module:ident::$case:ident)*) => { $(case! { $attribute $backend, $module $case })* };
}

macro_rules! case {
    ([$($attribute:meta)?] $backend:ty, $module:ident $case:ident) => {
        #[test]
        $(#[$attribute])?
        fn $case() {
            crate::statistics::$module::$case::<$backend>();
        }
    };
}

mod in_memory {
    suite!(crate::statistics::statistics::FakeStatistics);
}

mod on_mongodb {
    suite!(crate::statistics::mongo::OnMongo, ignore = "needs MongoDB's protocol: tests/run statistics");
}
