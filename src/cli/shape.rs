//! The JSON that the command line prints. Its shapes are a contract: fields are added, but never renamed or dropped.
//! Not for: printing (`output`), or text for people (the commands).

use super::shape_rows;
use crate::domain::base::Hash;
use crate::domain::call::{BranchRun, Calibration, PromptCost, RunCard};
use crate::domain::conversation::task;
use crate::domain::conversation::{Branch, MarkKind, Node, NodeHead, Part};
use crate::domain::planning::level_use::level_uses;
use crate::domain::planning::{Blocked, Remedy};
use crate::domain::planning::{ContextPlan, Form, Row, RowKind, Section, Source, StateRequestOutcome, Verdict};
use serde::Serialize;
use serde_json::{Map, Value, json};

fn source(source: &Source) -> Value {
    let code = source.code.as_ref();
    let mut value = json!({
        "session": source.session,
        "branch": source.branch,
        "turn": source.turn,
        "message": source.message,
        "external_id": source.external_id,
        "path": source.path.as_deref().or_else(|| code.map(|code| code.path.as_str())),
    });
    if let Some(name) = code.map(|code| code.qualified.as_str()).filter(|name| !name.is_empty()) {
        value["symbol"] = name.into();
    }
    value["span"] = json!(source.span.or_else(|| code.map(|code| code.lines)));
    value
}

/// Returns a plan with the digest of its request, the calibration and the cost if they are known, and the running task
/// of the plan's branch if it is given.
pub fn plan(
    plan: &ContextPlan,
    request_digest: Option<Hash>,
    calibration: Option<Calibration>,
    cost: Option<PromptCost>,
    branch: Option<&Branch>,
) -> Value {
    let sections = plan.sections().into_iter();
    let not_sent = |row: &Row| shape_rows::with_admission(excluded(row), plan, row);
    let mut value = json!({
        "plan_id": plan.id,
        "policy": plan.policy,
        "mode": plan.mode,
        "layout": plan.layout.name(),
        "model": plan.model,
        "encoding": plan.encoding,
        "input_digest": plan.input_digest,
        "request_digest": request_digest,
        "budget": plan.budget,
        "est_total": plan.est_total,
        "certainty": plan.certainty,
        "calibration": calibration.map(|known| {
            let mut value = json!(known);
            value["calibrated_total"] = known.apply(plan.est_total).into();
            value
        }),
        "cost": cost.map(prompt_cost),
        "framing": plan.framing,
        "tools": plan.tools,
        "tool_schemas": plan.tool_costs,
        "sections": sections
            .map(|(section, tokens)| json!({ "name": section.name(), "tokens": tokens }))
            .collect::<Vec<_>>(),
        "levels": level_uses(plan),
        "included": plan
            .included()
            .enumerate()
            .map(|(position, row)| shape_rows::with_admission(included(position, row), plan, row))
            .collect::<Vec<_>>(),
        "suggested": plan.suggested().map(not_sent).collect::<Vec<_>>(),
        "excluded": plan.excluded().map(not_sent).collect::<Vec<_>>(),
        "retrieval_set_ids": plan.retrieval_set_ids,
        "warnings": plan.warnings.iter().map(|one| with_sentence(one, one.sentence())).collect::<Vec<_>>(),
    });
    if let Some(task) = branch.and_then(|branch| task::running(&branch.overrides.tasks)) {
        value["task"] = task.name.as_str().into();
    }
    value
}

fn included(position: usize, row: &Row) -> Value {
    let mut value = json!({
        "id": row.atom.key(),
        "kind": row.kind.name(),
        "section": row.section().map(Section::name),
        "position": position,
        "fidelity": fidelity(row),
        "tokens": row.tokens,
        "reason": row.reason.name(),
        "reason_text": row.reason_sentence(),
        "pin": row.pin.map(pin),
        "score": row.scores.score.map(thousandths),
        "score_parts": score_parts(row),
        "source": source(&row.source),
        "title": row.title,
    });
    let parts = row.left_out_parts();
    if !parts.is_empty() {
        value["left_out"] = parts.into();
    }
    value
}

