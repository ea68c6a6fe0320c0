//! The input of commands: messages from arguments and standard input, and files of any kind, within size limits.
//! Not for: lines typed at a terminal (`output`).

use super::Run;
use super::output::Io;
use super::stop::Stop;
use crate::domain::base::{Failure, FailureKind};
use crate::domain::conversation::{Overrides, attachment};
use crate::domain::planning::variant;
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal as _, Read, Seek as _, Write as _};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// The maximum size of a message in bytes. Processing takes about twenty times as much memory: 198 MB for this size.
pub(super) const MAX_MESSAGE: u64 = 10 << 20;

/// The maximum size of a request body, or of a batch of queries, in bytes.
const MAX_BODY: u64 = 32 << 20;

/// The maximum number of bytes read from an endless source: a pipe or a device.
const MAX_STREAM: u64 = 2 << 30;

/// The number of bytes at the beginning of an import that decide whether the rest is read.
const DETECTION_BYTES: u64 = 64 << 10;

/// The time without input after which a notice says that pleach waits for standard input.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(2);

impl Io<'_> {
    /// Builds a message from the words of the command line and standard input. `-` means standard input alone; otherwise
    /// piped input follows the words. Nothing is read from a terminal. Returns None if there are neither words nor input
    /// other than white space.
    pub(super) fn message(&mut self, words: &[String]) -> Result<Option<String>, Stop> {
        if let [only] = words
            && only == "-"
        {
            return self.read_all().map(Some);
        }
        let typed = (!words.is_empty()).then(|| words.join(" "));
        if self.in_tty || !self.joins {
            return Ok(typed);
        }
        let piped = self.read_all()?;
        Ok(match typed {
            Some(typed) if piped.trim().is_empty() => Some(typed),
            Some(typed) => Some(format!("{typed}\n\n{}", quoted(&piped))),
            None => Some(piped).filter(|piped| !piped.trim().is_empty()),
        })
    }

    /// Makes a message as [`Io::message`] does, and fails if there is none.
    pub(super) fn full_message(&mut self, words: &[String]) -> Result<String, Stop> {
        let Some(text) = self.message(words)? else {
            return Err(self.no_message());
        };
        if text.trim().is_empty() {
            return Err(self.no_message());
        }
        Ok(text)
    }

    /// Inside the program, a command has no standard input.
    fn no_message(&self) -> Stop {
        let place = if self.joins { "as arguments or on standard input" } else { "after the command" };
        Stop::Usage(format!("The message is empty; nothing was sent. Give its text {place}."))
    }

    /// Reads all of standard input and drops one trailing line break.
    pub fn read_all(&mut self) -> Result<String, Stop> {
        let mut text = self.read_exactly(MAX_MESSAGE)?;
        if text.ends_with('\n') {
            text.pop();
            if text.ends_with('\r') {
                text.pop();
            }
        }
        Ok(text)
    }

    /// Reads all of standard input unchanged, at most `most` bytes.
    fn read_exactly(&mut self, most: u64) -> Result<String, Stop> {
        let _waiting = (!self.in_tty).then(warn_when_silent);
        bounded(&mut self.input, most, "Standard input")
    }
}

/// Prints a notice on standard error once if no input arrives for a while. Dropping the result stops the timer.
fn warn_when_silent() -> impl Sized {
    let (over, wait) = channel::<()>();
    let warn = || {
        let what = "pleach: reading the message from standard input until its end (use < /dev/null for no input)";
        let _ = writeln!(io::stderr(), "{what}");
    };
    let timer = std::thread::Builder::new().name("silence".into()).spawn(move || {
        if wait.recv_timeout(SILENCE_TIMEOUT) == Err(RecvTimeoutError::Timeout) {
            warn();
        }
    });
    if timer.is_err() {
        // Without a timer, at once: too early is better than never.
        warn();
    }
    over
}

/// Parses the settings of variants (`--arm`).
pub(super) fn variants(words: &[String]) -> Result<Vec<Overrides>, Stop> {
    words.iter().map(|text| variant::read(text).map_err(|error| Stop::Usage(format!("{error}.")))).collect()
}

/// Formats piped input for a message: several lines are put into a code fence.
fn quoted(text: &str) -> String {
    if !text.contains('\n') {
        return text.to_owned();
    }
    let fence = attachment::fence(text);
    format!("{fence}\n{text}\n{fence}")
}

