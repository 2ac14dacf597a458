//! A user's list, newest first.
//!
//! ```text
//! head, first members of the timeline ─▶ their rows, the head again, next members ─▶ … ─▶ page
//!                 ▲                                       │ another token: a commit came in between
//!                 └────────── read on from there ─────────┘
//! ```
//!
//! The head is read with every step. While its token stays the same, all that was read is of one moment. A list that a
//! commit interrupts keeps what it has, and reads on behind it: a record that does not move is neither skipped nor
//! repeated.

use ::redis::{Pipeline, Value, pipe};

use super::bytes::DecodeError;
use super::keys::{self, Keys};
use super::{Shared, checked, head, row, timeline, value};
use crate::model::forgetting::Eviction;
use crate::model::ids::{Content, UserId};
use crate::model::page::{Page, PageRequest, Position};
use crate::model::record::Record;
use crate::model::rows_read::RowsRead;
use crate::storage::hot_store::StoreError;
use crate::storage::hot_store::optimistic::Head;

/// Rows that one step looks at, so that other clients of Redis wait no longer.
const STEP_MIN: usize = 16;
const STEP_MAX: usize = 256;

/// A list that is being read.
struct Reading<'r> {
    user: UserId,
    names: Keys,
    request: &'r PageRequest,
    horizon: u64,
    /// All that comes before it is read.
    after: Option<Position>,
    records: Vec<Record>,
    /// The content in the first head, once that is read. Its record is taken from there.
    current: Option<Option<Content>>,
}

/// Where a list is, as long as nothing of the user changes.
struct Place {
    head: Option<Vec<u8>>,
    /// Nothing is listed that is older.
    oldest: u64,
    /// The rank of the first of `members` in the timeline.
    rank: usize,
    members: Vec<(Eviction, Content)>,
}

impl Shared {
    pub(super) async fn list(
        &self,
        user: UserId,
        request: &PageRequest,
        now: u64,
        rows_read: &RowsRead,
    ) -> Result<Page, StoreError> {
        let horizon = self.settings.retention.horizon(now);
        let names = Keys::of(keys::shard_of(user));
        let mut list =
            Reading { user, names, request, horizon, after: request.after, records: Vec::new(), current: None };
        // Looking for the first costs as much as a row.
        rows_read.add(1);
        while !self.read_on(&mut list, rows_read).await? {}
        Ok(request.cut(list.records))
    }

    /// Reads until the page is full or nothing is left: true. False: something of the user has changed.
    async fn read_on(&self, list: &mut Reading<'_>, rows_read: &RowsRead) -> Result<bool, StoreError> {
        let mut place = self.find(list).await?;
        loop {
            let (contents, is_last) = list.choose(&place, rows_read);
            if contents.is_empty() && is_last {
                return Ok(true);
            }
            let next = place.rank + place.members.len();
            let mut commands = pipe();
            commands.get(list.names.head(list.user));
            if !is_last {
                list.ask_for_members(&mut commands, next);
            }
            if !contents.is_empty() {
                let fields: Vec<_> = contents.iter().map(|content| keys::content(*content).to_vec()).collect();
                commands.cmd("HMGET").arg(list.names.rows(list.user)).arg(fields);
            }
            let mut answers = self.ask(list.user, commands).await?;
            if value::bytes_or_nil(answer(&mut answers)?)? != place.head {
                return Ok(false);
            }
            let members = if is_last { Vec::new() } else { timeline::parse(answer(&mut answers)?)? };
            if !contents.is_empty() {
                list.take(&place, &contents, answer(&mut answers)?)?;
            }
            if is_last || list.records.len() > list.request.limit {
                return Ok(true);
            }
            list.go_on_after(&place);
            place = Place { rank: next, members, ..place };
        }
    }

    /// The head, and the members of the timeline that follow what is read, of one moment.
    async fn find(&self, list: &mut Reading<'_>) -> Result<Place, StoreError> {
        if list.after == list.request.after {
            // Nothing is read yet but the record of an older head.
            (list.records, list.current) = (Vec::new(), None);
        }
        let (rank, bytes, members) = loop {
            let (rank, ranked_at) = self.rank(list).await?;
            let mut commands = pipe();
            commands.get(list.names.head(list.user));
            list.ask_for_members(&mut commands, rank);
            commands.get(list.names.head(list.user));
            let mut answers = self.ask(list.user, commands).await?;
            let [before, members, after] = [answer(&mut answers)?, answer(&mut answers)?, answer(&mut answers)?];
            if before == after && ranked_at.is_none_or(|ranked_at| ranked_at == before) {
                break (rank, value::bytes_or_nil(before)?, timeline::parse(members)?);
            }
        };
        let head = bytes.as_deref().map_or(Ok(Head::default()), head::decode)?;
        let oldest = head.forgetting.oldest_live(list.horizon);
        list.begin(head);
        Ok(Place { head: bytes, oldest, rank, members })
    }

