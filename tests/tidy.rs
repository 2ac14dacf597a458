//! The rules of the tree, as a test: a driver lives in one place, neighbors do not import each other, files stay small. That
//! layers import downwards only is the compiler's work: each is a crate.
//!
//! Rust is read with `syn`: paths and `use` groups are followed, also inside macro calls, and aliases of the whole
//! crate (`use crate as root`) are refused because they would hide the rest. To add a rule, add a line to a table.

use std::fs;
use std::path::{Path, PathBuf};

#[path = "tidy/code.rs"]
mod code;
#[path = "tidy/documents.rs"]
mod documents;
#[path = "tidy/folders.rs"]
mod folders;
#[path = "tidy/functions.rs"]
mod functions;
#[path = "tidy/imports.rs"]
mod imports;

use code::Code;
use imports::Tree;

/// A path of code, and the only files that may use it. `*` is any text.
const HOMES: &[(&str, &[&str])] = &[
    ("tokio_tungstenite", &["src/edge/connection/*", "src/conformance/*"]),
    ("tungstenite", &["src/edge/connection/*", "src/conformance/*"]),
    ("jsonwebtoken", &["src/edge/auth/*"]),
    ("fjall", &["src/storage/embedded/*"]),
    // In the listener as the provider of rustls.
    ("aws_lc_rs", &["src/edge/auth/*", "src/edge/listener/tls.rs", "src/storage/http/*"]),
    ("ppp", &["src/edge/listener/*"]),
    ("governor", &["src/edge/limits/rates.rs", "src/edge/limits/connection_limiter.rs"]),
    (
        "tokio_rustls",
        &[
            "src/edge/listener/*",
            "src/edge/connection/stream.rs",
            "src/storage/http/*",
            // Files and faults: the connections are those of the client library.
            "src/storage/redis/tls*",
            "src/storage/redis/wrong_port.rs",
        ],
    ),
    ("hickory_resolver", &["src/storage/http/*"]),
    ("redis", &["src/storage/redis/*"]),
    ("rdkafka", &["src/storage/kafka/*"]),
    ("scylla", &["src/storage/cassandra/*"]),
    ("mongodb", &["src/storage/mongodb/*"]),
    ("roaring", &["src/domain/rewards/*"]),
    ("bloomfilter", &["src/domain/rewards/*", "src/storage/hot_store/cold_filter.rs"]),
    ("tonic", &["src/edge/grpc/*", "src/storage/remote/*", "src/storage/gateway_messages/*"]),
    ("tonic_health", &["src/edge/grpc/*"]),
    ("tonic_reflection", &["src/edge/grpc/*"]),
    ("tonic_types", &["src/edge/grpc/*"]),
    ("webpki", &["src/edge/grpc/connection.rs", "src/edge/listener/validity.rs"]),
    ("ua_parser", &["src/edge/visitor/agents*"]),
    ("pulldown_cmark", &["src/edge/demo/docs/markdown.rs"]),
    ("maxminddb", &["src/edge/visitor/countries.rs"]),
    ("env::var", &["src/config*", "src/*/build.rs"]),
    ("env::vars", &["src/config*"]),
    ("env::var_os", &["src/config*"]),
    ("env::vars_os", &["src/config*"]),
    // A concrete backend is named where parts are built, and nowhere above its trait.
    ("crate::storage::embedded", &["src/storage/embedded/*", "src/app*", "src/lib.rs", "src/domain/*"]),
    // Settings of the drivers are part of all settings, and checked with them.
    ("crate::storage::redis", &["src/storage/redis/*", "src/app*", "src/lib.rs", "src/config*", "src/main.rs"]),
    ("crate::storage::kafka", &["src/storage/kafka/*", "src/app*", "src/lib.rs", "src/config*"]),
    ("crate::storage::cassandra", &["src/storage/cassandra/*", "src/app*", "src/lib.rs", "src/config*"]),
    ("crate::storage::mongodb", &["src/storage/mongodb/*", "src/app*", "src/lib.rs", "src/config*"]),
    ("crate::storage::remote", &["src/storage/remote/*", "src/app*", "src/lib.rs", "src/config*"]),
    ("crate::storage::http", &["src/storage/http/*", "src/app*", "src/lib.rs"]),
    ("crate::storage::revocation_list::file", &["src/storage/*", "src/app*"]),
];

