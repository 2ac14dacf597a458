//! What is wrong with certificates, in plain words.
//!
//! The client library passes on what rustls says as a text. The words here are the same at each try, so that they are
//! logged once: those of rustls have the time.

use super::address::Address;
use super::tls::Tls;

/// What an operator has to fix, from the words of rustls; `None`: it is not about certificates.
pub(super) fn told(address: &Address, tls: &Tls, said: &str) -> Option<String> {
    if let Some((_, alert)) = said.split_once("received fatal alert: ") {
        return refused(address, tls, alert);
    }
    let (_, wrong) = said.split_once("invalid peer certificate: ")?;
    let host = &address.host;
    Some(match wrong {
        // Of an authority that has the name of a trusted one, such as the one before or after it.
        "UnknownIssuer" | "BadSignature" if tls.has_authorities() => {
            format!("{address}: its certificate is not of an authority in redis.tls_ca; put the right one there")
        }
        "UnknownIssuer" | "BadSignature" => {
            format!("{address}: its certificate is not of an authority that this machine trusts; set redis.tls_ca")
        }
        wrong if wrong.starts_with("certificate expired") || wrong == "Expired" => {
            format!("{address}: its certificate has expired; renew it")
        }
        wrong if wrong.starts_with("certificate not valid yet") || wrong == "NotValidYet" => {
            format!("{address}: its certificate is not valid yet; wait, or set the clock of this machine")
        }
        wrong if wrong.starts_with("certificate not valid for name") || wrong == "NotValidForName" => {
            let names = wrong.split_once("; certificate ").map(|(_, names)| format!(" ({names})")).unwrap_or_default();
            format!(
                "{address}: its certificate is not for the name {host:?}{names}; add the name to the certificate, or use \
                 one of its names"
            )
        }
        wrong => format!("{address}: its certificate cannot be used ({wrong}); replace it"),
    })
}

/// The server ended the handshake.
fn refused(address: &Address, tls: &Tls, alert: &str) -> Option<String> {
    const OF_CERTIFICATES: [&str; 9] = [
        "CertificateRequired",
        "NoCertificate",
        "BadCertificate",
        "UnsupportedCertificate",
        "CertificateRevoked",
        "CertificateExpired",
        "CertificateUnknown",
        "UnknownCA",
        "AccessDenied",
    ];
    // One without TLS 1.3 names no reason when it gets no certificate.
    let is_silent = alert == "HandshakeFailure" && !tls.shows_certificate();
    match tls.shows_certificate() {
        _ if alert == "ProtocolVersion" => Some(format!("{address}: it has no TLS 1.2 or 1.3; turn one on there")),
        false if is_silent || OF_CERTIFICATES.contains(&alert) => Some(format!(
            "{address}: it asks for a client certificate ({alert}); set redis.tls_cert and redis.tls_key, or turn that off \
             there (tls-auth-clients no)"
        )),
        // A wrong signature: its authority has the name of a trusted one.
        true if alert == "DecryptError" || OF_CERTIFICATES.contains(&alert) => Some(format!(
            "{address}: it does not accept the certificate of redis.tls_cert ({alert}); use one of an authority that it \
             trusts, and that has not expired"
        )),
        _ => None,
    }
}
