//! The names of contents: frames that wait until their names are stored, and names for the frames to send.

use super::Conversation;
use super::read::Read;
use super::state::Busy;
use crate::protocol::frame::{ClientFrame, Operation};
use domain::content_names::Standing;
use model::content_name::ContentName;

impl Conversation {
    /// Whether names of the operation have to be stored before it.
    pub(super) fn lacks_names(&self, operation: &Operation) -> bool {
        let Some(contents) = &self.context.contents else { return false };
        names_of(operation).iter().any(|name| contents.standing(name) == Standing::Unknown)
    }

    /// Has the names of the frame stored, and then goes on with it.
    pub(super) fn store_names(&mut self, frame: ClientFrame) {
        let Some(contents) = &self.context.contents else { return };
        let unknown = names_of(&frame.operation).iter().filter(|name| contents.standing(name) == Standing::Unknown);
        let stored = contents.keep_patiently(unknown.cloned().collect());
        self.state.begin(Busy::Reading(Read::before(stored, frame)));
    }
}

/// Of what stores something about contents.
fn names_of(operation: &Operation) -> &[ContentName] {
    match operation {
        Operation::Beats(beats) => &beats.names,
        Operation::Delete { names, .. } => names,
        _ => &[],
    }
}
