//! `X-Forwarded-For` and `Forwarded`: the hops of a request, the last one on the right.
//!
//! The crates that read `Forwarded` split it at every comma, quoted or not. Clients choose what some proxies quote
//! there (`host`), so with them a client could add a hop of its own.

use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, HeaderName, header};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// A proxy that should name the client of a request did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForwardedHeaderError {
    #[error("the proxy sent no client address (server.forwarded_header)")]
    Missing,
    #[error("the client address in the forwarded header is not readable")]
    DecodeError,
}

/// One hop, as it was written.
#[derive(Debug)]
pub struct Hop(String);

impl Hop {
    /// With or without a port; IPv6 with a port stands in brackets, and may without one.
    pub fn address(&self) -> Result<IpAddr, ForwardedHeaderError> {
        let text = self.0.as_str();
        let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        let address = bare.parse().or_else(|_| text.parse().map(|address: SocketAddr| address.ip()));
        address.map(|address: IpAddr| address.to_canonical()).map_err(|_| ForwardedHeaderError::DecodeError)
    }
}

pub fn x_forwarded_for(headers: &HeaderMap) -> Result<Vec<Hop>, ForwardedHeaderError> {
    let lines = lines(headers, X_FORWARDED_FOR)?;
    Ok(lines.iter().flat_map(|line| line.split(',')).map(|hop| Hop(hop.trim().to_owned())).collect())
}

pub fn forwarded(headers: &HeaderMap) -> Result<Vec<Hop>, ForwardedHeaderError> {
    let mut hops = Vec::new();
    for line in lines(headers, header::FORWARDED)? {
        for element in split(line, ',')? {
            hops.push(hop(element)?);
        }
    }
    Ok(hops)
}

fn lines(headers: &HeaderMap, name: HeaderName) -> Result<Vec<&str>, ForwardedHeaderError> {
    headers.get_all(name).into_iter().map(|line| line.to_str().map_err(|_| ForwardedHeaderError::DecodeError)).collect()
}

/// The `for` of one element, which has at most one.
fn hop(element: &str) -> Result<Hop, ForwardedHeaderError> {
    let mut hop = None;
    for pair in split(element, ';')? {
        let (name, value) = pair.split_once('=').ok_or(ForwardedHeaderError::DecodeError)?;
        if name.trim().eq_ignore_ascii_case("for") && hop.replace(Hop(unquoted(value.trim()))).is_some() {
            return Err(ForwardedHeaderError::DecodeError);
        }
    }
    // A hop that nothing is known of; it matters only if the walk comes to it.
    Ok(hop.unwrap_or_else(|| Hop(String::new())))
}

/// Splits at `separator` outside of quotes.
fn split(text: &str, separator: char) -> Result<Vec<&str>, ForwardedHeaderError> {
    let (mut parts, mut start) = (Vec::new(), 0);
    let (mut quoted, mut escaped) = (false, false);
    for (index, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if letter == separator && !quoted => {
                parts.push(text[start..index].trim());
                start = index + letter.len_utf8();
            }
            _ => {}
        }
    }
    if quoted {
        return Err(ForwardedHeaderError::DecodeError);
    }
    parts.push(text[start..].trim());
    Ok(parts)
}

/// No address has an escape in it, so none is undone.
fn unquoted(value: &str) -> String {
    let inner = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    inner.unwrap_or(value).to_owned()
}
