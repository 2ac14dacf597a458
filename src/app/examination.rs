//! What `heartline doctor` prints.

pub struct Examination {
    /// Lines.
    pub text: String,
    /// Whether all that is configured can be used.
    pub is_well: bool,
}

impl Examination {
    /// No server is configured that is looked at.
    pub(super) fn of_none() -> Self {
        let text = "nothing to look at: store.hot_store is not \"redis\"\n".to_owned();
        Examination { text, is_well: true }
    }
}
