use super::*;
use model::beat::State;
use model::ids::SessionId;
use model::pack::PackedForgetting;
use model::recording::Switch;
use model::rewards::credit::Credit;
use model::version::Version;

const AT: u64 = 1_795_150_000_118;

fn hot(oid: u64, at: u64) -> Record {
    let credit = Credit { day: "2026-11-20".parse().expect("a day"), since: at, base: 0 };
    Record {
        content: Content { kind: 1, oid },
        pos: 73_200,
        dur: 300_000,
        state: State::Playing,
        session: SessionId(u64::MAX),
        device: "tv-3f".into(),
        watched: 5_000,
        at,
        version: Version::first_of(at),
        credit,
    }
}

fn kept(oid: u64, at: u64) -> PackedRow {
    let record = Some(PackedRecord::of(&hot(oid, at)));
    PackedRow { content: Content { kind: 1, oid }, record, tombstone: 0, version: Version::first_of(at) }
}

fn deleted(oid: u64, at: u64) -> PackedRow {
    PackedRow { record: None, tombstone: at, version: Version::last_of(at), ..kept(oid, at) }
}

fn lines(rows: Vec<PackedRow>, hot: Option<&[Record]>) -> Vec<String> {
    written(&HistoryUser { forgetting: None, rows }, hot).lines().map(str::to_owned).collect()
}

const RECORD: &str = r#"{"kind":1,"oid":"7","pos":73200,"dur":300000,"state":"playing","session":"18446744073709551615","device":"tv-3f","watched":5000,"at":1795150000118,"version":1795150000118000"#;

#[test]
fn records_and_tombstones_are_lines_with_ids_as_text() {
    let tombstone = r#"{"kind":1,"oid":"18446744073709551615","tombstone":1795150000118,"version":1795150000118999}"#;
    assert_eq!(lines(vec![kept(7, AT), deleted(u64::MAX, AT)], None), [format!("{RECORD}}}"), tombstone.to_owned()]);
}

#[test]
fn the_watermark_and_pauses_are_printed_first_if_there_are_any() {
    let told = |watermark, switches| {
        let forgetting = Some(PackedForgetting { watermark, floor: 9, switches, version: Version(1) });
        written(&HistoryUser { forgetting, rows: Vec::new() }, None)
    };
    let switches = vec![Switch { at: 5, paused: true }];
    assert_eq!(told(AT, switches), "{\"watermark\":1795150000118,\"switches\":[{\"at\":5,\"paused\":true}]}\n");
    assert_eq!(told(0, Vec::new()), "", "the floor is no wish of the user");
}

#[test]
fn a_comparison_prints_the_record_of_redis_where_it_differs() {
    let rows = vec![kept(1, AT), kept(2, AT), kept(3, AT), deleted(4, AT), deleted(5, AT)];
    let of_redis = [hot(1, AT), hot(2, AT + 1), hot(5, AT + 1), hot(6, AT)];
    let lines = lines(rows, Some(&of_redis));
    let parts: Vec<_> = lines.iter().map(|line| line.split_once(r#""redis":"#).map(|(_, redis)| redis)).collect();
    let oid = |part: &Option<&str>| part.map(|redis| redis.replace(|c: char| c.is_ascii_digit(), "").len() > 50);
    assert_eq!(
        parts.iter().map(oid).collect::<Vec<_>>(),
        [None, Some(true), Some(false), None, Some(true), Some(true)]
    );
    assert_eq!(parts[2], Some("null}"), "a record that Redis does not have");
    assert!(parts[1].is_some_and(|redis| redis.contains(r#""at":1795150000119"#)), "{lines:?}");
    assert!(lines[5].starts_with(r#"{"redis":{"kind":1,"oid":"6","#), "{lines:?}");
}

#[test]
fn a_delete_that_is_older_than_the_record_is_no_difference() {
    let row = PackedRow { tombstone: AT - 5, version: Version::first_of(AT).next(), ..kept(7, AT) };
    assert_eq!(lines(vec![row], Some(&[hot(7, AT)])).len(), 1);
    assert!(!lines(vec![kept(7, AT)], Some(&[hot(7, AT)]))[0].contains("redis"));
}
