//! Updates for tool calls that need approval: announcing them, opening one, sending the decision, and listing rules.
//! Not for: the effect of a call (`domain::tool::consent`).

use super::model::ApprovalScreen;
use crate::domain::base::{BranchId, Failure, RunId};
use crate::domain::tool::consent::BESIDE;
use crate::domain::tool::{Consent, PendingApproval, RerunState, Rule, RuleScope, Verdict, mcp};
use crate::engine::api::{Answer, Request, RuleAct, ToolAnswer, ToolRequest, TraceAct, TurnRequest};
use crate::tui::chat::update::questions;
use crate::tui::model::status::ASKING;
use crate::tui::model::typed_line::TypedLine;
use crate::tui::screens::picker::model::{Choice, Entry, Kind, Picker};
use crate::tui::screens::question::model::{Act, Question};
use crate::tui::update::effects::show_answer;
use crate::tui::update::prelude::*;
use std::sync::Arc;

/// How many bytes of a command's output are kept for the screen.
const MAX_OUTPUT: usize = 16 * 1024;

/// Handles a call on a branch that needs approval, or None if no call needs approval any longer.
pub(crate) fn arrived(model: &mut Model, branch: BranchId, pending: Option<Arc<PendingApproval>>) {
    let Some(live) = model.live.get_mut(&branch) else { return };
    live.tool_output.clear();
    live.asks.clone_from(&pending);
    let Some(pending) = pending else {
        model.status.end(ASKING);
        model.layers.close::<ApprovalScreen>(|ask| ask.branch == branch && ask.pending.index != BESIDE);
        return;
    };
    // The chat shows a call of the current branch, and the footer names the key.
    if !model.is_current(branch) || !model.layers.is_empty() {
        let key = model.keys.key(Action::AnswerTool);
        let text = format!("{} needs approval: {key} answers.", mcp::display_name(&pending.tool));
        model.status.report(ASKING, text, model.now);
    }
}

/// Appends a piece of a running command's output; the oldest half is dropped when it gets too long.
pub(crate) fn add_output(model: &mut Model, branch: BranchId, run: RunId, text: &str) {
    let Some(live) = model.live.get_mut(&branch).filter(|live| live.run.is_none_or(|of| of == run)) else { return };
    live.tool_output.push_str(text);
    if live.tool_output.len() > MAX_OUTPUT {
        let from = live.tool_output.ceil_char_boundary(live.tool_output.len() - MAX_OUTPUT / 2);
        live.tool_output.drain(..from);
    }
}

/// Opens the pending call of the current branch, or else of another branch or of a rerun, or else the question about an
/// imported system prompt. Closes the screen if it is open.
pub(crate) fn open(model: &mut Model) {
    if model.layers.close::<ApprovalScreen>(|_| true) {
        return;
    }
    let here = model.branch().map(|branch| branch.id);
    let mut waiting: Vec<(BranchId, Arc<PendingApproval>)> =
        model.live.iter().filter_map(|(branch, live)| Some((*branch, live.asks.clone()?))).collect();
    waiting.sort_by_key(|(branch, _)| (Some(*branch) != here, *branch));
    if let Some((branch, RerunState::Asks(pending))) =
        model.tools.rerun.as_ref().map(|again| (again.branch, &again.state))
    {
        waiting.push((branch, pending.clone()));
    }
    match waiting.into_iter().next() {
        Some((branch, pending)) => {
            model.status.end(ASKING);
            model.layers.push(ApprovalScreen::new(branch, pending));
        }
        None if questions::imported_instructions(model) => {}
        None => model.status.say(Severity::Notice, "No tool call needs approval.", model.now),
    }
}

/// A person's decision about the call on the screen.
#[derive(Clone, Copy)]
pub(crate) enum ToolDecision {
    Allow,
    AllowAlways,
    Deny,
    DenyWithReason,
    /// Selects or deselects the hunk under the cursor.
    ToggleHunk,
}

pub(crate) fn decide(model: &mut Model, decision: ToolDecision, out: &mut Vec<Cmd>) {
    use ToolDecision::{Allow, AllowAlways, Deny, DenyWithReason, ToggleHunk};
    let Some(ask) = model.layers.top_mut::<ApprovalScreen>() else { return };
    ask.note = None;
    let to = (ask.branch, ask.pending.index);
    let key = |action| model.keys.key_in(action, KeyPlace::Approval);
    match decision {
        ToggleHunk => ask.toggle(),
        Allow | AllowAlways if ask.fresh(model.now) => {
            ask.note = Some("The call just appeared: read it first.".into());
        }
        Allow | AllowAlways if !ask.ended => {
            let (page, yes) = (key(Action::ScrollDown), key(Action::AllowTool));
            ask.note = Some(format!("You have not seen the whole call: {page} shows the rest, then {yes} approves."));
        }
        Allow if ask.nothing() => {
            let (choose, no) = (key(Action::TakeHunk), key(Action::RefuseTool));
            ask.note = Some(format!("No change is selected. {choose} selects a change, {no} denies all of them."));
        }
        Allow => {
            let hunks = ask.chosen();
            give(model, to, Consent::Yes { hunks }, None, out);
        }
        Deny => give(model, to, Consent::No { why: None }, None, out),
        DenyWithReason => ask.reason = Some(TypedLine::default()),
        AllowAlways if ask.pending.effect.config_change().is_some() => {
            ask.note =
                Some("This file controls pleach: no rule allows changing it; each change needs approval.".into());
        }
        AllowAlways => {
            let question = rule_question(ask);
            model.layers.push(question);
        }
    }
}

