//! Every refusal, with tokens made by hand where a library would not make them.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};

use super::*;
use model::secret::Secret;

const SECRET: &str = "a-key-for-tests-only-0123456789abcdef";
const NOW: u64 = 1_795_150_000;
const NOW_MS: u64 = NOW * 1000;

fn verifier_for(audience: &str, issuer: &str) -> Verifier {
    let config = AuthConfig {
        audience: audience.to_owned(),
        issuer: issuer.to_owned(),
        ..AuthConfig::of_secret(Secret::new(SECRET.to_owned()))
    };
    let key = SigningKey::load(&config, std::path::Path::new("/nowhere")).expect("a configured key");
    Verifier::new(&config, key.as_ref()).expect("keys")
}

fn verifier() -> Verifier {
    verifier_for("", "")
}

fn good() -> Value {
    json!({"sub": "42", "exp": NOW + 60})
}

fn with(name: &str, value: Value) -> Value {
    let mut claims = good();
    claims[name] = value;
    claims
}

fn without(name: &str) -> Value {
    let mut claims = good();
    claims.as_object_mut().expect("an object").remove(name);
    claims
}

fn sign_as(algorithm: Algorithm, secret: &str, claims: &Value) -> String {
    let key = EncodingKey::from_secret(secret.as_bytes());
    jsonwebtoken::encode(&Header::new(algorithm), claims, &key).expect("claims can be signed")
}

fn sign(claims: &Value) -> String {
    sign_as(Algorithm::HS256, SECRET, claims)
}

/// HMAC-SHA256 over any header and payload: what an attacker, or an odd issuer, can make.
fn sign_text(header: &str, payload: &str) -> String {
    let message = format!("{}.{}", encoded(header), encoded(payload));
    let key = EncodingKey::from_secret(SECRET.as_bytes());
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &key, Algorithm::HS256).expect("a signature");
    format!("{message}.{signature}")
}

fn encoded(text: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(text)
}

fn judge(claims: &Value) -> Result<Identity, TokenError> {
    verifier().verify(&sign(claims), NOW_MS)
}

fn reason(answer: Result<Identity, TokenError>) -> &'static str {
    match answer {
        Err(TokenError::Expired) | Ok(_) => panic!("not refused as bad: {answer:?}"),
        Err(error) => error.cause(),
    }
}

/// The claims of access tokens as these providers issue them.
fn verifier_of_names(user_claim: &str) -> Verifier {
    let config = AuthConfig {
        subjects: Subjects::Any,
        user_claim: user_claim.to_owned(),
        ..AuthConfig::of_secret(Secret::new(SECRET.to_owned()))
    };
    let key = SigningKey::load(&config, std::path::Path::new("/nowhere")).expect("a configured key");
    Verifier::new(&config, key.as_ref()).expect("keys")
}

#[test]
fn a_name_is_taken_from_one_claim_literally() {
    let subject = |claim: &str, claims: Value| {
        let token = jsonwebtoken::encode(&Header::default(), &claims, &EncodingKey::from_secret(SECRET.as_bytes()));
        verifier_of_names(claim).verify(&token.expect("a token"), NOW_MS).map(|identity| identity.subject)
    };
    let name = |text: &str| Ok(Subject::Name(UserName::new(text).expect("a name")));
    let exp = NOW + 60;
    assert_eq!(subject("", json!({"sub": "042", "exp": exp})), name("042"));
    assert_eq!(subject("uid", json!({"uid": " a ", "sub": "b", "exp": exp})), name(" a "));
    assert_eq!(subject("a.b", json!({"a.b": "c", "a": {"b": "d"}, "exp": exp})), name("c"));
    assert_eq!(subject("jti", json!({"jti": "c", "exp": exp})), name("c"), "one that has a meaning of its own");
    assert_eq!(subject("uid", json!({"sub": "b", "exp": exp})), Err(TokenError::SubNotString));
    assert_eq!(subject("", json!({"sub": 42, "exp": exp})), Err(TokenError::SubNotString));
    assert_eq!(subject("", json!({"sub": "a\n", "exp": exp})), Err(TokenError::SubNotName));
    assert_eq!(subject("", json!({"sub": "a", "exp": NOW - 60})), Err(TokenError::Expired));
}

