//! Records an engine's answers, request by request, and the content of its store at the end. Ids, hashes, and times are
//! numbered in order of appearance, and empty fields are left out.
//! Not for: unrequested events, whose order may vary.

use crate::support::bench::{Bench, Client};
use pleach::domain::base::{BranchId, Hash};
use pleach::domain::tool::{Consent, Rule, RuleScope};
use pleach::engine::api::{Answer, Event, ProgramEvent, Request, ToolEvent, TurnRequest};
use regex::{Captures, Regex};
use std::collections::HashMap;
use std::fmt::Write as _;

/// The decisions about calls that ask, in order, each with a rule that is added.
pub(crate) type Consents<'a> = &'a [(Consent, Option<(RuleScope, Rule)>)];

/// The longest line to which nested values are joined.
const WIDTH: usize = 150;

/// A record of answers.
pub(crate) struct Record {
    out: String,
    folder: String,
    names: HashMap<String, String>,
    /// How many ids and hashes have a number.
    numbered: usize,
    ids: Regex,
    times: Regex,
}

impl Record {
    pub(crate) fn new(bench: &Bench) -> Self {
        let ids = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{64}\b|#[0-9a-f]{8}\b|\b[0-9a-f]{32}\b|\b[0-9a-f]{12}\b|\b[0-9a-f]{10}\b|\b[0-9a-f]{8}\b";
        let times = r"\b[a-z_]*(?:elapsed|took|peak|built|duration|_ms|_us)[a-z_]*\b\W{0,2}: ?(?:Some\(\s*)?\d+|\bms\b\W{0,2}: ?\d+|\b\d{4}-\d\d-\d\d \d\d:\d\d\b|\b1[78]\d{11}\b|\b1[78]\d{8}\b|\b\d\d:\d\d(?::\d\d)?Z?\b";
        Self {
            out: String::new(),
            folder: bench.workspace.parent().unwrap().display().to_string(),
            names: HashMap::new(),
            numbered: 0,
            ids: Regex::new(ids).unwrap(),
            times: Regex::new(times).unwrap(),
        }
    }

    /// Replaces everything that differs between runs.
    fn normalized(&mut self, text: &str) -> String {
        let text = text.replace(&self.folder, "DIR");
        let text = self.times.replace_all(&text, "T");
        let (names, numbered) = (&mut self.names, &mut self.numbered);
        self.ids
            .replace_all(&text, |found: &Captures<'_>| {
                let name = found[0].trim_start_matches('#');
                let long = matches!(name.len(), 32 | 36);
                let key = if long { name } else { &name[..name.len().min(8)] };
                let known = names
                    .entry(key.to_owned())
                    .or_insert_with(|| {
                        *numbered += 1;
                        format!("{}{numbered}", if long { "id" } else { "h" })
                    })
                    .clone();
                if name.len() == 36 {
                    // Answers also show the end of an id or its beginning. These take no number of their own. The
                    // beginning is a time, so whether two ids share it depends on when they were created.
                    names.entry(name[28..].to_owned()).or_insert_with(|| format!("{known}…"));
                    names.entry(name[..8].to_owned()).or_insert_with(|| "id…".into());
                }
                known
            })
            .into_owned()
    }

    /// The beginning of a long text. Ids after the cut get no number.
    fn beginning(&mut self, text: &str) -> String {
        let mut shown = String::new();
        for part in text.split_inclusive(',') {
            if shown.chars().count() > 400 {
                break;
            }
            shown.push_str(&self.normalized(part));
        }
        shown.chars().take(400).collect()
    }

    /// Adds a heading.
    pub(crate) fn say(&mut self, words: &str) {
        let _ = writeln!(self.out, "== {words}");
    }

    /// Adds a value.
    pub(crate) fn note(&mut self, label: &str, value: &impl std::fmt::Debug) {
        let lines = compacted(&format!("{value:#?}"));
        let lines = self.normalized(&lines);
        let _ = writeln!(self.out, "-- {label}\n{lines}");
    }

    /// Sends a request and records the answer.
    pub(crate) fn ask(&mut self, client: &mut Client, label: &str, request: Request) -> Option<Answer> {
        match client.ask(request) {
            Ok(answer) => {
                self.note(label, &answer);
                Some(answer)
            }
            Err(failure) => {
                self.note(label, &failure);
                None
            }
        }
    }

    /// Records each approval that the events from `at` on ask for, and sends the decision. With `others`, first sends each
    /// decision about another call of the turn.
    pub(crate) fn decide(
        &mut self,
        client: &mut Client,
        branch: BranchId,
        mut at: usize,
        consents: Consents<'_>,
        others: bool,
    ) {
        for (consent, always) in consents {
            at = client.wait(at, |event| matches!(event, Event::Tool(ToolEvent::Approval { pending: Some(_), .. })));
            let Event::Tool(ToolEvent::Approval { pending: Some(pending), .. }) = client.seen[at].clone() else {
                panic!()
            };
            self.note("asks", &(&pending.tool, &pending.effect, &pending.rule));
            let request = |index| {
                let (consent, always) = (consent.clone(), always.clone());
                Request::Turn(TurnRequest::Consent { branch, index, consent, always })
            };
            if others && pending.index > 0 {
                self.ask(client, "another call", request(pending.index - 1));
            }
            self.ask(client, "word", request(pending.index));
            at += 1;
        }
    }

    /// Records the rows of every table in the store, except tables of binary data and cached token counts, which depend
    /// on earlier plans.
    pub(crate) fn store(&mut self, bench: &Bench) {
        let file = rusqlite::Connection::open(bench.store_path()).unwrap();
        let mut names = file
            .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
            .unwrap();
        let names: Vec<String> = names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        let is_recorded = |name: &&String| !["_fts", "search_", "token_count"].iter().any(|part| name.contains(part));
        for name in names.iter().filter(is_recorded) {
            let mut rows = file.prepare(&format!("SELECT * FROM \"{name}\"")).unwrap();
            let columns: Vec<String> = rows.column_names().into_iter().map(str::to_owned).collect();
            let mut all: Vec<String> = Vec::new();
            let mut found = rows.query([]).unwrap();
            while let Some(row) = found.next().unwrap() {
                let cells = columns
                    .iter()
                    .enumerate()
                    .map(|(at, column)| format!("{column}={}", cell(row.get_ref(at).unwrap())));
                all.push(cells.filter(|cell| !cell.ends_with('=')).collect::<Vec<_>>().join(" "));
            }
            let rows: Vec<String> = all.iter().map(|row| self.beginning(row)).collect();
            let _ = writeln!(self.out, "-- table {name}: {} rows\n{}", all.len(), rows.join("\n"));
        }
    }

    /// The complete record.
    pub(crate) fn end(self) -> String {
        self.out
    }
}

