//! The JSON that the command line prints. Its shapes are a contract: fields are added, but never renamed or dropped.
//! Not for: printing (`output`), or text for people (the commands).

use super::shape_code;
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::{BranchId, NodeId, RunId, SessionId};
use crate::domain::call::code_set::CodeSet;
use crate::domain::call::item_use::UseCount;
use crate::domain::call::meter::{Calibration, PromptCost, ShortRead};
use crate::domain::call::provider::Diagnostic;
use crate::domain::call::race::BranchRun;
use crate::domain::call::run::RunCard;
use crate::domain::call::tokens::{Certainty, Encoding};
use crate::domain::call::usage::Usage;
use crate::domain::conversation::branch::{Branch, SessionCard};
use crate::domain::conversation::mark::MarkKind;
use crate::domain::conversation::message::{Node, NodeHead, Part};
use crate::domain::conversation::task;
use crate::domain::planning::level_use::{LevelUse, level_uses};
use crate::domain::planning::plan::{Blocked, BlockedRemedy, Budget, ContextPlan, Form, Row, Source, Verdict, Warning};
use crate::domain::tool::cards::ToolCost;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// `plan --json`.
#[derive(Serialize)]
pub struct PlanShape<'a> {
    plan_id: Hash,
    policy: &'a str,
    mode: crate::domain::planning::mode::Mode,
    layout: &'a str,
    model: &'a str,
    encoding: Encoding,
    input_digest: Hash,
    request_digest: Option<Hash>,
    budget: BudgetShape,
    est_total: u32,
    certainty: Certainty,
    calibration: Option<CalibrationShape>,
    cost: Option<CostShape>,
    framing: u32,
    tools: u32,
    tool_schemas: &'a [ToolCost],
    sections: Vec<SectionShape>,
    levels: [LevelUse; 4],
    included: Vec<IncludedShape<'a>>,
    suggested: Vec<ExcludedShape<'a>>,
    excluded: Vec<ExcludedShape<'a>>,
    retrieval_set_ids: &'a [Hash],
    #[serde(skip_serializing_if = "Option::is_none")]
    code_set: Option<Value>,
    warnings: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<String>,
}

impl PlanShape<'_> {
    /// Adds the task that is running on the plan's branch.
    #[must_use]
    pub fn on(self, branch: Option<&Branch>) -> Self {
        let running = branch.and_then(|branch| task::running(&branch.overrides.tasks));
        Self { task: running.map(|task| task.name.clone()), ..self }
    }

    /// Adds the set of the search of the code.
    #[must_use]
    pub fn with_code_set(self, set: Option<&CodeSet>) -> Self {
        Self { code_set: set.map(shape_code::set), ..self }
    }
}

/// The budget in tokens.
#[derive(Serialize, Clone, Copy)]
pub struct BudgetShape {
    context_window: u32,
    reserved_output: u32,
    safety: u32,
    prompt: u32,
}

impl From<Budget> for BudgetShape {
    fn from(budget: Budget) -> Self {
        Self {
            context_window: budget.context_window,
            reserved_output: budget.reserved_output,
            safety: budget.safety,
            prompt: budget.prompt,
        }
    }
}

/// How the server's token counts relate to the estimates.
#[derive(Serialize)]
struct CalibrationShape {
    factor: f64,
    offset: i32,
    error_pct: Option<f64>,
    samples: u32,
    calibrated_total: u32,
}

/// The estimated cost of a call in dollars.
#[derive(Serialize)]
struct CostShape {
    prompt: f64,
    prompt_uncached: f64,
    cached_tokens: u32,
    answer_at_most: f64,
    certainty: Certainty,
}

impl From<PromptCost> for CostShape {
    fn from(cost: PromptCost) -> Self {
        Self {
            prompt: dollars(cost.micro),
            prompt_uncached: dollars(cost.uncached_micro),
            cached_tokens: cost.cached,
            answer_at_most: dollars(cost.answer_most_micro),
            certainty: cost.certainty,
        }
    }
}

#[derive(Serialize)]
struct SectionShape {
    name: &'static str,
    tokens: u32,
}

#[derive(Serialize)]
struct IncludedShape<'a> {
    id: Hash,
    kind: &'static str,
    section: Option<&'static str>,
    position: usize,
    fidelity: &'static str,
    tokens: u32,
    reason: &'static str,
    reason_text: String,
    pin: Option<&'static str>,
    score: Option<f64>,
    score_parts: Map<String, Value>,
    source: SourceShape<'a>,
    title: &'a str,
    #[serde(flatten)]
    code: Option<shape_code::CodeRowShape>,
}

