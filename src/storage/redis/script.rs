//! Scripts, each with the check of the deployment before it.

use ::redis::Script;

/// Looks at the deployment keys of all shards of the call first, and makes `tags` and `tag`.
const BEGINNING: &str = include_str!("deployment.lua");

/// A script with this body, without the lines that are comments.
pub fn script(body: &str) -> Script {
    let lines = BEGINNING.lines().chain(body.lines()).map(str::trim);
    let code = lines.filter(|line| !line.is_empty() && !line.starts_with("--"));
    Script::new(&code.collect::<Vec<_>>().join("\n"))
}
