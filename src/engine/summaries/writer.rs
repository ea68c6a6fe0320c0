//! The thread that writes a draft: reads the sources, masks secrets, writes the summary (extractive or by the model),
//! and finds the facts that it dropped.
//! Not for: choosing turns, or acts on a draft (`drafts`).

use super::draft_text::PendingDraft;
use super::state::DraftResult;
use crate::config::prompts;
use crate::context::render::render_forms;
use crate::context::summary::survive::RequiredFacts;
use crate::context::summary::{Size, extract, keep, parts};
use crate::domain::base::{Failure, FailureKind, Hash, NodeId, secrets};
use crate::domain::call::tokens::counted;
use crate::domain::call::{Backend, CallEnd, RunCard};
use crate::domain::conversation::{Content, Node, NodeHead, Role};
use crate::domain::planning::input::{CALL_FRAMING, MESSAGE_FRAMING};
use crate::domain::planning::{Budget, Form};
use crate::domain::summary::turns_in_words;
use crate::domain::summary::{
    KeepReason, KeptSentence, SourceMessage, SourceTurn, StoredDraft, Summary, SummaryAuthor, SummaryDraft,
    SummaryKind, SummarySource, TurnCover,
};
use crate::engine::api::{Event, SummaryEvent, Ticket};
use crate::engine::calls::auxiliary_call::{AuxiliaryCall, Prompt};
use crate::engine::inbox::{Inbox, SummaryReport};
use crate::engine::jobs::{CancelToken, Jobs, guarded};
use crate::engine::plans::input_builder::send_barrier;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// The maximum number of lines about errors in a tool result that a summary may quote.
const MAX_ERROR_LINES: usize = 3;
/// Bytes of a model's text between reports of progress.
const REPORT_BYTES: usize = 400;
/// Tokens of framing and labels around the sources in a model's request.
const AROUND: u32 = 200;
/// Tokens of the first line of a summary, which names its turns.
const AROUND_TEXT: u32 = 24;
/// The minimum number of tokens for sources; a model is not asked with less.
const MIN_ROOM: u32 = 256;

/// A draft to write.
pub(crate) struct Job {
    pub(crate) number: u64,
    pub(crate) ticket: Option<Ticket>,
    pub(crate) kind: SummaryKind,
    pub(crate) lane: String,
    pub(crate) parent: Option<Arc<Summary>>,
    /// Maximum tokens of the summary as it is sent.
    pub(crate) most: u32,
    /// The turns without their messages, and for each turn the heads of its readable messages.
    pub(crate) turns: Vec<(SourceTurn, Vec<NodeHead>)>,
    pub(crate) stays: Vec<(u32, KeepReason)>,
    pub(crate) by: SummaryAuthor,
    /// Why it is made automatically, if it is.
    pub(crate) cause: Option<String>,
    /// The stored draft that is restored instead of writing a new one, and whether it is stored for this branch.
    pub(crate) restored: Option<(Box<StoredDraft>, bool)>,
    /// The settings of calls to the model, if the model writes the summary.
    pub(crate) auxiliary_call: AuxiliaryCall,
    /// The receiver of progress events.
    pub(crate) events: Sender<Event>,
}

impl Job {
    /// Writes the draft on a separate thread and returns the token that cancels it.
    pub(crate) fn start(mut self, jobs: &Jobs<Inbox>) -> CancelToken {
        let (number, ticket, branch) = (self.number, self.ticket, self.auxiliary_call.branch);
        let ended = |made| Inbox::Summary(SummaryReport::Draft(Box::new(made)));
        let lost = move |failure: Failure| {
            let result = Err(failure.kept("Nothing was changed."));
            ended(DraftResult { number, ticket, branch, result, runs: Vec::new() })
        };
        jobs.report("summary", lost, move |cancel| {
            self.auxiliary_call.cancel = cancel.clone();
            ended(self.made())
        })
    }

    /// Writes the draft on the current thread.
    pub(crate) fn made(self) -> DraftResult {
        let mut runs = Vec::new();
        let (number, ticket, branch) = (self.number, self.ticket, self.auxiliary_call.branch);
        let result = guarded("the summary", || self.make(&mut runs));
        DraftResult { number, ticket, branch, result, runs }
    }

    fn count(&self, text: &str) -> u32 {
        self.auxiliary_call.count(text)
    }