/// A path of code that some files may never use.
const NEVER: &[(&str, &str)] = &[
    ("src/model/*", "tokio"),
    ("src/model/*", "std::fs"),
    ("src/model/*", "std::net"),
    ("src/edge/protocol/*", "tokio"),
    ("src/edge/protocol/*", "crate::domain::ingest"),
    ("src/domain/ingest/*", "crate::domain::devices::fanout"),
    ("src/domain/ingest/*", "crate::domain::devices::presence"),
    ("src/domain/*", "http"),
];

const BANNED_NAMES: &[&str] = &["util", "utils", "manager", "managers", "helper", "helpers"];
const LINES_MAX: usize = 500;

/// Words that do not belong into a finished text; in two halves, so that this file is not found.
const LEFTOVERS: &[(&str, &str)] = &[("todo", "!("), ("unimplemented", "!("), ("dbg", "!("), ("FIX", "ME")];

/// Directories that exist on a developer's machine only.
const MACHINE_DIRECTORIES: &[&str] = &["home", "root", "Users", "work", "mnt"];

const SCANNED: &[&str] = &["src", "tests", "web-demo", "deploy", "docs"];
const SCANNED_ENDINGS: &[&str] = &["rs", "py", "go", "js", "mjs", "css", "html", "sh", "toml", "md"];

#[test]
fn the_tree_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in SCANNED {
        collect(&root.join(folder), &mut files);
    }
    assert!(files.len() > 50, "the scan sees the tree");
    let mut found = Vec::new();
    for file in files {
        let path = file.strip_prefix(root).expect("below the root").to_str().expect("UTF-8");
        found.extend(text_violations(path, &fs::read_to_string(&file).expect("text")));
    }
    let code = rust_files();
    found.extend(code.iter().flat_map(|(path, code)| name_violations(path, code)));
    found.extend(import_violations(&Tree::new(of_crate(code))));
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

fn collect(place: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(place) else { return };
    for entry in entries {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let ending = name.rsplit_once('.').map_or("sh", |(_, ending)| ending);
        if name.starts_with('.') || matches!(name, "node_modules" | "__pycache__") {
            continue;
        } else if path.is_dir() {
            collect(&path, files);
        } else if SCANNED_ENDINGS.contains(&ending) {
            files.push(path);
        }
    }
}

/// Every Rust file, with its path from the root.
fn rust_files() -> Vec<(String, Code)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in SCANNED {
        collect(&root.join(folder), &mut files);
    }
    files.retain(|file| file.extension().is_some_and(|ending| ending == "rs"));
    files.sort();
    let read = |file: PathBuf| {
        let path = file.strip_prefix(root).expect("below the root").to_str().expect("UTF-8").to_owned();
        let code = Code::read(&fs::read_to_string(&file).expect("text"));
        let code = code.unwrap_or_else(|error| panic!("{path}: no Rust: {error}"));
        (path, code)
    };
    files.into_iter().map(read).collect()
}

/// Those of the crate.
fn of_crate(files: Vec<(String, Code)>) -> Vec<(String, Code)> {
    files.into_iter().filter(|(path, _)| path.starts_with("src/")).collect()
}

/// What is wrong with the text of the file at `path` (from the root, with `/`), each with its line.
fn text_violations(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut report = |line: usize, what: String| found.push(format!("{path}:{line}: {what}"));

    let lines = text.lines().count();
    if lines > LINES_MAX && !path.ends_with(".md") {
        report(lines, format!("{lines} lines, more than {LINES_MAX}"));
    }
    for part in path.split(['/', '.']).filter(|part| banned(part)) {
        report(1, format!("the name {part}"));
    }
    for (index, line) in text.lines().enumerate() {
        for (head, tail) in LEFTOVERS.iter().filter(|(head, tail)| line.contains(&format!("{head}{tail}"))) {
            report(index + 1, format!("a left-over {head}{tail}"));
        }
        for directory in MACHINE_DIRECTORIES.iter().filter(|name| names_directory(line, name)) {
            report(index + 1, format!("a path of one machine, in /{directory}"));
        }
    }
    found
}

