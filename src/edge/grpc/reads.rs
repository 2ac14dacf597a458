//! Reads of one user's data, and of the users.

use tokio::time::timeout_at;
use tonic::Status;

use super::caller::Caller;
use super::decode::{self, Fault};
use super::gate::Deadline;
use super::{encode, status, wire};
use crate::auth::User;
use crate::called_users::CalledUsers;
use crate::context::ConnectionContext;
use crate::limits::list_limiter::ListPermit;
use crate::protocol::cursor;
use crate::protocol::frame::Cursor;
use crate::protocol::json::decode_list;
use domain::stored_users::Users;
use model::content_name::ContentTexts;
use model::ids::UserId;
use model::page::{ListFilter, ListRequest, UsersRequest};
use model::record::Record;
use model::walk::WalkRequest;

/// Records of a page by content.
const WALK_DEFAULT: u32 = 20;
const USERS_DEFAULT: u32 = 1_000;
const USERS_MAX: u32 = 10_000;

pub async fn get(
    context: &ConnectionContext,
    caller: &Caller,
    user: UserId,
    request: wire::GetRequest,
) -> Result<wire::GetResponse, Status> {
    let (contents, _) = decode::contents(&request.items, context.limits.items, context.content_ids())?;
    caller.require_contents("items", &contents)?;
    let found = context.history.get(user, contents).await.map_err(status::of_read)?;
    let texts = texts_of(context, found.records.iter().flatten()).await?;
    let encode = |record| encode::record(record, context.telling(&texts));
    let slots = found.records.iter().map(|record| wire::Slot { record: record.as_ref().map(encode) });
    Ok(wire::GetResponse { records: slots.collect(), partial: found.partial })
}

pub async fn list(
    context: &ConnectionContext,
    users: &Users,
    caller: &Caller,
    deadline: Deadline,
    user: UserId,
    request: wire::ListRequest,
) -> Result<wire::ListResponse, Status> {
    if request.by_content {
        return walk(context, users, caller, deadline, (user, request)).await;
    }
    let Some(list_request) = list_request(context, caller, &request)? else {
        return Ok(wire::ListResponse::default());
    };
    let filter = list_request.filter.clone();
    let permit = turn_of(context, deadline, user).await?;
    let page = context.history.list(user, list_request, permit.rows()).await.map_err(status::of_read)?;
    let cursor = page.next.map(|position| cursor::encode(&Cursor { position, filter }));
    let texts = texts_of(context, page.records.iter()).await?;
    Ok(wire::ListResponse {
        records: page.records.iter().map(|record| encode::record(record, context.telling(&texts))).collect(),
        cursor: cursor.unwrap_or_default(),
        partial: page.partial,
    })
}

/// A page by content.
async fn walk(
    context: &ConnectionContext,
    users: &Users,
    caller: &Caller,
    deadline: Deadline,
    (user, request): (UserId, wire::ListRequest),
) -> Result<wire::ListResponse, Status> {
    let Some(walk) = walk_request(context, caller, &request)? else {
        return Ok(wire::ListResponse::default());
    };
    let kinds = walk.kinds.clone();
    let permit = turn_of(context, deadline, user).await?;
    let walked = users.walk(user, walk).await.map_err(status::of_read)?;
    // It is for copies, and a copy without the older records is none.
    if walked.partial {
        return Err(status::unavailable("the history store is away, and has older records of this user"));
    }
    permit.rows().add(walked.records.len() as u64 + 1);
    let texts = texts_of(context, walked.records.iter()).await?;
    Ok(wire::ListResponse {
        records: walked.records.iter().map(|record| encode::record(record, context.telling(&texts))).collect(),
        cursor: walked.next.map(|next| cursor::encode_walk(next, &kinds)).unwrap_or_default(),
        partial: false,
    })
}

/// The names of the contents, where contents have names.
async fn texts_of(context: &ConnectionContext, records: impl Iterator<Item = &Record>) -> Result<ContentTexts, Status> {
    context.texts_of(records.map(|record| record.content)).await.map_err(status::of_content_names)
}

/// `None`: there is no kind that the caller may see.
fn walk_request(
    context: &ConnectionContext,
    caller: &Caller,
    request: &wire::ListRequest,
) -> Result<Option<WalkRequest>, Status> {
    let asked = decode::kinds(&request.kinds)?;
    caller.require_kinds(asked.iter().copied().enumerate(), |index| format!("kinds[{index}]"))?;
    if asked.len() > cursor::KINDS_MAX {
        return Err(Fault::too_many("kinds", cursor::KINDS_MAX).into());
    }
    if request.finished.is_some() {
        return Err(Fault::new("finished", "must not be given beside by_content").into());
    }
    let limit = match request.limit {
        Some(0) => return Err(Fault::too_small("limit").into()),
        limit => limit.unwrap_or(WALK_DEFAULT).min(u32::try_from(context.frame_limits().list).unwrap_or(u32::MAX)),
    };
    let (after, kinds) = match request.cursor.as_str() {
        "" => (None, asked),
        text => {
            let (after, kinds) =
                cursor::decode_walk(text).ok_or_else(|| Fault::new("cursor", "is not one of a list by content"))?;
            if !asked.is_empty() && !cursor::is_same_set(&asked, &kinds) {
                return Err(Fault::new("kinds", "must be those of the cursor, or left out").into());
            }
            (Some(after), kinds)
        }
    };
    // A cursor brings its kinds along.
    caller.require_kinds(kinds.iter().copied().enumerate(), |_| "cursor".to_owned())?;
    let kinds = match caller.kinds() {
        Some([]) => return Ok(None),
        Some(allowed) if kinds.is_empty() => allowed.to_vec(),
        _ => kinds,
    };
    Ok(Some(WalkRequest { limit: limit as usize, after, kinds }))
}

