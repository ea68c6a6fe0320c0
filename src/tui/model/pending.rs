//! The purposes of pending requests, which route each answer to the part of the screen that waits for it. Each family
//! belongs to the screen, or the part of the chat, whose update handles its answers.
//! Not for: handling answers (`update::answers`).

use crate::domain::base::BranchId;
use crate::domain::base::families::from_families;
use crate::domain::planning::Draft;
use crate::domain::summary::SummaryAuthor;
use crate::tui::chat::model::pending::{ComposerPending, MessagePending, TurnPending};
use crate::tui::screens::calls::model::CallsPending;
use crate::tui::screens::editor::model::EditorPending;
use crate::tui::screens::memories::model::MemoriesPending;
use crate::tui::screens::picker::model::PickerPending;
use crate::tui::screens::race::model::RacePending;
use crate::tui::screens::raw_request::model::RawRequestPending;
use crate::tui::screens::request::model::RequestPending;
use crate::tui::screens::search::model::SearchPending;
use crate::tui::screens::summaries::model::SummaryPending;
use crate::tui::screens::tools::model::ToolsPending;
use crate::tui::screens::traces::model::TracePending;
use std::any::TypeId;
use std::collections::HashMap;

/// The purpose of a pending request.
#[derive(Clone, PartialEq, Debug)]
pub enum Pending {
    /// Planning and sending messages.
    Turn(TurnPending),
    /// Writing a message.
    Composer(ComposerPending),
    /// Showing, editing, and copying messages.
    Message(MessagePending),
    /// Opening sessions and changing branches.
    Session(SessionPending),
    /// The program itself.
    Program(ProgramPending),
    /// The rules about tool calls.
    Rules,
    /// A side question.
    Aside,
    /// Two branches side by side.
    Compare,
    /// The figures of calls.
    Usage,
    /// The next request under other settings, on this branch.
    WhatIf(BranchId),
    /// The models of the profile, for the next request under other models on this branch.
    WhatIfModels(BranchId),
    /// The list of calls.
    Calls(CallsPending),
    /// The editor of versions.
    Editor(EditorPending),
    /// The list of memories.
    Memories(MemoriesPending),
    /// The lists of sessions and models.
    Picker(PickerPending),
    /// Races and replays.
    Race(RacePending),
    /// The exact request.
    RawRequest(RawRequestPending),
    /// The rows of the next request.
    Request(RequestPending),
    /// The search in all sessions.
    Search(SearchPending),
    /// Drafts and accepted summaries.
    Summary(SummaryPending),
    /// The list of tools.
    Tools(ToolsPending),
    /// A tool call.
    Trace(TracePending),
    /// A state block that is restored or written.
    State(SummaryAuthor),
    /// A change whose answer is only a notice.
    Act,
}

from_families!(
    Pending: Turn(TurnPending), Composer(ComposerPending), Message(MessagePending), Session(SessionPending),
    Program(ProgramPending), Calls(CallsPending), Editor(EditorPending), Memories(MemoriesPending),
    Picker(PickerPending), Race(RacePending), RawRequest(RawRequestPending), Request(RequestPending),
    Search(SearchPending), Summary(SummaryPending), Tools(ToolsPending), Trace(TracePending),
);

/// The purpose of a request about a session or its branches.
#[derive(Clone, PartialEq, Debug)]
pub enum SessionPending {
    Open,
    /// To create a session.
    New,
    /// To fork a branch and, if there is a draft, send it on the fork.
    Fork(Option<Draft>),
    /// To switch to another branch.
    Switch,
    /// To find the session with this name, which the line deletes.
    Delete {
        /// The name, or the beginning of an id.
        name: String,
        /// The line.
        line: String,
    },
}

/// The purpose of a request about the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProgramPending {
    /// To read the configuration again; true if a person asked for it.
    Reload(bool),
    /// To look for servers and report their state.
    Doctor,
    /// To show the folder's own settings file.
    FolderSettings,
    /// To list the models of a profile, for the start page.
    Models,
    /// To list the models of a profile, for a model that was typed.
    TypedModel,
}

/// The pending requests, by their ticket numbers.
#[derive(Debug, Default)]
pub struct Requests {
    /// The purpose of each request.
    pub pending: HashMap<u64, Pending>,
    /// The last ticket number.
    pub last: u64,
    /// The type of the screen that was topmost when each request was sent, unless it was sent from the chat.
    screens: HashMap<u64, TypeId>,
}

impl Requests {
    /// Stores the purpose of a new request and returns its ticket number.
    pub fn add(&mut self, pending: Pending) -> u64 {
        self.last += 1;
        self.pending.insert(self.last, pending);
        self.last
    }

    /// Records the screen from which the requests after the ticket `before` were sent.
    pub fn sent_from(&mut self, before: u64, screen: Option<TypeId>) {
        self.screens.extend(screen.into_iter().flat_map(|screen| (before + 1..=self.last).map(move |at| (at, screen))));
    }

    /// The screen from which an answered request was sent; the record is removed.
    pub fn take_screen(&mut self, ticket: u64) -> Option<TypeId> {
        self.screens.remove(&ticket)
    }

    /// Whether a matching request is pending.
    pub fn any(&self, such: impl Fn(&Pending) -> bool) -> bool {
        self.pending.values().any(such)
    }
}
