//! `plan`, `plans`, `replay --dry-run`, `build`, and `context`: the next request, and past requests.
//! Not for: solving plans (`context`).

use super::{diffs, item_use};
use crate::cli::Run;
use crate::cli::client::{expect_answer, unexpected};
use crate::cli::conversation::ask;
use crate::cli::conversation::settings;
use crate::cli::output::{column, number, time};
use crate::cli::stop::Stop;
use crate::cli::{pick, shape, shape_code};
use crate::config::commands::calls::{ContextCommand, Plans, Replay};
use crate::config::commands::setting::Setting;
use crate::domain::base::money::money;
use crate::domain::base::{Failure, FailureKind, Hash};
use crate::domain::call::tokens::counted;
use crate::domain::call::{Calibration, CallUses, CodeSet, PromptCost, RunCard};
use crate::domain::planning::level_use::level_uses;
use crate::domain::planning::row_counts::RowCounts;
use crate::domain::planning::{
    Budget, ContextPlan, LevelUse, Mode, Row, RowKind, Section, StateRequestOutcome, Verdict,
};
use crate::domain::summary::SummaryAuthor;
use crate::engine::api::{
    Answer, BranchRequest, CallAnswer, CallRequest, Draft, DraftKind, ItemName, Planned, SessionView,
};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::Arc;

/// A solved plan with the digest and cost of its request.
struct Solved {
    view: Arc<SessionView>,
    plan: Arc<ContextPlan>,
    digest: Hash,
    calibration: Option<Calibration>,
    cost: Option<PromptCost>,
    code_set: Option<Arc<CodeSet>>,
    state_request: Option<StateRequestOutcome>,
}

/// The message to send again, if any: one of yours with a new text, or one whose answer is regenerated.
pub(crate) type Again<'a> = (Option<&'a str>, Option<&'a str>);

/// Opens the branch and returns the draft for the words and flags.
pub(crate) fn draft_of(
    run: &mut Run<'_, '_>,
    words: &[String],
    (edit, regenerate): Again<'_>,
) -> Result<(Arc<SessionView>, Draft), Stop> {
    let text = if regenerate.is_some() { None } else { run.io.message(words)? };
    let view = run.open_unsaved()?;
    let kind = match (edit, regenerate) {
        (Some(message), _) => ask::edit_draft(&view, message)?,
        (None, Some(message)) => ask::regenerate_draft(&view, Some(message).filter(|m| !m.is_empty()))?,
        (None, None) => DraftKind::Message,
    };
    Ok((view, Draft { text: text.unwrap_or_default().into(), kind, ..Draft::default() }))
}

fn solve(run: &mut Run<'_, '_>, words: &[String], again: Again<'_>) -> Result<Solved, Stop> {
    let (view, draft) = draft_of(run, words, again)?;
    match run.client.plan(&view, draft, &mut run.io)? {
        Planned::Plan { plan, request_digest, calibration, cost, code_set, state_request, .. } => {
            Ok(Solved { view, plan, digest: request_digest, calibration, cost, code_set, state_request })
        }
        Planned::Blocked(blocked) => Err(Stop::Blocked(blocked)),
    }
}

pub(crate) fn plan(run: &mut Run<'_, '_>, words: &[String], request: bool, again: Again<'_>) -> Result<(), Stop> {
    let solved = solve(run, words, again)?;
    if request {
        let body = run.client.wire(&solved.view, &mut run.io)?;
        run.io.data(&body);
        if run.io.out_tty {
            run.io.end_line(&body);
        }
        return Ok(());
    }
    if run.io.json {
        let branch = pick::branch(&solved.view, None).ok();
        let shape = shape::plan(&solved.plan, Some(solved.digest), solved.calibration, solved.cost, branch);
        let mut shape = shape_code::with_set(shape, solved.code_set.as_deref());
        if let Some(outcome) = solved.state_request {
            shape["state_request"] = shape::state_request(outcome);
        }
        if let Some(note) = note(run, &solved) {
            shape["note"] = note.into();
        }
        return run.io.value(&shape);
    }
    let mut text = describe(&solved.plan, solved.calibration, None);
    if let Some(note) = note(run, &solved) {
        let _ = writeln!(text, "! {note}");
    }
    text.push_str(&code_search(solved.code_set.as_deref()));
    text.push_str(&unasked_state(solved.state_request));
    if let Some(cost) = solved.cost {
        text.push_str(&priced(&cost));
    }
    run.io.say(text.trim_end());
    Ok(())
}