fn name_violations(path: &str, code: &Code) -> Vec<String> {
    let named = code.names.iter().filter(|named| banned(&named.name));
    named.map(|named| format!("{path}:{}: the name {}", named.line, named.name)).collect()
}

fn import_violations(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for file in &tree.files {
        for used in &file.code.used {
            let target = imports::from_root(&file.module, used);
            let wrong = hidden(file, used, &target).or_else(|| wrong_import(&file.path, &target));
            found.extend(wrong.map(|what| format!("{}:{}: {what}", file.path, used.line)));
        }
    }
    found.dedup();
    found
}

/// Whether a word of a snake_case, kebab-case or CamelCase name is banned.
fn banned(name: &str) -> bool {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() {
            words.push('_');
        }
        words.extend(letter.to_lowercase());
    }
    words.split(['_', '-']).any(|word| BANNED_NAMES.contains(&word))
}

fn names_directory(line: &str, name: &str) -> bool {
    let wanted = format!("/{name}/");
    line.match_indices(&wanted).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        before.is_none_or(|letter| !letter.is_alphanumeric() && !matches!(letter, '.' | '_' | '-' | '/' | '}' | ')'))
    })
}

/// A crate as a whole. What is below it may have all of it from `super`.
fn hidden(file: &imports::File, used: &code::Used, target: &[String]) -> Option<String> {
    let root = imports::root_of_crate(&file.module);
    let below = target.strip_prefix(&root[..]).filter(|_| file.path.starts_with("src/") && used.segments[0] != "super");
    let whole = below.is_some_and(|below| matches!(below.first().map(String::as_str), None | Some("*")));
    whole.then(|| "the whole crate, which hides what is meant".to_owned())
}

fn wrong_import(path: &str, used: &[String]) -> Option<String> {
    let home = |(what, homes): &&(&str, &[&str])| begins(used, what) && !homes.iter().any(|home| matches(home, path));
    if let Some((what, homes)) = HOMES.iter().find(home) {
        return Some(format!("{what} away from its home ({})", homes.join(", ")));
    }
    let never = NEVER.iter().find(|(place, what)| matches(place, path) && begins(used, what));
    never.map(|(place, what)| format!("{what} in {place}"))
}

/// Whether `used` begins with the path `what`, with or without `std::` before it.
fn begins(used: &[String], what: &str) -> bool {
    let used = if used[0] == "std" && !what.starts_with("std::") { &used[1..] } else { used };
    let what: Vec<&str> = what.split("::").collect();
    used.len() >= what.len() && used.iter().zip(what).all(|(used, what)| used == what)
}

/// `*` in `pattern` is any text, none included.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, tail)) => text
            .strip_prefix(head)
            .is_some_and(|rest| (0..=rest.len()).any(|cut| rest.is_char_boundary(cut) && matches(tail, &rest[cut..]))),
    }
}

mod planted {
    use super::{Code, Tree, import_violations, name_violations, text_violations};

    fn violations(path: &str, text: &str) -> Vec<String> {
        let mut found = text_violations(path, text);
        if path.ends_with(".rs") {
            let code = Code::read(text).expect("Rust");
            found.extend(name_violations(path, &code));
            found.extend(import_violations(&Tree::new(vec![(path.to_owned(), code)])));
        }
        found
    }

    fn one(path: &str, text: &str, expected: &str) {
        let found = violations(path, text);
        assert!(found.len() == 1 && found[0].contains(expected), "{text}: {found:?}, not {expected}");
    }

    fn none(path: &str, text: &str) {
        assert_eq!(violations(path, text), [""; 0], "{text}");
    }

    #[test]
    fn an_import_that_hides_what_it_means_is_found() {
        for text in ["use crate as root;", "use crate::*;", "use crate::{self as root};"] {
            let found = violations("src/model/ids.rs", text);
            assert!(!found.is_empty(), "{text}");
        }
    }

