//! Writes the ends of a turn to the store: nodes, the head's move, the run's end, the state. Each end is one
//! transaction.
//! Not for: when a turn ends (`machine`).

use super::live::new_head;
use super::machine::Phase;
use super::reflect::TurnEndChanges;
use super::state::LiveTurn;
use crate::domain::base::{BranchId, Failure, FailureKind, NodeId};
use crate::domain::call::{CallEnd, RunCard, RunStatus, UsageReport};
use crate::domain::conversation::{Change, Content, End, Node, NodeHead, Operation, Role, StateVersion};
use crate::domain::planning::blocked::RETURNED;
use crate::domain::planning::{Reason, StateBlock};
use crate::engine::api::{DraftKind, Event, SessionEvent, ToolEvent, TurnEvent};
use crate::engine::branches::mark_state::MarkUpdate;
use crate::engine::branches::marks::apply_to;
use crate::engine::branches::undo::store_anchor_for_head;
use crate::engine::core::Core;
use crate::engine::plans::snapshot::fresh_key;
use crate::engine::sessions::state::Sessions;
use crate::engine::startup::setup::Setup;
use crate::engine::turns::claims::release_claims;
use crate::store::types::{StoreError, Write};

impl Core {
    /// Writes the end of a turn. If another window changed the session meanwhile, reloads the session and repeats the
    /// write so that no part of the answer is lost: on another path if the branch's head was moved, and at the last
    /// attempt without mark changes.
    fn commit<T>(
        &mut self,
        branch: BranchId,
        live: &mut LiveTurn,
        make: impl Fn(&Self, &LiveTurn, bool) -> Result<(T, Vec<Write>), Failure>,
    ) -> Result<T, Failure> {
        for attempt in 0..3 {
            let (written, writes) = make(self, live, attempt == 2)?;
            match self.store.write(writes) {
                Ok(()) => return Ok(written),
                Err(StoreError::Moved) => self.reload_after_conflict(branch, live)?,
                Err(error) => return Err(error.into()),
            }
        }
        Err(Failure::new(FailureKind::Stale, "Another window ended this answer."))
    }

    fn reload_after_conflict(&mut self, branch: BranchId, live: &mut LiveTurn) -> Result<(), Failure> {
        self.reload(live.session)?;
        if self.sessions.branch(branch)?.head != live.head && !std::mem::replace(&mut live.detached, true) {
            let what = "Another window moved this branch; the answer is kept as another version.";
            self.notify(what);
        }
        Ok(())
    }

    /// Works on an open turn that is removed from the map for the duration.
    pub(super) fn with_live(
        &mut self,
        branch: BranchId,
        work: impl FnOnce(&mut Self, &mut LiveTurn) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Some(mut live) = self.turns.live.remove(&branch) else { return Ok(()) };
        let result = work(self, &mut live);
        self.turns.live.insert(branch, live);
        result
    }

    /// At the first event, stores the user message as a node and moves the branch's head to it.
    pub(super) fn commit_user(&mut self, branch: BranchId, live: &mut LiveTurn) -> Result<(), Failure> {
        let Some((planned, content)) = live.user.clone() else { return Ok(()) };
        let head = self.commit(branch, live, |core, live, _| {
            let grown = next_head(&core.sessions, &core.setup, branch, live, Role::User, &content, End::Complete)?;
            let head = NodeHead { id: planned.id, at: planned.at, lane: planned.lane.clone(), ..grown };
            let card = RunCard { user: Some(head.id), ..live.card.clone() };
            let node = Node { head: head.clone(), content: content.clone() };
            let mut writes = vec![Write::PutNodes { session: live.session, nodes: vec![node] }];
            writes.extend(head_move(branch, live, head.id));
            writes.extend([Write::UserIsNode(card.id), Write::PutRun(Box::new(card))]);
            writes.extend(uses_reply(live).then_some(Write::SetReply { branch, reply: None }));
            Ok((head, writes))
        })?;
        let tip = self.adopt_written(branch, live, vec![head])?;
        live.user = None;
        live.card.user = Some(tip);
        if uses_reply(live) {
            self.sessions.with_branch(branch, |branch| branch.reply = None);
        }
        self.title_from_first_question(branch);
        self.show_branch(branch);
        self.show_run(live.card.clone());
        Ok(())
    }

