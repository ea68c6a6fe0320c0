//! Compares command lines: whether a successful command line shows that an earlier, failed line would succeed now,
//! because it is the same or a wider run. In an uncertain case, assumes nothing.
//! Not for: running commands (`tools`), or other tool calls (`resolution`).

use std::iter::Peekable;
use std::str::Chars;

/// Words before a command that do not change what it does.
const NEUTRAL_PREFIXES: [&[&str]; 9] = [
    &["python", "-m"],
    &["python3", "-m"],
    &["uv", "run"],
    &["poetry", "run"],
    &["bundle", "exec"],
    &["npx"],
    &["env"],
    &["time"],
    &["nice"],
];
/// Commands that have no effect which could fail.
const NO_EFFECT: [&str; 8] = ["echo", "printf", "true", ":", "export", "set", "source", "."];
/// Commands after a pipe that only display the output.
const DISPLAY_ONLY: [&str; 6] = ["tail", "head", "cat", "tee", "less", "more"];
/// Keywords of the shell's language. Lines with them are not analyzed.
const KEYWORDS: [&str; 9] = ["if", "for", "while", "until", "case", "function", "!", "[[", "coproc"];
/// Parts of the names or first words of programs that run everything unless an argument names a target.
const RUNNERS: [&str; 13] =
    ["test", "check", "build", "lint", "clippy", "vet", "jest", "tsc", "mypy", "compile", "bench", "spec", "doc"];
/// Options of such programs that affect only output or speed. A value follows the options that end in `=` here.
const OUTPUT_OPTIONS: &str = "-v -vv -q -s --verbose --quiet --color= --nocapture --no-capture --show-output \
                              --message-format= --offline --locked --frozen --test-threads= --jobs= -j= \
                              --no-fail-fast --keep-going --tb=";
/// Options that make such a run wider or stricter. If the failed run had one, the later run must have it too.
const WIDER_OPTIONS: &str = "--all --workspace --all-targets --all-features --include-ignored --ignored --features= \
                             --strict --deny= --check -D= -F= -W";
/// Options whose following value narrows such a run.
const NARROWING_OPTIONS: &str =
    "-p= --package= --test= --bin= --example= --bench= -k= -m= -t= --manifest-path= --filter= -run= -C=";
/// Options that make a program do less than usual.
const PARTIAL_OPTIONS: [&str; 8] =
    ["-h", "--help", "--version", "--dry-run", "--no-run", "--list", "--abort", "--collect-only"];

/// Returns whether the successful line `later` shows that the line `failed` would succeed now. Each is a working folder
/// and a line.
pub fn supersedes(later: (&str, &str), failed: (&str, &str)) -> bool {
    let plain = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    if later.0 == failed.0 && plain(later.1) == plain(failed.1) {
        return true;
    }
    let (Some(later), Some(failed)) = (steps(later.0, later.1), steps(failed.0, failed.1)) else { return false };
    !failed.is_empty() && failed.iter().all(|failed| later.iter().any(|later| later.supersedes(failed)))
}

/// Returns whether both lines run the same program first.
pub fn same_program(one: &str, other: &str) -> bool {
    let program = |line: &str| steps("", line)?.into_iter().next()?.commands.into_iter().next()?.into_iter().next();
    program(one).is_some_and(|name| program(other) == Some(name))
}

/// A pipeline that contributes to a line's exit code.
#[derive(Debug)]
struct Step {
    folder: String,
    commands: Vec<Vec<String>>,
}

impl Step {
    /// Returns whether the success of this step shows that a failed one would succeed now.
    fn supersedes(&self, failed: &Self) -> bool {
        let (Some((own, behind)), Some((first, after))) = (self.commands.split_first(), failed.commands.split_first())
        else {
            return false;
        };
        let shown = |command: &Vec<String>| command.first().is_some_and(|name| DISPLAY_ONLY.contains(&name.as_str()));
        let piped = behind == after || (behind.is_empty() && after.iter().all(shown));
        self.folder == failed.folder && piped && Command::of(own).supersedes(&Command::of(first))
    }
}

