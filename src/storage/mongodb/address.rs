//! Checks of the address of MongoDB, in `statistics.url`.
//!
//! The driver's messages about a URL may quote a part of it, for example a password, so they are never passed on.

use futures_util::FutureExt;
use mongodb::options::{ClientOptions, ConnectionString};

/// The accepted form of a URL.
const FORMS: &str = "is not mongodb://[USER:PASSWORD@]HOST:PORT[,HOST:PORT…][/?OPTIONS]; write what is special in USER and \
                     PASSWORD as %XX";
/// DNS names need the driver's resolver, whose scheduler makes every socket larger.
const BY_DNS: &str =
    "begins with mongodb+srv://, which is not supported; name some members: mongodb://HOST:PORT,HOST:PORT";

/// The mistake in the URL, without any secret; `None` if the URL is good. Does no DNS lookup.
pub fn mistake(url: &str) -> Option<String> {
    if url.starts_with("mongodb+srv:") {
        return Some(BY_DNS.to_owned());
    }
    let Ok(read) = ConnectionString::parse(url) else { return Some(refused_option(url).unwrap_or(FORMS.to_owned())) };
    let options = ClientOptions::parse(read).into_future().now_or_never();
    let fits = options.is_some_and(|options| options.is_ok());
    (!fits).then(|| "has options that do not fit together, or one that is not supported".to_owned())
}

/// The first option that the driver refuses, if the rest of the URL can be read.
fn refused_option(url: &str) -> Option<String> {
    let (place, options) = url.split_once('?')?;
    // The question mark is a part of the password.
    if options.contains('@') {
        return None;
    }
    ConnectionString::parse(place).ok()?;
    let alone = |option: &&str| ConnectionString::parse(format!("mongodb://host/?{option}")).is_err();
    let name = options.split('&').find(alone)?.split_once('=').map_or("", |(name, _)| name);
    Some(format!("has an option that is not known, or has a wrong value: {name:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_named_by_a_url() {
        for url in [
            "mongodb://127.0.0.1",
            "mongodb://me:hunter2@a.example:27017,b.example:27017/?replicaSet=rs0&tls=true",
            "mongodb://me:p%40ss@[::1]:27017/?authSource=admin",
        ] {
            assert_eq!(mistake(url), None, "{url}");
        }
    }

    #[test]
    fn a_url_that_is_none_is_refused_for_what_is_wrong() {
        for url in ["", "a.example", "http://a", "mongodb://", "mongodb://a:x"] {
            assert_eq!(mistake(url).as_deref(), Some(FORMS), "{url}");
        }
        assert_eq!(mistake("mongodb+srv://cluster0.example.net").as_deref(), Some(BY_DNS));
        let option = |url: &str| mistake(url).unwrap_or_default();
        assert!(option("mongodb://a/?tls=yes").ends_with("wrong value: \"tls\""), "{}", option("mongodb://a/?tls=yes"));
        assert!(option("mongodb://a/?w=1&jornal=true").ends_with("\"jornal\""));
        assert!(option("mongodb://a,b/?directConnection=true").contains("fit together"));
        // The settings are printed, which would show these secrets.
        for secret in ["tlsCertificateKeyFilePassword=x", "proxyHost=a&proxyPassword=x", "authMechanism=MONGODB-AWS"] {
            assert!(mistake(&format!("mongodb://a/?{secret}")).is_some(), "{secret}");
        }
        assert!(option("mongodb://a/?socketTimeoutMS=5").contains("not supported"));
    }

    #[test]
    fn its_password_is_in_no_message() {
        for url in [
            "mongodb://me:hunter2",
            "mongodb://me:hunter2@",
            "mongodb://me:hunt@hunter2@a",
            "mongodb://me:hunter2/@a",
            "mongodb://me:x?hunter2=y@a",
            "mongodb://me:x?hunter2@a",
            "mongodb+srv://me:hunter2@a:1",
            "http://me:hunter2@a",
            "mongodb://me:hunter2@a/?tls=yes",
        ] {
            let mistake = mistake(url).unwrap_or_else(|| panic!("{url} is refused"));
            assert!(!mistake.contains("hunter2"), "{url}: {mistake}");
        }
    }
}
