//! Users whose changes are to be carried to the history store: reading them, and taking them off the list.

use std::collections::BTreeMap;

use super::head::Listing;
use super::{Applied, Apply, Head, Load, Need, Token, TokenSource, UserStore, Write};
use crate::hot_store::StoreError;
use model::cold::ColdMark;
use model::forgetting::ContentRow;
use model::ids::{Content, UserId};
use model::pack::{PackedForgetting, PackedRow, UserPack};
use model::version::Version;

/// The possible changes of a listed user. Head and rows may be of different moments: the head is older than the rows.
#[derive(Clone, Debug)]
pub struct ListedUser {
    pub user: UserId,
    /// `None`: the user has no data.
    head: Option<Box<Head>>,
    rows: BTreeMap<Content, ContentRow>,
    has_marks: bool,
    /// The reason why the user cannot be carried.
    pub unreadable: Option<String>,
}

/// Reads users. The head of each is read first: a row that leaves the head in between is found outside.
pub async fn read_listed(store: &impl UserStore, users: &[UserId]) -> Result<Vec<ListedUser>, StoreError> {
    let load = |user: &UserId| Load { user: *user, needs: vec![Need::Head, Need::Marked] };
    let loaded = store.load(&users.iter().map(load).collect::<Vec<_>>()).await?;
    let (mut listed, mut whole) = (Vec::with_capacity(users.len()), Vec::new());
    for (user, loaded) in users.iter().zip(loaded) {
        if loaded.marked.as_ref().is_some_and(|marked| marked.all) {
            whole.push((listed.len(), Load { user: *user, needs: vec![Need::All] }));
        }
        let mut found = ListedUser::new(*user, loaded.head.flatten(), BTreeMap::new());
        found.unreadable = loaded.unreadable.clone();
        found.has_marks = loaded.marked.as_ref().is_some_and(|marked| !marked.is_empty());
        found.add(loaded.rows.into_iter().filter_map(|(content, row)| Some((content, row?.row))));
        listed.push(found);
    }
    if !whole.is_empty() {
        let (indexes, loads): (Vec<usize>, Vec<Load>) = whole.into_iter().unzip();
        for (index, loaded) in indexes.into_iter().zip(store.load(&loads).await?) {
            listed[index].unreadable = listed[index].unreadable.take().or(loaded.unreadable);
            listed[index].add(loaded.rows.into_iter().filter_map(|(content, row)| Some((content, row?.row))));
        }
    }
    Ok(listed)
}

/// Takes users off the list if their heads have not changed since they were read. Answers for each whether it was taken
/// off. To be called after everything read of the users was delivered.
///
/// # Errors
/// Any of the users may have been taken off, now or later.
pub async fn unlist(
    store: &impl UserStore,
    tokens: &TokenSource,
    users: &[ListedUser],
    now: u64,
) -> Result<Vec<bool>, StoreError> {
    let applies: Vec<Apply> = users.iter().map(|listed| listed.unlisting(store, tokens, now)).collect();
    let applied = store.apply(&applies.iter().collect::<Vec<_>>()).await?;
    Ok(applied.iter().map(|applied| matches!(applied, Applied::Done { .. })).collect())
}

/// The users who are listed with all their rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relist {
    /// Those that no gateway that carries changes has ever written.
    Unknown,
    /// All who have data, whether they were carried or not.
    All,
}

/// Reads all data of a user, the head first.
pub async fn read_whole(store: &impl UserStore, user: UserId) -> Result<ListedUser, StoreError> {
    let mut answers = store.load(&[Load { user, needs: vec![Need::Head] }]).await?;
    let first = answers.pop().unwrap_or_default();
    let mut whole = ListedUser::new(user, first.head.flatten(), BTreeMap::new());
    let rest = store.load(&[Load { user, needs: vec![Need::All] }]).await?.pop().unwrap_or_default();
    whole.unreadable = first.unreadable.or(rest.unreadable);
    whole.add(rest.rows.into_iter().filter_map(|(content, row)| Some((content, row?.row))));
    Ok(whole)
}

/// The same, head and rows of one moment.
pub async fn read_at_once(store: &impl UserStore, user: UserId) -> Result<ListedUser, StoreError> {
    loop {
        let whole = read_whole(store, user).await?;
        let again = store.load(&[Load { user, needs: vec![Need::Head] }]).await?.pop().unwrap_or_default();
        if again.head.flatten().map(|head| head.token) == whole.token() {
            return Ok(whole);
        }
    }
}

/// Lists users with all their rows. Returns the number of users listed.
pub async fn list(
    store: &impl UserStore,
    tokens: &TokenSource,
    users: &[UserId],
    which: Relist,
    now: u64,
) -> Result<u64, StoreError> {
    let (mut listed, mut users) = (0, users.to_vec());
    while !users.is_empty() {
        let load = |user: &UserId| Load { user: *user, needs: vec![Need::Head] };
        let loaded = store.load(&users.iter().map(load).collect::<Vec<_>>()).await?;
        let listing = |(user, head): (&UserId, Option<Box<Head>>)| {
            let head = head.filter(|head| which == Relist::All || head.listing == Listing::Unknown)?;
            Some(ListedUser::listing(*user, head, store, tokens, now))
        };
        let heads = loaded.into_iter().map(|loaded| loaded.head.flatten());
        let applies: Vec<Apply> = users.iter().zip(heads).filter_map(listing).collect();
        let applied = store.apply(&applies.iter().collect::<Vec<_>>()).await?;
        let refused = |applied: &Applied| matches!(applied, Applied::Refused(_));
        listed += applied.iter().filter(|applied| matches!(applied, Applied::Done { .. })).count() as u64;
        // Others have written them in between.
        users =
            applies.iter().zip(&applied).filter(|(_, applied)| refused(applied)).map(|(apply, _)| apply.user).collect();
    }
    Ok(listed)
}

