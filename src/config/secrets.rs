//! Which settings are secrets, and secrets in files, as container platforms mount them:
//! `auth.hs256_secret_file = "/run/secrets/key"` sets `auth.hs256_secret`.

use std::fs::File;
use std::io::Read;

/// Keys that are one of these words, or end in `_` and one of them, hold secrets.
const SECRET_WORDS: [&str; 4] = ["secret", "key", "password", "token"];

/// Keys that end so and only name a file.
const NAMES_OF_FILES: [&str; 1] = ["tls_key"];

/// The end of a setting's name if its value is the path of a file with the secret.
const SUFFIX: &str = "_file";
/// Settings that hold a secret although their names do not say so.
const URLS: [&str; 2] = ["redis.url", "statistics.url"];
const BYTES_MAX: u64 = 64 * 1024;

/// Whether a text of this name is a secret. Takes a key with or without its section.
pub(super) fn is_secret(key: &str) -> bool {
    let key = key.rsplit('.').next().unwrap_or(key);
    SECRET_WORDS.contains(&key.rsplit('_').next().unwrap_or(key)) && !NAMES_OF_FILES.contains(&key)
}

/// The setting whose value is in the file that this one names. `None`: it names none.
pub(super) fn setting_of(given: &str) -> Option<&str> {
    given.strip_suffix(SUFFIX).filter(|setting| is_secret(setting) || URLS.contains(setting))
}

/// The secret in a file, without the end of its line; or why there is none.
pub(super) fn read(path: &str) -> Result<String, String> {
    let mut text = String::new();
    let file = File::open(path).and_then(|file| file.take(BYTES_MAX + 1).read_to_string(&mut text));
    file.map_err(|error| format!("{path} cannot be read: {error}"))?;
    if text.len() as u64 > BYTES_MAX {
        return Err(format!("{path} is longer than {BYTES_MAX} bytes"));
    }
    let secret = text.strip_suffix('\n').map_or(&*text, |line| line.strip_suffix('\r').unwrap_or(line));
    match secret.is_empty() {
        true => Err(format!("{path} is empty")),
        false => Ok(secret.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::layers::Layers;
    use super::*;

    const SECRET: &str = "a-key-for-tests-only-0123456789abcdef";

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), text).expect("it is written");
        file
    }

    fn path(file: &tempfile::NamedTempFile) -> &str {
        file.path().to_str().expect("ASCII")
    }

    /// The problems of these settings, and the resulting secret.
    fn laid(text: &str, variables: &[(&str, &str)]) -> (Vec<String>, String) {
        let mut layers = Layers::defaults();
        let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let problems = layers.add_text("x.toml", text).into_iter().chain(layers.add_environment(variables));
        let problems = problems.map(|problem| problem.to_string()).collect();
        (problems, layers.value("auth.hs256_secret").and_then(|value| value.as_str()).unwrap_or_default().to_owned())
    }

    #[test]
    fn a_secret_is_read_without_the_end_of_its_line() {
        for text in [SECRET.to_owned(), format!("{SECRET}\n"), format!("{SECRET}\r\n")] {
            let file = file(&text);
            let in_file = format!("[auth]\nhs256_secret_file = \"{}\"", path(&file));
            assert_eq!(laid(&in_file, &[]), (Vec::new(), SECRET.to_owned()));
            let variable = [("HEARTLINE__AUTH__HS256_SECRET_FILE", path(&file))];
            assert_eq!(laid("[auth]\nhs256_secret = \"another\"", &variable), (Vec::new(), SECRET.to_owned()));
        }
        assert_eq!(read(path(&file("two words \n\n"))), Ok("two words \n".to_owned()), "only one line ends");
    }

    #[test]
    fn a_file_that_cannot_be_used_is_named_and_its_content_is_not() {
        let variable = |file: &str| laid("", &[("HEARTLINE__AUTH__HS256_SECRET_FILE", file)]).0;
        let missing = variable("/nonexistent/key");
        assert_eq!(missing.len(), 1);
        assert!(missing[0].contains("HS256_SECRET_FILE") && missing[0].contains("/nonexistent/key"), "{missing:?}");
        assert!(variable(path(&file("\n")))[0].ends_with("is empty"));
        let long = SECRET.repeat(2_000);
        let said = variable(path(&file(&long)));
        assert!(said[0].ends_with("is longer than 65536 bytes") && !said[0].contains(SECRET), "{said:?}");
    }

    #[test]
    fn a_secret_is_not_given_twice_in_one_place() {
        let file = file(SECRET);
        for keys in [["hs256_secret_file", "hs256_secret"], ["hs256_secret", "hs256_secret_file"]] {
            let text = keys.map(|key| format!("{key} = \"{}\"", path(&file))).join("\n");
            let (problems, _) = laid(&format!("[auth]\n{text}"), &[]);
            assert_eq!(problems.len(), 1, "{problems:?}");
            assert!(problems[0].contains("hs256_secret_file") && problems[0].contains("set one"), "{problems:?}");
        }
        let both = [("HEARTLINE__AUTH__HS256_SECRET", "another"), ("HEARTLINE__AUTH__HS256_SECRET_FILE", path(&file))];
        let (problems, _) = laid("", &both);
        assert!(problems.len() == 1 && problems[0].contains("set one"), "{problems:?}");
    }

    #[test]
    fn every_secret_may_be_in_a_file_and_nothing_else() {
        let layers = Layers::defaults();
        let with_files: Vec<_> = layers
            .settings()
            .filter(|setting| layers.secret_of_file(&format!("{setting}{SUFFIX}")).is_some())
            .collect();
        assert_eq!(
            with_files,
            [
                "auth.hs256_secret",
                "cassandra.password",
                "control.token",
                "history_service.token",
                "kafka.sasl_password",
                "log.mid_key",
                "redis.url",
                "statistics.url",
            ]
        );
        let (problems, _) = laid("[server]\ntls_key_file = \"x\"", &[]);
        assert!(problems[0].contains("no such setting"), "{problems:?}");
    }
}
