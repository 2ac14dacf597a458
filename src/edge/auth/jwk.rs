//! One key of a JWK set (RFC 7517 and 7518): whether it can be used here, and for which algorithm.

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, ED25519, ParsedPublicKey, VerificationAlgorithm};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;

use super::SECRET_BYTES_MIN;

/// What RFC 7518 asks of RS256, and what the cryptographic library takes.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=8192;
const RSA_EXPONENT_BYTES_MAX: usize = 4;
const COORDINATE_BYTES: usize = 32;

/// Why a key cannot be used; nothing of the key is in it.
pub type Reason = String;

/// The members that matter; others are ignored.
#[derive(Deserialize)]
pub struct Jwk {
    pub kid: Option<String>,
    kty: Option<String>,
    r#use: Option<String>,
    key_ops: Option<Vec<String>>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
    k: Option<String>,
    d: Option<String>,
}

impl Jwk {
    /// The key, and the one algorithm it is for.
    pub fn read(&self) -> Result<(Algorithm, DecodingKey), Reason> {
        self.check_purpose()?;
        let (algorithm, name, key) = match self.kty.as_deref() {
            Some("RSA") => (Algorithm::RS256, "RS256", self.rsa()?),
            Some("EC") => (Algorithm::ES256, "ES256", self.p256()?),
            Some("OKP") => (Algorithm::EdDSA, "EdDSA", self.ed25519()?),
            Some("oct") => (Algorithm::HS256, "HS256", self.secret()?),
            other => return Err(format!("its kty is {}, not RSA, EC, OKP or oct", shown(other))),
        };
        match self.alg.as_deref() {
            None => Ok((algorithm, key)),
            Some(alg) if alg == name => Ok((algorithm, key)),
            other => Err(format!("its alg is {}, and such a key is for {name} here", shown(other))),
        }
    }

    fn check_purpose(&self) -> Result<(), Reason> {
        if self.r#use.as_deref().is_some_and(|purpose| purpose != "sig") {
            return Err(format!("its use is {}, not \"sig\"", shown(self.r#use.as_deref())));
        }
        if self.key_ops.as_ref().is_some_and(|operations| !operations.iter().any(|one| one == "verify")) {
            return Err("its key_ops do not list \"verify\"".to_owned());
        }
        // A reader of this file could sign tokens of any user, and the gateway does not need the private key.
        if self.d.is_some() {
            return Err("it is a private key; the file must contain public keys only".to_owned());
        }
        Ok(())
    }

    fn rsa(&self) -> Result<DecodingKey, Reason> {
        let (n, e) = (bytes("n", self.n.as_deref())?, bytes("e", self.e.as_deref())?);
        let (n, e) = (without_leading_zeros(&n), without_leading_zeros(&e));
        let bits = n.first().map_or(0, |first| n.len() * 8 - first.leading_zeros() as usize);
        if !RSA_BITS.contains(&bits) {
            return Err(format!("it has {bits} bits; from {} to {} can be used", RSA_BITS.start(), RSA_BITS.end()));
        }
        let odd = |number: &[u8]| number.last().is_some_and(|last| last % 2 == 1);
        if !odd(n) || !odd(e) || e == [1] || e.len() > RSA_EXPONENT_BYTES_MAX {
            return Err("its n and e are no public key".to_owned());
        }
        Ok(DecodingKey::from_rsa_raw_components(n, e))
    }

    fn p256(&self) -> Result<DecodingKey, Reason> {
        self.check_curve("P-256")?;
        let (x, y) = (coordinate("x", self.x.as_deref())?, coordinate("y", self.y.as_deref())?);
        let point = [&[4][..], &x, &y].concat();
        check_point(&ECDSA_P256_SHA256_FIXED, &point)?;
        Ok(DecodingKey::from_ec_der(&point))
    }

    fn ed25519(&self) -> Result<DecodingKey, Reason> {
        self.check_curve("Ed25519")?;
        let point = coordinate("x", self.x.as_deref())?;
        check_point(&ED25519, &point)?;
        Ok(DecodingKey::from_ed_der(&point))
    }

    fn secret(&self) -> Result<DecodingKey, Reason> {
        let secret = bytes("k", self.k.as_deref())?;
        if secret.len() < SECRET_BYTES_MIN {
            return Err(format!("it has {} bytes; HS256 needs at least {SECRET_BYTES_MIN}", secret.len()));
        }
        Ok(DecodingKey::from_secret(&secret))
    }

    fn check_curve(&self, known: &str) -> Result<(), Reason> {
        match self.crv.as_deref() {
            Some(crv) if crv == known => Ok(()),
            other => Err(format!("its crv is {}, not \"{known}\"", shown(other))),
        }
    }
}

/// A key that cannot be used would refuse every token; better at the start than at the first token.
fn check_point(algorithm: &'static dyn VerificationAlgorithm, point: &[u8]) -> Result<(), Reason> {
    match ParsedPublicKey::new(algorithm, point) {
        Ok(_) => Ok(()),
        Err(_) => Err("its coordinates are no point of its curve".to_owned()),
    }
}

fn coordinate(member: &str, text: Option<&str>) -> Result<Vec<u8>, Reason> {
    let bytes = bytes(member, text)?;
    if bytes.len() != COORDINATE_BYTES {
        return Err(format!("its {member} has {} bytes, not {COORDINATE_BYTES}", bytes.len()));
    }
    Ok(bytes)
}

fn bytes(member: &str, text: Option<&str>) -> Result<Vec<u8>, Reason> {
    let text = text.ok_or_else(|| format!("its {member} is missing"))?;
    BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|_| format!("its {member} is not base64url without padding"))
}

fn without_leading_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros..]
}

/// On one line, and not all of a long one.
fn shown(text: Option<&str>) -> String {
    text.map_or("missing".to_owned(), |text| format!("{:?}", text.chars().take(40).collect::<String>()))
}
