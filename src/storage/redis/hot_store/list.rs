//! A user's list, newest first.
//!
//! ```text
//! head, first members of the timeline ─▶ their rows, the head again, next members ─▶ … ─▶ page
//!                 ▲                                       │ another token: a commit came in between
//!                 └────────── read on from there ─────────┘
//! ```
//!
//! Every step reads the head. While its token stays the same, all that was read is of one moment. A list that is
//! interrupted by a commit keeps its records, and reads on after them: a record that does not move is neither skipped
//! nor repeated.

use ::redis::{Pipeline, Value, pipe};

use super::bytes::DecodeError;
use super::keys::{self, Keys};
use super::{Shared, head, row, timeline};
use crate::{checked, value};
use model::cold::ColdMark;
use model::forgetting::Eviction;
use model::ids::{Content, UserId};
use model::page::{Page, PageRequest, Position};
use model::record::Record;
use model::rows_read::RowsRead;
use storage::hot_store::StoreError;
use storage::hot_store::optimistic::Head;

/// The least rows that one step reads.
const STEP_MIN: usize = 16;
const STEP_MAX: usize = 256;

/// The rows that a step reads for each record that the page lacks, in a list of finished records or of the others.
const ROWS_PER_FINISHED: usize = 4;
/// A page of such a list ends once so many rows were looked at, however few of them are on it.
const FINISHED_ROWS_MAX: u64 = 2_000;

/// A list that is being read.
struct Reading<'r> {
    user: UserId,
    names: Keys,
    request: &'r PageRequest,
    horizon: u64,
    /// The position up to which the list is read.
    after: Option<Position>,
    records: Vec<Record>,
    /// The content in the first head, once that head is read. Its record is taken from the head.
    current: Option<Option<Content>>,
    /// Rows of the user have left the store.
    cold: Option<ColdMark>,
    /// Whether the page ends at `after`, although it is not full and the list may go on.
    cut_short: bool,
}

