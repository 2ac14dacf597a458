//! From when to when a certificate is valid.

use std::time::Duration;

use tokio_rustls::rustls::pki_types::{CertificateDer, UnixTime};
use webpki::{EndEntityCert, Error, KeyUsage};

/// The time in which each certificate of a chain is valid, seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    pub from: u64,
    pub to: u64,
}

impl Validity {
    /// `None`: a certificate cannot be read. None is used then.
    pub fn of(chain: &[CertificateDer]) -> Option<Self> {
        let one = |certificate: &CertificateDer| Some(Validity { from: begin(certificate)?, to: end(certificate)? });
        let all = chain.iter().map(one).collect::<Option<Vec<_>>>()?;
        let both =
            |one: Validity, other: Validity| Validity { from: one.from.max(other.from), to: one.to.min(other.to) };
        all.into_iter().reduce(both)
    }

    /// Why clients refuse it at `now`, milliseconds since 1970; `None`: they do not.
    pub fn fault(&self, now: u64) -> Option<String> {
        let told = |seconds| humantime::format_rfc3339_seconds(std::time::UNIX_EPOCH + Duration::from_secs(seconds));
        match now / 1_000 {
            now if now > self.to => Some(format!("has expired: valid until {}", told(self.to))),
            now if now < self.from => Some(format!("is not valid yet: valid from {}", told(self.from))),
            _ => None,
        }
    }
}

fn begin(certificate: &CertificateDer) -> Option<u64> {
    match judged_at(certificate, 0)? {
        Error::CertNotValidYet { not_before, .. } => Some(not_before.as_secs()),
        _ => Some(0),
    }
}

/// One without an end has the largest number of seconds that a certificate can name.
fn end(certificate: &CertificateDer) -> Option<u64> {
    match judged_at(certificate, u64::MAX)? {
        Error::CertExpired { not_after, .. } => Some(not_after.as_secs()),
        _ => None,
    }
}

/// The fault of a certificate at this time. Without trusted authorities there always is one; the time is checked first.
fn judged_at(certificate: &CertificateDer, seconds: u64) -> Option<Error> {
    let certificate = EndEntityCert::try_from(certificate).ok()?;
    let time = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
    certificate.verify_for_usage(&[], &[], &[], time, KeyUsage::server_auth(), None, None).err()
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    fn certificate(from: i32, to: i32) -> CertificateDer<'static> {
        let mut params = CertificateParams::new(["gateway.example".to_owned()]).unwrap();
        (params.not_before, params.not_after) = (date_time_ymd(from, 1, 1), date_time_ymd(to, 1, 1));
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    #[test]
    fn a_chain_is_valid_while_all_of_it_is() {
        let [y2001, y2002, y2003, y2004] = [978_307_200, 1_009_843_200, 1_041_379_200, 1_072_915_200];
        let chain = [certificate(2001, 2004), certificate(2002, 2003)];
        assert_eq!(Validity::of(&chain[..1]), Some(Validity { from: y2001, to: y2004 }));
        let validity = Validity::of(&chain).unwrap();
        assert_eq!(validity, Validity { from: y2002, to: y2003 });
        assert_eq!([y2002, y2003].map(|now| validity.fault(now * 1_000)), [None, None]);
        let told = validity.fault((y2003 + 1) * 1_000).unwrap();
        assert_eq!(told, "has expired: valid until 2003-01-01T00:00:00Z");
        let told = validity.fault((y2002 - 1) * 1_000).unwrap();
        assert_eq!(told, "is not valid yet: valid from 2002-01-01T00:00:00Z");
        assert_eq!(Validity::of(&[CertificateDer::from(vec![0; 9])]), None);
    }
}
