//! What the workbench knows: plain data and what was worked out from it. One file a part of the screen.
//! Not for: how it changes (`update`) or looks (`view`).

pub mod bodies;
pub mod focus;
pub mod fuzzy;
pub mod keys;
pub mod list;
pub mod panes;
pub mod pending;
pub mod pointer;
pub mod session;
pub mod status;
pub mod title;

use crate::config::settings::Screen;
use crate::domain::base::finding::Finding;
use crate::domain::base::ids::{BranchId, NodeId};
use crate::domain::tool::rerun::AgainView;
use crate::tui::model::keys::{Action, Chord, Keymap, When};
use crate::tui::screens::picker::model::{Choice, Kind, Picker};
use focus::Focus;
use pending::Pending;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};

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
    pub findings: Vec<Finding>,
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
    /// Actions that run once the current message has been handled.
    pub next_actions: VecDeque<Action>,
    /// The loop ends.
    pub quit: bool,
}

impl Model {
    /// The current branch.
    #[must_use]
    pub fn branch(&self) -> Option<&crate::domain::conversation::branch::Branch> {
        self.session.as_ref().and_then(session::Session::branch)
    }

    /// Whether this is the current branch.
    #[must_use]
    pub fn is_current(&self, branch: BranchId) -> bool {
        self.session.as_ref().is_some_and(|session| session.current == branch)
    }

    /// The open turn of the current branch.
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
        let due = |pending: &Pending| if let Pending::Turn(turn) = pending { turn.tell_at() } else { None };
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
