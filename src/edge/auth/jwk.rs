//! One key of a JWK set (RFC 7517 and 7518): whether it can be used here, and for which algorithm.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, ParsedPublicKey, VerificationAlgorithm,
};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;

use super::SECRET_BYTES_MIN;

/// The lengths of an RSA modulus that RFC 7518 and the cryptographic library allow.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=8192;
const RSA_EXPONENT_BYTES_MAX: usize = 4;
/// The length of a coordinate of Ed25519 and P-256; the next one is that of P-384.
const COORDINATE_BYTES: usize = 32;
const COORDINATE_BYTES_P384: usize = 48;
/// The algorithms of RSA keys. A key without `alg` is for the first.
const RSA_ALGORITHMS: [(&str, Algorithm); 6] = [
    ("RS256", Algorithm::RS256),
    ("RS384", Algorithm::RS384),
    ("RS512", Algorithm::RS512),
    ("PS256", Algorithm::PS256),
    ("PS384", Algorithm::PS384),
    ("PS512", Algorithm::PS512),
];

/// Why a key cannot be used; nothing of the key is in it.
pub type Reason = String;

#[derive(Debug)]
pub enum Unusable {
    /// It is for something else, or of a sort that is not used here: issuers publish such keys beside the others.
    Foreign(Reason),
    /// It seems to be meant for tokens, and is no good.
    Broken(Reason),
}

impl From<Reason> for Unusable {
    fn from(why: Reason) -> Self {
        Unusable::Broken(why)
    }
}

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
    pub fn read(&self) -> Result<(Algorithm, DecodingKey), Unusable> {
        self.check_purpose()?;
        let (algorithms, key): (&[_], _) = match self.kty.as_deref() {
            Some("RSA") => (&RSA_ALGORITHMS, self.rsa()?),
            Some("EC") => match self.curve(&["P-256", "P-384"])? {
                "P-256" => (&[("ES256", Algorithm::ES256)], self.point(&ECDSA_P256_SHA256_FIXED, COORDINATE_BYTES)?),
                _ => (&[("ES384", Algorithm::ES384)], self.point(&ECDSA_P384_SHA384_FIXED, COORDINATE_BYTES_P384)?),
            },
            Some("OKP") => (&[("EdDSA", Algorithm::EdDSA)], self.ed25519()?),
            Some("oct") => (&[("HS256", Algorithm::HS256)], self.secret()?),
            None => return Err("its kty is missing".to_owned().into()),
            other => return Err(Unusable::Foreign(format!("its kty is {}, not RSA, EC, OKP or oct", shown(other)))),
        };
        let named = self.alg.as_deref().map(|alg| algorithms.iter().find(|(name, _)| *name == alg));
        match named.unwrap_or(algorithms.first()) {
            Some((_, algorithm)) => Ok((*algorithm, key)),
            None => {
                let names: Vec<&str> = algorithms.iter().map(|(name, _)| *name).collect();
                let (alg, names) = (shown(self.alg.as_deref()), names.join(", "));
                Err(Unusable::Foreign(format!("its alg is {alg}, and such a key is for {names} here")))
            }
        }
    }

    /// Whether it is the key of a shared secret.
    pub fn is_secret(&self) -> bool {
        self.kty.as_deref() == Some("oct")
    }

    fn check_purpose(&self) -> Result<(), Unusable> {
        // A reader of this file could sign tokens of any user, and the gateway does not need the private key.
        if self.d.is_some() {
            return Err("it is a private key; a set must contain public keys only".to_owned().into());
        }
        if self.r#use.as_deref().is_some_and(|purpose| purpose != "sig") {
            return Err(Unusable::Foreign(format!("its use is {}, not \"sig\"", shown(self.r#use.as_deref()))));
        }
        if self.key_ops.as_ref().is_some_and(|operations| !operations.iter().any(|one| one == "verify")) {
            return Err(Unusable::Foreign("its key_ops do not list \"verify\"".to_owned()));
        }
        Ok(())
    }

    fn rsa(&self) -> Result<DecodingKey, Unusable> {
        let (n, e) = (bytes("n", self.n.as_deref())?, bytes("e", self.e.as_deref())?);
        let (n, e) = (without_leading_zeros(&n), without_leading_zeros(&e));
        let bits = n.first().map_or(0, |first| n.len() * 8 - first.leading_zeros() as usize);
        if !RSA_BITS.contains(&bits) {
            let (least, most) = (RSA_BITS.start(), RSA_BITS.end());
            return Err(format!("it has {bits} bits; from {least} to {most} can be used").into());
        }
        let odd = |number: &[u8]| number.last().is_some_and(|last| last % 2 == 1);
        if !odd(n) || !odd(e) || e == [1] || e.len() > RSA_EXPONENT_BYTES_MAX {
            return Err("its n and e are no public key".to_owned().into());
        }
        Ok(DecodingKey::from_rsa_raw_components(n, e))
    }

    fn point(&self, algorithm: &'static dyn VerificationAlgorithm, bytes: usize) -> Result<DecodingKey, Unusable> {
        let (x, y) = (coordinate("x", self.x.as_deref(), bytes)?, coordinate("y", self.y.as_deref(), bytes)?);
        let point = [&[4][..], &x, &y].concat();
        check_point(algorithm, &point)?;
        Ok(DecodingKey::from_ec_der(&point))
    }

    fn ed25519(&self) -> Result<DecodingKey, Unusable> {
        self.curve(&["Ed25519"])?;
        let point = coordinate("x", self.x.as_deref(), COORDINATE_BYTES)?;
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

    /// Which of these curves it is on.
    fn curve(&self, known: &[&'static str]) -> Result<&'static str, Unusable> {
        let crv = self.crv.as_deref().ok_or_else(|| "its crv is missing".to_owned())?;
        let found = known.iter().copied().find(|known| *known == crv);
        found.ok_or_else(|| Unusable::Foreign(format!("its crv is {}, not {}", shown(Some(crv)), known.join(" or "))))
    }
}

/// A key that cannot be used would refuse every token; better at the start than at the first token.
fn check_point(algorithm: &'static dyn VerificationAlgorithm, point: &[u8]) -> Result<(), Reason> {
    match ParsedPublicKey::new(algorithm, point) {
        Ok(_) => Ok(()),
        Err(_) => Err("its coordinates are no point of its curve".to_owned()),
    }
}

fn coordinate(member: &str, text: Option<&str>, length: usize) -> Result<Vec<u8>, Reason> {
    let bytes = bytes(member, text)?;
    if bytes.len() != length {
        return Err(format!("its {member} has {} bytes, not {length}", bytes.len()));
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
