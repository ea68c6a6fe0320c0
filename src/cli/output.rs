//! The streams of the command line: the only place where it writes. Terminal output is sanitized; data for a file or a
//! pipe is written unchanged.
//! Not for: the content (the commands).

use super::stop::Stop;
use crate::config::commands::read::slashed;
use crate::domain::base::plain_text::capitalized;
use crate::domain::base::{Failure, FailureKind, Safe};
use serde::Serialize;
use std::borrow::Cow;
use std::io::{self, BufRead, ErrorKind, Read, Write};

/// The maximum length of a typed line in bytes.
const MAX_LINE: u64 = 64 << 10;

/// The streams of a command.
pub struct Io<'a> {
    /// Standard output.
    pub out: &'a mut dyn Write,
    /// Standard error.
    pub err: &'a mut dyn Write,
    /// Standard input.
    pub input: &'a mut dyn BufRead,
    /// Standard output is a terminal.
    pub out_tty: bool,
    /// Standard error is a terminal.
    pub err_tty: bool,
    /// Standard input is a terminal.
    pub in_tty: bool,
    /// Whether standard input can be part of a message; false if it contains commands, so in `--plain` and in the
    /// workbench. Only there, texts are for a person alone; on the command line, scripts read them too.
    pub joins: bool,
    /// Print JSON.
    pub json: bool,
    /// Escape invisible characters even in files and pipes.
    pub escape: bool,
    /// The number of times that Ctrl+C was pressed.
    pub interrupts: &'a dyn Fn() -> usize,
}

/// Standard output that stores its first write error. A closed pipe (`| head`) is not an error.
pub struct Outlet<W: Write> {
    to: W,
    failed: Option<io::Error>,
}

impl<W: Write> Outlet<W> {
    /// Makes an outlet that writes to `to`.
    pub fn new(to: W) -> Self {
        Self { to, failed: None }
    }

    /// Flushes, and returns the first error, if any.
    pub fn close(mut self) -> Option<io::Error> {
        let _ = self.flush();
        self.failed
    }

    fn record_error<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| {
            let kind = error.kind();
            if self.failed.is_none() && kind != ErrorKind::Interrupted {
                self.failed = unless_closed(error).err();
            }
            kind.into()
        })
    }
}

/// Returns success for a closed pipe, and any other error as it is.
pub fn unless_closed(error: io::Error) -> io::Result<()> {
    if error.kind() == ErrorKind::BrokenPipe { Ok(()) } else { Err(error) }
}

impl<W: Write> Write for Outlet<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.to.write(bytes);
        self.record_error(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.to.flush();
        self.record_error(result)
    }
}

