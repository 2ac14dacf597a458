//! Where the links of a document lead in the demo.

use super::super::page;
use super::{DOCS, name};

/// Files of this folder are served below `/demo/`.
const WEB_FOLDER: &str = "web-demo/";

/// The links of one document.
pub(super) struct Links<'a> {
    /// Path of the document in the repository.
    document: &'a str,
}

impl<'a> Links<'a> {
    pub(super) fn of(document: &'a str) -> Self {
        Links { document }
    }

    /// The address for a link as it is written; `None` when it leads to a file that is not served.
    pub(super) fn address(&self, link: &str) -> Option<String> {
        if link.starts_with('#') || link.starts_with("https://") || link.starts_with("http://") {
            return Some(link.to_owned());
        }
        let (file, fragment) = match link.find('#') {
            Some(at) => link.split_at(at),
            None => (link, ""),
        };
        let path = self.path(file)?;
        let web_file = path.strip_prefix(WEB_FOLDER).filter(|file| page::is_served(file));
        let document = DOCS.iter().any(|(known, _)| *known == path).then(|| format!("docs/{}", name(&path)));
        let served = document.or(web_file.map(str::to_owned))?;
        Some(format!("/demo/{served}{fragment}"))
    }

    /// Path in the repository of a file that is named relative to the document.
    fn path(&self, file: &str) -> Option<String> {
        let mut parts: Vec<&str> = self.document.split('/').collect();
        parts.pop();
        for part in file.split('/') {
            match part {
                "." => {}
                ".." => drop(parts.pop()?),
                part => parts.push(part),
            }
        }
        Some(parts.join("/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_what_is_served() {
        let (readme, clients) = (Links::of("README.md"), Links::of("docs/clients.md"));
        for (links, link, address) in [
            (&readme, "docs/protocol.md", Some("/demo/docs/protocol.md")),
            (&readme, "docs/operations.md#log", Some("/demo/docs/operations.md#log")),
            (&readme, "#guarantees", Some("#guarantees")),
            (&readme, "https://rustup.rs", Some("https://rustup.rs")),
            (&readme, "LICENSE", None),
            (&readme, "../other/README.md", None),
            (&readme, "javascript:alert(1)", None),
            (&clients, "protocol.md#limits", Some("/demo/docs/protocol.md#limits")),
            (&clients, "./protocol.md", Some("/demo/docs/protocol.md")),
            (&clients, "../README.md", Some("/demo/docs/README.md")),
            (&clients, "../web-demo/client/heartline.js", Some("/demo/client/heartline.js")),
            (&clients, "../web-demo/make-clip.sh", None),
            (&clients, "../deploy/heartline.toml", None),
            (&clients, "README.md", None),
        ] {
            assert_eq!(links.address(link).as_deref(), address, "{link} in {}", links.document);
        }
    }
}
