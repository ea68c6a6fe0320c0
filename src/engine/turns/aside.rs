//! Side questions: asked in a branch's current context, answered separately, and not kept. They do not become messages,
//! count down marks, or run tools, and none of their text is stored; the store records only the call and its cost.
//! Not for: turns (`live`).

use super::machine::Arrived;
use super::state::{Aside, UnplannedAside};
use super::stream::{Call, Report};
use crate::domain::base::{BranchId, Failure, FailureKind, NodeId, RunId};
use crate::domain::call::{CallEnd, Delta, Outcome, ProviderErrorKind, RunCard, RunStatus, UsageReport};
use crate::domain::conversation::message::node_key;
use crate::domain::conversation::{Content, End, Node, NodeHead, Role, StateVersion};
use crate::domain::planning::Section;
use crate::engine::api::{Answer, AsideView, BranchAnswer, Event, Ticket, TurnEvent};
use crate::engine::branches::fork::{NewBranch, fresh_name};
use crate::engine::calls::stored_runs::unwritable;
use crate::engine::core::Core;
use crate::engine::inbox::{Inbox, TurnReport};
use crate::engine::plans::snapshot::Question;
use crate::engine::plans::state::PlanPurpose;
use crate::engine::plans::worker::{Solution, Solved, Stored};
use crate::engine::turns::state::Turns;
use crate::store::types::Write;
use std::sync::Arc;
use uuid::Uuid;

impl Core {
    /// Starts a side question: submits its plan.
    pub(crate) fn aside(&mut self, ticket: Ticket, branch: BranchId, text: Arc<str>) -> Result<(), Failure> {
        if text.trim().is_empty() {
            return Err(Failure::user("There is no side question yet.").todo("Type the side question."));
        }
        let there = self.sessions.branch(branch)?;
        // Without tools: a side question must have no effects.
        let rules = self.rules_without_tools(&there)?;
        self.setup.servers.ready(&rules.profile).map_err(|failure| failure.kept("Nothing was sent."))?;
        let base = self.before_turn(&there);
        let question = Question { base, text: Some(text.clone()), ..Question::default() };
        let waiting = UnplannedAside { ticket, branch, text, base };
        self.submit_with_rules(&there, rules, &question, PlanPurpose::Aside(waiting)).map(drop)
    }

    /// Handles the plan of a side question: records the call and starts it.
    pub(crate) fn aside_planned(&mut self, waiting: UnplannedAside, solution: Solution) {
        let ticket = waiting.ticket;
        let opened = match solution {
            Ok(Ok(solved)) => self.open_aside(waiting, solved),
            Ok(Err(blocked)) => {
                Err(Failure::new(FailureKind::Blocked, blocked.send_failure()).kept("Nothing was sent."))
            }
            Err(failure) => Err(failure),
        };
        self.answer(ticket, opened.map(|run| Answer::Asked { run }));
    }

    fn open_aside(&mut self, waiting: UnplannedAside, solved: Solved) -> Result<RunId, Failure> {
        let branch = self.sessions.branch(waiting.branch)?;
        let rules = self.rules_without_tools(&branch)?;
        let provider = self.setup.servers.provider(&rules.profile)?;
        let whose = (branch.session, branch.id);
        let run = RunId(Uuid::now_v7());
        let card = RunCard::open(run, whose, &solved.plan, solved.wire.digest, 1, self.setup.now());
        let card = RunCard { aside: true, ..card };
        // If the program dies meanwhile, the call stays recorded as interrupted, and there is nothing to recover.
        let kept = RunCard { status: RunStatus::Interrupted, ..card.clone() };
        self.store.write(vec![
            Write::PutPlan { id: solved.plan.id, branch: branch.id, body: without_words(&solved)? },
            Write::PutRun(Box::new(kept.clone())),
        ])?;
        self.sessions.of_branch_mut(branch.id)?.put_run(&kept);
        let call = Call {
            run,
            wire: solved.wire.clone(),
            provider,
            store: self.store.clone(),
            counter: self.setup.counter.clone(),
            encoding: rules.model.encoding,
            until: None,
            saves: false,
        };
        let prompt_micro =
            self.learned.meters.prompt_cost(&self.store, rules.model.price, &solved.plan, 0).map(|cost| cost.micro);
        let view = AsideView {
            run,
            branch: branch.id,
            question: waiting.text,
            text: String::new(),
            tokens: 0,
            cost_micro: prompt_micro,
            card: None,
            failure: None,
        };
        self.emit(Event::Turn(TurnEvent::Run(Box::new(card.clone()))));
        self.emit(Event::Turn(TurnEvent::Aside(Box::new(view.clone()))));
        let (arrived, price) = (Arrived::default(), rules.model.price);
        let inbox = self.inbox.clone();
        let report = move |report| drop(inbox.send(Inbox::Turn(TurnReport::Aside(Box::new(report)))));
        let cancel = call.start(&self.jobs, report);
        let aside =
            Aside { view, base: waiting.base, card, solved, arrived, price, prompt_micro, cancel, dropped: false };
        self.turns.asides.insert(run, aside);
        Ok(run)
    }

