//! Writes one HTML file for reading, without scripts and external resources: the current path with the
//! other answers listed at each branch point, or the whole tree.
//! Not for: reading it back. Only JSON lines are exact.

use super::tree::{ChildrenByParent, about, is_shown, one_line, who};
use crate::domain::base::Safe;
use crate::domain::conversation::{Part, Record, Role, Transcript};
use std::collections::{HashMap, VecDeque};
use std::fmt::Write;

const STYLE: &str = include_str!("page.css");

/// Browsers load nothing for a page with this policy, whatever it contains.
const CONTENT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// Writes the current path, or the whole tree.
pub(super) fn write(transcript: &Transcript, whole: bool) -> String {
    let tree = ChildrenByParent::of(transcript);
    let mut page = Page { transcript, heads: heads(transcript), tree: &tree, whole, text: String::new(), shown: 0 };
    page.begin();
    let main = tree.main_root();
    let mut waiting: VecDeque<usize> = main.filter(|root| whole || tree.on_path[*root]).into_iter().collect();
    waiting.extend(tree.roots.iter().filter(|root| whole && Some(**root) != main));
    while let Some(start) = waiting.pop_front() {
        if Some(start) != main {
            page.heading(start);
        }
        let mut at = Some(start);
        while let Some(node) = at {
            page.message(node);
            let next = tree.next(node).filter(|next| whole || tree.on_path[*next]);
            let others: Vec<usize> = tree.children[node].iter().copied().filter(|kid| Some(*kid) != next).collect();
            page.fork(&others);
            waiting.extend(others.into_iter().filter(|_| whole));
            at = next;
        }
    }
    page.text.push_str("<footer>Exported by pleach.</footer>\n</body>\n</html>\n");
    page.text
}

/// Returns the names of the branches by the ids of the messages at their heads.
fn heads(transcript: &Transcript) -> HashMap<&str, Vec<&str>> {
    let mut heads: HashMap<&str, Vec<&str>> = HashMap::new();
    for branch in &transcript.branches {
        if let Some(head) = branch.head.as_deref() {
            heads.entry(head).or_default().push(&branch.name);
        }
    }
    heads
}

struct Page<'a> {
    transcript: &'a Transcript,
    heads: HashMap<&'a str, Vec<&'a str>>,
    tree: &'a ChildrenByParent,
    whole: bool,
    text: String,
    /// The number of messages so far.
    shown: usize,
}

