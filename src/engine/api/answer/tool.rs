//! Answers about tools, files, and the code of the workspace.
//! Not for: calls of the model (`call`).

use super::super::traces::TraceWhole;
use crate::domain::code::{CodeMap, CodeSearchResult, IndexStatus, NamedSymbol, ProjectList, SymbolSource};
use crate::domain::summary::ModuleVersion;
use crate::domain::tool::{Rule, RuleScope, ToolTrace, cards, folder_settings};
use std::sync::Arc;

/// An answer about tools and the workspace.
#[derive(Clone, PartialEq, Debug)]
pub enum ToolAnswer {
    ToolList(Box<cards::ToolList>),
    /// Rules for tool calls, each with its scope.
    Rules(Vec<(RuleScope, Rule)>),
    /// Tool calls, oldest first.
    Traces(Vec<ToolTrace>),
    /// One tool call in full.
    Trace(Box<TraceWhole>),
    /// Files that match the typed text.
    Files(FileList),
    /// The text of an attachment.
    Attached {
        text: Arc<str>,
        /// The number of likely secrets that are masked.
        masked: usize,
    },
    /// The folder's own settings file, if any.
    FolderSettings(Option<Box<folder_settings::FolderSettings>>),
    /// Rules and skills of the workspace.
    Project(Box<ProjectList>),
    /// Module summaries, all versions.
    Modules(Vec<ModuleVersion>),
    /// The state of a workspace's code index.
    Indexed(Box<IndexStatus>),
    /// Code that matches a query.
    Code(Box<CodeSearchResult>),
    /// Symbols that match the typed text.
    Symbols(Vec<NamedSymbol>),
    /// A symbol's source.
    Source(Box<SymbolSource>),
    /// The map of a workspace's code.
    Map(Box<CodeMap>),
}

/// File names of the workspace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FileList {
    /// Paths relative to the workspace, best match first.
    pub paths: Vec<String>,
    /// Why the list is empty or incomplete; may be empty.
    pub note: String,
}