fn excluded(row: &Row) -> Value {
    let (needed_tokens, remedy) = match &row.verdict {
        Verdict::Out { needed, remedy } => {
            let sentence = |remedy: &Remedy| Some(remedy.sentence(&remedy.command(&row.item_name())?));
            (*needed, remedy.as_ref().and_then(sentence))
        }
        Verdict::In { .. } | Verdict::Suggested => (0, None),
    };
    let mut value = json!({
        "id": row.atom.key(),
        "kind": row.kind.name(),
        "tokens": row.tokens,
        "reason": row.reason.name(),
        "reason_text": row.reason.sentence(),
        "remedy": remedy,
        "needed_tokens": needed_tokens,
    });
    if let Some(score) = row.scores.score {
        value["score"] = thousandths(score).into();
    }
    let parts = score_parts(row);
    if !parts.is_empty() {
        value["score_parts"] = parts.into();
    }
    value["source"] = source(&row.source);
    value["title"] = row.title.as_str().into();
    if row.kind == RowKind::Range {
        value["turns"] = row.turns.into();
    }
    value
}

/// Returns whether a request asks for a state block, and why.
pub(super) fn state_request(outcome: StateRequestOutcome) -> Value {
    json!({
        "asked": outcome == StateRequestOutcome::Asked,
        "outcome": outcome.name(),
        "sentence": outcome.sentence(),
        "remedies": state_remedies(outcome),
        "tokens": outcome.tokens(),
    })
}

/// Returns what changes whether a request asks for a state block, as sentences.
pub(super) fn state_remedies(outcome: StateRequestOutcome) -> Vec<String> {
    let (action, setting) = outcome.remedies();
    let command = action.and_then(|remedy| Some(remedy.sentence(&format!("`pleach {}`", remedy.command("")?)) + "."));
    command.into_iter().chain(setting.map(str::to_owned)).collect()
}

fn score_parts(row: &Row) -> Map<String, Value> {
    row.scores.parts.iter().map(|(name, part)| (name.clone(), thousandths(*part).into())).collect()
}

fn thousandths(score: i32) -> f64 {
    f64::from(score) / 1_000.0
}

fn with_sentence(value: &impl Serialize, sentence: String) -> Value {
    let mut value = serde_json::to_value(value).unwrap_or_default();
    if let Some(object) = value.as_object_mut() {
        object.insert("sentence".into(), sentence.into());
    }
    value
}

pub(super) fn pin(kind: MarkKind) -> &'static str {
    match kind {
        MarkKind::Sticky => "sticky",
        MarkKind::Leased { .. } => "leased",
        MarkKind::Exclude => "exclude",
        MarkKind::ExcludeOnce => "exclude_once",
        MarkKind::IncludeOnce => "include_once",
        MarkKind::Ephemeral => "ephemeral",
    }
}

/// Returns the fidelity of a row: the form of its most shortened message.
pub fn fidelity(row: &Row) -> &'static str {
    let has = |wanted: fn(Form) -> bool| row.items.iter().any(|item| wanted(item.form));
    if row.kind == RowKind::Card || has(|form| form == Form::Card) {
        "card"
    } else if row.kind == RowKind::Summary {
        "capsule"
    } else if has(|form| form == Form::Placeholder) {
        "placeholder"
    } else if has(|form| matches!(form, Form::Elided | Form::Gone)) {
        "tools_elided"
    } else if has(|form| matches!(form, Form::Cut(_))) {
        "tools_truncated"
    } else if has(|form| form == Form::NoState) {
        "no_state"
    } else {
        "full"
    }
}

