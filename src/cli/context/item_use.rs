//! Prints which items of their requests the answers used: a part of `stats`, and marks on the rows of a stored plan.
//! Not for: finding uses (`engine`), or computing totals (`domain::call::item_use`).

use crate::cli::Run;
use crate::cli::client::expect_answer;
use crate::cli::output::{column, number};
use crate::cli::stop::Stop;
use crate::domain::call::ledger::percent;
use crate::domain::call::tokens::counted;
use crate::domain::call::{CallUses, RunCard, UnusedItem, UseCount, UseTotals};
use crate::engine::api::{CallAnswer, CallRequest};
use serde_json::{Value, json};

/// The maximum number of unused items that are listed.
const MAX_LISTED: usize = 8;
/// Width of a title in columns.
const TITLE_WIDTH: usize = 40;

/// Returns the item uses of the newest of these calls that has any recorded, or None.
pub(crate) fn of(run: &mut Run<'_, '_>, cards: &[RunCard]) -> Result<Option<CallUses>, Stop> {
    let Some(card) = cards.iter().rev().find(|card| card.uses.is_some()) else { return Ok(None) };
    let uses = expect_answer!(run, Call(CallAnswer::Uses), CallRequest::Uses { run: card.id });
    Ok(uses.map(|uses| *uses))
}

/// Returns the `stats --json` value about items; null if no uses are recorded.
pub(crate) fn shape(totals: &UseTotals) -> Value {
    if totals.calls == 0 {
        return Value::Null;
    }
    let named = |key: &str, name: &str, count: &UseCount| {
        let mut value = json!(count);
        value[key] = name.into();
        value
    };
    let mut value = json!(totals.all);
    value["calls"] = totals.calls.into();
    value["by_source"] =
        totals.by_section.iter().map(|(section, count)| named("source", section.name(), count)).collect();
    let policies = totals.by_policy.iter().map(|(name, calls, count)| {
        let mut value = named("policy", name, count);
        value["calls"] = (*calls).into();
        value
    });
    value["by_policy"] = policies.collect();
    let unused = totals.unused.iter().map(|item| {
        json!({
            "id": item.atom.key(),
            "kind": item.kind.name(),
            "title": item.title,
            "turns": item.unused.turns,
            "used_before": item.unused.used_before,
            "tokens": item.tokens,
            "command": command(item),
        })
    });
    value["never_used"] = unused.collect();
    value
}

fn command(item: &UnusedItem) -> String {
    format!("pleach {} {}", if item.pinned { "unpin" } else { "exclude" }, item.atom.key().short())
}

/// Prints the part of `stats` about items; nothing if no uses are recorded.
pub(crate) fn print(run: &mut Run<'_, '_>, totals: &UseTotals) {
    if totals.calls == 0 {
        return;
    }
    let line = |name: &str, count: &UseCount| {
        let share = count.used_tokens * 1_000 / count.shown_tokens.max(1);
        format!(
            "{} {} shown, {} used  {} of {} tokens ({})",
            column(name, 20),
            number(count.shown),
            number(count.used),
            number(count.used_tokens),
            number(count.shown_tokens),
            percent(share)
        )
    };
    run.io.say(&line("items", &totals.all));
    for (section, count) in &totals.by_section {
        run.io.say(&line(&format!("  {}", section.title()), count));
    }
    for (policy, calls, count) in &totals.by_policy {
        run.io.say(&format!("{}, {}", line(&format!("  policy {policy}"), count), counted((*calls).into(), "call")));
    }
    for item in totals.unused.iter().take(MAX_LISTED) {
        let title = column(item.title.lines().next().unwrap_or_default(), TITLE_WIDTH);
        run.io.say(&format!(
            "unused       {} {}: {}; `{}`",
            item.kind.name(),
            title.trim_end(),
            item.to_text(),
            command(item)
        ));
    }
}
