//! Shows the exact bytes of a request with its parts, and handles bodies that a person edited: counts and checks them,
//! sends them byte for byte as one call, and records the call as edited.
//! Not for: the validity of a body (`domain::call::request`), or the rows of its plan (`context::render::edited`).

use super::input_builder::InputBuilder;
use super::results::EditedBody;
use super::snapshot;
use super::worker::{self, Solved, Stored, WorkerTask};
use crate::context::render::checks::count_body;
use crate::context::render::edited::{PlannedRequest, edited};
use crate::context::render::{Outline, RequestPiece};
use crate::domain::base::{BranchId, Failure, FailureKind, Hash};
use crate::domain::call::Wire;
use crate::domain::call::request;
use crate::domain::call::tokens::grouped;
use crate::domain::planning::BlockedRemedy;
use crate::domain::planning::{Budget, ContextPlan, Row, RowKind, Section};
use crate::engine::api::{Answer, BodyCount, Draft, DraftKind, Event, PlanAnswer, RawPart, RawRequest, Ticket};
use crate::engine::calls::stored_runs::unwritable;
use crate::engine::core::Core;
use crate::engine::inbox::{Inbox, PlanReport};
use crate::engine::indexing::priority::Priority;
use crate::engine::jobs::guarded;
use crate::engine::plans::state::Plans;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::Sender;

impl Core {
    /// Counts and checks an edited body, and sends it if `sends` is set.
    pub(crate) fn submit_edited_body(
        &mut self,
        ticket: Ticket,
        id: BranchId,
        draft: Draft,
        body: Arc<str>,
        sends: bool,
    ) -> Result<(), Failure> {
        let kept = |failure: Failure| failure.kept("Nothing was sent; the text is kept.");
        request::check(&body).map_err(|fault| kept(Failure::user(format!("The request can't be sent: {fault}"))))?;
        let draft = match draft.kind {
            DraftKind::Message | DraftKind::Edit(_) if draft.text.trim().is_empty() => {
                Draft { text: request::last_question(&body).unwrap_or_default().into(), ..draft }
            }
            _ => draft,
        };
        if sends {
            self.recover_branch(id);
            self.may_ask(id, &draft).map_err(|failure| match failure.kind {
                FailureKind::User => {
                    kept(Failure::user("The request contains no question.").todo("Its last user message is empty."))
                }
                _ => failure,
            })?;
            self.claim(id)?;
        }
        let branch = self.sessions.branch(id)?;
        let rules = self.rules(&branch)?;
        let (asks, named) = (rules.model.name.clone(), request::model(&body).unwrap_or_default());
        if named != asks {
            let what = format!("The request names model {named:?}, but this branch uses {asks:?}.");
            let todo = "Change the branch's model, or use that model's name in the request.";
            return Err(kept(Failure::user(what)).todo(todo));
        }
        let revision = self.plans.revision(id);
        let drawn = self.plans.drawn.get(&id).filter(|drawn| drawn.draft == draft && drawn.revision == revision);
        let base = drawn.map(|drawn| drawn.solved.clone());
        let question = self.asked(&branch, &draft)?;
        let snapshot = if base.is_some() {
            None
        } else {
            let mut snapshot = snapshot::take(self.sessions.of_branch(id)?, &branch, rules, &question);
            snapshot.priority = Priority::Asked;
            snapshot.waits = sends || self.setup.patient;
            Some(snapshot)
        };
        let made = EditedBody { ticket, branch: id, revision, draft, body, sends, base, snapshot, made: None };
        self.plans.planner.run(task(made, self.inbox.clone())).map_err(kept)?;
        if sends {
            self.plans.edited_sends.insert(id, ticket);
        }
        Ok(())
    }

