//! What lies over the chat: overlay, reader, tool traces, pickers, questions, editors, summaries.
//! Not for: the overlay's own rows (`screens::request`), lists (`screens::picker`), drafts (`screens::summaries`), calls
//! (`screens::calls::model`) or things with their versions (`screens::editor::model`).

use super::{Action, When};
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::{BranchId, MemoryId, NodeId, RunId, SessionId};
use crate::domain::conversation::mark::Atom;
use crate::domain::tool::consent::{Rule, RuleScope};
use crate::tui::chat::model::composer::Draft;
use crate::tui::screens::approval::model::Ask;
use crate::tui::screens::aside::model::AsidePane;
use crate::tui::screens::calls::model::{Calls, DiffView, Tale};
use crate::tui::screens::compare::model::CompareView;
use crate::tui::screens::editor::model::Workshop;
use crate::tui::screens::picker::model::Picker;
use crate::tui::screens::race::model::Arena;
use crate::tui::screens::raw_request::model::Raw;
use crate::tui::screens::request::model::Overlay;
use crate::tui::screens::search::model::Finder;
use crate::tui::screens::summaries::model::{Desk, Shelf};
use crate::tui::screens::tools::model::Rack;
use crate::tui::screens::traces::model::Traces;
use crate::tui::screens::tree::model::Grove;
use crate::tui::screens::usage::model::Sheet;
use crate::tui::screens::what_if::model::Strip;
use std::fmt;
use std::sync::Arc;
use tui_textarea::TextArea;

/// One line of a doctor's report.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// What was looked at.
    pub subject: String,
    /// Whether it is well.
    pub ok: Option<bool>,
    /// What was found.
    pub text: String,
    /// What to do.
    pub todo: String,
}

/// A text to read.
#[derive(Clone, Debug)]
pub struct Reader {
    /// Its title.
    pub title: String,
    /// The text, unsanitised.
    pub text: Arc<str>,
    /// Shown so exactly that nothing is hidden, instead of as Markdown.
    pub exact: bool,
    /// Rows scrolled past.
    pub scroll: usize,
    /// Rows it had and rows there were room for, when last drawn.
    pub seen: (usize, usize),
    /// Tells texts apart for the view's cache.
    pub key: Hash,
}

impl Reader {
    /// A text to read.
    #[must_use]
    pub fn new(title: impl Into<String>, text: impl Into<Arc<str>>, exact: bool) -> Self {
        let text = text.into();
        let key = Hash::of(text.as_bytes());
        Self { title: title.into(), text, exact, scroll: 0, seen: (0, 0), key }
    }

    /// Scrolls.
    pub fn step(&mut self, by: i64) {
        let last = self.seen.0.saturating_sub(self.seen.1);
        let here = i64::try_from(self.scroll).unwrap_or(0).saturating_add(by).max(0);
        self.scroll = usize::try_from(here).unwrap_or(0).min(last);
    }
}

/// What a choice in a question does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Act {
    /// Ask for a file for what the store could not take.
    SaveUnsaved,
    /// Quit, whatever is lost.
    Leave,
    /// Only closes the question.
    Close,
    /// Runs an action.
    Run(Action),
    /// Runs a line that begins with a slash.
    Command(String),
    /// Forks the branch and sends the draft there.
    ForkAndSend(BranchId, Draft),
    /// Sends the draft when the open turn has ended.
    Wait(BranchId, Draft),
    /// Sends what waits in line.
    SendQueued(BranchId),
    /// Sets the prompt budget.
    Budget(u32),
    /// Takes another policy.
    Policy(String),
    /// Takes pins off.
    Unpin(Vec<Atom>),
    /// Opens the list of models.
    Models,
    /// Deletes a session for good.
    DeleteSession(SessionId),
    /// Throws the draft of a summary away.
    RejectDraft(BranchId),
    /// Has the draft on the screen written anew.
    Redraft,
    /// Leaves an edited text as it was before.
    Forget,
    /// Makes a stored call again as it was.
    Replay(RunId),
    /// Chooses a model to make it again with.
    ReplayModel(RunId),
    /// Chooses an item to leave out of it.
    ReplayWithout(RunId),
    /// Trusts the folder or not.
    Trust(bool),
    /// Uses the servers that the folder's file of this digest names, or not.
    FolderServers(Hash, bool),
    /// Uses the folder's settings of this digest, or not.
    FolderSettings(Hash, bool),
    /// Does the call that waits there, and what fits the rule from now on.
    Always(BranchId, usize, RuleScope, Rule),
}

