//! Standard output, errors and input: the only place of the command line that writes. What reaches a terminal is
//! sanitised; what goes into a file or a pipe as data goes as it is.
//! Not for: what is written (the commands).

use super::stop::Stop;
use crate::domain::base::failure::Failure;
use crate::domain::base::safe_text::Safe;
use serde::Serialize;
use std::borrow::Cow;
use std::io::{self, BufRead, ErrorKind, Read, Write};

/// Most bytes of a typed line.
const MOST_LINE: u64 = 64 << 10;

/// Where a command reads and writes.
#[allow(clippy::struct_excessive_bools, reason = "each says something of its own about a stream")]
pub struct Io<'a> {
    /// Standard output.
    pub out: &'a mut dyn Write,
    /// Standard error.
    pub err: &'a mut dyn Write,
    /// Standard input.
    pub input: &'a mut dyn BufRead,
    /// Standard output is a terminal.
    pub out_tty: bool,
    /// The stream for notes is a terminal.
    pub err_tty: bool,
    /// Standard input is a terminal.
    pub in_tty: bool,
    /// Standard input may be part of a message; not where it holds commands.
    pub joins: bool,
    /// JSON is wanted.
    pub json: bool,
    /// What nobody sees is escaped, wherever it goes.
    pub escape: bool,
    /// How often the person pressed Ctrl+C.
    pub interrupts: &'a dyn Fn() -> usize,
}

/// Standard output that remembers why it could not be written. A reader that went away (`| head`) is no fault.
pub struct Outlet<W: Write> {
    to: W,
    failed: Option<io::Error>,
}

impl<W: Write> Outlet<W> {
    /// Writes there.
    pub fn new(to: W) -> Self {
        Self { to, failed: None }
    }

    /// Writes what still waits; gives the first error.
    pub fn close(mut self) -> Option<io::Error> {
        let _ = self.flush();
        self.failed
    }

    fn noted<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| {
            let kind = error.kind();
            if self.failed.is_none() && kind != ErrorKind::Interrupted {
                self.failed = unless_closed(error).err();
            }
            kind.into()
        })
    }
}

/// A reader that went away is no failure.
pub fn unless_closed(error: io::Error) -> io::Result<()> {
    if error.kind() == ErrorKind::BrokenPipe { Ok(()) } else { Err(error) }
}

impl<W: Write> Write for Outlet<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.to.write(bytes);
        self.noted(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.to.flush();
        self.noted(result)
    }
}

