//! Highlights code on a separate thread: finds the keywords, strings, comments, and other elements of a line.
//! The queue of jobs has no bound, because the run loop must not wait; the thread keeps only the newest jobs.
//! Not for: the style of a keyword (`theme`), or caching the result (`text::code`).

use crate::tui::msg::{FrameMsg, Msg};
use crate::tui::text::code::{HighlightedLine, Job};
use crate::tui::theme::Ink;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

/// The number of lines between two saved states of the parser, so that continuing a block does not start at its first
/// line.
const LINES_PER_STATE: usize = 200;
/// How many states are kept.
const MAX_STATES: usize = 64;
/// How many jobs may wait; the oldest are dropped, since their code is no longer visible.
const MAX_WAITING_JOBS: usize = 16;

/// The inks of scopes; the first matching prefix counts.
const MEANINGS: &[(&str, Ink)] = &[
    ("comment", Ink::Comment),
    ("string", Ink::Literal),
    ("constant.numeric", Ink::Number),
    ("constant.language", Ink::Number),
    ("constant.character", Ink::Number),
    ("constant.other", Ink::Number),
    ("keyword.operator", Ink::Text),
    ("keyword", Ink::Keyword),
    ("storage.modifier.lifetime", Ink::Name),
    ("storage", Ink::Keyword),
    ("entity.name", Ink::Name),
    ("entity.other.attribute-name", Ink::Name),
    ("support", Ink::Name),
    ("variable.function", Ink::Name),
    ("markup.inserted", Ink::Good),
    ("markup.deleted", Ink::Danger),
    ("markup.heading", Ink::Heading),
    ("meta.diff.range", Ink::Accent),
];

/// Starts the highlighter's thread. Its results reach the workbench as [`FrameMsg::Highlighted`].
pub(crate) fn start(to: Sender<Msg>) -> io::Result<Sender<Job>> {
    let (jobs, waiting) = channel();
    thread::Builder::new().name("colors".to_owned()).spawn(move || work(&waiting, &to))?;
    Ok(jobs)
}

fn work(waiting: &Receiver<Job>, to: &Sender<Msg>) {
    let mut highlighter = None;
    let mut queue = VecDeque::new();
    loop {
        if queue.is_empty() {
            match waiting.recv() {
                Ok(job) => queue.push_back(job),
                Err(_) => return,
            }
        }
        queue.extend(waiting.try_iter());
        let surplus = queue.len().saturating_sub(MAX_WAITING_JOBS);
        queue.drain(..surplus);
        let Some(job) = queue.pop_back() else { continue };
        let mut gone = false;
        let mut send = |part| gone |= to.send(Msg::Frame(FrameMsg::Highlighted(part))).is_err();
        highlighter.get_or_insert_with(Highlighter::default).paint(&job, &mut send);
        if gone {
            return;
        }
    }
}

/// A highlighter for many languages.
pub struct Highlighter {
    languages: SyntaxSet,
    meanings: Vec<(Scope, Ink)>,
    states: VecDeque<(u64, ParseState, ScopeStack)>,
}

impl Default for Highlighter {
    fn default() -> Self {
        let scope = |(name, ink): &(&str, Ink)| Scope::new(name).ok().map(|scope| (scope, *ink));
        let meanings = MEANINGS.iter().filter_map(scope).collect();
        Self { languages: two_face::syntax::extra_newlines(), meanings, states: VecDeque::new() }
    }
}

impl Highlighter {
    /// Highlights a job's lines from its first unknown one on, and sends them in parts. An unknown language has no
    /// colors.
    pub fn paint(&mut self, job: &Job, send: &mut dyn FnMut(Vec<(u64, HighlightedLine)>)) {
        let Some(language) = self.language(&job.language) else {
            send(job.lines.iter().skip(job.from).map(|(key, _)| (*key, HighlightedLine::from([]))).collect());
            return;
        };
        let fresh = || (0, ParseState::new(language), ScopeStack::new());
        let before = job.lines.get(..job.from).unwrap_or_default().iter().enumerate().rev();
        let known = before.take(LINES_PER_STATE * 2).find_map(|(at, (key, _))| {
            let state = self.states.iter().find(|(of, ..)| of == key)?;
            Some((at + 1, state.1.clone(), state.2.clone()))
        });
        let (start, mut state, mut stack) = known.unwrap_or_else(fresh);
        let (mut part, mut keep) = (Vec::new(), Vec::new());
        for (at, (key, line)) in job.lines.iter().enumerate().skip(start) {
            let tints = self.line(line, &mut state, &mut stack);
            if at >= job.from {
                part.push((*key, tints));
            }
            let last = at + 1 == job.lines.len();
            if last || (at + 1) % LINES_PER_STATE == 0 {
                keep.push((*key, state.clone(), stack.clone()));
                send(std::mem::take(&mut part));
            }
        }
        self.states.extend(keep);
        let surplus = self.states.len().saturating_sub(MAX_STATES);
        self.states.drain(..surplus);
    }

