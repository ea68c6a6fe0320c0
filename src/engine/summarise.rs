//! A draft's own thread: reads the sources, masks secrets in them, has a summary written (by their own sentences or by the
//! model), and finds out what it dropped.
//! Not for: which turns, and what a person does with a draft (`condense`).

use super::api::{Event, Ticket};
use super::drafted::Drafted;
use super::gather::{Bag, bar};
use super::planner::Stored;
use super::queries::provider_failure;
use super::setup::Rules;
use crate::config::prompts;
use crate::context::condense::survive::Wanted;
use crate::context::condense::{Size, extract, keep, parts};
use crate::context::project::{self, Standing};
use crate::domain::capsule::{Capsule, CapsuleKind, CapsuleSource, Cover, Kept};
use crate::domain::condense::{By, CapsuleDraft, SourceMessage, SourceTurn, Stays};
use crate::domain::facts::TurnFacts;
use crate::domain::failure::{Failure, FailureKind};
use crate::domain::hash::{Fields, Hash};
use crate::domain::ids::{BranchId, NodeId, RunId, SessionId};
use crate::domain::input::{Block, CALL_FRAMING, MESSAGE_FRAMING, MessageInput, PlanInput, RequestShape, TurnInput};
use crate::domain::mark::Atom;
use crate::domain::message::{Content, Node, NodeHead, Role};
use crate::domain::plan::{Basis, ContextPlan, Form, Reason, RowKind, Source};
use crate::domain::policy::{Layout, PolicySpec, Section};
use crate::domain::provider::{CallEnd, Delta, Outcome, Provider, ProviderErrorKind, Wire};
use crate::domain::run::{RunCard, RunStatus};
use crate::domain::state;
use crate::domain::tokens::{Certainty, CountTokens};
use crate::domain::usage::UsageReport;
use crate::export::secrets;
use crate::store::Store;
use crate::store::types::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use uuid::Uuid;

/// Lines of a tool's result that tell of an error, at most, that a summary may quote.
const ERROR_LINES: usize = 3;
/// Requests in other words that a server may ask for before its refusal counts.
const QUIRKS: usize = 4;
/// Bytes of a model's text after which it is told again how much there is.
const TOLD: usize = 400;
/// Tokens of framing and labels around the sources in a model's request.
const AROUND: u32 = 200;

/// What is to be drafted.
pub(super) struct Job {
    pub(super) number: u64,
    pub(super) ticket: Option<Ticket>,
    pub(super) branch: BranchId,
    pub(super) session: SessionId,
    pub(super) kind: CapsuleKind,
    pub(super) lane: String,
    pub(super) parent: Option<Arc<Capsule>>,
    /// The turns, without their messages, and the nodes of each that may be read.
    pub(super) turns: Vec<(SourceTurn, Vec<NodeHead>)>,
    pub(super) stays: Vec<(u32, Stays)>,
    pub(super) by: By,
    /// Why it is made by itself, where it is.
    pub(super) cause: Option<String>,
    pub(super) rules: Rules,
    pub(super) provider: Option<Arc<dyn Provider>>,
    pub(super) store: Store,
    pub(super) counter: Arc<dyn CountTokens>,
    pub(super) cancel: Arc<AtomicBool>,
    /// Where it is told how far it is.
    pub(super) events: Sender<Event>,
    pub(super) now: i64,
}

/// What is asked of a model in one call.
pub(super) struct Asks<'a> {
    pub(super) prompt: &'a str,
    /// The prompt, with its version.
    pub(super) named: String,
    pub(super) title: String,
    /// Before the title, over the text.
    pub(super) label: &'a str,
    pub(super) text: &'a str,
}

/// What a job came to.
pub(super) struct Made {
    pub(super) number: u64,
    pub(super) ticket: Option<Ticket>,
    pub(super) branch: BranchId,
    pub(super) result: Result<Drafted, Failure>,
    /// The model's calls.
    pub(super) runs: Vec<RunCard>,
}