impl Io<'_> {
    /// Returns the same streams, for a command within a longer run.
    pub fn reborrow(&mut self) -> Io<'_> {
        Io { out: &mut *self.out, err: &mut *self.err, input: &mut *self.input, ..*self }
    }

    /// Prints the program's own text, with commands named as they are typed here.
    pub fn say(&mut self, text: &str) {
        let text = self.as_typed(text);
        self.quote(&text);
    }

    /// Prints text of a conversation in a line of its own, unchanged except for characters that a terminal acts on.
    pub fn quote(&mut self, text: &str) {
        // Write errors are reported once, at the end (see `Outlet`).
        let _ = writeln!(self.out, "{}", Safe::text(text));
    }

    /// Prints a prompt without a line end.
    pub fn prompt(&mut self, text: &str) {
        let _ = write!(self.out, "{}", Safe::line(text)).and_then(|()| self.out.flush());
    }

    /// Names commands as they are typed here: with a slash in `--plain`.
    pub(super) fn as_typed<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.joins { text.into() } else { slashed(text).into() }
    }

    /// Prints a message on standard error.
    pub fn note(&mut self, text: &str) {
        let text = self.as_typed(text);
        let _ = writeln!(self.err, "pleach: {}", Safe::text(&text));
    }

    /// Prints progress if standard error is a terminal.
    pub fn progress(&mut self, text: &str) {
        if self.err_tty {
            self.note(text);
        }
    }

    /// Writes data: unchanged, or as sanitized text on a terminal.
    pub fn data(&mut self, text: &str) {
        self.print(text, |text| Cow::Borrowed(text), escape_hidden);
    }

    /// Writes text of a conversation. A pipe can lead to a terminal (`| cat`), so control characters except tabs and
    /// line ends are escaped there too. `--json` prints the exact characters.
    pub fn words(&mut self, text: &str) {
        self.print(text, plain, Safe::marked);
    }

    /// Writes a text: sanitized on a terminal, `escaped` with `--escape`, and `piped` otherwise.
    fn print(&mut self, text: &str, piped: fn(&str) -> Cow<'_, str>, escaped: fn(&str) -> String) {
        let _ = if self.out_tty {
            write!(self.out, "{}", Safe::text(text))
        } else if self.escape {
            self.out.write_all(escaped(text).as_bytes())
        } else {
            self.out.write_all(piped(text).as_bytes())
        };
        let _ = self.out.flush();
    }

    /// Writes a line end if `text` has none.
    pub fn end_line(&mut self, text: &str) {
        if !text.ends_with('\n') {
            self.data("\n");
        }
    }

    /// Prints a JSON value on one line.
    pub fn value<T: Serialize>(&mut self, value: &T) -> Result<(), Stop> {
        let text =
            serde_json::to_string(value).map_err(|error| Failure::new(FailureKind::Internal, error.to_string()))?;
        let _ = writeln!(self.out, "{}", Safe::json(&text));
        Ok(())
    }

    /// Prints a JSON value with `--json`, or else a text.
    pub fn either<T: Serialize>(&mut self, value: &T, words: &str) -> Result<(), Stop> {
        if self.json {
            return self.value(value);
        }
        if !words.is_empty() {
            self.say(words);
        }
        Ok(())
    }

    /// Makes a text of the command line's words; `-` reads standard input, and piped input follows the words, as in a
    /// message. None if there are no words; standard input is not read then.
    pub fn text(&mut self, words: &[String]) -> Result<Option<String>, Stop> {
        match words {
            [] => Ok(None),
            words => self.message(words),
        }
    }

    /// Reads a typed line; None at the end of the input.
    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        (&mut self.input).take(MAX_LINE).read_line(&mut line).ok().filter(|read| *read > 0).map(|_| line)
    }

    /// Discards text that was typed at a terminal before a question, because it is not an answer to it.
    fn discard_typed(&mut self) {
        #[cfg(unix)]
        if self.in_tty {
            let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
        }
    }

    /// Prints a question and returns the answer: the next typed line without surrounding white space. Text that was
    /// typed before the question does not count. Returns an empty text at the end of the input, and None if Ctrl+C was
    /// pressed since the question was printed.
    pub fn answer(&mut self, question: &str) -> Option<String> {
        let pressed = (self.interrupts)();
        self.discard_typed();
        self.note(question);
        #[cfg(unix)]
        if self.in_tty && !self.wait_for_input(pressed) {
            return None;
        }
        let line = self.line().unwrap_or_default();
        ((self.interrupts)() == pressed).then(|| line.trim().to_owned())
    }

    /// Waits until text is typed. Returns false if Ctrl+C was pressed more than `pressed` times.
    #[cfg(unix)]
    fn wait_for_input(&self, pressed: usize) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let input = std::io::stdin();
        let tick = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
        loop {
            let mut waits = [PollFd::new(&input, PollFlags::IN)];
            // A signal ends the wait early; the check below tells whether it was Ctrl+C.
            let ready = matches!(poll(&mut waits, Some(&tick)), Ok(count) if count > 0);
            if (self.interrupts)() > pressed {
                return false;
            }
            if ready {
                return true;
            }
        }
    }

    /// Prints a question and returns whether the next typed line is `y` or `yes`. Fails if Ctrl+C was pressed
    /// meanwhile.
    pub(crate) fn agrees(&mut self, question: &str) -> Result<bool, Stop> {
        let answer = self.answer(question).ok_or(Stop::Interrupted)?;
        Ok(matches!(answer.as_str(), "y" | "yes"))
    }

    /// Asks for confirmation; text that was typed before the question does not count. Fails if there is no terminal and
    /// `yes` is false.
    pub fn confirm(&mut self, question: &str, yes: bool) -> Result<bool, Stop> {
        if yes {
            return Ok(true);
        }
        if !self.in_tty {
            return Err(Stop::Usage("This can't be undone. No terminal to ask on: use --yes to confirm.".into()));
        }
        self.discard_typed();
        let _ = write!(self.err, "{} [y/N] ", Safe::line(question));
        let _ = self.err.flush();
        let line = self.line().unwrap_or_default();
        Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    /// Asks for confirmation as [`Io::confirm`] does. If it is refused, prints `refusal` and fails.
    pub fn require_yes(&mut self, question: &str, yes: bool, refusal: &str) -> Result<(), Stop> {
        if self.confirm(question, yes)? {
            return Ok(());
        }
        self.note(refusal);
        Err(Stop::Printed(1))
    }
}

/// Escapes invisible characters in data. JSON gets JSON escapes, so that its value stays the same; other text gets
/// markers.
fn escape_hidden(text: &str) -> String {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
    let is_json = text.starts_with(['{', '[']) && values.all(|value| value.is_ok());
    if is_json { Safe::json(text) } else { Safe::marked(text) }
}

/// Escapes control characters except tabs and line ends.
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

/// Escapes the JSON lines that contain control characters. The values stay the same.
pub fn escaped_lines(lines: &str) -> String {
    let escape = |line| match str::trim_end_matches(line, '\n') {
        text if text.contains(char::is_control) => Cow::Owned(Safe::json(line)),
        _ => Cow::Borrowed(line),
    };
    lines.split_inclusive('\n').map(escape).collect()
}

