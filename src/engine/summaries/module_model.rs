//! Module summaries written by a model: one auxiliary call, and the share of the names in its text that occur in the
//! files.
//! Not for: finding the module and its files (`modules`), or summaries of turns (`writer`).

use super::module_cards;
use crate::code::index::build::Progress;
use crate::config::prompts;
use crate::domain::base::{BranchId, Failure, FailureKind, secrets};
use crate::domain::call::{CallEnd, RunCard};
use crate::domain::summary::{ModuleCard, SummaryAuthor, SummarySource};
use crate::engine::api::{Event, SummaryEvent};
use crate::engine::calls::auxiliary_call::{AuxiliaryCall, Prompt};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// The maximum tokens of files that are sent, and an allowance for the framing of the request.
const MOST: u32 = 24_000;
const AROUND: u32 = 200;
/// The maximum number of bytes of one file that are sent.
const ONE: usize = 40_000;
/// The minimum length of a name to check.
const SHORTEST: usize = 4;

/// Bytes of the model's text, and time of reading, between reports of progress.
const REPORT_BYTES: usize = 200;
const REPORT_INTERVAL: Duration = Duration::from_millis(200);

/// Reports the progress of a module summary.
pub(crate) struct ProgressReporter {
    events: Sender<Event>,
    branch: BranchId,
    path: String,
    by: SummaryAuthor,
    last_report: Cell<Option<Instant>>,
}

impl ProgressReporter {
    pub(crate) fn new(events: Sender<Event>, branch: BranchId, path: &Path, by: SummaryAuthor) -> Self {
        Self { events, branch, path: module_cards::shown(path), by, last_report: Cell::new(None) }
    }

    fn report(&self, files: (usize, usize), tokens: u32) {
        let (branch, path, by) = (self.branch, self.path.clone(), self.by);
        let _ = self.events.send(Event::Summary(SummaryEvent::ModuleProgress { branch, path, by, files, tokens }));
    }

    /// Reports the progress of reading files, at most once per interval.
    pub(crate) fn report_reading(&self, progress: Progress) {
        if self.last_report.get().is_none_or(|at| at.elapsed() > REPORT_INTERVAL) {
            self.last_report.set(Some(Instant::now()));
            self.report((progress.done, progress.files), 0);
        }
    }
}

/// Returns the module summary with its text rewritten by the model.
pub(crate) fn rewrite_by_model(
    job: &AuxiliaryCall,
    root: &Path,
    card: ModuleCard,
    runs: &mut Vec<RunCard>,
    progress: &ProgressReporter,
) -> Result<ModuleCard, Failure> {
    let count = |text: &str| job.counter.count(job.rules.model.encoding, text);
    let fixed = count(prompts::MODULE).saturating_add(count(&card.text)).saturating_add(AROUND);
    let space = (job.rules.budget.prompt.saturating_sub(fixed) / 10 * 9).min(MOST);
    let text = shown(root, &card, space, &count);
    let (text, masked) = secrets::mask(&text);
    tracing::debug!(masked, "files for a summary");
    let prompt = Prompt {
        what: "summary",
        policy: "module",
        instructions: prompts::MODULE,
        version: prompts::MODULE_VERSION,
        title: format!("A module to summarize: {}", card.path),
        text: &text,
        otherwise: "Summarize it without a model.",
        keeps_state: false,
    };
    if job.cancel.is_canceled() {
        return Err(Failure::user("Stopped."));
    }
    let files = (card.files.len(), card.files.len());
    progress.report(files, 0);
    let mut last_report = 0;
    let mut on_text = |text: &str| {
        if text.len() > last_report + REPORT_BYTES {
            last_report = text.len();
            progress.report(files, count(text));
        }
    };
    let (answer, end) = job.ask(&prompt, &mut on_text, runs)?;
    let (answer, _) = secrets::mask(&answer);
    let mut answer = answer.trim().to_owned();
    if answer.is_empty() {
        return Err(Failure::new(FailureKind::Provider, "The model returned no summary."));
    }
    if end == CallEnd::Truncated {
        answer.push_str("\n[cut at the model's output limit]");
    }
    Ok(ModuleCard {
        confidence: share_of_known_names(&answer, &text),
        text: answer,
        source: SummarySource::Llm,
        model: Some(job.rules.model.name.clone()),
        version: prompts::MODULE_VERSION,
        ..card
    })
}

/// Returns the text of the extractive summary, then as many files of the module as fit.
fn shown(root: &Path, card: &ModuleCard, space: u32, count: &dyn Fn(&str) -> u32) -> String {
    let mut out = format!("{}\n", card.text);
    let mut left = space;
    for file in &card.files {
        let Ok(bytes) = std::fs::read(root.join(&file.path)) else { continue };
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(ONE)]);
        let mut piece = format!("── {} ──\n{text}\n", file.path);
        if count(&piece) > left {
            // Three characters per token is a low estimate, so the piece probably fits.
            let cut = (left as usize).saturating_mul(3);
            piece = piece.chars().take(cut).collect();
            piece.push_str("\n[cut]\n");
        }
        let tokens = count(&piece);
        if left < AROUND || tokens > left {
            let _ = writeln!(out, "[no room for {}]", file.path);
            continue;
        }
        left -= tokens;
        out.push_str(&piece);
    }
    out
}

/// Returns the share of names and paths in a text that occur in its sources, in thousandths; 0 if it names nothing.
fn share_of_known_names(text: &str, sources: &str) -> u32 {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '/' | '.' | ':');
    let words = |text: &str| -> BTreeSet<String> {
        let bare = text.split(|c: char| !part(c)).map(|word| word.trim_matches(['.', ':', '/']));
        bare.filter(|word| word.len() >= SHORTEST).map(str::to_owned).collect()
    };
    let telling = |word: &String| {
        let inner = word.chars().skip(1).any(char::is_uppercase) && word.chars().any(char::is_lowercase);
        word.contains(['_', '/'])
            || word.contains("::")
            || inner
            || word.trim_end_matches(char::is_alphabetic).ends_with('.')
    };
    let named: Vec<String> = words(text).into_iter().filter(telling).collect();
    let known = named.iter().filter(|name| {
        let last = name.rsplit("::").next().unwrap_or(name);
        sources.contains(name.as_str()) || (last.len() >= SHORTEST && sources.contains(last))
    });
    let share = known.count() * 1_000 / named.len().max(1);
    u32::try_from(share).unwrap_or(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_lower_the_confidence() {
        let source = "── src/a.rs ──\npub struct BeeHive;\nimpl BeeHive { fn fly_out(&self) {} }\n";
        assert_eq!(share_of_known_names("BeeHive::fly_out in src/a.rs lets them out.", source), 1_000);
        assert_eq!(share_of_known_names("BeeHive calls wasp_nest.", source), 500);
        assert_eq!(share_of_known_names("It does a thing.", source), 0);
    }
}
