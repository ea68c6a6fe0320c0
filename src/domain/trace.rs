//! Tools as the model sees them, calls to them, and the trace that every call leaves.
//! Not for: running tools (`tools`).

use super::consent::{Deed, FileChange};
use super::hash::Hash;
use super::ids::{NodeId, RunId};
use serde::{Deserialize, Serialize};

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
}

/// What watches a tool at work.
pub trait Watch: Sync {
    /// Whether a person stopped it; asked now and then. When true the tool stops soon.
    fn cancelled(&self) -> bool;

    /// Something that it said meanwhile: a piece of a command's output.
    fn said(&self, _text: &str) {}
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
}

impl Done {
    /// One that changed nothing.
    #[must_use]
    pub fn said(output: ToolOutput) -> Self {
        Self { output, changed: Vec::new(), exit: None }
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
    fn deed(&self, _name: &str, _args: &str) -> Result<Deed, ToolOutput> {
        Ok(Deed::Look { what: String::new() })
    }

    /// Does one call to its end: exactly the deed, of its files only the chosen hunks (see
    /// [`Consent::Yes`](super::consent::Consent)). A file that is no longer what the deed saw is left alone, and that said.
    fn carry_out(&self, name: &str, args: &str, _deed: &Deed, _hunks: &[Vec<bool>], watch: &dyn Watch) -> Done {
        Done::said(self.run(name, args, &|| watch.cancelled()))
    }

    /// Runs one call that only looks. `cancelled` is asked now and then; when true the tool stops soon.
    fn run(&self, name: &str, args: &str, cancelled: &dyn Fn() -> bool) -> ToolOutput;

    /// Gives a file the text that it had before or after a change (none: it goes), if it holds what is expected (none: it
    /// does not exist). For undo and redo.
    ///
    /// # Errors
    /// A sentence: the file was left alone.
    fn put_back(&self, path: &str, _expected: Option<Hash>, _text: Option<&str>) -> Result<(), String> {
        Err(format!("{path} cannot be changed: these tools only look."))
    }
}