    /// The rank in the timeline of what follows the part that is read, with the head at which it was so. None is needed
    /// for the beginning.
    async fn rank(&self, list: &Reading<'_>) -> Result<(usize, Option<Value>), StoreError> {
        let Some(Position { at, content }) = list.after else { return Ok((0, None)) };
        let (timeline, content) = (list.names.timeline(list.user), keys::content(content));
        let mut commands = pipe();
        commands.get(list.names.head(list.user));
        commands.zscore(&timeline, &content[..]).zrevrank(&timeline, &content[..]);
        commands.zcount(&timeline, format!("({at}"), "+inf");
        let mut answers = self.ask(list.user, commands).await?;
        let head = answer(&mut answers)?;
        let score = value::bytes_or_nil(answer(&mut answers)?)?;
        let own = answer(&mut answers)?;
        let newer = value::number(answer(&mut answers)?)? as usize;
        // Any number of contents may have that very moment. Without the content, those of them that come before it are
        // left out one by one.
        let rank = match score.as_deref().map(timeline::eviction_of).transpose()? {
            Some(Eviction { has_record: true, newest }) if newest == at => value::number(own)? as usize + 1,
            _ => newer,
        };
        Ok((rank, Some(head)))
    }

    async fn ask(&self, user: UserId, commands: Pipeline) -> Result<std::vec::IntoIter<Value>, StoreError> {
        Ok(checked::ask(&self.redis, keys::shard_of(user), commands).await?.into_iter())
    }
}

impl Reading<'_> {
    /// Takes the record of the first head.
    fn begin(&mut self, head: Head) {
        if self.current.is_none() {
            let live = head.current.as_ref().and_then(|(_, row)| row.row.live(&head.forgetting, self.horizon));
            self.records.extend(live.filter(|record| self.request.wants(record)).cloned());
            self.current = Some(head.current.map(|(content, _)| content));
        }
    }

    /// What was read last may still be of before the page.
    fn go_on_after(&mut self, place: &Place) {
        let last = place.members.last().map(|(eviction, content)| Position { at: eviction.newest, content: *content });
        if let Some(last) = last.filter(|last| self.after.is_none_or(|after| *last < after)) {
            self.after = Some(last);
        }
    }

    fn ask_for_members(&self, commands: &mut Pipeline, rank: usize) {
        // Without kinds, most of the newest are wanted.
        let wanted = self.request.limit.saturating_sub(self.records.len()).saturating_add(1);
        let step = if self.request.kinds.is_empty() { wanted.clamp(STEP_MIN, STEP_MAX) } else { STEP_MAX };
        let (first, last) = (rank as isize, (rank + step - 1) as isize);
        commands.zrevrange_withscores(self.names.timeline(self.user), first, last);
    }

    /// The contents of this place whose rows are wanted, and whether none follow.
    fn choose(&self, place: &Place, rows_read: &RowsRead) -> (Vec<Content>, bool) {
        let is_old = |eviction: &Eviction| !eviction.has_record || eviction.newest < place.oldest;
        let live = place.members.iter().take_while(|(eviction, _)| !is_old(eviction));
        let (mut contents, mut count) = (Vec::new(), 0);
        for (eviction, content) in live {
            count += 1;
            let position = Position { at: eviction.newest, content: *content };
            let comes = self.after.is_none_or(|after| position < after);
            // What is in the head has its place here by when it came there; what came before does not count, or there
            // would be no end of it.
            rows_read.add(u64::from(comes));
            let kinds = &self.request.kinds;
            if comes && self.current != Some(Some(*content)) && (kinds.is_empty() || kinds.contains(&content.kind)) {
                contents.push(*content);
            }
        }
        (contents, count < place.members.len() || place.members.is_empty())
    }

    fn take(&mut self, place: &Place, contents: &[Content], rows: Value) -> Result<(), DecodeError> {
        for (content, row) in contents.iter().zip(value::array(rows)?) {
            // One without a row is in the head.
            let Some(row) = value::bytes_or_nil(row)? else { continue };
            let record = row::parse(*content, &row)?.row.record;
            self.records.extend(record.filter(|record| record.at >= place.oldest));
        }
        Ok(())
    }
}

fn answer(answers: &mut impl Iterator<Item = Value>) -> Result<Value, DecodeError> {
    answers.next().ok_or(DecodeError("a list"))
}
