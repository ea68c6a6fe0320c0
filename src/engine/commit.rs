//! What is written at the ends of a turn: nodes, the head's move, the run's end, state, leases. Each end is one transaction.
//! Not for: when that happens (`turn`).

use super::api::{DraftKind, Event};
use super::core::Core;
use super::live::{Live, new_head};
use super::snapshot::fresh_key;
use crate::domain::branch::StateVersion;
use crate::domain::failure::Failure;
use crate::domain::hash::Hash;
use crate::domain::ids::{BranchId, NodeId};
use crate::domain::mark::{Actor, Mark, MarkKind};
use crate::domain::message::{Content, End, Node, NodeHead, Role};
use crate::domain::op::{Change, Operation};
use crate::domain::policy::StateBlock;
use crate::domain::provider::CallEnd;
use crate::domain::run::RunStatus;
use crate::domain::state;
use crate::domain::usage::UsageReport;
use crate::store::types::Write;

/// A server that read less than this share of what was sent (in percent) has cut the prompt.
const ALARM_PERCENT: u32 = 50;
/// Small prompts differ by their framing alone; no alarm below this.
const ALARM_TOKENS: u32 = 400;

impl Core {
    /// The first event is here: the user message becomes a node, and the branch stands on it.
    pub(super) fn commit_user(&mut self, branch: BranchId) -> Result<(), Failure> {
        let Some(live) = self.live.get_mut(&branch) else { return Ok(()) };
        let Some((head, content)) = live.user.take() else { return Ok(()) };
        let session = live.session;
        let run = live.card.id;
        let expect = live.head;
        let (id, key) = (head.id, head.key);
        live.card.user = Some(id);
        live.after = Some(id);
        live.head = Some(id);
        if let Some(trace_turn) = live.traces.first_mut() {
            trace_turn.turn = Some(key);
        }
        let card = Box::new(live.card.clone());
        let node = Node { head: head.clone(), content };
        self.store.write(vec![
            Write::PutNodes { session, nodes: vec![node] },
            Write::MoveHead { branch, expect, head: Some(id) },
            Write::UserIsNode(run),
            Write::PutRun(card.clone()),
        ])?;
        self.adopt(branch, vec![head], Some(id));
        self.say(Event::Run(card));
        Ok(())
    }

    /// Nodes and a head that were just written, in memory and on the screen.
    fn adopt(&mut self, branch: BranchId, heads: Vec<NodeHead>, tip: Option<NodeId>) {
        let Ok(session) = self.session_mut(branch) else { return };
        let id = session.card.id;
        session.card.messages += heads.len() as u64;
        for head in &heads {
            session.card.updated_at = session.card.updated_at.max(head.at);
            session.tree.insert(head.clone());
        }
        if let Some(branch) = session.branch_mut(branch) {
            branch.head = tip;
            branch.seq += 1;
        }
        self.show_nodes(id, heads);
        self.show_branch(branch);
    }

    /// A message as a node after the turn's last one.
    fn grow(
        &self,
        branch: BranchId,
        live: &Live,
        role: Role,
        content: &Content,
        end: End,
    ) -> Result<NodeHead, Failure> {
        let session = self.session_of(branch)?;
        let parent = live.after.and_then(|id| session.tree.slot(id));
        let key = fresh_key(session, parent, role, content);
        let above = parent.map(|slot| session.tree.head(slot));
        let at = self.now().max(above.map_or(0, |head| head.at + 1));
        let lane = above.map_or_else(String::new, |head| head.lane.clone());
        let mut head = new_head(session, parent, key, role, content, at, &lane);
        head.end = end;
        head.model = (role == Role::Assistant).then(|| live.card.model.clone());
        Ok(head)
    }

    /// The answer becomes a node and the run ends; with a natural end, leases count down and once-marks are used up.
    pub(super) fn commit_answer(&mut self, branch: BranchId, content: Content, end: End) -> Result<(), Failure> {
        let Some(mut live) = self.live.remove(&branch) else { return Ok(()) };
        let result = self.write_answer(branch, &mut live, content, end);
        self.live.insert(branch, live);
        result
    }