/// Removes the numbers of system errors, which mean nothing to users.
fn without_numbers(text: &str) -> String {
    let mut parts = text.split(" (os error ");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(part.split_once(')').map_or(part, |(_, rest)| rest));
    }
    out
}

/// Replaces the engine's hints about keys by hints about commands.
pub fn in_commands(text: &str) -> String {
    let keys = [
        ("u undoes it", "`pleach undo` undoes it"),
        ("x leaves rules out", "`pleach exclude` leaves rules out"),
        ("x includes it", "`pleach include` includes it"),
        ("U redoes it", "`pleach redo` redoes it"),
        ("h in the messages shows the earlier version", "the workbench shows the earlier version"),
        ("/compress N summarizes", "`pleach compress --up-to N` summarizes"),
        ("R regenerates, c continues", "`pleach regenerate` sends the message again"),
        ("/memories lists the", "`pleach memory list` lists the"),
        ("your draft is kept", "the conversation is unchanged"),
        ("/mcp shows its output and restarts it", "`pleach mcp test` shows its output"),
        ("r in /mcp tries again", "`pleach mcp test` tries again"),
        ("/trust changes that", "`pleach trust` changes that"),
        ("/folder-settings shows it and asks", "`pleach trust --config` shows it and asks"),
        ("/mcp asks for approval", "`pleach mcp use` asks for approval"),
    ];
    keys.iter().fold(text.to_owned(), |text, (key, command)| text.replace(key, command))
}

/// Makes a sentence: an initial capital letter, and a period at the end unless there is another end mark.
pub fn sentence(text: &str) -> String {
    let text = without_numbers(text.trim());
    let end = if text.is_empty() || text.ends_with(['.', '!', '?', ':', '…']) { "" } else { "." };
    format!("{}{end}", capitalized(&text))
}

/// Formats a number with commas.
pub fn number(n: impl Into<u64>) -> String {
    crate::domain::call::tokens::grouped(n.into())
}

/// Formats a time (milliseconds since 1970) in the user's time zone.
pub fn time(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).map_or_else(
        |_| "?".into(),
        |at| at.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string(),
    )
}

/// Returns a line, padded with spaces to `width` characters; a longer line is complete.
pub fn padded(text: &str, width: usize) -> String {
    let line = Safe::line(text);
    let missing = width.saturating_sub(line.as_str().chars().count());
    format!("{line}{}", " ".repeat(missing))
}

/// Returns the first `width` characters of a line, padded with spaces or ended by an ellipsis.
pub fn column(text: &str, width: usize) -> String {
    let line = Safe::line(text);
    let count = line.as_str().chars().count();
    if count <= width {
        return padded(text, width);
    }
    line.as_str().chars().take(width - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::base::money::money;
    use std::cell::Cell;

    /// A writer for standard error that simulates Ctrl+C as soon as something is printed.
    struct PressedAt<'a>(&'a Cell<usize>);

    impl Write for PressedAt<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.set(1);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn ctrl_c_counts_from_the_moment_a_question_is_printed() {
        let presses = Cell::new(0);
        let interrupts = || presses.get();
        let mut io = Io {
            out: &mut io::sink(),
            err: &mut PressedAt(&presses),
            input: &mut &b"y\ny\n"[..],
            out_tty: true,
            err_tty: true,
            in_tty: false,
            joins: false,
            json: false,
            escape: false,
            interrupts: &interrupts,
        };
        assert_eq!(io.answer("Enter y:"), None);
        assert_eq!((io.answer("Enter y:"), io.answer("Enter y:")), (Some("y".to_owned()), Some(String::new())));
    }

    #[test]
    fn json_escapes_lose_nothing() {
        let text = "a\u{1b}\u{9b}\u{202e}\u{e0041}é😀\n";
        let json = serde_json::to_string(text).unwrap();
        let escaped = Safe::json(&json);
        assert!(escaped.chars().all(|c| !c.is_control() && c != '\u{202e}' && c != '\u{e0041}'));
        assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
        assert_eq!((number(1_234_567_u32), money(1_500)), ("1,234,567".into(), "$0.0015".into()));
    }

    #[test]
    fn failures_are_sentences_about_commands() {
        for (raw, read) in [
            ("the server refused", "The server refused."),
            ("pleach session list shows them.", "pleach session list shows them."),
            ("/x can't be opened: Is a directory (os error 21)", "/x can't be opened: Is a directory."),
            ("gpt-9 is unknown!", "gpt-9 is unknown!"),
            ("  ", ""),
        ] {
            assert_eq!(sentence(raw), read);
        }
        assert_eq!(in_commands("Renamed. u undoes it."), "Renamed. `pleach undo` undoes it.");
        assert_eq!(in_commands("Undone: renamed main. U redoes it."), "Undone: renamed main. `pleach redo` redoes it.");
        assert_eq!(escaped_lines("{\"a\":\"\u{9b}\"}\n{\"b\":\"é\"}\n"), "{\"a\":\"\\u009b\"}\n{\"b\":\"é\"}\n");
    }
}
