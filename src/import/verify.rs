//! Checks a bundle, and finds a recorded call in one. Reads the file line by line.
//! Not for: importing its messages (`bundle`).

use super::notes::Notes;
use crate::domain::base::record_chain::{ChainReader, heading};
use crate::domain::base::{Failure, Hash};
use crate::domain::call::bundle::{BundleCounts, BundleReport, CheckedCall, RecordKind, RecordedCall, VERSION};
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};
use std::io::{BufRead, Read as _};

/// The maximum size of a record in bytes.
const MAX_RECORD: u64 = 512 << 20;

/// A record: its kind and its fields.
type Record = (RecordKind, Map<String, Value>);

/// Checks every record of a bundle: its hash, its place, and that the records it names are there.
///
/// # Errors
/// Fails if the file can't be read or is not a bundle. What is wrong with a bundle is reported.
pub fn verify(input: &mut dyn BufRead, name: &str) -> Result<BundleReport, Failure> {
    let mut file = BundleFile::new(input, name);
    while file.next()?.is_some() {}
    Ok(file.finish())
}

/// Finds a call in a bundle by the beginning of its id, by the number of its turn, or by `last`, and checks the bundle.
///
/// # Errors
/// Fails if the file can't be read, is not a bundle, or contains no such call.
pub fn recorded(input: &mut dyn BufRead, name: &str, call: &str) -> Result<CheckedCall, Failure> {
    let mut file = BundleFile::new(input, name);
    let mut answers: HashMap<String, String> = HashMap::new();
    let mut found: Option<(RecordedCall, Option<String>)> = None;
    while let Some((kind, fields)) = file.next()? {
        if kind == RecordKind::Message {
            answers.insert(text(&fields, "id"), text(&fields, "content"));
        } else if kind == RecordKind::Call && names(&fields, call) {
            let other = found.as_ref().filter(|(one, _)| one.run_id != text(&fields, "run_id"));
            if other.is_some() && call != "last" && call.parse::<u32>().is_err() {
                return Err(Failure::user(format!("{call:?} matches several calls.")).todo("Type more of the id."));
            }
            let answer = fields.get("answer").and_then(Value::as_str).map(str::to_owned);
            found = Some((call_of(&fields, file.request.clone()), answer));
        }
    }
    let Some((mut recorded, answer)) = found else {
        let what = format!("{name} contains no call {call:?}.");
        return Err(Failure::user(what).todo("Name a turn number, `last`, or the beginning of a run id."));
    };
    recorded.answer = answer.and_then(|id| answers.remove(&id));
    Ok((recorded, file.finish()))
}

/// Whether this is the requested call.
fn names(fields: &Map<String, Value>, call: &str) -> bool {
    let turn = fields.get("turn").and_then(Value::as_u64);
    call == "last" || turn.is_some_and(|turn| turn.to_string() == call) || text(fields, "run_id").starts_with(call)
}

fn text(fields: &Map<String, Value>, name: &str) -> String {
    fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn call_of(fields: &Map<String, Value>, request: Option<String>) -> RecordedCall {
    let card = &fields.get("card").cloned().unwrap_or_default();
    let part = |name: &str| card[name].as_str().unwrap_or_default().to_owned();
    RecordedCall {
        run_id: text(fields, "run_id"),
        plan_id: text(fields, "plan_id"),
        model: part("model"),
        status: part("status"),
        at: card["at"].as_i64().unwrap_or_default(),
        est_total: card["est_total"].as_u64().and_then(|tokens| u32::try_from(tokens).ok()).unwrap_or_default(),
        usage: serde_json::from_value(card["usage"].clone()).unwrap_or_default(),
        sent_digest: text(fields, "request_digest").parse().unwrap_or_default(),
        request,
        request_left_out: fields.get("request_left_out").and_then(Value::as_str).map(str::to_owned),
        answer: None,
    }
}

/// A bundle that is being read.
struct BundleFile<'a> {
    input: &'a mut dyn BufRead,
    name: &'a str,
    chain: ChainReader,
    line: u64,
    notes: Notes,
    report: BundleReport,
    /// The ids of messages and of plans so far.
    known: HashSet<String>,
    /// The request of the last call that has one.
    previous: String,
    /// The request of the last call.
    request: Option<String>,
    ended: bool,
}

impl<'a> BundleFile<'a> {
    fn new(input: &'a mut dyn BufRead, name: &'a str) -> Self {
        Self {
            input,
            name,
            chain: ChainReader::default(),
            line: 0,
            notes: Notes::default(),
            report: BundleReport::default(),
            known: HashSet::new(),
            previous: String::new(),
            request: None,
            ended: false,
        }
    }

