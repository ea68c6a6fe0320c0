//! The state block of a branch: edited by a person, adopted from an import, restored from an older answer, or written
//! by the model from the messages. Each is one undoable operation.
//! Not for: the block that a model ends its answers with (`turns::reflect`).

use super::super::summaries::candidates::readable;
use super::super::summaries::writer::source_text;
use crate::config::prompts;
use crate::domain::base::{BranchId, Failure, FailureKind, NodeId, secrets};
use crate::domain::call::{Backend, RunCard};
use crate::domain::conversation::{Change, Node, Role, StateVersion, state, state_suggestions};
use crate::engine::api::{Answer, Event, SessionEvent, Ticket};
use crate::engine::calls::auxiliary_call::{AuxiliaryCall, Prompt, auxiliary_call};
use crate::engine::core::{Core, content};
use crate::engine::inbox::Inbox;
use crate::engine::sessions::session::{state_at, undoable};
use crate::store::types::Write;

/// The maximum tokens of messages that the model reads, and an allowance for the framing of the request.
const MAX_READ: u32 = 24_000;
const FRAMING: u32 = 200;
/// The number of messages that are read from the store at a time, newest first.
const BATCH: usize = 32;

/// The fields of a state block; an answer without any of them is not a state block.
const FIELDS: [&str; 4] = ["Goal:", "Context:", "Resolved:", "Technical Anchors:"];

/// A state block by the model, or the reason why there is none.
pub(crate) struct WrittenState {
    ticket: Ticket,
    branch: BranchId,
    result: Result<String, Failure>,
    runs: Vec<RunCard>,
}

impl Core {
    /// Stores an edited state at the branch's head (undoable).
    pub(crate) fn edit_state(&mut self, id: BranchId, text: &str, what: &str) -> Result<Answer, Failure> {
        let branch = self.sessions.branch(id)?;
        let session = self.sessions.of_branch(id)?;
        let slot = session.head(&branch).ok_or_else(Failure::no_message_for_state)?;
        let head = session.tree.head(slot);
        let before = branch.state.as_ref().filter(|state| state.edited && state.node == head.id).map(|s| s.version);
        let version = state_at(head, session.next_state(), text.trim().to_owned());
        let version = StateVersion { edited: true, branch: Some(id), at: self.setup.now(), ..version };
        let change = Change::State { branch: id, before, after: Some(version.version) };
        let operation = self.setup.operation(branch.session, what.to_owned(), vec![change]);
        self.store.write(vec![Write::PutState { session: branch.session, version: version.clone() }, operation])?;
        let session = self.sessions.of_branch_mut(id)?;
        session.add_states([version]);
        session.state_missing.remove(&id);
        self.show_branch(id);
        let state = self.sessions.branch(id)?.state;
        self.emit(Event::Session(SessionEvent::State { branch: id, version: state, missing: false }));
        Ok(undoable(what))
    }

    /// Adopts an imported state as the person's own version.
    pub(crate) fn adopt_state(&mut self, id: BranchId) -> Result<Answer, Failure> {
        let none = || Failure::user("This branch has no imported state to adopt.");
        let offered = self.sessions.branch(id)?.offered.ok_or_else(none)?;
        self.edit_state(id, &offered.text, "adopted the imported state")
    }

    /// Restores the state from the newest answer on the path that contains a state block.
    pub(crate) fn rebuild_state(&mut self, id: BranchId) -> Result<Answer, Failure> {
        let branch = self.sessions.branch(id)?;
        let session = self.sessions.of_branch(id)?;
        let path = session.path(&branch);
        let heads = path.iter().rev().map(|slot| session.tree.head(*slot));
        for head in heads.filter(|head| head.role == Role::Assistant) {
            let words = content(&self.store, head.id)?.plain_text();
            if let Some(block) = state::find(&words, true) {
                let state = state_suggestions::read(&block.text).state;
                return self.edit_state(id, &state, "rebuilt the state block from the newest answer that has one");
            }
        }
        Err(Failure::user("No answer on this branch has a state block.")
            .kept("The state is unchanged.")
            .todo("`pleach context rebuild --by-model` has the model write one from the messages."))
    }

