//! Contents as a team names them: by a text, such as a UUID or a slug.
//!
//! Everywhere inside, the first 8 bytes of the SHA-256 of the text stand for it: see [`ContentName::oid`].

use std::fmt;
use std::sync::Arc;

use percent_encoding::utf8_percent_encode;
use sha2::{Digest, Sha256};

use super::ids::{Content, NoContent};
use super::percent::RESERVED;

/// `the-wire/s01e01`: 1 to 128 bytes without control characters, compared byte by byte. Digits are a name like any other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentName {
    text: Arc<str>,
    /// Follows from the text, and is needed several times for each beat.
    oid: u64,
}

/// A text names no content. The message completes a sentence that begins with the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoContentName {
    #[error("must be from 1 to {} bytes long", ContentName::BYTES_MAX)]
    Length,
    #[error("must not contain control characters")]
    Control,
    #[error("must not be \".\" or \"..\", which URLs cannot hold")]
    Dots,
}

/// How contents are named. Fixed when a deployment is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContentIds {
    /// By a number of 64 bits.
    #[default]
    Number,
    /// By a [`ContentName`].
    Any,
}

/// The texts of the contents of one answer. Without the text of a content, its number is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContentTexts(Vec<(u64, ContentName)>);

/// An `oid`, as others are told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToldOid<'a> {
    Number(u64),
    Name(&'a ContentName),
}

impl ContentName {
    pub const BYTES_MAX: usize = 128;

    pub fn new(text: &str) -> Result<Self, NoContentName> {
        if !(1..=Self::BYTES_MAX).contains(&text.len()) {
            return Err(NoContentName::Length);
        }
        if text.chars().any(char::is_control) {
            return Err(NoContentName::Control);
        }
        if matches!(text, "." | "..") {
            return Err(NoContentName::Dots);
        }
        let digest = Sha256::digest(text.as_bytes());
        let oid = u64::from_be_bytes(*digest.first_chunk().expect("a digest has 32 bytes"));
        Ok(ContentName { text: text.into(), oid })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The number that stands for it: the first 8 bytes of its SHA-256, big-endian.
    ///
    /// Fixed for good: what is stored under it is found by every gateway.
    pub fn oid(&self) -> u64 {
        self.oid
    }
}

impl ContentIds {
    /// A content that is written as one text, and its name where contents have names: `1:100`.
    pub fn content(self, text: &str) -> Result<(Content, Option<ContentName>), NoContent> {
        if self == ContentIds::Number {
            return Ok((text.parse()?, None));
        }
        let parsed = text.split_once(':').and_then(|(kind, oid)| {
            // With an oid, so that the kind is read as anywhere.
            let Content { kind, .. } = format!("{kind}:0").parse().ok()?;
            let name = ContentName::new(oid).ok()?;
            Some((Content { kind, oid: name.oid() }, Some(name)))
        });
        parsed.ok_or_else(|| NoContent(text.to_owned()))
    }
}

impl ContentTexts {
    /// Where contents are numbers.
    pub const NONE: &ContentTexts = &ContentTexts(Vec::new());

    pub fn told(&self, oid: u64) -> ToldOid<'_> {
        self.name(oid).map_or(ToldOid::Number(oid), ToldOid::Name)
    }

    pub fn name(&self, oid: u64) -> Option<&ContentName> {
        self.0.binary_search_by_key(&oid, |(oid, _)| *oid).ok().map(|index| &self.0[index].1)
    }

    /// A content as one text: `1:100`.
    pub fn text(&self, Content { kind, oid }: Content) -> String {
        format!("{kind}:{}", self.told(oid))
    }

    /// The text of this number alone.
    pub fn only(&self, oid: u64) -> ContentTexts {
        self.name(oid).map(|name| (oid, name.clone())).into_iter().collect()
    }

    /// The order of contents where ties go by oid: by kind, then by the bytes of the text.
    pub fn order(&self, one: Content, other: Content) -> std::cmp::Ordering {
        one.kind.cmp(&other.kind).then_with(|| match (self.told(one.oid), self.told(other.oid)) {
            (ToldOid::Name(one), ToldOid::Name(other)) => one.cmp(other),
            _ => one.oid.cmp(&other.oid),
        })
    }
}

