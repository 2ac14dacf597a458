//! Numbers and texts of names.

use super::{Malformed, wire};
use crate::names::{NameText, Numbered};
use model::ids::UserId;
use model::user_name::UserName;

pub fn encode_number(found: Option<Numbered>) -> wire::Numbered {
    found.map_or_else(wire::Numbered::default, |Numbered { user, is_dropped }| wire::Numbered {
        mid: user.0,
        dropped: is_dropped,
    })
}

/// Numbers count from 1.
pub fn decode_number(sent: &wire::Numbered) -> Option<Numbered> {
    (sent.mid > 0).then_some(Numbered { user: UserId(sent.mid), is_dropped: sent.dropped })
}

pub fn encode_text(found: Option<&NameText>) -> wire::NameText {
    match found {
        Some(NameText::Known(name)) => wire::NameText { numbered: true, name: name.as_str().to_owned() },
        Some(NameText::Dropped) => wire::NameText { numbered: true, name: String::new() },
        None => wire::NameText::default(),
    }
}

pub fn decode_text(sent: &wire::NameText) -> Result<Option<NameText>, Malformed> {
    match (sent.numbered, &*sent.name) {
        (false, _) => Ok(None),
        (true, "") => Ok(Some(NameText::Dropped)),
        (true, name) => decode_name(name).map(|name| Some(NameText::Known(name))),
    }
}

pub fn decode_name(sent: &str) -> Result<UserName, Malformed> {
    UserName::new(sent).map_err(|complaint| Malformed(format!("a name {complaint}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_is_received() {
        let name = UserName::new("auth0|6405").expect("a name");
        for number in [None, Some(Numbered { user: UserId(7), is_dropped: true })] {
            assert_eq!(decode_number(&encode_number(number)), number);
        }
        for text in [None, Some(NameText::Dropped), Some(NameText::Known(name))] {
            assert_eq!(decode_text(&encode_text(text.as_ref())).expect("a text"), text);
        }
        let strange = wire::NameText { numbered: true, name: "a\nb".to_owned() };
        assert!(decode_text(&strange).is_err());
    }
}