    /// Answers with the counts of an edited body, or sends it.
    pub(crate) fn report_edited_body(&mut self, done: EditedBody) {
        let EditedBody { ticket, branch, revision, draft, sends, made, .. } = done;
        if sends && self.plans.edited_sends.get(&branch) != Some(&ticket) {
            return;
        }
        if sends {
            self.plans.edited_sends.remove(&branch);
        }
        let lost = || {
            Failure::new(FailureKind::Internal, "The edited request is no longer available.").kept("Nothing was sent.")
        };
        let result = match made.unwrap_or_else(|| Err(lost())) {
            Err(failure) => Err(failure),
            Ok((_, counts)) if !sends => Ok(PlanAnswer::Weighed(counts).into()),
            Ok((solved, counts)) if counts.tokens > counts.room => Err(over(&solved.plan.budget, counts.tokens)),
            Ok((solved, _)) => {
                // A call does not use up a mark that changed after the call was built.
                let marks = if revision == self.plans.revision(branch) { solved.marks.clone() } else { Arc::new([]) };
                self.send_edited(branch, &draft, &Solved { marks, ..solved })
            }
        };
        self.answer(ticket, result);
    }

    fn send_edited(&mut self, branch: BranchId, draft: &Draft, solved: &Solved) -> Result<Answer, Failure> {
        let shown = self.shown(branch, solved);
        let run = self.open_turn(branch, draft, solved)?;
        self.emit(Event::Planned { branch, generation: u64::MAX, planned: shown });
        Ok(Answer::Asked { run })
    }
}

impl Plans {
    /// Returns the body of the last drawn plan, with its parts.
    pub(crate) fn raw_request(&self, branch: BranchId) -> Result<Answer, Failure> {
        let drawn = self
            .drawn
            .get(&branch)
            .ok_or_else(|| Failure::user("There is no plan yet, so there is no request.").todo("Wait a moment."))?;
        let Solved { plan, wire, outline, .. } = &drawn.solved;
        Ok(PlanAnswer::Raw(Box::new(raw_request(plan, wire, outline))).into())
    }
}

/// Returns the failure for a body that exceeds the budget, with the figures.
fn over(budget: &Budget, tokens: u32) -> Failure {
    let what = format!(
        "The edited request needs {} tokens (estimated), but {}: {} too many.",
        grouped(tokens.into()),
        budget.limit_in_words(),
        grouped(u64::from(tokens - budget.prompt))
    );
    let more_room = BlockedRemedy::more_room(budget, tokens).sentence();
    Failure::new(FailureKind::Blocked, what)
        .kept("Nothing was sent; the text is kept.")
        .todo(format!("Shorten the text, or {more_room}."))
}

fn task(mut edit: EditedBody, inbox: Sender<Inbox>) -> WorkerTask {
    let work = Box::new(move |builder: &mut InputBuilder| {
        if let Some(snapshot) = edit.snapshot.take() {
            let (encoding, budget) = (snapshot.rules.model.encoding, snapshot.rules.budget);
            let (solution, left) = worker::try_solve(builder, &snapshot);
            if left > 0 && snapshot.waits {
                edit.snapshot = Some(snapshot);
                return Some(task(edit, inbox));
            }
            match solution {
                Ok(Ok(solved)) => edit.base = Some(solved),
                Ok(Err(blocked)) => {
                    let tokens = count_body(edit.body.as_bytes(), encoding, builder.counter().as_ref());
                    let failure = match tokens.filter(|tokens| *tokens > budget.prompt) {
                        Some(tokens) => over(&budget, tokens),
                        None => Failure::new(FailureKind::Blocked, blocked.send_failure()),
                    };
                    edit.made = Some(Err(failure.kept("Nothing was sent; the text is kept.")));
                }
                Err(failure) => edit.made = Some(Err(failure)),
            }
        }
        if let Some(base) = edit.base.take() {
            let (draft, body) = (&mut edit.draft, &edit.body);
            edit.made = Some(guarded("planning", || apply_edit(builder, &base, draft, body)));
        }
        let _ = inbox.send(Inbox::Plan(PlanReport::EditedBody(Box::new(edit))));
        None
    });
    WorkerTask { work, stop: None }
}