    /// Has the model write the state block from the newest messages of the branch. Answered when it is stored.
    pub(crate) fn state_by_model(&mut self, ticket: Ticket, id: BranchId) -> Result<(), Failure> {
        let branch = self.sessions.branch(id)?;
        let rules = self.rules(&branch)?;
        if rules.profile.backend == Backend::Offline {
            return Err(Failure::user("The offline model can't write a state block.")
                .kept("The state is unchanged.")
                .todo("Write it yourself, or use another model."));
        }
        let session = self.sessions.of_branch(id)?;
        let path = session.path(&branch);
        let heads: Vec<_> = path.iter().map(|slot| session.tree.head(*slot)).collect();
        let sources: Vec<NodeId> = readable(&branch, &heads).iter().map(|head| head.id).collect();
        if sources.is_empty() {
            return Err(Failure::user("There is no message yet to write a state block from."));
        }
        if self.sessions.states_in_progress.contains(&id) {
            return Err(Failure::new(FailureKind::Busy, "A state block is already being written.").todo("Wait for it."));
        }
        let provider = self.setup.servers.provider(&rules.profile)?;
        self.sessions.states_in_progress.insert(id);
        let mut call = auxiliary_call(&self.setup, &self.store, &branch, rules, Some(provider));
        let ended = move |result, runs| Inbox::State(Box::new(WrittenState { ticket, branch: id, result, runs }));
        self.jobs.report(
            "state",
            move |failure| ended(Err(failure), Vec::new()),
            move |cancel| {
                call.cancel = cancel.clone();
                let mut runs = Vec::new();
                let result = write(&call, &sources, &mut runs);
                ended(result, runs)
            },
        );
        Ok(())
    }

    /// Stores the model's state block, or reports the failure.
    pub(crate) fn apply_written_state(&mut self, written: WrittenState) {
        let WrittenState { ticket, branch, result, runs } = written;
        self.sessions.states_in_progress.remove(&branch);
        for run in runs {
            self.show_run(run);
        }
        let what = "had the model write the state block";
        let result = result.and_then(|text| self.edit_state(branch, &text, what));
        self.answer(ticket, result.map_err(|failure| failure.kept("The state is unchanged.")));
    }
}

/// Makes one call with the newest messages that fit, with secrets masked, and returns the block's text.
fn write(call: &AuxiliaryCall, sources: &[NodeId], runs: &mut Vec<RunCard>) -> Result<String, Failure> {
    let fixed = call.count(prompts::STATE_FROM_MESSAGES).saturating_add(FRAMING);
    let room = (call.rules.budget.prompt.saturating_sub(fixed) / 10 * 9).min(MAX_READ);
    let text = newest(call, sources, room)?;
    let prompt = Prompt {
        what: "state block",
        policy: "state",
        instructions: prompts::STATE_FROM_MESSAGES,
        version: prompts::STATE_FROM_MESSAGES_VERSION,
        title: "the newest messages, to write the state block from".to_owned(),
        text: &text,
        otherwise: "Write the state block yourself.",
        keeps_state: true,
    };
    let (answer, _) = call.ask(&prompt, &mut |_| {}, runs)?;
    let (answer, _) = secrets::mask(&answer);
    let text = state::find(&answer, true).map_or_else(|| answer.trim().to_owned(), |block| block.text);
    let text = state_suggestions::read(&text).state;
    let is_field = |line: &str| FIELDS.iter().any(|field| line.trim_start_matches(['-', '*', ' ']).starts_with(field));
    if !text.lines().any(is_field) {
        return Err(Failure::new(FailureKind::Provider, "The model returned no state block.")
            .todo("Try again, or use another model."));
    }
    Ok(text)
}

/// Returns the newest messages that fit `room` tokens, oldest first; the oldest of them may be cut at its start.
fn newest(call: &AuxiliaryCall, sources: &[NodeId], room: u32) -> Result<String, Failure> {
    let (mut texts, mut left) = (Vec::new(), room);
    'read: for batch in sources.rchunks(BATCH) {
        let mut nodes = call.store.nodes(batch)?;
        nodes.sort_by_key(|node| batch.iter().position(|id| *id == node.head.id));
        for Node { head, content } in nodes.iter().rev() {
            let text = format!("{}: {}\n\n", head.role.name(), source_text(head, content).trim());
            let (text, _) = secrets::mask(&text);
            let tokens = call.count(&text);
            if tokens > left {
                // Three characters per token is a low estimate, so the rest probably fits.
                let skip = text.chars().count().saturating_sub(left as usize * 3);
                texts.push(text.chars().skip(skip).collect());
                break 'read;
            }
            left -= tokens;
            texts.push(text.into_owned());
        }
    }
    Ok(texts.into_iter().rev().collect())
}
