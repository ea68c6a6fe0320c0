//! Module summaries written by a model: one auxiliary call, and the share of the names in its text that occur in the
//! files.
//! Not for: finding the module and its files (`modules`), or summaries of turns (`writer`).

use super::module_cards;
use crate::code::index::build::Progress;
use crate::config::prompts;
use crate::domain::base::failure::{Failure, FailureKind};
use crate::domain::base::ids::BranchId;
use crate::domain::call::provider::CallEnd;
use crate::domain::call::run::RunCard;
use crate::domain::conversation::branch::Branch;
use crate::domain::summary::accepted::SummarySource;
use crate::domain::summary::draft::SummaryAuthor;
use crate::domain::summary::module::ModuleCard;
use crate::engine::api::{Event, SummaryEvent};
use crate::engine::calls::auxiliary_call::{AuxiliaryCall, Prompt};
use crate::engine::core::Core;
use crate::export::secrets;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// Maximum tokens of the files, and the overhead of the request.
const MOST: u32 = 24_000;
const AROUND: u32 = 200;
/// Bytes of one file that are shown.
const ONE: usize = 40_000;
/// The minimum length of a name to check.
const SHORTEST: usize = 4;

/// Bytes of the model's text between two progress reports, and the minimum time between reports while reading.
const TOLD: usize = 200;
const TELL: Duration = Duration::from_millis(200);

/// Reports the progress of a module summary.
pub(crate) struct ProgressReporter {
    events: Sender<Event>,
    branch: BranchId,
    path: String,
    by: SummaryAuthor,
    told: Cell<Option<Instant>>,
}

impl ProgressReporter {
    pub(crate) fn new(events: Sender<Event>, branch: BranchId, path: &Path, by: SummaryAuthor) -> Self {
        Self { events, branch, path: module_cards::shown(path), by, told: Cell::new(None) }
    }

    fn say(&self, files: (usize, usize), tokens: u32) {
        let (branch, path, by) = (self.branch, self.path.clone(), self.by);
        let _ = self.events.send(Event::Summary(SummaryEvent::ModuleProgress { branch, path, by, files, tokens }));
    }

    /// Files are being read.
    pub(crate) fn reads(&self, progress: Progress) {
        if self.told.get().is_none_or(|at| at.elapsed() > TELL) {
            self.told.set(Some(Instant::now()));
            self.say((progress.done, progress.files), 0);
        }
    }
}

impl Core {
    /// An auxiliary call for a module summary.
    pub(crate) fn module_job(&self, branch: &Branch) -> Result<AuxiliaryCall, Failure> {
        let rules = self.rules(branch)?;
        let provider = self.setup.servers.provider(&rules.profile)?;
        Ok(self.auxiliary_call(branch, rules, Some(provider), Arc::new(AtomicBool::new(false))))
    }
}

/// The same summary in the model's words.
pub(crate) fn asked(
    job: &AuxiliaryCall,
    root: &Path,
    card: ModuleCard,
    runs: &mut Vec<RunCard>,
    teller: &ProgressReporter,
) -> Result<ModuleCard, Failure> {
    let count = |text: &str| job.counter.count(job.rules.model.encoding, text);
    let fixed = count(prompts::MODULE).saturating_add(count(&card.text)).saturating_add(AROUND);
    let space = (job.rules.budget.prompt.saturating_sub(fixed) / 10 * 9).min(MOST);
    let (text, masked) = {
        let text = shown(root, &card, space, &count);
        let (text, masked) = secrets::mask(&text);
        (text.into_owned(), masked)
    };
    tracing::debug!(masked, "files for a summary");
    let order = Prompt {
        what: "summary",
        policy: "module",
        instructions: prompts::MODULE,
        version: prompts::MODULE_VERSION,
        title: format!("A module to summarize: {}", card.path),
        text: &text,
        otherwise: "Summarize it without a model.",
    };
    if job.stopped() {
        return Err(Failure::user("Stopped."));
    }
    let files = (card.files.len(), card.files.len());
    teller.say(files, 0);
    let mut told = 0;
    let mut hear = |said: &str| {
        if said.len() > told + TOLD {
            told = said.len();
            teller.say(files, count(said));
        }
    };
    let (said, end) = job.ask(&order, &mut hear, runs)?;
    let (said, _) = secrets::mask(&said);
    let mut said = said.trim().to_owned();
    if said.is_empty() {
        return Err(Failure::new(FailureKind::Provider, "The model returned no summary."));
    }
    if end == CallEnd::Truncated {
        said.push_str("\n[cut at the model's output limit]");
    }
    Ok(ModuleCard {
        confidence: known_names(&said, &text),
        text: said,
        source: SummarySource::Llm,
        model: Some(job.rules.model.name.clone()),
        version: prompts::MODULE_VERSION,
        ..card
    })
}

/// The symbols of the module, then its files, as far as they fit.
fn shown(root: &Path, card: &ModuleCard, space: u32, count: &dyn Fn(&str) -> u32) -> String {
    let mut out = format!("{}\n", card.text);
    let mut left = space;
    for file in &card.files {
        let Ok(bytes) = std::fs::read(root.join(&file.path)) else { continue };
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(ONE)]);
        let mut piece = format!("── {} ──\n{text}\n", file.path);
        if count(&piece) > left {
            // Four bytes a token, roughly, and never more than is left.
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

/// The share of names and paths in a text that occur in its sources, in thousandths; 0 if it names nothing.
fn known_names(text: &str, sources: &str) -> u32 {
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
    fn names_that_stand_nowhere_lower_the_confidence() {
        let source = "── src/a.rs ──\npub struct BeeHive;\nimpl BeeHive { fn fly_out(&self) {} }\n";
        assert_eq!(known_names("BeeHive::fly_out in src/a.rs lets them out.", source), 1_000);
        assert_eq!(known_names("BeeHive calls wasp_nest.", source), 500);
        assert_eq!(known_names("It does a thing.", source), 0);
    }
}
