//! Authorities of the tests, and what they have signed.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use tempfile::TempDir;

/// How Redis is reached in tests.
pub const ADDRESS: &str = "127.0.0.1";
/// The years in which a certificate is valid.
pub const VALID: (i32, i32) = (2001, 2091);
pub const EXPIRED: (i32, i32) = (2001, 2002);

/// One authority. Its certificate is in `ca.pem`.
pub struct Authority {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate with its key.
pub struct Signed {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "authority of tests");
        let key = KeyPair::generate().unwrap();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("ca.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
        Authority { folder, issuer: Issuer::new(params, key) }
    }

    /// The certificate of the authority.
    pub fn file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// For a server at this address, or with this name.
    pub fn sign(&self, host: &str, (from, to): (i32, i32)) -> Signed {
        let mut params = CertificateParams::new([host.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, "signed in tests");
        (params.not_before, params.not_after) = (date_time_ymd(from, 1, 1), date_time_ymd(to, 1, 1));
        let key = KeyPair::generate().unwrap();
        let path = |name: &str| self.folder.path().join(format!("{host}-{from}-{to}.{name}"));
        let signed = Signed { certificate: path("pem"), key: path("key") };
        fs::write(&signed.certificate, params.signed_by(&key, &self.issuer).unwrap().pem()).unwrap();
        fs::write(&signed.key, key.serialize_pem()).unwrap();
        signed
    }

    /// For a server as it should be.
    pub fn good(&self) -> Signed {
        self.sign(ADDRESS, VALID)
    }
}

/// As an argument or a setting.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("an ASCII path")
}
