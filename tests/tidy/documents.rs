//! What the documents refer to exists: files, headings, images, source files and settings. `tests/deploy` does the same
//! for metrics, with a running gateway.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Names of the wire that look like settings: members of `welcome.limits` and of `push`.
const WIRE_NAMES: &[&str] = &[
    "limits.frame",
    "limits.ping",
    "limits.idle",
    "limits.connections",
    "push.record",
    "push.deleted",
    "push.cleared",
    "push.recording",
    "push.flag",
];

/// Names that end like this are files.
const FILE_ENDINGS: &[&str] =
    &["md", "rs", "py", "js", "mjs", "json", "toml", "conf", "cfg", "lua", "db", "jnl", "yml", "properties", "proto"];

#[test]
fn the_documents_refer_to_what_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let settings = settings(&fs::read_to_string(root.join("deploy/heartline.toml")).expect("the defaults"));
    let mut sources = Vec::new();
    for folder in super::SCANNED {
        super::collect(&root.join(folder), &mut sources);
    }
    let documents = documents(root);
    assert!(documents.len() > 8, "the scan sees the documents");
    let mut found = Vec::new();
    for document in documents {
        let name = document.strip_prefix(root).expect("below the root").display();
        let text = fs::read_to_string(&document).expect("text");
        let broken = links(&text).into_iter().filter(|link| !resolves(&document, link));
        found.extend(broken.map(|link| format!("{name}: the link {link} leads nowhere")));
        let unknown = named_settings(&text, &settings).into_iter().filter(|setting| !settings.contains(setting));
        found.extend(unknown.map(|setting| format!("{name}: there is no setting {setting}")));
        let gone = named_sources(&text).into_iter().filter(|file| !sources.iter().any(|path| path.ends_with(file)));
        found.extend(gone.map(|file| format!("{name}: there is no file {file}")));
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

fn documents(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root.join("docs")).expect("the documents");
    let mut documents: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    documents.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    documents.push(root.join("README.md"));
    documents
}

/// Every setting as `section.key`.
fn settings(defaults: &str) -> BTreeSet<String> {
    let tables: toml::Table = defaults.parse().expect("TOML");
    tables.iter().flat_map(|(section, keys)| settings_of(section, keys)).collect()
}

/// The setting itself, or all of a section.
fn settings_of(name: &str, value: &toml::Value) -> Vec<String> {
    match value.as_table() {
        Some(keys) => keys.iter().flat_map(|(key, value)| settings_of(&format!("{name}.{key}"), value)).collect(),
        None => vec![name.to_owned()],
    }
}

/// The targets of links and images, but for those on other hosts.
fn links(text: &str) -> Vec<String> {
    let prose = without_code(text);
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    targets.filter(|target| !target.contains("://")).map(str::to_owned).collect()
}

fn resolves(document: &Path, link: &str) -> bool {
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = if file.is_empty() { document.to_owned() } else { document.with_file_name("").join(file) };
    if anchor.is_empty() {
        return target.exists();
    }
    fs::read_to_string(target).is_ok_and(|text| anchors(&text).iter().any(|known| known == anchor))
}

/// The anchors that GitHub gives to the headings.
fn anchors(text: &str) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    for heading in without_blocks(text).lines().filter(|line| line.starts_with('#')) {
        let title = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
        let anchor: String = kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect();
        let before = anchors.iter().filter(|known| **known == anchor).count();
        anchors.push(if before == 0 { anchor } else { format!("{anchor}-{before}") });
    }
    anchors
}

/// What stands as `section.key` in inline code, or as HEARTLINE__SECTION__KEY anywhere.
fn named_settings(text: &str, settings: &BTreeSet<String>) -> BTreeSet<String> {
    let sections: BTreeSet<&str> =
        settings.iter().flat_map(|setting| setting.match_indices('.').map(|(end, _)| &setting[..end])).collect();
    let prose = without_blocks(text);
    let code: Vec<&str> = prose.split('`').skip(1).step_by(2).collect();
    let words = code.iter().flat_map(|code| code.split(|c: char| !(c.is_ascii_alphanumeric() || "._/-".contains(c))));
    let named = words.filter(|word| {
        let (section, key) = word.rsplit_once('.').unwrap_or((word, ""));
        let plain = key.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        !key.is_empty()
            && plain
            && sections.contains(section)
            && !sections.contains(word)
            && !FILE_ENDINGS.contains(&key)
            && !WIRE_NAMES.contains(word)
    });
    let variables = text.split("HEARTLINE__").skip(1).map(|rest| {
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        rest[..end].replace("__", ".").to_lowercase()
    });
    // Of a secret, which may be in a file.
    let of_file = |name: String| match name.strip_suffix("_file") {
        Some(secret) if settings.contains(secret) => secret.to_owned(),
        _ => name,
    };
    named
        .map(str::to_owned)
        .map(of_file)
        .chain(variables.filter(|variable| variable != "section.key").map(of_file))
        .collect()
}

/// Source files in inline code, by the end of their path: `ingest/ack.rs`.
fn named_sources(text: &str) -> BTreeSet<String> {
    let prose = without_blocks(text);
    let words = prose.split('`').skip(1).step_by(2).filter(|code| !code.contains(char::is_whitespace));
    words.filter(|code| code.ends_with(".rs") || code.ends_with(".sh")).map(str::to_owned).collect()
}

/// The text without fenced blocks.
fn without_blocks(text: &str) -> String {
    let mut within = false;
    let outside = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        within ^= fence;
        !within && !fence
    });
    outside.collect::<Vec<_>>().join("\n")
}

/// The text without fenced blocks and inline code.
fn without_code(text: &str) -> String {
    without_blocks(text).split('`').step_by(2).collect()
}

mod planted {
    use super::{anchors, links, named_settings, named_sources, settings};

    #[test]
    fn links_are_found_and_code_is_none() {
        let text = "[a](b.md#c) ![p](p.png) [w](https://w.example) `x](y)`\n```js\nz[0](1)\n```\n[wrapped\nhere](#d)";
        assert_eq!(links(text), ["b.md#c", "p.png", "#d"]);
    }

    #[test]
    fn anchors_are_those_of_github() {
        let text = "# A, b & `c`\n## Time: `at`\n```sh\n# no heading\n```\n## Twice\n### Twice";
        assert_eq!(anchors(text), ["a-b--c", "time-at", "twice", "twice-1"]);
    }

    #[test]
    fn settings_are_found_and_files_are_none() {
        let known = settings("[store]\ndata_dir = 1\n[events]\nretention = 2\n[events.names]\nof = 3");
        assert!(known.contains("events.names.of"), "{known:?}");
        let text = "`store.gone` `store.data_dir = 1` `events.md` `a/store.rs` store.none HEARTLINE__EVENTS__GONE=1 \
                    `events.names` `events.names.none` `events.of.others` HEARTLINE__EVENTS__NAMES__OF=1";
        let named: Vec<_> = named_settings(text, &known).into_iter().collect();
        let expected = ["events.gone", "events.names.none", "events.names.of", "store.data_dir", "store.gone"];
        assert_eq!(named, expected);
    }

    #[test]
    fn source_files_are_found_and_commands_are_none() {
        let named = named_sources("`a/b.rs` `kafka-topics.sh --create` b.rs `c.sh`\n```\n`d.rs`\n```");
        assert_eq!(named.into_iter().collect::<Vec<_>>(), ["a/b.rs", "c.sh"]);
    }
}
