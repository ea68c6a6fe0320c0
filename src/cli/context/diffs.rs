//! `plans diff` and `plans why`: prints the difference between two calls, and the history of an item.
//! Not for: computing them (the engine).

use super::what_if;
use crate::cli::Run;
use crate::cli::client::expect_answer;
use crate::cli::output::{column, number, time};
use crate::cli::pick;
use crate::cli::stop::Stop;
use crate::domain::base::money::money;
use crate::domain::base::{Failure, Hash};
use crate::domain::call::tokens::counted;
use crate::domain::conversation::Atom;
use crate::domain::planning::row_matching;
use crate::domain::planning::{
    CallRef, Cause, DiffKind, ItemDiff, ItemHistory, ItemPlace, PlanDiff, PlanFigures, Remedy, Verdict,
};
use crate::engine::api::{
    Act, Answer, CallAnswer, CallRequest, CallSelector, Draft, ItemName, PlanAnswer, PlanRequest, Planned, SessionView,
};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// `plans diff RUN [RUN]`.
pub(crate) fn diff(run: &mut Run<'_, '_>, a: &str, b: Option<&str>) -> Result<(), Stop> {
    let view = run.open(false)?;
    let named = |text: &str| Ok::<_, Stop>(CallSelector::Named(pick::call(&view, text)?));
    let (before, after) = match b {
        Some(b) => (Some(named(a)?), named(b)?),
        None => (None, named(a)?),
    };
    let diff = expect_answer!(run, Call(CallAnswer::Diff), CallRequest::DiffPlans { before, after });
    run.io.either(&shape(&diff), &describe(&diff, &view))
}

/// `plans why ITEM`.
pub(crate) fn why(run: &mut Run<'_, '_>, item: &str, message: bool) -> Result<(), Stop> {
    let view = run.open(false)?;
    let item = ItemName::Named { text: item.to_owned(), message };
    run.plan_row_named(&view, &item);
    let history =
        expect_answer!(run, Plan(PlanAnswer::History), PlanRequest::Why { branch: view.current, item, most: None });
    let next = in_next_request(run, &view, (&history.atom, history.turn));
    let mut value = serde_json::to_value(&*history).unwrap_or_default();
    value["next"] = next.as_ref().map_or(Value::Null, NextRequest::shape);
    let next = next.map_or_else(String::new, |next| format!("\n\n{}", next.describe()));
    run.io.either(&value, &format!("{}{next}", history_text(&history, &view)))
}

/// An item in the next request.
struct NextRequest {
    place: ItemPlace,
    /// The command that would include the item if it is left out, and the plan that follows, compared with the present
    /// plan; or why no request would fit.
    remedy: Option<(String, Result<PlanFigures, Failure>)>,
}

impl NextRequest {
    fn shape(&self) -> Value {
        let mut value = serde_json::to_value(&self.place).unwrap_or_default();
        if let Some((command, outcome)) = &self.remedy {
            value["remedy"] = match outcome {
                Ok(figures) => what_if::figures(figures),
                Err(why) => json!({ "error": why.to_string() }),
            };
            value["remedy"]["command"] = command.as_str().into();
        }
        value
    }

    fn describe(&self) -> String {
        let place_word = if self.place.included { "Included in" } else { "Left out of" };
        let mut text = format!("{place_word} the next request: {}\n", self.place.reason.sentence());
        match &self.remedy {
            None => {}
            Some((command, Err(why))) => drop(writeln!(text, "With `pleach {command}`, no request would fit: {why}")),
            Some((command, Ok(figures))) => {
                text.push_str(&what_if::effect(&format!("`pleach {command}`"), figures));
            }
        }
        text.trim_end().to_owned()
    }
}

/// Returns an item in the next request; `None` if it is not part of it, or if no request can be planned.
fn in_next_request(
    run: &mut Run<'_, '_>,
    view: &SessionView,
    (atom, turn): (&Atom, Option<u32>),
) -> Option<NextRequest> {
    let Ok(Planned::Plan { plan, .. }) = run.client.plan(view, Draft::default(), &mut run.io) else { return None };
    let tree = pick::tree(view);
    let depth = |key: Hash| tree.by_key(key).map(|slot| tree.depth(slot));
    // The plan's ranges and the item are on the same path.
    let covers = |range: &Atom, user: Hash| match *range {
        Atom::Range { first, last } => depth(first) <= depth(user) && depth(user) <= depth(last),
        Atom::Turn { .. }
        | Atom::Message { .. }
        | Atom::Episode { .. }
        | Atom::Preamble { .. }
        | Atom::Section { .. } => false,
    };
    let place = row_matching::place(&plan, atom, &covers)?;
    let row = row_matching::row(&plan, atom).filter(|row| !row.included());
    let remedy = match row.map(|row| (&row.verdict, row.item_name())) {
        Some((Verdict::Out { remedy: Some(remedy), .. }, name)) => effect(run, view, (atom, &name), remedy),
        // The row of a range has the remedy of all its turns: to choose one of them.
        None if place.shared => {
            turn.and_then(|turn| effect(run, view, (atom, &turn.to_string()), &Remedy::include_once()))
        }
        _ => None,
    };
    Some(NextRequest { place, remedy })
}

