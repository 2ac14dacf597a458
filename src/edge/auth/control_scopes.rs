//! The scopes of a service's token on the control listener.

use std::ops::BitAnd;

use serde_json::Value;

use super::scopes::words;
use crate::config::ControlScope;

/// Some of the scopes, each for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlScopes([bool; ControlScope::ALL.len()]);

impl ControlScopes {
    /// Reads the claim `scope`: exact words between spaces.
    pub fn of(claim: Option<&Value>) -> Self {
        ControlScopes(ControlScope::ALL.map(|scope| words(claim).any(|word| word == scope.word())))
    }

    pub fn these(scopes: &[ControlScope]) -> Self {
        ControlScopes(ControlScope::ALL.map(|scope| scopes.contains(&scope)))
    }

    pub fn has(self, scope: ControlScope) -> bool {
        ControlScope::ALL.into_iter().zip(self.0).any(|(one, has)| has && one == scope)
    }
}

/// The scopes that both have.
impl BitAnd for ControlScopes {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        let mut both = self.0;
        both.iter_mut().zip(other.0).for_each(|(one, other)| *one &= other);
        ControlScopes(both)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn scopes_are_exact_words_and_two_proofs_allow_what_both_do() {
        let claimed = ControlScopes::of(Some(&json!("heartline.read heartline.live heartline.counters")));
        assert_eq!(claimed, ControlScopes::these(&[ControlScope::Counters, ControlScope::Live]));
        for none in [json!("heartline.lives live heartline"), json!(["heartline.live"]), json!(null)] {
            assert_eq!(ControlScopes::of(Some(&none)), ControlScopes::default(), "{none}");
        }
        let both = claimed & ControlScopes::these(&[ControlScope::Live, ControlScope::Erase]);
        let held: Vec<_> = ControlScope::ALL.into_iter().filter(|scope| both.has(*scope)).collect();
        assert_eq!(held, [ControlScope::Live]);
    }
}