    /// Reports progress: the parts that are written, their number, and the tokens of the current part so far.
    fn report_progress(&self, (done, of): (u32, u32), tokens: u32) {
        let number = |turn: Option<&(SourceTurn, Vec<NodeHead>)>| turn.map_or(0, |(turn, _)| turn.number);
        let turns = (number(self.turns.first()), number(self.turns.last()));
        let _ = self.events.send(Event::Summary(SummaryEvent::Progress {
            branch: self.auxiliary_call.branch,
            turns,
            by: self.by,
            done,
            of,
            tokens,
        }));
    }

    fn make(&self, runs: &mut Vec<RunCard>) -> Result<PendingDraft, Failure> {
        if let Some((draft, own)) = &self.restored {
            return self.restore(draft, *own);
        }
        self.report_progress((0, 1), 0);
        let (sources, masked) = self.read()?;
        let original = sources.iter().fold(0_u32, |sum, turn| sum.saturating_add(turn.tokens));
        let wanted = Arc::new(RequiredFacts::of(&sources));
        let covers: Vec<TurnCover> = sources.iter().map(cover).collect();
        let kept = self.kept_items(&covers);
        let (by_model, warnings) = match self.by {
            SummaryAuthor::Extractive => (None, Vec::new()),
            SummaryAuthor::Model => {
                let (text, warnings) = self.summarize_by_model(&sources, runs)?;
                (Some(text), warnings)
            }
        };
        let source = if by_model.is_some() { SummarySource::Llm } else { SummarySource::Extractive };
        let number = |turn: Option<&SourceTurn>| turn.map_or(0, |turn| turn.number);
        let blank = Summary {
            id: Hash::default(),
            kind: self.kind,
            lane: self.lane.clone(),
            text: None,
            source,
            model: (source == SummarySource::Llm).then(|| self.auxiliary_call.rules.model.name.clone()),
            prompt_version: if source == SummarySource::Llm { prompts::SUMMARIZE_VERSION } else { extract::VERSION },
            confidence: 0,
            generated_at: sources.iter().map(|turn| turn.at).max().unwrap_or(0),
            covers,
            turns: (number(sources.first()), number(sources.last())),
            files: Vec::new(),
            source_hash: Hash::default(),
            parent: self.parent.as_ref().map(|summary| summary.id),
            original_tokens: original,
            tokens: 0,
            kept: Vec::new(),
        };
        let draft = SummaryDraft {
            number: self.number,
            branch: self.auxiliary_call.branch,
            summary: blank,
            body: String::new(),
            dropped: Arc::from([]),
            checked: u32::try_from(wanted.len()).unwrap_or(u32::MAX),
            sources: sources.into(),
            stays: self.stays.clone(),
            masked,
            run: runs.last().map(|run| run.id),
            cause: self.cause.clone(),
            warnings,
        };
        let drafted = PendingDraft { draft, wanted, most: self.most, stored: false };
        match by_model {
            Some(body) => Ok(drafted.composed(body, kept, source, &|text| self.count(text))?),
            None => self.extracted(&drafted, &kept),
        }
    }

    /// Restores a stored draft with its sources, which must not have changed since they were read for it.
    fn restore(&self, stored: &StoredDraft, own: bool) -> Result<PendingDraft, Failure> {
        let (sources, masked) = self.read()?;
        if !sources.iter().map(cover).eq(stored.summary.covers.iter().cloned()) {
            return Err(Failure::new(FailureKind::Stale, "The sources of a draft have changed."));
        }
        let wanted = Arc::new(RequiredFacts::of(&sources));
        let draft = SummaryDraft {
            number: self.number,
            branch: stored.branch,
            summary: stored.summary.clone(),
            body: String::new(),
            dropped: Arc::from([]),
            checked: u32::try_from(wanted.len()).unwrap_or(u32::MAX),
            sources: sources.into(),
            stays: stored.stays.clone(),
            masked,
            run: stored.run,
            cause: stored.cause.clone(),
            warnings: stored.warnings.clone(),
        };
        let (kept, source) = (stored.summary.kept.clone(), stored.summary.source);
        let drafted = PendingDraft { draft, wanted, most: self.most, stored: own };
        Ok(drafted.composed(stored.body.clone(), kept, source, &|text| self.count(text))?)
    }

    /// Returns the items that a person kept in an earlier version, if their messages are still among the sources.
    fn kept_items(&self, covers: &[TurnCover]) -> Vec<KeptSentence> {
        let old = self.parent.iter().flat_map(|summary| summary.kept.clone()).filter(|kept| !kept.auto);
        old.filter(|kept| covers.iter().any(|c| c.nodes.iter().any(|(key, _)| *key == kept.node))).collect()
    }