/// Returns the command of a remedy that sets or removes a mark, and the plan that would follow from it.
fn effect(
    run: &mut Run<'_, '_>,
    view: &SessionView,
    (atom, name): (&Atom, &str),
    remedy: &Remedy,
) -> Option<(String, Result<PlanFigures, Failure>)> {
    let (kind, toggle) = remedy.mark()?;
    let preview = PlanRequest::Preview {
        branch: view.current,
        draft: Draft::default(),
        items: vec![ItemName::Atom(*atom)],
        act: Act::Set { kind, toggle },
    };
    match run.call(preview) {
        Ok(Answer::Plan(PlanAnswer::Preview(preview))) => Some((remedy.command(name)?, preview.result)),
        _ => None,
    }
}

/// Returns a difference as JSON: its values, and the totals of each kind of change.
pub(crate) fn shape(diff: &PlanDiff) -> Value {
    let mut value = serde_json::to_value(diff).unwrap_or_default();
    let totals: serde_json::Map<String, Value> = DiffKind::ALL
        .into_iter()
        .map(|kind| {
            let (count, tokens) = diff.sum(kind);
            (kind.name().to_owned(), json!({ "rows": count, "tokens": tokens }))
        })
        .collect();
    value["totals"] = totals.into();
    value
}

fn line_of(call: &CallRef, view: &SessionView) -> String {
    let at = call.at.map_or_else(|| "not sent".to_owned(), time);
    let cost = call.cost_micro.map_or_else(String::new, |micro| format!(" · {}", money(micro)));
    let enough = pick::enough(view.runs.iter().map(|card| card.id));
    let id = call.run.map_or_else(String::new, |run| format!("{}  ", pick::short(run, enough)));
    let of = number(call.budget.saturating_add(call.safety));
    format!(
        "{id}{at}  {}  {}  {} of {of} tokens (estimated){cost}",
        column(&call.name, 16),
        call.model,
        number(call.tokens)
    )
}

fn describe(diff: &PlanDiff, view: &SessionView) -> String {
    let (before, after) = (line_of(&diff.before, view), line_of(&diff.after, view));
    let mut text = format!("from {before}\nto   {after}\n");
    for setting in &diff.settings {
        let _ = writeln!(text, "{}", setting.to_text());
    }
    for kind in DiffKind::ALL {
        let (count, tokens) = diff.sum(kind);
        if count == 0 {
            continue;
        }
        let _ = writeln!(text, "\n──── {} {count} ({tokens:+} tokens, estimated)", kind.title());
        for delta in diff.deltas.iter().filter(|delta| delta.kind() == kind) {
            row(&mut text, delta);
        }
    }
    if diff.deltas.is_empty() {
        text.push_str("\nNo changes.\n");
    }
    let _ = write!(
        text,
        "\n{} unchanged ({}, estimated).",
        counted(diff.same.into(), "item"),
        counted(diff.same_tokens.into(), "token")
    );
    text
}

fn row(text: &mut String, delta: &ItemDiff) {
    let title = column(&delta.title, 40);
    let _ = writeln!(text, "  {} {title} {}", column(&delta.label(), 11), delta.to_text("→"));
    for cause in &delta.causes {
        let _ = writeln!(text, "      {}", cause_sentence(cause));
    }
}

fn cause_sentence(cause: &Cause) -> String {
    let at = cause.at.map_or_else(String::new, |at| format!(" ({})", time(at)));
    format!("by {}: {}{at}", cause.by.title(), cause.words)
}

fn history_text(history: &ItemHistory, view: &SessionView) -> String {
    let enough = pick::enough(view.runs.iter().map(|card| card.id));
    let turn = history.turn.map_or_else(String::new, |turn| format!("turn {turn}: "));
    let mut text = format!("{turn}{}\n", history.title.trim());
    for stay in &history.stays {
        let at = stay.from.at.map_or_else(String::new, time);
        let calls = counted(stay.calls.into(), "call");
        let id = stay.from.run.map_or_else(String::new, |run| pick::short(run, enough));
        let place = stay.place.as_ref().map_or_else(|| "not sent".to_owned(), ItemPlace::to_text);
        let reason = stay.place.as_ref().map_or_else(String::new, |place| place.reason.sentence());
        let _ = writeln!(text, "\n{at}  {id}  {calls}\n  {place}. {reason}");
        for cause in &stay.causes {
            let _ = writeln!(text, "  {}", cause_sentence(cause));
        }
    }
    if history.stays.is_empty() {
        text.push_str("\nNot sent in any call of this branch.\n");
    }
    if !history.steps.is_empty() {
        text.push('\n');
    }
    for step in &history.steps {
        let _ = writeln!(text, "{}  {}", time(step.at), step.words);
    }
    text.trim_end().to_owned()
}
