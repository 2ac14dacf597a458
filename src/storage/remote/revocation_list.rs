//! The list of a gateway without a store: its history services keep it.

use super::{RemoteStore, StoreError};
use model::revocation::{Revocation, Revoked};
use storage::gateway_messages::{revocations, wire};
use storage::revocation_list::{Edition, ListError, RevocationList};

pub struct RemoteList {
    pub services: RemoteStore,
}

impl RevocationList for RemoteList {
    fn load(&self, known: Option<Edition>) -> Result<Option<(Edition, Vec<Revocation>)>, ListError> {
        let answer = self.services.revocations(wire::RevocationsRequest { known }).map_err(broken)?;
        if answer.same {
            return Ok(None);
        }
        // The services bound the list.
        Ok(Some((answer.edition, answer.revocations.into_iter().map(revocations::decode).collect())))
    }

    fn add(&self, revocation: &Revocation, now_ms: u64) -> Result<Revocation, ListError> {
        let request = wire::RevokeRequest { revocation: Some(revocations::encode(revocation)), now: now_ms };
        let answer = self.services.revoke(request).map_err(broken)?;
        match answer.stands {
            _ if answer.full => Err(ListError::Full),
            Some(stands) => Ok(revocations::decode(stands)),
            None => Ok(revocation.clone()),
        }
    }

    fn remove(&self, what: &Revoked, upto_ms: u64) -> Result<(), ListError> {
        let revocation = wire::Revocation { at: upto_ms, ..revocations::encode_what(what) };
        let request = wire::TakeBackRequest { revocation: Some(revocation) };
        self.services.take_back(request).map(drop).map_err(broken)
    }
}

fn broken(error: StoreError) -> ListError {
    ListError::Broken { place: "of the history services".to_owned(), why: format!("cannot be used: {error}") }
}
