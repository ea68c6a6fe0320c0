//! Turns under way: opens runs, feeds the turn machine, and carries its effects out.
//! Not for: the machine's decisions (`turn`) or what is committed at an end (`commit`).

use super::api::{Draft, Event, Planned};
use super::core::{Core, Inbox};
use super::planner::{Solution, Solved};
use super::snapshot::{Question, fresh_key};
use super::stream::{Call, Report, Tools, preview};
use super::turn::{Effect, Phase, TurnEvent, TurnState, step};
use crate::domain::failure::{Failure, FailureKind};
use crate::domain::hash::Hash;
use crate::domain::ids::{BranchId, NodeId, RunId, SessionId};
use crate::domain::mark::Atom;
use crate::domain::message::{Content, End, NodeHead, Role};
use crate::domain::model::{ModelInfo, Quirk};
use crate::domain::provider::{CallEnd, Delta, Outcome, ProviderErrorKind};
use crate::domain::run::{RunCard, RunStatus};
use crate::domain::tokens::Certainty;
use crate::domain::trace::ToolTrace;
use crate::store::types::{OpenRun, Write};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use uuid::Uuid;

/// A turn under way.
pub(super) struct Live {
    pub(super) state: TurnState,
    pub(super) session: SessionId,
    pub(super) draft: Draft,
    /// The user message that is not a node yet.
    pub(super) user: Option<(NodeHead, Content)>,
    /// The node after which the next one stands.
    pub(super) after: Option<NodeId>,
    /// Where the branch's head is, as far as we moved it.
    pub(super) head: Option<NodeId>,
    /// Where it was before the turn.
    pub(super) head_before: Option<NodeId>,
    pub(super) card: RunCard,
    pub(super) solved: Solved,
    pub(super) model: ModelInfo,
    pub(super) outcome: Option<Outcome>,
    pub(super) failure: Option<Failure>,
    /// Atoms that went with any of the turn's calls.
    pub(super) sent: HashSet<Atom>,
    pub(super) traces: Vec<ToolTrace>,
    cancel: Arc<AtomicBool>,
    quirk: Option<Quirk>,
}

impl Core {
    /// Writes the run and starts the call of a turn's first round.
    pub(super) fn open_turn(&mut self, id: BranchId, draft: &Draft, solved: &Solved) -> Result<RunId, Failure> {
        let branch = self.branch(id)?;
        let session = self.session_of(id)?;
        let question = Self::question(session, &branch, draft)?;
        let base = question.base.and_then(|node| session.tree.slot(node));
        let at = self.now().max(base.map_or(0, |slot| session.tree.head(slot).at + 1));
        let lane = base.map_or_else(String::new, |slot| session.tree.head(slot).lane.clone());
        let user = question.text.as_ref().map(|text| {
            let mut content = Content::text(text.to_string());
            if let Some(reply) = branch.reply {
                content.extra = Some(serde_json::json!({ "reply_to": reply }));
            }
            let key = fresh_key(session, base, Role::User, &content);
            (new_head(session, base, key, Role::User, &content, at, &lane), content)
        });
        let rules = self.rules(&branch)?;
        let card = self.new_card(session.card.id, id, solved, 1, at);
        let mut live = Live {
            state: TurnState::new(self.setup.rounds, user.is_some()),
            session: session.card.id,
            draft: draft.clone(),
            user,
            after: question.base,
            head: branch.head,
            head_before: branch.head,
            card,
            solved: solved.clone(),
            model: rules.model.clone(),
            outcome: None,
            failure: None,
            sent: HashSet::new(),
            traces: Vec::new(),
            cancel: Arc::new(AtomicBool::new(false)),
            quirk: None,
        };
        let run = live.card.id;
        let call = self.open_run(id, &mut live)?;
        self.live.insert(id, live);
        self.say(Event::TurnOpened { branch: id, text: draft.text.clone(), after: question.base });
        call.start(self.reporter(id));
        Ok(run)
    }

