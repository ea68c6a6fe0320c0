//! Tools as offered to the model, the ports for running them, and the trace of every call.
//! Not for: running tools (`tools`).

use super::consent::{FileChange, ToolEffect};
use super::visibility::FileVisibility;
use crate::domain::base::hash::{Fields, Hash};
use crate::domain::base::ids::{NodeId, RunId};
use crate::domain::base::named_enum::named_enum;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Stands in [`ToolTrace::word`] for a call that waited for approval and was stopped before anyone decided.
pub const UNDECIDED: &str = "undecided";

/// A tool offered to the model.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// JSON schema of its arguments.
    pub parameters: serde_json::Value,
}

named_enum! {
    /// How a tool call ended.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
    pub enum ToolStatus {
        /// The call succeeded.
        Ok = "ok",
        /// The call failed.
        Failed = "failed",
        /// The call was not allowed.
        Refused = "refused",
        /// A person stopped the call, or the program crashed during it.
        Cancelled = "cancelled",
    }
}

/// The result of a tool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolOutput {
    /// How it ended.
    pub status: ToolStatus,
    /// The text that the model will read.
    pub body: String,
    /// Bytes of the whole result; equals the length of `body` if nothing was cut.
    pub full_bytes: u64,
}

impl ToolOutput {
    /// Creates a result that the model reads in full.
    pub fn whole(status: ToolStatus, body: impl Into<String>) -> Self {
        let body = body.into();
        Self { status, full_bytes: body.len() as u64, body }
    }
}

/// A tool call with its outcome.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ToolTrace {
    /// The model's id for the call.
    pub call_id: String,
    /// The run in which the model called it.
    pub run: RunId,
    /// The node that contains the result; `None` until it is committed.
    pub node: Option<NodeId>,
    /// The key of the turn's user message.
    pub turn: Option<Hash>,
    pub name: String,
    /// The arguments, verbatim.
    pub args: String,
    /// How it ended; `None` while it runs.
    pub status: Option<ToolStatus>,
    /// Bytes of the result.
    pub bytes: u64,
    /// Bytes of the whole result, if it was cut.
    pub truncated_from: Option<u64>,
    /// Estimated tokens of the result.
    pub est_tokens: u32,
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// Milliseconds since 1970.
    pub at: i64,
    /// The first line of the result, at most 100 characters, unsanitized.
    pub preview: String,
    /// Who allowed or denied the call, in a few words; [`UNDECIDED`] if it was stopped before that; `None` if the call
    /// changed nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word: Option<String>,
    /// The exit code, for a command that ended by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// The files that it changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// Additional details.
    #[serde(flatten)]
    pub more: TraceDetails,
}

impl ToolTrace {
    /// Returns the tool's display name.
    pub fn title(&self) -> Cow<'_, str> {
        super::mcp::display_name(&self.name)
    }

    /// Returns the id of the call: ten hexadecimal digits, the same on every machine.
    pub fn id(&self) -> String {
        id(self.run, &self.call_id)
    }
}

/// Returns the id of a tool call from its run and the model's id for it.
pub fn id(run: RunId, call_id: &str) -> String {
    Fields::new("tool call").bytes(run.0.as_bytes()).text(call_id).finish().to_string()[..10].to_owned()
}

/// Details of a tool call in addition to its outcome.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct TraceDetails {
    /// For a failure: the line that explains it, unsanitized.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// For a shortened result: how to read the rest, in a few words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub back: Option<String>,
    /// Bytes of the stored full result, if more is stored than the model read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<u64>,
    /// The confinement of a command, a few words each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub protection: Vec<String>,
    /// The texts of the changed files, by hash.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileTexts>,
    /// For a rerun, which is in no message: the id of the repeated call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<String>,
}

/// A file's texts before and after a call, by hash.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FileTexts {
    /// Path relative to the workspace.
    pub path: String,
    /// The text before; `None` if the file did not exist.
    pub before: Option<Hash>,
    /// The text after; `None` if the file was deleted.
    pub after: Option<Hash>,
}

/// Returns the path that tools use to read the stored result of the call with this id.
pub fn kept_path(id: &str) -> String {
    format!("{KEPT}{id}")
}

/// Prefix of the paths of stored results.
pub const KEPT: &str = "output:";

/// Maximum bytes of a line of a stored result that is read in one piece. A longer line is read in pieces of at most
/// [`PIECE`] bytes.
const LONG_LINE: usize = 1_000;
/// Maximum bytes of a piece of a long line. A piece that matches a search is shown whole.
const PIECE: usize = 240;

/// Returns a stored result with line breaks between the pieces of long lines, as `read_file` and `search` number the
/// lines.
pub fn in_lines(text: &str) -> Cow<'_, str> {
    if text.split('\n').all(|line| line.len() <= LONG_LINE) {
        return Cow::Borrowed(text);
    }
    let mut split = String::with_capacity(text.len() + text.len() / PIECE);
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        while line.len() > LONG_LINE && rest.len() > PIECE {
            let end = rest.floor_char_boundary(PIECE);
            // Preferably split between two values rather than inside one.
            let between = rest[..end].rfind([' ', ',', ';', '}', ']', '>']);
            let (piece, after) = rest.split_at(between.filter(|at| *at > PIECE / 2).map_or(end, |at| at + 1));
            split.push_str(piece);
            split.push('\n');
            rest = after;
        }
        split.push_str(rest);
    }
    Cow::Owned(split)
}

