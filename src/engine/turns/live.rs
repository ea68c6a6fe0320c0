//! Opens a turn and the runs of its rounds.
//! Not for: handling their reports (`effects`), the machine's decisions (`machine`), or the writes at an end
//! (`commit`).

use super::limits::check_limits;
use super::machine::{Phase, TurnInput, TurnState};
use super::state::{LimitWatch, LiveTurn};
use super::stream::{Call, Report};
use crate::context::render::same_prefix;
use crate::domain::base::{BranchId, Failure, FailureKind, Hash, NodeId, RunId};
use crate::domain::call::RunCard;
use crate::domain::conversation::{Branch, Content, End, NodeHead, Role, Slot, Tree};
use crate::engine::api::{Draft, DraftKind, Event, Planned, TurnEvent};
use crate::engine::core::Core;
use crate::engine::inbox::{Inbox, TurnReport};
use crate::engine::jobs::CancelToken;
use crate::engine::plans::snapshot::{Question, fresh_key};
use crate::engine::plans::worker::{Solution, Solved};
use crate::engine::sessions::session::Session;
use crate::engine::sessions::state::Sessions;
use crate::store::types::{OpenRun, Write};
use std::collections::{HashSet, VecDeque};
use uuid::Uuid;

impl Core {
    /// Records the run of a turn's first round and starts its call.
    pub(crate) fn open_turn(&mut self, id: BranchId, draft: &Draft, solved: &Solved) -> Result<RunId, Failure> {
        self.claim(id)?;
        let branch = self.sessions.branch(id)?;
        let question = self.asked(&branch, draft)?;
        self.plans.sent(id, draft);
        let session = self.sessions.of_branch(id)?;
        let base = question.base.and_then(|node| session.tree.slot(node));
        let at = self.setup.now().max(base.map_or(0, |slot| session.tree.head(slot).at + 1));
        let lane = crate::engine::plans::snapshot::lane_of(session, &branch, base, &question);
        let user = question.text.as_ref().map(|text| asked_node(session, base, text, question.reply, at, &lane));
        let rules = self.rules(&branch)?;
        let mut live = LiveTurn {
            state: TurnState::new(if solved.edited { 1 } else { self.setup.settings.rounds }, user.is_some()),
            session: session.card.id,
            draft: draft.clone(),
            user,
            after: question.base,
            head: branch.head,
            before: (branch.head, branch.anchor.clone()),
            moves: draft.kind != DraftKind::Message && question.base != branch.head,
            card: new_card(&branch, solved, 1, at),
            solved: solved.clone(),
            model: rules.model.clone(),
            prompt_micro: None,
            outcome: None,
            failure: None,
            sent: HashSet::new(),
            counted: HashSet::new(),
            traces: Vec::new(),
            asks: None,
            cancel: CancelToken::default(),
            quirk: None,
            refused: None,
            pending: VecDeque::new(),
            stalled: false,
            detached: false,
            undoable: false,
            watch: self.sessions.limit_watch(id),
        };
        let run = live.card.id;
        let call = self.open_run(id, &mut live)?;
        let card = Box::new(live.card.clone());
        live.cancel = call.start(&self.jobs, self.reporter(id));
        self.turns.live.insert(id, live);
        self.emit(Event::Turn(TurnEvent::Opened { branch: id, text: draft.text.clone(), after: question.base }));
        self.emit(Event::Turn(TurnEvent::Run(card)));
        Ok(run)
    }