impl Job {
    /// Starts it; `report` must not block.
    pub(super) fn start(self, report: impl Fn(Made) + Send + 'static) {
        let work = move || {
            let mut runs = Vec::new();
            let (number, ticket, branch) = (self.number, self.ticket, self.branch);
            let making = std::panic::AssertUnwindSafe(|| self.make(&mut runs));
            let result = std::panic::catch_unwind(making).unwrap_or_else(|_| {
                Err(Failure::new(FailureKind::Internal, "Summing up failed inside the program.")
                    .kept("Nothing was changed.")
                    .todo("Please report it with the log."))
            });
            report(Made { number, ticket, branch, result, runs });
        };
        let _ = std::thread::Builder::new().name("pleach-condense".into()).spawn(work);
    }

    fn count(&self, text: &str) -> u32 {
        self.counter.count(self.rules.model.encoding, text)
    }

    /// Tells how far it is: which of how many parts, and tokens of the part's text so far.
    fn tell(&self, (done, of): (u32, u32), tokens: u32) {
        if self.turns.is_empty() {
            return;
        }
        let number = |turn: Option<&(SourceTurn, Vec<NodeHead>)>| turn.map_or(0, |(turn, _)| turn.number);
        let turns = (number(self.turns.first()), number(self.turns.last()));
        let _ = self.events.send(Event::Condensing { branch: self.branch, turns, by: self.by, done, of, tokens });
    }

    fn make(&self, runs: &mut Vec<RunCard>) -> Result<Drafted, Failure> {
        self.tell((0, 1), 0);
        let (sources, masked) = self.read()?;
        let original = sources.iter().fold(0_u32, |sum, turn| sum.saturating_add(turn.tokens));
        let wanted = Arc::new(Wanted::of(&sources));
        let covers: Vec<Cover> = sources.iter().map(cover).collect();
        let kept = self.carried(&covers);
        let (body, source, warnings) = match self.by {
            By::Extractive => (self.extracted(&sources, original, &kept), CapsuleSource::Extractive, Vec::new()),
            By::Model => {
                let (text, warnings) = self.asked(&sources, runs)?;
                (text, CapsuleSource::Llm, warnings)
            }
        };
        let number = |turn: Option<&SourceTurn>| turn.map_or(0, |turn| turn.number);
        let blank = Capsule {
            id: Hash::default(),
            kind: self.kind,
            lane: self.lane.clone(),
            text: None,
            source,
            model: (source == CapsuleSource::Llm).then(|| self.rules.model.name.clone()),
            prompt_version: if source == CapsuleSource::Llm { prompts::SUMMARISE_VERSION } else { extract::VERSION },
            confidence: 0,
            generated_at: sources.iter().map(|turn| turn.at).max().unwrap_or(0),
            covers,
            turns: (number(sources.first()), number(sources.last())),
            files: Vec::new(),
            source_hash: Hash::default(),
            parent: self.parent.as_ref().map(|capsule| capsule.id),
            original_tokens: original,
            tokens: 0,
            kept: Vec::new(),
        };
        let draft = CapsuleDraft {
            number: self.number,
            branch: self.branch,
            capsule: blank,
            body: String::new(),
            dropped: Arc::from([]),
            looked_for: u32::try_from(wanted.len()).unwrap_or(u32::MAX),
            sources: sources.into(),
            stays: self.stays.clone(),
            masked,
            run: runs.last().map(|run| run.id),
            cause: self.cause.clone(),
            warnings,
        };
        let drafted = Drafted { draft, wanted };
        Ok(drafted.composed(body, kept, source, &|text| self.count(text))?)
    }

    /// Words that a person had an older level keep and that are still among the sources.
    fn carried(&self, covers: &[Cover]) -> Vec<Kept> {
        let old = self.parent.iter().flat_map(|capsule| capsule.kept.clone()).filter(|kept| !kept.auto);
        old.filter(|kept| covers.iter().any(|c| c.nodes.iter().any(|(key, _)| *key == kept.node))).collect()
    }

