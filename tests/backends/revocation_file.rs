//! The list of revocations in a file.

use heartline::storage::revocation_list::file::FileList;
use tempfile::tempdir;

use super::revocation_list;

#[test]
fn what_is_added_is_there_until_it_is_removed() {
    let directory = tempdir().unwrap();
    revocation_list::what_is_added_is_there_until_it_is_removed(|| Box::new(FileList::of(directory.path())));
}

#[test]
fn a_removal_that_is_late_leaves_a_later_revocation() {
    let directory = tempdir().unwrap();
    revocation_list::a_removal_that_is_late_leaves_a_later_revocation(|| Box::new(FileList::of(directory.path())));
}

#[test]
fn of_one_user_the_later_revocation_stands() {
    let directory = tempdir().unwrap();
    revocation_list::of_one_user_the_later_revocation_stands(|| Box::new(FileList::of(directory.path())));
}

#[test]
fn a_full_list_takes_no_more_until_some_have_expired() {
    let directory = tempdir().unwrap();
    let fill = |count: usize, until: u64| {
        let entry = |mid| format!(r#"{{"mid":{mid},"at":1,"until":{until}}}"#);
        let entries = (0..count).map(entry).collect::<Vec<_>>().join(",");
        let text = format!(r#"{{"format":1,"revocations":[{entries}]}}"#);
        std::fs::write(directory.path().join("revocations.json"), text).unwrap();
    };
    revocation_list::a_full_list_takes_no_more_until_some_have_expired(&FileList::of(directory.path()), fill);
}
