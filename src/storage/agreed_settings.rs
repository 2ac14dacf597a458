//! Settings that processes of one deployment have agreed on, as texts by name, and where they differ.

use std::collections::BTreeMap;
use std::fmt;

/// Longer values are not shown.
const SHOWN_MAX: usize = 60;

/// A setting whose value here is not that of the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub setting: String,
    here: String,
    theirs: String,
    /// Such as "the history services".
    others: &'static str,
}

impl Difference {
    /// Settings that only one side knows are those of another version.
    pub fn all<'t>(
        own: &BTreeMap<String, String>,
        theirs: impl Fn(&str) -> Option<&'t String>,
        others: &'static str,
    ) -> Vec<Self> {
        let both = own.iter().filter_map(|(setting, here)| Some((setting, here, theirs(setting)?)));
        both.filter(|(_, here, theirs)| here != theirs)
            .map(|(setting, here, theirs)| Difference {
                setting: setting.clone(),
                here: here.clone(),
                theirs: theirs.clone(),
                others,
            })
            .collect()
    }

    /// In one line.
    pub fn joined(differences: &[Self]) -> String {
        differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { setting, here, theirs, others } = self;
        match here.len().max(theirs.len()) > SHOWN_MAX {
            true => write!(f, "{setting}: is not what {others} have"),
            false => write!(f, "{setting}: is {here}, and {others} have {theirs}"),
        }
    }
}
