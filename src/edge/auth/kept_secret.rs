//! Secrets that the gateway makes for itself when none is configured, and keeps in the data directory.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::SECRET_BYTES_MIN;
use model::secret::Secret;

const OWNER_ONLY: u32 = 0o600;
/// The rights of the group and of others.
const OTHERS: u32 = 0o077;

/// One sort of secret: where it is kept, and which setting takes its place.
#[derive(Debug)]
pub struct KeptSecret {
    /// Its name in messages.
    pub name: &'static str,
    /// In the data directory.
    pub file: &'static str,
    pub setting: &'static str,
}

/// A kept secret that can be neither read nor made.
#[derive(Debug, thiserror::Error)]
pub enum KeptSecretError {
    #[error("cannot read or create the {name} {}: {source}; set {setting}, or fix store.data_dir", path.display())]
    Unusable { name: &'static str, setting: &'static str, path: PathBuf, source: io::Error },
    #[error(
        "the {name} {} is shorter than {SECRET_BYTES_MIN} bytes; remove the file, and a new one is made",
        path.display()
    )]
    Short { name: &'static str, path: PathBuf },
}

impl KeptSecret {
    pub fn path(&self, data_dir: &Path) -> PathBuf {
        data_dir.join(self.file)
    }

    /// The secret of this data directory, made on first use.
    pub fn load(&self, data_dir: &Path) -> Result<Secret, KeptSecretError> {
        let path = self.path(data_dir);
        match read_or_make(&path) {
            Ok(text) if text.len() < SECRET_BYTES_MIN => Err(KeptSecretError::Short { name: self.name, path }),
            Ok(text) => Ok(Secret::new(text)),
            Err(source) => Err(KeptSecretError::Unusable { name: self.name, setting: self.setting, path, source }),
        }
    }

    /// The secret of this data directory, if a gateway has made one there.
    pub fn find(&self, data_dir: &Path) -> io::Result<Secret> {
        fs::read_to_string(self.path(data_dir)).map(|text| Secret::new(text.trim_end().to_owned()))
    }
}

/// Several processes may start at once: the one with the lock makes the secret, the others read it. There is no
/// temporary file, so a process killed here leaves none behind.
fn read_or_make(path: &Path) -> io::Result<String> {
    let data_dir = path.parent().unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(data_dir)?;
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(OWNER_ONLY).open(path)?;
    // It may have been restored from a backup, with the rights of any file.
    if file.metadata()?.mode() & OTHERS != 0 {
        file.set_permissions(Permissions::from_mode(OWNER_ONLY))?;
    }
    file.lock()?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    if text.is_empty() {
        text = BASE64_URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>());
        writeln!(file, "{text}")?;
        file.sync_all()?;
    }
    Ok(text.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: KeptSecret = KeptSecret { name: "test secret", file: "secret", setting: "test.secret" };

    #[test]
    fn a_secret_is_made_once_and_readable_by_its_owner_only() {
        let dir = tempfile::tempdir().expect("a directory");
        let made = SECRET.load(dir.path()).expect("a secret");
        fs::set_permissions(SECRET.path(dir.path()), Permissions::from_mode(0o644)).expect("the owner");
        let read = SECRET.load(dir.path()).expect("the same");
        assert_eq!(made.expose(), read.expose());
        assert_eq!(fs::metadata(SECRET.path(dir.path())).expect("a file").mode() & 0o777, OWNER_ONLY);
    }
}
