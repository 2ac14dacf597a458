//! The host names under which the control listener may be called.

use std::net::IpAddr;

use http::uri::Authority;
use http::{HeaderMap, Uri, header};

/// A page may let its own name resolve to this listener (DNS rebinding), so a name must be configured. Addresses and
/// `localhost` are always allowed.
pub fn is_known(uri: &Uri, headers: &HeaderMap, names: &[String]) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
    let authority = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
    authority.is_some_and(|host| may_be(&host, names)) && uri.authority().is_none_or(|asked| may_be(asked, names))
}

fn may_be(authority: &Authority, names: &[String]) -> bool {
    let host = authority.host();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || address.parse::<IpAddr>().is_ok()
        || names.iter().any(|name| name.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(hosts: &[&str], uri: &str) -> bool {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(header::HOST, host.parse().expect("a value"));
        }
        is_known(&uri.parse().expect("a URI"), &headers, &["gateway-1".to_owned()])
    }

    #[test]
    fn ip_addresses_localhost_and_configured_hosts_are_allowed() {
        for host in ["localhost:7702", "127.0.0.1:7702", "[::1]:7702", "10.0.0.5:7702", "gateway-1:7702", "GATEWAY-1"] {
            assert!(known(&[host], "/v1/export"), "{host}");
        }
        for host in ["evil.example", "evil.example:7702", "localhost.evil.example", "127.0.0.1.evil.example", "", "a b"]
        {
            assert!(!known(&[host], "/v1/export"), "{host}");
        }
        assert!(!known(&[], "/v1/export"));
        assert!(!known(&["localhost", "evil.example"], "/v1/export"));
        assert!(!known(&["localhost"], "http://evil.example/v1/export"));
    }
}
