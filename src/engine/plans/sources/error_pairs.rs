//! Error pairs: if a tool just failed in the same way as earlier on this path, offers the earlier failure and the
//! message that resolved it, as quoted evidence. Either both are sent or neither, within half of the retrieval
//! allowance.
//! Not for: errors described in messages; only a tool's own failure counts.

use super::card_text::CardSettings;
use super::retrieval::{limits, turn_at};
use super::rounds;
use crate::context::AlreadyIn;
use crate::context::render::render_forms;
use crate::domain::base::{Failure, Hash, NodeId};
use crate::domain::conversation::{Atom, NodeHead, Role};
use crate::domain::planning::Reason;
use crate::domain::planning::{Block, Candidate, Offer, OfferLimit, PlanInput, RowKind, Section};
use crate::domain::tool::resolution::{failed, resolves, signature};
use crate::domain::tool::{LinkKind, ToolTrace};
use crate::engine::indexing::messages::{searchable, together};
use crate::engine::plans::input_builder::{BuiltInput, InputBuilder};
use crate::engine::plans::snapshot::Snapshot;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

/// The number of earlier tool calls that are checked.
const MAX_CALLS: usize = 500;
/// The maximum length of each quote, in characters.
const MAX_QUOTE: usize = 600;
/// The pair may take half of the allowance.
const LIMIT: OfferLimit = OfferLimit::Allowance { parts: 1, of: 2 };
/// The heading of the pair.
const HEADING: &str = "## An earlier error like the last one, and what resolved it, quoted\n\n";

/// Finds the newest earlier failure like the newest one of the open turn that a later call resolved, and that call: the
/// same call, or else a call with the same target, or else a call of the same tool in the same turn. `placed` is in the
/// order of the path; positions from `open` on belong to the open turn.
fn pair(placed: &[(usize, &ToolTrace)], open: usize, turn_end: impl Fn(usize) -> usize) -> Option<(usize, usize)> {
    let has_failed = |trace: &ToolTrace| failed(trace) && !trace.preview.trim().is_empty();
    let (_, newest) = placed.iter().rev().find(|(at, _)| *at >= open).filter(|(_, trace)| has_failed(trace))?;
    let wanted = signature(newest);
    let mut before =
        placed.iter().rev().filter(|(at, trace)| *at < open && has_failed(trace) && signature(trace) == wanted);
    before.find_map(|(at, failure)| {
        let first = |how: LinkKind, end: usize| {
            let within = |then: usize| then > *at && then < end;
            placed.iter().find(|(then, trace)| within(*then) && resolves(failure, trace) == Some(how))
        };
        let near = || first(LinkKind::Tool, turn_end(*at).min(open));
        let found = first(LinkKind::Same, open).or_else(|| first(LinkKind::Subject, open)).or_else(near);
        found.map(|(then, _)| (*at, *then))
    })
}

/// Offers the pair to a plan.
pub(crate) fn add(
    builder: &mut InputBuilder,
    snapshot: &Snapshot,
    already_in: &AlreadyIn,
    found: &mut BuiltInput,
) -> Result<(), Failure> {
    let tools = snapshot.open.heads.iter().any(|head| head.role == Role::Tool);
    if !tools || !snapshot.rules.policy.error_pairs || !limits(snapshot).retrieves() {
        return Ok(());
    }
    if let Some(round) = &snapshot.round_before {
        rounds::repeat_error_pairs(round, snapshot, found);
    }
    let traces = builder.store().traces(snapshot.session, MAX_CALLS)?;
    let by_node: HashMap<NodeId, &ToolTrace> = traces.iter().filter_map(|trace| Some((trace.node?, trace))).collect();
    let path = &snapshot.path;
    let placed: Vec<(usize, &ToolTrace)> =
        path.nodes.iter().enumerate().filter_map(|(at, node)| Some((at, *by_node.get(&node.id)?))).collect();
    let turn_end = |at: usize| path.turns[path.turn_at(at)].nodes.end;
    let Some((failed, resolved_at)) = pair(&placed, snapshot.open_at, turn_end) else { return Ok(()) };
    let answer_at =
        (resolved_at..turn_end(resolved_at)).find(|at| path.nodes[*at].role == Role::Assistant).unwrap_or(resolved_at);
    let turns = [failed, answer_at].map(|at| turn_at(snapshot, &found.input, at));
    let both_sent = turns.iter().all(|turn| turn.is_some_and(|turn| already_in.closed.contains(&turn)));
    let ids = [failed, answer_at].map(|at| Some(path.nodes[at].id));
    let repeated = found
        .contents
        .round_parts
        .error_pairs
        .iter()
        .any(|pair| pair.candidates.iter().map(|one| one.block.source.message).eq(ids));
    let was_found = snapshot.round_before.as_ref().is_some_and(|round| rounds::sends_messages(round, &ids));
    if both_sent || repeated || was_found || is_excluded(snapshot, [failed, answer_at]) {
        return Ok(());
    }
    put(builder, snapshot, found, [(failed, turns[0]), (answer_at, turns[1])])
}