/// Returns why the mode Heavy adds no code: the folder is not trusted.
fn note(run: &Run<'_, '_>, solved: &Solved) -> Option<&'static str> {
    let (_, is_trusted) = solved.view.workspace;
    let is_missed = solved.plan.mode == Mode::Heavy && !is_trusted && run.config.settings.code.enabled;
    is_missed.then_some("Code is not searched: this folder is not trusted. `pleach trust` trusts it.")
}

/// Formats a cost, for example `prompt ≈ $0.0004 (estimated; $0.0009 uncached; cached prefix of 600 tokens) · answer at
/// most $0.0066`.
fn priced(cost: &PromptCost) -> String {
    let label = cost.certainty.in_words();
    let cached = format!("; {} uncached; cached prefix of {} tokens", money(cost.uncached_micro), number(cost.cached));
    let cached = if cost.cached == 0 { String::new() } else { cached };
    format!("prompt ≈ {} ({label}{cached}) · answer at most {}", money(cost.micro), money(cost.answer_most_micro))
}

/// Describes a plan as text, without ids and digests, which JSON has. For a past call, `uses` adds which items its answer
/// used.
fn describe(plan: &ContextPlan, calibration: Option<Calibration>, uses: Option<&CallUses>) -> String {
    let uses = uses.map(|uses| uses.by_row(plan)).unwrap_or_default();
    let mut text = String::new();
    let (total, room) = (number(plan.est_total), number(plan.budget.total()));
    let _ = writeln!(text, "{} · {} ({})", plan.profile, plan.model, plan.encoding.title());
    let (mode, layout) = (plan.mode.title(), plan.layout.name());
    let _ = writeln!(text, "policy {} · mode {mode} · layout {layout}", plan.policy);
    let _ = writeln!(
        text,
        "{total} of {room} tokens ({}) · {} · safety margin {} · message overhead {} · tool definitions {}",
        plan.certainty.in_words(),
        limit(&plan.budget),
        number(plan.budget.safety),
        number(plan.framing),
        number(plan.tools)
    );
    if let Some(known) = calibration {
        let count = number(known.apply(plan.est_total));
        let _ = writeln!(text, "calibrated: {count} tokens, because the server counts {}", known.sentence());
    }
    if plan.level_budgets.is_some() {
        let level =
            |level: LevelUse| format!("{} {} of {}", level.name, number(level.used), number(level.budget.unwrap_or(0)));
        let _ = writeln!(text, "priority levels: {}", level_uses(plan).map(level).join(" · "));
    }
    let _ = writeln!(text, "\n{} {:>9}", column("", 58), "tokens");
    for (at, (section, tokens)) in plan.sections().into_iter().enumerate() {
        let gap = if at == 0 { "" } else { "\n" };
        let _ = writeln!(text, "{gap}{} {:>9}", column(section.title(), 58), number(tokens));
        if section == Section::UserMessage && tokens == 0 {
            text.push_str("  (nothing typed yet)\n");
            continue;
        }
        for (at, row) in plan.included().enumerate().filter(|(_, row)| row.section() == Some(section)) {
            let mark =
                uses.get(at).copied().flatten().map_or_else(String::new, |item| format!("  [{}]", item.to_text()));
            let _ = writeln!(text, "{}{mark}", line(row));
        }
    }
    let (suggested, excluded): (Vec<&Row>, Vec<&Row>) = (plan.suggested().collect(), plan.excluded().collect());
    let left_out = RowCounts::of(&plan.rows).out;
    for (title, count, rows) in [("suggested", suggested.len() as u64, suggested), ("left out", left_out, excluded)] {
        if !rows.is_empty() {
            let _ = writeln!(text, "\n──── {title} {count}");
        }
        for row in rows {
            let _ = writeln!(text, "{}", line(row));
            if let Verdict::Out { remedy: Some(remedy), .. } = &row.verdict
                && let Some(command) = remedy.command(&row.item_name())
            {
                let _ = writeln!(text, "    {}", remedy.sentence(&format!("`pleach {command}`")));
            }
        }
    }
    text.push('\n');
    for warning in &plan.warnings {
        let _ = writeln!(text, "! {}", warning.sentence());
    }
    text
}

/// Returns what sets the budget: the cap, or the model's window.
fn limit(budget: &Budget) -> String {
    let window = number(budget.context_window);
    if budget.is_capped() {
        return format!("context {window}, budget {}", number(budget.total()));
    }
    match budget.input_limit.filter(|limit| *limit == budget.most()) {
        Some(limit) => format!("context {window} · input limit {}", number(limit)),
        None => format!("context {window} − reserved for the answer {}", number(budget.reserved_output)),
    }
}

/// Describes the code search in one line.
fn code_search(set: Option<&CodeSet>) -> String {
    let Some(set) = set else { return String::new() };
    let all = set.candidates.len();
    let found = match all {
        0 => String::new(),
        _ => format!(
            " {} sent, {} near misses, {all} candidates (--json lists them).",
            set.sent().count(),
            set.near().count()
        ),
    };
    format!("code search: {}{found}\n", set.sentence())
}