    fn language(&self, name: &str) -> Option<&SyntaxReference> {
        let name = match name {
            "" | "text" | "txt" | "plain" | "plaintext" | "none" => return None,
            "shell" | "console" | "zsh" | "shellsession" | "shell-session" => "sh",
            "golang" => "go",
            "py3" | "python3" => "py",
            "jsonc" | "json5" | "jsonl" => "json",
            "c#" | "csharp" => "cs",
            "docker" => "dockerfile",
            "postgres" | "postgresql" | "sqlite" | "mysql" => "sql",
            "patch" => "diff",
            "node" => "js",
            name => name,
        };
        self.languages.find_syntax_by_token(name)
    }

    /// The pieces of one line; none if it cannot be parsed.
    fn line(&self, line: &str, state: &mut ParseState, stack: &mut ScopeStack) -> HighlightedLine {
        let whole = format!("{line}\n");
        let Ok(ops) = state.parse_line(&whole, &self.languages) else { return HighlightedLine::from([]) };
        let mut pieces: Vec<(u32, Ink)> = Vec::new();
        let mut put = |to: usize, ink: Ink| {
            let to = u32::try_from(to.min(line.len())).unwrap_or(u32::MAX);
            match pieces.last_mut() {
                Some((end, _)) if *end >= to => {}
                Some((end, last)) if *last == ink => *end = to,
                None if to == 0 => {}
                _ => pieces.push((to, ink)),
            }
        };
        for (at, op) in &ops {
            put(*at, self.ink(stack));
            if stack.apply(op).is_err() {
                return HighlightedLine::from([]);
            }
        }
        put(line.len(), self.ink(stack));
        Arc::from(pieces)
    }

    fn ink(&self, stack: &ScopeStack) -> Ink {
        let meaning = |scope: &Scope| self.meanings.iter().find(|(of, _)| of.is_prefix_of(*scope)).map(|(_, ink)| *ink);
        stack.as_slice().iter().rev().find_map(meaning).unwrap_or(Ink::Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::text::code::{CodeBlock, HighlightCache};
    use crate::tui::text::markdown::TextRows;
    use std::rc::Rc;

    fn colors(highlighter: &mut Highlighter, job: &Job) -> Vec<(u64, HighlightedLine)> {
        let mut all = Vec::new();
        highlighter.paint(job, &mut |part| all.extend(part));
        all
    }

    #[test]
    fn code_in_many_languages_is_highlighted() {
        let mut highlighter = Highlighter::default();
        let text = "```rust\n// why\nfn main() { let s = \"a\"; 42 }\n/* two\nlines */ x\n```\n```python\ndef f(x):\n    return None\n```\n\
                    ```ts\nconst a: number = 1\n```\n```toml\na = 1\n```\n```sh\necho \"$HOME\"\n```\n```nonsense\nfn x\n```";
        let rows = TextRows::all(text, 80, Ink::Text);
        let mut found = HighlightCache::default();
        for row in &rows {
            found.highlighted(row);
        }
        for job in found.jobs() {
            let part = colors(&mut highlighter, &job);
            assert_eq!(part.len(), job.lines.len() - job.from);
            found.put(part);
        }
        let mut inks = |start: &str, word: &str| {
            let row = rows.iter().find(|row| row.plain().trim_start_matches("│ ").starts_with(start)).unwrap();
            let tinted = found.highlighted(row).unwrap();
            tinted.pieces.iter().find(|p| p.text.contains(word)).map(|p| p.ink)
        };
        assert_eq!(inks("// why", "why"), Some(Ink::Comment));
        assert_eq!(inks("fn main", "fn"), Some(Ink::Keyword));
        assert_eq!(inks("fn main", "main"), Some(Ink::Name));
        assert_eq!(inks("fn main", "a"), Some(Ink::Name), "the first piece with an a");
        assert_eq!(inks("fn main", "\"a\""), Some(Ink::Literal));
        assert_eq!(inks("fn main", "42"), Some(Ink::Number));
        assert_eq!(inks("lines */ x", "lines"), Some(Ink::Comment), "over a line's end");
        assert_eq!(inks("lines */ x", "x"), Some(Ink::Text));
        assert_eq!(inks("def f", "def"), Some(Ink::Keyword));
        assert_eq!(inks("const a", "const"), Some(Ink::Keyword));
        assert_eq!(inks("echo", "HOME"), Some(Ink::Literal));
        assert_eq!(inks("fn x", "fn"), Some(Ink::Code), "an unknown language stays plain");
    }

    #[test]
    fn highlighting_in_parts_equals_highlighting_at_once() {
        let lines: Vec<String> = (0..700).map(|n| format!("let x{n} = /* {n}\n */ \"{n}\";")).collect();
        let fence = Rc::new(CodeBlock::new("rust"));
        lines.iter().flat_map(|line| line.split('\n')).for_each(|line| {
            fence.push(line);
        });
        let whole = fence.job_for_tests(0, 1_400);
        let at_once = colors(&mut Highlighter::default(), &whole);
        let mut highlighter = Highlighter::default();
        let mut by_parts = Vec::new();
        for (from, to) in [(0, 300), (300, 301), (301, 900), (900, 1_400)] {
            by_parts.extend(colors(&mut highlighter, &fence.job_for_tests(from, to)));
        }
        assert_eq!(at_once, by_parts);
    }
}
