//! The cases of each suite, handed to a macro that makes tests of them.

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
            a_cleared_content_comes_back_only_above_the_floor,
            many_deleted_contents_give_way_in_their_order,
            a_lowered_cap_is_reached_by_and_by,
            more_contents_than_are_remembered_as_the_oldest,
            what_was_evicted_never_comes_back_older,
        }
        hot_store_erase {
            an_erased_user_has_nothing_left,
            an_erasure_that_arrives_again_takes_nothing_that_was_made_since,
            an_erasure_that_is_late_leaves_what_is_newer,
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
            a_page_goes_on_after_a_cursor_whose_content_is_gone,
        }
        hot_store_finished {
            a_list_of_finished_records_holds_those_alone,
            a_record_is_in_the_list_of_what_it_is_now,
            unfinished_records_behind_many_others_are_found,
        }
        hot_store_users {
            users_with_records_are_named_once_and_in_order,
            a_walk_meets_each_record_once_whatever_is_played_meanwhile,
            a_walk_shows_the_live_records_of_some_kinds,
            users_without_a_record_that_is_shown_are_not_named,
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

/// The same of notices.
macro_rules! notices_suite {
    ($each:ident, $($with:tt)*) => {
        $each! { $($with)*,
        notices {
            a_change_leaves_a_notice_of_what_is_followed,
            steady_beats_leave_one_notice_that_is_due_later,
            a_beat_after_the_take_leaves_a_notice_of_its_own,
            what_is_taken_comes_again_until_it_is_removed,
            each_forgetting_is_told_apart,
            notices_of_many_users_are_all_taken,
            of_a_position_that_changes_all_the_time_one_notice_waits_that_is_due_at_once,
            a_user_has_some_notices_that_are_due_at_once_and_the_rest_later,
        }
        }
    };
}

/// The same of the views' suite.
macro_rules! views_suite {
    ($each:ident, $($with:tt)*) => {
        $each! { $($with)*,
        views {
            each_view_is_counted_in_its_content_and_day,
            a_session_counts_once_in_two_days,
            a_session_counts_once_around_midnight,
            a_deleted_content_begins_anew,
            a_forgotten_user_leaves_the_numbers,
            views_at_one_time_are_all_counted,
        }
        }
    };
}

/// The same of views that commits count.
macro_rules! playback_suite {
    ($each:ident, $($with:tt)*) => {
        $each! { $($with)*,
        hot_store_views {
            a_user_views_a_content_once_a_day,
            a_view_needs_the_credit_of_rewards,
            forgetting_lowers_no_views,
            a_view_is_no_reward,
            a_group_that_races_for_a_view_counts_one,
            deleted_views_by_playback_begin_anew,
        }
        }
    };
}

/// The same of derived counters.
macro_rules! counters_suite {
    ($each:ident, $($with:tt)*) => {
        $each! { $($with)*,
        counters {
            each_counter_is_a_count_of_the_records,
            a_record_that_gives_way_or_expires_is_no_longer_counted,
            a_new_counter_counts_what_is_there_while_commits_go_on,
            a_counter_whose_definition_stays_is_read_while_another_is_counted,
            the_top_is_ordered_and_within_its_prefix,
        }
        }
    };
}

/// The same of the direct counters' suite.
macro_rules! direct_suite {
    ($each:ident, $($with:tt)*) => {
        $each! { $($with)*,
        direct_counters {
            a_step_changes_its_key_within_the_bounds,
            a_request_with_an_id_is_done_once_in_a_day,
            a_refusal_is_not_remembered,
            each_crossing_is_one_entry_in_its_order,
            a_new_threshold_that_was_passed_does_not_fire,
            a_reset_goes_back_to_the_initial_value,
            the_largest_values_are_told_in_their_order,
            any_number_of_keys_has_its_largest_values,
            steps_at_one_time_are_all_counted,
            a_bound_holds_for_steps_at_one_time,
            a_step_that_crosses_needs_room_in_the_outbox,
            they_answer_like_the_plain_model,
        }
        }
    };
}

/// The same of users' names.
macro_rules! names_suite {
    ($each:ident, $($with:tt)*) => {
        $each! { $($with)*,
        names {
            each_name_has_a_number_of_its_own,
            a_read_gives_no_number,
            a_dropped_text_comes_back_with_the_next_welcome,
            names_are_there_after_the_end_of_the_process,
            names_at_one_time_get_one_number_each,
        }
        }
    };
}

/// The same of the texts of contents.
macro_rules! content_names_suite {
    ($each:ident, $($with:tt)*) => {
        $each! { $($with)*,
        content_names {
            each_text_is_given_back_byte_by_byte,
            a_read_keeps_nothing,
            texts_are_there_after_the_end_of_the_process,
            texts_at_one_time_are_all_kept,
        }
        }
    };
}

/// The same of owners' queues.
macro_rules! owner_queues_suite {
    ($each:ident, $($with:tt)*) => {
        $each! { $($with)*,
        owner_queues {
            a_change_is_done_on_the_version_that_it_was_decided_on,
            an_owner_is_as_it_was_put,
            an_event_is_queued_once_and_from_the_owners_time_on,
            each_owner_has_a_queue_of_its_own,
            a_lease_holds_until_it_is_ended,
            a_lease_that_was_not_ended_is_over_in_time,
            what_was_delivered_goes_by_its_number,
            a_failed_try_is_due_again_after_its_pause,
            a_replaced_owner_is_tried_at_once,
            a_paused_owner_queues_and_is_not_due,
            a_disabled_owner_queues_nothing,
            what_is_said_during_a_lease_stays,
            a_deleted_owner_has_nothing_left_but_its_lease,
            subscriptions_tell_what_has_changed,
            owners_are_listed_in_the_order_of_their_ids,
            a_cursor_only_rises,
            totals_are_those_of_all_owners,
            everything_is_there_after_the_end_of_the_process,
            workers_at_one_time_share_the_owners,
        }
        owner_queues_states { totals_tell_the_states_of_owners, }
        owner_queues_bounds {
            what_is_too_much_goes_to_the_dead_letters,
            a_queue_has_a_bound_of_bytes,
            dead_letters_are_bounded,
            a_disabled_owner_gets_no_dead_letters_back,
            what_is_too_old_is_not_delivered,
        }
        owner_queues_ends {
            leases_that_end_together_are_all_ended,
        }
        owner_queues_leases {
            an_owner_that_had_nothing_may_be_leased_with_its_events,
            an_append_leases_no_owner_that_is_not_due,
            a_lease_that_comes_with_an_append_has_the_present_definition,
            what_is_left_may_come_with_the_end_of_a_lease,
            owners_whose_last_try_failed_or_was_slow_wait_in_a_line_of_their_own,
            an_append_leases_no_owner_of_the_slow_line,
        }
        owner_queues_replay {
            a_replay_brings_everything_once_and_in_its_order,
            a_replay_is_over_when_each_part_was_read_to_its_end,
            a_replay_sends_nothing_to_the_dead_letters,
            an_empty_queue_takes_one_event_of_any_length_from_the_log,
            one_message_of_each_part_is_remembered,
            the_last_look_at_the_bus_is_kept,
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
            crate::backends::$suite::$case::<$backend>();
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
                crate::backends::$suite::$case::<$backend>();
            )*)*
        }
    };
}
