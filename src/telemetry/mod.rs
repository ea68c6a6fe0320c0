//! The log file. It contains only this program's own events, and none of them has a prompt, an answer, or a key.
//! Not for: notices to the user, which come from the engine.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tracing::Subscriber;
use tracing_subscriber::EnvFilter;

/// The size in bytes above which a log is moved aside at the next start. It replaces the log that was moved aside
/// before.
const MAX_BYTES: u64 = 4 << 20;

/// Starts logging to `state_dir/log/pleach.log` at `level` (`off` to `trace`). The file (mode 0600) is created with the
/// first line. Events of other crates are dropped, because some of them contain sent text. A second call has no effect.
pub fn init(state_dir: &Path, level: &str) -> io::Result<()> {
    if level == "off" {
        return Ok(());
    }
    let subscriber = subscriber(Log::new(state_dir.join("log").join("pleach.log")), level)?;
    // If logging was started before, the first log stays in use.
    let _ = tracing::subscriber::set_global_default(subscriber);
    Ok(())
}

fn subscriber(log: Log, level: &str) -> io::Result<impl Subscriber + Send + Sync + use<>> {
    let filter = EnvFilter::try_new(format!("off,pleach={level}"))
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error.to_string()))?;
    Ok(tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(Mutex::new(log)).finish())
}

/// A log file that is opened with the first line. If it cannot be opened, lines are dropped: logging never interrupts
/// work.
struct Log {
    path: PathBuf,
    file: Option<File>,
}

impl Log {
    fn new(path: PathBuf) -> Self {
        Self { path, file: None }
    }

    fn open(path: &Path) -> io::Result<File> {
        if let Some(dir) = path.parent() {
            let mut builder = DirBuilder::new();
            builder.recursive(true);
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(dir)?;
        }
        if std::fs::metadata(path).is_ok_and(|about| about.len() > MAX_BYTES) {
            std::fs::rename(path, path.with_extension("log.1"))?;
        }
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(path)
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.file.is_none() {
            self.file = Self::open(&self.path).ok();
        }
        if let Some(file) = &mut self.file {
            let _ = file.write_all(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_lines_and_only_from_the_level_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log/pleach.log");
        tracing::subscriber::with_default(subscriber(Log::new(path.clone()), "warn").unwrap(), || {
            tracing::info!("quiet");
            tracing::error!(target: "async_openai", "a prompt");
            assert!(!path.exists());
            tracing::warn!("loud");
        });
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("loud") && !text.contains("quiet") && !text.contains("a prompt"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn a_large_log_is_moved_aside() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pleach.log");
        std::fs::write(&path, vec![b'x'; usize::try_from(MAX_BYTES).unwrap() + 1]).unwrap();
        Log::new(path.clone()).write_all(b"new\n").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new\n");
        assert!(dir.path().join("pleach.log.1").exists());
    }

    #[test]
    fn an_unwritable_log_stops_nothing() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), "").unwrap();
        assert!(Log::new(dir.path().join("file/under/it.log")).write_all(b"x").is_ok());
        assert!(init(dir.path(), "no such level=").is_err());
    }
}