/// Denies the call with the typed message; without a text, only closes the line.
pub(crate) fn deny_with_reason(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(ask) = model.layers.top_mut::<ApprovalScreen>() else { return };
    let text = ask.reason.take().unwrap_or_default().trim().to_owned();
    let to = (ask.branch, ask.pending.index);
    if !text.is_empty() {
        give(model, to, Consent::No { why: Some(text) }, None, out);
    }
}

/// Sends the decision to the engine and closes the screen.
pub(crate) fn give(
    model: &mut Model,
    (branch, index): (BranchId, usize),
    consent: Consent,
    always: Option<(RuleScope, Rule)>,
    out: &mut Vec<Cmd>,
) {
    model.layers.close::<ApprovalScreen>(|_| true);
    let request = match index {
        BESIDE => Request::Tool(ToolRequest::Traces(TraceAct::Word { consent, always })),
        _ => Request::Turn(TurnRequest::Consent { branch, index, consent, always }),
    };
    send(model, request, Pending::Act, out);
}

fn rule_question(ask: &ApprovalScreen) -> Question {
    let mut choices = vec![('n', "no rule: approve or deny only this call".to_owned(), Act::Close)];
    let keys = "1234567890";
    let rules = ask.rules();
    let scopes = [(RuleScope::Session, "in this session"), (RuleScope::Folder, "in this folder, every session")];
    let all = rules.iter().flat_map(|rule| scopes.iter().map(move |scope| (rule, scope)));
    for (key, (rule, (scope, place))) in keys.chars().zip(all) {
        let act = Act::Always(ask.branch, ask.pending.index, *scope, rule.clone());
        // The scope comes first, since a long line is cut at its end.
        choices.push((key, format!("{place}: allow {}", describe_rule(rule)), act));
    }
    let about = "This call runs now, and every call that matches the rule runs without asking. * matches anything, \
        but a rule with * never matches a line that contains ; | & < > or $(: such a line needs a rule with the exact \
        line. /rules lists and removes rules.";
    Question::new("Allow these calls without asking from now on?", vec![about.to_owned()], choices)
}

/// Describes the target of a rule, without its verdict.
fn describe_rule(rule: &Rule) -> String {
    let on = rule.on.as_ref().map_or_else(|| " on anything".to_owned(), |on| format!(" {on:?}"));
    format!("{}{on}", rule.tool)
}

/// Handles the list of rules.
pub(crate) fn answered(model: &mut Model, result: Result<Answer, Failure>) {
    match result {
        Ok(Answer::Tool(ToolAnswer::Rules(rules))) => show_rules(model, rules),
        result => show_answer(model, result),
    }
}

fn show_rules(model: &mut Model, rules: Vec<(RuleScope, Rule)>) {
    let verdict = |rule: &Rule| match rule.verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask about",
        Verdict::Deny => "deny",
    };
    let place = |scope: RuleScope| match scope {
        RuleScope::Session => "this session",
        RuleScope::Folder => "this folder",
        RuleScope::Config => "settings",
    };
    let entry = |(scope, rule): (RuleScope, Rule)| Entry {
        label: format!("{} {}", verdict(&rule), describe_rule(&rule)),
        detail: place(scope).to_owned(),
        choice: Choice::Rule(scope, rule),
    };
    let mut entries: Vec<Entry> = rules.into_iter().map(entry).collect();
    if entries.is_empty() {
        let label =
            "No rules: reads run; everything else asks. To add a rule, approve a call with \"always\".".to_owned();
        entries.push(Entry { label: label.clone(), detail: String::new(), choice: Choice::Explain(label) });
    }
    if let Some(picker) = model.layers.all_mut::<Picker>().find(|picker| picker.kind == Kind::Rules) {
        return picker.fill(entries);
    }
    let mut picker = Picker::new(Kind::Rules);
    picker.fill(entries);
    model.layers.push(picker);
}

/// Removes the selected rule.
pub(crate) fn take_off(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(picker) = model.layers.top::<Picker>() else { return };
    let Some(Choice::Rule(scope, rule)) = picker.selected().map(|entry| entry.choice.clone()) else { return };
    send(model, ToolRequest::Rule(RuleAct::Set { scope, rule, on: false }), Pending::Act, out);
    send(model, ToolRequest::Rule(RuleAct::List), Pending::Rules, out);
}