    fn write_answer(&mut self, branch: BranchId, live: &mut Live, content: Content, end: End) -> Result<(), Failure> {
        let head = self.grow(branch, live, Role::Assistant, &content, end)?;
        let state = self.new_state(branch, &head, &content, end)?;
        live.card.status = status_of(end);
        live.card.answer = Some(head.id);
        let mut writes = vec![
            Write::PutNodes { session: live.session, nodes: vec![Node { head: head.clone(), content }] },
            Write::MoveHead { branch, expect: live.head, head: Some(head.id) },
            Write::CloseRun(Box::new(live.card.clone())),
        ];
        writes.extend(usage(live).map(|report| Write::PutUsage(Box::new(report))));
        if let Some(version) = &state {
            writes.push(Write::PutState { session: live.session, version: version.clone() });
        }
        let marks = if end == End::Complete { self.marks_after(branch, live)? } else { Vec::new() };
        writes.extend(marks.iter().map(|(old, new)| Write::PutMark {
            branch,
            target: old.target,
            expect: Some(old.revision),
            mark: new.clone(),
        }));
        writes.extend(self.head_operation(branch, live, head.id));
        self.store.write(writes)?;
        live.after = Some(head.id);
        live.head = Some(head.id);
        self.settle(branch, live, state, marks, end);
        self.adopt(branch, vec![head], live.head);
        Ok(())
    }

    /// What else changes in memory with an answer.
    fn settle(
        &mut self,
        branch: BranchId,
        live: &Live,
        state: Option<StateVersion>,
        marks: Vec<(Mark, Option<Mark>)>,
        end: End,
    ) {
        let card = live.card.clone();
        let asked =
            live.solved.plan.rows.iter().any(|row| row.section() == Some(crate::domain::policy::Section::Guidelines));
        let required = asked
            && self
                .branch(branch)
                .and_then(|b| self.rules(&b))
                .is_ok_and(|r| r.policy.state_block == StateBlock::Required);
        let missing = required && end == End::Complete && state.is_none();
        let Ok(session) = self.session_mut(branch) else { return };
        session.put_run(&card);
        session.states.extend(state.clone());
        if missing {
            session.state_missing.insert(branch);
        } else {
            session.state_missing.remove(&branch);
        }
        if let Some(branch) = session.branch_mut(branch) {
            for (old, new) in marks {
                branch.marks.retain(|mark| mark.target != old.target);
                branch.marks.extend(new);
            }
        }
        self.say(Event::Run(Box::new(card)));
        if state.is_some() || missing {
            self.say(Event::State { branch, version: state, missing });
        }
        self.alarm(live);
    }

    /// A server that read far less than was sent has cut the prompt in silence.
    fn alarm(&self, live: &Live) {
        let Some(read) = live.card.usage.prompt else { return };
        let sent = live.card.est_total;
        if sent >= ALARM_TOKENS && u64::from(read) * 100 < u64::from(sent) * u64::from(ALARM_PERCENT) {
            self.say(Event::Alarm(format!(
                "The server read {read} tokens of about {sent} that were sent: it cut the prompt. Set the model's real context window in the profile."
            )));
        }
    }

    fn new_state(
        &self,
        branch: BranchId,
        head: &NodeHead,
        content: &Content,
        end: End,
    ) -> Result<Option<StateVersion>, Failure> {
        let block = state::find(&content.words(), end == End::Complete);
        let version = self.session_of(branch)?.next_state();
        Ok(block.map(|block| StateVersion {
            text: block.text,
            node: head.id,
            key: head.key,
            edited: false,
            branch: None,
            withdrawn: false,
            version,
            at: head.at,
        }))
    }

