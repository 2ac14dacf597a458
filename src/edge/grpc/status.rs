//! Errors as statuses. Those that may pass say when to try again.

use std::time::Duration;

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use crate::called_users::{NoUser, NotAll};
use crate::http::asked_at::NewestUnknown;
use crate::http::pending::CommitError;
use crate::protocol::frame::DecodeError;
use domain::content_names::ContentNamesUnavailable;
use domain::names::NamesUnavailable;
use domain::store_reads::Unavailable;

/// When to ask again what the store did not answer, and when there may be room again.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// When to ask again a server whose clock is wrong, if there is no other.
const CLOCK_RETRY_AFTER: Duration = Duration::from_secs(5);

/// Nothing was applied: there is no room for it now.
pub fn overloaded(message: impl Into<String>) -> Status {
    again(Code::ResourceExhausted, message, RETRY_AFTER)
}

/// The outcome is unknown.
pub fn unavailable(message: impl Into<String>) -> Status {
    again(Code::Unavailable, message, RETRY_AFTER)
}

/// The clock is wrong, and nothing is judged by it.
pub fn out_of_time(message: impl Into<String>) -> Status {
    again(Code::Unavailable, message, CLOCK_RETRY_AFTER)
}

/// `field`: its path.
pub fn invalid(field: &str, complaint: impl std::fmt::Display) -> Status {
    Status::invalid_argument(format!("{field}: {complaint}"))
}

pub fn of_commit(error: CommitError) -> Status {
    match error {
        CommitError::NoRoom => overloaded(error.to_string()),
        CommitError::Ahead => Status::invalid_argument(error.to_string()),
        CommitError::Unreadable | CommitError::Late => unavailable(error.to_string()),
    }
}

pub fn of_read(error: Unavailable) -> Status {
    unavailable(error.to_string())
}

pub fn of_user(error: NoUser) -> Status {
    match error {
        NoUser::NumbersOnly | NoUser::Unknown => Status::invalid_argument(error.to_string()),
        NoUser::Unavailable(error) => of_names(error),
    }
}

/// `list`: the field with the users.
pub fn of_users(list: &str, error: NotAll) -> Status {
    match error {
        NotAll::One(index, error) => Status::invalid_argument(format!("{list}[{index}].{error}")),
        NotAll::Unavailable(error) => of_names(error),
    }
}

pub fn of_names(error: NamesUnavailable) -> Status {
    unavailable(error.to_string())
}

pub fn of_content_names(error: ContentNamesUnavailable) -> Status {
    unavailable(error.to_string())
}

pub fn of_newest(error: NewestUnknown) -> Status {
    match error {
        NewestUnknown::ListsTakeLong => overloaded(error.to_string()),
        NewestUnknown::Unavailable(unavailable) => of_read(unavailable),
    }
}

pub fn of_decoding(error: DecodeError) -> Status {
    Status::invalid_argument(error.message)
}

fn again(code: Code, message: impl Into<String>, after: Duration) -> Status {
    Status::with_error_details(code, message, ErrorDetails::with_retry_info(Some(after)))
}
