//! Whether the append-only file (AOF) of a server is in force.
//!
//! `appendonly yes` says that it is wanted. After `CONFIG SET appendonly yes` it is written to a temporary file until
//! its first rewrite has ended; a restart before that loads the file of before, or nothing. The same happens when a
//! replica has been sent all data of its master, and it may be promoted before the rewrite has ended. `INFO` has no
//! field for this: a rewrite of a file that is in force looks the same. So what was seen before is compared with what
//! is seen now.
//!
//! A server takes the replication ID of its master, and a new one when it is promoted. So a master that still has its
//! ID was no replica in between. One that has another may have been: its first replica gives it a new ID, too. A server
//! that is promoted keeps the ID of its master as its second one. That is zeros before, and again when it had no
//! replica for `repl-backlog-ttl`.

use std::collections::HashMap;

/// The fields of `INFO` about the append-only file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AppendOnlyFile {
    /// The id of the process: a new process has loaded a file that was in force.
    run_id: String,
    enabled: bool,
    rewriting: bool,
    scheduled: bool,
    /// The last rewrite did not succeed.
    failed: bool,
    /// Bytes of the file after its last rewrite or since the start; 0 before the first.
    base_bytes: u64,
    /// How many rewrites the process has begun.
    rewrites: u64,
    config_sets: u64,
    /// How often these counts were reset.
    resets: u64,
    replication_id: String,
    second_replication_id: String,
}

impl AppendOnlyFile {
    /// From the lines of `INFO default commandstats`.
    pub fn read(info: &HashMap<String, String>) -> Self {
        let text = |name: &str| info.get(name).map_or("", String::as_str);
        let number = |name: &str| text(name).parse().unwrap_or(0);
        let count = |name: &str, of: &str| -> u64 {
            let counts = text(name).split(',').filter_map(|part| part.split_once('='));
            counts.filter(|(key, _)| *key == of).find_map(|(_, count)| count.parse().ok()).unwrap_or(0)
        };
        let calls = |name: &str| count(name, "calls");
        AppendOnlyFile {
            run_id: text("run_id").to_owned(),
            enabled: text("aof_enabled") == "1",
            rewriting: text("aof_rewrite_in_progress") == "1",
            scheduled: text("aof_rewrite_scheduled") == "1",
            failed: text("aof_last_bgrewrite_status") == "err",
            base_bytes: number("aof_base_size"),
            rewrites: number("aof_rewrites"),
            config_sets: calls("cmdstat_config|set"),
            resets: calls("cmdstat_config|resetstat"),
            replication_id: text("master_replid").to_owned(),
            second_replication_id: text("master_replid2").to_owned(),
        }
    }

    pub fn enabled(&self) -> bool {
        self.enabled
    }

    pub fn failed(&self) -> bool {
        self.failed
    }

    /// Whether it is in force, given how it was when it last was (None: not known). When in doubt it is not.
    pub fn in_force(&self, before: Option<&Self>) -> bool {
        if !self.enabled {
            return false;
        }
        // A file that is not in force yet is always being rewritten, or waits for that.
        if !self.rewriting && !self.scheduled {
            return true;
        }
        match before.filter(|before| before.run_id == self.run_id) {
            // Switching it off kills a rewrite, and switching it on begins another.
            Some(before) if before.rewriting && self.rewriting && before.rewrites == self.rewrites => true,
            // To switch it off and on takes two CONFIG SETs, or a master to copy.
            Some(before) => {
                before.replication_id == self.replication_id
                    && before.resets == self.resets
                    && self.config_sets < before.config_sets + 2
            }
            // The same, if it has a base: one that has none may have been switched on, or copied, only now.
            None => self.base_bytes > 0 && !self.was_replica() && self.resets == 0 && self.config_sets < 2,
        }
    }