/// The text of a notice or an alarm.
pub(crate) fn notice(event: &Event) -> Option<String> {
    match event {
        Event::Program(ProgramEvent::Notice(text) | ProgramEvent::Alarm(text)) => Some(text.clone()),
        _ => None,
    }
}

fn cell(value: rusqlite::types::ValueRef<'_>) -> String {
    use rusqlite::types::ValueRef;
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => format!("{number:.3}"),
        ValueRef::Text(text) => String::from_utf8_lossy(text).escape_debug().to_string(),
        ValueRef::Blob(bytes) if bytes.len() == 16 => uuid::Uuid::from_slice(bytes).unwrap().to_string(),
        ValueRef::Blob(bytes) if bytes.len() == 32 => Hash(bytes.try_into().unwrap()).to_string(),
        ValueRef::Blob(_) => "bytes".into(),
    }
}

/// Joins short nested values and drops empty fields of a pretty-printed value.
fn compacted(pretty: &str) -> String {
    let lines: Vec<&str> = pretty.lines().filter(|line| !is_empty(line)).collect();
    let mut out = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        at = put(&lines, at, &mut out);
    }
    out.join("\n")
}

fn is_empty(line: &str) -> bool {
    let field = line.trim().trim_end_matches(',').split_once(": ");
    // A time may be zero on one machine and not on another.
    matches!(field, Some((name, "None" | "[]" | "{}" | "\"\"" | "false" | "0")) if !name.ends_with("_ms"))
}

fn depth(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Writes the value that starts at a line, and returns the index after it.
fn put(lines: &[&str], at: usize, out: &mut Vec<String>) -> usize {
    let opens = lines[at].ends_with(['{', '[', '(']);
    let end = (at + 1..lines.len()).find(|next| depth(lines[*next]) <= depth(lines[at]));
    let Some(end) = end.filter(|_| opens) else {
        out.push(lines[at].to_owned());
        return at + 1;
    };
    let mut inner = Vec::new();
    let mut next = at + 1;
    while next < end {
        next = put(lines, next, &mut inner);
    }
    let short: usize = inner.iter().map(|line| line.trim().len() + 1).sum();
    let flat = inner.iter().all(|line| depth(line) == depth(lines[at]) + 4);
    if flat && short + lines[at].len() < WIDTH {
        let inside: Vec<&str> = inner.iter().map(|line| line.trim()).collect();
        out.push(format!("{}{}{}", lines[at], inside.join(" "), lines[end].trim()));
    } else {
        out.push(lines[at].to_owned());
        out.extend(inner);
        out.push(lines[end].to_owned());
    }
    end + 1
}