    /// Adds nodes that were just written to memory and the screen, and returns the id of the last one. If another
    /// window wrote the same message at the same place first, the store kept that node, and its id is returned.
    fn adopt_written(
        &mut self,
        branch: BranchId,
        live: &mut LiveTurn,
        heads: Vec<NodeHead>,
    ) -> Result<NodeId, Failure> {
        let last = heads.last().ok_or_else(|| Failure::new(FailureKind::Internal, "Nothing was written."))?;
        let (mut tip, key) = (last.id, last.key);
        if self.store.nodes(&[tip]).is_ok_and(|found| found.is_empty()) {
            self.reload(live.session)?;
            let known = self.sessions.of_branch(branch)?.tree.by_key(key);
            tip = known.map_or(tip, |slot| self.sessions.of_branch(branch).map_or(tip, |s| s.tree.head(slot).id));
        } else {
            self.adopt(branch, heads, (!live.detached).then_some(tip));
        }
        live.after = Some(tip);
        if !live.detached {
            live.head = Some(tip);
        }
        Ok(tip)
    }

    /// Adds nodes and a head that were just written to memory and the screen.
    pub(crate) fn adopt(&mut self, branch: BranchId, heads: Vec<NodeHead>, tip: Option<NodeId>) {
        let Ok(session) = self.sessions.of_branch_mut(branch) else { return };
        let id = session.card.id;
        session.card.messages += heads.len() as u64;
        for head in &heads {
            session.card.updated_at = session.card.updated_at.max(head.at);
            session.put_node(head.clone());
        }
        if let (Some(branch), Some(tip)) = (session.branch_mut(branch), tip) {
            branch.head = Some(tip);
            branch.seq += 1;
        }
        self.show_nodes(id, heads);
    }

    /// Stores the answer as a node and closes the run. If the answer is complete, the turn-end reflection (`reflect`)
    /// is part of the transaction.
    pub(super) fn commit_answer(
        &mut self,
        branch: BranchId,
        live: &mut LiveTurn,
        content: &Content,
        end: End,
    ) -> Result<(), Failure> {
        live.card.status = status_of(end);
        let answered = self.commit(branch, live, |core, live, bare| {
            let head = next_head(&core.sessions, &core.setup, branch, live, Role::Assistant, content, end)?;
            let suggestions = core.read_state_block(branch, live, &head, content, end)?;
            let state = suggestions.state.clone();
            let card = RunCard { answer: Some(head.id), ..live.card.clone() };
            let node = Node { head: head.clone(), content: content.clone() };
            let mut writes = vec![Write::PutNodes { session: live.session, nodes: vec![node] }];
            writes.extend(head_move(branch, live, head.id));
            writes.push(Write::CloseRun(Box::new(card.clone())));
            writes.extend(usage(live));
            writes.extend(state.clone().map(|version| Write::PutState { session: live.session, version }));
            writes.extend(suggestions.writes);
            let counts = end == End::Complete && !bare;
            let done = if counts { core.reflect(branch, live, &head, content)? } else { TurnEndChanges::default() };
            writes.extend(done.marks.iter().map(|moved| moved.write(branch)));
            writes.extend(done.writes);
            writes.extend(core.setup.head_operation(branch, live, head.id, &done.marks));
            let notices = [suggestions.notices, done.notices].concat();
            Ok(((head, state, done.marks, card, notices), writes))
        })?;
        let (head, state, marks, card, notices) = answered;
        live.undoable = live.moves;
        live.card = card;
        if let Ok(session) = self.sessions.of_branch_mut(branch) {
            session.add_states(state.clone());
        }
        let marks: Vec<Change> = marks.iter().map(|moved| moved.change(branch)).collect();
        self.sessions.with_branch(branch, |branch| apply_to(branch, &marks));
        let tip = self.adopt_written(branch, live, vec![head])?;
        live.card.answer = Some(tip);
        if end == End::Complete {
            self.turns.check_uses_later(branch, live, content, &[]);
        }
        self.report_answer(branch, live, state, end);
        for notice in notices {
            self.notify(notice);
        }
        Ok(())
    }

    /// Reports a stored answer to the screen.
    fn report_answer(&mut self, branch: BranchId, live: &LiveTurn, state: Option<StateVersion>, end: End) {
        let asked = live.solved.plan.rows.iter().any(|row| matches!(row.reason, Reason::StateRequested { .. }));
        let required = asked
            && self
                .sessions
                .branch(branch)
                .and_then(|b| self.rules(&b))
                .is_ok_and(|r| r.policy.state_block != StateBlock::Optional);
        let missing = required && end == End::Complete && state.is_none();
        if let Ok(session) = self.sessions.of_branch_mut(branch) {
            if missing {
                session.state_missing.insert(branch);
            } else {
                session.state_missing.remove(&branch);
            }
        }
        self.show_branch(branch);
        if state.is_some() || missing {
            self.emit(Event::Session(SessionEvent::State { branch, version: state, missing }));
        }
        self.learned.meters.forget();
        self.show_run(live.card.clone());
    }