#[derive(Serialize)]
struct ExcludedShape<'a> {
    id: Hash,
    kind: &'static str,
    tokens: u32,
    reason: &'static str,
    reason_text: String,
    remedy: Option<String>,
    needed_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    score_parts: Map<String, Value>,
    source: SourceShape<'a>,
    title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    turns: Option<u32>,
}

#[derive(Serialize)]
struct SourceShape<'a> {
    session: Option<SessionId>,
    branch: Option<BranchId>,
    turn: Option<u32>,
    message: Option<NodeId>,
    external_id: Option<&'a str>,
    path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    symbol: Option<&'a str>,
    span: Option<(u32, u32)>,
}

impl<'a> From<&'a Source> for SourceShape<'a> {
    fn from(source: &'a Source) -> Self {
        Self {
            session: source.session,
            branch: source.branch,
            turn: source.turn,
            message: source.message,
            external_id: source.external_id.as_deref(),
            path: source.path.as_deref().or_else(|| source.code.as_ref().map(|code| code.path.as_str())),
            symbol: source.code.as_ref().map(|code| code.qualified.as_str()).filter(|name| !name.is_empty()),
            span: source.span.or_else(|| source.code.as_ref().map(|code| code.lines)),
        }
    }
}

/// Returns a plan with the digest of its request, and with the calibration and the cost if they are known.
#[must_use]
pub fn plan(
    plan: &ContextPlan,
    request_digest: Option<Hash>,
    calibration: Option<Calibration>,
    cost: Option<PromptCost>,
) -> PlanShape<'_> {
    let sections = plan.sections().into_iter();
    PlanShape {
        plan_id: plan.id,
        policy: &plan.policy,
        mode: plan.mode,
        layout: plan.layout.name(),
        model: &plan.model,
        encoding: plan.encoding,
        input_digest: plan.input_digest,
        request_digest,
        budget: plan.budget.into(),
        est_total: plan.est_total,
        certainty: plan.certainty,
        calibration: calibration.map(|known| CalibrationShape {
            factor: known.factor,
            offset: known.offset,
            error_pct: known.error_pct,
            samples: known.samples,
            calibrated_total: known.apply(plan.est_total),
        }),
        cost: cost.map(CostShape::from),
        framing: plan.framing,
        tools: plan.tools,
        tool_schemas: &plan.tool_costs,
        sections: sections.map(|(section, tokens)| SectionShape { name: section.name(), tokens }).collect(),
        levels: level_uses(plan),
        included: plan
            .included()
            .enumerate()
            .map(|(position, row)| IncludedShape { code: shape_code::row(plan, row), ..included(position, row) })
            .collect(),
        suggested: plan.suggested().map(excluded).collect(),
        excluded: plan.excluded().map(excluded).collect(),
        retrieval_set_ids: &plan.retrieval_set_ids,
        code_set: None,
        warnings: plan.warnings.iter().map(warning).collect(),
        task: None,
    }
}

fn included(position: usize, row: &Row) -> IncludedShape<'_> {
    IncludedShape {
        id: row.atom.key(),
        kind: row.kind.name(),
        section: row.section().map(crate::domain::planning::policy::Section::name),
        position,
        fidelity: fidelity(row),
        tokens: row.tokens,
        reason: row.reason.name(),
        reason_text: row.reason.sentence(),
        pin: row.pin.map(pin),
        score: row.scores.score.map(thousandths),
        score_parts: score_parts(row),
        source: (&row.source).into(),
        title: &row.title,
        code: None,
    }
}

fn excluded(row: &Row) -> ExcludedShape<'_> {
    let (needed_tokens, remedy) = match &row.verdict {
        Verdict::Out { needed, remedy } => (*needed, remedy.as_ref().map(|remedy| remedy.sentence(&remedy.action))),
        Verdict::In { .. } | Verdict::Suggested => (0, None),
    };
    ExcludedShape {
        id: row.atom.key(),
        kind: row.kind.name(),
        tokens: row.tokens,
        reason: row.reason.name(),
        reason_text: row.reason.sentence(),
        remedy,
        needed_tokens,
        score: row.scores.score.map(thousandths),
        score_parts: score_parts(row),
        source: (&row.source).into(),
        title: &row.title,
        turns: (row.kind == crate::domain::planning::plan::RowKind::Range).then_some(row.turns),
    }
}

fn score_parts(row: &Row) -> Map<String, Value> {
    row.scores.parts.iter().map(|(name, part)| (name.clone(), thousandths(*part).into())).collect()
}