/// Says in one line why the request does not ask for a state block, and in the next what changes that, unless a row of
/// the plan says so.
fn unasked_state(outcome: Option<StateRequestOutcome>) -> String {
    let Some(outcome) = outcome.filter(|outcome| !outcome.has_row()) else { return String::new() };
    let changes = shape::state_remedies(outcome).join(" ");
    let changes = if changes.is_empty() { changes } else { format!("    {changes}\n") };
    format!("state block: {}\n{changes}", outcome.sentence())
}

fn line(row: &Row) -> String {
    let tokens = number(row.tokens);
    let kind = match (row.kind, row.source.turn) {
        (RowKind::Turn, Some(turn)) => format!("turn {turn}"),
        (kind, _) => kind.name().to_owned(),
    };
    format!("  {} {} {tokens:>9}  {}", column(&kind, 9), column(&row.title, 46), row.reason_sentence())
}

pub(crate) fn plans(run: &mut Run<'_, '_>, command: &Plans) -> Result<(), Stop> {
    match command {
        Plans::List => list(run),
        Plans::Show { run: of } => show(run, of),
        Plans::Diff { a, b } => diffs::diff(run, a, b.as_deref()),
        Plans::Why { item, message } => diffs::why(run, item, *message),
    }
}

fn list(run: &mut Run<'_, '_>) -> Result<(), Stop> {
    let view = run.open(false)?;
    let cards = expect_answer!(run, Call(CallAnswer::Runs), CallRequest::List);
    if run.io.json {
        let shapes: Vec<_> = cards.iter().map(|card| shape::run(card, &view.branches)).collect();
        return run.io.value(&shapes);
    }
    let enough = pick::enough(cards.iter().map(|card| card.id));
    for card in &cards {
        run.io.say(&card_line(card, &view, enough));
    }
    if cards.is_empty() {
        run.io.say("No calls yet.");
    }
    Ok(())
}

/// Describes a call in one line, with the first `id_length` characters of its id.
fn card_line(card: &RunCard, view: &SessionView, id_length: usize) -> String {
    let branch = view.branches.iter().find(|branch| branch.id == card.branch).map_or("?", |branch| &branch.name);
    let used = card.usage.to_text(card.est_total, " · ");
    let cost = card.cost_micro.map_or_else(String::new, |micro| format!(" · {}", money(micro)));
    let edited = if card.edited { " · edited by hand" } else { "" };
    let short =
        card.short_read.map_or_else(String::new, |short| format!("\n  ! {} {}", short.sentence(), short.todo()));
    let diagnostic = card.diagnostics.iter().fold(String::new(), |diagnostic, one| diagnostic + "\n  ! " + &one.what);
    let items = card.uses.map_or_else(String::new, |count| format!(" · {}", count.to_text()));
    format!(
        "{}  {}  {}  {} {}  {used}{cost}{items}{edited}{short}{diagnostic}",
        pick::short(card.id, id_length),
        time(card.at),
        column(branch, 16),
        column(card.status.name(), 11),
        card.model
    )
}

fn show(run: &mut Run<'_, '_>, id: &str) -> Result<(), Stop> {
    let view = run.open(false)?;
    let answer = run.call(CallRequest::StoredPlan { id: pick::call(&view, id)? })?;
    let Answer::Call(CallAnswer::StoredPlan { plan, runs, code_set }) = answer else { return Err(unexpected(&answer)) };
    let uses = item_use::of(run, &runs)?;
    if run.io.json {
        let digest = runs.last().map(|card| card.request_digest);
        let value = shape::plan(&plan, digest, None, None, None);
        let mut value = shape_code::with_set(value, code_set.as_deref());
        let marks = uses.iter().flat_map(|uses| uses.by_row(&plan)).enumerate();
        for (at, item) in marks.filter_map(|(at, item)| Some((at, item?))) {
            value["included"][at]["used_by"] = json!(item.by);
        }
        value["runs"] = runs.iter().map(|card| shape::run(card, &view.branches)).collect();
        return run.io.value(&value);
    }
    let mut text = describe(&plan, None, uses.as_ref());
    text.push_str(&code_search(code_set.as_deref()));
    let enough = pick::enough(view.runs.iter().map(|card| card.id));
    for card in &runs {
        let _ = writeln!(text, "{}", card_line(card, &view, enough));
        for diagnostic in card.diagnostics.iter().filter(|diagnostic| !diagnostic.raw.is_empty()) {
            let _ = writeln!(text, "  raw response: {}", diagnostic.raw);
        }
    }
    run.io.say(text.trim_end());
    Ok(())
}