/// A question.
#[derive(Clone, Debug)]
pub struct Question {
    /// Its title.
    pub title: String,
    /// What there is to know.
    pub words: Vec<String>,
    /// The choices: a key, words, what it does.
    pub choices: Vec<(char, String, Act)>,
    /// The selected choice.
    pub cursor: usize,
}

/// What a typed line is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// A branch's name.
    RenameBranch(BranchId),
    /// A session's title.
    RenameSession(Option<SessionId>),
    /// A new session's title.
    NewSession,
    /// A new memory, perhaps with its kind and a colon before it.
    Remember,
    /// Other words for a memory.
    EditMemory(MemoryId),
    /// The name of a copy of this policy.
    CopyPolicy(String),
    /// The file for what the store could not take.
    SaveUnsaved,
    /// A message's name.
    Label(NodeId),
    /// What looking at code keeps to on the branch stood on.
    Focus,
    /// Why a call to a tool that waits there is refused.
    Refuse(BranchId, usize),
}

/// A line to type.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// Its title.
    pub title: String,
    /// What was typed.
    pub text: String,
    /// What it is for.
    pub purpose: Purpose,
}

/// What an edited text is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Edited {
    /// The state block of a branch.
    State(BranchId),
    /// The draft of a summary.
    Draft {
        /// On which branch.
        branch: BranchId,
        /// Which.
        number: u64,
    },
    /// A memory, by its id.
    Memory(String),
    /// A summary in use.
    Summary {
        /// On which branch.
        branch: BranchId,
        /// Which.
        capsule: Hash,
    },
    /// A policy.
    Policy {
        /// Its name.
        name: String,
        /// For one that does not exist yet: what it is a copy of.
        preset: Option<String>,
    },
    /// A summary of a part of the program, by its path.
    Module(String),
    /// A file with rules.
    Rules {
        /// On which branch undo will know of it.
        branch: BranchId,
        /// Its path.
        path: String,
        /// The hash of the text that it had.
        expected: Option<Hash>,
    },
    /// A request, edited by hand for one call.
    Request {
        /// On which branch.
        branch: BranchId,
        /// What it answers.
        draft: Draft,
        /// The body as it was planned.
        base: Arc<str>,
        /// The body whose texts these are.
        of: Arc<str>,
        /// It is edited as JSON.
        json: bool,
    },
}

/// A text to edit.
#[derive(Clone)]
pub struct Editor {
    /// Its title.
    pub title: String,
    /// The text.
    pub area: TextArea<'static>,
    /// What it is the text of.
    pub what: Edited,
    /// Why it was not saved.
    pub fault: Option<String>,
    /// It is being saved, with this ticket.
    pub saving: Option<u64>,
    /// The text that it had, where a changed one is not to be dropped unasked.
    pub before: Option<String>,
}

impl Editor {
    /// The text.
    #[must_use]
    pub fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    /// Whether what was typed would be lost.
    #[must_use]
    pub fn changed(&self) -> bool {
        self.before.as_ref().is_some_and(|before| *before != self.text())
    }
}

impl fmt::Debug for Editor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Editor").field("title", &self.title).finish_non_exhaustive()
    }
}

