//! Which of two forms of an answer a client prefers, by its `Accept` (RFC 9110).

use http::{HeaderMap, header};

/// Whether `wanted` is named, and nothing of `others` before it or with more weight. Both are lists of media ranges
/// without parameters, in lower case.
pub fn prefers(headers: &HeaderMap, wanted: &[&str], others: &[&str]) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut best: Option<(f32, bool)> = None;
    for range in accepted.flat_map(|value| value.split(',')) {
        let mut parts = range.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let is_wanted = wanted.contains(&name.as_str());
        if !is_wanted && !others.contains(&name.as_str()) {
            continue;
        }
        let weight = parts.find_map(|part| part.strip_prefix("q=")).map_or(Some(1.0), |weight| weight.parse().ok());
        let weight = weight.unwrap_or(0.0);
        if weight > best.map_or(0.0, |(weight, _)| weight) {
            best = Some((weight, is_wanted));
        }
    }
    best.is_some_and(|(_, is_wanted)| is_wanted)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn what_is_named_with_the_most_weight_is_preferred() {
        let prefers = |accept: &'static str| {
            let headers = HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]);
            prefers(&headers, &["text/csv", "text/*"], &["application/json", "application/*", "*/*"])
        };
        for csv in ["text/csv", "Text/CSV; charset=utf-8", "text/csv, */*;q=0.1", "application/json;q=0.5,text/csv"] {
            assert!(prefers(csv), "{csv}");
        }
        for json in ["", "*/*", "application/json, text/csv;q=0.9", "text/html", "text/csv;q=0", "application/json"] {
            assert!(!prefers(json), "{json}");
        }
    }

    #[test]
    fn nothing_is_preferred_without_the_header() {
        assert!(!prefers(&HeaderMap::new(), &["text/csv"], &["*/*"]));
    }
}