    /// Stores the calling message and all results as nodes, in call order, in one transaction.
    pub(super) fn commit_episode(
        &mut self,
        branch: BranchId,
        live: &mut LiveTurn,
        content: &Content,
        results: &[Content],
    ) -> Result<(), Failure> {
        live.card.status = if live.state.cancelled { RunStatus::Cancelled } else { RunStatus::Complete };
        let (nodes, card, traces) = self.commit(branch, live, |core, live, _| {
            let nodes = episode(&core.sessions, &core.setup, branch, live, content, results)?;
            let (first, last) = (nodes.first().map(|node| node.head.id), nodes.last().map(|node| node.head.id));
            let card = RunCard { answer: first, ..live.card.clone() };
            let mut traces = live.traces.clone();
            for (trace, node) in traces.iter_mut().zip(nodes.iter().skip(1)) {
                trace.node = Some(node.head.id);
            }
            let session = live.session;
            let mut writes = vec![Write::PutNodes { session, nodes: nodes.clone() }];
            writes.extend(last.and_then(|tip| head_move(branch, live, tip)));
            writes.push(Write::CloseRun(Box::new(card.clone())));
            writes.extend(usage(live));
            writes.extend(traces.iter().map(|trace| Write::PutTrace { session, trace: Box::new(trace.clone()) }));
            if let Some(tip) = last.filter(|_| live.state.phase == Phase::Closed) {
                writes.extend(core.setup.head_operation(branch, live, tip, &[]));
            }
            Ok(((nodes, card, traces), writes))
        })?;
        live.undoable |= live.moves && live.state.phase == Phase::Closed;
        live.card = card;
        self.turns.check_uses_later(branch, live, content, &traces);
        live.traces.clear();
        self.learned.meters.forget();
        self.adopt_written(branch, live, nodes.into_iter().map(|node| node.head).collect())?;
        self.show_branch(branch);
        self.show_run(live.card.clone());
        for trace in traces {
            self.emit(Event::Tool(ToolEvent::Trace(Box::new(trace))));
        }
        Ok(())
    }

    /// Closes the run without a node.
    pub(crate) fn close_run(&mut self, branch: BranchId) -> Result<(), Failure> {
        let Some(live) = self.turns.live.get_mut(&branch) else { return Ok(()) };
        let cancelled = live.outcome.as_ref().is_some_and(|outcome| outcome.end == CallEnd::Cancelled);
        live.card.status = if cancelled { RunStatus::Cancelled } else { RunStatus::Errored };
        let card = live.card.clone();
        let writes = std::iter::once(Write::CloseRun(Box::new(card.clone()))).chain(usage(live));
        self.store.write(writes.collect())?;
        self.learned.meters.forget();
        self.show_run(card);
        Ok(())
    }

    /// Closes the turn: reports its end, releases its claim, and starts the work that follows a turn.
    pub(crate) fn close_turn(&mut self, branch: BranchId, draft_back: bool, completed: bool) {
        let Some(mut live) = self.turns.live.remove(&branch) else { return };
        // The last round ended with tool results; an answer that was cut off says so itself.
        let uncut = live.card.status == RunStatus::Complete && !completed && live.failure.is_none();
        if uncut && live.state.round >= live.state.rounds {
            let notice = if live.solved.edited {
                "An edited request is a single call; c continues with the usual plan.".to_owned()
            } else {
                format!("Stopped after {} rounds of tool calls; c continues.", live.state.rounds)
            };
            self.notify(notice);
        }
        let elsewhere = live.head != live.before.0 && live.after == live.head;
        if let (true, Some(tip)) = (elsewhere, live.head) {
            let late = self.setup.head_operation(branch, &live, tip, &[]);
            if !late.is_empty() {
                let _ = self.store.write(late);
            }
        }
        let draft = draft_back.then(|| live.draft.clone());
        let failure = live.failure.take().map(|failure| {
            let kept = match &draft {
                Some(_) => RETURNED,
                None => "The text received so far is kept in the tree.",
            };
            if failure.kept.is_empty() { failure.kept(kept) } else { failure }
        });
        if let Ok(session) = self.sessions.of_branch(branch) {
            self.emit(Event::Session(SessionEvent::Card(session.card.clone())));
        }
        self.finish_race_record(branch, &live);
        let continues = !completed && !live.solved.edited;
        if let Some(last) = live.after.filter(|_| continues) {
            self.plans.last_rounds.insert(branch, (last, live.solved.as_round()));
        } else {
            self.plans.last_rounds.remove(&branch);
        }
        // A receiver of the closing event may send a message immediately, even in another window.
        release_claims(&mut self.plans, &mut self.turns);
        self.check_due(branch, &live.solved.plan, completed);
        self.emit(Event::Turn(TurnEvent::Closed { branch, draft, failure }));
        self.title_automatically(branch, completed);
    }
}

