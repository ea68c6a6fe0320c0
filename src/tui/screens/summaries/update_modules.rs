//! Updates of module summaries that are being written: requesting one, its progress, and stopping it.
//! Not for: finished module summaries (`screens::editor::update`) or summaries of turns (`update`).

use super::model::PendingModuleSummary;
use crate::domain::base::{BranchId, Failure};
use crate::domain::summary::SummaryAuthor;
use crate::engine::api::{Answer, ModuleAct, ProjectAct, ToolRequest};
use crate::tui::screens::editor::model::EditorPending;
use crate::tui::screens::summaries::model::SummaryPending;
use crate::tui::update::prelude::*;

/// Requests a summary of a folder or file.
pub(crate) fn make(model: &mut Model, path: &str, by: SummaryAuthor, out: &mut Vec<Cmd>) {
    let path = path.trim().trim_start_matches('@').to_owned();
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    let act = ModuleAct::Make { branch, path: path.clone(), by };
    let ticket = send(model, ToolRequest::Project(ProjectAct::Module(act)), EditorPending::Change, out);
    let shown = path.trim_start_matches("./").trim_end_matches('/').to_owned();
    let one = PendingModuleSummary { branch, path: shown, by, files: (0, 0), tokens: 0, stopping: false };
    model.drafts.parts.insert(ticket, one);
}

/// Stores the progress of a module summary.
pub(crate) fn progressed(model: &mut Model, branch: BranchId, path: &str, files: (usize, usize), tokens: u32) {
    let mine = |one: &&mut PendingModuleSummary| one.branch == branch && one.path == path;
    if let Some(one) = model.drafts.parts.values_mut().find(mine) {
        (one.files, one.tokens) = (files, tokens);
    }
}

/// Handles Esc: stops the module summaries of this branch. Returns whether there were any.
pub(crate) fn stop(model: &mut Model, out: &mut Vec<Cmd>) -> bool {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return false };
    let going = |one: &&mut PendingModuleSummary| one.branch == branch && !one.stopping;
    let mut any = false;
    for one in model.drafts.parts.values_mut().filter(going) {
        (one.stopping, any) = (true, true);
    }
    if any {
        send(model, ToolRequest::Project(ProjectAct::Module(ModuleAct::Stop { branch })), SummaryPending::Stop, out);
    }
    any
}

/// Returns the result of a module summary that ended, unless the user stopped it, which is not a failure and is
/// reported here.
pub(crate) fn finished(
    model: &mut Model,
    ticket: u64,
    result: Result<Answer, Failure>,
) -> Option<Result<Answer, Failure>> {
    match (model.drafts.parts.remove(&ticket), result) {
        (Some(PendingModuleSummary { stopping: true, .. }), Err(failure)) => {
            model.status.say(Severity::Notice, failure.to_string(), model.now);
            None
        }
        (_, result) => Some(result),
    }
}
