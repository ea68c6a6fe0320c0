//! The request of a past call, as the screen shows it: its plan, the use of its items, the calls before and after it,
//! and the texts of its rows as they were sent.
//! Not for: rendering a whole request again (`replay`), or comparing calls (`plan_diff`).

use super::ledger;
use super::replay::restored_row;
use super::stored_runs::unreadable;
use crate::domain::base::{BranchId, Failure, NodeId, RunId};
use crate::domain::call::RunCard;
use crate::domain::conversation::{Atom, End, Role};
use crate::domain::planning::{ContextPlan, Row, RowKind};
use crate::engine::api::{Answer, CallAnswer, SentRequest};
use crate::engine::core::Core;
use crate::engine::plans::queries::{add_message, code_set_of, item_text, message_text, row_or_message};
use crate::engine::plans::state::Plans;
use crate::engine::plans::worker::Stored;
use crate::engine::sessions::session::Session;
use crate::store::Store;
use std::sync::Arc;

/// The text that is shown for a message that was deleted permanently.
const DELETED: &str = "(deleted permanently since this call)";

impl Core {
    /// Returns the request of a call, or of the newest call of the branch.
    pub(crate) fn sent_request(&mut self, id: BranchId, run: Option<RunId>) -> Result<Answer, Failure> {
        let branch = self.sessions.branch(id)?;
        let session = self.sessions.of_branch(id)?;
        let own = ledger::calls(session, &branch, false);
        let Some(run) = run.or_else(|| own.last().map(|card| card.id)) else {
            return Err(Failure::no_calls());
        };
        let card = session.runs.iter().rfind(|card| card.id == run);
        let card = card.ok_or_else(Failure::call_gone)?;
        let calls = if own.iter().any(|other| other.id == run) {
            own
        } else {
            match session.branches.iter().find(|branch| branch.id == card.branch) {
                Some(other) => ledger::calls(session, other, false),
                None => session.runs.iter().collect(),
            }
        };
        let at = calls.iter().position(|other| other.id == run);
        let before = at.and_then(|at| at.checked_sub(1)).map(|at| calls[at].id);
        let after = at.and_then(|at| calls.get(at + 1)).map(|next| next.id);
        let (turn, rounds) = (turn(session, card), at.map_or(card.round, |at| rounds(&calls, at)));
        let card = card.clone();
        let mut found = SentRequest {
            card,
            plan: plan_of(&mut self.plans, &self.store, run),
            code_set: None,
            uses: None,
            turn,
            rounds,
            before,
            after,
        };
        if let Ok(plan) = &found.plan {
            found.code_set = code_set_of(&self.store, plan)?;
            found.uses = self.store.uses_of(run)?.map(Box::new);
        }
        Ok(CallAnswer::SentRequest(Box::new(found)).into())
    }

    /// Returns the text of a row of a call's plan, or of a message in it: as sent, or in full if it was left out.
    pub(crate) fn sent_text(&mut self, run: RunId, atom: &Atom) -> Result<Answer, Failure> {
        let card = card_of(&self.store, run)?;
        let known = self.plans.opened_call.as_ref().filter(|(of, _)| *of == run).map(|(_, stored)| stored.clone());
        let stored = match known {
            Some(stored) => stored,
            None => Arc::new(serde_json::from_str(&plan_json(&self.store, run)?).map_err(|error| unreadable(&error))?),
        };
        let Some(row) = row_or_message(&stored.plan, atom) else {
            return message_text(&self.sessions, &self.store, card.branch, atom, false).map(Answer::Text);
        };
        let session = self.sessions.of_branch(card.branch)?;
        let contents = restored_row(&self.store, &stored, &row, session, &card)?;
        if let Some(text) = row.text.and_then(|text| contents.blocks.get(&text)) {
            return Ok(Answer::Text(text.to_string()));
        }
        if row.kind == RowKind::Memory {
            return Ok(Answer::Text(row.title.clone()));
        }
        let mut out = String::new();
        for item in &row.items {
            let node = item.node.or(card.user.filter(|_| item.role == Role::User));
            let text = if node.is_some_and(|node| is_deleted(session, node)) {
                Some(DELETED.to_owned())
            } else {
                item_text(&self.store, item, &contents, row.included())?
            };
            if let Some(text) = text {
                add_message(&mut out, item.role, &text);
            }
        }
        if !out.is_empty() {
            return Ok(Answer::Text(out));
        }
        let known = message_text(&self.sessions, &self.store, card.branch, atom, row.included())
            .ok()
            .filter(|text| !text.is_empty());
        Ok(Answer::Text(known.unwrap_or_else(|| without_text(&row).to_owned())))
    }
}

/// Reads the stored plan of a call, and keeps it for the texts of its rows. A plan without the texts, from an old
/// store, is still shown.
fn plan_of(plans: &mut Plans, store: &Store, run: RunId) -> Result<Arc<ContextPlan>, Failure> {
    plans.opened_call = None;
    let json = plan_json(store, run)?;
    match serde_json::from_str::<Stored>(&json) {
        Ok(stored) => {
            let plan = Arc::new(stored.plan.clone());
            plans.opened_call = Some((run, Arc::new(stored)));
            Ok(plan)
        }
        Err(_) => serde_json::from_str(&json).map(Arc::new).map_err(|error| unreadable(&error)),
    }
}

fn plan_json(store: &Store, run: RunId) -> Result<String, Failure> {
    let id = card_of(store, run)?.plan;
    let found = store.plan_by_prefix(&id.to_string())?.pop();
    let json = found.map(|(_, json)| json).filter(|json| !json.is_empty());
    json.ok_or_else(|| Failure::user("The plan of this call was deleted."))
}

fn card_of(store: &Store, run: RunId) -> Result<RunCard, Failure> {
    let found = store.run_by_prefix(&run.to_string())?.pop();
    found.ok_or_else(Failure::call_gone)
}

/// Returns the reason why a row has no text to show.
fn without_text(row: &Row) -> &'static str {
    if row.included() {
        "The text that was sent can no longer be restored: its source has since changed or been deleted."
    } else {
        "This item was left out of the call; its text was not stored."
    }
}

fn is_deleted(session: &Session, node: NodeId) -> bool {
    session.tree.get(node).is_some_and(|head| head.end == End::Removed)
}

/// Returns the number of a call's turn: the user messages on the path up to its question.
fn turn(session: &Session, card: &RunCard) -> Option<u32> {
    let slot = session.tree.slot(card.user?)?;
    let path = session.tree.path(slot);
    let asked = path.iter().filter(|slot| session.tree.head(**slot).role == Role::User).count();
    u32::try_from(asked).ok()
}

/// Returns the number of rounds of the turn that a call belongs to: the highest round from its first call to the first
/// call of another answer to the same question.
fn rounds(calls: &[&RunCard], at: usize) -> u32 {
    let card = calls[at];
    let later = calls[at + 1..].iter().filter(|other| card.user.is_some() && other.user == card.user);
    let rest = later.take_while(|other| other.round > 1).map(|other| other.round);
    rest.max().unwrap_or_default().max(card.round)
}
