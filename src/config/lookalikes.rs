//! Environment variables that look like settings and are none.

use std::ffi::OsString;

use super::layers::{Layers, nearest, renamed, variable};

/// With two underscores after it, it is the name of a setting.
const PREFIX: &str = "HEARTLINE_";

/// The warnings about variables such as `HEARTLINE_SERVER_LISTEN`. Only the names of known sections count: others have
/// their variables, too.
pub(super) fn warnings(layers: &Layers, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<String> {
    let mut warnings: Vec<String> = variables
        .into_iter()
        .filter_map(|(name, value)| warning(layers, name.to_str()?, &value.to_string_lossy()))
        .collect();
    warnings.sort();
    warnings
}

fn warning(layers: &Layers, name: &str, value: &str) -> Option<String> {
    let rest = name.strip_prefix(PREFIX).filter(|rest| !rest.starts_with('_'))?.to_lowercase();
    let (section, key) = layers.sections().find_map(|section| {
        let key = rest.strip_prefix(section)?.strip_prefix('_')?;
        Some((section, key.trim_start_matches('_')))
    })?;
    if is_service_link(key, value) {
        return None;
    }
    let given = format!("{section}.{key}");
    let meant = renamed(&given).map(str::to_owned).or_else(|| nearest(&given, layers.settings()));
    let hint = match meant {
        Some(near) => format!("did you mean {}?", variable(&near)),
        None => format!("settings are named {PREFIX}_SECTION__KEY"),
    };
    Some(format!("{name} is not a setting and is ignored; {hint}"))
}

/// Kubernetes sets these for a service that is called heartline-redis, say.
fn is_service_link(key: &str, value: &str) -> bool {
    let of_port = key.strip_prefix("port_").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    of_port || key.starts_with("service_") || value.starts_with("tcp://") || value.starts_with("udp://")
}