    /// Returns the draft with sentences of its sources: of the usual size, or shorter so that it is no larger than `most`.
    fn extracted(&self, drafted: &PendingDraft, kept: &[KeptSentence]) -> Result<PendingDraft, Failure> {
        let count = |text: &str| self.count(text);
        let usual = Size::default().target(drafted.draft.summary.original_tokens);
        let mut target = usual.saturating_sub(count(&keep::joined("", kept)));
        // The usual size of a summary of a few short turns has no room for a sentence.
        let original = drafted.draft.summary.original_tokens;
        let mut larger = Some((original / 2).saturating_sub(AROUND_TEXT)).filter(|larger| *larger > target);
        loop {
            let body = extract::extract(&drafted.draft.sources, target, &count);
            if body.is_empty() && kept.is_empty() {
                target = larger.take().ok_or_else(|| self.too_short(&drafted.draft, target))?;
                continue;
            }
            let made = drafted.composed(body, kept.to_vec(), SummarySource::Extractive, &count)?;
            let over = made.draft.summary.tokens.saturating_sub(self.most);
            if over == 0 {
                return Ok(made);
            }
            larger = None;
            target = target.checked_sub(over).ok_or_else(|| self.too_short(&drafted.draft, target))?;
        }
    }

    /// The failure if no sentence of the sources fits into `target` tokens: why, and what helps.
    fn too_short(&self, draft: &SummaryDraft, target: u32) -> Failure {
        let turns = turns_in_words(draft.summary.turns);
        let stays = KeepReason::sentence(&self.stays).map(|stays| format!(" {stays}")).unwrap_or_default();
        let original = counted(draft.summary.original_tokens.into(), "token");
        let what = if extract::extract(&draft.sources, u32::MAX, &|text| self.count(text)).is_empty() {
            format!("The text of {turns} has no full sentence that a summary without a model could choose.{stays}")
        } else {
            format!(
                "A summary of {turns} ({original}) without a model takes at most {target} tokens, and no sentence \
                     fits.{stays}"
            )
        };
        let by_model = if self.auxiliary_call.rules.profile.backend == Backend::Offline {
            "choose a model with `pleach model NAME`, which can write the summary"
        } else {
            "let the model write the summary"
        };
        Failure::user(what).kept("Nothing was changed.").todo(format!(
            "Summarize up to a later turn, or {by_model}: `pleach compress {} model`.",
            draft.summary.turns.1
        ))
    }

    /// Reads the messages of the sources. Secrets are masked before anything else sees the text.
    fn read(&self) -> Result<(Vec<SourceTurn>, u32), Failure> {
        let mut masked = 0;
        let mut sources = Vec::new();
        for (turn, heads) in &self.turns {
            let ids: Vec<NodeId> =
                heads.iter().filter(|head| send_barrier(head, false).is_none()).map(|head| head.id).collect();
            let mut turn = turn.clone();
            for Node { head, content } in self.auxiliary_call.store.nodes(&ids)? {
                turn.tokens = turn.tokens.saturating_add(cost(&head, &content, &|text| self.count(text)));
                let text = source_text(&head, &content);
                let (text, found) = secrets::mask(&text);
                masked += u32::try_from(found).unwrap_or(u32::MAX);
                let content = head.content.unwrap_or_default();
                turn.messages.push(SourceMessage { node: head.key, content, role: head.role, text: text.into_owned() });
            }
            if self.auxiliary_call.cancel.is_canceled() {
                return Err(Failure::user("Stopped.").kept("Nothing was changed."));
            }
            sources.extend((!turn.messages.is_empty()).then_some(turn));
        }
        Ok((sources, masked))
    }