/// Observes a running tool.
pub trait ToolObserver: Sync {
    /// Returns whether a person stopped the call. The tool polls this, and then stops soon.
    fn cancelled(&self) -> bool;

    /// Returns the person's rules about files. A tool checks them for each file that it shows.
    fn file_visibility(&self) -> FileVisibility;

    /// Receives partial output, such as a piece of a command's output.
    fn on_output(&self, _text: &str) {}

    /// Returns the path that `read_file` and `search` use for [`ShortenedResult::full`]; `None` if it is not stored.
    fn full_result_path(&self) -> Option<String> {
        None
    }
}

/// A result that the model does not read in full.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShortenedResult {
    /// How to read the rest, in a few words.
    pub back: String,
    /// The full result; `None` if it can be read elsewhere.
    pub full: Option<String>,
}

/// The outcome of a tool call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolOutcome {
    /// The result that the model reads.
    pub output: ToolOutput,
    pub changed: Vec<FileChange>,
    /// The exit code, for a command that ended by itself.
    pub exit: Option<i32>,
    /// How the result was shortened; `None` if it was not.
    pub cut: Option<ShortenedResult>,
}

impl ToolOutcome {
    /// Returns an outcome that changed no files.
    pub fn unchanged(output: ToolOutput) -> Self {
        Self { output, changed: Vec::new(), exit: None, cut: None }
    }
}

/// The port for running tools. The engine does not know which tools exist.
pub trait RunTools: Send + Sync {
    /// Returns the offered tools, in a fixed order.
    fn specs(&self) -> Vec<ToolSpec>;

    /// Determines the effect of a call without changing anything.
    ///
    /// # Errors
    /// The result that the model reads, if the call is impossible.
    fn effect(&self, _name: &str, _args: &str) -> Result<ToolEffect, ToolOutput> {
        Ok(ToolEffect::Read { what: String::new() })
    }

    /// Carries out a call: exactly its effect, with only the chosen hunks of files (see
    /// [`Consent::Yes`](crate::domain::tool::consent::Consent)). A file that has changed since the effect was
    /// determined is left unchanged, and the result says so.
    fn carry_out(
        &self,
        name: &str,
        args: &str,
        _effect: &ToolEffect,
        _hunks: &[Vec<bool>],
        watch: &dyn ToolObserver,
    ) -> ToolOutcome {
        ToolOutcome::unchanged(self.run(name, args, &|| watch.cancelled()))
    }

    /// Runs a call that only reads, without a person's rules. The tool polls `cancelled` and stops soon after it
    /// returns true.
    fn run(&self, name: &str, args: &str, cancelled: &dyn Fn() -> bool) -> ToolOutput;

    /// Runs `read_file` or `search` on `text`, the stored result of an earlier call whose path was given in place of a
    /// file's.
    fn over(&self, name: &str, _args: &str, _text: &str) -> ToolOutcome {
        let why = format!("Failed: {name} can't read stored results.");
        ToolOutcome::unchanged(ToolOutput::whole(ToolStatus::Failed, why))
    }

    /// Returns the maximum bytes of a result that are stored for [`RunTools::over`] if the model reads less; 0 if these
    /// tools cannot read stored results.
    fn keeps(&self) -> usize {
        0
    }

    /// Returns the paths of the workspace's files that neither an ignore rule nor the person's rules exclude, sorted
    /// and up to a maximum; and whether there are more.
    fn files(&self, _most: usize, _sight: &FileVisibility) -> (Vec<String>, bool) {
        (Vec::new(), false)
    }

    /// Returns the whole text of a workspace file that the rules allow, if it has at most `_most` bytes.
    ///
    /// # Errors
    /// A sentence that says why it cannot be read.
    fn text(&self, path: &str, _most: u64, _sight: &FileVisibility) -> Result<String, String> {
        Err(format!("{path} can't be read here."))
    }

    /// Sets the text of a file (`None` deletes it) if its current text has the expected hash (`None`: it does not
    /// exist). For undo and redo.
    ///
    /// # Errors
    /// A sentence; the file was left unchanged.
    fn put_back(&self, path: &str, _expected: Option<Hash>, _text: Option<&str>) -> Result<(), String> {
        Err(format!("{path} can't be changed: these tools are read-only."))
    }
}

/// Returns the trace of a call that ended with this status, for tests.
#[cfg(test)]
pub(crate) fn sample(name: &str, args: &str, status: ToolStatus, preview: &str) -> ToolTrace {
    ToolTrace {
        call_id: "c".into(),
        name: name.into(),
        args: args.into(),
        status: Some(status),
        bytes: 1,
        est_tokens: 1,
        duration_ms: 1,
        preview: preview.into(),
        ..ToolTrace::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn long_lines_are_split_without_loss(
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