/// A word of a line, or an operator between two commands: `&&`, `;`, or `|`.
#[derive(PartialEq, Eq, Debug)]
enum Piece {
    Word(String),
    And,
    Then,
    Pipe,
}

/// Returns the steps that determine the exit code: those joined by `&&` after the last `;`, or all steps if `set -e` is
/// in effect. `None` if the line is too complex.
fn steps(folder: &str, line: &str) -> Option<Vec<Step>> {
    let pieces = pieces(line)?;
    let mut folder = folder.trim_start_matches("./").trim_end_matches('/').to_owned();
    let (mut found, mut strict, mut pipefail, mut read) = (Vec::new(), false, false, 0);
    for part in pieces.split_inclusive(|piece| matches!(piece, Piece::And | Piece::Then)) {
        read += part.len();
        let mut commands = Vec::new();
        for command in part.split(|piece| !matches!(piece, Piece::Word(_))) {
            let words = command
                .iter()
                .filter_map(|piece| if let Piece::Word(word) = piece { Some(word.clone()) } else { None });
            commands.extend(Some(without_prefixes(words.collect())).filter(|words| !words.is_empty()));
        }
        let Some(first) = commands.first() else { continue };
        let name = first[0].as_str();
        if KEYWORDS.contains(&name) {
            return None;
        }
        match (name, first.get(1)) {
            ("cd", Some(to)) => folder = within(&folder, to),
            ("set", _) => {
                strict |= first.iter().any(|word| word.starts_with('-') && word.contains('e'));
                pipefail |= first.iter().any(|word| word == "pipefail");
            }
            _ if NO_EFFECT.contains(&name) => {}
            _ => {
                while pipefail
                    && commands.len() > 1
                    && commands.last().is_some_and(|c| DISPLAY_ONLY.contains(&c[0].as_str()))
                {
                    commands.pop();
                }
                found.push(Step { folder: folder.clone(), commands });
            }
        }
        let more = pieces[read..].iter().any(|piece| matches!(piece, Piece::Word(_)));
        if more && !strict && part.last() == Some(&Piece::Then) {
            found.clear();
        }
    }
    Some(found)
}

/// Returns the working folder after `cd`.
fn within(folder: &str, to: &str) -> String {
    if to.starts_with(['/', '~']) {
        return to.trim_end_matches('/').to_owned();
    }
    format!("{folder}/{}", to.trim_start_matches("./").trim_matches('/')).trim_matches('/').to_owned()
}

/// Returns a command without variable assignments and without words that do not change what it does.
fn without_prefixes(mut words: Vec<String>) -> Vec<String> {
    let is_assignment = |word: &str| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
    };
    loop {
        let lead = NEUTRAL_PREFIXES
            .iter()
            .find(|lead| words.len() > lead.len() && lead.iter().zip(&words).all(|(a, b)| a == b));
        match (words.first().map(String::as_str), lead) {
            (Some("timeout"), _) if words.len() > 2 => drop(words.drain(..2)),
            (Some(word), _) if is_assignment(word) => drop(words.remove(0)),
            (_, Some(lead)) => drop(words.drain(..lead.len())),
            _ => return words,
        }
    }
}

struct Command<'a> {
    /// The program and its subcommand.
    base: Vec<&'a str>,
    /// Whether the program runs everything unless an argument names a target.
    runs_all: bool,
    options: Vec<String>,
    words: Vec<&'a str>,
}

