//! The store of names, for gateways that have none.

use tonic::Status;

use super::{malformed, status};
use domain::gateway_messages::names::{decode_name, encode_number, encode_text};
use domain::gateway_messages::wire;
use domain::names::{NamesUnavailable, Numbered, UserNames};
use model::ids::UserId;
use model::user_name::UserName;

/// `None`: users are named by numbers here.
pub async fn answer(names: Option<&UserNames>, request: wire::NamesRequest) -> Result<wire::NamesResponse, Status> {
    let numbers_only = || Status::failed_precondition("users are named by numbers here (auth.subjects)");
    let names = names.ok_or_else(numbers_only)?;
    let asked: Vec<_> =
        request.names.iter().map(|name| decode_name(name).map_err(malformed)).collect::<Result<_, _>>()?;
    let mids: Vec<_> = request.mids.iter().copied().map(UserId).collect();
    let answered = async {
        let numbers = if request.numbered { numbered(names, &asked).await? } else { names.find_all(&asked).await? };
        let texts = names.texts(&mids).await?;
        if request.drop > 0 {
            names.drop_text(UserId(request.drop)).await?;
        }
        Ok((numbers, texts))
    };
    let (numbers, texts) = answered.await.map_err(status::of_names)?;
    Ok(wire::NamesResponse {
        numbers: numbers.into_iter().map(encode_number).collect(),
        texts: texts.iter().map(|text| encode_text(text.as_ref())).collect(),
    })
}

async fn numbered(names: &UserNames, asked: &[UserName]) -> Result<Vec<Option<Numbered>>, NamesUnavailable> {
    let users = names.number_all(asked).await?;
    Ok(users.into_iter().map(|user| Some(Numbered { user, is_dropped: false })).collect())
}