    /// Leases that were sent lose a turn, once a user message; once-marks are used up.
    fn marks_after(&self, branch: BranchId, live: &Live) -> Result<Vec<(Mark, Option<Mark>)>, Failure> {
        let session = self.session_of(branch)?;
        let user = live.card.user.and_then(|id| session.tree.get(id)).map(|head| head.key);
        let changed = |mark: &Mark| -> Option<(Mark, Option<Mark>)> {
            match mark.kind {
                kind if kind.once() => Some((mark.clone(), None)),
                MarkKind::Leased { turns } if turns > 0 && mark.counted != user && sent(live, mark) => {
                    let next = Mark {
                        kind: MarkKind::Leased { turns: turns - 1 },
                        counted: user,
                        by: Actor::Engine,
                        revision: mark.revision + 1,
                        ..mark.clone()
                    };
                    Some((mark.clone(), Some(next)))
                }
                MarkKind::Sticky
                | MarkKind::Leased { .. }
                | MarkKind::Exclude
                | MarkKind::ExcludeOnce
                | MarkKind::IncludeOnce => None,
            }
        };
        Ok(session.branch(branch)?.marks.iter().filter_map(changed).collect())
    }

    /// Regenerating and editing move the head by a person's act, so that undo leads back to the old leaf.
    fn head_operation(&self, branch: BranchId, live: &Live, tip: NodeId) -> Option<Write> {
        let what = match live.draft.kind {
            DraftKind::Regenerate(_) => "regenerated an answer",
            DraftKind::Edit(_) => "edited a message",
            DraftKind::Message | DraftKind::Continue(_) => return None,
        };
        Some(Write::PutOp(Box::new(Operation {
            seq: 0,
            session: live.session,
            what: what.into(),
            changes: vec![Change::Head { branch, before: live.head_before, after: Some(tip) }],
            undone: false,
            at: self.now(),
        })))
    }

    /// The calling message and all results become nodes, in call order, in one transaction.
    pub(super) fn commit_episode(
        &mut self,
        branch: BranchId,
        content: Content,
        results: Vec<Content>,
    ) -> Result<(), Failure> {
        let Some(mut live) = self.live.remove(&branch) else { return Ok(()) };
        let result = self.write_episode(branch, &mut live, content, results);
        self.live.insert(branch, live);
        result
    }

    fn write_episode(
        &mut self,
        branch: BranchId,
        live: &mut Live,
        content: Content,
        results: Vec<Content>,
    ) -> Result<(), Failure> {
        let mut heads: Vec<NodeHead> = Vec::new();
        let mut nodes = Vec::new();
        let parts = std::iter::once((Role::Assistant, content)).chain(results.into_iter().map(|r| (Role::Tool, r)));
        for (role, content) in parts {
            let mut head = self.grow(branch, live, role, &content, End::Complete)?;
            if let Some(above) = heads.last() {
                head.parent = Some(above.id);
                head.key = crate::domain::message::node_key(Some(above.key), role, head.content, 0, None);
                head.ord = 0;
                head.at = head.at.max(above.at + 1);
            }
            nodes.push(Node { head: head.clone(), content });
            heads.push(head);
        }
        let tip = heads.last().map(|head| head.id);
        live.card.status = if live.state.cancelled { RunStatus::Cancelled } else { RunStatus::Complete };
        live.card.answer = heads.first().map(|head| head.id);
        for (trace, head) in live.traces.iter_mut().zip(heads.iter().skip(1)) {
            trace.node = Some(head.id);
        }
        let session = live.session;
        let mut writes = vec![
            Write::PutNodes { session, nodes },
            Write::MoveHead { branch, expect: live.head, head: tip },
            Write::CloseRun(Box::new(live.card.clone())),
        ];
        writes.extend(usage(live).map(|report| Write::PutUsage(Box::new(report))));
        writes.extend(live.traces.iter().map(|trace| Write::PutTrace { session, trace: Box::new(trace.clone()) }));
        self.store.write(writes)?;
        live.after = tip;
        live.head = tip;
        let card = live.card.clone();
        if let Ok(session) = self.session_mut(branch) {
            session.put_run(&card);
        }
        self.say(Event::Run(Box::new(card)));
        for trace in std::mem::take(&mut live.traces) {
            self.say(Event::Trace(Box::new(trace)));
        }
        self.adopt(branch, heads, tip);
        Ok(())
    }

