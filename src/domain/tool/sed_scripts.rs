//! The scripts in the arguments of `sed`, and whether one runs a program or writes a file.
//! Not for: other programs (`indirect_commands`).

use super::indirect_commands::{letters, names};
use std::collections::BTreeSet;
use std::iter::Peekable;
use std::str::Chars;

/// Returns the indices of the words that contain a script that runs a program or writes a file.
pub(super) fn words_that_run(args: &[String]) -> BTreeSet<usize> {
    // A plain word is the script unless an option gave a script or the script came earlier.
    let (mut found, mut by_option, mut had_plain) = (BTreeSet::new(), false, false);
    let mut before = None;
    for (at, word) in args.iter().map(String::as_str).enumerate() {
        let is_plain = !word.starts_with('-');
        let may_be_length = before.is_some_and(takes_length);
        // A number alone is not a script.
        let is_number = may_be_length && word.bytes().all(|b| b.is_ascii_digit());
        let script = glued(word)
            .or_else(|| before.is_some_and(ends_with_expression).then_some(word))
            .or_else(|| (is_plain && !had_plain && !by_option && !is_number).then_some(word));
        if script.is_some_and(runs) {
            found.insert(at);
        }
        had_plain |= is_plain && !may_be_length;
        by_option |= is_expression(word) && !may_be_length;
        before = Some(word);
    }
    found
}

fn is_long_expression(word: &str) -> bool {
    names("--expression", word)
}

/// Returns the text after `-e` or `--expression=` in the same word.
fn glued(word: &str) -> Option<&str> {
    let long = word.split_once('=').filter(|_| is_long_expression(word)).map(|(_, script)| script);
    let short = || letters(word)?.split_once('e').map(|(_, script)| script).filter(|script| !script.is_empty());
    long.or_else(short)
}

/// Returns whether the next word may be a script.
fn ends_with_expression(word: &str) -> bool {
    let long = || !word.contains('=') && is_long_expression(word);
    letters(word).map_or_else(long, |letters| letters.ends_with('e'))
}

/// Returns whether a word certainly contains a script, or makes the next word a script. The letters after `i` or `l`
/// are the value of that option.
fn is_expression(word: &str) -> bool {
    let letters = letters(word).and_then(|letters| letters.split_once('e'));
    letters.map_or_else(|| is_long_expression(word), |(before, _)| before.chars().all(|c| "nrEsuzb".contains(c)))
}

/// Returns whether the next word may be the length of lines.
fn takes_length(word: &str) -> bool {
    let long = !word.contains('=') && names("--line-length", word);
    long || letters(word).is_some_and(|letters| letters.ends_with('l'))
}

/// Returns whether a script has a command, or a flag of `s`, that runs a program or writes a file. An unreadable script
/// counts as a script that does.
pub(super) fn runs(script: &str) -> bool {
    // In some versions, a delimiter between brackets ends the pattern.
    let read = |brackets| Reader { rest: script.chars().peekable(), brackets }.runs();
    read(true).is_none_or(|runs| runs) || read(false) == Some(true)
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    /// Whether a delimiter between brackets is part of the pattern.
    brackets: bool,
}

