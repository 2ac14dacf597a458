//! Which modules the files are, and what the paths in them lead to.

use std::collections::{BTreeMap, BTreeSet};

use super::code::{Code, Used};

pub type Path = Vec<String>;

/// The crates below `src`, each with its folder. All files are read as if they were modules of one crate.
const CRATES: &[(&str, &[&str])] = &[
    ("model", &["model"]),
    ("storage", &["storage"]),
    ("storage_embedded", &["storage", "embedded"]),
    ("storage_redis", &["storage", "redis"]),
    ("storage_kafka", &["storage", "kafka"]),
    ("storage_cassandra", &["storage", "cassandra"]),
    ("storage_mongodb", &["storage", "mongodb"]),
    ("storage_remote", &["storage", "remote"]),
    ("storage_http", &["storage", "http"]),
    ("domain", &["domain"]),
    ("edge", &["edge"]),
    ("conformance", &["conformance"]),
];

/// All files of the crate, read together.
pub struct Tree {
    pub files: Vec<File>,
    /// What a `use` calls by another name, or by a shorter one: `super::Name` may come from a neighbor.
    imported: BTreeMap<Path, Path>,
    modules: BTreeSet<Path>,
}

pub struct File {
    pub path: String,
    pub module: Path,
    pub in_tests: bool,
    pub code: Code,
}

impl Tree {
    pub fn new(files: Vec<(String, Code)>) -> Self {
        let mut files: Vec<File> = files.into_iter().map(|(path, code)| File::new(path, code)).collect();
        let (mut moved, mut tests) = (BTreeMap::new(), Vec::new());
        for file in &files {
            for declared in &file.code.modules {
                let module = joined(&file.module, &declared.name);
                if declared.in_tests {
                    tests.push(module.clone());
                }
                if let Some(name) = &declared.path {
                    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
                    moved.insert(format!("{folder}/{name}"), module);
                }
            }
        }
        for file in &mut files {
            if let Some(module) = moved.remove(&file.path) {
                file.module = module;
            }
            file.in_tests = tests.iter().any(|tests| file.module.starts_with(tests));
        }
        let modules = files.iter().map(|file| file.module.clone()).collect();
        let mut tree = Tree { files, imported: BTreeMap::new(), modules };
        tree.imported = tree.imports();
        tree
    }

    pub fn is_module(&self, path: &[String]) -> bool {
        self.modules.contains(path)
    }

    /// What `used` leads to, from the root of its crate; as it is written if that is no path of this crate.
    pub fn target(&self, file: &File, used: &Used) -> Path {
        let mut path = self.begun(file, used);
        // A name that is imported where it is imported from: a chain of those ends.
        for _ in 0..8 {
            let cut = (1..=path.len()).find_map(|end| Some((end, self.imported.get(&path[..end])?)));
            let Some((end, target)) = cut else { break };
            path = [&target[..], &path[end..]].concat();
        }
        path
    }

    /// The same, as far as it follows from the path and the modules alone.
    fn begun(&self, file: &File, used: &Used) -> Path {
        let path = from_root(&file.module, used);
        let here = [&file.module[..], &used.within].concat();
        let local = [&here[..], &path].concat();
        let first = &local[..=here.len()];
        let is_local = self.is_module(first) || (used.imported_as.is_none() && self.imported.contains_key(first));
        if is_local && !is_of_crate(&path) { local } else { path }
    }

    fn imports(&self) -> BTreeMap<Path, Path> {
        let mut imported = BTreeMap::new();
        for file in self.files.iter().filter(|file| !file.in_tests) {
            for used in file.code.used.iter().filter(|used| !used.in_tests) {
                let Some(name) = &used.imported_as else { continue };
                let path = self.begun(file, used);
                let known_as = joined(&[&file.module[..], &used.within].concat(), name);
                if is_of_crate(&path) && path != known_as {
                    imported.insert(known_as, path);
                }
            }
        }
        imported
    }
}

impl File {
    fn new(path: String, code: Code) -> Self {
        let module = module_of(&path);
        File { path, module, in_tests: false, code }
    }
}

/// The module that a file is, by its name.
pub fn module_of(path: &str) -> Path {
    let file = path.strip_prefix("src/").unwrap_or(path).trim_end_matches(".rs");
    let parts = file.split('/').filter(|part| !matches!(*part, "" | "mod" | "lib" | "main"));
    std::iter::once("crate").chain(parts).map(str::to_owned).collect()
}

/// The path from the root of all crates, however it was written: `heartline::`, `super::` and the names of crates lead there,
/// too.
pub fn from_root(module: &[String], used: &Used) -> Path {
    let here = [module, &used.within].concat();
    let rest = |skipped: usize| used.segments[skipped..].to_vec();
    let supers = used.segments.iter().take_while(|segment| *segment == "super").count();
    match used.segments[0].as_str() {
        "heartline" => [vec!["crate".to_owned()], rest(1)].concat(),
        "crate" => [root_of_crate(module), rest(1)].concat(),
        "self" => [here, rest(1)].concat(),
        "super" => [here[..here.len().saturating_sub(supers).max(1)].to_vec(), rest(supers)].concat(),
        name => match CRATES.iter().find(|(known, _)| *known == name) {
            Some((_, folder)) => [rooted(folder), rest(1)].concat(),
            None => rest(0),
        },
    }
}

/// Where `crate` leads in a file of this module.
pub fn root_of_crate(module: &[String]) -> Path {
    let roots = CRATES.iter().map(|(_, folder)| rooted(folder)).filter(|root| module.starts_with(root));
    roots.max_by_key(Vec::len).unwrap_or_else(|| rooted(&[]))
}

fn rooted(folder: &[&str]) -> Path {
    std::iter::once("crate").chain(folder.iter().copied()).map(str::to_owned).collect()
}

pub fn is_of_crate(path: &[String]) -> bool {
    path[0] == "crate"
}

fn joined(path: &[String], name: &str) -> Path {
    path.iter().cloned().chain([name.to_owned()]).collect()
}
