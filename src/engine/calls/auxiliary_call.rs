//! Auxiliary calls: calls that the program makes for its own purposes, with a fixed prompt and one delimited text. They
//! are planned, recorded before they are sent, and accounted for like any other call.
//! Not for: the text and the use of the answer (`summaries::writer`, `sessions::titles`).

use super::stored_runs::unwritable;
use crate::context::render::render_forms::{self, WireState};
use crate::domain::base::{BranchId, Failure, FailureKind, Fields, Hash, RunId, SessionId};
use crate::domain::call::{
    CallEnd, Certainty, CountTokens, Delta, Outcome, Provider, ProviderError, ProviderErrorKind, RunCard, RunStatus,
    UsageReport, Wire,
};
use crate::domain::conversation::{Atom, Branch, Content, Role, state};
use crate::domain::planning::Reason;
use crate::domain::planning::{
    Basis, Block, ContextPlan, Form, Layout, MessageInput, PlanInput, PolicySpec, RequestShape, RowKind, Section,
    Source, TurnFacts, TurnInput,
};
use crate::engine::jobs::CancelToken;
use crate::engine::plans::input_builder::Contents;
use crate::engine::plans::queries::provider_failure;
use crate::engine::plans::worker::Stored;
use crate::engine::startup::rules::Rules;
use crate::engine::startup::setup::Setup;
use crate::store::Store;
use crate::store::types::Write;
use std::collections::HashMap;
use std::sync::Arc;
use uuid::Uuid;

/// The maximum number of forms of a request that are tried after refusals.
const QUIRKS: usize = 4;

/// The settings of auxiliary calls for a branch.
pub(crate) struct AuxiliaryCall {
    pub(crate) session: SessionId,
    pub(crate) branch: BranchId,
    pub(crate) rules: Rules,
    /// `None` if no model may be asked.
    pub(crate) provider: Option<Arc<dyn Provider>>,
    pub(crate) store: Store,
    pub(crate) counter: Arc<dyn CountTokens>,
    /// The token of the job that makes the calls.
    pub(crate) cancel: CancelToken,
    /// Milliseconds since 1970.
    pub(crate) now: i64,
}

/// The prompt of an auxiliary call.
pub(crate) struct Prompt<'a> {
    /// The name of the expected answer, for sentences: "summary".
    pub(crate) what: &'static str,
    /// The name of the policy in the plan.
    pub(crate) policy: &'static str,
    /// The instructions to the model.
    pub(crate) instructions: &'static str,
    /// The version of the instructions.
    pub(crate) version: u32,
    /// A one-line description of the text.
    pub(crate) title: String,
    /// The text to work on.
    pub(crate) text: &'a str,
    /// The action that a person can take instead if no model can be asked.
    pub(crate) otherwise: &'static str,
    /// Whether a state block was asked for; otherwise it is removed from the answer.
    pub(crate) keeps_state: bool,
}

impl AuxiliaryCall {
    /// Counts the tokens of a text with the model's encoding.
    pub(crate) fn count(&self, text: &str) -> u32 {
        self.counter.count(self.rules.model.encoding, text)
    }

    /// Makes one call. If the server refuses the form of the request, it is sent again in another form. `hear` receives
    /// the text so far; every call that was made is added to `runs`, regardless of its outcome.
    ///
    /// # Errors
    /// Fails if there is no model, the text exceeds the budget, the work was canceled, or the server refused or
    /// returned no text.
    pub(crate) fn ask(
        &self,
        prompt: &Prompt<'_>,
        hear: &mut dyn FnMut(&str),
        runs: &mut Vec<RunCard>,
    ) -> Result<(String, CallEnd), Failure> {
        let none = || Failure::user("No model is configured.").todo(prompt.otherwise);
        let provider = self.provider.as_ref().ok_or_else(none)?;
        let mut shape = self.rules.shape(Vec::new());
        let mut refused: Option<(Hash, ProviderError)> = None;
        for _ in 0..QUIRKS {
            let (plan, wire, stored) = self.planned(&shape, prompt)?;
            if let Some((_, error)) = refused.take().filter(|(digest, _)| *digest == wire.digest) {
                return Err(provider_failure(error).kept("Nothing was changed."));
            }
            let whose = (self.session, self.branch);
            let mut card = RunCard::open(RunId(Uuid::now_v7()), whose, &plan, wire.digest, 1, self.now);
            self.store.write(vec![
                Write::PutPlan { id: plan.id, branch: self.branch, body: stored },
                Write::PutRun(Box::new(RunCard { status: RunStatus::Interrupted, ..card.clone() })),
            ])?;
            let mut answer = String::new();
            let mut outcome = provider.post(card.id, &wire, &mut |delta| {
                match delta {
                    Delta::Text(text) => {
                        answer.push_str(&text);
                        hear(&answer);
                    }
                    Delta::Diagnostic(diagnostic) => card.diagnose(diagnostic),
                    Delta::Tick
                    | Delta::Accepted
                    | Delta::Reasoning(_)
                    | Delta::Call { .. }
                    | Delta::Usage(_)
                    | Delta::Retry { .. } => {}
                }
                !self.cancel.is_canceled()
            });
            outcome.usage = outcome.usage.bounded(plan.est_total);
            self.close(&mut card, &plan, &outcome)?;
            runs.push(card);
            match (outcome.end, outcome.error) {
                (CallEnd::Cancelled, _) => return Err(Failure::user("Stopped.").kept("Nothing was changed.")),
                (_, Some(error)) => match error.kind {
                    ProviderErrorKind::Body(quirk) => {
                        quirk.apply(&mut shape.dialect);
                        refused = Some((wire.digest, error));
                    }
                    _ => return Err(provider_failure(error).kept("Nothing was changed.")),
                },
                (end, None) => {
                    let answer = if prompt.keeps_state { answer } else { state::strip(&answer, true) };
                    let empty = || {
                        Failure::new(FailureKind::Provider, format!("The model returned no {}.", prompt.what))
                            .todo("Try again, or use another model.")
                    };
                    return if answer.trim().is_empty() { Err(empty()) } else { Ok((answer, end)) };
                }
            }
        }
        Err(Failure::new(FailureKind::Provider, "The server rejects the request in every format that pleach knows."))
    }

