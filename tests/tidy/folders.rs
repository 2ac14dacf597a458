//! Arrows between the folders of a folder, and between its files, run one way: what imports another is not imported by
//! it, also not by way of a third. Tests are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::code::Code;
use super::imports::{Path, Tree, is_of_crate};

/// Of the modules of one module: which imports which, with one place where it does.
type Arrows = BTreeMap<String, BTreeMap<String, String>>;

/// A circle that is still to be untied, as it is reported.
const EXCEPTIONS: &[&str] = &[];

#[test]
fn arrows_between_neighbors_run_one_way() {
    let tree = Tree::new(super::of_crate(super::rust_files()));
    assert!(tree.files.len() > 300, "the scan sees the tree");
    let (known, found): (Vec<_>, Vec<_>) = circles(&tree).into_iter().partition(|found| excepted(found));
    assert!(found.is_empty(), "\n{}", found.join("\n"));
    assert_eq!(known.len(), EXCEPTIONS.len(), "a circle was untied: strike out the exception");
}

fn excepted(found: &str) -> bool {
    found.lines().next().is_some_and(|circle| EXCEPTIONS.contains(&circle))
}

/// Each circle with its arrows.
fn circles(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (parent, arrows) in arrows(tree) {
        for circle in rings(&arrows) {
            let mut text =
                format!("in {}: {}", parent.join("::"), circle.iter().cloned().collect::<Vec<_>>().join(", "));
            for (from, to) in circle.iter().flat_map(|from| circle.iter().map(move |to| (from, to))) {
                if let Some(place) = arrows.get(from).and_then(|targets| targets.get(to)) {
                    write!(text, "\n    {from} -> {to}: {place}").expect("a string");
                }
            }
            found.push(text);
        }
    }
    found
}

fn arrows(tree: &Tree) -> BTreeMap<Path, Arrows> {
    let mut all: BTreeMap<Path, Arrows> = BTreeMap::new();
    for file in tree.files.iter().filter(|file| !file.in_tests) {
        for used in file.code.used.iter().filter(|used| !used.in_tests) {
            let target = tree.target(file, used);
            let shared = target.iter().zip(&file.module).take_while(|(one, other)| one == other).count();
            // What is in the parent itself is no neighbor, and a name that is no module is an item of the parent.
            let neighbors = is_of_crate(&target) && file.module.len() > shared && target.len() > shared;
            if neighbors && tree.is_module(&target[..=shared]) {
                let arrows = all.entry(target[..shared].to_vec()).or_default();
                let place = format!("{}:{}", file.path, used.line);
                arrows.entry(file.module[shared].clone()).or_default().entry(target[shared].clone()).or_insert(place);
            }
        }
    }
    all
}

/// The groups of modules of which each leads to each other.
fn rings(arrows: &Arrows) -> BTreeSet<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        arrows.keys().map(|from| (from, reached(arrows, from))).collect();
    let ring = |from: &String| -> BTreeSet<String> {
        let back = |to: &&&String| reached.get(**to).is_some_and(|reached| reached.contains(from));
        reached[from].iter().filter(back).map(|name| (*name).clone()).collect()
    };
    arrows.keys().map(ring).filter(|ring| !ring.is_empty()).collect()
}

fn reached<'a>(arrows: &'a Arrows, from: &String) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&String> = arrows.get(from).into_iter().flat_map(BTreeMap::keys).collect();
    while let Some(name) = next.pop() {
        if reached.insert(name) {
            next.extend(arrows.get(name).into_iter().flat_map(BTreeMap::keys));
        }
    }
    reached
}

mod planted {
    use super::{Code, Tree, circles};

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let read = |(path, text): &(&str, &str)| ((*path).to_owned(), Code::read(text).expect("Rust"));
        circles(&Tree::new(files.iter().map(read).collect()))
    }

    #[test]
    fn a_circle_is_found_however_it_is_written() {
        let there = ("src/domain/ingest/ack.rs", "use crate::devices::inbox::Inbox;");
        for back in [
            "use crate::ingest::ack;",
            "use super::super::ingest::{ack, other};",
            "fn f() -> crate::ingest::Ack { g() }",
            "fn f() { log(format!(\"{}\", crate::ingest::name())); debug!(\"{}\", super::super::ingest::X); }",
            "mod within { use super::super::super::ingest::ack; }",
            "use crate::ingest as other; fn f() { other::g() }",
            "use crate::short::Ack;",
        ] {
            let found = found(&[
                there,
                ("src/domain/devices/inbox.rs", back),
                ("src/domain/mod.rs", "pub mod short;"),
                ("src/domain/ingest/mod.rs", "pub mod ack;"),
                ("src/domain/short.rs", "pub use super::ingest::ack::Ack;"),
                ("src/domain/devices/mod.rs", ""),
            ]);
            assert!(found.len() == 1 && found[0].contains("in crate::domain: devices, ingest"), "{back}: {found:?}");
        }
    }

    #[test]
    fn a_circle_of_three_and_one_of_files_are_found() {
        let found = found(&[
            ("src/a/mod.rs", "use crate::b;"),
            ("src/b/mod.rs", "use crate::c;"),
            ("src/c/mod.rs", "use crate::a;"),
            ("src/c/one.rs", "use super::two;"),
            ("src/c/two.rs", "fn f() { super::one::g() }"),
            ("src/d/mod.rs", "use crate::a;"),
        ]);
        assert!(
            found.len() == 2 && found[0].contains("in crate: a, b, c\n") && found[1].contains("one, two"),
            "{found:?}"
        );
    }

    #[test]
    fn parents_tests_and_one_way_are_fine() {
        assert_eq!(
            found(&[
                ("src/a/mod.rs", "pub mod one; pub mod two; #[cfg(test)] mod tests; pub trait Both {} use one::One;"),
                ("src/a/one.rs", "use super::{Both, two::Two}; #[cfg(test)] #[path = \"one_tests.rs\"] mod tests;"),
                ("src/a/one_tests.rs", "use super::super::two; use crate::b;"),
                ("src/a/two.rs", "use super::Both; #[cfg(test)] mod tests { use crate::a::one; }"),
                ("src/a/tests.rs", "use crate::b::B;"),
                ("src/b/mod.rs", "use crate::a;"),
            ]),
            [""; 0]
        );
    }
}