/// Builds the edited call: a plan with rows for the body's messages, and the body's exact bytes.
fn apply_edit(
    builder: &InputBuilder,
    base: &Solved,
    draft: &mut Draft,
    body: &Arc<str>,
) -> Result<(Solved, BodyCount), Failure> {
    let planned = String::from_utf8_lossy(&base.wire.bytes);
    let of = PlannedRequest { plan: &base.plan, body: &planned, outline: &base.outline };
    let made = edited(of, body, builder.counter().as_ref());
    let (plan, outline) =
        made.ok_or_else(|| Failure::user("The text is not a chat request.").kept("Nothing was sent."))?;
    if matches!(draft.kind, DraftKind::Message | DraftKind::Edit(_)) {
        let asked = request::last_question(body).unwrap_or_default();
        let own = request::own_words(request::last_question(&planned).as_deref(), &draft.text, &asked);
        if !own.trim().is_empty() {
            draft.text = own.into();
        }
    }
    let mut stored: Stored = serde_json::from_str(&base.stored)
        .map_err(|error| Failure::new(FailureKind::Internal, format!("The plan can't be read: {error}.")))?;
    stored.plan = plan.clone();
    stored.edited = Some(body.clone());
    let json = serde_json::to_string(&stored).map_err(|error| unwritable(&error))?;
    let wire = Wire::new(body.as_bytes().to_vec());
    let changed = plan.included().filter(|row| row.kind == RowKind::Request).count();
    let counts = BodyCount {
        digest: wire.digest,
        tokens: plan.est_total,
        budget: plan.budget.total(),
        room: plan.budget.prompt,
        changed: u32::try_from(changed).unwrap_or(u32::MAX),
    };
    let solved = Solved {
        plan: Arc::new(plan),
        wire,
        outline: Arc::new(outline),
        stored: json.into(),
        contents: base.contents.clone(),
        marks: base.marks.clone(),
        state_request: None,
        edited: true,
    };
    Ok((solved, counts))
}

/// Returns the exact bytes of a request with their parts.
pub(crate) fn raw_request(plan: &ContextPlan, wire: &Wire, outline: &Outline) -> RawRequest {
    RawRequest {
        body: String::from_utf8_lossy(&wire.bytes).into(),
        digest: wire.digest,
        parts: parts(plan, outline),
        tokens: plan.est_total,
        budget: plan.budget.total(),
    }
}

/// Returns the parts of a request's messages: for each piece its section and its turn.
fn parts(plan: &ContextPlan, outline: &Outline) -> Vec<RawPart> {
    let mut of: HashMap<Hash, &Row> = HashMap::new();
    for row in plan.included() {
        of.extend(row.text.map(|text| (text, row)));
        of.extend(row.items.iter().map(|item| (item.key, row)));
    }
    let part = |piece: &RequestPiece| {
        let row = of.get(&piece.of);
        let section = row.and_then(|row| row.section()).map_or("text", Section::title);
        let turn = row.and_then(|row| row.source.turn).map_or_else(String::new, |turn| format!(", turn {turn}"));
        Some(RawPart {
            message: piece.message?,
            bytes: piece.bytes,
            title: format!("{section}{turn}"),
            tokens: piece.tokens,
        })
    };
    outline.iter().filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edited_request_that_is_too_large_names_the_remedy_that_makes_room() {
        let advice = |cap: Option<u32>, tokens: u32| over(&Budget::compute(8_000, None, Some(2_000), cap), tokens).todo;
        let larger = "Shorten the text, or raise the budget to 3,256 tokens or more.";
        let other = "Shorten the text, or choose a model with a larger context window.";
        assert_eq!(advice(Some(2_000), 3_000), larger);
        assert_eq!([advice(Some(2_000), 6_000), advice(None, 6_000)], [other, other]);
    }
}