impl Page<'_> {
    fn begin(&mut self) {
        let title = escaped(&one_line(&self.transcript.title));
        let _ = write!(
            self.text,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
            <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
            <meta http-equiv=\"Content-Security-Policy\" content=\"{CONTENT_POLICY}\">\n\
            <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1 dir=\"auto\">{title}</h1>\n"
        );
        let branches = self.transcript.branches.iter();
        let names: Vec<&str> = branches.filter(|branch| self.whole || branch.current).map(|b| &*b.name).collect();
        if !names.is_empty() {
            let noun = if names.len() == 1 { "Branch" } else { "Branches" };
            let _ = writeln!(self.text, "<p class=\"about\">{noun}: {}</p>", escaped(&names.join(", ")));
        }
    }

    /// Writes the heading above a branch, or above another beginning.
    fn heading(&mut self, start: usize) {
        let _ = match self.tree.parents[start] {
            Some(parent) => {
                let after = parent + 1;
                writeln!(self.text, "<h2>Another branch, after <a href=\"#m{after}\">message {after}</a></h2>")
            }
            None => writeln!(self.text, "<h2>Another beginning</h2>"),
        };
    }

    /// Returns the number of a message: in the order of the whole tree, or on the path.
    fn number(&self, node: usize) -> usize {
        if self.whole { node + 1 } else { self.shown }
    }

    fn message(&mut self, node: usize) {
        self.shown += 1;
        let record = &self.transcript.records[node];
        let number = self.number(node);
        if !is_shown(record) {
            let _ = writeln!(self.text, "<a id=\"m{number}\"></a>");
            return;
        }
        let class = if record.role == Role::User { "user" } else { "other" };
        let name = record.name.as_deref().filter(|name| !name.is_empty());
        let name = name.map(|name| format!(" ({})", escaped(&one_line(name)))).unwrap_or_default();
        let _ = writeln!(self.text, "<article class=\"{class}\" id=\"m{number}\">");
        let _ = writeln!(self.text, "<h3>{number}. {}{name}</h3>", who(record));
        let mut about = about(record);
        about.extend(Some(record.label.clone()).filter(|label| !label.is_empty()));
        about.extend(record.favorite.then(|| "★".to_owned()));
        about.extend(self.heads.get(record.id.as_str()).into_iter().flatten().map(|name| format!("end of {name}")));
        if !about.is_empty() {
            let _ = writeln!(self.text, "<p class=\"about\">{}</p>", escaped(&about.join(" · ")));
        }
        record.content.parts.iter().for_each(|part| self.part(part));
        self.text.push_str("</article>\n");
    }

    /// Lists the other messages that follow the same message.
    fn fork(&mut self, others: &[usize]) {
        if others.is_empty() {
            return;
        }
        self.text.push_str("<div class=\"fork\">Also after this message:\n<ul>\n");
        for other in others {
            let record = &self.transcript.records[*other];
            let words = escaped(&first_words(record));
            let _ = if self.whole {
                writeln!(self.text, "<li><a href=\"#m{0}\">{0}. {words}</a></li>", other + 1)
            } else {
                writeln!(self.text, "<li>{words}</li>")
            };
        }
        self.text.push_str("</ul>\n</div>\n");
    }

    fn part(&mut self, part: &Part) {
        match part {
            Part::Text { text } => self.prose(text),
            Part::Reasoning { text } => {
                self.text.push_str("<details>\n<summary>Thinking</summary>\n");
                self.prose(text);
                self.text.push_str("</details>\n");
            }
            Part::Call { name, args, .. } => {
                let _ = writeln!(self.text, "<p>Calls the tool <code>{}</code>:</p>", escaped(&one_line(name)));
                self.code(args);
            }
            Part::Reply { name, body, .. } => {
                if !name.is_empty() {
                    let _ = writeln!(self.text, "<p>Result of <code>{}</code>:</p>", escaped(&one_line(name)));
                }
                self.code(body);
            }
            Part::Opaque { mime, raw, bytes } => {
                let _ = writeln!(self.text, "<p>[{}, {bytes} bytes, {}]</p>", escaped(&one_line(mime)), raw.short());
            }
        }
    }

    /// Writes a text as it is, with its fenced code in blocks.
    fn prose(&mut self, text: &str) {
        let (mut words, mut fence): (Vec<&str>, Option<Fence>) = (Vec::new(), None);
        for line in text.trim_end().lines() {
            match (&fence, Fence::read(line)) {
                (None, Some(opened)) => {
                    self.words(&std::mem::take(&mut words));
                    fence = Some(opened);
                }
                (Some(opened), Some(closing)) if closing.closes(opened) => {
                    self.code(&std::mem::take(&mut words).join("\n"));
                    fence = None;
                }
                _ => words.push(line),
            }
        }
        match fence {
            Some(_) => self.code(&words.join("\n")),
            None => self.words(&words),
        }
    }

    fn words(&mut self, lines: &[&str]) {
        if !lines.iter().all(|line| line.trim().is_empty()) {
            let _ = writeln!(self.text, "<div class=\"text\" dir=\"auto\">{}</div>", escaped(&lines.join("\n")));
        }
    }

    fn code(&mut self, text: &str) {
        let _ = writeln!(self.text, "<pre><code>{}</code></pre>", escaped(text.strip_suffix('\n').unwrap_or(text)));
    }
}

/// A line that begins or ends fenced code.
struct Fence {
    mark: char,
    length: usize,
    bare: bool,
}

impl Fence {
    /// Reads a line of three or more backticks or tildes; a line that begins code may also name a language.
    fn read(line: &str) -> Option<Self> {
        let line = line.trim();
        let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let rest = line.trim_start_matches(mark);
        let length = line.len() - rest.len();
        (length >= 3 && !rest.contains('`')).then_some(Self { mark, length, bare: rest.is_empty() })
    }

    fn closes(&self, opened: &Self) -> bool {
        self.bare && self.mark == opened.mark && self.length >= opened.length
    }
}

/// Returns the author, the model, and the beginning of a message.
fn first_words(record: &Record) -> String {
    let model = record.model.as_deref().map(|model| format!(" ({})", one_line(model))).unwrap_or_default();
    let words = one_line(&record.content.plain_text());
    format!("{}{model}: {words}", who(record)).trim_end_matches([':', ' ']).to_owned()
}

/// Returns a text as HTML, with marks in place of control characters and invisible characters.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    for c in Safe::marked(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}
