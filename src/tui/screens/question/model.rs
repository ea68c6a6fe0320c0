//! A question: its explanation, and the effect of each choice.
//! Not for: carrying out a choice (`update`).

use crate::domain::base::hash::Hash;
use crate::domain::base::ids::{BranchId, NodeId, RunId, SessionId};
use crate::domain::conversation::mark::Atom;
use crate::domain::planning::draft::Draft;
use crate::domain::tool::consent::{Rule, RuleScope};
use crate::tui::model::keys::Action;

/// The effect of a choice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Act {
    /// Open the input for a file for content that the store could not save.
    SaveUnsaved,
    /// Quit even if content is lost.
    Leave,
    /// Leave the tour.
    LeaveTour,
    /// Only closes the question.
    Close,
    /// Runs an action.
    Run(Action),
    /// Runs a line that begins with a slash.
    Command(String),
    /// Forks the branch and sends the draft there.
    ForkAndSend(BranchId, Draft),
    /// Regenerates the answer to this message.
    Regenerate(NodeId),
    /// Sends the draft when the open turn has ended.
    Wait(BranchId, Draft),
    /// Sends the queued messages.
    SendQueued(BranchId),
    /// Sets the prompt budget.
    Budget(u32),
    /// Uses another policy.
    Policy(String),
    /// Removes pins.
    Unpin(Vec<Atom>),
    /// Opens the list of models.
    Models,
    /// Deletes a session permanently.
    DeleteSession(SessionId),
    /// Discards the draft of a summary.
    RejectDraft(BranchId),
    /// Rewrites the draft on the screen.
    Redraft,
    /// Discards the changes of an edited text.
    Forget,
    /// Replays a stored call unchanged.
    Replay(RunId),
    /// Opens the list of models for a replay.
    ReplayModel(RunId),
    /// Opens the list of items to leave out of a replay.
    ReplayWithout(RunId),
    /// Trusts the folder, or stops trusting it.
    Trust(bool),
    /// Approves or denies the servers in the folder's file with this digest.
    FolderServers(Hash, bool),
    /// Approves or denies the folder's settings with this digest.
    FolderSettings(Hash, bool),
    /// Approves the pending call, and calls that match the rule from now on.
    Always(BranchId, usize, RuleScope, Rule),
}

/// A question.
#[derive(Clone, Debug)]
pub struct Question {
    /// Its title.
    pub title: String,
    /// The explanation.
    pub words: Vec<String>,
    /// The choices: a key, a text, and the effect.
    pub choices: Vec<(char, String, Act)>,
    /// The selected choice.
    pub cursor: usize,
}
