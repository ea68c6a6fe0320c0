//! `summary draft`, `accept`, `edit`, and `discard`: the draft of a summary that waits on the branch.
//! Not for: making a draft (`summaries`).

use super::summaries::{draft_shape, indexes, print_draft, request_draft};
use super::what_if;
use crate::cli::client::expect_answer;
use crate::cli::stop::Stop;
use crate::cli::{Run, editor};
use crate::config::commands::calls::DraftCommand;
use crate::domain::base::BranchId;
use crate::domain::planning::{ContextPlan, PlanFigures, omitted_summary};
use crate::domain::summary::SummaryDraft;
use crate::domain::summary::draft::{DRAFT_COMMANDS, no_draft};
use crate::domain::summary::turns_in_words;
use crate::engine::api::{Draft, Planned, Request, SessionView, SummaryAct, SummaryAnswer};
use serde_json::Value;
use std::sync::Arc;

/// Runs a command on the draft that waits.
pub(super) fn run(run: &mut Run<'_, '_>, command: &DraftCommand) -> Result<(), Stop> {
    let new_text = match command {
        DraftCommand::Edit { text } => run.io.text(text)?,
        DraftCommand::Draft | DraftCommand::Accept { .. } | DraftCommand::Discard => None,
    };
    let view = run.open(false)?;
    let branch = view.current;
    match command {
        DraftCommand::Draft => show(run, branch),
        DraftCommand::Accept { keep } => accept(run, &view, keep),
        DraftCommand::Edit { .. } => edit(run, branch, new_text),
        DraftCommand::Discard => {
            run.change(Request::Summary { branch, act: SummaryAct::Reject }, "The draft is discarded.")
        }
    }
}

/// Returns the draft that waits on a branch.
pub(crate) fn waiting(run: &mut Run<'_, '_>, branch: BranchId) -> Result<Option<Arc<SummaryDraft>>, Stop> {
    Ok(expect_answer!(run, Summary(SummaryAnswer::Draft), Request::Summary { branch, act: SummaryAct::Show }))
}

/// Says that a draft waits, and which commands decide on it.
pub(super) fn say_waiting(run: &mut Run<'_, '_>, draft: Option<&SummaryDraft>) {
    let Some(draft) = draft else { return };
    run.io.say(&format!("{} {DRAFT_COMMANDS}", draft.waiting_sentence()));
}

fn show(run: &mut Run<'_, '_>, branch: BranchId) -> Result<(), Stop> {
    let draft = waiting(run, branch)?;
    if run.io.json {
        return run.io.value(&draft.as_deref().map_or(Value::Null, |draft| draft_shape(draft, false)));
    }
    let Some(draft) = draft else {
        run.io.say(&no_draft().to_string());
        return Ok(());
    };
    print_draft(run, &draft);
    run.io.say("");
    say_waiting(run, Some(&draft));
    Ok(())
}

/// Returns the draft that waits, or fails if there is none.
fn required(run: &mut Run<'_, '_>, branch: BranchId) -> Result<Arc<SummaryDraft>, Stop> {
    Ok(waiting(run, branch)?.ok_or_else(no_draft)?)
}

fn accept(run: &mut Run<'_, '_>, view: &SessionView, keep: &[String]) -> Result<(), Stop> {
    let draft = required(run, view.current)?;
    let draft = self::keep(run, view.current, draft, keep)?;
    let accepted = accept_draft(run, view, &draft)?;
    if run.io.json {
        return run.io.value(&accepted.shape(&draft));
    }
    run.io.say(&accepted.describe(&draft));
    Ok(())
}

/// The effect of an accepted draft on the next request.
pub(super) struct Accepted {
    /// The plan after the acceptance, compared with the plan before; `None` if one of them can't be made.
    figures: Option<PlanFigures>,
    /// Why the next request leaves the summary out, as a sentence; `None` if it does not.
    left_out: Option<String>,
}

/// Accepts a draft.
pub(super) fn accept_draft(run: &mut Run<'_, '_>, view: &SessionView, draft: &SummaryDraft) -> Result<Accepted, Stop> {
    let before = next_plan(run, view);
    run.call(Request::Summary { branch: view.current, act: SummaryAct::Accept { draft: draft.number } })?;
    let Some((before, after)) = before.zip(next_plan(run, view)) else {
        return Ok(Accepted { figures: None, left_out: None });
    };
    let left_out = omitted_summary(&after, &before);
    Ok(Accepted { figures: Some(PlanFigures::of(&after, &before, None, None)), left_out })
}

fn next_plan(run: &mut Run<'_, '_>, view: &SessionView) -> Option<Arc<ContextPlan>> {
    match run.client.plan(view, Draft::default(), &mut run.io) {
        Ok(Planned::Plan { plan, .. }) => Some(plan),
        Ok(Planned::Blocked(_)) | Err(_) => None,
    }
}

impl Accepted {
    pub(super) fn shape(&self, draft: &SummaryDraft) -> Value {
        let mut value = draft_shape(draft, true);
        value["next"] = self.figures.as_ref().map_or(Value::Null, what_if::figures);
        value
    }

    pub(super) fn describe(&self, draft: &SummaryDraft) -> String {
        let turns = turns_in_words(draft.summary.turns);
        let text = format!("Accepted: this summary replaces {turns}; `pleach summary undo` undoes it.");
        let effect = match (self.figures.clone(), &self.left_out) {
            (None, _) => return text,
            (Some(_), Some(why)) => {
                format!("The summary changes nothing in the next request as it is now: it is left out. {why}")
            }
            (Some(mut figures), None) => {
                // The summary represents its own turns. A newer turn that leaves for the summary is lost, so it comes
                // first.
                figures.lost.sort_by_key(|item| item.turn.is_none_or(|turn| turn <= draft.summary.turns.1));
                what_if::effect("The summary", &figures)
            }
        };
        format!("{text}\n{}", effect.trim_end())
    }
}

/// Returns the draft with these dropped items kept.
pub(super) fn keep(
    run: &mut Run<'_, '_>,
    branch: BranchId,
    draft: Arc<SummaryDraft>,
    items: &[String],
) -> Result<Arc<SummaryDraft>, Stop> {
    let number = draft.number;
    let act = match items {
        [] => return Ok(draft),
        [all] if all == "all" => SummaryAct::KeepAll { draft: number },
        items => SummaryAct::Keep { draft: number, items: indexes(&draft, items)? },
    };
    request_draft(run, branch, act)
}

fn edit(run: &mut Run<'_, '_>, branch: BranchId, new_text: Option<String>) -> Result<(), Stop> {
    let draft = required(run, branch)?;
    let text = match new_text {
        Some(text) => text,
        None if run.io.in_tty && run.io.out_tty => editor::edit(&draft.body, &run.config.env)?,
        None => return Err(Stop::Usage("Give the new text of the draft, or `-` for standard input.".into())),
    };
    let draft = request_draft(run, branch, SummaryAct::Edit { draft: draft.number, text })?;
    if run.io.json {
        return run.io.value(&draft_shape(&draft, false));
    }
    print_draft(run, &draft);
    Ok(())
}
