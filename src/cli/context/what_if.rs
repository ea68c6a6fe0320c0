//! `plan --what-if`: the next request under other settings, side by side.
//! Not for: the plan itself (`plan`).

use super::plan::{self, Again};
use crate::cli::Run;
use crate::cli::client::expect_answer;
use crate::cli::input;
use crate::cli::output::{column, number};
use crate::cli::shape::prompt_cost;
use crate::cli::stop::Stop;
use crate::domain::base::Failure;
use crate::domain::base::money::money;
use crate::domain::call::tokens::counted;
use crate::domain::planning::{ChangedItem, MovedItem, PlanFigures, WhatIf};
use crate::engine::api::{PlanAnswer, PlanRequest};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The maximum number of items listed for each variant in the text output.
const MAX_LISTED: usize = 3;

/// `plan --what-if`.
pub(crate) fn what_if(
    run: &mut Run<'_, '_>,
    words: &[String],
    again: Again<'_>,
    variants: &[String],
) -> Result<(), Stop> {
    let variants = input::variants(variants)?;
    let (view, draft) = plan::draft_of(run, words, again)?;
    let found =
        expect_answer!(run, Plan(PlanAnswer::WhatIf), PlanRequest::WhatIf { branch: view.current, draft, variants });
    run.io.either(&shape(&found), describe(&found).trim_end())
}

fn describe(found: &WhatIf) -> String {
    let mut all = vec![("current settings", &found.present)];
    all.extend(found.alternatives.iter().map(|variant| (variant.title.as_str(), &variant.result)));
    let mut text = format!(
        "{} {:>11} {:>9} {:>9} {:>7} {:>5} {:>5}\n",
        column("", 30),
        "tokens",
        "budget",
        "cost",
        "cached",
        "in",
        "out"
    );
    for (title, result) in &all {
        match result {
            Ok(known) => text.push_str(&line(title, known)),
            Err(why) => drop(writeln!(text, "{} {why}", column(title, 30))),
        }
    }
    for (title, result) in all.iter().skip(1) {
        let Ok(known) = result else { continue };
        if known.sums.iter().any(|(count, _)| *count > 0) || known.changed > 0 {
            let _ = writeln!(text, "\n{title}");
            named(&mut text, "+", &known.gained, known.sums[0]);
            named(&mut text, "-", &known.lost, known.sums[1]);
            changed(&mut text, known);
        }
    }
    text
}

fn line(title: &str, known: &PlanFigures) -> String {
    let cost = known.cost.map_or_else(String::new, |cost| money(cost.micro));
    format!(
        "{} {:>11} {:>9} {cost:>9} {:>7} {:>5} {:>5}\n",
        column(title, 30),
        number(known.est),
        number(known.budget.total()),
        known.same_text(),
        format!("+{}", known.sums[0].0),
        format!("-{}", known.sums[1].0),
    )
}

/// Lists the first items gained or lost with their sign, one per line, and counts the others.
fn named(text: &mut String, sign: &str, items: &[MovedItem], (count, _): (u32, u32)) {
    for item in items.iter().take(MAX_LISTED) {
        let turn = item.turn.map_or_else(String::new, |turn| format!("turn {turn}: "));
        let what = column(&format!("{turn}{}", item.title), 48);
        let _ = writeln!(text, "  {sign} {} {what} {:>9}", column(item.kind.name(), 9), number(item.tokens));
    }
    let rest = (count as usize).saturating_sub(MAX_LISTED);
    if rest > 0 {
        let _ = writeln!(text, "  {sign} {rest} more");
    }
}

/// Says what `act` adds to the next request, removes from it, and changes in it.
pub(super) fn effect(act: &str, figures: &PlanFigures) -> String {
    let tokens = |at: usize| counted(u64::from(figures.sums[at].1), "token");
    let mut text = match (figures.sums, figures.changed) {
        ([(0, _), (0, _)], 0) => return format!("{act} changes nothing in the next request.\n"),
        ([(0, _), (0, _)], many) => format!("{act} changes {} of the next request:\n", counted(many.into(), "item")),
        _ => format!("{act} adds {} and removes {}:\n", tokens(0), tokens(1)),
    };
    named(&mut text, "+", &figures.gained, figures.sums[0]);
    named(&mut text, "-", &figures.lost, figures.sums[1]);
    changed(&mut text, figures);
    text
}

fn shape(found: &WhatIf) -> Value {
    let variant_shape = |title: &str, arm: Value, result: &Result<PlanFigures, Failure>| {
        let mut value = json!({ "title": title, "settings": arm });
        match result {
            Ok(known) => merge(&mut value, figures(known)),
            Err(why) => value["error"] = why.to_string().into(),
        }
        value
    };
    let variants =
        found.alternatives.iter().map(|known| variant_shape(&known.title, json!(known.overrides), &known.result));
    json!({ "present": variant_shape("as it stands", json!({}), &found.present), "ways": variants.collect::<Vec<_>>() })
}

fn merge(value: &mut Value, more: Value) {
    if let (Some(object), Value::Object(more)) = (value.as_object_mut(), more) {
        object.extend(more);
    }
}

/// Returns the figures of a plan and the items gained and lost as JSON.
pub(super) fn figures(known: &PlanFigures) -> Value {
    let items = |items: &[MovedItem]| -> Vec<Value> {
        let shape = |item: &MovedItem| json!({ "kind": item.kind.name(), "title": item.title, "tokens": item.tokens, "turn": item.turn });
        items.iter().map(shape).collect()
    };
    json!({
        "plan_id": known.plan,
        "est_total": known.est,
        "certainty": known.certainty,
        "budget": known.budget.prompt,
        "cached_tokens": known.same,
        "cost": known.cost.map(prompt_cost),
        "items": known.items,
        "gained": items(&known.gained),
        "gained_count": known.sums[0].0,
        "gained_tokens": known.sums[0].1,
        "lost": items(&known.lost),
        "lost_count": known.sums[1].0,
        "lost_tokens": known.sums[1].1,
        "changed": known.changed,
        "changes": known.changes.iter().map(change_shape).collect::<Vec<_>>(),
    })
}

fn change_shape(item: &ChangedItem) -> Value {
    json!({
        "kind": item.kind.name(),
        "title": item.title,
        "turn": item.turn,
        "tokens_before": item.before,
        "tokens": item.after,
    })
}

/// Lists the first items that are sent in another form, one per line, and counts the others.
fn changed(text: &mut String, known: &PlanFigures) {
    for item in known.changes.iter().take(MAX_LISTED) {
        let turn = item.turn.map_or_else(String::new, |turn| format!("turn {turn}: "));
        let what = column(&format!("{turn}{}", item.title), 48);
        let (before, after) = (number(item.before), number(item.after));
        let _ = writeln!(text, "  ~ {} {what} {:>9}", column(item.kind.name(), 9), format!("{before} → {after}"));
    }
    let rest = (known.changed as usize).saturating_sub(MAX_LISTED);
    if rest > 0 {
        let _ = writeln!(text, "  ~ {rest} more");
    }
}
