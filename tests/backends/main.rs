//! The promises of each storage trait, one suite for all of its backends.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

#[path = "../support/bus.rs"]
mod bus;
mod embedded;
mod event_log;
mod hot_store;
mod hot_store_cap;
mod hot_store_erase;
mod hot_store_list;
mod hot_store_model;
mod hot_store_prune;
mod hot_store_rewards;
mod ledger;
#[allow(dead_code, reason = "the state search uses the rest")]
mod plain_store;
mod plain_user;
mod redis;
mod redis_listed;
mod redis_looks;
#[path = "../support/redis_server.rs"]
#[allow(dead_code, reason = "others use the rest")]
mod redis_server;
mod redis_slots;
mod redis_store;
mod requests;
mod revocation_file;
mod revocation_list;
mod transitions;
mod valkey;

use std::time::Duration;

/// The longest a test waits for what it was promised.
const PATIENCE: Duration = Duration::from_secs(60);

/// Hands the cases of the hot store's suite to a macro, with what it wants to be handed along.
macro_rules! hot_store_suite {
    ($each:ident, $($with:tt)*) => {
        $each! { $($with)*,
        hot_store {
            a_group_is_answered_in_its_order,
            a_resend_is_the_same_beat,
            a_group_may_be_committed_again,
            a_forgetting_that_comes_late_covers_nothing_newer,
            a_reopened_store_knows_everything,
            get_answers_in_the_order_asked,
            list_is_newest_first_and_filters_kinds,
            users_do_not_see_each_other,
            a_late_beat_does_not_undo_a_delete,
            a_late_beat_does_not_undo_a_clear,
            a_delete_of_nothing_is_done,
            a_forgetting_ahead_of_the_clock_is_refused,
            a_pause_refuses_what_was_played_in_it,
            what_outlives_the_retention_is_in_no_read,
            a_cursor_is_stable_while_beats_arrive,
            a_read_sees_what_was_answered_before_it,
        }
        hot_store_cap {
            a_new_content_takes_the_place_of_the_oldest,
            deleted_contents_count,
            deleted_contents_give_way_before_live_ones,
            a_late_content_takes_the_place_of_a_newer_deleted_one,
            many_deleted_contents_give_way_in_their_order,
            a_lowered_cap_is_reached_by_and_by,
            more_contents_than_are_remembered_as_the_oldest,
            what_was_evicted_never_comes_back_older,
        }
        hot_store_erase {
            an_erased_user_has_nothing_left,
            what_is_not_newer_than_an_erasure_never_comes_back,
            an_erasure_takes_the_changes_of_its_group_in_their_order,
            an_erasure_may_be_committed_again,
            an_erasure_makes_room,
        }
        hot_store_prune {
            what_has_expired_is_told_once_and_goes,
            whole_days_expire_at_midnight,
            what_a_clear_hides_goes_in_portions_and_each_record_is_told,
            a_row_whose_tombstone_holds_stays,
            pruning_makes_room,
            an_erasure_tells_of_each_record,
        }
        hot_store_list {
            a_long_history_is_listed_whole_and_in_order,
            any_number_of_contents_of_one_moment_is_listed,
            a_list_counts_every_row_that_it_looks_at,
            a_page_is_of_one_moment_while_commits_go_on,
            pages_hold_what_does_not_move_once_while_newer_contents_come_and_go,
            a_page_goes_on_behind_a_cursor_whose_content_is_gone,
        }
        hot_store_rewards {
            the_first_who_has_watched_enough_makes_the_claim,
            a_claim_and_its_outbox_entry_survive_together,
            of_a_group_that_races_for_a_claim_one_makes_it,
            nothing_is_claimed_without_room_in_the_outbox,
            what_was_played_long_ago_earns_nothing,
            another_session_and_another_day_begin_anew,
            forgetting_does_not_bring_a_claim_back,
            an_erasure_takes_the_claims_along,
            claims_are_kept_for_three_days,
            what_is_removed_from_the_outbox_is_gone_and_nothing_else,
        }
        hot_store_model {
            it_answers_like_the_plain_model,
            it_answers_like_the_plain_model_at_its_cap,
            it_answers_like_the_plain_model_when_switches_are_many,
        }
        }
    };
}

/// Each case as a test of its own.
macro_rules! tests {
    ($attribute:tt, $backend:ty, $($suite:ident { $($case:ident),* $(,)? })*) => {
        $($(one_case! { $attribute, $suite, $case, $backend })*)*
    };
}

macro_rules! one_case {
    ([$($attribute:meta)?], $suite:ident, $case:ident, $backend:ty) => {
        #[test]
        $(#[$attribute])?
        fn $case() {
            crate::$suite::$case::<$backend>();
        }
    };
}

/// All cases in one test, one after the other.
macro_rules! one_test {
    ([$($attribute:meta)?], $name:ident, $backend:ty, $($suite:ident { $($case:ident),* $(,)? })*) => {
        #[test]
        $(#[$attribute])?
        fn $name() {
            $($(
                eprintln!("{}", stringify!($case));
                crate::$suite::$case::<$backend>();
            )*)*
        }
    };
}

mod embedded_hot_store {
    hot_store_suite!(tests, [], crate::embedded::Embedded);
}

mod redis_hot_store {
    hot_store_suite!(tests, [ignore = "needs Redis: tests/run redis"], crate::redis::OneServer);
}

mod redis_cluster {
    hot_store_suite!(
        one_test,
        [ignore = "needs Redis: tests/run redis"],
        it_keeps_all_promises_of_a_hot_store,
        crate::redis::Cluster
    );
}