/// Reads a file's text; `-` is standard input.
pub(super) fn text_of(run: &mut Run<'_, '_>, file: &Path) -> Result<String, Stop> {
    if file == Path::new("-") {
        return run.io.read_exactly(MAX_BODY);
    }
    let name = quoted_name(file);
    let mut opened = File::open(file).map_err(|error| unreadable(&name, &error))?;
    bounded(&mut opened, MAX_BODY, &name)
}

fn bounded(from: &mut dyn Read, most: u64, name: &str) -> Result<String, Stop> {
    let mut bytes = Vec::new();
    from.take(most + 1).read_to_end(&mut bytes).map_err(|error| unreadable(name, &error))?;
    if bytes.len() as u64 > most {
        let what = format!("{name} is larger than {} MiB.", most >> 20);
        return Err(Failure::user(what).kept("The input was not used.").todo("Shorten the input, or split it.").into());
    }
    Ok(String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::user(format!("{name} is not UTF-8 text (at byte {at})."))
            .kept("The input was not used.")
            .todo("Convert it to UTF-8.")
    })?)
}

/// A file's name in quotation marks, so that it keeps its spelling at the start of a sentence.
pub(super) fn quoted_name(file: &Path) -> String {
    format!("{:?}", file.display().to_string())
}

fn unreadable(name: &str, error: &io::Error) -> Failure {
    Failure::user(format!("{name} can't be read: {error}."))
}

/// Opens a file to import. Input that is not a regular file is copied to a private temporary file first, up to a limit.
pub(super) fn to_import(run: &mut Run<'_, '_>, file: &Path) -> Result<File, Stop> {
    let name = quoted_name(file);
    let (check, store) = (run.formats.check, &run.config.paths.store);
    let (spooled, notice) = if file == Path::new("-") {
        let _waiting = (!run.io.in_tty).then(warn_when_silent);
        spool(&mut run.io.input, "Standard input", check, store)?
    } else {
        let about = std::fs::metadata(file).map_err(|error| unreadable(&name, &error))?;
        if about.is_dir() {
            return Err(Failure::user(format!("{name} is a folder.")).todo("Name a file in the folder.").into());
        }
        let mut opened = File::open(file).map_err(|error| unreadable(&name, &error))?;
        if about.is_file() {
            return Ok(opened);
        }
        if is_device(&about) && !opened.is_terminal() {
            let failure = Failure::user(format!("{name} is a device, which can be endless or empty."));
            return Err(failure.kept("Nothing was imported.").todo("Name a file, or `-` for standard input.").into());
        }
        spool(&mut opened, &name, check, store)?
    };
    if let Some(notice) = notice {
        run.io.note(&notice);
    }
    Ok(spooled)
}

/// Whether it is a device, such as `/dev/zero`. A pipe is not a device.
#[cfg(unix)]
fn is_device(about: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    about.file_type().is_char_device() || about.file_type().is_block_device()
}

#[cfg(not(unix))]
fn is_device(_: &std::fs::Metadata) -> bool {
    false
}

/// Copies a stream to a temporary file. Returns the file, and a notice if the stream is longer than the limit.
fn spool(
    from: &mut dyn Read,
    name: &str,
    check: fn(&[u8], &str) -> Result<(), Failure>,
    store: &Path,
) -> Result<(File, Option<String>), Stop> {
    let mut prefix = Vec::new();
    (&mut *from).take(DETECTION_BYTES).read_to_end(&mut prefix).map_err(|error| unreadable(name, &error))?;
    check(&prefix, name)?;
    let unwritable = |error: io::Error| {
        Failure::new(FailureKind::Store, format!("{name} can't be buffered on disk: {error}."))
            .kept("Nothing was imported.")
            .todo("Free disk space, or import a regular file.")
    };
    let mut kept = unlinked_file(store).map_err(unwritable)?;
    kept.write_all(&prefix).map_err(unwritable)?;
    io::copy(&mut (&mut *from).take(MAX_STREAM), &mut kept).map_err(unwritable)?;
    kept.rewind().map_err(unwritable)?;
    let notice = || format!("{name} is larger than {} GiB; the part up to the limit is imported", MAX_STREAM >> 30);
    Ok((kept, from.read(&mut [0]).is_ok_and(|more| more > 0).then(notice)))
}

/// Makes an unlinked file next to the store that only its owner can read.
fn unlinked_file(store: &Path) -> io::Result<File> {
    let folder = store.parent().filter(|folder| folder.is_dir());
    let folder = folder.map_or_else(std::env::temp_dir, Path::to_path_buf);
    let file = folder.join(format!(".pleach-import-{}", uuid::Uuid::now_v7()));
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let opened = options.open(&file)?;
    std::fs::remove_file(&file)?;
    Ok(opened)
}