    fn new_card(&self, session: SessionId, branch: BranchId, solved: &Solved, round: u32, at: i64) -> RunCard {
        let plan = &solved.plan;
        let (items, attached) = plan.attached();
        RunCard {
            id: RunId(Uuid::now_v7()),
            session,
            branch,
            user: None,
            answer: None,
            round,
            plan: plan.id,
            request_digest: solved.wire.digest,
            profile: plan.profile.clone(),
            model: plan.model.clone(),
            policy: plan.policy.clone(),
            mode: plan.mode,
            status: RunStatus::Open,
            est_total: plan.est_total,
            items,
            attached,
            usage: crate::domain::usage::Usage::default(),
            cost_micro: None,
            finish_reason: None,
            ttft_ms: None,
            total_ms: None,
            attempts: 0,
            error: None,
            at,
        }
    }

    /// One transaction: the plan, the run, the window's anchor. Gives the call, ready to start.
    fn open_run(&mut self, id: BranchId, live: &mut Live) -> Result<Call, Failure> {
        let branch = self.branch(id)?;
        let rules = self.rules(&branch)?;
        let provider = self.setup.servers.provider(&rules.profile)?;
        live.card.user = live.user.is_none().then(|| self.user_above(id, live.after)).flatten();
        let open = OpenRun {
            card: live.card.clone(),
            owner: self.store.owner().to_owned(),
            after: live.after,
            head: live.head,
            user: live.user.clone(),
        };
        let mut writes = vec![
            Write::PutPlan { id: live.solved.plan.id, body: live.solved.stored.to_string() },
            Write::OpenRun(Box::new(open)),
        ];
        if live.solved.plan.anchor.is_some() {
            writes.push(Write::SetAnchor { branch: id, anchor: live.solved.plan.anchor.clone() });
        }
        self.store.write(writes)?;
        if let Ok(session) = self.session_mut(id) {
            if let Some(branch) = session.branch_mut(id).filter(|_| live.solved.plan.anchor.is_some()) {
                branch.anchor.clone_from(&live.solved.plan.anchor);
            }
            session.put_run(&live.card);
        }
        self.touched(id);
        self.outlines.insert(id, live.solved.outline.clone());
        live.sent.extend(live.solved.plan.included().map(|row| row.atom));
        live.cancel = Arc::new(AtomicBool::new(false));
        self.say(Event::Run(Box::new(live.card.clone())));
        Ok(Call {
            run: live.card.id,
            wire: live.solved.wire.clone(),
            provider,
            store: self.store.clone(),
            counter: self.setup.counter.clone(),
            encoding: live.model.encoding,
            cancel: live.cancel.clone(),
        })
    }