    fn extracted(&self, sources: &[SourceTurn], original: u32, kept: &[Kept]) -> String {
        let taken = self.count(&keep::joined("", kept));
        let target = Size::default().target(original).saturating_sub(taken);
        extract::extract(sources, target, &|text| self.count(text))
    }

    /// The sources' messages, secrets masked before anything else sees them.
    fn read(&self) -> Result<(Vec<SourceTurn>, u32), Failure> {
        let mut masked = 0;
        let mut sources = Vec::new();
        for (turn, heads) in &self.turns {
            let ids: Vec<NodeId> = heads.iter().filter(|head| bar(head, false).is_none()).map(|head| head.id).collect();
            let mut turn = turn.clone();
            for Node { head, content } in self.store.nodes(&ids)? {
                turn.tokens = turn.tokens.saturating_add(cost(&head, &content, &|text| self.count(text)));
                let text = told(&head, &content);
                let (text, found) = secrets::mask(&text);
                masked += u32::try_from(found).unwrap_or(u32::MAX);
                let content = head.content.unwrap_or_default();
                turn.messages.push(SourceMessage { node: head.key, content, role: head.role, text: text.into_owned() });
            }
            if self.cancel.load(Ordering::Relaxed) {
                return Err(Failure::user("Stopped.").kept("Nothing was changed."));
            }
            sources.extend((!turn.messages.is_empty()).then_some(turn));
        }
        Ok((sources, masked))
    }

    /// A summary by the model: chunk by chunk from the sources, the parts joined. Each chunk is a call of its own, written
    /// down before it is made.
    fn asked(&self, sources: &[SourceTurn], runs: &mut Vec<RunCard>) -> Result<(String, Vec<String>), Failure> {
        let none = || Failure::user("There is no model to ask.").todo("Use the extractive summariser.");
        let provider = self.provider.clone().ok_or_else(none)?;
        let count = |text: &str| self.count(text);
        let fixed = self.count(prompts::SUMMARISE).saturating_add(AROUND);
        let room = self.rules.budget.prompt.saturating_sub(fixed) / 10 * 9;
        if room < 256 {
            return Err(Failure::new(FailureKind::Blocked, "The model's budget leaves no room for sources.")
                .todo("Raise the budget, or use the extractive summariser."));
        }
        let mut answers = Vec::new();
        let mut warnings = Vec::new();
        let chunks = parts::chunks(sources, room, &count);
        let of = u32::try_from(chunks.len()).unwrap_or(u32::MAX);
        for (done, run) in (0..).zip(chunks) {
            self.tell((done, of), 0);
            let chunk = &sources[run];
            let whole = parts::told(chunk, usize::MAX);
            let most = room as usize * 2 / chunk.iter().map(|turn| turn.messages.len()).sum::<usize>().max(1);
            let text = if self.count(&whole) > room { parts::told(chunk, most) } else { whole };
            let number = |turn: Option<&SourceTurn>| turn.map_or(0, |turn| turn.number);
            let asks = Asks {
                prompt: prompts::SUMMARISE,
                named: format!("summary prompt {}", prompts::SUMMARISE_VERSION),
                title: format!("turns {}–{} to be summed up", number(chunk.first()), number(chunk.last())),
                label: "Messages of the conversation",
                text: &text,
            };
            let (text, end) = self.ask(provider.as_ref(), (done, of), &asks, runs)?;
            if end == CallEnd::Truncated {
                warnings.push("The model's summary was cut at its output limit.".to_owned());
            }
            answers.push(text);
        }
        let (text, found) = {
            let text = parts::merged(&answers);
            let (text, found) = secrets::mask(&text);
            (text.into_owned(), found)
        };
        if found > 0 {
            warnings.push(format!("{found} secrets were masked in the model's text."));
        }
        Ok((text, warnings))
    }