    /// Writes the plan, the run, and the window's anchor in one transaction. Returns the call, ready to start.
    fn open_run(&mut self, id: BranchId, live: &mut LiveTurn) -> Result<Call, Failure> {
        let branch = self.sessions.branch(id)?;
        let rules = self.rules(&branch)?;
        let provider = self.setup.servers.provider(&rules.profile)?;
        let same = self.plans.outlines.get(&id).map_or(0, |before| same_prefix(before, &live.solved.outline));
        let cost = self.learned.meters.prompt_cost(&self.store, live.model.price, &live.solved.plan, same);
        live.prompt_micro = cost.map(|cost| cost.micro);
        check_limits(live, live.prompt_micro)?;
        live.card.user = live.user.is_none().then(|| self.sessions.user_above(id, live.after)).flatten();
        let open = OpenRun {
            card: live.card.clone(),
            owner: self.store.owner().to_owned(),
            after: live.after,
            head: if live.detached { branch.head } else { live.head },
            user: live.user.clone(),
        };
        let mut writes = vec![
            Write::PutPlan { id: live.solved.plan.id, branch: id, body: live.solved.stored.to_string() },
            Write::OpenRun(Box::new(open)),
        ];
        let sets = live.solved.contents.sets.iter().cloned();
        writes.extend(sets.map(|set| Write::PutRetrieval { session: branch.session, set: Box::new(set) }));
        let code = live.solved.contents.code_set.as_deref().cloned();
        writes.extend(code.map(|set| Write::PutCodeSet { session: branch.session, set: Box::new(set) }));
        let anchor = live.solved.plan.anchor.clone().filter(|anchor| branch.anchor.as_ref() != Some(anchor));
        writes.extend(anchor.clone().map(|anchor| Write::SetAnchor { branch: id, anchor: Some(anchor) }));
        let recorded = self.sessions.record_call(id, live);
        let note = |(session, record)| Write::PutBranchRun { session, record: Box::new(record) };
        writes.extend(recorded.clone().map(note));
        self.store.write(writes)?;
        if let Some((_, record)) = recorded {
            self.put_record(record);
        }
        if let Ok(session) = self.sessions.of_branch_mut(id) {
            if let (Some(branch), Some(_)) = (session.branch_mut(id), &anchor) {
                branch.anchor = anchor;
            }
            session.put_run(&live.card);
        }
        self.plans.touch(id);
        self.plans.outlines.insert(id, live.solved.outline.clone());
        self.tools.project.record_sent(id, &live.solved.plan);
        live.sent.extend(live.solved.plan.included().map(|row| row.atom));
        live.counted.extend(live.solved.marks.iter().copied());
        Ok(Call {
            run: live.card.id,
            wire: live.solved.wire.clone(),
            provider,
            store: self.store.clone(),
            counter: self.setup.counter.clone(),
            encoding: live.model.encoding,
            until: live.watch.as_ref().and_then(LimitWatch::until),
            saves: true,
        })
    }

    /// Returns the function that a branch's threads use to report.
    pub(crate) fn reporter(&self, branch: BranchId) -> impl Fn(Report) + Send + Clone + 'static {
        let inbox = self.inbox.clone();
        move |report| {
            let _ = inbox.send(Inbox::Turn(TurnReport::Call(branch, Box::new(report))));
        }
    }

    /// Plans the next round: the grown turn, or the same request again in a form that the server accepts.
    pub(crate) fn next_round(&mut self, branch: BranchId) -> Result<(), Failure> {
        let Some(live) = self.turns.live.get_mut(&branch) else { return Ok(()) };
        let (draft, first) = (live.draft.clone(), live.state.round == 0);
        if let Some(quirk) = live.quirk.take() {
            let Some(mut live) = self.turns.live.remove(&branch) else { return Ok(()) };
            let taken = self.handle_refusal(&mut live, quirk);
            self.turns.live.insert(branch, live);
            taken?;
            if first {
                let question = self.asked(&self.sessions.branch(branch)?, &draft)?;
                return self.solve_round(branch, question);
            }
        }
        let live = self.turns.live.get(&branch);
        let after = live.and_then(|live| live.after);
        let search = live.map(|live| live.draft.search).unwrap_or_default();
        let round_before = live.map(|live| live.solved.as_round());
        self.solve_round(branch, Question { base: after, search, round_before, ..Question::default() })
    }

    /// Handles the plan of the next round: opens its run, or ends the turn.
    pub(crate) fn round_planned(&mut self, branch: BranchId, solution: Solution) {
        let Some(mut live) = self.turns.live.remove(&branch) else { return };
        if live.state.phase != Phase::Planning {
            self.turns.live.insert(branch, live);
            return;
        }
        let opened = match solution {
            Ok(Ok(solved)) if !live.state.cancelled => self.open_round(branch, &mut live, solved),
            Ok(Ok(_)) => Ok(None),
            Ok(Err(blocked)) => Err(Failure::new(FailureKind::Blocked, blocked.send_failure())
                .kept("Everything up to the tool results is kept.")
                .todo(format!("{} Then c continues.", blocked.remedies()))),
            Err(failure) => Err(failure),
        };
        let event = match opened {
            Ok(Some(call)) => {
                live.cancel = call.start(&self.jobs, self.reporter(branch));
                self.turns.live.insert(branch, live);
                return self.feed(branch, TurnInput::RoundOpened);
            }
            Ok(None) => TurnInput::RoundRefused,
            Err(failure) => {
                live.failure = Some(failure);
                TurnInput::RoundRefused
            }
        };
        self.turns.live.insert(branch, live);
        self.feed(branch, event);
    }

    fn open_round(&mut self, branch: BranchId, live: &mut LiveTurn, solved: Solved) -> Result<Option<Call>, Failure> {
        self.check_new_form(live, solved.wire.digest)?;
        let shown: Planned = self.shown(branch, &solved);
        let there = self.sessions.branch(branch)?;
        live.model = self.rules(&there)?.model;
        live.card = new_card(&there, &solved, live.state.round + 1, self.setup.now());
        live.solved = solved;
        live.outcome = None;
        let call = self.open_run(branch, live)?;
        self.plans.store_round_plan(branch, live.draft.clone(), live.solved.clone());
        self.emit(Event::Planned { branch, generation: u64::MAX, planned: shown });
        self.emit(Event::Turn(TurnEvent::Run(Box::new(live.card.clone()))));
        Ok(Some(call))
    }
}