    /// The run ends without a node.
    pub(super) fn close_run(&mut self, branch: BranchId) -> Result<(), Failure> {
        let Some(live) = self.live.get_mut(&branch) else { return Ok(()) };
        let cancelled = live.outcome.as_ref().is_some_and(|outcome| outcome.end == CallEnd::Cancelled);
        live.card.status = if cancelled { RunStatus::Cancelled } else { RunStatus::Errored };
        let card = live.card.clone();
        let report = usage(live).map(|report| Write::PutUsage(Box::new(report)));
        self.store.write(std::iter::once(Write::CloseRun(Box::new(card.clone()))).chain(report).collect())?;
        if let Ok(session) = self.session_mut(branch) {
            session.put_run(&card);
        }
        self.say(Event::Run(Box::new(card)));
        Ok(())
    }

    /// The turn is over.
    pub(super) fn close_turn(&mut self, branch: BranchId, draft_back: bool, completed: bool) {
        let Some(mut live) = self.live.remove(&branch) else { return };
        let limit =
            !completed && live.failure.is_none() && !live.state.cancelled && live.state.round >= live.state.rounds;
        if limit {
            self.say(Event::Notice(format!("Stopped after {} rounds of tools; c goes on.", live.state.rounds)));
        }
        if completed && self.branch(branch).is_ok_and(|branch| branch.reply.is_some()) {
            let _ = self.store.write(vec![Write::SetReply { branch, reply: None }]);
            if let Ok(session) = self.session_mut(branch)
                && let Some(branch) = session.branch_mut(branch)
            {
                branch.reply = None;
            }
            self.show_branch(branch);
        }
        let draft = draft_back.then(|| live.draft.clone());
        let failure = live.failure.take().map(|failure| {
            let kept = match &draft {
                Some(_) => "Your message is back in the composer.",
                None => "What had come is kept in the tree.",
            };
            if failure.kept.is_empty() { failure.kept(kept) } else { failure }
        });
        if let Ok(session) = self.session_of(branch) {
            self.say(Event::Card(session.card.clone()));
        }
        self.say(Event::TurnClosed { branch, draft, failure });
    }
}

/// Whether what a mark is on went with one of the turn's calls.
fn sent(live: &Live, mark: &Mark) -> bool {
    let first = |atom: &crate::domain::mark::Atom| -> Option<Hash> {
        match atom {
            crate::domain::mark::Atom::Turn { user, .. } => Some(*user),
            crate::domain::mark::Atom::Preamble { first } => Some(*first),
            _ => None,
        }
    };
    live.sent.contains(&mark.target)
        || live.sent.iter().any(|atom| first(atom).is_some() && first(atom) == first(&mark.target))
}

pub(super) fn status_of(end: End) -> RunStatus {
    match end {
        End::Complete => RunStatus::Complete,
        End::Truncated => RunStatus::Truncated,
        End::Cancelled => RunStatus::Cancelled,
        End::Interrupted => RunStatus::Interrupted,
        End::Errored | End::Removed => RunStatus::Errored,
    }
}

/// The account of a turn's present call.
fn usage(live: &Live) -> Option<UsageReport> {
    let outcome = live.outcome.as_ref()?;
    let plan = &live.solved.plan;
    let error = outcome
        .usage
        .prompt
        .map(|actual| (f64::from(actual) - f64::from(plan.est_total)) / f64::from(plan.est_total.max(1)) * 100.0);
    Some(UsageReport {
        run: live.card.id,
        plan: plan.id,
        provider: live.card.profile.clone(),
        model: live.card.model.clone(),
        est_prompt: plan.est_total,
        est_by_section: plan.sections().into_iter().map(|(s, tokens)| (s.name().to_owned(), tokens)).collect(),
        usage: outcome.usage,
        est_error_pct: error,
        finish_reason: outcome.finish_reason.clone(),
        ttft_ms: outcome.ttft_ms,
        total_ms: outcome.total_ms,
        attempts: outcome.attempts,
        cost_micro: live.card.cost_micro,
        at: live.card.at,
    })
}
