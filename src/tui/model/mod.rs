//! The state of the workbench: plain data, and values derived from it. Each part of the screen has its own file.
//! Not for: changing it (`update`), or drawing it (`view`).

pub mod bodies;
pub mod focus;
pub mod fuzzy;
pub mod jumps;
pub mod keys;
pub mod letter_guard;
pub mod list;
pub mod panels;
pub mod pending;
pub mod pointer;
pub(crate) mod row_titles;
pub mod session;
pub mod status;
pub mod title;
pub mod tool_calls;
pub mod tree_rows;
pub mod typed_line;

use crate::config::settings::Screen;
use crate::config::themes;
use crate::domain::base::{BranchId, Failure, Finding, NodeId, SessionId};
use crate::domain::planning::{ContextPlan, Row};
use crate::domain::tool::{Rerun, ToolTrace};
use crate::tui::chat::model::branches::BranchPanel;
use crate::tui::chat::model::complete::CompletionPopup;
use crate::tui::chat::model::composer::Composer;
use crate::tui::chat::model::conversation::Conversation;
use crate::tui::chat::model::live::Live;
use crate::tui::chat::model::next_request::NextRequestPanel;
use crate::tui::chat::model::plan::PlanState;
use crate::tui::chat::model::queue::{DraftSaveTime, Queue};
use crate::tui::model::keys::{Action, Chord, Key, KeyPlace, Keymap};
use crate::tui::screens::raw_request::model::RawRequestScreen;
use crate::tui::screens::request::model_filter::ListArrangement;
use crate::tui::screens::stack::Stack;
use crate::tui::screens::summaries::model::Drafts;
use crate::tui::screens::text_editor::model::Editor;
use crate::tui::screens::tour::model::Tour;
use focus::Focus;
use pending::Pending;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

/// How long after a frame the search reads more messages, in milliseconds.
const SEARCH_PAUSE: u64 = 16;

/// Facts about this run of the program.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Seconds east of Greenwich, for local times.
    pub offset: i32,
    /// Whether nothing was configured before.
    pub first_start: bool,
    /// Whether the program runs the demo conversation, which is not saved.
    pub demo: bool,
    pub policies: Vec<String>,
    /// Whether the program captures the mouse.
    pub mouse: bool,
    /// Whether the program runs inside tmux, which uses Ctrl+B itself.
    pub tmux: bool,
    /// The suggested file for saving the text that the store could not write.
    pub save_to: String,
}

/// The person's choices about the appearance of the screen.
#[derive(Clone, Debug, Default)]
pub struct Display {
    pub settings: Screen,
    /// The arrangement of the panels, by size of the screen.
    pub arrangements: panels::Arrangements,
    /// Names and descriptions of the themes.
    pub themes: Vec<(String, String)>,
    /// The chosen theme.
    pub theme: String,
}

impl Display {
    /// Returns the sentences about a theme that does not exist.
    pub fn unknown_theme(&self, name: &str) -> Failure {
        themes::unknown(name, self.themes.iter().map(|(name, _)| name.as_str()))
    }
}

/// Keys and actions between two messages.
#[derive(Debug, Default)]
pub struct InputState {
    /// The keys pressed so far of a key sequence.
    pub sequence: Vec<Chord>,
    /// When the sequence began, in milliseconds since the program began.
    pub since: u64,
    /// When Ctrl+C was last pressed with nothing to clear, in milliseconds since the program began.
    pub clear_at: Option<u64>,
    /// Actions that run once the current message has been handled.
    pub next_actions: VecDeque<Action>,
    /// Lines of commands that run after those actions.
    pub next_commands: VecDeque<String>,
    /// Actions last chosen from the list of all actions, newest first.
    pub recent_actions: Vec<Action>,
    /// Commands run by typing them.
    pub recent_commands: crate::tui::chat::model::slash::RecentCommands,
}

/// The state of the tools panel.
#[derive(Debug, Default)]
pub struct ToolsPanel {
    /// Index of the selected tool call of the branch, counted from the newest.
    pub selected: usize,
    /// The current rerun of a tool call.
    pub rerun: Option<Box<Rerun>>,
    /// For each failed tool result and each result that fixed one: whether it is the fix, and a note about the other.
    pub fixes: HashMap<NodeId, (bool, String)>,
}

/// The state that stays when the screens of the next request close.
#[derive(Debug, Default)]
pub struct RequestLeftovers {
    /// The last order and grouping of the list.
    pub arrangement: ListArrangement,
    /// An edited request that was not sent.
    pub unsent: Option<Box<RawRequestScreen>>,
    /// Text of a request whose editor was closed before it was saved.
    pub unwritten: Option<Box<Editor>>,
}