/// Returns a request that does not fit the budget.
pub fn blocked(blocked: &Blocked) -> Value {
    json!({
        "blocked": true,
        "needed": blocked.needed,
        "budget": blocked.budget,
        "choices": blocked.choices.iter().map(|one| with_sentence(one, one.sentence())).collect::<Vec<_>>(),
        "sentence": blocked.sentence(),
    })
}

/// Returns a call, as in `plans list --json`.
pub fn run(card: &RunCard, branches: &[Branch]) -> Value {
    let mut value = json!({
        "run_id": card.id,
        "plan_id": card.plan,
        "request_digest": card.request_digest,
        "session": card.session,
        "branch": card.branch,
        "branch_name": branches.iter().find(|branch| branch.id == card.branch).map(|branch| branch.name.as_str()),
        "round": card.round,
        "profile": card.profile,
        "model": card.model,
        "policy": card.policy,
        "mode": card.mode,
        "status": card.status.name(),
        "est_total": card.est_total,
        "usage": card.usage,
        "short_read": card.short_read,
        "edited": card.edited,
        "cost": card.cost_micro.map(dollars),
        "finish_reason": card.finish_reason,
        "attempts": card.attempts,
        "error": card.error,
        "diagnostics": card.diagnostics,
    });
    if let Some(uses) = card.uses {
        value["uses"] = json!(uses);
    }
    value["at"] = card.at.into();
    value
}

/// Returns the cost of a prompt, in dollars.
pub(super) fn prompt_cost(cost: PromptCost) -> Value {
    json!({
        "prompt": dollars(cost.micro),
        "prompt_uncached": dollars(cost.uncached_micro),
        "cached_tokens": cost.cached,
        "answer_at_most": dollars(cost.answer_most_micro),
        "certainty": cost.certainty,
    })
}

/// Converts millionths of a dollar to dollars.
pub fn dollars(micro: u64) -> f64 {
    micro as f64 / 1e6
}

/// Returns a message for `message list --json`. `turn` is the number of user messages up to this one; 0 becomes null.
pub fn message(head: &NodeHead, node: Option<&Node>, turn: u32) -> Value {
    let mut value = json!({
        "id": head.id,
        "external_id": head.external_id,
        "parent": head.parent,
        "role": head.role,
        "content": node.map(|node| node.content.plain_text()).unwrap_or_default(),
        "status": head.end.name(),
        "turn": (turn > 0).then_some(turn),
        "lane": head.lane,
    });
    let parts = node.map(|node| node.content.parts.as_slice()).unwrap_or_default();
    let calls: Vec<Value> = parts.iter().filter_map(call).collect();
    if !calls.is_empty() {
        value["tool_calls"] = calls.into();
    }
    if let Some(Part::Reply { call, .. }) = parts.iter().find(|part| matches!(part, Part::Reply { .. })) {
        value["tool_call_id"] = call.as_str().into();
    }
    if let Some(model) = &head.model {
        value["model"] = model.as_str().into();
    }
    value
}

fn call(part: &Part) -> Option<Value> {
    match part {
        Part::Call { id, name, args } => Some(json!({ "id": id, "name": name, "arguments": args })),
        Part::Text { .. } | Part::Reasoning { .. } | Part::Reply { .. } | Part::Opaque { .. } => None,
    }
}

/// Returns a branch.
pub fn branch(branch: &Branch, current: bool, messages: usize) -> Value {
    json!({
        "id": branch.id,
        "name": branch.name,
        "session": branch.session,
        "head": branch.head,
        "parent": branch.parent,
        "fork": branch.fork,
        "archived": branch.archived,
        "current": current,
        "messages": messages,
        "marks": branch.marks.len(),
        "overrides": branch.overrides,
        "created_at": branch.created_at,
    })
}

/// Returns the record of a race branch.
pub fn branch_run(record: &BranchRun) -> Value {
    let mut value = serde_json::to_value(record).unwrap_or_default();
    value["spent"]["cost"] = record.spent.cost_micro.map(dollars).into();
    value["limits"]["cost"] = record.limits.cost_micro.map(dollars).into();
    value
}
