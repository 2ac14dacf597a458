//! The user that a call is about, as the call names one.

use model::ids::UserId;
use model::user_name::UserName;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Whom {
    Mid(UserId),
    Sub(UserName),
}