fn thousandths(score: i32) -> f64 {
    f64::from(score) / 1_000.0
}

fn warning(warning: &Warning) -> Value {
    let mut value = serde_json::to_value(warning).unwrap_or_default();
    if let Some(object) = value.as_object_mut() {
        object.insert("sentence".into(), warning.sentence().into());
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
#[must_use]
pub fn fidelity(row: &Row) -> &'static str {
    let has = |wanted: fn(Form) -> bool| row.items.iter().any(|item| wanted(item.form));
    if row.kind == crate::domain::planning::plan::RowKind::Card || has(|form| form == Form::Card) {
        "card"
    } else if row.kind == crate::domain::planning::plan::RowKind::Summary {
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
#[must_use]
pub fn blocked(blocked: &Blocked) -> Value {
    json!({
        "blocked": true,
        "needed": blocked.needed,
        "budget": BudgetShape::from(blocked.budget),
        "choices": blocked.choices.iter().map(choice).collect::<Vec<_>>(),
        "sentence": blocked.sentence(),
    })
}

fn choice(choice: &BlockedRemedy) -> Value {
    let mut value = serde_json::to_value(choice).unwrap_or_default();
    if let Some(object) = value.as_object_mut() {
        object.insert("sentence".into(), choice.sentence().into());
    }
    value
}

/// A call in `plans list --json`.
#[derive(Serialize)]
pub struct RunShape<'a> {
    run_id: RunId,
    plan_id: Hash,
    request_digest: Hash,
    session: SessionId,
    branch: BranchId,
    branch_name: Option<&'a str>,
    round: u32,
    profile: &'a str,
    model: &'a str,
    policy: &'a str,
    mode: crate::domain::planning::mode::Mode,
    status: &'static str,
    est_total: u32,
    usage: Usage,
    short_read: Option<ShortRead>,
    edited: bool,
    cost: Option<f64>,
    finish_reason: Option<&'a str>,
    attempts: u32,
    error: Option<&'a str>,
    diagnostics: &'a [Diagnostic],
    #[serde(skip_serializing_if = "Option::is_none")]
    uses: Option<UseCount>,
    at: i64,
}

/// Returns a call.
#[must_use]
pub fn run<'a>(card: &'a RunCard, branches: &'a [Branch]) -> RunShape<'a> {
    RunShape {
        run_id: card.id,
        plan_id: card.plan,
        request_digest: card.request_digest,
        session: card.session,
        branch: card.branch,
        branch_name: branches.iter().find(|branch| branch.id == card.branch).map(|branch| branch.name.as_str()),
        round: card.round,
        profile: &card.profile,
        model: &card.model,
        policy: &card.policy,
        mode: card.mode,
        status: card.status.name(),
        est_total: card.est_total,
        usage: card.usage,
        short_read: card.short_read,
        edited: card.edited,
        cost: card.cost_micro.map(dollars),
        finish_reason: card.finish_reason.as_deref(),
        attempts: card.attempts,
        error: card.error.as_deref(),
        diagnostics: &card.diagnostics,
        uses: card.uses,
        at: card.at,
    }
}

/// Converts millionths of a dollar to dollars.
#[must_use]
#[allow(clippy::cast_precision_loss, reason = "amounts far below 2^53 are exact")]
pub fn dollars(micro: u64) -> f64 {
    micro as f64 / 1e6
}

/// Returns a message for `message list --json`. `turn` is the number of user messages up to this one; 0 becomes null.
#[must_use]
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
    let Some(object) = value.as_object_mut() else { return value };
    let parts = node.map(|node| node.content.parts.as_slice()).unwrap_or_default();
    let calls: Vec<Value> = parts.iter().filter_map(call).collect();
    if !calls.is_empty() {
        object.insert("tool_calls".into(), calls.into());
    }
    if let Some(Part::Reply { call, .. }) = parts.iter().find(|part| matches!(part, Part::Reply { .. })) {
        object.insert("tool_call_id".into(), call.as_str().into());
    }
    if let Some(model) = &head.model {
        object.insert("model".into(), model.as_str().into());
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
#[must_use]
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
#[must_use]
pub fn branch_run(record: &BranchRun) -> Value {
    let mut value = serde_json::to_value(record).unwrap_or_default();
    value["spent"]["cost"] = record.spent.cost_micro.map(dollars).into();
    value["limits"]["cost"] = record.limits.cost_micro.map(dollars).into();
    value
}

/// Returns a session.
#[must_use]
pub fn session(card: &SessionCard) -> Value {
    serde_json::to_value(card).unwrap_or_default()
}