/// The engine's reports about itself.
#[derive(Debug, Default)]
pub struct EngineState {
    /// The report on servers, for the start page.
    pub findings: Vec<Finding>,
    /// The models that each profile's server lists, as far as the start page asked for them.
    pub listed_models: HashMap<String, Vec<String>>,
    /// The profiles whose servers could not be reached when their models were asked for, each with the reason.
    pub unreached: HashMap<String, String>,
    /// How many older messages are indexed, and of how many; None when indexing is done.
    pub indexing: Option<(usize, usize)>,
    /// Whether the store cannot be written now.
    pub unwritable: bool,
}

/// The state of the workbench.
#[derive(Debug, Default)]
pub struct Model {
    /// Milliseconds since the program began, updated with every message.
    pub now: u64,
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// The key table.
    pub keys: Keymap,
    /// Facts about this run of the program.
    pub facts: Facts,
    /// How the screen looks.
    pub display: Display,
    /// Keys and actions between two messages.
    pub input: InputState,
    /// The state of the mouse.
    pub pointer: pointer::Pointer,
    /// Whether the terminal reported that it lost the focus.
    pub away: bool,
    /// The open session.
    pub session: Option<session::Session>,
    /// The conversation pane.
    pub conversation: Conversation,
    /// The loaded contents of nodes.
    pub bodies: bodies::Bodies,
    /// The open turns, by branch.
    pub live: HashMap<BranchId, Live>,
    pub composer: Composer,
    /// The plan of the next request.
    pub plan: PlanState,
    /// Drafts of summaries.
    pub drafts: Drafts,
    pub panel: BranchPanel,
    pub next_request: NextRequestPanel,
    pub tools: ToolsPanel,
    /// The open screens, the topmost last.
    pub layers: Stack,
    /// The pane with the focus.
    pub focus: Focus,
    /// The guard for letters while there is an unsent message.
    pub letters: letter_guard::LetterGuard,
    /// Notices and alarms.
    pub status: status::Status,
    pub requests: pending::Requests,
    /// Messages that wait for the open turn of their branch to end.
    pub queue: Queue,
    /// The completion popup for names.
    pub popup: Option<CompletionPopup>,
    pub draft_save: DraftSaveTime,
    /// The places to return to, and the target of the next jump.
    pub jumps: jumps::Jumps,
    /// The state that stays when the screens of the next request close.
    pub request: RequestLeftovers,
    /// The engine's reports about itself.
    pub engine: EngineState,
    /// The tour, while it is shown.
    pub tour: Option<Tour>,
    /// The sessions whose imported system prompts were asked about since the program began.
    pub asked_about_instructions: HashSet<SessionId>,
    /// Whether the run loop ends.
    pub quit: bool,
}

impl Model {
    /// Says that the server of the current branch cannot be reached, or that it does not list the model; None if its
    /// models are not known.
    pub fn model_problem(&self) -> Option<String> {
        let settings = self.session.as_ref()?.settings()?;
        let (profile, name) = (&settings.profile, &settings.model.name);
        if let Some(why) = self.engine.unreached.get(profile) {
            let key = self.keys.key(Action::Models);
            return Some(format!("The server of profile {profile} is unreachable: {why}. {key} lists other models."));
        }
        let names = self.engine.listed_models.get(profile).filter(|names| !names.is_empty())?;
        let key = || self.keys.key(Action::Models);
        (!names.contains(name))
            .then(|| format!("The profile {profile} has no model {name}. {} lists its models.", key()))
    }

    /// The current branch.
    pub fn branch(&self) -> Option<&crate::domain::conversation::branch::Branch> {
        self.session.as_ref().and_then(session::Session::branch)
    }

    /// Whether this is the current branch.
    pub fn is_current(&self, branch: BranchId) -> bool {
        self.session.as_ref().is_some_and(|session| session.current == branch)
    }

    /// The plan of the current branch that the panel of the next request shows.
    pub fn shown_plan(&self) -> Option<&Arc<ContextPlan>> {
        self.plan.plan(self.branch()?.id)
    }

    /// Whether the panel of the next request has the focus.
    pub fn on_next_request(&self) -> bool {
        self.focus == Focus::Context && self.layers.is_empty()
    }

    /// The row that is selected in the panel of the next request, while it has the focus.
    pub fn panel_row(&self) -> Option<&Row> {
        self.next_request.selected(self.shown_plan().filter(|_| self.on_next_request())?)
    }

    /// The open turn of the current branch.
    pub fn live_here(&self) -> Option<&Live> {
        self.branch().and_then(|branch| self.live.get(&branch.id))
    }