    fn reporter(&self, branch: BranchId) -> impl Fn(Report) + Send + 'static {
        let inbox = self.inbox.clone();
        move |report| {
            let _ = inbox.send(Inbox::Report(branch, Box::new(report)));
        }
    }

    /// The user message at or above a node.
    fn user_above(&self, branch: BranchId, node: Option<NodeId>) -> Option<NodeId> {
        let session = self.session_of(branch).ok()?;
        let mut at = session.tree.slot(node?);
        while let Some(slot) = at {
            if session.tree.head(slot).role == Role::User {
                return Some(session.tree.head(slot).id);
            }
            at = session.tree.parent(slot);
        }
        None
    }

    /// Takes what a call's or an episode's thread reports. Reports of runs that are over are strangers.
    pub(super) fn report(&mut self, branch: BranchId, report: Report) {
        let run = match &report {
            Report::Deltas { run, .. }
            | Report::Ended { run, .. }
            | Report::ToolBegan { run, .. }
            | Report::ToolEnded { run, .. } => *run,
        };
        if self.live.get(&branch).is_none_or(|live| live.card.id != run) {
            return;
        }
        match report {
            Report::Deltas { deltas, tokens, .. } => self.deltas(branch, run, deltas, tokens),
            Report::Ended { outcome, .. } => self.ended(branch, *outcome),
            Report::ToolBegan { index, .. } => self.tool_began(branch, index),
            Report::ToolEnded { index, output, millis, .. } => self.tool_ended(branch, index, output, millis),
        }
    }

    fn deltas(&mut self, branch: BranchId, run: RunId, deltas: Vec<Delta>, tokens: u32) {
        let (mut text, mut reasoning) = (String::new(), String::new());
        for delta in deltas {
            match &delta {
                Delta::Text(more) => text.push_str(more),
                Delta::Reasoning(more) => reasoning.push_str(more),
                Delta::Retry { attempt, wait_ms, why } => {
                    self.say(Event::Retrying { branch, attempt: *attempt, wait_ms: *wait_ms, why: why.clone() })
                }
                Delta::Tick | Delta::Accepted | Delta::Call { .. } | Delta::Usage(_) => {}
            }
            self.feed(branch, TurnEvent::Delta(delta));
        }
        if text.is_empty() && reasoning.is_empty() {
            return;
        }
        let price = self.live.get(&branch).and_then(|live| live.model.price.map(|price| (price, live.card.est_total)));
        let cost_micro = price.map(|(price, prompt)| price.micro(prompt, 0, tokens));
        let certainty = Certainty::Estimated;
        self.say(Event::Stream { branch, run, text, reasoning, tokens, certainty, cost_micro });
    }

    fn ended(&mut self, branch: BranchId, mut outcome: Outcome) {
        let Some(live) = self.live.get_mut(&branch) else { return };
        if live.state.arrived.is_empty() && outcome.error.is_none() && outcome.end != CallEnd::Cancelled {
            outcome.end = CallEnd::Errored;
            live.failure = Some(
                Failure::new(FailureKind::Provider, "The server ended its answer without saying anything.")
                    .todo("Send again, or try another model."),
            );
        }
        if let Some(error) = &outcome.error {
            live.failure = Some(Failure::new(FailureKind::Provider, error.what.clone()).todo(error.hint.clone()));
            live.card.error = Some(error.what.clone());
            if let ProviderErrorKind::Body(quirk) = error.kind {
                live.quirk = Some(quirk);
            }
        }
        live.card.usage = outcome.usage;
        live.card.finish_reason.clone_from(&outcome.finish_reason);
        live.card.ttft_ms = outcome.ttft_ms;
        live.card.total_ms = Some(outcome.total_ms);
        live.card.attempts = outcome.attempts;
        live.card.cost_micro = cost(live, &outcome);
        live.outcome = Some(outcome.clone());
        self.feed(branch, TurnEvent::Ended(outcome));
    }

    /// Moves a turn on and carries out what follows.
    pub(super) fn feed(&mut self, branch: BranchId, event: TurnEvent) {
        let Some(live) = self.live.get_mut(&branch) else { return };
        for effect in step(&mut live.state, event) {
            if let Err(failure) = self.perform(branch, effect) {
                self.fail_turn(branch, failure);
                return;
            }
        }
    }

    fn perform(&mut self, branch: BranchId, effect: Effect) -> Result<(), Failure> {
        match effect {
            Effect::CommitUser => self.commit_user(branch),
            Effect::StopCall | Effect::StopTools => {
                if let Some(live) = self.live.get(&branch) {
                    live.cancel.store(true, Ordering::Relaxed);
                }
                Ok(())
            }
            Effect::RunTools(calls) => self.run_tools(branch, calls),
            Effect::CommitAnswer { content, end } => self.commit_answer(branch, content, end),
            Effect::CommitEpisode { content, results } => self.commit_episode(branch, content, results),
            Effect::CloseRun => self.close_run(branch),
            Effect::NextRound => self.next_round(branch),
            Effect::Close { draft_back, completed } => {
                self.close_turn(branch, draft_back, completed);
                Ok(())
            }
        }
    }

    fn run_tools(&mut self, branch: BranchId, calls: Vec<(usize, String, String)>) -> Result<(), Failure> {
        let now = self.now();
        let turn = self.live.get(&branch).and_then(|live| live.card.user);
        let turn = turn.and_then(|user| self.session_of(branch).ok()?.tree.get(user).map(|head| head.key));
        let Some(live) = self.live.get_mut(&branch) else { return Ok(()) };
        let ids: Vec<String> = live.state.arrived.with_calls().calls().map(|(id, _, _)| id.to_owned()).collect();
        let traces = calls.iter().map(|(index, name, args)| ToolTrace {
            call_id: ids.get(*index).cloned().unwrap_or_default(),
            run: live.card.id,
            node: None,
            turn,
            name: name.clone(),
            args: args.clone(),
            status: None,
            bytes: 0,
            truncated_from: None,
            est_tokens: 0,
            duration_ms: 0,
            at: now,
            preview: String::new(),
        });
        live.traces = traces.collect();
        let tools = self.setup.tools.clone().filter(|_| self.trusted);
        let episode = Tools { run: live.card.id, calls, tools, cancel: live.cancel.clone() };
        episode.start(self.reporter(branch));
        Ok(())
    }

    fn tool_began(&mut self, branch: BranchId, index: usize) {
        let Some(live) = self.live.get(&branch) else { return };
        if let Some(trace) = live.traces.get(index) {
            self.say(Event::Trace(Box::new(trace.clone())));
        }
    }

    fn tool_ended(&mut self, branch: BranchId, index: usize, output: crate::domain::trace::ToolOutput, millis: u64) {
        let counter = self.setup.counter.clone();
        let Some(live) = self.live.get_mut(&branch) else { return };
        if let Some(trace) = live.traces.get_mut(index) {
            trace.status = Some(output.status);
            trace.bytes = output.body.len() as u64;
            trace.truncated_from = Some(output.full_bytes).filter(|full| *full > trace.bytes);
            trace.est_tokens = counter.count(live.model.encoding, &output.body);
            trace.duration_ms = millis;
            trace.preview = preview(&output.body);
            let trace = Box::new(trace.clone());
            let session = live.session;
            let _ = self.store.write(vec![Write::PutTrace { session, trace: trace.clone() }]);
            self.say(Event::Trace(trace));
        }
        self.feed(branch, TurnEvent::ToolDone { index, output });
    }

    fn next_round(&mut self, branch: BranchId) -> Result<(), Failure> {
        let Some(live) = self.live.get_mut(&branch) else { return Ok(()) };
        if let Some(quirk) = live.quirk.take() {
            let profile = live.card.profile.clone();
            let draft = live.draft.clone();
            let first = live.state.round == 0;
            live.failure = None;
            self.learn_quirk(&profile, quirk);
            self.say(Event::Notice(format!(
                "The server of {profile} wants another request ({}); asking again.",
                quirk.sentence()
            )));
            if first {
                let question = Self::question(self.session_of(branch)?, &self.branch(branch)?, &draft)?;
                return self.solve_round(branch, &question);
            }
        }
        let after = self.live.get(&branch).and_then(|live| live.after);
        self.solve_round(branch, &Question { base: after, text: None, go_on: false })
    }

    /// The grown turn's plan is there: open its run, or end the turn.
    pub(super) fn round_planned(&mut self, branch: BranchId, solution: Solution) {
        let Some(mut live) = self.live.remove(&branch) else { return };
        if live.state.phase != Phase::Planning {
            self.live.insert(branch, live);
            return;
        }
        let opened = match solution {
            Ok(Ok(solved)) if !live.state.cancelled => self.open_round(branch, &mut live, solved),
            Ok(Ok(_)) => Ok(None),
            Ok(Err(blocked)) => Err(Failure::new(FailureKind::Blocked, blocked.sentence())
                .kept("Everything up to the tool results is kept.")
                .todo("Raise the budget or exclude something, then go on with c.")),
            Err(failure) => Err(failure),
        };
        let event = match opened {
            Ok(Some(call)) => {
                self.live.insert(branch, live);
                call.start(self.reporter(branch));
                return self.feed(branch, TurnEvent::RoundOpened);
            }
            Ok(None) => TurnEvent::RoundRefused,
            Err(failure) => {
                live.failure = Some(failure);
                TurnEvent::RoundRefused
            }
        };
        self.live.insert(branch, live);
        self.feed(branch, event);
    }

    fn open_round(&mut self, branch: BranchId, live: &mut Live, solved: Solved) -> Result<Option<Call>, Failure> {
        let shown: Planned = self.shown(branch, &solved);
        let at = self.now();
        live.card = self.new_card(live.session, branch, &solved, live.state.round + 1, at);
        live.solved = solved;
        live.outcome = None;
        self.say(Event::Planned { branch, generation: u64::MAX, planned: shown });
        self.open_run(branch, live).map(Some)
    }

    /// A person stops a turn.
    pub(super) fn cancel(&mut self, branch: BranchId) -> Result<(), Failure> {
        if !self.live.contains_key(&branch) {
            return Err(Failure::user("Nothing is coming on this branch."));
        }
        self.feed(branch, TurnEvent::Cancel);
        Ok(())
    }

    /// The store refused in the middle of a turn: what came stays on the screen and in the run's saved pieces.
    fn fail_turn(&mut self, branch: BranchId, failure: Failure) {
        let Some(live) = self.live.remove(&branch) else { return };
        live.cancel.store(true, Ordering::Relaxed);
        let draft = live.user.is_some().then(|| live.draft.clone());
        let kept = "What had come is kept in the run and is restored at the next start.";
        self.say(Event::TurnClosed { branch, draft, failure: Some(failure.kept(kept)) });
    }

    /// The program ends: calls are stopped and what came is committed, within two seconds.
    pub(super) fn abandon(&mut self, inbox: &std::sync::mpsc::Receiver<Inbox>) {
        let branches: Vec<BranchId> = self.live.keys().copied().collect();
        for branch in branches {
            self.feed(branch, TurnEvent::Cancel);
            if self.live.get(&branch).is_some_and(|live| live.state.phase == Phase::Planning) {
                self.feed(branch, TurnEvent::RoundRefused);
            }
        }
        let until = std::time::Instant::now() + std::time::Duration::from_secs(2);
        while !self.live.is_empty() {
            let left = until.saturating_duration_since(std::time::Instant::now());
            match inbox.recv_timeout(left) {
                Ok(Inbox::Report(branch, report)) => self.report(branch, *report),
                Ok(_) => {}
                Err(_) => break,
            }
        }
    }
}

fn cost(live: &Live, outcome: &Outcome) -> Option<u64> {
    let price = live.model.price?;
    let usage = outcome.usage;
    Some(price.micro(usage.prompt?, usage.cached_read.unwrap_or(0), usage.completion.unwrap_or(0)))
}

/// The head of a node that does not exist yet.
pub(super) fn new_head(
    session: &super::session::Session,
    parent: Option<crate::domain::tree::Slot>,
    key: Hash,
    role: Role,
    content: &Content,
    at: i64,
    lane: &str,
) -> NodeHead {
    let tree = &session.tree;
    let ord = tree.children(parent).iter().map(|slot| tree.head(*slot).ord + 1).max().unwrap_or(0);
    NodeHead {
        id: NodeId(Uuid::now_v7()),
        key,
        parent: parent.map(|slot| tree.head(slot).id),
        ord,
        role,
        end: End::Complete,
        at,
        bytes: content.bytes(),
        calls: u16::try_from(content.calls().count()).unwrap_or(u16::MAX),
        hidden: false,
        imported: false,
        content: Some(content.hash()),
        preview: NodeHead::preview_of(&content.words()),
        model: None,
        name: None,
        lane: lane.to_owned(),
        external_id: None,
    }
}
