//! Error pairs: if a tool just failed in the same way as earlier on this path, offers the earlier failure and the
//! message that resolved it, as quoted evidence. Both are sent or neither, within half of the retrieval allowance.
//! Not for: errors described in messages; only a tool's own failure counts.

use super::card_text::CardSettings;
use super::retrieval::{self, turn_at};
use crate::context::AlreadyIn;
use crate::context::render::render_forms;
use crate::domain::base::failure::Failure;
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::NodeId;
use crate::domain::conversation::mark::Atom;
use crate::domain::conversation::message::{NodeHead, Role};
use crate::domain::planning::input::{Block, Candidate, Offer, PlanInput};
use crate::domain::planning::mode::SearchWish;
use crate::domain::planning::plan::{Reason, RowKind, Scores, Source};
use crate::domain::planning::policy::Section;
use crate::domain::tool::resolution::{LinkKind, failed, resolves, signature};
use crate::domain::tool::trace::ToolTrace;
use crate::engine::indexing::messages::searchable;
use crate::engine::plans::input_builder::{BuiltInput, InputBuilder};
use crate::engine::plans::snapshot::Snapshot;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// How many earlier tool calls are checked.
const LOOKED: usize = 500;
/// Characters of each side that are quoted.
const QUOTED: usize = 600;
/// The heading of the pair.
const HEADING: &str = "## An earlier error like the last one, and what resolved it, quoted\n\n";

