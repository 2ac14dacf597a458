//! The address of a subscriber's endpoint.

use core::net::IpAddr;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use url::{Host, Url};

/// `https://example.com/hook`, as browsers understand it: an IPv4 address in whatever form (`2130706433`, `0x7f.1`) is
/// read as the address that it is.
#[derive(Clone, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct EndpointUrl(Url);

/// A text is not the address of an endpoint. The message begins after the name of the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoEndpointUrl {
    #[error("must be a URL, such as https://example.com/hook")]
    Syntax,
    #[error("must be at most {} bytes long", EndpointUrl::BYTES_MAX)]
    Length,
    #[error("must begin with https://")]
    Scheme,
    #[error("must begin with https://; http:// needs subscribers.allow_http")]
    Http,
    #[error("must not have a user or a password")]
    User,
    #[error("must not have a fragment (#…)")]
    Fragment,
    #[error("must not be at an address that is not public; subscribers.allow_networks lists the exceptions")]
    RefusedAddress,
}

/// Where the host of an endpoint is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndpointHost<'a> {
    Name(&'a str),
    Address(IpAddr),
}

impl EndpointUrl {
    pub const BYTES_MAX: usize = 2_048;

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    pub fn host(&self) -> EndpointHost<'_> {
        match self.0.host() {
            Some(Host::Ipv4(address)) => EndpointHost::Address(address.into()),
            Some(Host::Ipv6(address)) => EndpointHost::Address(address.into()),
            Some(Host::Domain(name)) => EndpointHost::Name(name),
            None => EndpointHost::Name(""),
        }
    }

    pub fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or(443)
    }

    /// For the `Host` header: the port only if it is not that of the scheme.
    pub fn authority(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        self.0.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// Where a link on it leads.
    pub fn join(&self, link: &str) -> Option<Self> {
        self.0.join(link).ok()?.as_str().parse().ok()
    }

    /// The target of a request: path and query.
    pub fn path(&self) -> String {
        let query = self.0.query().map(|query| format!("?{query}")).unwrap_or_default();
        format!("{}{query}", self.0.path())
    }
}

impl FromStr for EndpointUrl {
    type Err = NoEndpointUrl;

    fn from_str(text: &str) -> Result<Self, NoEndpointUrl> {
        if text.len() > Self::BYTES_MAX {
            return Err(NoEndpointUrl::Length);
        }
        let url = Url::parse(text).map_err(|_| NoEndpointUrl::Syntax)?;
        match url {
            _ if !matches!(url.scheme(), "https" | "http") => Err(NoEndpointUrl::Scheme),
            _ if url.host_str().is_none_or(str::is_empty) || url.port() == Some(0) => Err(NoEndpointUrl::Syntax),
            _ if !url.username().is_empty() || url.password().is_some() => Err(NoEndpointUrl::User),
            _ if url.fragment().is_some() => Err(NoEndpointUrl::Fragment),
            // Encoded, it may be longer than it was written.
            _ if url.as_str().len() > Self::BYTES_MAX => Err(NoEndpointUrl::Length),
            _ => Ok(EndpointUrl(url)),
        }
    }
}

impl TryFrom<String> for EndpointUrl {
    type Error = NoEndpointUrl;

    fn try_from(text: String) -> Result<Self, NoEndpointUrl> {
        text.parse()
    }
}

impl From<EndpointUrl> for String {
    fn from(url: EndpointUrl) -> String {
        url.as_str().to_owned()
    }
}

impl fmt::Debug for EndpointUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<EndpointUrl, NoEndpointUrl> {
        text.parse()
    }

    #[test]
    fn an_endpoint_has_a_host_a_port_and_a_path() {
        let url = read("https://Example.COM:8443/hook?team=a").expect("it is an endpoint");
        assert_eq!((url.host(), url.port()), (EndpointHost::Name("example.com"), 8443));
        assert_eq!((url.authority().as_str(), url.path().as_str()), ("example.com:8443", "/hook?team=a"));
        let plain = read("http://example.com").expect("it is an endpoint");
        assert_eq!((plain.port(), plain.is_https(), plain.path().as_str()), (80, false, "/"));
    }

    #[test]
    fn an_address_is_read_in_every_form() {
        for text in ["127.0.0.1", "2130706433", "0x7f000001", "0177.1", "127.1", "127.0.0.1."] {
            let url = read(&format!("https://{text}/")).expect("it is an endpoint");
            assert_eq!(url.host(), EndpointHost::Address("127.0.0.1".parse().expect("an address")), "{text}");
        }
        let mapped = read("https://[::ffff:127.0.0.1]/").expect("it is an endpoint");
        assert_eq!(mapped.host(), EndpointHost::Address("::ffff:127.0.0.1".parse().expect("an address")));
    }

    #[test]
    fn what_is_no_endpoint_is_refused() {
        let long = format!("https://example.com/{}", "x".repeat(2_048));
        for (text, why) in [
            ("", NoEndpointUrl::Syntax),
            ("example.com/hook", NoEndpointUrl::Syntax),
            ("https://", NoEndpointUrl::Syntax),
            ("https://example.com:0/", NoEndpointUrl::Syntax),
            ("ftp://example.com/", NoEndpointUrl::Scheme),
            ("file:///etc/passwd", NoEndpointUrl::Scheme),
            ("https://user@example.com/", NoEndpointUrl::User),
            ("https://:secret@example.com/", NoEndpointUrl::User),
            ("https://example.com/#top", NoEndpointUrl::Fragment),
            (&long, NoEndpointUrl::Length),
        ] {
            assert_eq!(read(text), Err(why), "{text}");
        }
    }
}