impl<'a> Command<'a> {
    fn of(words: &'a [String]) -> Self {
        let mut rest = words.iter().map(String::as_str).filter(|word| !word.starts_with('+')).peekable();
        let program = rest.next().unwrap_or_default().trim_start_matches("./");
        let runner = |word: &str| RUNNERS.iter().any(|name| word.contains(name));
        let mut base = vec![program];
        let plain = |word: &&str| word.starts_with(char::is_alphabetic) && !word.contains(['.', '/', ':', '=']);
        if !runner(program.rsplit('/').next().unwrap_or_default()) {
            base.extend(rest.next_if(|word| plain(word)));
            let run = |word: &str| matches!(word, "run" | "exec");
            if base.len() > 1 && (run(base[1]) || rest.peek().is_some_and(|word| run(word))) {
                base.extend(rest.next_if(|word| plain(word)));
            }
        }
        let runs_all = base.iter().any(|word| runner(word.rsplit('/').next().unwrap_or_default()));
        let (mut options, mut names) = (Vec::new(), Vec::new());
        while let Some(word) = rest.next() {
            if word == "--" {
                continue;
            }
            if !word.starts_with('-') || word.len() == 1 {
                names.push(word);
                continue;
            }
            let tables = [OUTPUT_OPTIONS, WIDER_OPTIONS, NARROWING_OPTIONS];
            let valued = |table: &str| table.split(' ').any(|option| option.strip_suffix('=') == Some(word));
            let takes = runs_all && tables.into_iter().any(valued);
            let value = if takes { rest.next() } else { None };
            options.push(value.map_or_else(|| word.to_owned(), |value| format!("{word}={value}")));
        }
        Self { base, runs_all, options, words: names }
    }

    /// Returns whether the success of this command shows that a failed one would succeed now.
    fn supersedes(&self, failed: &Self) -> bool {
        if self.base != failed.base {
            return false;
        }
        let missing = |option: &&String| !failed.options.contains(option);
        let kept = |option: &String| self.options.contains(option) || !in_table(WIDER_OPTIONS, option);
        if !failed.options.iter().all(kept) {
            return false;
        }
        let mut added = self.options.iter().filter(missing);
        if self.runs_all {
            return added.all(|option| in_table(OUTPUT_OPTIONS, option) || in_table(WIDER_OPTIONS, option))
                && covers(&self.words, &failed.words);
        }
        added.all(|option| !PARTIAL_OPTIONS.contains(&option.as_str())) && self.words == failed.words
    }
}

/// Returns whether an option is in a table, even if a value is attached to it.
fn in_table(table: &str, option: &str) -> bool {
    let name = option.split('=').next().unwrap_or_default();
    // Short options with an attached value, or repeated: -j4, -vvv, -Dwarnings.
    let short = |known: &str| {
        let rest = name.strip_prefix(known).filter(|rest| known.len() == 2 && !rest.is_empty() && known != "--");
        let letter = known.chars().last();
        rest.is_some_and(|rest| {
            known == "-D" || known == "-W" || rest.chars().all(|c| c.is_ascii_digit() || Some(c) == letter)
        })
    };
    table.split(' ').map(|known| known.trim_end_matches('=')).any(|known| known == name || short(known))
}

/// Returns whether a run that names `wide` covers everything that a run naming `narrow` does. A run that names nothing
/// covers everything.
fn covers(wide: &[&str], narrow: &[&str]) -> bool {
    let within = |wide: &str, narrow: &str| {
        let (wide, narrow) = (wide.trim_start_matches("./"), narrow.trim_start_matches("./"));
        let folder = wide.trim_end_matches("...").trim_end_matches('/');
        let rest = narrow.strip_prefix(folder);
        wide == narrow
            || matches!(folder, "" | ".")
            || rest.is_some_and(|rest| rest.starts_with('/') || rest.starts_with("::"))
    };
    wide.is_empty() || (!narrow.is_empty() && narrow.iter().all(|narrow| wide.iter().any(|wide| within(wide, narrow))))
}

/// Splits a line into words and operators, without redirections. `None` if the line is too complex.
fn pieces(line: &str) -> Option<Vec<Piece>> {
    let mut reader = Reader { chars: line.trim().chars().peekable(), found: Vec::new(), word: None, skip_word: false };
    while let Some(c) = reader.chars.next() {
        reader.take(c)?;
    }
    reader.end_word();
    Some(reader.found)
}