impl FromIterator<(u64, ContentName)> for ContentTexts {
    fn from_iter<T: IntoIterator<Item = (u64, ContentName)>>(texts: T) -> Self {
        let mut texts: Vec<_> = texts.into_iter().collect();
        texts.sort_unstable_by_key(|(oid, _)| *oid);
        texts.dedup_by_key(|(oid, _)| *oid);
        ContentTexts(texts)
    }
}

impl fmt::Display for ToldOid<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ToldOid::Number(oid) => oid.fmt(f),
            ToldOid::Name(name) => f.write_str(name.as_str()),
        }
    }
}

impl ToldOid<'_> {
    /// As a part of an id, in which `:` separates parts.
    pub fn in_id(self) -> String {
        match self {
            ToldOid::Number(oid) => oid.to_string(),
            ToldOid::Name(name) => utf8_percent_encode(name.as_str(), RESERVED).to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> ContentName {
        ContentName::new(text).unwrap()
    }

    #[test]
    fn a_name_is_any_text_without_control_characters() {
        for text in ["a", "42", "0042", " a ", "%2F", "/", "...", "🎬", &"n".repeat(128)] {
            assert_eq!(ContentName::new(text).map(|name| name.as_str().to_owned()), Ok(text.to_owned()));
        }
        for (text, why) in [
            ("", NoContentName::Length),
            (&*"n".repeat(129), NoContentName::Length),
            ("a\0", NoContentName::Control),
            ("\u{9f}", NoContentName::Control),
            (".", NoContentName::Dots),
            ("..", NoContentName::Dots),
        ] {
            assert_eq!(ContentName::new(text), Err(why), "{text:?}");
        }
    }

    /// Not made by this program: by `printf abc | sha256sum`, after the test vectors of FIPS 180-4.
    #[test]
    fn the_number_is_the_beginning_of_the_hash() {
        assert_eq!(name("abc").oid(), 0xba78_16bf_8f01_cfea);
        assert_eq!(name("my-first-video").oid(), 17_949_634_363_881_683_301, "as docs/clients.md computes it");
        assert_eq!(name("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq").oid(), 0x248d_6a61_d206_38b8);
    }

    #[test]
    fn a_content_is_told_by_its_text_where_that_is_known() {
        let (film, other) = (name("a/b é"), name("042"));
        let texts: ContentTexts = [&film, &other].map(|name| (name.oid(), name.clone())).into_iter().collect();
        assert_eq!(texts.told(film.oid()).to_string(), "a/b é");
        assert_eq!(texts.told(film.oid()).in_id(), "a%2Fb%20%C3%A9");
        assert_eq!(texts.told(other.oid()).to_string(), "042");
        assert_eq!(texts.told(7).to_string(), "7");
        assert_eq!(ContentTexts::NONE.told(film.oid()).in_id(), film.oid().to_string());
    }

    #[test]
    fn a_content_may_be_one_text() {
        let film = name("a:b");
        let content = Content { kind: 1, oid: film.oid() };
        assert_eq!(ContentIds::Any.content("1:a:b"), Ok((content, Some(film.clone()))));
        assert_eq!([(film.oid(), film)].into_iter().collect::<ContentTexts>().text(content), "1:a:b");
        assert_eq!(ContentIds::Number.content("1:100"), Ok((Content { kind: 1, oid: 100 }, None)));
        for wrong in ["", "1", "1:", ":a", "65536:a", "+1:a", "1:\u{1}"] {
            assert!(ContentIds::Any.content(wrong).is_err(), "{wrong}");
        }
        assert!(ContentIds::Number.content("1:a").is_err());
    }

    #[test]
    fn ties_go_by_the_bytes_of_the_texts() {
        let names = ["a", "a ", "b", "é"].map(name);
        let texts: ContentTexts = names.iter().map(|name| (name.oid(), name.clone())).collect();
        let mut contents: Vec<_> = names.iter().rev().map(|name| Content { kind: 1, oid: name.oid() }).collect();
        contents.sort_by(|one, other| texts.order(*one, *other));
        assert_eq!(
            contents.iter().map(|content| texts.told(content.oid).to_string()).collect::<Vec<_>>(),
            ["a", "a ", "b", "é"]
        );
    }
}
