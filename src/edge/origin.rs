//! The origins of pages that may use the gateway: the same list for sockets and for CORS.

use http::{HeaderMap, HeaderValue, header};

/// Bytes of an origin in the log: the rest is cut off.
const LOGGED_MAX: usize = 128;

/// An exact allow-list; when it is empty, the same host only. A default port equals no port, in the list and in
/// requests.
#[derive(Clone, Debug)]
pub struct Origins {
    allowed: Vec<String>,
}

impl Origins {
    pub fn new(allowed: Vec<String>) -> Self {
        Origins { allowed }
    }

    /// Whether a request with these headers may be served. Apps send no origin and may; `null` must be listed.
    pub fn allow(&self, headers: &HeaderMap) -> bool {
        let mut origins = headers.get_all(header::ORIGIN).iter();
        match (origins.next(), origins.next()) {
            (None, _) => true,
            (Some(origin), None) => self.allow_origin(origin, headers.get(header::HOST)),
            (Some(_), Some(_)) => false,
        }
    }

    /// The origin of a request, to be logged. `None`: it has none, or one that is not text.
    pub fn named(headers: &HeaderMap) -> Option<&str> {
        let origin = text(headers.get(header::ORIGIN)?)?;
        // Text in a header is ASCII.
        Some(&origin[..origin.len().min(LOGGED_MAX)])
    }

    /// The one origin of a request. `None`: it has none, several, or one that is not text.
    pub fn sent(headers: &HeaderMap) -> Option<&str> {
        let mut origins = headers.get_all(header::ORIGIN).iter();
        origins.next().filter(|_| origins.next().is_none()).and_then(text)
    }

    fn allow_origin(&self, origin: &HeaderValue, host: Option<&HeaderValue>) -> bool {
        let Some(origin) = text(origin) else { return false };
        if !self.allowed.is_empty() {
            return self.allowed.iter().any(|allowed| without_default_port(allowed) == without_default_port(origin));
        }
        let (Some((scheme, authority)), Some(host)) = (origin.split_once("://"), host) else { return false };
        // The scheme of the request itself is not known behind a proxy that ends TLS.
        let bare = |authority| bare_authority(scheme, authority);
        host.to_str().is_ok_and(|host| bare(host).eq_ignore_ascii_case(bare(authority)))
    }
}

fn text(origin: &HeaderValue) -> Option<&str> {
    origin.to_str().ok()
}

/// Scheme and host, with the port only if it is not the scheme's default.
fn without_default_port(origin: &str) -> (&str, &str) {
    let (scheme, authority) = origin.split_once("://").unwrap_or((origin, ""));
    (scheme, bare_authority(scheme, authority))
}

fn bare_authority<'a>(scheme: &str, authority: &'a str) -> &'a str {
    let default_port = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => return authority,
    };
    authority.strip_suffix(default_port).unwrap_or(authority)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(allowed: &[&str], origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_static("tv.example:8080"));
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        Origins::new(allowed.iter().map(|origin| origin.to_string()).collect()).allow(&headers)
    }

    #[test]
    fn without_a_list_only_the_same_host_and_clients_without_an_origin_are_allowed() {
        assert!(allows(&[], None));
        assert!(allows(&[], Some("https://tv.example:8080")));
        for other in ["https://tv.example", "https://evil.example", "null", "tv.example:8080"] {
            assert!(!allows(&[], Some(other)), "{other}");
        }
    }

    #[test]
    fn an_origin_must_match_the_list_exactly() {
        let list = ["https://app.example", "null"];
        assert!(allows(&list, None) && allows(&list, Some("https://app.example")) && allows(&list, Some("null")));
        for other in ["https://app.example.evil", "http://app.example", "https://tv.example:8080"] {
            assert!(!allows(&list, Some(other)), "{other}");
        }
    }
}
