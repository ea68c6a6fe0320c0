//! `branch compare`, `branch pick`, and `branch return`: compares two branches, and copies turns or results between
//! them.
//! Not for: making and naming branches (`sessions`).

use crate::cli::Run;
use crate::cli::client::expect_answer;
use crate::cli::context::diffs;
use crate::cli::output::number;
use crate::cli::pick;
use crate::cli::stop::Stop;
use crate::domain::base::money::money;
use crate::domain::call::tokens::counted;
use crate::domain::conversation::resolve;
use crate::domain::conversation::{Comparison, Side};
use crate::domain::planning::DiffKind;
use crate::engine::api::{BranchAnswer, BranchRequest, ItemName};
use serde_json::Value;
use std::fmt::Write as _;

/// The maximum number of characters of a message in the text output; `--json` prints more.
const MAX_CHARS: usize = 400;

/// `branch compare BRANCH [BRANCH]`.
pub(crate) fn compare(run: &mut Run<'_, '_>, a: &str, b: Option<&str>) -> Result<(), Stop> {
    let view = run.open(false)?;
    let (a, b) = (pick::branch(&view, Some(a))?.id, pick::branch(&view, b)?.id);
    let compared = expect_answer!(run, Branch(BranchAnswer::Compared), BranchRequest::Compare { a, b });
    let mut value = serde_json::to_value(&*compared).unwrap_or_default();
    value["plans"] = compared.plans.as_ref().map_or(Value::Null, |diff| diffs::shape(diff));
    run.io.either(&value, &describe(&compared))
}

/// `branch pick ITEM… --onto BRANCH`.
pub(crate) fn pick(
    run: &mut Run<'_, '_>,
    items: &[String],
    onto: &str,
    (message, together): (bool, bool),
) -> Result<(), Stop> {
    let view = run.open(false)?;
    let onto = pick::branch(&view, Some(onto))?.id;
    let item = |text: &String| match resolve::range(text) {
        Some((first, last)) => ItemName::Span { first: first.to_owned(), last: last.to_owned() },
        None => ItemName::Named { text: text.clone(), message },
    };
    let items = items.iter().map(item).collect();
    run.change(BranchRequest::Pick { from: view.current, items, onto, together }, "Picked.")
}

/// `branch return [BRANCH]`.
pub(crate) fn return_result(run: &mut Run<'_, '_>, branch: Option<&str>, onto: Option<&str>) -> Result<(), Stop> {
    let view = run.open(false)?;
    let from = pick::branch(&view, branch)?.id;
    let onto = onto.map(|text| pick::branch(&view, Some(text)).map(|branch| branch.id)).transpose()?;
    run.change(BranchRequest::BringBack { from, onto }, "Result returned.")
}

fn describe(compared: &Comparison) -> String {
    let mut text = match &compared.ancestor {
        Some(at) => format!("The branches diverge after turn {}: {}\n", at.turn, at.title.trim()),
        None => "The branches have no message in common.\n".to_owned(),
    };
    for side in &compared.sides {
        let _ = writeln!(text, "\n════ {}\n{}", side.name, figures(side));
        for turn in &side.turns {
            if let Some(pin) = &turn.pin {
                let _ = writeln!(text, "\n── pinned only here, {}\n{}", &turn.atom.key().to_string()[..12], pin.trim());
            }
            for message in &turn.messages {
                let end = message.text.char_indices().nth(MAX_CHARS).map_or(message.text.len(), |(end, _)| end);
                let cut = if end < message.text.len() { " …" } else { "" };
                let words = message.text[..end].trim();
                let _ = writeln!(text, "\n── turn {} {}\n{words}{cut}", turn.number, message.role.name());
            }
        }
        if side.more > 0 {
            let _ = writeln!(text, "\n{}", counted(side.more.into(), "more turn"));
        }
    }
    if let Some(diff) = &compared.plans {
        let _ = writeln!(
            text,
            "\n════ plans of the last calls: {} → {} tokens (estimated)",
            diff.before.tokens, diff.after.tokens
        );
        for setting in &diff.settings {
            let _ = writeln!(text, "{}", setting.to_text());
        }
        for kind in DiffKind::ALL {
            let (count, tokens) = diff.sum(kind);
            if count > 0 {
                let _ = writeln!(text, "{} {count} ({tokens:+} tokens, estimated)", kind.title());
            }
        }
        let _ = writeln!(
            text,
            "{} in both ({}, estimated)",
            counted(diff.same.into(), "item"),
            counted(diff.same_tokens.into(), "token")
        );
    }
    text.trim_end().to_owned()
}

/// Formats a branch's figures, for example `2 turns · 3 calls · prompts 1,204 tok · answers 310 tok · $0.0011 ·
/// read_file 2`.
pub(crate) fn figures(side: &Side) -> String {
    let mut words = vec![counted(side.count() as u64, "turn"), counted(side.calls.into(), "call")];
    words.push(format!("prompts {} tokens", number(side.prompt)));
    words.push(format!("answers {} tokens", number(side.answer)));
    words.extend(side.cost_micro.map(money));
    words.extend(side.models.iter().cloned());
    words.extend(side.tools.iter().map(|(name, times)| format!("{name} {times}")));
    words.join(" · ")
}
