//! What commands read: messages from words and standard input, and files of any kind and size, within bounds.
//! Not for: what a person types at a terminal (`output`).

use super::Run;
use super::output::Io;
use super::stop::Stop;
use crate::domain::base::failure::{Failure, FailureKind};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek as _, Write as _};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Most bytes of one message; what is made of it takes about twenty times as much memory: 198 MB for this many.
pub(super) const MESSAGE: u64 = 10 << 20;

/// Most bytes of a request's body, or of a batch of questions.
pub(super) const BODY: u64 = 32 << 20;

/// Most bytes that are read of what may have no end: a pipe, a device.
const ENDLESS: u64 = 2 << 30;

/// The first bytes of an import, by which it is decided whether the rest is read.
const PREFIX: u64 = 64 << 10;

/// How long standard input may be silent before it is said that it is waited for.
const SILENCE: Duration = Duration::from_secs(2);

impl Io<'_> {
    /// A message from the command line's words and standard input. `-` is standard input alone; where words are given and
    /// something is piped in, the one follows the other. Nothing is read from a terminal. No words and no input are none.
    pub(super) fn message(&mut self, words: &[String]) -> Result<Option<String>, Stop> {
        if let [only] = words
            && only == "-"
        {
            return self.read_all().map(Some);
        }
        let said = (!words.is_empty()).then(|| words.join(" "));
        if self.in_tty || !self.joins {
            return Ok(said);
        }
        let given = self.read_all()?;
        Ok(match said {
            Some(said) if given.trim().is_empty() => Some(said),
            Some(said) => Some(format!("{said}\n\n{}", quoted(&given))),
            None => Some(given),
        })
    }

    /// All of standard input; one line end at its end is not part of the text.
    pub fn read_all(&mut self) -> Result<String, Stop> {
        let mut text = self.read_exactly(MESSAGE)?;
        if text.ends_with('\n') {
            text.pop();
            if text.ends_with('\r') {
                text.pop();
            }
        }
        Ok(text)
    }

    /// All of standard input, byte for byte.
    pub(super) fn read_exactly(&mut self, most: u64) -> Result<String, Stop> {
        let _waiting = (!self.in_tty).then(say_when_silent);
        bounded(&mut self.input, most, "Standard input")
    }
}

/// Says so on standard error, once, when nothing comes for a while. Dropping what comes back ends it.
fn say_when_silent() -> impl Sized {
    let (over, wait) = channel::<()>();
    let _ = std::thread::Builder::new().name("silence".into()).spawn(move || {
        if wait.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout) {
            let what =
                "pleach: waiting for standard input to end; it belongs to the message (< /dev/null leaves it out)";
            let _ = writeln!(io::stderr(), "{what}");
        }
    });
    over
}

/// What was piped in, as it stands after words: in a fence where it has several lines.
fn quoted(text: &str) -> String {
    if !text.contains('\n') {
        return text.to_owned();
    }
    let (mut longest, mut run) = (0, 0);
    for byte in text.bytes() {
        run = if byte == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}\n{text}\n{fence}")
}

/// A file's text, or `-`.
pub(super) fn text_of(run: &mut Run<'_, '_>, file: &Path) -> Result<String, Stop> {
    if file == Path::new("-") {
        return run.io.read_exactly(BODY);
    }
    let name = file.display().to_string();
    let mut opened = File::open(file).map_err(|error| unreadable(&name, &error))?;
    bounded(&mut opened, BODY, &name)
}

fn bounded(from: &mut dyn Read, most: u64, name: &str) -> Result<String, Stop> {
    let mut bytes = Vec::new();
    from.take(most + 1).read_to_end(&mut bytes).map_err(|error| unreadable(name, &error))?;
    if bytes.len() as u64 > most {
        let what = format!("{name} is larger than {} MiB, or has no end.", most >> 20);
        return Err(Failure::user(what).kept("Nothing of it was used.").into());
    }
    Ok(String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::user(format!("{name} is not UTF-8 text (at byte {at})."))
    })?)
}

fn unreadable(name: &str, error: &io::Error) -> Failure {
    Failure::user(format!("{name} cannot be read: {error}."))
}

/// A file to be imported. What is no plain file is first written to one that nobody else sees, up to a limit.
pub(super) fn to_import(run: &mut Run<'_, '_>, file: &Path) -> Result<File, Stop> {
    let name = file.display().to_string();
    if name == "-" {
        let _waiting = (!run.io.in_tty).then(say_when_silent);
        return spool(&mut run.io.input, "Standard input", run.formats.check, &run.config.paths.store, &mut |what| {
            let _ = writeln!(run.io.err, "pleach: {what}");
        });
    }
    let about = std::fs::metadata(file).map_err(|error| unreadable(&name, &error))?;
    if about.is_dir() {
        return Err(Failure::user(format!("{name} is a folder.")).todo("Name a file in it.").into());
    }
    let mut opened = File::open(file).map_err(|error| unreadable(&name, &error))?;
    if about.is_file() {
        return Ok(opened);
    }
    let mut notes = Vec::new();
    let found =
        spool(&mut opened, &name, run.formats.check, &run.config.paths.store, &mut |what| notes.push(what.to_owned()));
    for note in &notes {
        run.io.note(note);
    }
    found
}

fn spool(
    from: &mut dyn Read,
    name: &str,
    check: fn(&[u8], &str) -> Result<(), Failure>,
    store: &Path,
    note: &mut dyn FnMut(&str),
) -> Result<File, Stop> {
    let mut prefix = Vec::new();
    (&mut *from).take(PREFIX).read_to_end(&mut prefix).map_err(|error| unreadable(name, &error))?;
    check(&prefix, name)?;
    let unwritable = |error: io::Error| {
        Failure::new(FailureKind::Store, format!("{name} cannot be kept while it is read: {error}."))
            .kept("Nothing of it was imported.")
            .todo("Make room on the disk, or import a plain file.")
    };
    let mut kept = nameless(store).map_err(unwritable)?;
    kept.write_all(&prefix).map_err(unwritable)?;
    io::copy(&mut (&mut *from).take(ENDLESS), &mut kept).map_err(unwritable)?;
    if from.read(&mut [0]).is_ok_and(|more| more > 0) {
        note(&format!("{name} did not end within {} GiB; what came until then is imported", ENDLESS >> 30));
    }
    kept.rewind().map_err(unwritable)?;
    Ok(kept)
}

/// A new file beside the store that has no name any more, for its owner only.
fn nameless(store: &Path) -> io::Result<File> {
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
