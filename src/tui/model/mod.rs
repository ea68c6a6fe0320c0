//! What the workbench knows: plain data and what was worked out from it. One file a part of the screen.
//! Not for: how it changes (`update`) or looks (`view`).

pub mod bodies;
pub mod fuzzy;
pub mod panes;
pub mod pointer;
pub mod session;
pub mod status;
pub mod title;

use crate::config::keys::keymap;
use crate::config::settings;
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::{BranchId, NodeId, RunId, SessionId};
use crate::domain::conversation::branch::Overrides;
use crate::domain::conversation::mark::Atom;
use crate::domain::tool::rerun::AgainView;
use crate::tui::screens::picker::model::{Choice, Kind, Picker};
use std::cell::RefCell;
use std::collections::HashMap;

/// Settings of the screen.
pub type Screen = settings::Screen;
/// What keys pressed so far come to.
pub type Step = keymap::Step;
/// The key table.
pub type Keymap = keymap::Keymap;
/// A named action.
pub type Action = keymap::Action;
/// A key with its modifiers.
pub type Chord = keymap::Chord;
/// A key.
pub type Key = keymap::Key;
/// Where a binding counts.
pub type When = keymap::When;

/// Which pane has the focus.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Focus {
    /// Where the message is typed.
    #[default]
    Composer,
    /// The messages.
    Conversation,
    /// The branch tree.
    Branches,
    /// The tool calls.
    Tools,
    /// What the next call holds.
    Context,
}

impl Focus {
    /// The panes in the order of the Tab key.
    pub const RING: [Self; 5] = [Self::Composer, Self::Conversation, Self::Context, Self::Branches, Self::Tools];
}

/// Milliseconds after which it is said that a call waits for its plan.
pub const PATIENCE: u64 = 300;

/// What a request that is under way was for.
#[derive(Clone, PartialEq, Debug)]
pub enum Pending {
    /// Opening or making a session.
    Open,
    /// The turn to ask on a branch on which another program asks.
    Turn(BranchId),
    /// Contents.
    Bodies(Vec<NodeId>),
    /// A call.
    Ask {
        /// On which branch.
        branch: BranchId,
        /// What was asked.
        draft: super::chat::model::composer::Draft,
        /// When, in milliseconds.
        since: u64,
        /// It was said that it waits.
        told: bool,
    },
    /// A plan.
    Replan,
    /// Calls beside one another.
    Trial(ComparisonPurpose),
    /// The text of a plan's row, or of a message inside a row.
    RowText(Atom),
    /// The steps of an item.
    Steps(Atom),
    /// The exact request: to be read, or edited (as JSON or as texts).
    Raw {
        /// Of which branch.
        branch: BranchId,
        /// For which draft.
        draft: super::chat::model::composer::Draft,
        /// To be edited: as JSON or not.
        edit: Option<bool>,
    },
    /// What an edited request counts, by its digest.
    Weigh(Hash),
    /// Sending an edited request.
    SendEdited {
        /// On which branch.
        branch: BranchId,
        /// What it answers.
        draft: super::chat::model::composer::Draft,
        /// Its digest.
        digest: Hash,
    },
    /// What the act at hand would do.
    Ahead,
    /// Messages of all sessions.
    Find,
    /// Opening a session to go to a message, or to the end.
    OpenAt(Option<NodeId>),
    /// Opening a session to go back to where the person was.
    Back(super::screens::search::model::ReturnPoint),
    /// Another version of the message at this place of the path.
    Sibling(usize),
    /// A side question.
    Aside,
    /// The list of sessions.
    Sessions,
    /// The list of models.
    Models,
    /// The list of memories.
    Memories,
    /// A change of a memory, after which the list is read again.
    MemoryAct,
    /// What servers there are.
    Doctor,
    /// A fork; afterwards this draft is sent on it.
    Fork(Option<super::chat::model::composer::Draft>),
    /// Standing on another branch.
    Switch,
    /// Opens the text of a message for editing.
    EditText(NodeId),
    /// Copies the text of a message.
    CopyText(NodeId),
    /// The text of a message, to choose what of it to copy.
    CopyMenu(NodeId),
    /// The messages of a turn, to be copied in this order.
    CopyTurn(Vec<NodeId>),
    /// A text that is copied as it is.
    CopyAll,
    /// The draft of a summary.
    Draft(BranchId),
    /// A draft's edited text.
    EditDraft {
        /// On which branch.
        branch: BranchId,
        /// Of which draft.
        number: u64,
        /// The text.
        text: String,
    },
    /// The list of capsules.
    Summaries,
    /// The list of calls.
    Calls,
    /// What the calls came to.
    Ledger,
    /// Which rows no answer used, for the overlay.
    Unused,
    /// Things with their versions.
    Editables,
    /// A change of one of them, after which they are read again.
    EditableAct,
    /// Stopping a summary of a part of the program; what asked for it says what came of it.
    Stopped,
    /// The next call under a policy.
    TryPolicy,
    /// What differs between two calls.
    Diff,
    /// Two branches side by side.
    Compare,
    /// An item over all calls, to be read.
    History,
    /// An item over the newest calls, for the detail pane.
    Lately(Atom),
    /// A change of what is in use, after which the list is read again.
    SummaryAct,
    /// Reading the configuration again; whether a person asked for it.
    Reload(bool),
    /// Names for the one that is being typed.
    Complete(super::chat::model::complete::CompletionSource),
    /// Whether what was typed behind an `@`, to its end, is a name.
    Typed(String),
    /// The text of a file or symbol that goes with the message.
    Attach {
        /// What stands behind its `@`.
        name: String,
        /// Where it comes from.
        place: String,
    },
    /// Keeping a draft.
    Kept,
    /// Earlier messages of a session, for the composer.
    Earlier(SessionId),
    /// Rules about calls to tools.
    Rules,
    /// The folder's own settings file.
    FolderSettings,
    /// Tools and their servers.
    Toolbox,
    /// A change of theirs, after which they are looked at again.
    ToolAct,
    /// A call to a tool, whole, by its id; whether its result is to be copied.
    Trace(String, bool),
    /// Anything whose answer is a sentence.
    Act,
}

