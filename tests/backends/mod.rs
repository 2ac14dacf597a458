//! The promises of each storage trait, one suite for all of its backends.

#[macro_use]
mod suites;

mod content_names;
mod content_names_embedded;
mod content_names_redis;
mod counters;
mod direct_counters;
mod direct_embedded;
mod direct_redis;
mod embedded;
mod event_log;
mod hot_store;
mod hot_store_cap;
mod hot_store_erase;
mod hot_store_finished;
mod hot_store_list;
mod hot_store_model;
mod hot_store_prune;
mod hot_store_rewards;
mod hot_store_users;
mod hot_store_views;
mod ledger;
mod names;
mod names_embedded;
mod names_redis;
mod notices;
mod notices_told;
mod owner_queues;
mod owner_queues_bounds;
mod owner_queues_embedded;
mod owner_queues_ends;
mod owner_queues_leases;
mod owner_queues_replay;
mod owner_queues_states;
pub mod plain_store;
pub mod plain_user;
pub mod redis;
mod redis_counters;
mod redis_listed;
mod redis_looks;
mod redis_owner_faults;
mod redis_owner_queues;
mod redis_owner_search;
mod redis_rebuild;
mod redis_slots;
mod redis_store;
mod redis_trim;
mod redis_views;
pub mod requests;
mod revocation_file;
pub mod revocation_list;
mod transitions;
mod valkey;
mod views;

use crate::sums::gateway as views_gateway;
use crate::support::redis_server;
use crate::{bus, fake_statistics as statistics};

use std::time::Duration;

/// The longest a test waits for what it was promised.
const PATIENCE: Duration = Duration::from_secs(60);

mod embedded_hot_store {
    hot_store_suite!(tests, [], crate::backends::embedded::Embedded);
}

mod embedded_notices {
    notices_suite!(tests, [], crate::backends::embedded::Embedded);
}

mod redis_notices {
    notices_suite!(tests, [ignore = "needs Redis: tests/run redis"], crate::backends::redis::OneServer);
}

mod redis_cluster_notices {
    notices_suite!(
        one_test,
        [ignore = "needs Redis: tests/run redis"],
        they_keep_all_promises_of_notices,
        crate::backends::redis::Cluster
    );
}

mod embedded_views {
    views_suite!(tests, [], crate::backends::embedded::Embedded);
    playback_suite!(tests, [], crate::backends::embedded::Embedded);
}

mod embedded_counters {
    counters_suite!(tests, [], crate::backends::embedded::Embedded);
}

mod redis_counters_suite {
    use crate::backends::redis::Single;
    use crate::backends::redis_counters::RedisCounted;

    counters_suite!(tests, [ignore = "needs Redis: tests/run redis"], RedisCounted<Single>);
}

mod redis_cluster_counters {
    use crate::backends::redis::Several;
    use crate::backends::redis_counters::RedisCounted;

    counters_suite!(
        one_test,
        [ignore = "needs Redis: tests/run redis"],
        they_keep_all_promises_of_counters,
        RedisCounted<Several>
    );
}

mod embedded_direct_counters {
    direct_suite!(tests, [], crate::backends::direct_embedded::EmbeddedCounters);
}

mod embedded_names {
    names_suite!(tests, [], crate::backends::names_embedded::NamesHere);
}

mod redis_names_suite {
    use crate::backends::names_redis::NamesOn;
    use crate::backends::redis::Single;

    names_suite!(tests, [ignore = "needs Redis: tests/run redis"], NamesOn<Single>);
}

mod redis_cluster_names {
    use crate::backends::names_redis::NamesOn;
    use crate::backends::redis::Several;

    names_suite!(
        one_test,
        [ignore = "needs Redis: tests/run redis"],
        they_keep_all_promises_of_names,
        NamesOn<Several>
    );
}

mod embedded_content_names {
    content_names_suite!(tests, [], crate::backends::content_names_embedded::ContentNamesHere);
}

mod redis_content_names_suite {
    use crate::backends::content_names_redis::ContentNamesOn;
    use crate::backends::redis::Single;

    content_names_suite!(tests, [ignore = "needs Redis: tests/run redis"], ContentNamesOn<Single>);
}

mod redis_cluster_content_names {
    use crate::backends::content_names_redis::ContentNamesOn;
    use crate::backends::redis::Several;

    content_names_suite!(
        one_test,
        [ignore = "needs Redis: tests/run redis"],
        they_keep_all_promises_of_texts,
        ContentNamesOn<Several>
    );
}

mod embedded_owner_queues {
    owner_queues_suite!(tests, [], crate::backends::owner_queues_embedded::InDirectory);
}

mod redis_owner_queues_suite {
    use crate::backends::redis::Single;
    use crate::backends::redis_owner_queues::OnServers;

    owner_queues_suite!(tests, [ignore = "needs Redis: tests/run redis"], OnServers<Single>);
}

mod redis_cluster_owner_queues {
    use crate::backends::redis::Several;
    use crate::backends::redis_owner_queues::OnServers;

    owner_queues_suite!(
        one_test,
        [ignore = "needs Redis: tests/run redis"],
        they_keep_all_promises_of_owners_queues,
        OnServers<Several>
    );
}

mod redis_direct_counters {
    use crate::backends::direct_redis::RedisCounters;
    use crate::backends::redis::Single;

    direct_suite!(tests, [ignore = "needs Redis: tests/run redis"], RedisCounters<Single>);
}

mod redis_cluster_direct_counters {
    use crate::backends::direct_redis::RedisCounters;
    use crate::backends::redis::Several;

    direct_suite!(
        one_test,
        [ignore = "needs Redis: tests/run redis"],
        they_keep_all_promises_of_direct_counters,
        RedisCounters<Several>
    );
}

mod redis_views_suite {
    use crate::backends::redis::Single;
    use crate::backends::redis_views::RedisWithStatistics;

    views_suite!(tests, [ignore = "needs Redis: tests/run redis"], RedisWithStatistics<Single>);
    playback_suite!(tests, [ignore = "needs Redis: tests/run redis"], RedisWithStatistics<Single>);
}

mod redis_cluster_views {
    use crate::backends::redis::Several;
    use crate::backends::redis_views::RedisWithStatistics;

    views_suite!(
        one_test,
        [ignore = "needs Redis: tests/run redis"],
        they_keep_all_promises_of_views,
        RedisWithStatistics<Several>
    );
    playback_suite!(
        one_test,
        [ignore = "needs Redis: tests/run redis"],
        commits_keep_all_promises_of_views,
        RedisWithStatistics<Several>
    );
}

mod redis_hot_store {
    hot_store_suite!(tests, [ignore = "needs Redis: tests/run redis"], crate::backends::redis::OneServer);
}

mod redis_cluster {
    hot_store_suite!(
        one_test,
        [ignore = "needs Redis: tests/run redis"],
        it_keeps_all_promises_of_a_hot_store,
        crate::backends::redis::Cluster
    );
}
