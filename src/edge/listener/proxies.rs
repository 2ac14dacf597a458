//! The trusted proxies, and how they name the client behind them.

use std::net::IpAddr;

use http::HeaderMap;
use ipnet::IpNet;

use super::forwarded::{self, ForwardedHeaderError};
use crate::config::{ForwardedHeader, ServerConfig};

/// The trusted proxies in front of this listener. Only their headers can name the address of a client.
#[derive(Clone, Debug)]
pub struct Proxies {
    trusted: Vec<IpNet>,
    speak_proxy_protocol: bool,
    header: ForwardedHeader,
}

impl Proxies {
    pub fn new(config: &ServerConfig) -> Self {
        Proxies {
            trusted: config.trusted_proxies.iter().map(|network| network.0).collect(),
            speak_proxy_protocol: config.proxy_protocol,
            header: config.forwarded_header,
        }
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.trusted.iter().any(|network| network.contains(&address))
    }

    /// Whether a connection from this address has to begin with a PROXY header.
    pub fn announce_clients(&self, peer: IpAddr) -> bool {
        self.speak_proxy_protocol && self.trusts(peer)
    }

    /// Whether a connection from this address carries the requests of many clients.
    pub fn forward_requests(&self, connected: IpAddr) -> bool {
        self.header != ForwardedHeader::Absent && self.trusts(connected)
    }

    /// The client of this request, on a connection from `connected`.
    ///
    /// Each proxy appends, on the right, the address it was called from. So the client is the rightmost address that is
    /// no trusted proxy. Addresses to the left of it are not trusted.
    pub fn client(&self, connected: IpAddr, headers: &HeaderMap) -> Result<IpAddr, ForwardedHeaderError> {
        if !self.forward_requests(connected) {
            return Ok(connected);
        }
        let hops = match self.header {
            ForwardedHeader::Forwarded => forwarded::forwarded(headers)?,
            ForwardedHeader::XForwardedFor | ForwardedHeader::Absent => forwarded::x_forwarded_for(headers)?,
        };
        let mut client = None;
        for hop in hops.into_iter().rev() {
            let address = hop.address()?;
            client = Some(address);
            if !self.trusts(address) {
                break;
            }
        }
        client.ok_or(ForwardedHeaderError::Missing)
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    const PROXY: &str = "10.0.0.1";

    fn client(
        header: ForwardedHeader,
        connected: &str,
        lines: &[(&'static str, &str)],
    ) -> Result<String, ForwardedHeaderError> {
        let trusted = ["10.0.0.0/8", "2001:db8:aaaa::/48"].map(|network| network.parse().expect("a network")).to_vec();
        let proxies = Proxies { trusted, speak_proxy_protocol: false, header };
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(HeaderName::from_static(name), HeaderValue::from_str(value).expect("a value"));
        }
        proxies.client(connected.parse().expect("an address"), &headers).map(|address| address.to_string())
    }

    fn x_forwarded_for(lines: &[&str]) -> Result<String, ForwardedHeaderError> {
        let lines: Vec<_> = lines.iter().map(|line| ("x-forwarded-for", *line)).collect();
        client(ForwardedHeader::XForwardedFor, PROXY, &lines)
    }

    fn forwarded(line: &str) -> Result<String, ForwardedHeaderError> {
        client(ForwardedHeader::Forwarded, PROXY, &[("forwarded", line)])
    }

    #[test]
    fn the_rightmost_address_that_is_no_proxy_is_the_client() {
        for (lines, expected) in [
            (&["192.0.2.1"][..], "192.0.2.1"),
            (&["6.6.6.6, 192.0.2.1"], "192.0.2.1"),
            (&["6.6.6.6, 192.0.2.1, 10.0.0.2,10.0.0.3"], "192.0.2.1"),
            (&["6.6.6.6", "192.0.2.1", "10.0.0.2"], "192.0.2.1"),
            (&["nonsense, 192.0.2.1"], "192.0.2.1"),
            (&["10.0.0.9, 10.0.0.2"], "10.0.0.9"),
            (&["2001:db8::7, 2001:db8:aaaa::1"], "2001:db8::7"),
            (&["192.0.2.1:4711"], "192.0.2.1"),
            (&["[2001:db8::7]:4711"], "2001:db8::7"),
            (&["::ffff:192.0.2.1"], "192.0.2.1"),
        ] {
            assert_eq!(x_forwarded_for(lines).as_deref(), Ok(expected), "{lines:?}");
        }
    }

    #[test]
    fn forwarded_headers_of_a_peer_that_is_no_proxy_are_ignored() {
        let lines = [("x-forwarded-for", "6.6.6.6"), ("forwarded", "for=6.6.6.6")];
        for header in [ForwardedHeader::XForwardedFor, ForwardedHeader::Forwarded, ForwardedHeader::Absent] {
            assert_eq!(client(header, "192.0.2.1", &lines).as_deref(), Ok("192.0.2.1"));
        }
        assert_eq!(client(ForwardedHeader::Absent, PROXY, &lines).as_deref(), Ok(PROXY));
    }

    #[test]
    fn a_request_of_a_proxy_that_names_no_client_is_refused() {
        for lines in [&[][..], &[""], &["unknown"], &["192.0.2.1, _hidden"], &["192.0.2.1, "], &["192.0.2.300"]] {
            assert!(x_forwarded_for(lines).is_err(), "{lines:?}");
        }
        // Only the other header.
        assert!(client(ForwardedHeader::Forwarded, PROXY, &[("x-forwarded-for", "192.0.2.1")]).is_err());
    }

    #[test]
    fn the_standard_header_is_read_with_its_quotes() {
        for (line, expected) in [
            ("for=192.0.2.1", "192.0.2.1"),
            ("For=\"192.0.2.1:4711\";proto=https;by=10.0.0.1", "192.0.2.1"),
            ("for=6.6.6.6, proto=https ; for=\"[2001:db8::7]:4711\"", "2001:db8::7"),
            ("for=\"[2001:db8::7]\", for=10.0.0.2", "2001:db8::7"),
            ("for=unknown, for=192.0.2.1", "192.0.2.1"),
            // Text that a client wrote into its Host header is no hop.
            ("for=192.0.2.1;host=\"a,for=6.6.6.6\"", "192.0.2.1"),
            ("for=192.0.2.1;host=\"a\\\",for=6.6.6.6\"", "192.0.2.1"),
        ] {
            assert_eq!(forwarded(line).as_deref(), Ok(expected), "{line}");
        }
        for line in [
            "",
            "for",
            "by=192.0.2.1",
            "for=unknown",
            "for=_gazonk",
            "for=192.0.2.1;for=6.6.6.6",
            // A quote that the client opened swallows what the proxy added: the address is unknown.
            "for=6.6.6.6;x=\", for=192.0.2.1",
            "for=6.6.6.6;x=\", for=\"192.0.2.1\"",
        ] {
            assert!(forwarded(line).is_err(), "{line}");
        }
    }
}
