//! The turns of a branch that can be summarized, and the reasons why a turn is not summarized.
//! Not for: choosing among them (`context::summary::sources`), or when a summary is due (`automatic`).

use crate::context::policy::levels;
use crate::domain::base::{Failure, Hash, secrets};
use crate::domain::conversation::{Atom, Branch, Mark, MarkKind, NodeHead, tree};
use crate::domain::planning::{StateBlock, TurnSelection};
use crate::domain::summary::{KeepReason, SourceTurn, SummaryKind};
use crate::engine::plans::input_builder::send_barrier;
use crate::engine::plans::labels::state_text;
use crate::engine::sessions::state::Sessions;
use crate::engine::startup::rules::Rules;
use crate::engine::startup::setup::Setup;
use crate::engine::turns::state::Turns;
use std::collections::HashSet;

/// The input of a draft: the closed turns of a branch, each with its readable messages, and the lane.
pub(crate) struct DraftInput {
    pub(crate) turns: Vec<(SourceTurn, Vec<NodeHead>)>,
    pub(crate) lane: String,
}

/// Returns the maximum tokens of a summary of these turns (by the keys of their user messages): what the session
/// level holds beside the state block and the summaries that stay. No limit if the policy has no levels.
pub(crate) fn summary_limit(
    sessions: &Sessions,
    setup: &Setup,
    branch: &Branch,
    rules: &Rules,
    turns: &HashSet<Hash>,
) -> Result<u32, Failure> {
    let policy = &rules.policy;
    if policy.choose != TurnSelection::Levels {
        return Ok(u32::MAX);
    }
    let session = sessions.of_branch(branch.id)?;
    let count = |text: &str| setup.counter.count(rules.model.encoding, text);
    let state = session.state_on(branch, session.head(branch)).filter(|_| policy.state_block != StateBlock::Off);
    let state = state.map_or(0, |state| count(&state_text(&secrets::mask(&state.text).0)));
    let others = branch.summaries.iter().filter_map(|id| session.summary(*id));
    let others = others.filter(|held| held.summary.covers.iter().any(|cover| !turns.contains(&cover.user)));
    let taken = others.fold(state, |sum, held| sum.saturating_add(held.summary.tokens));
    let total = policy.levels.total.min(rules.budget.prompt);
    Ok(levels::budgets(total, &policy.levels)[1].saturating_sub(taken))
}

/// Returns the closed turns of a branch as candidates, without an open or unanswered turn.
pub(crate) fn ready(
    sessions: &Sessions,
    turns: &Turns,
    branch: &Branch,
    kind: SummaryKind,
) -> Result<DraftInput, Failure> {
    let session = sessions.of_branch(branch.id)?;
    let tree = &session.tree;
    let path = session.path(branch);
    let lane = match (kind, path.last()) {
        (SummaryKind::Lane, Some(last)) => tree.head(*last).lane.clone(),
        _ => String::new(),
    };
    let mut all = tree::turns(tree, &path);
    if turns.live.contains_key(&branch.id) {
        all.pop();
    }
    let mut found = Vec::new();
    let mut number = 0;
    for turn in all {
        number += u32::from(turn.asked);
        let heads: Vec<&NodeHead> = turn.nodes.clone().map(|at| tree.head(path[at])).collect();
        let [first, .., last] = heads.as_slice() else { continue };
        let read = readable(branch, &heads);
        let stays = stays(branch, &heads, read.is_empty())
            .or((kind == SummaryKind::Lane && first.lane != lane).then_some(KeepReason::OtherLane));
        let source = SourceTurn {
            user: first.key,
            tip: last.key,
            number: if turn.asked { number } else { 0 },
            node: first.id,
            title: first.preview.clone(),
            at: last.at,
            count: u32::try_from(heads.len()).unwrap_or(u32::MAX),
            tokens: 0,
            stays,
            messages: Vec::new(),
        };
        found.push((source, read));
    }
    Ok(DraftInput { turns: found, lane })
}

/// Returns the messages of a turn that may be read: messages that would be sent and are not excluded.
pub(crate) fn readable(branch: &Branch, heads: &[&NodeHead]) -> Vec<NodeHead> {
    let is_excluded = |head: &NodeHead| {
        branch.marks.iter().filter(|mark| mark.kind.excludes()).any(|mark| on_node(&mark.target, head.key))
    };
    heads
        .iter()
        .filter(|head| send_barrier(head, false).is_none() && !is_excluded(head))
        .map(|head| (*head).clone())
        .collect()
}

/// Returns why a turn is not summarized: a mark on it or on one of its messages, or nothing to read. `None` if it can
/// be.
pub(crate) fn stays(branch: &Branch, heads: &[&NodeHead], empty: bool) -> Option<KeepReason> {
    let first = heads.first()?.key;
    let on_turn = |mark: &&Mark| match mark.target {
        Atom::Turn { user, tip } => user == first && heads.iter().any(|head| head.key == tip),
        _ => false,
    };
    let on_any = |mark: &&Mark| on_turn(mark) || heads.iter().any(|head| on_node(&mark.target, head.key));
    if branch.marks.iter().any(|mark| on_turn(&mark) && mark.kind.excludes()) {
        Some(KeepReason::Excluded)
    } else {
        let kept = branch.marks.iter().filter(on_any).filter_map(keeps);
        kept.min().or(empty.then_some(KeepReason::Empty))
    }
}

/// Returns the reason why a mark keeps its turn from being summarized; the strongest reason is the smallest value. The
/// program's own leases keep no turns: they end after a few turns, and a summary without their turns would not replace
/// an earlier summary that covers them.
fn keeps(mark: &Mark) -> Option<KeepReason> {
    match mark.kind {
        MarkKind::Sticky => Some(KeepReason::Pinned),
        MarkKind::Leased { .. } => mark.is_decision().then_some(KeepReason::Leased),
        MarkKind::IncludeOnce | MarkKind::Ephemeral => Some(KeepReason::Included),
        MarkKind::Exclude | MarkKind::ExcludeOnce => None,
    }
}

fn on_node(target: &Atom, key: Hash) -> bool {
    match target {
        Atom::Message { node } | Atom::Episode { call: node, .. } => *node == key,
        Atom::Turn { .. } | Atom::Preamble { .. } | Atom::Section { .. } | Atom::Range { .. } => false,
    }
}