#[test]
fn tokens_of_common_providers_are_accepted() {
    let times = json!({"iat": NOW - 1, "exp": NOW + 300});
    let providers = [
        (
            "https://id.example.com/realms/video",
            "heartline",
            json!({"sub": "42", "jti": "onrtro:5d1f", "typ": "Bearer", "azp": "app", "sid": "b7a2", "acr": "1",
                "aud": ["heartline", "account"], "scope": "openid profile email", "email_verified": false,
                "realm_access": {"roles": ["offline_access"]}, "resource_access": {"account": {"roles": []}}}),
        ),
        (
            "https://tenant.eu.auth0.com/",
            "https://heartline.example.com/",
            json!({"sub": "42", "azp": "My0pp", "gty": "password", "permissions": [], "scope": "openid profile",
                "aud": ["https://heartline.example.com/", "https://tenant.eu.auth0.com/userinfo"]}),
        ),
        (
            "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Pool",
            "",
            json!({"sub": "42", "client_id": "3n4b", "token_use": "access", "origin_jti": "c0", "event_id": "e1",
                "cognito:groups": ["viewers"], "version": 2, "auth_time": NOW - 9, "scope": "openid", "username": "anna"}),
        ),
    ];
    for (issuer, audience, mut claims) in providers {
        let members = claims.as_object_mut().expect("an object");
        members.extend(times.as_object().expect("an object").clone());
        members.insert("iss".to_owned(), json!(issuer));
        let answer = verifier_for(audience, issuer).verify(&sign(&claims), NOW_MS);
        assert_eq!(answer.map(|identity| identity.subject), Ok(Subject::Number(UserId(42))), "{issuer}");
    }
}

const FORGED: &str = "bad signature";
const OTHER_ALGORITHM: &str = "algorithm not allowed";
const MALFORMED: &str = "malformed token";

#[test]
fn a_good_token_names_its_user_and_its_end() {
    let identity =
        Identity { subject: Subject::Number(UserId(42)), expires_ms: NOW_MS + 60_000, token: TokenMark::default() };
    assert_eq!(judge(&good()), Ok(identity));
}

#[test]
fn another_key_another_signature_or_none_is_refused() {
    let token = sign(&good());
    let (message, signature) = token.rsplit_once('.').expect("three parts");
    let flipped = if signature.starts_with('A') { "B" } else { "A" };
    let forged = [
        sign_as(Algorithm::HS256, "another-key-for-tests-0123456789abcdef", &good()),
        format!("{message}."),
        format!("{message}.{flipped}{}", &signature[1..]),
    ];
    for token in forged {
        assert_eq!(reason(verifier().verify(&token, NOW_MS)), FORGED, "{token}");
    }
    let broken = [
        message.to_owned(),
        format!("{message}.{signature}="),
        format!("{token}.{signature}"),
        format!(" {token}"),
        String::new(),
        "..".to_owned(),
        "é.é.é".to_owned(),
    ];
    for token in broken {
        assert_eq!(reason(verifier().verify(&token, NOW_MS)), MALFORMED, "{token}");
    }
}

#[test]
fn other_claims_under_the_same_signature_are_refused() {
    let token = sign(&good());
    let parts: Vec<&str> = token.split('.').collect();
    let forged = format!("{}.{}.{}", parts[0], encoded(&with("sub", json!("1")).to_string()), parts[2]);
    assert_eq!(reason(verifier().verify(&forged, NOW_MS)), FORGED);
}

#[test]
fn the_token_does_not_choose_its_algorithm() {
    let payload = good().to_string();
    let unknown = ["none", "None", "NONE", "hs256", ""];
    let known = ["RS256", "PS256", "ES256", "EdDSA", "HS384", "HS512"];
    for alg in unknown.into_iter().chain(known) {
        let header = json!({"typ": "JWT", "alg": alg}).to_string();
        assert_eq!(reason(verifier().verify(&sign_text(&header, &payload), NOW_MS)), OTHER_ALGORITHM, "{alg}, signed");
        let bare = format!("{}.{}.", encoded(&header), encoded(&payload));
        assert_eq!(reason(verifier().verify(&bare, NOW_MS)), OTHER_ALGORITHM, "{alg}, without a signature");
    }
    for algorithm in [Algorithm::HS384, Algorithm::HS512] {
        let token = sign_as(algorithm, SECRET, &good());
        assert_eq!(reason(verifier().verify(&token, NOW_MS)), OTHER_ALGORITHM, "{algorithm:?}");
    }
}