/// What a request about calls beside one another was for.
#[derive(Clone, PartialEq, Debug)]
pub enum ComparisonPurpose {
    /// The next call under other settings.
    WhatIf(BranchId),
    /// The items of a stored call.
    Items(RunId),
    /// A stored call, made again.
    Replay,
    /// The branches of a race, by their settings; then this is asked on each.
    Race(Vec<Overrides>, String),
    /// The call of one of them.
    RaceEntry(BranchId),
}

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

/// Facts about this run of the program.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Seconds east of Greenwich, for times of day.
    pub offset: i32,
    /// Nothing was set up before.
    pub first_start: bool,
    /// The offline tour: nothing is saved.
    pub demo: bool,
    /// The policies there are, by name.
    pub policies: Vec<String>,
    /// Whether the mouse is ours.
    pub mouse: bool,
    /// The file that is offered for what the store could not take.
    pub save_to: String,
}

/// Everything.
#[derive(Debug, Default)]
pub struct Model {
    /// Milliseconds since the program began.
    pub now: u64,
    /// Columns and rows.
    pub size: (u16, u16),
    /// The key table.
    pub keys: Keymap,
    /// About this run of the program.
    pub facts: Facts,
    /// Settings of the screen.
    pub screen: Screen,
    /// How screens of each size are arranged.
    pub arrangements: panes::Arrangements,
    /// Names of the themes, with what each is for.
    pub themes: Vec<(String, String)>,
    /// The theme that was chosen.
    pub theme: String,
    /// The keys pressed so far of several one after the other, and since when.
    pub leading: (Vec<Chord>, u64),
    /// What lies where in the last frame, while the mouse is ours.
    pub hits: RefCell<Vec<pointer::HitArea>>,
    /// What the pointer was doing.
    pub pointer: pointer::Pointer,
    /// The terminal said that it has no focus.
    pub away: bool,
    /// The open session.
    pub session: Option<session::Session>,
    /// The messages on the screen.
    pub conversation: super::chat::model::conversation::Conversation,
    /// Contents that were loaded.
    pub bodies: bodies::Bodies,
    /// Turns under way.
    pub live: HashMap<BranchId, super::chat::model::live::Live>,
    /// The message being written.
    pub composer: super::chat::model::composer::Composer,
    /// The plan of the next call.
    pub plan: super::chat::model::plan::PlanState,
    /// Drafts of summaries.
    pub drafts: super::screens::summaries::model::Drafts,
    /// The branch tree.
    pub panel: super::chat::model::branches::BranchPanel,
    /// The selected tool call, counted from the newest.
    pub tool: usize,
    /// A call that the person runs again.
    pub again: Option<Box<AgainView>>,
    /// What failed results on the path were fixed by, and what others resolved.
    pub fixes: HashMap<NodeId, (bool, String)>,
    /// The selected line of the context panel.
    pub context_row: usize,
    /// What lies over the chat, topmost last.
    pub layers: super::screens::stack::Stack,
    /// The pane with the focus.
    pub focus: Focus,
    /// Actions last chosen from the list of all actions, the newest first.
    pub recent_actions: Vec<Action>,
    /// Sentences for the person.
    pub status: status::Status,
    /// What the doctor found, for the empty screen.
    pub findings: Vec<Found>,
    /// Requests under way.
    pub pending: HashMap<u64, Pending>,
    /// The last ticket given.
    pub tickets: u64,
    /// When Ctrl+C was last pressed with nothing to clear.
    pub clear_at: Option<u64>,
    /// Messages to send when the open turn of their branch has ended.
    pub queue: super::chat::model::queue::Queue,
    /// Names that may be put in while one is typed.
    pub popup: Option<super::chat::model::complete::CompletionPopup>,
    /// Older messages that are indexed, of how many, while that goes on.
    pub indexing: Option<(usize, usize)>,
    /// The message to go to once a branch was made for it.
    pub land_on: Option<NodeId>,
    /// When the draft is to be stored.
    pub keep: super::chat::model::queue::DraftSaveTime,
    /// Where the person was before each jump, the last one last.
    pub places_before: Vec<super::screens::search::model::ReturnPoint>,
    /// How the overlay's list was arranged last.
    pub arranged: super::screens::request::model_filter::ListArrangement,
    /// A request that was edited by hand and left unsent.
    pub unsent: Option<Box<super::screens::raw_request::model::RawRequestScreen>>,
    /// What was written into a request and left before it was saved.
    pub unwritten: Option<Box<super::screens::text_editor::model::Editor>>,
    /// The store cannot be written now.
    pub unwritable: bool,
    /// The tour, while it is shown.
    pub tour: Option<super::screens::tour::model::Tour>,
    /// The loop ends.
    pub quit: bool,
}