    /// One call; asked again in other words while the server names what it wants changed.
    pub(super) fn ask(
        &self,
        provider: &dyn Provider,
        part: (u32, u32),
        asks: &Asks<'_>,
        runs: &mut Vec<RunCard>,
    ) -> Result<(String, CallEnd), Failure> {
        let mut shape = RequestShape {
            model: self.rules.model.name.clone(),
            dialect: self.rules.profile.dialect.clone(),
            max_output: self.rules.max_output(),
            temperature: self.rules.profile.temperature,
            tools: Vec::new(),
        };
        for _ in 0..QUIRKS {
            let (plan, wire, stored) = self.planned(&shape, asks)?;
            let whose = (self.session, self.branch);
            let mut card = RunCard::open(RunId(Uuid::now_v7()), whose, &plan, wire.digest, 1, self.now);
            self.store.write(vec![
                Write::PutPlan { id: plan.id, body: stored },
                Write::PutRun(Box::new(RunCard { status: RunStatus::Interrupted, ..card.clone() })),
            ])?;
            let (mut said, mut told) = (String::new(), 0);
            let outcome = provider.post(card.id, &wire, &mut |delta| {
                if let Delta::Text(text) = delta {
                    said.push_str(&text);
                    if said.len() > told + TOLD {
                        told = said.len();
                        self.tell(part, self.count(&said));
                    }
                }
                !self.cancel.load(Ordering::Relaxed)
            });
            self.close(&mut card, &plan, &outcome)?;
            runs.push(card);
            match (outcome.end, outcome.error) {
                (CallEnd::Cancelled, _) => return Err(Failure::user("Stopped.").kept("Nothing was changed.")),
                (_, Some(error)) => match error.kind {
                    ProviderErrorKind::Body(quirk) => quirk.apply(&mut shape.dialect),
                    _ => return Err(provider_failure(error).kept("Nothing was changed.")),
                },
                (end, None) => {
                    let said = state::strip(&said, true);
                    let empty = || Failure::new(FailureKind::Provider, "The model gave no summary.");
                    return if said.trim().is_empty() { Err(empty()) } else { Ok((said, end)) };
                }
            }
        }
        Err(Failure::new(FailureKind::Provider, "The server refuses the request in every known form."))
    }

    /// The plan and bytes of a call that asks for a summary: our prompt, and the sources as one delimited message.
    fn planned(&self, shape: &RequestShape, asks: &Asks<'_>) -> Result<(ContextPlan, Wire, String), Failure> {
        let mut bag = Bag::default();
        let prompt = project::block("Instructions", asks.prompt);
        let prompt_hash = Hash::of(prompt.as_bytes());
        let counted = (prompt_hash, self.count(&prompt));
        let system = Block::new(Section::System, RowKind::Text, counted, &asks.named, Reason::Instructions);
        let title = asks.title.clone();
        let content = Content::text(project::fenced(&format!("{}: {title}", asks.label), asks.text));
        let key = content.hash();
        let standing = Standing { joins: shape.dialect.strict_alternation, ..Standing::default() };
        let tokens = self.count(&project::wire_text(key, Role::User, &content, Form::Full, standing));
        bag.blocks.insert(prompt_hash, prompt.clone().into());
        bag.contents.insert(key, Arc::new(content));
        let input = self.input(shape, vec![system], open_turn(key, tokens, title), key);
        let plan = crate::context::plan(&input)
            .map_err(|blocked| Failure::new(FailureKind::Blocked, blocked.sentence()).kept("Nothing was changed."))?;
        let (wire, _) = crate::context::render::render(&plan, shape, &bag)
            .map_err(|gone| Failure::new(FailureKind::Internal, format!("{gone}.")))?;
        let stored = Stored {
            plan: plan.clone(),
            request: shape.clone(),
            texts: [(prompt_hash, Arc::from(prompt))].into(),
            made: std::collections::HashMap::new(),
            cards: std::collections::HashMap::new(),
            edited: None,
        };
        let stored = serde_json::to_string(&stored)
            .map_err(|error| Failure::new(FailureKind::Internal, format!("The plan cannot be written: {error}.")))?;
        Ok((plan, wire, stored))
    }