    /// When the next tick is due, in milliseconds since the program began; None if nothing happens by itself.
    pub fn next_wake(&self) -> Option<u64> {
        let still = self.display.settings.reduced_motion;
        let ticking = self.live_here().filter(|_| !still).map(|live| live.next_second(self.now));
        let screen = self.layers.last().and_then(|screen| screen.due(self.now));
        let (notice, hints) = (self.status.until(), self.hints_at());
        let reading =
            self.conversation.search.as_ref().filter(|search| search.unread > 0).map(|_| self.now + SEARCH_PAUSE);
        let all =
            [self.plan.due, self.draft_save.due, notice, ticking, self.waiting_notice_at(), screen, hints, reading];
        all.into_iter().flatten().min()
    }

    /// When the hint of the following keys appears, if it is not shown yet.
    fn hints_at(&self) -> Option<u64> {
        let at = self.input.since + u64::from(self.display.settings.hints_after);
        (!self.input.sequence.is_empty() && at > self.now).then_some(at)
    }

    /// Whether the hint of the following keys is shown.
    pub fn shows_key_hints(&self) -> bool {
        !self.input.sequence.is_empty() && self.hints_at().is_none()
    }

    /// The displayed theme: the theme under the cursor while the list of themes is open.
    pub fn shown_theme(&self) -> &str {
        self.layers.iter().find_map(|screen| screen.tried_theme()).unwrap_or(&self.display.theme)
    }

    /// When a notice says that a call waits for its plan.
    fn waiting_notice_at(&self) -> Option<u64> {
        let due = |pending: &Pending| if let Pending::Turn(turn) = pending { turn.notify_at() } else { None };
        self.requests.pending.values().filter_map(due).min()
    }

    /// Stores the current place, so that the person can return to it.
    pub fn remember_place(&mut self) {
        let Some(session) = &self.session else { return };
        let selected = self.conversation.selected().filter(|_| self.focus == Focus::Conversation);
        let node = selected.map(|slot| session.tree.head(slot).id);
        let (session, branch, place) = (session.card.id, session.current, self.conversation.place);
        self.jumps.remember(jumps::ReturnPoint { session, branch, node, place });
    }

    /// Updates everything that depends on the tree, the branch, or its marks.
    pub fn refresh(&mut self) {
        let Some(session) = &self.session else { return };
        self.panel.rebuild(session);
        let from = self.conversation.rebuild(session);
        if let Some(live) = self.live.get_mut(&session.current) {
            live.settle(session, &self.conversation.path, from);
        }
        self.update_links();
    }

    /// Updates the links between failed tool results and the calls that resolved them.
    pub fn update_links(&mut self) {
        if let Some(session) = &self.session {
            self.tools.fixes = tool_calls::link_notes(session, &self.conversation);
        }
    }

    /// Updates the open screens from the session. Called before they are drawn or receive an action, not for every
    /// event, so that a burst of events costs one update.
    pub fn sync_screens(&mut self) {
        let live = self.live_here().and_then(|live| live.run);
        let Some(session) = &mut self.session else { return };
        for screen in self.layers.iter_mut() {
            screen.sync(session, &self.conversation, live);
        }
    }

    /// The tool calls of the current branch's path, newest first.
    pub fn tool_calls(&self) -> Vec<&ToolTrace> {
        let Some(session) = &self.session else { return Vec::new() };
        let live = self.live_here().and_then(|live| live.run);
        let shown = tool_calls::shown(session, &self.conversation, live);
        shown.into_iter().rev().map(|place| &session.traces[place]).collect()
    }

    /// A key that runs an action in every pane if there is one; otherwise any key of the action, or its slash command.
    pub fn key_anywhere(&self, action: Action) -> String {
        let always = self.keys.best(|binding| binding.run == action && binding.when == KeyPlace::Always);
        let key = always.map(|binding| binding.on.to_string());
        key.or_else(|| self.keys.key_of(action)).unwrap_or_else(|| format!("/{}", action.name()))
    }

    /// Inside tmux, prefers keys that tmux does not use when naming keys.
    pub fn name_keys_for_tmux(&mut self) {
        if self.facts.tmux {
            self.keys.avoid(Chord { ctrl: true, ..Chord::plain(Key::Char('b')) });
        }
    }

    /// The sections of the key table that apply, most specific first.
    pub fn places(&self) -> &'static [KeyPlace] {
        match (self.layers.last(), self.focus) {
            (Some(screen), _) => screen.places(),
            (None, Focus::Composer) => &[KeyPlace::Composer, KeyPlace::Always],
            (None, Focus::Conversation) => &[KeyPlace::Conversation, KeyPlace::Panel, KeyPlace::Always],
            (None, Focus::Branches) => &[KeyPlace::Branches, KeyPlace::Panel, KeyPlace::Always],
            (None, Focus::Tools) => &[KeyPlace::Tools, KeyPlace::Panel, KeyPlace::Always],
            (None, Focus::Context) => &[KeyPlace::Overlay, KeyPlace::Panel, KeyPlace::Always],
        }
    }
}