impl Io<'_> {
    /// The same streams, for a command within a longer run.
    pub fn again(&mut self) -> Io<'_> {
        Io { out: &mut *self.out, err: &mut *self.err, input: &mut *self.input, ..*self }
    }

    /// A line for people.
    pub fn say(&mut self, text: &str) {
        // What cannot be written is told once, at the end (see `Outlet`).
        let _ = writeln!(self.out, "{}", Safe::text(text));
    }

    /// Words before what a person types, in the same line.
    pub fn prompt(&mut self, text: &str) {
        let _ = write!(self.out, "{}", Safe::line(text)).and_then(|()| self.out.flush());
    }

    /// A sentence on standard error.
    pub fn note(&mut self, text: &str) {
        let _ = writeln!(self.err, "pleach: {}", Safe::text(text));
    }

    /// How far slow work is, where a person watches.
    pub fn progress(&mut self, text: &str) {
        if self.err_tty {
            self.note(text);
        }
    }

    /// Data: exactly these bytes, or to a terminal what can be shown of them.
    pub fn data(&mut self, text: &str) {
        let _ = if self.out_tty {
            write!(self.out, "{}", Safe::text(text))
        } else if self.escape {
            self.out.write_all(unhidden(text).as_bytes())
        } else {
            self.out.write_all(text.as_bytes())
        };
        let _ = self.out.flush();
    }

    /// Words of a conversation. Behind a pipe there may be a terminal (`| cat`), so no control gets through there
    /// either; tabs and line ends stay as they are. `--json` gives the very characters.
    pub fn words(&mut self, text: &str) {
        let _ = if self.out_tty {
            write!(self.out, "{}", Safe::text(text))
        } else if self.escape {
            self.out.write_all(Safe::marked(text).as_bytes())
        } else {
            self.out.write_all(plain(text).as_bytes())
        };
        let _ = self.out.flush();
    }

    /// Ends data with a line end, where it has none.
    pub fn end_line(&mut self, text: &str) {
        if !text.ends_with('\n') {
            self.data("\n");
        }
    }

    /// One JSON value in one line.
    pub fn value<T: Serialize>(&mut self, value: &T) -> Result<(), Stop> {
        let text = serde_json::to_string(value)
            .map_err(|error| Failure::new(crate::domain::base::failure::FailureKind::Internal, error.to_string()))?;
        let _ = writeln!(self.out, "{}", escaped(&text));
        Ok(())
    }

    /// Prints JSON or words, as was asked.
    pub fn either<T: Serialize>(&mut self, value: &T, words: &str) -> Result<(), Stop> {
        if self.json {
            return self.value(value);
        }
        if !words.is_empty() {
            self.say(words);
        }
        Ok(())
    }

    /// A text from the command line's words: `-` reads standard input, no words are no text.
    pub fn text(&mut self, words: &[String]) -> Result<Option<String>, Stop> {
        match words {
            [] => Ok(None),
            [only] if only == "-" => self.read_all().map(Some),
            words => Ok(Some(words.join(" "))),
        }
    }

    /// A line that a person types.
    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        (&mut self.input).take(MOST_LINE).read_line(&mut line).ok().filter(|read| *read > 0).map(|_| line)
    }

    /// Forgets what was typed at a terminal before it was asked for: it was meant for something else.
    pub fn forget_typed(&mut self) {
        #[cfg(unix)]
        if self.in_tty {
            let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
        }
    }

    /// A line that a person types at a terminal; none once Ctrl+C was pressed more often than so.
    pub fn line_unless(&mut self, pressed: usize) -> Option<String> {
        #[cfg(unix)]
        if self.in_tty && !self.typed_unless(pressed) {
            return None;
        }
        let _ = pressed;
        self.line()
    }

    /// Waits until something was typed; false once Ctrl+C was pressed more often than so.
    #[cfg(unix)]
    fn typed_unless(&self, pressed: usize) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let input = std::io::stdin();
        let tick = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
        loop {
            let mut waits = [PollFd::new(&input, PollFlags::IN)];
            // A signal ends the wait early; then it is looked whether it was that.
            let there = matches!(poll(&mut waits, Some(&tick)), Ok(count) if count > 0);
            if (self.interrupts)() > pressed {
                return false;
            }
            if there {
                return true;
            }
        }
    }

    /// Asks for a yes. Without a terminal to ask on, `--yes` must have been said.
    pub fn confirm(&mut self, question: &str, yes: bool) -> Result<bool, Stop> {
        if yes {
            return Ok(true);
        }
        if !self.in_tty {
            return Err(Stop::Usage("This cannot be undone; say --yes where nobody can be asked.".into()));
        }
        let _ = write!(self.err, "{} [y/N] ", Safe::line(question));
        let _ = self.err.flush();
        let mut line = String::new();
        let _ = self.input.read_line(&mut line);
        Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
    }
}

/// Data in which what nobody sees is escaped: JSON by its own escapes, so that it stays the same, anything else by marks.
fn unhidden(text: &str) -> String {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
    if text.starts_with(['{', '[']) && values.all(|value| value.is_ok()) {
        // A line end can only stand between values there.
        return text
            .split_inclusive('\n')
            .map(|line| match line.strip_suffix('\n') {
                Some(line) => escaped(line) + "\n",
                None => escaped(line),
            })
            .collect();
    }
    Safe::marked(text)
}