impl Model {
    /// The branch stood on.
    #[must_use]
    pub fn branch(&self) -> Option<&crate::domain::conversation::branch::Branch> {
        self.session.as_ref().and_then(session::Session::branch)
    }

    /// The open turn of the branch stood on.
    #[must_use]
    pub fn live_here(&self) -> Option<&super::chat::model::live::Live> {
        self.branch().and_then(|branch| self.live.get(&branch.id))
    }

    /// When something will have to happen by itself, if anything.
    #[must_use]
    pub fn next_wake(&self) -> Option<u64> {
        let still = self.screen.reduced_motion;
        let ticking = self.live_here().filter(|_| !still).map(|live| live.next_second(self.now));
        let screen = self.layers.last().and_then(|screen| screen.due(self.now));
        let (said, hints) = (self.status.until(), self.hints_at());
        let all = [self.plan.due, self.keep.due, said, ticking, self.wait_to_tell(), screen, hints];
        all.into_iter().flatten().min()
    }

    /// When it is to be shown which keys may follow.
    fn hints_at(&self) -> Option<u64> {
        let at = self.leading.1 + u64::from(self.screen.hints_after);
        (!self.leading.0.is_empty() && at > self.now).then_some(at)
    }

    /// Whether it is shown which keys may follow.
    #[must_use]
    pub fn hinting(&self) -> bool {
        !self.leading.0.is_empty() && self.hints_at().is_none()
    }

    /// The theme that is shown: the selected one while one is chosen.
    #[must_use]
    pub fn shown_theme(&self) -> &str {
        let list = self.layers.all::<Picker>().find(|picker| picker.kind == Kind::Themes);
        let tried = list.and_then(Picker::selected);
        match tried.map(|entry| &entry.choice) {
            Some(Choice::Theme(name)) => name,
            _ => &self.theme,
        }
    }

    /// When it is to be said that a call waits for its plan.
    fn wait_to_tell(&self) -> Option<u64> {
        let due = |pending: &Pending| match pending {
            Pending::Ask { since, told: false, .. } => Some(since + PATIENCE),
            _ => None,
        };
        self.pending.values().filter_map(due).min()
    }

    /// Works out again what hangs on the tree, the branch or its marks.
    pub fn refresh(&mut self) {
        let Some(session) = &self.session else { return };
        self.panel.rebuild(session);
        let from = self.conversation.rebuild(session);
        if let Some(live) = self.live.get_mut(&session.current) {
            live.settle(session, &self.conversation.path, from);
        }
        self.relink();
    }

    /// Works out again which failures of tools were resolved by what.
    pub fn relink(&mut self) {
        if let Some(session) = &self.session {
            self.fixes = super::screens::traces::model::told(session, &self.conversation);
        }
    }

    /// Brings the screens that are open up to the session. Done before they are drawn or acted on, not with every event, so
    /// that what comes in one burst is taken in at once.
    pub fn sync_screens(&mut self) {
        let live = self.live_here().and_then(|live| live.run);
        let Some(session) = &mut self.session else { return };
        for screen in self.layers.iter_mut() {
            screen.sync(session, &self.conversation, live);
        }
    }

    /// Where keys count, most particular first.
    #[must_use]
    pub fn places(&self) -> Vec<When> {
        if let Some(screen) = self.layers.last() {
            return screen.places().to_vec();
        }
        match self.focus {
            Focus::Composer => vec![When::Composer, When::Always],
            Focus::Conversation => vec![When::Conversation, When::Panel, When::Always],
            Focus::Branches => vec![When::Branches, When::Panel, When::Always],
            Focus::Tools => vec![When::Tools, When::Panel, When::Always],
            Focus::Context => vec![When::Overlay, When::Panel, When::Always],
        }
    }
}

/// A place moved by some steps within a list.
#[must_use]
pub(crate) fn shift(at: usize, by: i64, last: usize) -> usize {
    let step = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX);
    let to = if by < 0 { at.saturating_sub(step) } else { at.saturating_add(step) };
    to.min(last)
}