    /// Whether it may have been.
    fn was_replica(&self) -> bool {
        self.second_replication_id.is_empty() || self.second_replication_id.bytes().any(|byte| byte != b'0')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: &str = "0000000000000000000000000000000000000000";

    /// In force and at rest; 3 settings were changed.
    fn at_rest() -> AppendOnlyFile {
        AppendOnlyFile {
            enabled: true,
            base_bytes: 88,
            rewrites: 4,
            config_sets: 3,
            replication_id: "d05b".to_owned(),
            second_replication_id: NONE.to_owned(),
            ..AppendOnlyFile::default()
        }
    }

    /// Was a replica of the master `d05b`, which sent it everything.
    fn promoted(of: &AppendOnlyFile) -> AppendOnlyFile {
        let (replication_id, second_replication_id) = ("241c".to_owned(), "d05b".to_owned());
        AppendOnlyFile { rewriting: true, replication_id, second_replication_id, ..of.clone() }
    }

    #[test]
    fn the_state_of_the_append_only_file_is_read_from_info() {
        let info = [
            ("run_id", "ab"),
            ("aof_enabled", "1"),
            ("aof_rewrite_in_progress", "1"),
            ("aof_rewrite_scheduled", "1"),
            ("aof_last_bgrewrite_status", "err"),
            ("aof_base_size", "88"),
            ("aof_rewrites", "7"),
            ("cmdstat_bgrewriteaof", "calls=6,usec=3,usec_per_call=0.25,rejected_calls=0,failed_calls=1"),
            ("cmdstat_config|set", "calls=12,usec=3,usec_per_call=0.25,rejected_calls=0,failed_calls=0"),
            ("cmdstat_config|resetstat", "calls=1,usec=3"),
            ("master_replid", "241c"),
            ("master_replid2", "d05b"),
        ];
        let info = info.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let expected = AppendOnlyFile {
            run_id: "ab".to_owned(),
            enabled: true,
            rewriting: true,
            scheduled: true,
            failed: true,
            base_bytes: 88,
            rewrites: 7,
            config_sets: 12,
            resets: 1,
            replication_id: "241c".to_owned(),
            second_replication_id: "d05b".to_owned(),
        };
        assert_eq!(AppendOnlyFile::read(&info.into()), expected);
    }

    #[test]
    fn a_file_at_rest_is_in_force_also_after_a_failed_rewrite() {
        assert!(at_rest().in_force(None));
        assert!(AppendOnlyFile { failed: true, ..at_rest() }.in_force(None));
        assert!(!AppendOnlyFile { enabled: false, ..at_rest() }.in_force(Some(&at_rest())));
    }

    #[test]
    fn a_rewrite_that_began_under_the_same_settings_leaves_it_in_force() {
        for (rewriting, scheduled, rewrites) in [(true, false, 5), (false, true, 4), (false, true, 5)] {
            let now = AppendOnlyFile { rewriting, scheduled, rewrites, ..at_rest() };
            assert!(now.in_force(Some(&at_rest())), "{now:?}");
            assert!(!now.in_force(None), "nothing is known: {now:?}");
            let set = AppendOnlyFile { config_sets: 5, ..now.clone() };
            assert!(!set.in_force(Some(&at_rest())), "it may have been off: {set:?}");
            let one = AppendOnlyFile { config_sets: 4, ..now.clone() };
            assert!(one.in_force(Some(&at_rest())), "that takes two: {one:?}");
            let reset = AppendOnlyFile { config_sets: 3, resets: 1, ..now.clone() };
            assert!(!reset.in_force(Some(&at_rest())), "{reset:?}");
            let other = AppendOnlyFile { run_id: "another process".to_owned(), ..now };
            assert!(!other.in_force(Some(&at_rest())), "{other:?}");
        }
    }

    /// While a BGSAVE runs, a BGREWRITEAOF is scheduled, and so is the rewrite of a file that is switched on: of two
    /// that were asked for one begins.
    #[test]
    fn a_rewrite_that_was_asked_for_says_nothing_of_the_file() {
        let off = AppendOnlyFile { enabled: false, ..AppendOnlyFile::default() };
        let on = AppendOnlyFile { enabled: true, rewriting: true, rewrites: 1, config_sets: 1, ..off.clone() };
        assert!(!on.in_force(None));
        let begun = AppendOnlyFile { rewriting: true, rewrites: 2, config_sets: 2, base_bytes: 88, ..on };
        assert!(!begun.in_force(None));
    }

    #[test]
    fn settings_may_change_in_the_middle_of_a_rewrite() {
        let begun = AppendOnlyFile { rewriting: true, rewrites: 5, ..at_rest() };
        let now = AppendOnlyFile { config_sets: 9, ..begun.clone() };
        assert!(now.in_force(Some(&begun)));
        let anew = AppendOnlyFile { rewrites: 6, ..now };
        assert!(!anew.in_force(Some(&begun)), "switched off and on");
    }

    #[test]
    fn while_rewriting_at_the_first_look_a_second_config_set_means_not_in_force() {
        for (base_bytes, config_sets, resets, expected) in
            [(0, 0, 0, false), (0, 1, 0, false), (88, 1, 0, true), (88, 2, 0, false), (88, 0, 1, false)]
        {
            for (rewriting, scheduled) in [(true, false), (false, true)] {
                let now = AppendOnlyFile { rewriting, scheduled, base_bytes, config_sets, resets, ..at_rest() };
                assert_eq!(now.in_force(None), expected, "{now:?}");
            }
        }
    }

    /// The data of a master replace what is in the file: until that is written, the file has the data of before.
    #[test]
    fn a_file_of_a_former_replica_is_not_in_force_until_rewritten() {
        let settled = AppendOnlyFile { config_sets: 0, ..at_rest() };
        for base_bytes in [0, 88] {
            let before = AppendOnlyFile { base_bytes, ..settled.clone() };
            let now = AppendOnlyFile { rewrites: 5, ..promoted(&before) };
            assert!(!now.in_force(None), "{now:?}");
            assert!(!now.in_force(Some(&before)), "{now:?}");
            let waiting = AppendOnlyFile { rewriting: false, scheduled: true, rewrites: 4, ..now.clone() };
            assert!(!waiting.in_force(None) && !waiting.in_force(Some(&before)), "{waiting:?}");
            let rewritten = AppendOnlyFile { rewriting: false, base_bytes: 99, ..now };
            assert!(rewritten.in_force(None) && rewritten.in_force(Some(&before)), "{rewritten:?}");
            let again = AppendOnlyFile { rewriting: true, rewrites: 6, ..rewritten.clone() };
            assert!(again.in_force(Some(&rewritten)), "a later rewrite: {again:?}");
        }
        let unknown = AppendOnlyFile { rewriting: true, second_replication_id: String::new(), ..settled };
        assert!(!unknown.in_force(None), "{unknown:?}");
    }

    #[test]
    fn the_first_rewrite_of_an_empty_server_leaves_it_in_force() {
        let before = AppendOnlyFile { base_bytes: 0, rewrites: 0, ..at_rest() };
        let now = AppendOnlyFile { rewriting: true, rewrites: 1, ..before.clone() };
        assert!(now.in_force(Some(&before)));
    }
}