impl Sessions {
    /// Returns the user message at or above a node.
    pub(crate) fn user_above(&self, branch: BranchId, node: Option<NodeId>) -> Option<NodeId> {
        let session = self.of_branch(branch).ok()?;
        let mut at = session.tree.slot(node?);
        while let Some(slot) = at {
            if session.tree.head(slot).role == Role::User {
                return Some(session.tree.head(slot).id);
            }
            at = session.tree.parent(slot);
        }
        None
    }
}

fn new_card(branch: &Branch, solved: &Solved, round: u32, at: i64) -> RunCard {
    let whose = (branch.session, branch.id);
    let card = RunCard::open(RunId(Uuid::now_v7()), whose, &solved.plan, solved.wire.digest, round, at);
    RunCard { edited: solved.edited, ..card }
}

/// Returns the user message of a turn that opens.
pub(crate) fn asked_node(
    session: &Session,
    base: Option<Slot>,
    text: &str,
    reply: Option<Hash>,
    at: i64,
    lane: &str,
) -> (NodeHead, Content) {
    let mut content = Content::text(text);
    content.extra = reply.map(|reply| serde_json::json!({ "reply_to": reply }));
    let key = fresh_key(session, base, Role::User, &content);
    (new_head(session, base, key, Role::User, &content, at, lane), content)
}

/// Returns the head of a new node. Its time is later than its parent's even if the clock stands still or was set back.
pub(crate) fn new_head(
    session: &Session,
    parent: Option<Slot>,
    key: Hash,
    role: Role,
    content: &Content,
    at: i64,
    lane: &str,
) -> NodeHead {
    let tree = &session.tree;
    NodeHead {
        id: NodeId(Uuid::now_v7()),
        key,
        parent: parent.map(|slot| tree.head(slot).id),
        ord: next_ord(tree, parent),
        role,
        end: End::Complete,
        at: parent.map_or(at, |slot| at.max(tree.head(slot).at + 1)),
        bytes: content.bytes(),
        calls: u16::try_from(content.calls().count()).unwrap_or(u16::MAX),
        hidden: false,
        imported: false,
        content: Some(content.hash()),
        preview: NodeHead::preview_of(&content.plain_text()),
        model: None,
        name: None,
        lane: lane.to_owned(),
        external_id: None,
    }
}

/// Returns the position for a new child after the existing ones.
fn next_ord(tree: &Tree, parent: Option<Slot>) -> u32 {
    tree.children(parent).iter().map(|slot| tree.head(*slot).ord + 1).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::sessions::path::tests::head;

    #[test]
    fn a_new_child_follows_its_siblings() {
        let root = head(1, None, Role::User);
        let child = |id, ord| NodeHead { ord, ..head(id, Some(1), Role::Assistant) };
        let tree = Tree::build(vec![root, child(2, 0), child(3, 7), child(4, 3)]);
        assert_eq!((next_ord(&tree, None), next_ord(&tree, Some(0)), next_ord(&tree, Some(1))), (2, 8, 0));
    }
}