/// The turn of a list among the lists of its user.
async fn turn_of(context: &ConnectionContext, deadline: Deadline, user: UserId) -> Result<ListPermit, Status> {
    let waited = timeout_at(deadline.answer_by(), context.lists.clone().acquire(user)).await;
    let late = |_| status::overloaded("too many lists of this user (one at a time, and limits.list_rows_per_second)");
    waited.map_err(late)?.map_err(status::of_read)
}

/// `None`: there is no kind that the caller may see.
fn list_request(
    context: &ConnectionContext,
    caller: &Caller,
    request: &wire::ListRequest,
) -> Result<Option<ListRequest>, Status> {
    let kinds = decode::kinds(&request.kinds)?;
    caller.require_kinds(kinds.iter().copied().enumerate(), |index| format!("kinds[{index}]"))?;
    if request.limit == Some(0) {
        return Err(Fault::too_small("limit").into());
    }
    let cursor = Some(request.cursor.as_str()).filter(|cursor| !cursor.is_empty());
    let limits = context.frame_limits();
    let filter = ListFilter { kinds, finished: request.finished };
    let list = decode_list(request.limit.map(u64::from), filter, cursor, &limits).map_err(status::of_decoding)?;
    // A cursor brings its kinds along.
    caller.require_kinds(list.filter.kinds.iter().copied().enumerate(), |_| "cursor".to_owned())?;
    Ok(match caller.kinds() {
        Some([]) => None,
        Some(allowed) if list.filter.kinds.is_empty() => {
            let filter = ListFilter { kinds: allowed.to_vec(), ..list.filter };
            Some(ListRequest { filter, ..list })
        }
        _ => Some(list),
    })
}

pub async fn recording(context: &ConnectionContext, user: UserId) -> Result<wire::RecordingState, Status> {
    let paused = context.history.paused(user).await.map_err(status::of_read)?;
    Ok(wire::RecordingState { paused })
}

/// The state of the user that a welcome tells.
pub async fn open(context: &ConnectionContext, caller: &Caller, user: &User) -> Result<wire::OpenResponse, Status> {
    let known = context.connect_lookup.of(user.id).await.map_err(status::of_read)?;
    Ok(wire::OpenResponse {
        mid: user.id.0,
        sub: encode::sub(user),
        now: context.clock.now(),
        today: known.today.to_string(),
        flag: encode::flag(known.flag),
        // A caller of some kinds is not told of recording, as `GetRecording` has it.
        paused: known.paused && caller.has_all_kinds(),
    })
}

pub async fn rewards(
    context: &ConnectionContext,
    caller: &Caller,
    user: &User,
) -> Result<wire::RewardsResponse, Status> {
    let (day, claims) = context.connect_lookup.claims(user.id).await.map_err(status::of_read)?;
    let shown = claims.iter().filter(|claim| claim.content.is_none_or(|content| caller.has(content.kind)));
    let texts = context.texts_of(claims.iter().filter_map(|claim| claim.content)).await;
    let texts = texts.map_err(status::of_content_names)?;
    Ok(wire::RewardsResponse {
        day: day.to_string(),
        rewards: shown.map(|claim| encode::reward(claim, user, &texts)).collect(),
    })
}

pub async fn users(
    users: &Users,
    called_users: &CalledUsers,
    caller: &Caller,
    request: wire::UsersRequest,
) -> Result<wire::UsersResponse, Status> {
    let limit = request.limit.unwrap_or(USERS_DEFAULT);
    if limit == 0 {
        return Err(Fault::too_small("limit").into());
    }
    if limit > USERS_MAX {
        return Err(Fault::too_great("limit", USERS_MAX.into()).into());
    }
    let kinds = match caller.kinds() {
        Some([]) => return Ok(wire::UsersResponse::default()),
        kinds => kinds.unwrap_or_default().to_vec(),
    };
    let request = UsersRequest { after: request.after.map(UserId), limit: limit as usize, kinds };
    let found = users.page(request).await.map_err(status::of_read)?;
    let names = called_users.names_of(found.iter().copied()).await.map_err(status::of_names)?;
    let sub = |user| names.get(user).map(|name| name.as_str().to_owned()).unwrap_or_default();
    let users = found.iter().map(|user| wire::User { mid: user.0, sub: sub(user) });
    Ok(wire::UsersResponse { users: users.collect() })
}
