//! The effect of accepting or undoing a summary on the next request: its preview, and its sentence.
//! Not for: solving the plans (the engine), or requesting the preview (`update_effect`).

use crate::domain::base::{BranchId, Hash};
use crate::domain::call::tokens::{counted, grouped};
use crate::domain::planning::{ActPreview, ContextPlan, MovedItem, PlanFigures, RowKind};
use std::sync::Arc;

/// The inputs of a preview: the plan's id, and the summary's.
pub type PreviewKey = (Hash, Hash);

/// The preview of accepting a draft.
#[derive(Clone, Debug, Default)]
pub struct AcceptancePreview {
    pub key: Option<PreviewKey>,
    /// When to request it, in milliseconds of the model's clock.
    pub due: Option<u64>,
    /// The outcome, or why it could not be computed; None until the engine answers.
    pub outcome: Option<Result<Box<ActPreview>, String>>,
}

/// A summary that was accepted or undone, before the next request is planned with the change.
#[derive(Clone, Debug)]
pub struct ChangedSummary {
    pub branch: BranchId,
    /// The plan before the change.
    pub before: Arc<ContextPlan>,
    /// The notice that says what was done.
    pub notice: String,
}

/// Describes a plan compared with the plan before it, of `before` tokens; `left_out` is why it leaves out a new summary:
/// `Next request: 3,243 → 3,127 tokens; adds 1 summary, removes 12 turns.` In a preview, `if_accepted`.
pub(crate) fn describe_effect(before: u32, figures: &PlanFigures, left_out: Option<&str>, if_accepted: bool) -> String {
    let (subject, unchanged) = if if_accepted {
        ("Next request if you accept", "If you accept, the next request stays the same")
    } else {
        ("Next request", "The next request stays the same")
    };
    let by_side = [("adds", &figures.gained, figures.sums[0].0), ("removes", &figures.lost, figures.sums[1].0)];
    let mut parts: Vec<String> = by_side
        .into_iter()
        .filter(|(_, _, count)| *count > 0)
        .map(|(verb, items, count)| format!("{verb} {}", by_kind(items, count)))
        .collect();
    if figures.changed > 0 {
        parts.push(format!("changes {}", counted(figures.changed.into(), "item")));
    }
    let same = parts.is_empty() && figures.est == before;
    let sizes = format!("{subject}: {} → {} tokens", grouped(before.into()), grouped(figures.est.into()));
    let effect = match (parts.is_empty(), same) {
        (_, true) => format!("{unchanged}."),
        (true, false) => format!("{sizes}."),
        (false, _) => format!("{sizes}; {}.", parts.join(", ")),
    };
    match left_out {
        Some(why) if same => format!("{unchanged}, without the summary. {why}"),
        Some(why) => format!("{effect} The summary is left out. {why}"),
        None => effect,
    }
}

/// Counts items by kind: `12 turns and 1 card`. `count` includes items that are not listed.
fn by_kind(items: &[MovedItem], count: u32) -> String {
    let of = |kind: RowKind| items.iter().filter(|item| item.kind == kind).count() as u64;
    let kinds = [
        (of(RowKind::Summary), "summary", "summaries"),
        (of(RowKind::Turn), "turn", "turns"),
        (of(RowKind::Card), "card", "cards"),
    ];
    let others = u64::from(count).saturating_sub(kinds.iter().map(|(n, ..)| n).sum());
    let counted = kinds.into_iter().chain([(others, "other item", "other items")]).filter(|(n, ..)| *n > 0);
    let words = counted.map(|(n, one, many)| format!("{} {}", grouped(n), if n == 1 { one } else { many }));
    words.collect::<Vec<_>>().join(" and ")
}
