use rcgen::{KeyPair, generate_simple_self_signed};
use tempfile::TempDir;
use tokio_rustls::rustls::pki_types::{ServerName, UnixTime};
use tokio_rustls::rustls::{AlertDescription, CertificateError, Error};

use super::super::target::fault_of_files;
use super::super::tls_fault;
use super::*;

/// A folder with a certificate, its key, and a key of another one.
fn files() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let made = generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("it is written");
    write("cert.pem", &made.cert.pem());
    write("key.pem", &made.signing_key.serialize_pem());
    write("other.pem", &KeyPair::generate().expect("a key").serialize_pem());
    write("empty.pem", "");
    folder
}

fn config(folder: &TempDir, [ca, cert, key]: [&str; 3]) -> RedisConfig {
    let path = |name: &str| if name.is_empty() { Default::default() } else { folder.path().join(name) };
    RedisConfig { tls_ca: path(ca), tls_cert: path(cert), tls_key: path(key), ..RedisConfig::strict("rediss://a") }
}

#[test]
fn a_file_that_cannot_be_used_is_refused_by_its_setting() {
    let folder = files();
    for good in [["", "", ""], ["cert.pem", "", ""], ["cert.pem", "cert.pem", "key.pem"], ["", "cert.pem", "key.pem"]] {
        assert_eq!(fault_of_files(&config(&folder, good)), None, "{good:?}");
    }
    for (bad, setting) in [
        (["none.pem", "", ""], "redis.tls_ca = "),
        (["empty.pem", "", ""], "redis.tls_ca = "),
        (["key.pem", "", ""], "redis.tls_ca = "),
        (["", "none.pem", "key.pem"], "redis.tls_cert = "),
        (["", "empty.pem", "key.pem"], "redis.tls_cert = "),
        (["", "cert.pem", "none.pem"], "redis.tls_key = "),
        (["", "cert.pem", "cert.pem"], "redis.tls_key = "),
        (["", "cert.pem", "other.pem"], "redis.tls_cert and redis.tls_key cannot be used together"),
    ] {
        let told = fault_of_files(&config(&folder, bad)).unwrap_or_else(|| panic!("{bad:?} is taken"));
        assert!(told.starts_with(setting), "{bad:?}: {told}");
    }
}

#[test]
fn files_that_cannot_be_used_leave_those_of_before() {
    let folder = files();
    let tls = Tls::load(&config(&folder, ["cert.pem", "", ""])).expect("a certificate");
    fs::write(folder.path().join("cert.pem"), "").expect("it is written");
    let told = tls.reload().expect_err("it is empty");
    assert!(told.contains("it has no certificates"), "{told}");
    assert!(matches!(tls.at(&Address::new("a", 1)), ConnectionAddr::TcpTls { tls_params: Some(_), port: 1, .. }));
}

/// What is told of an error of rustls.
fn told(shown: bool, error: Error) -> Option<String> {
    let folder = files();
    let (cert, key) = if shown { ("cert.pem", "key.pem") } else { ("", "") };
    let tls = Tls::load(&config(&folder, ["cert.pem", cert, key])).expect("certificates");
    tls_fault::told(&Address::new("10.0.0.5", 7000), &tls, &error.to_string())
}

#[test]
fn the_fault_of_a_certificate_is_told_in_plain_words() {
    let expired = |after: u64| {
        let at = |seconds| UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        CertificateError::ExpiredContext { time: at(after), not_after: at(5) }
    };
    let name = CertificateError::NotValidForNameContext {
        expected: ServerName::try_from("10.0.0.5").expect("an address").to_owned(),
        presented: vec!["DnsName(\"redis.example\")".to_owned()],
    };
    for (fault, words) in [
        (CertificateError::UnknownIssuer, "is not of an authority in redis.tls_ca"),
        (expired(9), "its certificate has expired; renew it"),
        (CertificateError::Expired, "its certificate has expired; renew it"),
        (CertificateError::NotValidYet, "is not valid yet"),
        (name, "not for the name \"10.0.0.5\" (is only valid for DnsName(\"redis.example\"))"),
        (CertificateError::BadSignature, "is not of an authority in redis.tls_ca"),
        (CertificateError::Revoked, "cannot be used (Revoked)"),
    ] {
        let told = told(false, Error::InvalidCertificate(fault)).expect("a fault");
        assert!(told.starts_with("10.0.0.5:7000: ") && told.contains(words), "{told}");
    }
    let one = told(false, Error::InvalidCertificate(expired(9)));
    assert_eq!(one, told(false, Error::InvalidCertificate(expired(10))), "the same each second");
}

#[test]
fn a_server_that_refuses_this_side_is_told_of() {
    let alert = |shown, alert| told(shown, Error::AlertReceived(alert));
    let asks = alert(false, AlertDescription::CertificateRequired).expect("a fault");
    assert!(asks.contains("set redis.tls_cert and redis.tls_key"), "{asks}");
    for of_ours in [AlertDescription::UnknownCA, AlertDescription::CertificateExpired, AlertDescription::DecryptError] {
        let told = alert(true, of_ours).expect("a fault");
        assert!(told.contains("does not accept the certificate of redis.tls_cert"), "{told}");
    }
    assert!(alert(false, AlertDescription::ProtocolVersion).is_some_and(|told| told.contains("TLS 1.2")));
    assert_eq!(alert(true, AlertDescription::InternalError), None);
    assert_eq!(told(true, Error::General("connection reset".to_owned())), None);
}