    /// Handles a report of a side question's call.
    pub(crate) fn aside_report(&mut self, report: Report) {
        match report {
            Report::Deltas { run, deltas, tokens } => {
                let Some(aside) = self.turns.asides.get_mut(&run) else { return };
                for delta in &deltas {
                    aside.arrived.add(delta);
                    if let Delta::Diagnostic(diagnostic) = delta {
                        aside.card.diagnose(diagnostic.clone());
                    }
                }
                let words = |delta: &Delta| matches!(delta, Delta::Text(_) | Delta::Reasoning(_));
                if !deltas.iter().any(words) || aside.dropped {
                    return;
                }
                aside.view.text.clone_from(&aside.arrived.text);
                aside.view.tokens = tokens;
                let priced = aside.price.zip(aside.prompt_micro);
                aside.view.cost_micro = priced.map(|(price, prompt)| price.so_far(prompt, tokens));
                let view = Box::new(aside.view.clone());
                self.emit(Event::Turn(TurnEvent::Aside(view)));
            }
            Report::Ended { run, outcome } => self.aside_ended(run, *outcome),
            // A side question runs no tools.
            Report::ToolNeedsDecision { .. }
            | Report::ToolStarted { .. }
            | Report::ToolOutput { .. }
            | Report::ToolEnded { .. } => {}
        }
    }

    fn aside_ended(&mut self, run: RunId, mut outcome: Outcome) {
        let Some(mut aside) = self.turns.asides.remove(&run) else { return };
        outcome.usage = outcome.usage.bounded(aside.card.est_total);
        let outcome = &outcome;
        let cost = aside.price.and_then(|price| price.bill(&outcome.usage));
        aside.card.ended(outcome, cost);
        aside.card.status = outcome.end.into();
        aside.view.failure = aside_failure(&aside.arrived, outcome);
        aside.card.error = outcome.error.as_ref().map(|error| error.what.clone());
        if let Some(ProviderErrorKind::Body(quirk)) = outcome.error.as_ref().map(|error| &error.kind) {
            let (profile, model) = (aside.card.profile.clone(), aside.card.model.clone());
            self.learn_quirk(&profile, &model, *quirk);
        }
        aside.view.text.clone_from(&aside.arrived.text);
        aside.view.cost_micro = aside.card.cost_micro;
        aside.view.card = Some(Box::new(aside.card.clone()));
        let report = UsageReport::of(&aside.card, &aside.solved.plan, outcome);
        let writes = vec![Write::PutRun(Box::new(aside.card.clone())), Write::PutUsage(Box::new(report))];
        if let Err(error) = self.store.write(writes) {
            self.alarm(format!("The cost of a side question could not be recorded: {error}."));
        }
        self.learned.meters.forget();
        self.show_run(aside.card.clone());
        if !aside.dropped {
            self.emit(Event::Turn(TurnEvent::Aside(Box::new(aside.view.clone()))));
            self.turns.asides.insert(run, aside);
        }
    }