impl ListedUser {
    pub fn new(user: UserId, head: Option<Box<Head>>, rows: BTreeMap<Content, ContentRow>) -> Self {
        ListedUser { user, head, rows, has_marks: false, unreadable: None }
    }

    /// Adds rows, and keeps the newer of two rows of a content.
    fn add(&mut self, rows: impl Iterator<Item = (Content, ContentRow)>) {
        for (content, row) in rows {
            let known = self.rows.entry(content).or_default();
            if row.last_version() > known.last_version() {
                *known = row;
            }
        }
    }

    /// `None`: the user has no data.
    pub fn token(&self) -> Option<Token> {
        self.head.as_ref().map(|head| head.token)
    }

    /// Contents of which only a delete is known that a later clear covers. Nothing can meet it any more.
    pub fn covered(&self) -> impl Iterator<Item = Content> {
        let oldest_live = self.oldest_live(0);
        let is_covered = move |row: &ContentRow| row.record.is_none() && row.newest() < oldest_live;
        self.rows.iter().filter(move |(_, row)| is_covered(row)).map(|(content, _)| *content)
    }

    pub(super) fn head(&self) -> Option<Box<Head>> {
        self.head.clone()
    }

    /// The content whose row is in the head, and stays hot.
    pub fn playing(&self) -> Option<Content> {
        self.head.as_ref()?.current.as_ref().map(|(content, _)| *content)
    }

    /// The mark of rows that have left the hot store, if a read may still return any of them.
    pub fn cold_mark(&self, horizon: u64) -> Option<ColdMark> {
        self.head.as_ref()?.cold_mark(horizon)
    }

    /// The oldest moment that reads return, milliseconds.
    pub fn oldest_live(&self, horizon: u64) -> u64 {
        self.head.as_ref().map_or(horizon, |head| head.forgetting.oldest_live(horizon))
    }

    /// A row outside the head.
    pub(super) fn row(&self, content: Content) -> Option<&ContentRow> {
        self.rows.get(&content)
    }

    /// The rows were removed, and the user has this head.
    pub(super) fn has_left(&mut self, head: Option<Box<Head>>, left: &[Content]) {
        self.head = head;
        left.iter().for_each(|content| drop(self.rows.remove(content)));
    }

    /// Whether everything was carried at some time, and nothing was written since.
    pub fn is_carried(&self) -> bool {
        self.head.as_ref().is_some_and(|head| head.listing == Listing::Carried)
    }

    /// Marks up to this version are removed after the delivery, if there were any. They were read after the head, so
    /// all marks that are not newer than the head were read.
    pub fn marks_until(&self) -> Version {
        self.token().filter(|_| self.has_marks).map_or(Version::NONE, |token| token.version)
    }

    /// The state to be carried, without cleared records. Old ones are carried, too: the history store has its own
    /// retention, and what is left out here would be unlisted all the same.
    pub fn pack(&self) -> UserPack {
        let Some(head) = &self.head else {
            return UserPack { user: self.user, forgetting: None, rows: Vec::new() };
        };
        let mut rows = self.rows.clone();
        if let Some((content, stored)) = &head.current {
            let known = rows.entry(*content).or_default();
            if stored.row.last_version() > known.last_version() {
                *known = stored.row.clone();
            }
        }
        let oldest = head.forgetting.oldest_live(0);
        let is_kept = |row: &PackedRow| row.newest() >= oldest;
        let rows = rows.iter().map(|(content, row)| PackedRow::of(*content, row)).filter(is_kept).collect();
        UserPack { user: self.user, forgetting: PackedForgetting::of(&head.forgetting, head.token.version), rows }
    }

    fn listing(user: UserId, known: Box<Head>, store: &impl UserStore, tokens: &TokenSource, now: u64) -> Apply {
        let mut head = known.clone();
        let token = tokens.next(Some(known.token), now);
        head.listing = Listing::Listed;
        head.renew(token);
        let writes = vec![Write::Mark { content: None, version: token.version }, Write::List { due: now }];
        let generations = store.generations();
        Apply { user, expected: Some(known), head: Some(head), writes, news: false, generations }
    }

    /// The bit is cleared under a new token, so that no commit decided on a listed head is applied any more. An entry
    /// whose head is missing or not listed leaves the list in the same way.
    fn unlisting(&self, store: &impl UserStore, tokens: &TokenSource, now: u64) -> Apply {
        let head = self.head.clone().filter(|head| head.listing == Listing::Listed).map(|mut head| {
            head.listing = Listing::Carried;
            let token = tokens.next(Some(head.token), now);
            head.renew(token);
            head
        });
        let (expected, writes, generations) = (self.head.clone(), vec![Write::Unlist], store.generations());
        Apply { user: self.user, expected, head, writes, news: false, generations }
    }
}
