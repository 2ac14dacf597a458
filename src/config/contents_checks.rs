//! How contents are named: other defaults of limits, and what cannot be used with names.

use super::Config;
use super::checks::Checks;
use super::layers::Layers;
use model::content_name::ContentIds;

const IDS: &str = "contents.ids";
/// Bytes of a frame and of a body that hold 500 beats, each with the longest name.
const NAMED_BYTES: i64 = 262_144;

/// Beats with names need longer frames.
pub(super) fn adapt_defaults(layers: &mut Layers) {
    if layers.value(IDS).and_then(|ids| ids.as_str()) == Some("any") {
        for setting in ["limits.frame_bytes", "limits.body_bytes"] {
            layers.change_default(setting, NAMED_BYTES);
        }
    }
}

impl Checks<'_> {
    pub(super) fn contents(&mut self, config: &Config) {
        let has_names = config.contents.ids == ContentIds::Any;
        self.require(!has_names || !config.history.is_kept(), IDS, || {
            "\"any\" cannot be used with a history store yet: a lost Redis would lose the names of contents; set history.store = \
             \"none\", or \"number\""
                .to_owned()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::config;

    #[test]
    fn frames_are_longer_where_contents_have_names() {
        let bytes = |text| {
            let limits = config(text, &[]).expect("good").limits;
            (limits.frame_bytes, limits.body_bytes)
        };
        assert_eq!(bytes(""), (131_072, 131_072));
        assert_eq!(bytes("[contents]\nids = \"any\""), (262_144, 262_144));
        assert_eq!(bytes("[contents]\nids = \"any\"\n[limits]\nframe_bytes = 300000"), (300_000, 262_144));
        let problems = config("[contents]\nids = \"any\"\n[limits]\nframe_bytes = 131072", &[]).expect_err("too short");
        assert!(problems[0].contains("cannot hold limits.beats (500) beats of 486 bytes"), "{problems:?}");
    }

    #[test]
    fn names_exclude_a_history_store() {
        let problems = config("[contents]\nids = \"any\"\n[history]\nstore = \"cassandra\"", &[]).expect_err("both");
        assert!(
            problems.iter().any(|problem| problem.contains("cannot be used with a history store yet")),
            "{problems:?}"
        );
        let problems = config("[contents]\nids = \"text\"", &[]).expect_err("neither");
        assert!(problems[0].contains("contents.ids"), "{problems:?}");
    }
}