struct Reader<'a> {
    chars: Peekable<Chars<'a>>,
    found: Vec<Piece>,
    word: Option<String>,
    /// Whether the next word is the target of a redirection.
    skip_word: bool,
}

impl Reader<'_> {
    fn end_word(&mut self) {
        if let Some(word) = self.word.take()
            && !std::mem::take(&mut self.skip_word)
        {
            self.found.push(Piece::Word(word));
        }
    }

    fn join(&mut self, piece: Piece) {
        self.end_word();
        self.found.push(piece);
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    /// Reads a character and what belongs to it. `None` if the line is too complex.
    fn take(&mut self, c: char) -> Option<()> {
        match c {
            '\'' => {
                self.word.get_or_insert_default();
                loop {
                    match self.chars.next()? {
                        '\'' => break,
                        c => self.push(c),
                    }
                }
            }
            '"' => self.quoted()?,
            '\\' => match self.chars.next()? {
                '\n' => {}
                c => self.push(c),
            },
            '#' if self.word.is_none() => while self.chars.next_if(|c| *c != '\n').is_some() {},
            '&' if self.chars.next_if_eq(&'&').is_some() => self.join(Piece::And),
            // Redirects output and errors together.
            '&' if self.chars.peek() == Some(&'>') => self.end_word(),
            '|' if self.chars.peek() == Some(&'|') => return None,
            '|' => {
                let _ = self.chars.next_if_eq(&'&');
                self.join(Piece::Pipe);
            }
            ';' | '\n' => self.join(Piece::Then),
            '>' => self.redirection(),
            '<' if self.chars.peek() == Some(&'<') => return None,
            // A background job, a subshell, or a block.
            '&' | '`' | '(' | ')' | '{' | '}' => return None,
            c if c.is_whitespace() => {
                if self.word.as_deref() != Some("<") {
                    self.end_word();
                }
            }
            c => self.push(c),
        }
        Some(())
    }

    /// Reads text up to the closing double quote.
    fn quoted(&mut self) -> Option<()> {
        self.word.get_or_insert_default();
        loop {
            match self.chars.next()? {
                '"' => return Some(()),
                '`' => return None,
                '$' if self.chars.peek() == Some(&'(') => return None,
                '\\' => {
                    let c = self.chars.next()?;
                    self.push(c);
                }
                c => self.push(c),
            }
        }
    }

    /// Reads a redirection. Neither the number before it nor the target after it is a word of the command.
    fn redirection(&mut self) {
        if self.word.as_ref().is_some_and(|word| word.chars().all(|c| c.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        let _ = self.chars.next_if_eq(&'>');
        let _ = self.chars.next_if(|c| matches!(c, '&' | '|'));
        self.skip_word = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_same_or_a_wider_run_supersedes() {
        for (failed, later) in [
            ("cargo test a", "cargo test"),
            ("cargo test a", "cargo test a"),
            ("cargo  test a ", "RUST_BACKTRACE=1 cargo test a -- --nocapture"),
            ("cargo test --offline", "cargo test"),
            ("cargo test", "cargo test --offline -q"),
            ("cargo test -p one a", "cargo test -p one"),
            ("cargo test -p one a", "cargo test"),
            ("cargo test", "cargo test --workspace"),
            ("cargo test resolved::tests::a", "cargo test resolved"),
            ("cargo test --lib", "cargo test"),
            ("cargo +nightly test", "timeout 60 cargo test 2>&1"),
            ("cargo nextest run a", "cargo nextest run"),
            ("cargo clippy -- -D warnings", "cargo clippy --all-targets -- -D warnings"),
            ("cargo test 2>&1 | tail -20", "cargo test > /tmp/log 2>&1"),
            ("set -o pipefail; cargo test | tail -5", "set -o pipefail; cargo test | tail -50"),
            ("cd sub && cargo test", "cd sub; cargo test"),
            ("cd ./sub/ && cargo test a", "cd sub && cargo build && cargo test"),
            ("cargo fmt && cargo test", "set -e\ncargo fmt\ncargo test"),
            ("python -m pytest tests/a.py::one", "pytest tests/a.py"),
            ("pytest -x tests/a.py", "pytest tests -v"),
            ("npm run test -- a.js", "npm run test"),
            ("go test ./pkg -run One", "go test ./..."),
            ("./run_tests.sh a", "./run_tests.sh"),
            ("git commit -q -m 'one'", "git commit -m 'one'"),
            ("make test", "make test; "),
            ("for f in *; do cat $f; done", "for f in *;  do cat $f; done"),
        ] {
            assert!(supersedes(("", later), ("", failed)), "{failed:?} worked by {later:?}");
        }
        assert!(supersedes(("", "cd sub && make test"), ("sub", "make test")));
    }

    #[test]
    fn another_or_a_narrower_run_does_not_supersede() {
        for (failed, later) in [
            ("cargo test a", "cargo test b"),
            ("cargo test", "cargo test a"),
            ("cargo test", "cargo test --lib"),
            ("cargo test", "cargo test -p one"),
            ("cargo test", "cargo test --no-run"),
            ("cargo test", "cargo build"),
            ("cargo test", "cargo test | tail -5"),
            ("cargo test", "cargo test; echo done"),
            ("cargo test", "cargo test || true"),
            ("cargo test", "cargo test &"),
            ("cargo test", "cd sub && cargo test"),
            ("cargo test resolved", "cargo test resolved::tests"),
            ("cargo test --workspace", "cargo test"),
            ("cargo clippy -- -D warnings", "cargo clippy"),
            ("cargo fmt && cargo test", "cargo test"),
            ("cargo fmt && cargo test", "set -o pipefail\ncargo fmt\ncargo test"),
            ("cargo test a", "echo cargo test a"),
            ("pytest tests/a.py tests/b.py", "pytest tests/a.py"),
            ("pytest", "pytest -k one"),
            ("go test ./...", "go test ./... -short"),
            ("ls missing", "ls"),
            ("cat a b", "cat a"),
            ("python a.py", "python b.py"),
            ("python -c 'x'", "python -c 'y'"),
            ("git push", "git push --dry-run"),
            ("./a/test.sh", "./b/test.sh"),
            ("sort < a", "sort < b"),
            ("make test", "make"),
            ("for f in a; do cat $f; done", "for f in b; do cat $f; done"),
            ("echo 'unclosed", "echo done"),
            ("", ""),
        ] {
            let same = failed.is_empty() && later.is_empty();
            assert!(same || !supersedes(("", later), ("", failed)), "{failed:?} did not work by {later:?}");
        }
        assert!(!supersedes(("a", "make test"), ("b", "make test")));
    }

    #[test]
    fn programs_are_distinguished() {
        assert!(same_program("npm instal", "CI=1 npm install") && same_program("cd a && cargo test", "cargo build"));
        assert!(!same_program("cargo test", "ls") && !same_program("", "") && !same_program("(a)", "(a)"));
    }

    proptest! {
        #[test]
        fn every_line_supersedes_itself_without_panic(one in "[-a-z&|;<>\"' ./$()\n]{0,30}", other in "\\PC{0,30}") {
            prop_assert!(supersedes(("", &one), ("", &one)));
            let _ = (supersedes(("", &one), ("", &other)), same_program(&one, &other));
        }
    }

    /// Words without quotes and redirections; `&` for and, `;` for then, `|` for a pipe.
    #[test]
    fn lines_are_split_like_a_shell_does() {
        for (line, wanted) in [
            ("a b", Some("a b")),
            ("a # b\nc", Some("a ; c")),
            ("a#b c", Some("a#b c")),
            ("a '' b", Some("a  b")),
            ("'a b'c \"d e\"", Some("a bc d e")),
            ("'a", None),
            ("\"a", None),
            ("\"a\\\"b\"", Some("a\"b")),
            ("\"a`b`\"", None),
            ("\"a$(b)\"", None),
            ("\"a$b\"", Some("a$b")),
            ("a\\ b", Some("a b")),
            ("a\\\nb", Some("ab")),
            ("a\\", None),
            ("a && b", Some("a & b")),
            ("a || b", None),
            ("a & b", None),
            ("a | b |& c", Some("a | b | c")),
            ("a; b", Some("a ; b")),
            ("a > b c", Some("a c")),
            ("a 2>&1 | b", Some("a | b")),
            ("a 2>>b c", Some("a c")),
            ("a &> b c", Some("a c")),
            ("a >| b c", Some("a c")),
            ("a b>c d", Some("a b d")),
            ("a2>b", Some("a2")),
            ("a < b", Some("a <b")),
            ("a << b", None),
            ("(a)", None),
            ("{ a; }", None),
            ("`a`", None),
        ] {
            let found = pieces(line).map(|pieces| {
                let shown = pieces.iter().map(|piece| match piece {
                    Piece::Word(word) => word.as_str(),
                    Piece::And => "&",
                    Piece::Then => ";",
                    Piece::Pipe => "|",
                });
                shown.collect::<Vec<_>>().join(" ")
            });
            assert_eq!(found.as_deref(), wanted, "{line:?}");
        }
    }

    #[test]
    fn neutral_prefixes_of_commands_are_removed() {
        for (line, wanted) in [
            ("A=1 b_2=3 x y", "x y"),
            ("=1 x", "=1 x"),
            ("a-b=1 x", "a-b=1 x"),
            ("timeout 5 x y", "x y"),
            ("timeout 5", "timeout 5"),
            ("python3 -m x", "x"),
            ("python3 -m", "python3 -m"),
            ("env A=1 npx time nice x", "x"),
            ("npx", "npx"),
            ("uv sync", "uv sync"),
        ] {
            let words = line.split(' ').map(str::to_owned).collect();
            assert_eq!(without_prefixes(words).join(" "), wanted, "{line}");
        }
        for (folder, to, wanted) in [
            ("a", "b", "a/b"),
            ("", "b/", "b"),
            ("a", "./b", "a/b"),
            ("a", "/c/", "/c"),
            ("a", "~", "~"),
            ("a", ".", "a/."),
        ] {
            assert_eq!(within(folder, to), wanted, "{folder} {to}");
        }
    }

    #[test]
    fn options_and_names_widen_or_narrow() {
        for (option, shows, more) in [
            ("-v", true, false),
            ("-vvv", true, false),
            ("-vx", false, false),
            ("-j4", true, false),
            ("-j=4", true, false),
            ("--color=x", true, false),
            ("--colors", false, false),
            ("-Dwarnings", false, true),
            ("-Wx", false, true),
            ("-F1", false, true),
            ("-Fx", false, false),
            ("--all", false, true),
            ("--", false, false),
        ] {
            assert_eq!((in_table(OUTPUT_OPTIONS, option), in_table(WIDER_OPTIONS, option)), (shows, more), "{option}");
        }
        let one = |text: &'static str| -> Vec<&'static str> { text.split_whitespace().collect() };
        for (wide, narrow, all) in [
            ("", "", true),
            ("", "a", true),
            ("a", "", false),
            ("a", "a", true),
            ("a", "a/b", true),
            ("a/", "a/b", true),
            ("a", "ab", false),
            ("a", "a::b", true),
            ("a", "a:b", false),
            ("./a", "a", true),
            ("a", "./a/b", true),
            (".", "a", true),
            ("./...", "a", true),
            ("a/...", "a/b", true),
            ("a b", "a b", true),
            ("a", "a b", false),
            ("a b c", "c a", true),
        ] {
            assert_eq!(covers(&one(wide), &one(narrow)), all, "{wide} {narrow}");
        }
    }
}