/// `replay RUN --dry-run` and `replay RUN --request`.
pub(crate) fn replay(run: &mut Run<'_, '_>, args: &Replay) -> Result<(), Stop> {
    let view = run.open(false)?;
    let (id, changed) = (pick::call(&view, &args.run)?, args.without.is_some());
    let without = args.without.clone().map(|text| ItemName::Named { text, message: false });
    let answer = run.call(CallRequest::ReplayDryRun { run: id, without })?;
    let Answer::Call(CallAnswer::Replayed { run: card, request: rendered }) = answer else {
        return Err(unexpected(&answer));
    };
    let (digest, body) = (rendered.digest, &*rendered.body);
    let same = digest == card.request_digest;
    if args.request {
        run.io.data(body);
        if run.io.out_tty {
            run.io.end_line(body);
        }
    }
    let verdict = match (changed, same) {
        (true, _) => "Without the item",
        (false, true) => "The same bytes as were sent",
        (false, false) => "Different bytes than were sent",
    };
    let words = format!("{verdict}: {}.", counted(body.len() as u64, "byte"));
    let value = json!({
        "run_id": card.id,
        "plan_id": card.plan,
        "sent_digest": card.request_digest,
        "request_digest": digest,
        "same": same,
        "bytes": body.len(),
    });
    if !args.request {
        run.io.either(&value, &words)?;
    }
    if same || changed {
        return Ok(());
    }
    let what = "This call can no longer be repeated byte for byte.";
    Err(Failure::new(FailureKind::User, what).todo("A message of the call may have been deleted since.").into())
}

/// `build`: prints the messages of the next request as text.
pub(crate) fn build(run: &mut Run<'_, '_>, words: &[String]) -> Result<(), Stop> {
    let (solved, request) = rendered(run, words)?;
    if run.io.json {
        return run.io.value(&json!({ "plan_id": solved.plan.id, "messages": request["messages"] }));
    }
    let text = messages(&request);
    run.io.words(&text);
    Ok(())
}

pub(crate) fn context(run: &mut Run<'_, '_>, command: &ContextCommand) -> Result<(), Stop> {
    match command {
        ContextCommand::Show { text } => show_context(run, text),
        ContextCommand::Window { turns } => settings::change(run, &Setting::Window(*turns), false),
        ContextCommand::Rebuild { by_model } => {
            let branch = run.open(false)?.current;
            let by = if *by_model { SummaryAuthor::Model } else { SummaryAuthor::Extractive };
            run.change(BranchRequest::RebuildState { branch, by }, "")
        }
    }
}

fn show_context(run: &mut Run<'_, '_>, words: &[String]) -> Result<(), Stop> {
    let (solved, request) = rendered(run, words)?;
    if run.io.json {
        return run.io.value(&request);
    }
    let mut text = String::new();
    let (total, room) = (number(solved.plan.est_total), number(solved.plan.budget.total()));
    let _ = writeln!(text, "{total} of {room} tokens ({})", solved.plan.certainty.in_words());
    for (name, value) in request.as_object().into_iter().flatten().filter(|(name, _)| *name != "messages") {
        let _ = writeln!(text, "{name}: {value}");
    }
    text.push('\n');
    text.push_str(&messages(&request));
    run.io.words(&text);
    Ok(())
}

/// Returns the plan and the body of the next request.
fn rendered(run: &mut Run<'_, '_>, words: &[String]) -> Result<(Solved, Value), Stop> {
    let solved = solve(run, words, (None, None))?;
    let body = run.client.wire(&solved.view, &mut run.io)?;
    let invalid = |error| format!("The rendered request is not valid JSON: {error}.");
    let request = serde_json::from_str(&body).map_err(|error| Failure::new(FailureKind::Internal, invalid(error)))?;
    Ok((solved, request))
}

/// Formats the messages of a request, each under a header with its role.
fn messages(request: &Value) -> String {
    let mut text = String::new();
    for message in request["messages"].as_array().into_iter().flatten() {
        let role = message["role"].as_str().unwrap_or("?");
        let about = message["tool_call_id"].as_str().map_or_else(String::new, |id| format!(" (answers {id})"));
        let _ = writeln!(text, "──── {role}{about} ────");
        match &message["content"] {
            Value::Null => {}
            Value::String(words) => text.push_str(words),
            parts => text.push_str(&parts.to_string()),
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let (name, args) = (&call["function"]["name"], &call["function"]["arguments"]);
            let _ = writeln!(
                text,
                "→ {}({}) {}",
                name.as_str().unwrap_or("?"),
                args.as_str().unwrap_or_default(),
                call["id"].as_str().unwrap_or_default()
            );
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