/// What lies over the chat.
#[derive(Clone, Debug)]
pub enum Layer {
    /// What the next call holds.
    Overlay(Box<Overlay>),
    /// A text.
    Reader(Reader),
    /// The exact bytes of a request.
    Raw(Box<Raw>),
    /// Tool calls.
    Traces(Box<Traces>),
    /// A list.
    Picker(Picker),
    /// A question.
    Question(Question),
    /// A line to type.
    Prompt(Prompt),
    /// A text to edit.
    Editor(Box<Editor>),
    /// The draft of a summary beside its sources.
    Draft(Box<Desk>),
    /// Summaries in use.
    Capsules(Box<Shelf>),
    /// The next call under other settings.
    WhatIf(Box<Strip>),
    /// Answers side by side.
    Arena(Box<Arena>),
    /// A side question.
    Aside(Box<AsidePane>),
    /// Calls that were made.
    Calls(Box<Calls>),
    /// What calls came to.
    Ledger(Box<Sheet>),
    /// Things with their versions.
    Workshop(Box<Workshop>),
    /// What differs between two calls.
    Diff(Box<DiffView>),
    /// Two branches side by side.
    Compare(Box<CompareView>),
    /// An item over the calls of the branch.
    History(Box<Tale>),
    /// The search over all messages.
    Find(Box<Finder>),
    /// The whole tree of the session.
    Tree(Box<Grove>),
    /// A call to a tool that waits for a word.
    Consent(Box<Ask>),
    /// Tools and their servers.
    Toolbox(Box<Rack>),
    /// All keys.
    Help {
        /// Rows scrolled past.
        scroll: usize,
    },
}

impl Layer {
    /// Where keys count while this is on top.
    #[must_use]
    pub fn places(&self) -> Vec<When> {
        match self {
            Self::Overlay(overlay) if overlay.filtering => vec![When::Picker, When::Always],
            Self::Overlay(_) => vec![When::Overlay, When::Panel, When::Always],
            Self::Reader(_) | Self::Help { .. } => vec![When::Panel, When::Always],
            Self::Traces(screen) if screen.filtering => vec![When::Picker, When::Always],
            Self::Traces(_) => vec![When::Tools, When::Panel, When::Always],
            Self::Raw(raw) if raw.searching => vec![When::Picker, When::Always],
            Self::Raw(_) => vec![When::Request, When::Panel, When::Always],
            Self::Tree(grove) if grove.filtering => vec![When::Picker, When::Always],
            Self::Tree(_) => vec![When::Tree, When::Panel, When::Always],
            Self::Picker(_) | Self::Find(_) | Self::Prompt(_) | Self::Question(_) => vec![When::Picker, When::Always],
            Self::Editor(_) => vec![When::Editor, When::Always],
            Self::WhatIf(_) | Self::Arena(_) | Self::Aside(_) => vec![When::Trials, When::Panel, When::Always],
            Self::Draft(_) | Self::Capsules(_) => vec![When::Drafts, When::Panel, When::Always],
            Self::Calls(_) | Self::Diff(_) | Self::History(_) => vec![When::Calls, When::Panel, When::Always],
            Self::Ledger(_) => vec![When::Stats, When::Panel, When::Always],
            Self::Workshop(_) => vec![When::Workshop, When::Panel, When::Always],
            Self::Compare(_) => vec![When::Compare, When::Panel, When::Always],
            Self::Consent(_) => vec![When::Consent, When::Panel, When::Always],
            Self::Toolbox(_) => vec![When::Toolbox, When::Panel, When::Always],
        }
    }

    /// Whether letters are typed into it instead of being keys.
    #[must_use]
    pub fn types(&self) -> bool {
        self.places().iter().any(|place| matches!(place, When::Picker | When::Editor))
    }

    /// Whether it takes the whole screen.
    #[must_use]
    pub fn full(&self) -> bool {
        match self {
            Self::Overlay(_)
            | Self::Reader(_)
            | Self::Raw(_)
            | Self::Traces(_)
            | Self::Editor(_)
            | Self::Draft(_)
            | Self::Capsules(_)
            | Self::WhatIf(_)
            | Self::Arena(_)
            | Self::Calls(_)
            | Self::Ledger(_)
            | Self::Workshop(_)
            | Self::Diff(_)
            | Self::Compare(_)
            | Self::Consent(_)
            | Self::Toolbox(_)
            | Self::History(_)
            | Self::Find(_)
            | Self::Tree(_)
            | Self::Help { .. } => true,
            Self::Picker(_) | Self::Question(_) | Self::Prompt(_) | Self::Aside(_) => false,
        }
    }
}