/// Adds the positions of quoted pairs to `out`, the positions that retrieval skips, together with the positions of the
/// messages that a card would include.
pub(crate) fn add_quoted_positions(snapshot: &Snapshot, input: &PlanInput, out: &mut Vec<Range<usize>>) {
    let ids = quoted_messages(input);
    if ids.is_empty() {
        return;
    }
    let places = snapshot.path.nodes.iter().enumerate().filter(|(_, node)| ids.contains(&node.id)).map(|(at, _)| at);
    let all: BTreeSet<usize> = places.flat_map(|at| together(&snapshot.path.nodes, at)).collect();
    hold(out, all.into_iter());
}

/// Returns the messages that offered pairs quote.
fn quoted_messages(input: &PlanInput) -> HashSet<NodeId> {
    let blocks = input.offers.iter().flat_map(|offer| &offer.candidates).map(|one| &one.block);
    let pairs = blocks.filter(|block| matches!(block.reason, Reason::ErrorBefore | Reason::ErrorResolved));
    pairs.filter_map(|block| block.source.message).collect()
}

fn hold(out: &mut Vec<Range<usize>>, places: impl Iterator<Item = usize>) {
    let fresh: Vec<usize> = places.filter(|at| !out.iter().any(|run| run.contains(at))).collect();
    out.extend(fresh.into_iter().map(|at| at..at + 1));
    out.sort_by_key(|run| run.start);
}

/// Whether a person excluded one of the messages or its turn.
fn is_excluded(snapshot: &Snapshot, at: [usize; 2]) -> bool {
    at.iter().any(|at| {
        let first = snapshot.path.nodes[snapshot.path.turns[snapshot.path.turn_at(*at)].nodes.start].key;
        let is_turn = |target| matches!(target, Atom::Turn { user, .. } if user == first);
        snapshot.excludes_message(snapshot.path.nodes[*at].key)
            || snapshot.marks.iter().any(|mark| mark.kind.excludes() && is_turn(mark.target))
    })
}

fn put(
    builder: &mut InputBuilder,
    snapshot: &Snapshot,
    found: &mut BuiltInput,
    [(failed, before_turn), (answer_at, after_turn)]: [(usize, Option<Atom>); 2],
) -> Result<(), Failure> {
    let Some(before) = quoted(builder, snapshot, failed)? else { return Ok(()) };
    let Some(after) = quoted(builder, snapshot, answer_at)? else { return Ok(()) };
    let mark = render_forms::delimiter(&format!("{}{}", before.1, after.1));
    let texts = [
        format!("{HEADING}<<<{mark}\nThe error:\n{}\n", before.1),
        format!("The text after it worked:\n{}\n{mark}>>>\n\n", after.1),
    ];
    let count = builder.counting(snapshot.rules.model.encoding);
    let sides =
        [(failed, before_turn, before, Reason::ErrorBefore), (answer_at, after_turn, after, Reason::ErrorResolved)];
    let mut candidates = Vec::new();
    for (text, (at, turn, (head, quote), reason)) in texts.into_iter().zip(sides) {
        let whole = 0..quote.len();
        let settings = CardSettings::of(head.id, head.key, &text, &quote, std::slice::from_ref(&whole));
        let counted = found.contents.add_block(text, &count);
        found.contents.card_settings.insert(counted.0, settings);
        let block = block(snapshot, at, &head, counted, reason);
        let one = Candidate::plain(block, 0, ("include-once", "includes its turn in the next request"));
        candidates.push(Candidate { turn, ..one });
    }
    let offer = Offer::new(None, candidates, LIMIT);
    found.contents.round_parts.error_pairs.push(offer.clone());
    found.offer(offer);
    Ok(())
}

fn block(snapshot: &Snapshot, at: usize, head: &NodeHead, counted: (Hash, u32), reason: Reason) -> Block {
    let section = rounds::section(snapshot, Section::Retrieved);
    Block {
        atom: Some(Atom::Message { node: head.key }),
        source: snapshot.source(at, head.id, head.external_id.clone(), None),
        ..Block::new(section, RowKind::Card, counted, &head.preview, reason)
    }
}