#[test]
fn a_header_cannot_bring_its_own_key_or_conditions() {
    let jwk = json!({"kty": "oct", "k": encoded("another-key-for-tests-0123456789abcdef")});
    let mut header = Header::new(Algorithm::HS256);
    header.jwk = serde_json::from_value(jwk).ok();
    let key = EncodingKey::from_secret(b"another-key-for-tests-0123456789abcdef");
    let token = jsonwebtoken::encode(&header, &good(), &key).expect("claims can be signed");
    assert_eq!(reason(verifier().verify(&token, NOW_MS)), FORGED);

    let critical = sign_text(r#"{"alg":"HS256","crit":["b64"],"b64":false}"#, &good().to_string());
    assert_eq!(reason(verifier().verify(&critical, NOW_MS)), "the token has critical headers");
}

#[test]
fn exp_is_required_and_judged_with_five_seconds_leeway() {
    assert_eq!(reason(judge(&without("exp"))), "the token has no exp");
    assert_eq!(reason(judge(&with("exp", Value::Null))), "the token has no exp");
    assert_eq!(reason(judge(&with("exp", json!("1795150060")))), "exp is not a number");
    assert!(judge(&with("exp", json!(NOW - 4))).is_ok());
    assert_eq!(judge(&with("exp", json!(NOW - 5))), Err(TokenError::Expired));
    assert_eq!(judge(&with("exp", json!(-1))), Err(TokenError::Expired));
}

#[test]
fn dates_may_have_fractions_and_be_far_away() {
    let half = judge(&with("exp", json!(NOW as f64 + 0.5))).expect("a good token");
    assert_eq!(half.expires_ms, NOW_MS + 500);
    let year_9999 = judge(&with("exp", json!(253_402_300_799_u64))).expect("a good token");
    assert_eq!(year_9999.expires_ms, 253_402_300_799_000);
    let never = judge(&with("exp", json!(1e300))).expect("a good token");
    assert_eq!(never.expires_ms, DATE_MS_MAX);
}

#[test]
fn exp_in_milliseconds_is_refused_by_name() {
    for exp in [NOW_MS, NOW_MS + 60_000, NOW_MS - 3_600_000, 253_402_300_799_000] {
        let refused = judge(&with("exp", json!(exp)));
        assert_eq!(reason(refused), "exp is in milliseconds, and must be in seconds", "{exp}");
    }
}

#[test]
fn nbf_is_judged_with_five_seconds_leeway() {
    assert!(judge(&with("nbf", json!(NOW + 5))).is_ok());
    assert_eq!(reason(judge(&with("nbf", json!(NOW + 6)))), "the token is not valid yet");
    assert_eq!(reason(judge(&with("nbf", json!("soon")))), "nbf is not a number");
}

#[test]
fn iat_and_jti_are_kept_and_no_value_of_them_refuses_a_token() {
    let mark = |claims: &Value| judge(claims).expect("a good token").token;
    assert_eq!(mark(&with("iat", json!(NOW - 5))).issued_ms, Some(NOW_MS - 5_000));
    assert_eq!(mark(&with("iat", json!(NOW as f64 - 0.5))).issued_ms, Some(NOW_MS - 500));
    assert_eq!(mark(&with("iat", json!(NOW + 5))).issued_ms, Some(NOW_MS + 5_000));
    for odd in [json!(NOW + 6), json!(NOW_MS), json!("yesterday"), json!(null)] {
        assert_eq!(mark(&with("iat", odd)).issued_ms, None);
    }
    assert_eq!(mark(&with("jti", json!("a1"))).id.as_deref(), Some("a1"));
    for odd in [json!("j".repeat(257)), json!(5), json!(null)] {
        assert_eq!(mark(&with("jti", odd)).id, None);
    }
}

#[test]
fn the_life_of_a_token_is_checked_only_if_limited() {
    let limited = Verifier { life_max: Some(Duration::from_secs(60)), ..verifier() };
    let judge = |iat: Value, exp: u64| {
        let mut claims = with("exp", json!(exp));
        claims["iat"] = iat;
        limited.verify(&sign(&claims), NOW_MS)
    };
    assert!(judge(json!(NOW - 10), NOW + 50).is_ok());
    assert_eq!(reason(judge(json!(NOW - 10), NOW + 51)), "the token lives for longer than auth.token_life_max");
    for none in [json!(null), json!(NOW + 6)] {
        assert_eq!(reason(judge(none, NOW + 30)), "the token has no iat, or one in the future");
    }
    assert_eq!(judge(json!(NOW - 70), NOW - 20), Err(TokenError::Expired));
}

#[test]
fn sub_is_a_string_of_digits_within_u64() {
    assert_eq!(judge(&with("sub", json!("007"))).expect("leading zeros").subject, Subject::Number(UserId(7)));
    assert_eq!(
        judge(&with("sub", json!("18446744073709551615"))).expect("the largest").subject,
        Subject::Number(UserId(u64::MAX))
    );
    for odd in ["", "+1", "-1", " 1", "1 ", "1.0", "0x1", "1e3", "１", "18446744073709551616", "alice"] {
        assert_eq!(reason(judge(&with("sub", json!(odd)))), "sub is not a decimal number", "{odd:?}");
    }
    for odd in [json!(42), json!(null), json!(true)] {
        assert_eq!(reason(judge(&with("sub", odd))), "sub is not a string");
    }
    assert_eq!(reason(judge(&without("sub"))), "sub is not a string");
}

#[test]
fn aud_is_checked_only_when_configured() {
    for aud in [json!("anything"), json!(["a", "b"]), json!(5)] {
        assert!(judge(&with("aud", aud)).is_ok());
    }
    let verifier = verifier_for("heartline", "");
    let judge = |claims: &Value| verifier.verify(&sign(claims), NOW_MS);
    assert!(judge(&with("aud", json!("heartline"))).is_ok());
    assert!(judge(&with("aud", json!(["other", "heartline"]))).is_ok());
    for claims in [good(), with("aud", json!("Heartline")), with("aud", json!(["other"])), with("aud", json!([]))] {
        assert_eq!(reason(judge(&claims)), "aud is not the audience of this gateway", "{claims}");
    }
}

#[test]
fn iss_is_checked_only_when_configured() {
    assert!(judge(&with("iss", json!("anybody"))).is_ok());
    let verifier = verifier_for("", "https://id.example.org");
    let judge = |claims: &Value| verifier.verify(&sign(claims), NOW_MS);
    assert!(judge(&with("iss", json!("https://id.example.org"))).is_ok());
    for claims in [good(), with("iss", json!("https://id.example.com")), with("iss", json!(["https://id.example.org"]))]
    {
        assert_eq!(reason(judge(&claims)), "iss is not the issuer of this gateway", "{claims}");
    }
}

#[test]
fn a_token_is_reported_as_expired_only_if_nothing_else_is_wrong() {
    let verifier = verifier_for("heartline", "https://id.example.org");
    let right = json!({"sub": "42", "exp": NOW - 60, "aud": "heartline", "iss": "https://id.example.org"});
    assert_eq!(verifier.verify(&sign(&right), NOW_MS), Err(TokenError::Expired));
    for (name, value) in
        [("sub", json!("x")), ("aud", json!("other")), ("iss", json!("other")), ("nbf", json!(NOW + 60))]
    {
        let mut wrong = right.clone();
        wrong[name] = value;
        reason(verifier.verify(&sign(&wrong), NOW_MS));
    }
    let stranger = sign_as(Algorithm::HS256, "another-key-for-tests-0123456789abcdef", &right);
    assert_eq!(reason(verifier.verify(&stranger, NOW_MS)), FORGED);
}

#[test]
fn a_token_of_4096_bytes_is_read_and_a_longer_one_is_not() {
    let of_length = |bytes: usize| {
        (0..4096).map(|pad| sign(&with("pad", json!("x".repeat(pad))))).find(|token| token.len() >= bytes)
    };
    let longest = of_length(TOKEN_BYTES_MAX).expect("some padding fits");
    assert_eq!(longest.len(), TOKEN_BYTES_MAX);
    assert!(verifier().verify(&longest, NOW_MS).is_ok());
    let longer = of_length(TOKEN_BYTES_MAX + 1).expect("some padding fits");
    assert_eq!(reason(verifier().verify(&longer, NOW_MS)), "the token is longer than 4096 bytes");
}

#[test]
fn claims_that_are_no_object_or_repeat_a_name_are_refused() {
    let header = r#"{"alg":"HS256"}"#;
    for payload in ["[]", "42", "null", "", "{", r#"{"sub":"1","sub":"2","exp":1795150060}"#] {
        assert_eq!(reason(verifier().verify(&sign_text(header, payload), NOW_MS)), MALFORMED, "{payload}");
    }
}
