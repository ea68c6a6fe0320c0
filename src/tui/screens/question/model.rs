//! State of a question: its text and the effect of each choice.
//! Not for: carrying out a choice (`update`).

use crate::domain::base::{BranchId, Hash, NodeId, RunId, SessionId};
use crate::domain::conversation::Atom;
use crate::domain::planning::Draft;
use crate::domain::tool::{Rule, RuleScope};
use crate::tui::model::keys::{Action, Chord};
use crate::tui::model::list::Scroll;

/// The effect of a choice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Act {
    /// Asks for a file for saving the text that the store could not write.
    SaveUnsaved,
    /// Quits, even if text is lost.
    Leave,
    LeaveTour,
    /// Closes the question.
    Close,
    Run(Action),
    /// Runs a slash command.
    Command(String),
    ForkAndSend(BranchId, Draft),
    /// Generates another answer to this message.
    Regenerate(NodeId),
    /// Sends the draft once the open turn has ended.
    Wait(BranchId, Draft),
    /// Sets the budget of the branch.
    Budget(u32),
    /// Sets the policy of the branch.
    Policy(String),
    /// Removes pins.
    Unpin(Vec<Atom>),
    /// Sends these messages of an import as instructions, or leaves them out.
    Instructions(Vec<Atom>, bool),
    /// Deletes a session permanently.
    DeleteSession(SessionId),
    /// Discards the draft of a summary.
    RejectDraft(BranchId),
    /// Writes the shown summary draft again.
    Redraft,
    /// Discards the changes of an edited text.
    Forget,
    /// Repeats a stored call unchanged.
    Replay(RunId),
    /// Chooses a model to repeat a call with.
    ReplayModel(RunId),
    /// Chooses an item to leave out of a repeated call.
    ReplayWithout(RunId),
    /// Trusts the folder, or stops trusting it.
    Trust(bool),
    /// Allows the MCP servers named in the folder's file with this digest, or not.
    FolderServers(Hash, bool),
    /// Allows the folder's settings with this digest, or not.
    FolderSettings(Hash, bool),
    /// Approves the pending tool call and adds a rule that allows matching calls.
    Always(BranchId, usize, RuleScope, Rule),
}

/// A question.
#[derive(Clone, Debug)]
pub struct Question {
    pub title: String,
    /// Paragraphs of the question's text.
    pub words: Vec<String>,
    /// The choices: a key, a label, and the effect.
    pub choices: Vec<(char, String, Act)>,
    /// Index of the choice under the cursor.
    pub cursor: usize,
    /// The scroll position of the text.
    pub scroll: Scroll,
}

impl Question {
    /// Creates a question; the first choice is selected.
    pub fn new(title: impl Into<String>, words: Vec<String>, choices: Vec<(char, String, Act)>) -> Self {
        Self { title: title.into(), words, choices, cursor: 0, scroll: Scroll::default() }
    }

    /// Whether a typed key is meant for the composer below: the question whether to leave the tour appears at Esc, which
    /// a person may press while typing.
    pub(crate) fn lets_through(&self, chord: Chord) -> bool {
        let is_choice = |typed: char| self.choices.iter().any(|(key, ..)| *key == typed);
        self.only_leaves_the_tour() && chord.typed().is_some_and(|typed| !is_choice(typed))
    }

    /// Whether the question is whether to leave the tour.
    pub(crate) fn only_leaves_the_tour(&self) -> bool {
        self.choices.iter().any(|(.., act)| *act == Act::LeaveTour)
    }
}
