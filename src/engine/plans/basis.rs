//! Computes the digests of everything that a plan is solved from. These digests alone decide whether a displayed plan
//! is still valid.
//! Not for: the input itself (`input`).

use super::snapshot::Snapshot;
use crate::domain::base::Fields;
use crate::domain::conversation::mark::marks_digest;
use crate::domain::planning::{Basis, PlanInput};
use crate::engine::startup::rules::wire_digest;

/// Returns the basis of an input that was collected for a snapshot.
pub(super) fn of(snapshot: &Snapshot, input: &PlanInput) -> Basis {
    let draft = match &snapshot.draft {
        Some((_, content)) if snapshot.lane.is_empty() => content.hash(),
        Some((_, content)) => Fields::new("in lane").hash(content.hash()).text(&snapshot.lane).finish(),
        None => Fields::new("no draft").number(u64::from(snapshot.go_on)).finish(),
    };
    let mut marks = snapshot.marks.clone();
    marks.extend(snapshot.inactive_marks.iter().map(|node| node.mark.clone()));
    let mut frozen = Fields::new("frozen").json(&snapshot.branch.anchor).number(input.inactive_marks.len() as u64);
    for block in input.blocks.iter().chain(&input.state_request) {
        frozen = frozen.hash(block.text).number(u64::from(block.tokens));
    }
    for summary in input.summaries.iter().filter(|one| one.named || one.lacks) {
        frozen = frozen.hash(summary.by).number(u64::from(summary.named)).number(u64::from(summary.lacks));
    }
    for near in &input.near {
        frozen = frozen.json(&near.atom).json(&near.reason);
    }
    for (hash, tokens) in input.turns.iter().filter_map(|turn| turn.card) {
        frozen = frozen.hash(hash).number(u64::from(tokens));
    }
    Basis {
        head: snapshot.head.unwrap_or_default(),
        marks: marks_digest(&marks),
        draft,
        wire: wire_digest(&snapshot.rules, snapshot.rules.policy.state_block),
        frozen: frozen.finish(),
    }
}
