//! The contents of a user, cached beside the head so that a new content costs no read. They are valid as long as the
//! head's token is.

use super::Write;
use model::ids::Content;

#[derive(Clone, Debug, Default, PartialEq)]
pub enum Contents {
    #[default]
    Unknown,
    /// The number of contents, the one in the head included.
    Count(u32),
    /// Exactly these contents.
    All(Vec<Content>),
}

impl Contents {
    /// The most contents kept in the list: each takes 16 bytes. More contents are only counted.
    pub const ALL_MAX: usize = 16;

    pub fn count(&self) -> Option<u32> {
        match self {
            Contents::Unknown => None,
            Contents::Count(count) => Some(*count),
            Contents::All(contents) => Some(contents.len() as u32),
        }
    }

    /// Whether the user certainly has no such content.
    pub fn lacks(&self, content: Content) -> bool {
        matches!(self, Contents::All(contents) if !contents.contains(&content))
    }

    /// The contents after these writes. `count`: their number then, if the decision has counted them.
    pub fn after(&self, writes: &[Write], count: Option<u32>) -> Self {
        let removes = |write: &Write| matches!(write, Write::Remove { .. } | Write::RemoveAll);
        match self {
            Contents::All(before) => {
                let mut contents = before.clone();
                writes.iter().for_each(|write| follow(&mut contents, write));
                match contents.len() {
                    ..=Self::ALL_MAX => Contents::All(contents),
                    many => Contents::Count(many as u32),
                }
            }
            // The count is unknown, since removed contents may not have been counted.
            _ if writes.iter().any(removes) => Contents::Unknown,
            Contents::Count(before) => Contents::Count(count.unwrap_or(*before)),
            Contents::Unknown => Contents::Unknown,
        }
    }
}

fn follow(contents: &mut Vec<Content>, write: &Write) {
    match write {
        Write::Put { content, .. } | Write::Enter { content, .. } => {
            if !contents.contains(content) {
                contents.push(*content);
            }
        }
        Write::Remove { content } => contents.retain(|known| known != content),
        Write::RemoveAll => contents.clear(),
        Write::LookAt { .. } | Write::RemoveUser => {}
        Write::Claim { .. } | Write::View { .. } | Write::Count { .. } | Write::RemoveClaims { .. } => {}
        Write::List { .. } | Write::Mark { .. } | Write::Unlist | Write::Notice { .. } | Write::ColdFilter { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(oid: u64) -> Content {
        Content { kind: 1, oid }
    }

    fn enter(oid: u64) -> Write {
        Write::Enter { content: content(oid), at: 1, stored: false }
    }

    #[test]
    fn few_contents_are_listed() {
        let none = Contents::All(Vec::new());
        assert!(none.lacks(content(1)));
        let two = none.after(&[enter(1), enter(2), enter(1)], None);
        assert_eq!((two.count(), two.lacks(content(2)), two.lacks(content(3))), (Some(2), false, true));
        let one = two.after(&[Write::Remove { content: content(1) }], None);
        assert_eq!(one, Contents::All(vec![content(2)]));
        assert_eq!(one.after(&[Write::RemoveAll, enter(3)], None), Contents::All(vec![content(3)]));
    }

    #[test]
    fn many_contents_are_counted_and_an_uncertain_count_is_forgotten() {
        let oids = 0..=Contents::ALL_MAX as u64;
        let many = Contents::All(Vec::new()).after(&oids.map(enter).collect::<Vec<_>>(), None);
        assert_eq!(many, Contents::Count(17));
        assert!(!many.lacks(content(99)));
        assert_eq!(many.after(&[enter(99)], Some(18)), Contents::Count(18));
        assert_eq!(many.after(&[enter(5)], None), Contents::Count(17));
        assert_eq!(many.after(&[Write::Remove { content: content(1) }], Some(17)), Contents::Unknown);
        assert_eq!(Contents::Unknown.after(&[enter(1)], Some(1)), Contents::Unknown);
    }
}
