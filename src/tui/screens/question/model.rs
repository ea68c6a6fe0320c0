//! A question: its explanation, and the effect of each choice.
//! Not for: carrying out a choice (`update`).

use crate::domain::base::hash::Hash;
use crate::domain::base::ids::{BranchId, NodeId, RunId, SessionId};
use crate::domain::conversation::mark::Atom;
use crate::domain::planning::draft::Draft;
use crate::domain::tool::consent::{Rule, RuleScope};
use crate::tui::model::keys::Action;

/// What a choice in a question does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Act {
    /// Ask for a file for what the store could not take.
    SaveUnsaved,
    /// Quit, whatever is lost.
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
    /// Asks for another answer to this message.
    Regenerate(NodeId),
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