/// A text without controls, but for tabs and line ends.
fn plain(text: &str) -> Cow<'_, str> {
    let acts = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.replace("\r\n", "\n").chars() {
        if acts(c) {
            out.push_str(Safe::line(c.encode_utf8(&mut [0; 4])).as_str());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// JSON lines whose controls are written as escapes: the same values.
#[must_use]
pub fn escaped_lines(lines: &str) -> String {
    let mut out = String::with_capacity(lines.len());
    for line in lines.split_inclusive('\n') {
        match line.strip_suffix('\n') {
            Some(line) if line.contains(char::is_control) => {
                out.push_str(&escaped(line));
                out.push('\n');
            }
            _ => out.push_str(line),
        }
    }
    out
}

/// Without the numbers of the system's errors, which say nothing to a person.
fn without_numbers(text: &str) -> String {
    let mut parts = text.split(" (os error ");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(part.split_once(')').map_or(part, |(_, rest)| rest));
    }
    out
}

/// What the engine says of keys, in commands.
#[must_use]
pub fn in_commands(text: &str) -> String {
    let keys = [
        ("u undoes it", "`pleach undo` takes it back"),
        ("R asks anew, c goes on", "`pleach regenerate` asks anew"),
        ("/memories shows them", "`pleach memory list` shows them"),
        ("your draft is kept", "nothing was added to the conversation"),
        ("/mcp shows what it wrote, and starts it again", "`pleach mcp test` shows what it wrote"),
        ("r in /mcp tries again", "`pleach mcp test` tries again"),
        ("/trust-folder changes that", "`pleach trust` changes that"),
        ("/folder-settings shows it and asks", "`pleach trust --config` shows it and asks"),
        ("/mcp shows and asks", "`pleach mcp use` shows them and asks"),
    ];
    keys.iter().fold(text.to_owned(), |text, (key, command)| text.replace(key, command))
}

/// Sentences as they are read: with a capital and an end.
#[must_use]
pub fn sentence(text: &str) -> String {
    let text = without_numbers(text.trim());
    let mut chars = text.chars();
    let Some(first) = chars.next() else { return String::new() };
    // A path, a flag or a name keeps its own spelling.
    let word = text.split_whitespace().next().unwrap_or_default();
    let begins = if word != "pleach" && word.chars().all(char::is_lowercase) {
        first.to_uppercase().collect()
    } else {
        first.to_string()
    };
    let end = if text.ends_with(['.', '!', '?', ':', '…']) { "" } else { "." };
    format!("{begins}{}{end}", chars.as_str())
}

/// JSON whose hidden characters are written as escapes: the same value, and nothing that a terminal would act on. Such
/// characters can only stand inside strings, so the escape is always right.
#[must_use]
pub fn escaped(json: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_control() || Safe::hidden(c.encode_utf8(&mut [0; 4])) > 0 {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// A number with commas.
#[must_use]
pub fn number(n: impl Into<u64>) -> String {
    crate::domain::call::tokens::grouped(n.into())
}

/// Millionths of a dollar as money.
#[must_use]
pub fn money(micro: u64) -> String {
    if (1..100).contains(&micro) {
        return format!("$0.{micro:06}");
    }
    format!("${}.{:04}", micro / 1_000_000, micro % 1_000_000 / 100)
}

/// A time in the person's own zone.
#[must_use]
pub fn time(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).map_or_else(
        |_| "?".into(),
        |at| at.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string(),
    )
}

/// The first `width` characters, padded or ended by an ellipsis.
#[must_use]
pub fn column(text: &str, width: usize) -> String {
    let line = Safe::line(text);
    let count = line.as_str().chars().count();
    if count <= width {
        return format!("{}{}", line, " ".repeat(width - count));
    }
    line.as_str().chars().take(width - 1).chain(['…']).collect()
}
