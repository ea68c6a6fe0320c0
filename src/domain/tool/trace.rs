//! Tools as the model sees them, calls to them, and the trace that every call leaves.
//! Not for: running tools (`tools`).

use super::consent::{FileChange, ToolEffect};
use super::visibility::FileVisibility;
use crate::domain::base::hash::{Fields, Hash};
use crate::domain::base::ids::{NodeId, RunId};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A tool offered to the model.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// One sentence for the model.
    pub description: String,
    /// JSON schema of its arguments.
    pub parameters: serde_json::Value,
}

/// How a call to a tool ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolStatus {
    /// It did what was asked.
    Ok,
    /// It could not.
    Failed,
    /// It was not allowed.
    Refused,
    /// A person stopped it, or the program died meanwhile.
    Cancelled,
}

impl ToolStatus {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What a tool gave back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolOutput {
    /// How it ended.
    pub status: ToolStatus,
    /// What the model will read.
    pub body: String,
    /// Bytes there were before anything was cut; equals the body's length when nothing was.
    pub full_bytes: u64,
}

/// One call to a tool, with what became of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ToolTrace {
    /// The model's id for the call.
    pub call_id: String,
    /// The run in which the model asked.
    pub run: RunId,
    /// The node that holds the result, once it is committed.
    pub node: Option<NodeId>,
    /// The key of the turn's user message.
    pub turn: Option<Hash>,
    /// The tool.
    pub name: String,
    /// The arguments, verbatim.
    pub args: String,
    /// How it ended; `None` while it runs.
    pub status: Option<ToolStatus>,
    /// Bytes of the result.
    pub bytes: u64,
    /// Bytes before it was cut, where it was.
    pub truncated_from: Option<u64>,
    /// Tokens of the result, estimated.
    pub est_tokens: u32,
    /// Milliseconds that it took.
    pub duration_ms: u64,
    /// Milliseconds since 1970.
    pub at: i64,
    /// The first line of the result, at most 100 characters, unsanitised.
    pub preview: String,
    /// Who allowed or refused it, in a few words, where it was more than looking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word: Option<String>,
    /// The exit code of a command that ended by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// The files that it changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// What else is known of it.
    #[serde(flatten)]
    pub more: More,
}

impl ToolTrace {
    /// The tool's name for people.
    #[must_use]
    pub fn title(&self) -> Cow<'_, str> {
        super::mcp::shown(&self.name)
    }

    /// Its id: the same on every machine, ten hexadecimal digits.
    #[must_use]
    pub fn id(&self) -> String {
        id(self.run, &self.call_id)
    }
}

/// The id of a call to a tool.
#[must_use]
pub fn id(run: RunId, call_id: &str) -> String {
    Fields::new("tool call").bytes(run.0.as_bytes()).text(call_id).finish().to_string()[..10].to_owned()
}

/// What is known of a call beside its outcome.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct More {
    /// Where it failed: the line that tells why, unsanitised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Where something was cut: how the rest is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub back: Option<String>,
    /// Bytes of the full result that the store keeps, where it keeps more than the model read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<u64>,
    /// What kept a command in, a few words each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub protection: Vec<String>,
    /// The texts of the files that it changed, by their hashes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Texts>,
    /// The call that a person ran again by this one, which no message holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<String>,
}

/// A file's text before and after a call, by hash.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Texts {
    /// Beneath the workspace.
    pub path: String,
    /// None where it did not exist.
    pub before: Option<Hash>,
    /// None where it is gone.
    pub after: Option<Hash>,
}

/// The path by which tools read what is kept of a call's result, by the call's id.
#[must_use]
pub fn kept_path(id: &str) -> String {
    format!("{KEPT}{id}")
}

/// What such a path begins with.
pub const KEPT: &str = "output:";

/// Bytes of a line of a kept result that is read as one; a longer one is read in pieces of at most [`PIECE`] bytes.
const LONG_LINE: usize = 1_000;
/// See [`LONG_LINE`]. A piece is shown whole where it matches a search.
const PIECE: usize = 240;

/// A kept result as `read_file` and `search` count its lines: of a line too long to be read in parts, each piece is a line.
#[must_use]
pub fn in_lines(text: &str) -> Cow<'_, str> {
    if text.split('\n').all(|line| line.len() <= LONG_LINE) {
        return Cow::Borrowed(text);
    }
    let mut made = String::with_capacity(text.len() + text.len() / PIECE);
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        while line.len() > LONG_LINE && rest.len() > PIECE {
            let mut end = PIECE;
            while !rest.is_char_boundary(end) {
                end -= 1;
            }
            // Better between two values than within one.
            let between = rest[..end].rfind([' ', ',', ';', '}', ']', '>']);
            let (piece, after) = rest.split_at(between.filter(|at| *at > PIECE / 2).map_or(end, |at| at + 1));
            made.push_str(piece);
            made.push('\n');
            rest = after;
        }
        made.push_str(rest);
    }
    Cow::Owned(made)
}

/// What watches a tool at work.
pub trait ToolObserver: Sync {
    /// Whether a person stopped it; asked now and then. When true the tool stops soon.
    fn cancelled(&self) -> bool;

