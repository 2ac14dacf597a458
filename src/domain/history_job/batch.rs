//! Messages that are written together.

use std::collections::HashMap;
use std::sync::Arc;

use model::ids::{Content, UserId};
use model::pack::{PackedForgetting, PackedRow, UserPack};
use model::retention::Retention;
use storage::history_bus::codec;
use storage::history_bus::source::{MessageRef, RawPack};

/// Messages whose offsets may be committed after their rows are written and unreadable ones are in quarantine.
pub struct Batch {
    pub message_refs: Vec<MessageRef>,
    pub packs: u64,
    /// Messages that are no packs, and parts of packs that are unsound, each with the reason.
    pub unreadable: Vec<(RawPack, String)>,
    /// The longest of the gateways that sent the packs, if they say it.
    pub retention: Option<Retention>,
    /// Each user once, with each content once.
    pub users: Arc<[UserPack]>,
}

/// The newest state of one user.
#[derive(Default)]
struct Newest {
    forgetting: Option<PackedForgetting>,
    rows: HashMap<Content, PackedRow>,
}

impl Batch {
    pub fn of(messages: Vec<RawPack>) -> Self {
        let (mut message_refs, mut packs, mut unreadable) = (Vec::with_capacity(messages.len()), 0, Vec::new());
        let (mut users, mut retention) = (HashMap::<UserId, Newest>::new(), None);
        for message in messages {
            message_refs.push(message.message_ref);
            match codec::decode_sound(&message.bytes) {
                Ok((pack, unsound)) => {
                    packs += 1;
                    retention = retention.max(pack.retention);
                    // The others of the pack are written: they have left the list.
                    let part = |bytes| RawPack { message_ref: message.message_ref, key: message.key.clone(), bytes };
                    unreadable.extend(unsound.into_iter().map(|unsound| (part(unsound.bytes), unsound.why)));
                    pack.users.into_iter().for_each(|user| users.entry(user.user).or_default().add(user));
                }
                Err(error) => unreadable.push((message, error.to_string())),
            }
        }
        let users = users.into_iter().map(|(user, newest)| newest.into_pack(user)).collect();
        Batch { message_refs, packs, unreadable, retention, users }
    }
}

impl Newest {
    fn add(&mut self, UserPack { forgetting, rows, .. }: UserPack) {
        if let Some(forgetting) = forgetting
            && self.forgetting.as_ref().is_none_or(|known| known.version < forgetting.version)
        {
            self.forgetting = Some(forgetting);
        }
        for row in rows {
            match self.rows.get_mut(&row.content) {
                Some(known) if known.version < row.version => *known = row,
                Some(_) => {}
                None => drop(self.rows.insert(row.content, row)),
            }
        }
    }

    fn into_pack(self, user: UserId) -> UserPack {
        UserPack { user, forgetting: self.forgetting, rows: self.rows.into_values().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history_packs::fixture::user_at;
    use model::pack::Pack;
    use model::shard::Shards;
    use model::version::Version;

    fn message(offset: i64, at: u64) -> RawPack {
        let user = UserId(42);
        let users = vec![user_at(user, 2, at).pack()];
        let pack = Pack { deployment: "d".into(), region: Shards::DEFAULT.of(user).region(), retention: None, users };
        let message_ref = MessageRef { partition: 0, offset, term: 1 };
        RawPack { message_ref, key: Vec::new(), bytes: codec::encode(&pack) }
    }

    #[test]
    fn the_newest_row_of_a_content_is_kept_in_any_order_of_packs() {
        for order in [[1_000, 2_000, 3_000], [3_000, 1_000, 2_000], [2_000, 3_000, 1_000]] {
            let batch = Batch::of(order.into_iter().zip(0..).map(|(at, offset)| message(offset, at)).collect());
            let users = batch.users;
            assert_eq!((users.len(), batch.packs, batch.message_refs.len()), (1, 3, 3));
            let mut versions: Vec<Version> = users[0].rows.iter().map(|row| row.version).collect();
            versions.sort_unstable();
            assert_eq!(versions, [Version(3_000_000); 2], "{order:?}");
        }
    }

    #[test]
    fn an_unsound_row_is_set_apart_and_all_other_users_of_its_pack_are_kept() {
        let region = Shards::DEFAULT.of(UserId(42)).region();
        let neighbours = (43..).map(UserId).filter(|user| Shards::DEFAULT.of(*user).region() == region);
        let mut users: Vec<UserPack> = neighbours.take(3).map(|user| user_at(user, 2, 1_000).pack()).collect();
        let mut bad = user_at(UserId(42), 2, 1_000).pack();
        bad.rows[0].record.as_mut().expect("a record").pos = 1 << 60;
        users.push(bad);
        let pack = Pack { deployment: "d".into(), region, retention: None, users };
        let raw = RawPack { key: b"19".to_vec(), bytes: codec::encode(&pack), ..message(7, 1_000) };
        let batch = Batch::of(vec![raw.clone()]);
        let mut rows: Vec<(u64, usize)> = batch.users.iter().map(|user| (user.user.0, user.rows.len())).collect();
        rows.sort_unstable();
        assert_eq!(rows.len(), 4, "{rows:?}");
        assert_eq!(rows[0], (42, 1));
        assert!(rows[1..].iter().all(|(_, rows)| *rows == 2), "{rows:?}");
        let [(part, why)] = &batch.unreadable[..] else { panic!("one part: {:?}", batch.unreadable) };
        assert_eq!((part.message_ref, &part.key), (raw.message_ref, &raw.key));
        assert!(part.bytes.len() < raw.bytes.len() && why.contains("pos is"), "{why}");
    }

    #[test]
    fn unreadable_messages_are_set_apart_and_the_others_are_kept() {
        let garbage = RawPack { bytes: b"garbage".to_vec(), ..message(1, 1_000) };
        let batch = Batch::of(vec![message(0, 1_000), garbage.clone(), message(2, 2_000)]);
        assert_eq!((batch.packs, batch.users.len(), batch.message_refs.len()), (2, 1, 3));
        assert!(batch.unreadable.len() == 1 && batch.unreadable[0].0 == garbage && !batch.unreadable[0].1.is_empty());
    }
}