    /// Makes a branch from an answered side question, at the place where it was asked.
    pub(crate) fn keep_aside(&mut self, run: RunId) -> Result<Answer, Failure> {
        let aside = self.turns.asides.get(&run).ok_or_else(gone)?;
        if aside.view.card.is_none() {
            return Err(Failure::new(FailureKind::Busy, "The answer is still arriving.").todo("Wait for it."));
        }
        if aside.arrived.is_empty() {
            return Err(Failure::user("There is no answer to keep."));
        }
        let from = aside.view.branch;
        let session = self.sessions.of_branch(from)?;
        let gone = || {
            let what = "The message that the question refers to was deleted.";
            Failure::user(what).kept("The answer is still shown.")
        };
        let base = aside.base.map(|node| session.tree.slot(node).ok_or_else(gone)).transpose()?;
        let branch = session.branch(from)?;
        let question = Question { base: aside.base, text: Some(aside.view.question.clone()), ..Question::default() };
        let lane = crate::engine::plans::snapshot::lane_of(session, branch, base, &question);
        let (asked, content) = super::live::asked_node(session, base, &aside.view.question, None, aside.card.at, &lane);
        let answer = answered(&asked, aside);
        let name = fresh_name(session, "aside", 1);
        let mut new_branch = NewBranch::new(name.clone(), None);
        let child = new_branch.id;
        let (user, answered) = (Some(asked.id), Some(answer.head.id));
        let card = RunCard { branch: child, user, answer: answered, aside: false, ..aside.card.clone() };
        new_branch.grown = vec![Node { head: asked, content }, answer.clone()];
        new_branch.writes.push(Write::PutRun(Box::new(card.clone())));
        let fork = aside.base;
        self.make_branches_at(from, fork, vec![new_branch], format!("kept a side question as {name}"))?;
        self.turns.asides.remove(&run);
        let open = self.sessions.of_branch(child)?;
        let states = crate::engine::sessions::library::states_of(&[answer], open.next_state()).into_iter();
        // The state comes from this program's own call. Only an imported state waits for a person's decision.
        let states: Vec<_> = states.map(|state| StateVersion { offered: false, ..state }).collect();
        let session = open.card.id;
        let write = |version: &StateVersion| Write::PutState { session, version: version.clone() };
        self.store.write(states.iter().map(write).collect())?;
        self.sessions.of_branch_mut(child)?.add_states(states);
        self.show_branch(child);
        self.show_run(card);
        Ok(BranchAnswer::Branch(Box::new(self.sessions.branch(child)?)).into())
    }
}

impl Turns {
    /// Stops a side question, or discards its answer.
    pub(crate) fn drop_aside(&mut self, run: RunId) -> Result<Answer, Failure> {
        let over = self.asides.get(&run).map(|aside| aside.view.card.is_some());
        match over {
            Some(true) => drop(self.asides.remove(&run)),
            Some(false) => {
                if let Some(aside) = self.asides.get_mut(&run) {
                    aside.dropped = true;
                    aside.cancel.cancel();
                }
            }
            None => return Err(gone()),
        }
        Ok(Answer::Done("The side question is discarded; the cost of its call still counts.".into()))
    }
}

fn gone() -> Failure {
    Failure::user("That side question was discarded.").todo("Ask it again.")
}

/// Returns the answer as a node below its question.
fn answered(asked: &NodeHead, aside: &Aside) -> Node {
    let content: Content = aside.arrived.without_calls();
    let end = match aside.card.status {
        RunStatus::Truncated => End::Truncated,
        RunStatus::Cancelled => End::Cancelled,
        RunStatus::Errored | RunStatus::Open | RunStatus::Interrupted => End::Errored,
        RunStatus::Complete => End::Complete,
    };
    let head = NodeHead {
        id: NodeId(Uuid::now_v7()),
        key: node_key(Some(asked.key), Role::Assistant, Some(content.hash()), 0, None),
        parent: Some(asked.id),
        ord: 0,
        role: Role::Assistant,
        end,
        at: asked.at + 1,
        bytes: content.bytes(),
        calls: 0,
        content: Some(content.hash()),
        preview: NodeHead::preview_of(&content.plain_text()),
        model: Some(aside.card.model.clone()),
        ..asked.clone()
    };
    Node { head, content }
}

/// Returns the failure of an answer that cannot be used; `None` if it can.
fn aside_failure(arrived: &Arrived, outcome: &Outcome) -> Option<Failure> {
    if let Some(error) = &outcome.error {
        return Some(Failure::new(FailureKind::Provider, error.what.clone()).todo(error.hint.clone()));
    }
    if let Some(call) = arrived.calls.first() {
        let what = format!("The model wanted to call {}, but a side question runs no tools.", call.name);
        return Some(Failure::new(FailureKind::Provider, what).todo("Ask it on the branch."));
    }
    let nothing = arrived.is_empty() && outcome.end != CallEnd::Cancelled;
    nothing.then(|| Failure::new(FailureKind::Provider, "The server ended its answer without any text."))
}

/// Returns the plan as it is stored, without any text of the question.
fn without_words(solved: &Solved) -> Result<String, Failure> {
    let mut stored: Stored = serde_json::from_str(&solved.stored).map_err(|error| unwritable(&error))?;
    for row in stored.plan.rows.iter_mut().filter(|row| row.section() == Some(Section::UserMessage)) {
        row.title.clear();
        for item in &mut row.items {
            item.title.clear();
        }
    }
    serde_json::to_string(&stored).map_err(|error| unwritable(&error))
}