    /// The person's rules about files: a tool asks them for each file that it shows.
    fn sight(&self) -> FileVisibility;

    /// Something that it said meanwhile: a piece of a command's output.
    fn said(&self, _text: &str) {}

    /// The path under which `read_file` and `search` find what is handed over as [`ShortenedResult::full`]; none where it is not kept.
    fn kept_as(&self) -> Option<String> {
        None
    }
}

/// A result of which the model does not read all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShortenedResult {
    /// How the rest is reached, in a few words.
    pub back: String,
    /// The full result, where it would be lost otherwise.
    pub full: Option<String>,
}

/// What a tool left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Done {
    /// What the model reads.
    pub output: ToolOutput,
    /// The files that it changed, as they were and are.
    pub changed: Vec<FileChange>,
    /// The exit code of a command that ended by itself.
    pub exit: Option<i32>,
    /// What is not in the output.
    pub cut: Option<ShortenedResult>,
}

impl Done {
    /// One that changed nothing.
    #[must_use]
    pub fn said(output: ToolOutput) -> Self {
        Self { output, changed: Vec::new(), exit: None, cut: None }
    }
}

/// Something that can run tools for the model: a port, so that the engine need not know which tools there are.
pub trait RunTools: Send + Sync {
    /// The tools on offer, in a fixed order.
    fn specs(&self) -> Vec<ToolSpec>;

    /// What a call would do. Nothing is changed by asking.
    ///
    /// # Errors
    /// It cannot be done: what the model reads about that.
    fn deed(&self, _name: &str, _args: &str) -> Result<ToolEffect, ToolOutput> {
        Ok(ToolEffect::Look { what: String::new() })
    }

    /// Does one call to its end: exactly the deed, of its files only the chosen hunks (see
    /// [`Consent::Yes`](crate::domain::tool::consent::Consent)). A file that is no longer what the deed saw is left alone, and that said.
    fn carry_out(
        &self,
        name: &str,
        args: &str,
        _deed: &ToolEffect,
        _hunks: &[Vec<bool>],
        watch: &dyn ToolObserver,
    ) -> Done {
        Done::said(self.run(name, args, &|| watch.cancelled()))
    }

    /// Runs one call that only looks, under no rule of a person's. `cancelled` is asked now and then; when true the tool stops soon.
    fn run(&self, name: &str, args: &str, cancelled: &dyn Fn() -> bool) -> ToolOutput;

    /// `read_file` or `search` over what is kept of an earlier result, named so instead of by a file's path.
    fn over(&self, name: &str, _args: &str, _text: &str) -> Done {
        let body = format!("Failed: {name} does not read what was kept of a result.");
        Done::said(ToolOutput { status: ToolStatus::Failed, full_bytes: body.len() as u64, body })
    }

    /// Bytes of a result that are kept for `over` where the model reads less; 0 where it reads nothing kept.
    fn keeps(&self) -> usize {
        0
    }

    /// Paths of the workspace's files that no ignore rule and no rule of the person's leaves out, in order, at most so many; and whether there are more.
    fn files(&self, _most: usize, _sight: &FileVisibility) -> (Vec<String>, bool) {
        (Vec::new(), false)
    }

    /// The whole text of a file of the workspace that the rules let be read, of at most so many bytes. An error is a sentence.
    fn text(&self, path: &str, _most: u64, _sight: &FileVisibility) -> Result<String, String> {
        Err(format!("{path} can't be read here."))
    }

    /// Gives a file the text that it had before or after a change (none: it goes), if it holds what is expected (none: it
    /// does not exist). For undo and redo.
    ///
    /// # Errors
    /// A sentence: the file was left alone.
    fn put_back(&self, path: &str, _expected: Option<Hash>, _text: Option<&str>) -> Result<(), String> {
        Err(format!("{path} can't be changed: these tools only read."))
    }
}

/// A call that ended so, for tests.
#[cfg(test)]
pub(crate) fn sample(name: &str, args: &str, status: ToolStatus, preview: &str) -> ToolTrace {
    ToolTrace {
        call_id: "c".into(),
        run: RunId(uuid::Uuid::nil()),
        node: None,
        turn: None,
        name: name.into(),
        args: args.into(),
        status: Some(status),
        bytes: 1,
        truncated_from: None,
        est_tokens: 1,
        duration_ms: 1,
        at: 0,
        preview: preview.into(),
        word: None,
        exit: None,
        changed: Vec::new(),
        more: More::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn long_lines_are_read_in_pieces_and_nothing_is_lost(
            lines in prop::collection::vec("[a-z ,é]{0,1500}", 1..4),
        ) {
            let text = lines.join("\n");
            let lines = in_lines(&text);
            prop_assert_eq!(lines.replace('\n', ""), text.replace('\n', ""));
            prop_assert!(lines.split('\n').all(|line| line.len() <= LONG_LINE));
            let longest = text.split('\n').map(str::len).max().unwrap_or(0);
            prop_assert!(longest > LONG_LINE || lines == text);
        }
    }
}