    /// Reads and checks lines up to the next readable record.
    fn next(&mut self) -> Result<Option<Record>, Failure> {
        loop {
            let mut line = Vec::new();
            let read = (&mut *self.input).take(MAX_RECORD).read_until(b'\n', &mut line);
            read.map_err(|error| Failure::user(format!("{} can't be read: {error}.", self.name)))?;
            if line.is_empty() {
                if self.line == 0 {
                    return Err(self.not_a_bundle());
                }
                return Ok(None);
            }
            self.line += 1;
            let looks_right = heading(&line).is_some() || memchr::memmem::find(&line, b"\"bundle_hash\":").is_some();
            if self.line == 1 && !looks_right {
                return Err(self.not_a_bundle());
            }
            if let Some(record) = self.record(&line)? {
                return Ok(Some(record));
            }
        }
    }

    fn not_a_bundle(&self) -> Failure {
        Failure::user(format!("{} is not a pleach bundle.", self.name))
            .todo("`pleach export talk.bundle` writes one. `pleach import` reads other formats.")
    }

    /// Checks a line. Returns its record if it can be read.
    fn record(&mut self, line: &[u8]) -> Result<Option<Record>, Failure> {
        self.report.records += 1;
        let fields = serde_json::from_slice::<Map<String, Value>>(line).ok();
        let checked = self.chain.check(line);
        if let Err(fault) = &checked {
            let id = fields.as_ref().and_then(|fields| fields.get("id").or(fields.get("run_id"))?.as_str());
            let id = id.map(|id| format!(" ({id})")).unwrap_or_default();
            self.problem(format!("{fault}{id}"));
        }
        let (Some(fields), Some((name, _))) = (fields, heading(line)) else { return Ok(None) };
        let Some(kind) = RecordKind::from_name(name) else {
            self.problem(format!("records of the kind {name:?} are unknown"));
            return Ok(None);
        };
        if self.ended {
            self.problem("this record follows the last one");
        }
        if (kind == RecordKind::Header) != (self.line == 1) {
            self.problem("the header is not the first record");
        }
        self.report.counts.add(kind);
        match kind {
            RecordKind::Header => self.header(&fields)?,
            RecordKind::Message | RecordKind::Plan => drop(self.known.insert(text(&fields, "id"))),
            RecordKind::Call => self.call(&fields),
            RecordKind::End => self.end(&fields),
            RecordKind::Branch | RecordKind::Search | RecordKind::ToolCall => {}
        }
        Ok(Some((kind, fields)))
    }

    fn problem(&mut self, why: impl Into<String>) {
        self.notes.skip(format!("line {}", self.line), why);
    }

    fn header(&mut self, fields: &Map<String, Value>) -> Result<(), Failure> {
        (self.report.program, self.report.title) = (text(fields, "program"), text(fields, "title"));
        if fields.get("version").and_then(Value::as_u64).is_some_and(|version| version > VERSION) {
            let what = format!("{} was written by a newer version: {}.", self.name, self.report.program);
            return Err(Failure::user(what).todo("Update pleach to check it."));
        }
        Ok(())
    }

    /// Checks that the records that a call names are there, and that its request has the digest of what was sent.
    fn call(&mut self, fields: &Map<String, Value>) {
        let plan = text(fields, "plan_id");
        if !fields.contains_key("plan_left_out") && !self.known.contains(&plan) {
            self.problem(format!("the plan of this call is missing ({plan})"));
        }
        for name in ["question", "answer"] {
            let Some(id) = fields.get(name).and_then(Value::as_str) else { continue };
            if !self.known.contains(id) {
                self.problem(format!("the {name} of this call is missing ({id})"));
            }
        }
        self.request = None;
        let Some(rest) = fields.get("request").and_then(Value::as_str) else {
            self.report.requests_left_out += 1;
            return;
        };
        let same =
            fields.get("request_from_previous").and_then(Value::as_u64).and_then(|same| usize::try_from(same).ok());
        let start = same.and_then(|same| self.previous.get(..same));
        let body = start.map(|start| format!("{start}{rest}"));
        match body.filter(|body| Hash::of(body.as_bytes()).to_string() == text(fields, "request_digest")) {
            Some(body) => {
                self.report.requests_matched += 1;
                self.previous.clone_from(&body);
                self.request = Some(body);
            }
            None => self.problem("the request does not have the digest of what was sent"),
        }
    }

    fn end(&mut self, fields: &Map<String, Value>) {
        self.ended = true;
        let value = Value::Object(fields.clone());
        self.report.masked = value["masked"].as_u64().unwrap_or_default();
        self.report.digest = text(fields, "bundle_hash").parse().ok();
        let stated = serde_json::from_value::<BundleCounts>(value);
        if stated.is_ok_and(|stated| stated != self.report.counts) {
            self.problem("the numbers of records differ from those that this record states");
        }
    }

    fn finish(mut self) -> BundleReport {
        if !self.ended {
            let last = self.line;
            self.notes.skip(format!("after line {last}"), "the bundle is cut off: its last record is missing");
            self.report.digest = None;
        }
        self.report.problems = self.notes.finish();
        self.report
    }
}