    /// Returns the plan and the bytes of a call: the instructions, and the text as one delimited message.
    fn planned(&self, shape: &RequestShape, prompt: &Prompt<'_>) -> Result<(ContextPlan, Wire, String), Failure> {
        let mut contents = Contents::default();
        let instructions = render_forms::block("Instructions", prompt.instructions);
        let instructions_hash = Hash::of(instructions.as_bytes());
        let named = format!("{} prompt {}", prompt.what, prompt.version);
        let counted = (instructions_hash, self.count(&instructions));
        let system = Block::new(Section::System, RowKind::Text, counted, &named, Reason::Instructions);
        let title = format!("Messages of the conversation: {}", prompt.title);
        let content = Content::text(render_forms::fenced(&title, prompt.text));
        let key = content.hash();
        let wire_state = WireState { joins: shape.dialect.strict_alternation, ..WireState::default() };
        let tokens = self.count(&render_forms::wire_text(key, Role::User, &content, Form::Full, wire_state));
        contents.blocks.insert(instructions_hash, instructions.clone().into());
        contents.messages.insert(key, Arc::new(content));
        let open = open_turn(key, tokens, prompt.title.clone());
        let input = self.input(shape, prompt, vec![system], open, key);
        let plan = crate::context::plan(&input).map_err(|blocked| {
            Failure::new(FailureKind::Blocked, blocked.send_failure()).kept("Nothing was changed.")
        })?;
        let (wire, _) = crate::context::render::render(&plan, shape, &contents)
            .map_err(|gone| Failure::new(FailureKind::Internal, format!("{gone}.")))?;
        let stored = Stored {
            plan: plan.clone(),
            request: shape.clone(),
            texts: [(instructions_hash, Arc::from(instructions))].into(),
            made: HashMap::new(),
            cards: HashMap::new(),
            edited: None,
        };
        Ok((plan, wire, serde_json::to_string(&stored).map_err(|error| unwritable(&error))?))
    }

    fn input(
        &self,
        shape: &RequestShape,
        prompt: &Prompt<'_>,
        blocks: Vec<Block>,
        open: TurnInput,
        draft: Hash,
    ) -> PlanInput {
        let rules = &self.rules;
        let wire = Fields::new(prompt.what).json(shape).number(u64::from(rules.budget.prompt)).finish();
        PlanInput {
            basis: Basis { head: Hash::default(), marks: Hash::default(), draft, wire, frozen: Hash::default() },
            policy: PolicySpec { name: prompt.policy.into(), anchored: false, ..PolicySpec::default() },
            window_turns: 0,
            mode: rules.mode,
            layout: Layout::Classic,
            profile: rules.profile.name.clone(),
            shape: shape.clone(),
            tools_tokens: 0,
            tool_costs: Vec::new(),
            encoding: self.counter.settle(rules.model.encoding).0,
            certainty: Certainty::Estimated,
            budget: rules.budget,
            blocks,
            state_request: None,
            always_asks: false,
            turns: Vec::new(),
            gaps: Vec::new(),
            open,
            labeled: 0,
            marks: Vec::new(),
            inactive_marks: Vec::new(),
            summaries: Vec::new(),
            covered: Vec::new(),
            near: Vec::new(),
            offers: Vec::new(),
            allowance: 0,
            retrieval_set_ids: Vec::new(),
            anchor: None,
            round_before: None,
            warnings: Vec::new(),
        }
    }

    /// Writes the end of a call with its usage report.
    fn close(&self, card: &mut RunCard, plan: &ContextPlan, outcome: &Outcome) -> Result<(), Failure> {
        card.status = outcome.end.into();
        card.ended(outcome, self.rules.model.price.and_then(|price| price.bill(&outcome.usage)));
        card.error = outcome.error.as_ref().map(|error| error.what.clone());
        let report = UsageReport::of(card, plan, outcome);
        self.store.write(vec![Write::PutRun(Box::new(card.clone())), Write::PutUsage(Box::new(report))])?;
        Ok(())
    }
}

/// Returns the settings of auxiliary calls for a branch.
pub(crate) fn auxiliary_call(
    setup: &Setup,
    store: &Store,
    branch: &Branch,
    rules: Rules,
    provider: Option<Arc<dyn Provider>>,
) -> AuxiliaryCall {
    AuxiliaryCall {
        session: branch.session,
        branch: branch.id,
        rules,
        provider,
        store: store.clone(),
        counter: setup.counter.clone(),
        cancel: CancelToken::default(),
        now: setup.now(),
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