/// Returns the head of a new node after the turn's last one.
fn next_head(
    sessions: &Sessions,
    setup: &Setup,
    branch: BranchId,
    live: &LiveTurn,
    role: Role,
    content: &Content,
    end: End,
) -> Result<NodeHead, Failure> {
    let session = sessions.of_branch(branch)?;
    let parent = live.after.and_then(|id| session.tree.slot(id));
    let key = fresh_key(session, parent, role, content);
    let above = parent.map(|slot| session.tree.head(slot));
    let lane = above.map_or_else(String::new, |head| head.lane.clone());
    let mut head = new_head(session, parent, key, role, content, setup.now(), &lane);
    head.end = end;
    head.model = (role == Role::Assistant).then(|| live.card.model.clone());
    Ok(head)
}

/// Returns the nodes of an episode; each result follows the previous one.
fn episode(
    sessions: &Sessions,
    setup: &Setup,
    branch: BranchId,
    live: &LiveTurn,
    content: &Content,
    results: &[Content],
) -> Result<Vec<Node>, Failure> {
    let mut nodes: Vec<Node> = Vec::new();
    let parts = std::iter::once((Role::Assistant, content)).chain(results.iter().map(|r| (Role::Tool, r)));
    for (role, content) in parts {
        let mut head = next_head(sessions, setup, branch, live, role, content, End::Complete)?;
        if let Some(Node { head: above, .. }) = nodes.last() {
            head.parent = Some(above.id);
            head.key = crate::domain::conversation::message::node_key(Some(above.key), role, head.content, 0, None);
            head.ord = 0;
            head.at = head.at.max(above.at + 1);
        }
        nodes.push(Node { head, content: content.clone() });
    }
    Ok(nodes)
}

impl Setup {
    /// Returns the operation for a turn that moved the head because a person regenerated or edited, so that undo
    /// restores the old leaf, the marks, and the window. Empty for other turns.
    fn head_operation(&self, branch: BranchId, live: &LiveTurn, tip: NodeId, marks: &[MarkUpdate]) -> Vec<Write> {
        if !live.moves || live.undoable || live.detached {
            return Vec::new();
        }
        let what = match live.draft.kind {
            DraftKind::Regenerate(_) => "regenerated an answer",
            DraftKind::Edit(_) => "edited a message",
            DraftKind::Message | DraftKind::Continue(_) => "continued from an earlier answer",
        };
        let mut changes = vec![Change::Head { branch, before: live.before.0, after: Some(tip) }];
        changes.extend(marks.iter().map(|moved| moved.change(branch)));
        let operation =
            Operation { seq: 0, session: live.session, what: what.into(), changes, undone: false, at: self.now() };
        let anchor = store_anchor_for_head(branch, live.before.0, live.before.1.as_ref());
        vec![anchor, Write::PutOperation(Box::new(operation))]
    }
}

/// Returns the write that moves the head to a node of the same transaction; `None` if the turn is detached.
fn head_move(branch: BranchId, live: &LiveTurn, tip: NodeId) -> Option<Write> {
    (!live.detached).then_some(Write::MoveHead { branch, expect: live.head, head: Some(tip) })
}

/// Whether the turn's message uses up the branch's reply.
fn uses_reply(live: &LiveTurn) -> bool {
    matches!(live.draft.kind, DraftKind::Message | DraftKind::Edit(_))
}

fn status_of(end: End) -> RunStatus {
    match end {
        End::Complete => RunStatus::Complete,
        End::Truncated => RunStatus::Truncated,
        End::Cancelled => RunStatus::Cancelled,
        End::Interrupted => RunStatus::Interrupted,
        End::Errored | End::Removed => RunStatus::Errored,
    }
}

/// Returns the write of the usage of the turn's current call; `None` before the call has ended.
fn usage(live: &LiveTurn) -> Option<Write> {
    let report = UsageReport::of(&live.card, &live.solved.plan, live.outcome.as_ref()?);
    Some(Write::PutUsage(Box::new(report)))
}