/// Returns a message's head and the beginning of its text, as cards quote it; `None` without text.
fn quoted(builder: &mut InputBuilder, snapshot: &Snapshot, at: usize) -> Result<Option<(NodeHead, String)>, Failure> {
    let Some(node) = builder.store().nodes(&[snapshot.path.nodes[at].id])?.pop() else { return Ok(None) };
    let text = searchable(&node.head, &node.content);
    let end = text.char_indices().nth(MAX_QUOTE).map_or(text.len(), |(at, _)| at);
    let quote = text[..end].trim_end().to_owned();
    Ok((!quote.is_empty()).then_some((node.head, quote)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::tool::trace::{ToolStatus, sample as trace};

    #[test]
    fn a_narrower_run_or_another_command_resolves_nothing() {
        use ToolStatus::{Failed, Ok};
        let run =
            |line: &str, status| trace("run", &format!("{{\"line\":\"{line}\"}}"), status, "error: 1 test failed");
        let all = [run("cargo test", Failed), run("ls", Ok), run("cargo test a", Failed), run("cargo test b", Failed)];
        let placed = |all: &[ToolTrace]| all.iter().cloned().enumerate().collect::<Vec<_>>();
        let found = |all: &[ToolTrace]| {
            let placed = placed(all);
            let placed: Vec<(usize, &ToolTrace)> = placed.iter().map(|(at, trace)| (*at, trace)).collect();
            pair(&placed, all.len() - 1, |_| all.len())
        };
        assert_eq!(found(&all[..3]), None);
        let then = [run("cargo test a", Failed), run("ls", Ok), run("cargo test", Ok), run("cargo test b", Failed)];
        assert_eq!(found(&then), Some((0, 2)));
    }

    #[test]
    fn failures_are_recognized_by_the_report_of_the_tool() {
        use ToolStatus::{Failed, Ok};
        let again = "Error 17: no such file src/a.rs";
        let all = [
            trace("read", "a", Failed, "error 4: no  such file src/a.rs"),
            trace("read", "b", Ok, "fn main"),
            trace("read", "a", Failed, "error 5: permission denied"),
            trace("read", "a", Ok, "error: these words alone say nothing"),
            trace("read", "a", Failed, again),
        ];
        let placed = |upto: usize| all[..upto].iter().enumerate().collect::<Vec<_>>();
        assert_eq!(pair(&placed(5), 4, |_| 2), Some((0, 3)), "the same call that worked, before any other");
        let without: Vec<(usize, &ToolTrace)> = placed(5).into_iter().filter(|(at, _)| *at != 3).collect();
        assert_eq!(pair(&without, 4, |_| 2), Some((0, 1)), "otherwise a call that worked in the same turn");
        assert_eq!(pair(&without, 4, |_| 1), None);
        assert_eq!(pair(&placed(4), 3, |_| 9), None, "nothing has failed now");
        assert_eq!(signature(&all[0]), signature(&all[4]));
        assert_ne!(signature(&all[0]), signature(&all[2]));
    }

    /// The same call is preferred to another on the same subject, and that to another of the same tool.
    #[test]
    fn the_closest_kind_of_successful_call_resolves_a_failure() {
        use ToolStatus::{Failed, Ok};
        let read = |args: &str, status| trace("read", args, status, "no such file");
        let path = |name: &str, status| read(&format!("{{\"path\":\"{name}\"}}"), status);
        let placed = |all: &[ToolTrace], open: usize, end: usize| {
            let placed: Vec<(usize, &ToolTrace)> = all.iter().enumerate().collect();
            pair(&placed, open, |_| end)
        };
        let all =
            [path("a", Failed), path("b", Ok), read(r#"{"path":"a","lines":1}"#, Ok), path("a", Ok), path("c", Failed)];
        assert_eq!(placed(&all, 4, 9), Some((0, 3)));
        let without = |gone: &[usize]| -> Vec<ToolTrace> {
            all.iter().enumerate().filter(|(at, _)| !gone.contains(at)).map(|(_, trace)| trace.clone()).collect()
        };
        assert_eq!(placed(&without(&[3]), 3, 9), Some((0, 2)));
        assert_eq!(placed(&without(&[2, 3]), 2, 9), Some((0, 1)));
        assert_eq!(placed(&without(&[2, 3]), 2, 1), None, "not before the next message");
        assert_eq!(placed(&without(&[1, 2, 3]), 1, 9), None, "a call of the open turn resolves nothing");
        assert_eq!(placed(&all, 5, 9), None, "nothing failed in the open turn");
        let mut silent = all.clone();
        silent[0].preview = " ".into();
        assert_eq!(placed(&silent, 4, 9), None, "a failure without a report matches no other");
        let before = [path("a", Ok), path("a", Failed), path("a", Failed)];
        assert_eq!(placed(&before, 2, 9), None, "an earlier success resolves nothing");
        let twice = [path("a", Failed), path("a", Ok), path("b", Failed), path("b", Ok), path("c", Failed)];
        assert_eq!(placed(&twice, 4, 9), Some((2, 3)), "the newest failure that was resolved");
        assert_eq!(
            placed(&[twice[0].clone(), twice[1].clone(), twice[2].clone(), twice[4].clone()], 3, 9),
            Some((0, 1))
        );
    }

    #[test]
    fn positions_are_added_once_and_in_order() {
        let mut out = vec![3..5, 9..10];
        hold(&mut out, [0, 3, 4, 5, 7].into_iter());
        assert_eq!(out, [0..1, 3..5, 5..6, 7..8, 9..10]);
    }
}