/// A part of the timeline, valid as long as no commit changes the user.
struct Part {
    head: Option<Vec<u8>>,
    /// Records older than this are not listed.
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
        let (after, records) = (request.after, Vec::new());
        let mut list =
            Reading { user, names, request, horizon, after, records, current: None, cold: None, cut_short: false };
        // The search for the first row costs as much as a row.
        rows_read.add(1);
        while !self.read_on(&mut list, rows_read).await? {}
        Ok(list.page())
    }

    /// Reads on. True: the page is full or cut short, or the list has ended. False: a commit has changed the user.
    async fn read_on(&self, list: &mut Reading<'_>, rows_read: &RowsRead) -> Result<bool, StoreError> {
        let mut part = self.find(list).await?;
        loop {
            let (contents, is_last) = list.choose(&part, rows_read);
            if contents.is_empty() && is_last {
                return Ok(true);
            }
            let next = part.rank + part.members.len();
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
            if value::bytes_or_nil(answer(&mut answers)?)? != part.head {
                return Ok(false);
            }
            let members = if is_last { Vec::new() } else { timeline::parse(answer(&mut answers)?)? };
            if !contents.is_empty() {
                list.take(&part, &contents, answer(&mut answers)?)?;
            }
            if is_last || list.records.len() > list.request.limit {
                return Ok(true);
            }
            list.go_on_after(&part);
            if list.has_looked_enough(rows_read) {
                list.cut_short = true;
                return Ok(true);
            }
            part = Part { rank: next, members, ..part };
        }
    }

    /// The head and the next members of the timeline, read at one moment.
    async fn find(&self, list: &mut Reading<'_>) -> Result<Part, StoreError> {
        if list.after == list.request.after {
            // So far only the record of an older head was read.
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
        list.cold = self.cold_mark(&head, list.horizon);
        list.begin(head);
        Ok(Part { head: bytes, oldest, rank, members })
    }

    /// The rank of the next member of the timeline, with the head at that moment. The start of the list needs no head.
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
        // Any number of contents may have exactly that moment. If the content itself is gone, those that come before it
        // are skipped one by one.
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
    /// Starts with the record of the first head.
    fn begin(&mut self, head: Head) {
        if self.current.is_none() {
            let live = head.current.as_ref().and_then(|(_, row)| row.row.live(&head.forgetting, self.horizon));
            self.records.extend(live.filter(|record| self.request.wants(record)).cloned());
            self.current = Some(head.current.map(|(content, _)| content));
        }
    }

    /// Moves on past the members that were read. Even the last of them may come before the page.
    fn go_on_after(&mut self, part: &Part) {
        let last = part.members.last().map(|(eviction, content)| Position { at: eviction.newest, content: *content });
        if let Some(last) = last.filter(|last| self.after.is_none_or(|after| *last < after)) {
            self.after = Some(last);
        }
    }

    fn ask_for_members(&self, commands: &mut Pipeline, rank: usize) {
        // Without kinds, most of the newest members are wanted.
        let wanted = self.request.limit.saturating_sub(self.records.len()).saturating_add(1);
        let rows = if self.request.finished.is_some() { wanted.saturating_mul(ROWS_PER_FINISHED) } else { wanted };
        let step = if self.request.kinds.is_empty() { rows.clamp(STEP_MIN, STEP_MAX) } else { STEP_MAX };
        let (first, last) = (rank as isize, (rank + step - 1) as isize);
        commands.zrevrange_withscores(self.names.timeline(self.user), first, last);
    }

    /// The contents of this part whose rows are needed, and whether they are the last.
    fn choose(&self, part: &Part, rows_read: &RowsRead) -> (Vec<Content>, bool) {
        let is_old = |eviction: &Eviction| !eviction.has_record || eviction.newest < part.oldest;
        let live = part.members.iter().take_while(|(eviction, _)| !is_old(eviction));
        let (mut contents, mut count) = (Vec::new(), 0);
        for (eviction, content) in live {
            count += 1;
            let position = Position { at: eviction.newest, content: *content };
            let comes = self.after.is_none_or(|after| position < after);
            // The content in the head keeps the place at which it entered the head. Members before the position of the
            // list are not counted again.
            rows_read.add(u64::from(comes));
            let kinds = &self.request.kinds;
            if comes && self.current != Some(Some(*content)) && (kinds.is_empty() || kinds.contains(&content.kind)) {
                contents.push(*content);
            }
        }
        (contents, count < part.members.len() || part.members.is_empty())
    }

    fn take(&mut self, part: &Part, contents: &[Content], rows: Value) -> Result<(), DecodeError> {
        for (content, row) in contents.iter().zip(value::array(rows)?) {
            // A content without a row is in the head.
            let Some(row) = value::bytes_or_nil(row)? else { continue };
            let record = row::parse(*content, &row)?.row.record;
            self.records.extend(record.filter(|record| record.at >= part.oldest && self.request.wants(record)));
        }
        Ok(())
    }

    /// Whether the page is cut short here. It has come on then, so the next page begins elsewhere.
    fn has_looked_enough(&self, rows_read: &RowsRead) -> bool {
        self.request.finished.is_some() && rows_read.get() >= FINISHED_ROWS_MAX && self.after != self.request.after
    }

    fn page(mut self) -> Page {
        let page = match self.after.filter(|_| self.cut_short) {
            None => self.request.cut(self.records),
            Some(position) => {
                // The record in the head may be older than what was read: then it is on a later page.
                self.records.retain(|record| Position::of(record) >= position);
                Page { next: Some(position), ..self.request.cut(self.records) }
            }
        };
        // Whatever has left is not newer than the floor.
        let is_above = |mark: &ColdMark| page.next.is_some_and(|next| next.at > mark.floor);
        Page { cold: self.cold.filter(|mark| !is_above(mark)), ..page }
    }
}

fn answer(answers: &mut impl Iterator<Item = Value>) -> Result<Value, DecodeError> {
    answers.next().ok_or(DecodeError("a list"))
}
