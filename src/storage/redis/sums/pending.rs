//! The sums that commits add to the pending sums of their shard.

use super::keys;
use model::counters::{CounterId, CounterKey, Deltas};
use model::ids::Content;
use model::rewards::day::Day;
use model::shard::Shard;
use model::sums::{CounterSum, SumKey};

/// The commands that count a view. They must run in one step, once. `now`: milliseconds.
pub fn add_view(shard: Shard, content: Content, day: Day, now: u64) -> [Vec<Vec<u8>>; 4] {
    let (pending, state) = (keys::pending(shard), keys::state(shard));
    let add = |key: SumKey| words(["HINCRBY", &pending, &key.to_string(), "1"]);
    [
        add(SumKey::Views(content)),
        add(SumKey::ViewsOn(content, day)),
        words(["SADD", &keys::pending_days(shard), &day.to_string()]),
        // The field stays as long as any sum is pending.
        words(["HSETNX", &state, "since", &now.to_string()]),
    ]
}

/// The commands that add the deltas of a commit to a generation of the counters; none if there are no deltas. They must
/// run in one step, once. `now`: milliseconds.
pub fn add_counter(shard: Shard, generation: u32, deltas: &Deltas, now: u64) -> Vec<Vec<Vec<u8>>> {
    let (pending, state) = (keys::pending_counters(shard), keys::state(shard));
    let add = |(id, key, by): (&CounterId, &CounterKey, i64)| {
        let sum = CounterSum { generation, id: id.clone(), key: key.clone() };
        words(["HINCRBY", &pending, &sum.to_string(), &by.to_string()])
    };
    let since = (!deltas.is_empty()).then(|| words(["HSETNX", &state, "since", &now.to_string()]));
    deltas.iter().map(add).chain(since).collect()
}

fn words<const COUNT: usize>(words: [&str; COUNT]) -> Vec<Vec<u8>> {
    words.map(|word| word.as_bytes().to_vec()).into()
}

#[cfg(test)]
mod tests {

    use super::*;
    use model::beat::State;
    use model::counters::Definitions;
    use model::ids::{SessionId, UserId};
    use model::reading::Reading;
    use model::record::Record;
    use model::rewards::credit::Credit;
    use model::version::Version;

    fn deltas() -> Deltas {
        let counters = r#"[{"id":"all"},{"id":"watched","key":["kind","device"],"value":"watched"}]"#;
        let reading = Reading::without_thresholds();
        let definitions = Definitions { counters: serde_json::from_str(counters).unwrap(), reading };
        let record = Record {
            content: Content { kind: 1, oid: 100 },
            pos: 0,
            dur: 0,
            state: State::Playing,
            session: SessionId(1),
            device: "tv:1".into(),
            watched: 50,
            at: 1,
            version: Version(1),
            credit: Credit::default(),
        };
        let mut deltas = Deltas::default();
        definitions.count(UserId(1), &record, &mut deltas);
        deltas
    }

    #[test]
    fn deltas_are_added_to_their_generation() {
        let commands = add_counter(Shard(0), 3, &deltas(), 7);
        let texts: Vec<String> =
            commands.into_iter().map(|words| String::from_utf8(words.join(&b' ')).unwrap()).collect();
        let (pending, state) = (keys::pending_counters(Shard(0)), keys::state(Shard(0)));
        let expected = [
            format!("HINCRBY {pending} =3:all: 1"),
            format!("HINCRBY {pending} =3:watched:1!tv%3A1 50"),
            format!("HSETNX {state} since 7"),
        ];
        assert_eq!(texts, expected);
        assert!(add_counter(Shard(0), 3, &Deltas::default(), 7).is_empty());
    }
}