    fn input(&self, shape: &RequestShape, blocks: Vec<Block>, open: TurnInput, draft: Hash) -> PlanInput {
        let rules = &self.rules;
        let wire = Fields::new("summary").json(shape).number(u64::from(rules.budget.prompt)).finish();
        PlanInput {
            basis: Basis { head: Hash::default(), marks: Hash::default(), draft, wire, frozen: Hash::default() },
            policy: PolicySpec { name: "summarise".into(), anchored: false, ..PolicySpec::default() },
            window_turns: 0,
            mode: rules.mode,
            layout: Layout::Classic,
            profile: rules.profile.name.clone(),
            shape: shape.clone(),
            tools_tokens: 0,
            encoding: self.counter.settle(rules.model.encoding).0,
            certainty: Certainty::Estimated,
            budget: rules.budget,
            blocks,
            turns: Vec::new(),
            gaps: Vec::new(),
            open,
            labelled: 0,
            marks: Vec::new(),
            sleepers: Vec::new(),
            covered: Vec::new(),
            near: Vec::new(),
            reserve: 0,
            retrieval_set_ids: Vec::new(),
            anchor: None,
            warnings: Vec::new(),
        }
    }

    /// Writes a call's end with its account.
    fn close(&self, card: &mut RunCard, plan: &ContextPlan, outcome: &Outcome) -> Result<(), Failure> {
        card.status = outcome.end.into();
        card.ended(outcome, self.rules.model.price.and_then(|price| price.bill(&outcome.usage)));
        card.error = outcome.error.as_ref().map(|error| error.what.clone());
        let report = UsageReport::of(card, plan, outcome);
        self.store.write(vec![Write::PutRun(Box::new(card.clone())), Write::PutUsage(Box::new(report))])?;
        Ok(())
    }
}

fn open_turn(key: Hash, tokens: u32, title: String) -> TurnInput {
    let message = MessageInput::plain(key, Role::User, title.clone(), tokens);
    let atom = Atom::Turn { user: key, tip: key };
    TurnInput {
        atom,
        number: 1,
        title,
        source: Source::default(),
        messages: vec![message],
        card: None,
        facts: TurnFacts::default(),
    }
}

/// Tokens of a message as it would be sent whole.
pub(super) fn cost(head: &NodeHead, content: &Content, count: &dyn Fn(&str) -> u32) -> u32 {
    let words = count(&project::words(head.key, head.role, content, Form::NoState));
    let calls = content.calls().map(|(_, name, args)| count(name) + count(args) + CALL_FRAMING);
    calls.fold(words.saturating_add(MESSAGE_FRAMING), u32::saturating_add)
}

fn cover(turn: &SourceTurn) -> Cover {
    let nodes = turn.messages.iter().map(|message| (message.node, message.content)).collect();
    Cover { user: turn.user, tip: turn.tip, nodes }
}

/// What of a message is read: its words without a state block; of a tool's result the first lines that tell of an error.
pub(super) fn told(head: &NodeHead, content: &Content) -> String {
    let words = project::words(head.key, head.role, content, Form::NoState);
    if head.role != Role::Tool {
        return words;
    }
    let tells = |line: &&str| {
        let line = line.to_lowercase();
        ["error", "failed", "panicked", "exception", "fatal", "denied", "not found", "timed out"]
            .iter()
            .any(|cue| line.contains(cue))
    };
    words.lines().filter(tells).take(ERROR_LINES).collect::<Vec<_>>().join("\n")
}
