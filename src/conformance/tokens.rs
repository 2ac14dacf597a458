//! The tokens that were issued. They look like those of a real issuer, and are known by heart: nothing is signed.

use std::cell::RefCell;
use std::collections::HashMap;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::json;

#[derive(Default)]
pub struct Tokens(RefCell<HashMap<String, Token>>);

#[derive(Clone, Copy, Debug)]
pub struct Token {
    pub user: u64,
    /// In milliseconds of the server's clock.
    pub expires: i64,
}

impl Tokens {
    /// A new token, which no other is equal to. `now` and the end are of the server's clock.
    pub fn issue(&self, user: u64, now: i64, life_seconds: i64) -> String {
        let mut tokens = self.0.borrow_mut();
        let expires = now / 1000 + life_seconds;
        let claims = json!({"sub": user.to_string(), "exp": expires, "jti": tokens.len().to_string()});
        let signature = rand::random::<[u8; 32]>();
        let parts = [json!({"alg": "HS256", "typ": "JWT"}).to_string(), claims.to_string()];
        let [header, claims] = parts.map(|part| BASE64_URL_SAFE_NO_PAD.encode(part));
        let token = format!("{header}.{claims}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature));
        tokens.insert(token.clone(), Token { user, expires: expires * 1000 });
        token
    }

    pub fn find(&self, token: &str) -> Option<Token> {
        self.0.borrow().get(token).copied()
    }

    /// The user of a token that stands somewhere in a text.
    pub fn user_within(&self, text: &str) -> Option<u64> {
        self.0.borrow().iter().find(|(token, _)| text.contains(token.as_str())).map(|(_, token)| token.user)
    }
}
