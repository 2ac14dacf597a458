//! Users whose records are counted in the next generation of counters.

use std::collections::BTreeMap;

use super::{Applied, Apply, Load, Loaded, Need, TokenSource, UserStore, Write};
use crate::hot_store::StoreError;
use model::counters::{Deltas, Generation};
use model::forgetting::ContentRow;
use model::ids::{Content, UserId};

/// Counts all records of the users who are not in the next generation yet, each user in one step with the mark that says
/// so.
///
/// # Errors
/// Any of them may have been counted. To be called again.
pub async fn count(store: &impl UserStore, tokens: &TokenSource, users: &[UserId], now: u64) -> Result<(), StoreError> {
    let mut users = users.to_vec();
    while !users.is_empty() {
        let generations = store.generations();
        let Some(next) = &generations.next else { return Ok(()) };
        users = not_counted(store, users, next).await?;
        let load = |user: &UserId| Load { user: *user, needs: vec![Need::Head, Need::All] };
        let loaded = store.load(&users.iter().map(load).collect::<Vec<_>>()).await?;
        let mut counted = Vec::with_capacity(users.len());
        for (user, loaded) in users.iter().zip(loaded) {
            if let Some(why) = &loaded.unreadable {
                tracing::error!(event = "user_not_counted", error = %why, "a user cannot be read, and is not counted");
                continue;
            }
            let Some(known) = loaded.head.clone().flatten() else { continue };
            // Another gateway that counts has been here since the first look.
            if known.generation == next.number {
                continue;
            }
            let deltas = deltas(*user, loaded, next);
            let mut head = known.clone();
            head.generation = next.number;
            head.renew(tokens.next(Some(known.token), now));
            let writes = match deltas.is_empty() {
                true => Vec::new(),
                false => vec![Write::Count { generation: next.number, deltas, at: now }],
            };
            let (expected, head, generations) = (Some(known), Some(head), generations.clone());
            counted.push(Apply { user: *user, expected, head, writes, news: false, generations });
        }
        let applied = store.apply(&counted.iter().collect::<Vec<_>>()).await?;
        // Another writer was first.
        let refused = |applied: &Applied| matches!(applied, Applied::Refused(_));
        users =
            counted.iter().zip(&applied).filter(|(_, applied)| refused(applied)).map(|(apply, _)| apply.user).collect();
    }
    Ok(())
}

/// Those with a head that is not of the next generation.
async fn not_counted(store: &impl UserStore, users: Vec<UserId>, next: &Generation) -> Result<Vec<UserId>, StoreError> {
    let load = |user: &UserId| Load { user: *user, needs: vec![Need::Head] };
    let loaded = store.load(&users.iter().map(load).collect::<Vec<_>>()).await?;
    let is_open = |loaded: &Loaded| {
        let head = loaded.head.as_ref().and_then(Option::as_ref);
        loaded.unreadable.is_some() || head.is_some_and(|head| head.generation != next.number)
    };
    Ok(users.into_iter().zip(&loaded).filter(|(_, loaded)| is_open(loaded)).map(|(user, _)| user).collect())
}

/// The contribution of the user's records to the derived counters.
fn deltas(user: UserId, loaded: Loaded, next: &Generation) -> Deltas {
    let current = loaded.head.flatten().and_then(|head| head.current);
    let outside = loaded.rows.into_iter().filter_map(|(content, row)| Some((content, row?.row)));
    // A script that broke off may have left a row outside that is in the head, too.
    let mut rows: BTreeMap<Content, ContentRow> = outside.collect();
    rows.extend(current.map(|(content, stored)| (content, stored.row)));
    let mut deltas = Deltas::default();
    let records = rows.values().filter_map(|row| row.record.as_ref());
    records.for_each(|record| next.definitions.count(user, record, &mut deltas));
    deltas
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::super::{Head, StoredRow};
    use super::*;
    use model::beat::State;
    use model::counters::{Definitions, Generations};
    use model::ids::SessionId;
    use model::reading::Reading;
    use model::record::Record;
    use model::rewards::credit::Credit;
    use model::version::Version;

    const USER: UserId = UserId(7);
    const CONTENT: Content = Content { kind: 1, oid: 100 };
    const NOW: u64 = 1_000;

    /// A store with one user. Another gateway counts the user between the first load and the second.
    struct Shared {
        generations: Arc<Generations>,
        tokens: TokenSource,
        state: Mutex<Stored>,
    }

    struct Stored {
        head: Box<Head>,
        loads: usize,
        /// The numbers added to the counter.
        counted: Vec<i64>,
    }

    impl Shared {
        fn new() -> Self {
            let reading = Reading::without_thresholds();
            let counters = serde_json::from_str(r#"[{"id":"all"}]"#).unwrap();
            let generations = Arc::new(Generations::default().begin(Definitions { counters, reading }));
            let tokens = TokenSource::new(2);
            let row = ContentRow { record: Some(record()), ..ContentRow::default() };
            let stored = StoredRow { row, ..StoredRow::default() };
            let token = tokens.next(None, NOW);
            let head = Box::new(Head { token, current: Some((CONTENT, stored)), ..Head::default() });
            Shared { generations, tokens, state: Mutex::new(Stored { head, loads: 0, counted: Vec::new() }) }
        }
    }

    impl Stored {
        fn apply(&mut self, apply: &Apply) -> Applied {
            if apply.expected_token() != Some(self.head.token) {
                return Applied::Refused(Some(self.head.clone()));
            }
            self.head = apply.head.clone().unwrap();
            for write in &apply.writes {
                let Write::Count { deltas, .. } = write else { panic!("{write:?}") };
                self.counted.extend(deltas.iter().map(|(_, _, by)| by));
            }
            Applied::Done { elsewhere: false }
        }
    }

    impl UserStore for Shared {
        async fn load(&self, loads: &[Load]) -> Result<Vec<Loaded>, StoreError> {
            let mut state = self.state.lock();
            state.loads += 1;
            if state.loads == 2 {
                let mut head = state.head.clone();
                head.generation = self.generations.newest();
                head.renew(self.tokens.next(Some(head.token), NOW));
                state.head = head;
                state.counted.push(1);
            }
            let head = Some(Some(state.head.clone()));
            Ok(loads.iter().map(|_| Loaded { head: head.clone(), ..Loaded::default() }).collect())
        }

        async fn apply(&self, applies: &[&Apply]) -> Result<Vec<Applied>, StoreError> {
            let mut state = self.state.lock();
            Ok(applies.iter().map(|apply| state.apply(apply)).collect())
        }

        fn generations(&self) -> Arc<Generations> {
            self.generations.clone()
        }

        async fn put_off(&self, _: &[(UserId, Version)], _: u64) -> Result<(), StoreError> {
            unreachable!("a count lists no user")
        }
    }

    fn record() -> Record {
        Record {
            content: CONTENT,
            pos: 0,
            dur: 0,
            state: State::Playing,
            session: SessionId(1),
            device: "tv".into(),
            watched: 50,
            at: 1,
            version: Version(1),
            credit: Credit::default(),
        }
    }

    #[tokio::test]
    async fn a_user_whom_another_gateway_counts_between_two_loads_is_counted_once() {
        let store = Shared::new();
        count(&store, &TokenSource::new(1), &[USER], NOW).await.unwrap();
        let state = store.state.lock();
        assert_eq!((state.loads, &state.counted[..]), (2, &[1][..]));
        assert_eq!(state.head.generation, store.generations.newest());
    }
}
