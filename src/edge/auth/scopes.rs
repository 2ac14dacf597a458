//! The scopes of a service's token over gRPC.

use std::fmt;

use serde_json::Value;

/// The scopes of a service over gRPC. None implies another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scopes {
    pub read: bool,
    pub write: bool,
    /// Calls of gateways without a store to their history services.
    pub internal: bool,
}

/// How the scopes of services begin. A token that has one opens no user's data by itself.
const OF_SERVICES: &str = "heartline.";

impl Scopes {
    pub const READ: &str = "heartline.read";
    pub const WRITE: &str = "heartline.write";
    pub const INTERNAL: &str = "heartline.internal";
    pub const ALL: Self = Scopes { read: true, write: true, internal: true };

    /// Reads the claim `scope`: exact words between spaces.
    pub fn of(claim: Option<&Value>) -> Self {
        let has = |scope: &str| words(claim).any(|word| word == scope);
        Scopes { read: has(Self::READ), write: has(Self::WRITE), internal: has(Self::INTERNAL) }
    }

    /// The scopes that both have.
    pub fn and(self, other: Scopes) -> Self {
        Scopes {
            read: self.read && other.read,
            write: self.write && other.write,
            internal: self.internal && other.internal,
        }
    }
}

/// Whether a token with this `scope` is one of a service, whatever it allows.
pub fn is_of_service(claim: Option<&Value>) -> bool {
    words(claim).any(|word| word.starts_with(OF_SERVICES))
}

/// The words of a claim; none if it is no text.
pub(super) fn words(claim: Option<&Value>) -> impl Iterator<Item = &str> {
    claim.and_then(Value::as_str).unwrap_or_default().split(' ')
}

/// As a token has them, with a space between.
impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scopes = [(self.read, Self::READ), (self.write, Self::WRITE), (self.internal, Self::INTERNAL)];
        let given: Vec<&str> = scopes.into_iter().filter(|(has, _)| *has).map(|(_, scope)| scope).collect();
        f.write_str(&given.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn scopes_are_exact_words() {
        let of = |scope: Value| (Scopes::of(Some(&scope)), is_of_service(Some(&scope)));
        let scopes = |read, write| Scopes { read, write, internal: false };
        assert_eq!(of(json!("mail heartline.read  profile")), (scopes(true, false), true));
        assert_eq!(of(json!("heartline.write heartline.read")), (scopes(true, true), true));
        assert_eq!(of(json!("heartline.readers")), (scopes(false, false), true));
        assert_eq!(of(json!("heartline mail Heartline.read")), (scopes(false, false), false));
        assert_eq!(of(json!(["heartline.read"])), (scopes(false, false), false), "not as the standard has it");
        for all in
            [scopes(true, true), scopes(false, true), Scopes::ALL, Scopes { internal: true, ..Scopes::default() }]
        {
            assert_eq!(Scopes::of(Some(&json!(all.to_string()))), all);
        }
        assert_eq!((Scopes::of(None), is_of_service(None)), (scopes(false, false), false));
    }
}