impl Reader<'_> {
    /// Returns whether a command runs a program or writes a file; `None` for an unreadable script.
    fn runs(&mut self) -> Option<bool> {
        loop {
            self.skip(|c| c.is_whitespace() || c == ';');
            if self.rest.peek().is_none() {
                return Some(false);
            }
            self.addresses()?;
            match self.rest.next()? {
                'e' | 'w' | 'W' => return Some(true),
                's' => {
                    let delimiter = self.delimiter()?;
                    self.part(delimiter, self.brackets)?;
                    self.part(delimiter, false)?;
                    self.skip(|c| c.is_ascii_digit() || "gpiImM".contains(c));
                    if self.rest.peek().is_some_and(|c| matches!(c, 'e' | 'w')) {
                        return Some(true);
                    }
                    self.end()?;
                }
                'y' => {
                    let delimiter = self.delimiter()?;
                    self.part(delimiter, false)?;
                    self.part(delimiter, false)?;
                    self.end()?;
                }
                '{' => {}
                '}' | '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' => {
                    self.end()?;
                }
                'l' | 'L' | 'q' | 'Q' => {
                    self.skip(|c| c == ' ' || c.is_ascii_digit());
                    self.end()?;
                }
                ':' | 'b' | 't' | 'T' => {
                    self.skip(|c| c == ' ');
                    self.skip(|c| !c.is_whitespace() && !";}".contains(c));
                }
                'a' | 'i' | 'c' => self.text(),
                'r' | 'R' | '#' => self.skip(|c| c != '\n'),
                _ => return None,
            }
        }
    }

    fn skip(&mut self, is: impl Fn(char) -> bool) {
        while self.rest.next_if(|c| is(*c)).is_some() {}
    }

    /// Skips the lines that a command applies to.
    fn addresses(&mut self) -> Option<()> {
        loop {
            match self.rest.peek()? {
                '/' | '\\' => {
                    let first = self.rest.next()?;
                    let delimiter = if first == '\\' { self.delimiter()? } else { first };
                    self.part(delimiter, self.brackets)?;
                    self.skip(|c| matches!(c, 'I' | 'M'));
                }
                '$' => drop(self.rest.next()),
                '0'..='9' | '+' | '~' => self.skip(|c| c.is_ascii_digit() || matches!(c, '+' | '~')),
                _ => {}
            }
            self.skip(char::is_whitespace);
            if self.rest.next_if_eq(&',').is_none() {
                break;
            }
            self.skip(char::is_whitespace);
        }
        self.skip(|c| c.is_whitespace() || c == '!');
        Some(())
    }

    fn delimiter(&mut self) -> Option<char> {
        self.rest.next().filter(|c| !matches!(c, '\n' | '\\'))
    }

    /// Skips a pattern or replacement, and the delimiter after it.
    fn part(&mut self, delimiter: char, brackets: bool) -> Option<()> {
        loop {
            match self.rest.next()? {
                c if c == delimiter => return Some(()),
                '\\' => drop(self.rest.next()?),
                '[' if brackets => self.bracket()?,
                _ => {}
            }
        }
    }

    /// Skips the rest of a set of characters, such as `[^]/[:alpha:]]`.
    fn bracket(&mut self) -> Option<()> {
        self.rest.next_if_eq(&'^');
        self.rest.next_if_eq(&']');
        loop {
            match self.rest.next()? {
                ']' => return Some(()),
                '[' => {
                    if let Some(kind) = self.rest.next_if(|c| matches!(c, ':' | '.' | '=')) {
                        let mut last = ' ';
                        while !(last == kind && self.rest.peek() == Some(&']')) {
                            last = self.rest.next()?;
                        }
                        self.rest.next();
                    }
                }
                _ => {}
            }
        }
    }

    /// Skips a text to the first line end without a backslash.
    fn text(&mut self) {
        while let Some(c) = self.rest.next() {
            match c {
                '\n' => return,
                '\\' => drop(self.rest.next()),
                _ => {}
            }
        }
    }

    /// Checks that a command ends here.
    fn end(&mut self) -> Option<()> {
        self.skip(|c| matches!(c, ' ' | '\t' | '\r'));
        self.rest.peek().is_none_or(|c| matches!(c, ';' | '\n' | '}' | '#')).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::too_many_lines, reason = "a table: one line for each script")]
    fn commands_that_run_are_found_behind_any_address() {
        for (script, is) in [
            ("", false),
            ("p", false),
            ("e", true),
            ("1,$!w x", true),
            ("/a/e", true),
            ("/a/!e", true),
            ("/a/I e", true),
            ("/a/IMe", true),
            ("/a/Ip", false),
            ("/a/p", false),
            ("/a/d;w x", true),
            ("/o/,/o/e cmd", true),
            ("/o/ , /o/ e cmd", true),
            ("/o/,/o/p", false),
            ("/o/,+3e", true),
            ("1,/o/e", true),
            ("1~2,$ e", true),
            ("/a\\/b/e", true),
            ("/a\\/e/p", false),
            ("/a;b/e", true),
            ("/a{1}/e", true),
            ("\\,o,e cmd", true),
            ("\\,o,p", false),
            ("/[/]/e", true),
            ("/[]/]/e", true),
            ("/[^]/]/p", false),
            ("/[[:alpha:]/]/e", true),
            ("s/e/w/", false),
            ("s/a/b/e", true),
            ("s/a/b/gIe", true),
            ("s/a/b/gw x", true),
            ("s/a/b/2g;p", false),
            ("s|a|b|w x", true),
            ("s,a;b,c,e", true),
            ("s,a;b,c,", false),
            ("s/[/]/b/e", true),
            ("s/[/]/b/", false),
            ("s/[^/]*$//", false),
            ("s/x/[/e", true),
            ("s/a/b/ # e", false),
            ("s/a/b/q", true),
            ("s", true),
            ("s/a/b", true),
            ("s/a/b\\", true),
            ("p\nW x", true),
            ("{e", true),
            ("{p;p}", false),
            ("{p}e", true),
            ("$!{N;D}", false),
            ("0~4e", true),
            ("+e", true),
            ("y/e/w/", false),
            ("y/e/w/;e", true),
            ("q5;e", true),
            ("5q", false),
            (":a;N;$!ba;s/\\n/ /g", false),
            (":e\ne", true),
            ("a\\\ne x\\\ne y\ne z", true),
            ("a\\\ne x", false),
            ("a e\np", false),
            ("#e\np", false),
            ("r e\ne", true),
            ("k", true),
            ("1", true),
            ("pe", true),
        ] {
            assert_eq!(runs(script), is, "{script:?}");
        }
    }

    #[test]
    fn scripts_are_found_among_other_words() {
        for (line, places) in [
            ("p", &[][..]),
            ("e", &[0]),
            ("-n e", &[1]),
            ("-n 1,5p error.txt", &[]),
            ("-e p error.txt", &[]),
            ("-e e a", &[1]),
            ("e -e e", &[0, 2]),
            ("a -e e", &[2]),
            ("-ne e", &[1]),
            ("-nee", &[0]),
            ("-nnnnnnnnee", &[0]),
            ("-E e", &[1]),
            ("--expr=e a", &[0]),
            ("--expr e a", &[1]),
            ("--expression=p error.txt", &[]),
            ("-l 5 e", &[2]),
            ("-nl 5 e", &[2]),
            ("--line 5 e", &[2]),
            ("--line=5 p error.txt", &[]),
            ("-il e a", &[1]),
            ("-i.ex e", &[1]),
            ("-i.e e", &[1]),
            ("-l -ep e", &[2]),
            ("-- e", &[1]),
        ] {
            let args: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(words_that_run(&args).into_iter().collect::<Vec<_>>(), places, "{line}");
        }
    }
}