    /// Asks the model to summarize the sources chunk by chunk, and merges the answers. Each chunk is a separate call,
    /// recorded before it is made.
    fn summarize_by_model(
        &self,
        sources: &[SourceTurn],
        runs: &mut Vec<RunCard>,
    ) -> Result<(String, Vec<String>), Failure> {
        let count = |text: &str| self.count(text);
        let fixed = self.count(prompts::SUMMARIZE).saturating_add(AROUND);
        let room = room(&self.auxiliary_call.rules.budget, fixed)?;
        let mut answers = Vec::new();
        let mut warnings = Vec::new();
        let chunks = parts::chunks(sources, room, &count);
        let of = u32::try_from(chunks.len()).unwrap_or(u32::MAX);
        for (done, run) in (0..).zip(chunks) {
            self.report_progress((done, of), 0);
            let chunk = &sources[run];
            let whole = parts::to_prompt_text(chunk, usize::MAX);
            let most = room as usize * 2 / chunk.iter().map(|turn| turn.messages.len()).sum::<usize>().max(1);
            let text = if self.count(&whole) > room { parts::to_prompt_text(chunk, most) } else { whole };
            let (text, end) = self.ask((done, of), chunk, &text, runs)?;
            if end == CallEnd::Truncated {
                warnings.push("The model's summary was cut off at its output limit.".to_owned());
            }
            answers.push(text);
        }
        let text = parts::merge_answers(&answers);
        let (text, found) = secrets::mask(&text);
        if found > 0 {
            warnings.push(format!("{found} secrets were masked in the model's text."));
        }
        Ok((text.into_owned(), warnings))
    }

    /// Makes one call for one chunk of the sources.
    fn ask(
        &self,
        part: (u32, u32),
        chunk: &[SourceTurn],
        text: &str,
        runs: &mut Vec<RunCard>,
    ) -> Result<(String, CallEnd), Failure> {
        let number = |turn: Option<&SourceTurn>| turn.map_or(0, |turn| turn.number);
        let title = format!("{}, to summarize", turns_in_words((number(chunk.first()), number(chunk.last()))));
        let prompt = Prompt {
            what: "summary",
            policy: "summarise",
            instructions: prompts::SUMMARIZE,
            version: prompts::SUMMARIZE_VERSION,
            title,
            text,
            otherwise: "Extract the summary from the turns' own sentences instead.",
            keeps_state: false,
        };
        let mut reported = 0;
        let mut on_text = |text: &str| {
            if text.len() > reported + REPORT_BYTES {
                reported = text.len();
                self.report_progress(part, self.count(text));
            }
        };
        self.auxiliary_call.ask(&prompt, &mut on_text, runs)
    }
}

/// Returns the tokens of sources that one request may contain. Fails if that is too little.
fn room(budget: &Budget, fixed: u32) -> Result<u32, Failure> {
    let room = budget.prompt.saturating_sub(fixed) / 10 * 9;
    if room < MIN_ROOM {
        return Err(Failure::new(FailureKind::Blocked, "The model's budget leaves no room for sources.")
            .todo(format!("Extract the summary from the turns' own sentences, or {}.", budget.advice())));
    }
    Ok(room)
}

/// Returns the tokens of a message as it would be sent in full.
pub(crate) fn cost(head: &NodeHead, content: &Content, count: &dyn Fn(&str) -> u32) -> u32 {
    let words = count(&render_forms::message_text(head.key, head.role, content, Form::NoState));
    let calls = content.calls().map(|(_, name, args)| count(name) + count(args) + CALL_FRAMING);
    calls.fold(words.saturating_add(MESSAGE_FRAMING), u32::saturating_add)
}

fn cover(turn: &SourceTurn) -> TurnCover {
    let nodes = turn.messages.iter().map(|message| (message.node, message.content)).collect();
    TurnCover { user: turn.user, tip: turn.tip, nodes }
}

/// Returns the text of a message that a summary reads: without its state block; for a tool result, only the first lines
/// about errors.
pub(crate) fn source_text(head: &NodeHead, content: &Content) -> String {
    let words = render_forms::message_text(head.key, head.role, content, Form::NoState);
    if head.role != Role::Tool {
        return words;
    }
    let tells = |line: &&str| {
        let line = line.to_lowercase();
        ["error", "failed", "panicked", "exception", "fatal", "denied", "not found", "timed out"]
            .iter()
            .any(|cue| line.contains(cue))
    };
    words.lines().filter(tells).take(MAX_ERROR_LINES).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_with_too_little_room_for_sources_is_refused() {
        for (budget, fixed, wanted) in
            [(4_000, 400, Some(3_240)), (690, 400, Some(261)), (689, 400, None), (400, 400, None), (0, 400, None)]
        {
            let found = room(&Budget { prompt: budget, ..Budget::compute(8_000, None, None, None) }, fixed);
            assert!(found.as_ref().err().is_none_or(|failure| failure.kind == FailureKind::Blocked));
            assert_eq!(found.ok(), wanted, "{budget} less {fixed}");
        }
    }
}