    #[test]
    fn a_driver_away_from_home_is_found() {
        for (path, text) in [
            ("src/edge/http/mod.rs", "use tokio_tungstenite::tungstenite::Message;"),
            ("src/edge/http/mod.rs", "use jsonwebtoken::{decode, encode};"),
            ("src/edge/http/mod.rs", "extern crate jsonwebtoken;"),
            ("src/edge/connection/socket.rs", "use jsonwebtoken as jwt;"),
            ("src/domain/history.rs", "fn f(db: &fjall::Database) {}"),
            ("src/storage/hot_store/mod.rs", "use fjall::Database;"),
            ("src/storage/embedded/hot_store/mod.rs", "use redis::Client;"),
            ("src/storage/event_bus/mod.rs", "use rdkafka::producer::FutureProducer;"),
            ("src/domain/ingest/submit_queue.rs", "use roaring::RoaringTreemap;"),
            ("src/domain/history.rs", "use std::env::var_os;"),
            ("src/app.rs", "fn f() { let key = std::env::var(name); }"),
            ("src/app.rs", "use std::{env::{args, var}, fs};"),
            ("src/telemetry/mod.rs", "use storage_embedded::hot_store::EmbeddedStore;"),
        ] {
            one(path, text, "away from its home");
        }
        none("src/edge/connection/socket.rs", "use tokio_tungstenite::WebSocketStream;");
        none("src/edge/auth/token.rs", "use jsonwebtoken::decode;");
        none("src/storage/embedded/hot_store/tables.rs", "use fjall::Database;");
        none("src/storage/redis/node.rs", "use ::redis::Client;");
        none("src/app/hot.rs", "use storage_redis::Redis;");
        none("src/config/mod.rs", "fn f() { let all = std::env::vars_os(); }");
        none("src/app.rs", "fn f() { let version = env!(\"CARGO_PKG_VERSION\"); let all = std::env::args(); }");
        none("src/telemetry/mod.rs", "const QUIET: &str = \"tungstenite::protocol=warn\"; // tungstenite::x");
    }

    #[test]
    fn a_forbidden_dependency_of_a_folder_is_found() {
        one("src/edge/protocol/frame.rs", "use tokio::time::Instant;", "tokio in src/edge/protocol/*");
        one("src/edge/protocol/frame.rs", "use domain::ingest::SubmitQueue;", "crate::domain::ingest in");
        one("src/domain/ingest/ack.rs", "use crate::devices::fanout::Fanout;", "devices::fanout in");
        one("src/model/rule.rs", "use std::fs::File;", "std::fs in src/model/*");
    }

    #[test]
    fn a_long_file_is_found() {
        none("tests/gateway/long.rs", &"\n".repeat(500));
        one("tests/gateway/long.rs", &"\n".repeat(501), "501 lines");
        one("web-demo/long.js", &"\n".repeat(501), "501 lines");
    }

    #[test]
    fn a_banned_name_is_found() {
        for path in ["src/utils.rs", "src/helper/mod.rs", "web-demo/dom-utils.js", "tests/session_manager.rs"] {
            one(path, "", "the name");
        }
        for text in ["struct SessionManager;", "fn make_helper() {}", "pub mod utils;", "const fn helper() {}"] {
            one("src/app.rs", text, "the name");
        }
        none("src/app.rs", "fn managed_helpfully() {} // a manager of utils");
    }

    #[test]
    fn a_left_over_marker_is_found() {
        let (todo, fix, debug) = (["to", "do!()"].concat(), ["FIX", "ME"].concat(), ["db", "g!(1)"].concat());
        for text in [format!("fn f() {{ {todo} }}"), format!("// {fix} later"), format!("fn f() {{ {debug}; }}")] {
            one("src/app.rs", &text, "a left-over");
        }
    }

    #[test]
    fn a_path_of_one_machine_is_found() {
        for name in super::MACHINE_DIRECTORIES {
            one("web-demo/demo.js", &format!("load(\"/{name}/me/x\")"), "a path of one machine");
            none("web-demo/demo.js", &format!("fetch(\"https://example.org/{name}/x\"); load(\"./{name}/x\")"));
        }
    }
}