/// An earlier failure like the newest one of the open turn, and the first call that worked after it: the same call again,
/// else one on the same thing, else one of the same tool before the next message of the person. `placed` is in the order of the path; positions from
/// `open` on are of the open turn.
fn pair(placed: &[(usize, &ToolTrace)], open: usize, turn_end: impl Fn(usize) -> usize) -> Option<(usize, usize)> {
    let told = |trace: &ToolTrace| failed(trace) && !trace.preview.trim().is_empty();
    let (_, newest) = placed.iter().rev().find(|(at, _)| *at >= open).filter(|(_, trace)| told(trace))?;
    let wanted = signature(newest);
    let mut before = placed.iter().rev().filter(|(at, trace)| *at < open && told(trace) && signature(trace) == wanted);
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

/// Adds the pair to a plan's input.
pub(crate) fn add(
    builder: &mut InputBuilder,
    snapshot: &Snapshot,
    already_in: &AlreadyIn,
    found: &mut BuiltInput,
) -> Result<(), Failure> {
    let tools = snapshot.open.heads.iter().any(|head| head.role == Role::Tool);
    let most = retrieval::limits(snapshot).retrieval_tokens / 2;
    if !tools || !snapshot.rules.policy.error_pairs || most == 0 || snapshot.search == SearchWish::Never {
        return Ok(());
    }
    let traces = builder.traces(snapshot.session, LOOKED)?;
    let by_node: HashMap<NodeId, &ToolTrace> = traces.iter().filter_map(|trace| Some((trace.node?, trace))).collect();
    let path = &snapshot.path;
    let placed: Vec<(usize, &ToolTrace)> =
        path.nodes.iter().enumerate().filter_map(|(at, node)| Some((at, *by_node.get(&node.id)?))).collect();
    let turn_end = |at: usize| path.turns[path.turn_at(at)].nodes.end;
    let Some((failed, worked)) = pair(&placed, snapshot.open_at, turn_end) else { return Ok(()) };
    let told = (worked..turn_end(worked)).find(|at| path.nodes[*at].role == Role::Assistant).unwrap_or(worked);
    let turns = [failed, told].map(|at| turn_at(snapshot, &found.input, at));
    let said = turns.iter().all(|turn| turn.is_some_and(|turn| already_in.closed.contains(&turn)));
    if said || taken_out(snapshot, [failed, told]) {
        return Ok(());
    }
    put(builder, snapshot, found, [(failed, turns[0]), (told, turns[1])], most)
}

/// Adds the positions of quoted pairs to those that retrieval skips.
pub(crate) fn held(snapshot: &Snapshot, input: &PlanInput, out: &mut Vec<Range<usize>>) {
    let blocks = input.offers.iter().flat_map(|offer| &offer.candidates).map(|one| &one.block);
    let pairs = blocks.filter(|block| matches!(block.reason, Reason::ErrorBefore | Reason::ErrorResolved));
    let ids: HashSet<NodeId> = pairs.filter_map(|block| block.source.message).collect();
    if ids.is_empty() {
        return;
    }
    let places = snapshot.path.nodes.iter().enumerate().filter(|(_, node)| ids.contains(&node.id)).map(|(at, _)| at);
    hold(out, places);
}

fn hold(out: &mut Vec<Range<usize>>, places: impl Iterator<Item = usize>) {
    let fresh: Vec<usize> = places.filter(|at| !out.iter().any(|run| run.contains(at))).collect();
    out.extend(fresh.into_iter().map(|at| at..at + 1));
    out.sort_by_key(|run| run.start);
}

/// Whether a person took one of them out.
fn taken_out(snapshot: &Snapshot, at: [usize; 2]) -> bool {
    at.iter().any(|at| {
        let turn = snapshot.path.turns[snapshot.path.turn_at(*at)].nodes.clone();
        let key = snapshot.path.nodes[*at].key;
        let first = snapshot.path.nodes[turn.start].key;
        snapshot.marks.iter().filter(|mark| mark.kind.excludes()).any(|mark| match mark.target {
            Atom::Turn { user, .. } => user == first,
            Atom::Message { node } | Atom::Episode { call: node, .. } => node == key,
            Atom::Preamble { .. } | Atom::Section { .. } | Atom::Range { .. } => false,
        })
    })
}

fn put(
    builder: &mut InputBuilder,
    snapshot: &Snapshot,
    found: &mut BuiltInput,
    [(failed, before_turn), (told, after_turn)]: [(usize, Option<Atom>); 2],
    most: u32,
) -> Result<(), Failure> {
    let Some(before) = quoted(builder, snapshot, failed)? else { return Ok(()) };
    let Some(after) = quoted(builder, snapshot, told)? else { return Ok(()) };
    let mark = render_forms::delimiter(&format!("{}{}", before.1, after.1));
    let texts = [
        format!("{HEADING}<<<{mark}\nThe error:\n{}\n", before.1),
        format!("Said once it worked:\n{}\n{mark}>>>\n\n", after.1),
    ];
    let encoding = snapshot.rules.model.encoding;
    let sides = [(failed, before_turn, before, Reason::ErrorBefore), (told, after_turn, after, Reason::ErrorResolved)];
    let mut candidates = Vec::new();
    for (text, (at, turn, (head, quote), reason)) in texts.into_iter().zip(sides) {
        let (hash, tokens) = (Hash::of(text.as_bytes()), builder.count(encoding, &text));
        let whole = 0..quote.len();
        found
            .contents
            .recipes
            .insert(hash, CardSettings::of(head.id, head.key, &text, &quote, std::slice::from_ref(&whole)));
        found.contents.blocks.insert(hash, text.into());
        let block = block(snapshot, at, &head, (hash, tokens), reason);
        let one = Candidate::plain(block, 0, ("include-once", "includes its turn in the next request"));
        candidates.push(Candidate { turn, ..one });
    }
    found.offer(Offer { heading: None, candidates, most: Some(most) });
    Ok(())
}

fn block(snapshot: &Snapshot, at: usize, head: &NodeHead, (text, tokens): (Hash, u32), reason: Reason) -> Block {
    let preamble = usize::from(snapshot.path.turns.first().is_some_and(|turn| !turn.asked));
    let turn = (snapshot.path.turn_at(at) + 1).saturating_sub(preamble);
    Block {
        section: Section::Retrieved,
        kind: RowKind::Card,
        text,
        tokens,
        title: head.preview.clone(),
        reason,
        atom: Some(Atom::Message { node: head.key }),
        source: Source {
            session: Some(snapshot.session),
            branch: Some(snapshot.branch.id),
            turn: u32::try_from(turn).ok().filter(|turn| *turn > 0),
            message: Some(head.id),
            external_id: head.external_id.clone(),
            at: Some(head.at),
            path: None,
            span: None,
            code: None,
        },
        scores: Scores::default(),
    }
}

/// A message and the beginning of its words, as cards quote it.
fn quoted(builder: &mut InputBuilder, snapshot: &Snapshot, at: usize) -> Result<Option<(NodeHead, String)>, Failure> {
    let Some(node) = builder.node(snapshot.path.nodes[at].id)? else { return Ok(None) };
    let text = searchable(&node.head, &node.content);
    let end = text.char_indices().nth(QUOTED).map_or(text.len(), |(at, _)| at);
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
    fn failures_are_told_by_what_the_tool_reports() {
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
        assert_eq!(pair(&without, 4, |_| 2), Some((0, 1)), "else what worked in the same turn");
        assert_eq!(pair(&without, 4, |_| 1), None);
        assert_eq!(pair(&placed(4), 3, |_| 9), None, "nothing has failed now");
        assert_eq!(signature(&all[0]), signature(&all[4]));
        assert_ne!(signature(&all[0]), signature(&all[2]));
    }

    /// What resolved a failure: the same call before another on the same thing, that before another of the tool.
    #[test]
    fn the_nearest_kind_of_call_that_worked_is_taken() {
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
        assert_eq!(placed(&without(&[1, 2, 3]), 1, 9), None, "what is in the open turn resolves nothing");
        assert_eq!(placed(&all, 5, 9), None, "nothing failed in the open turn");
        let mut silent = all.clone();
        silent[0].preview = " ".into();
        assert_eq!(placed(&silent, 4, 9), None, "a failure without words is like no other");
        let before = [path("a", Ok), path("a", Failed), path("a", Failed)];
        assert_eq!(placed(&before, 2, 9), None, "what worked before it resolves nothing");
        let twice = [path("a", Failed), path("a", Ok), path("b", Failed), path("b", Ok), path("c", Failed)];
        assert_eq!(placed(&twice, 4, 9), Some((2, 3)), "the newest failure that was resolved");
        assert_eq!(
            placed(&[twice[0].clone(), twice[1].clone(), twice[2].clone(), twice[4].clone()], 3, 9),
            Some((0, 1))
        );
    }

    #[test]
    fn places_are_held_once_and_in_order() {
        let mut out = vec![3..5, 9..10];
        hold(&mut out, [0, 3, 4, 5, 7].into_iter());
        assert_eq!(out, [0..1, 3..5, 5..6, 7..8, 9..10]);
    }
}
