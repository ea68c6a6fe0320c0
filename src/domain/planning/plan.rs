//! The plan of a call: every item in exactly one row, with its tokens, its section, and its reason.
//! Not for: making plans (`context`), their input (`input`), reasons (`reason`), or a call that cannot be planned
//! (`blocked`).

use super::mode::Mode;
use super::policy::{Layout, Section};
use crate::domain::base::hash::{Fields, Hash};
use crate::domain::base::ids::{BranchId, NodeId, SessionId};
use crate::domain::base::named_enum::named_enum;
use crate::domain::call::tokens::{Certainty, Encoding};
use crate::domain::code::symbols::{CodeRef, is_zero};
use crate::domain::conversation::mark::{Atom, MarkKind};
use crate::domain::conversation::message::Role;
use crate::domain::tool::cards::ToolCost;
use serde::{Deserialize, Serialize};

use super::blocked::Warning;
use super::reason::{DecidedBy, Reason, count};
use super::remedy::Remedy;

/// Digests of everything that a plan was solved from. Equal bases give equal plans.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Basis {
    /// Key of the last node of the answered path (zero for an empty branch).
    pub head: Hash,
    /// Digest of the marks.
    pub marks: Hash,
    pub draft: Hash,
    /// Digest of model, parameters, tool schemas, dialect, layout, policy, and budget.
    pub wire: Hash,
    /// Digest of section texts, cards, and the window's anchor.
    pub frozen: Hash,
}

/// The start of the window of an anchored policy, and how far its tool results are shortened.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Anchor {
    /// Key of the first node of the first turn in the window.
    pub start: Hash,
    /// Tool results up to the node with this key are shortened as `form` says.
    pub shortened_to: Option<Hash>,
    /// The form of shortened results.
    pub form: Form,
    /// The tokens of the prompt that the anchor is valid for.
    pub budget: u32,
    /// The policy that the anchor is valid for.
    pub policy: String,
    /// Summaries that were sent with the call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub summaries: Vec<Hash>,
}

/// The form in which a message is sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    Full,
    /// Without its state block.
    NoState,
    /// A tool result cut to this many characters, head and tail.
    Cut(u32),
    /// A calling message whose calls are named in one line; its results are [`Form::Gone`].
    Elided,
    /// A result that is not sent, because the calling message names its call.
    Gone,
    /// One line in place of a message that a person excluded.
    Placeholder,
    /// A dated, delimited card outside the flow of turns.
    Card,
    /// Left out with its whole turn.
    Out,
}

/// Whether a row is included, left out, or only suggested.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// Included.
    In { section: Section },
    /// Left out.
    Out {
        /// Tokens it would need beyond the free ones.
        needed: u32,
        /// The action that would include the item; `None` if nothing can.
        remedy: Option<Remedy>,
    },
    /// Not part of the call: the program, the model, or a person's remark suggests pinning it.
    Suggested,
}

named_enum! {
    /// The kind of a row.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
    pub enum RowKind {
        /// A text by the program or the person: instructions, personality, guidelines.
        Text = "text",
        /// The state block.
        State = "state",
        /// A person's pinned note.
        Note = "note",
        /// Messages before the first user message.
        Preamble = "preamble",
        Turn = "turn",
        /// A turn sent as a card.
        Card = "card",
        /// A summary of turns.
        Summary = "summary",
        /// A quoted message.
        Quote = "quote",
        /// Many turns in one row.
        Range = "range",
        Message = "message",
        /// A part of a message that is not text.
        Part = "part",
        /// A search of older messages: the query, and whether the search was made.
        Search = "search",
        /// A memory that a person confirmed.
        Memory = "memory",
        /// A message of a request that a person edited.
        Request = "request",
        /// A rules file of the project, or the person's own.
        Rules = "rules",
        /// The list of skills that can be loaded.
        Skills = "skills",
        /// A module summary.
        Module = "module",
        /// Code of the workspace: its map, or a symbol.
        Code = "code",
    }
}

/// The source of a row's text.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Source {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub branch: Option<BranchId>,
    /// The turn's number on the path, from 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub turn: Option<u32>,
    /// The first message.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub message: Option<NodeId>,
    /// The id at its origin.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub external_id: Option<String>,
    /// Milliseconds since 1970, for display.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub at: Option<i64>,
    /// The file, as displayed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<String>,
    /// Byte range of the message's text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub span: Option<(u32, u32)>,
    /// For code: the symbol, and its file as it was when the symbol was read.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub code: Option<Box<CodeRef>>,
}

/// A score in thousandths with its parts; empty for items that are not scored. Not part of a plan's id.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Scores {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<i32>,
    /// The parts by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<(String, i32)>,
}

impl Scores {
    /// Returns whether there is no score.
    pub fn is_empty(&self) -> bool {
        self.score.is_none() && self.parts.is_empty()
    }
}

/// One message inside a row.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Item {
    /// The node's key.
    pub key: Hash,
    /// The node; `None` for the draft.
    pub node: Option<NodeId>,
    /// Who wrote it.
    pub role: Role,
    pub form: Form,
    /// Tokens of its content in that form.
    pub tokens: u32,
    /// The first words, unsanitized.
    pub title: String,
    /// Number of its tool calls.
    #[serde(default)]
    pub calls: u16,
    /// Whether it is a tool result without its call; such a result is sent as labeled text.
    #[serde(default)]
    pub orphan: bool,
}

/// One row of a plan.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Row {
    /// The item.
    pub atom: Atom,
    pub kind: RowKind,
    /// Whether it is included.
    pub verdict: Verdict,
    pub reason: Reason,
    /// Tokens in the request, with label and separator. For a row that is left out: the tokens that it would take.
    pub tokens: u32,
    /// One-line title, unsanitized.
    pub title: String,
    pub source: Source,
    /// The mark on the item.
    pub pin: Option<MarkKind>,
    /// The messages, in order.
    pub items: Vec<Item>,
    /// For a range: the number of turns.
    pub turns: u32,
    /// For texts and cards: the hash of the sent text.
    #[serde(default)]
    pub text: Option<Hash>,
    #[serde(default, skip_serializing_if = "Scores::is_empty")]
    pub scores: Scores,
}

impl Row {
    /// Creates a row without tokens, title, source, mark, messages, text, or scores.
    pub fn new(atom: Atom, kind: RowKind, verdict: Verdict, reason: Reason) -> Self {
        Self {
            atom,
            kind,
            verdict,
            reason,
            tokens: 0,
            title: String::new(),
            source: Source::default(),
            pin: None,
            items: Vec::new(),
            turns: 0,
            text: None,
            scores: Scores::default(),
        }
    }

    /// Returns whether the item is included.
    pub fn included(&self) -> bool {
        matches!(self.verdict, Verdict::In { .. })
    }

    /// Returns the section, if included.
    pub fn section(&self) -> Option<Section> {
        match self.verdict {
            Verdict::In { section } => Some(section),
            Verdict::Out { .. } | Verdict::Suggested => None,
        }
    }
}

/// The budget of a request, in tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Budget {
    /// The model's context window.
    pub context_window: u32,
    /// Tokens reserved for the answer.
    pub reserved_output: u32,
    /// Safety margin for tokens that no count can see.
    pub safety: u32,
    /// Tokens that the prompt may take: min(cap, input limit, window − reserved) − safety.
    pub prompt: u32,
    /// The cap set by a person or the policy, if any.
    pub cap: Option<u32>,
    /// The server's limit on input, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_limit: Option<u32>,
    /// Tokens of `prompt` that the turn's own answers and tool results add to the policy's cap.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub results: u32,
}

impl Budget {
    /// Computes the budget. `reserved_output` is the requested limit, otherwise min(4,096, a quarter of the window).
    /// `safety` is max(256, 3% of the window), but at most an eighth of the room.
    pub fn compute(window: u32, input_limit: Option<u32>, asked_output: Option<u32>, cap: Option<u32>) -> Self {
        let reserved = asked_output.unwrap_or_else(|| (window / 4).min(4_096)).min(window);
        let room = room(window, reserved, input_limit);
        let capped = cap.unwrap_or(u32::MAX).min(room);
        let safety = (window / 100 * 3).max(256).min(capped / 8);
        let prompt = capped - safety;
        Self { context_window: window, reserved_output: reserved, safety, prompt, cap, input_limit, results: 0 }
    }

    /// Returns the budget with `tokens` added to its cap, up to the model's room without the safety margin. Without a
    /// cap, the budget stays as it is.
    #[must_use]
    pub fn with_results(self, tokens: u32) -> Self {
        let Some(cap) = self.cap.map(|cap| cap.min(self.most())) else { return self };
        let margin = (self.context_window / 100 * 3).max(256).min(self.most() / 8);
        let results = tokens.min((self.most() - margin).saturating_sub(self.prompt));
        let (cap, prompt) = (cap.saturating_add(tokens).min(self.most()), self.prompt + results);
        Self { cap: Some(cap), prompt, safety: cap.saturating_sub(prompt), results, ..self }
    }

    /// Returns the budget as it is shown everywhere: as a person or the policy set it, otherwise the model's room. The
    /// safety margin is part of it.
    pub fn total(&self) -> u32 {
        self.prompt.saturating_add(self.safety)
    }

    /// Returns `prompt` without the tokens that the turn's own results add to it.
    pub fn without_results(&self) -> u32 {
        self.prompt.saturating_sub(self.results)
    }

    /// Returns the largest cap that has an effect; the model has no room beyond it.
    pub fn most(&self) -> u32 {
        room(self.context_window, self.reserved_output, self.input_limit)
    }

    /// Returns the shown budget without the tokens that the turn's own results add to it.
    pub fn shown_without_results(&self) -> u32 {
        self.total().saturating_sub(self.results)
    }

    /// Returns the smallest cap under which the prompt may take `needed` tokens (see [`Budget::compute`]); `None` if the
    /// model has less room.
    pub fn cap_for(&self, needed: u32) -> Option<u32> {
        let margin = (self.context_window / 100 * 3).max(256);
        let shrunk = u64::from(needed) * 8 / 7 + 1;
        let cap = needed.saturating_add(margin).min(u32::try_from(shrunk).unwrap_or(u32::MAX));
        Some(cap).filter(|cap| *cap <= self.most())
    }

    /// Returns whether a cap limits the budget, not the model.
    pub fn is_capped(&self) -> bool {
        self.total() < self.most()
    }

    /// Returns the problem of a request of `needed` tokens that does not fit, as the end of a sentence: `the budget of
    /// 1,300 leaves 1,138 after the safety margin`.
    pub fn limit_in_words(&self) -> String {
        let (total, prompt) = (count(self.total()), count(self.prompt));
        if self.safety == 0 {
            return format!("the budget is {total}");
        }
        format!("the budget of {total} leaves {prompt} after the safety margin")
    }

    /// Returns the advice that makes more room, as a clause: a larger budget if possible, otherwise another model.
    pub fn advice(&self) -> &'static str {
        if self.is_capped() { "raise the budget" } else { "choose a model with a larger context window" }
    }

    /// Returns the action that makes more room, and its effect: a larger budget if possible, otherwise another model.
    pub fn remedy(&self) -> (&'static str, &'static str) {
        if self.is_capped() {
            ("budget-up", "raises the budget")
        } else {
            ("models", "switches to a model with a larger context window")
        }
    }
}

/// Returns the tokens of input that the model accepts in addition to the answer.
fn room(window: u32, reserved: u32, input_limit: Option<u32>) -> u32 {
    input_limit.unwrap_or(u32::MAX).min(window.saturating_sub(reserved))
}

/// A solved plan. Its rows are in the order of the request, then suggestions, then the rows left out (newest first).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ContextPlan {
    /// Hash of rows, policy, layout, dialect, model, parameters, and tools.
    pub id: Hash,
    /// The basis that it was solved from.
    pub basis: Basis,
    /// Hash of the basis.
    pub input_digest: Hash,
    pub policy: String,
    pub policy_version: u32,
    pub mode: Mode,
    pub layout: Layout,
    pub profile: String,
    pub model: String,
    /// The encoding of the counts.
    pub encoding: Encoding,
    /// The certainty of the counts.
    pub certainty: Certainty,
    pub budget: Budget,
    /// Tokens of the whole prompt: included rows, framing, and tools.
    pub est_total: u32,
    /// Tokens of message framing.
    pub framing: u32,
    /// Tokens of tool definitions.
    pub tools: u32,
    /// Tokens of each tool, including those switched off; empty in plans of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_costs: Vec<ToolCost>,
    /// Budgets of the priority levels, permanent first; `None` if the policy has no levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level_budgets: Option<[u32; 4]>,
    pub rows: Vec<Row>,
    /// The window's start in this plan; stored when the plan is sent.
    pub anchor: Option<Anchor>,
    /// Retrieval sets that were used.
    pub retrieval_set_ids: Vec<Hash>,
    pub warnings: Vec<Warning>,
}

impl ContextPlan {
    /// Returns the tokens of each section in the layout's order, without empty sections.
    pub fn sections(&self) -> Vec<(Section, u32)> {
        let sum = |section: Section| -> u32 {
            self.rows.iter().filter(|row| row.section() == Some(section)).map(|row| row.tokens).sum()
        };
        let present = |section: &Section| self.rows.iter().any(|row| row.section() == Some(*section));
        self.layout.sections().iter().copied().filter(present).map(|section| (section, sum(section))).collect()
    }

    /// Returns the included rows, in order.
    pub fn included(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.included())
    }

    /// Returns the rows left out.
    pub fn excluded(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| matches!(row.verdict, Verdict::Out { .. }))
    }

    /// Returns the suggested rows.
    pub fn suggested(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| matches!(row.verdict, Verdict::Suggested))
    }

    /// Returns the number and tokens of the items that the mode attached to the message (see [`Section::is_attached`]),
    /// shown in the line under it. Items that a person pinned, leased, or quoted do not count.
    pub fn attached(&self) -> (u32, u32) {
        let by_mode = |row: &&Row| row.reason.decided_by() != DecidedBy::Person;
        let attached = self.included().filter(|row| row.section().is_some_and(Section::is_attached)).filter(by_mode);
        attached.fold((0, 0), |(count, tokens), row| (count + 1, tokens + row.tokens))
    }

    /// Returns the number of items that a person's marks include or leave out, and a hash of which items these are, if
    /// there are any.
    pub fn marked(&self) -> (u32, Option<Hash>) {
        let is_marked = |row: &&Row| {
            let is_decided = row.verdict != Verdict::Suggested && row.reason.decided_by() == DecidedBy::Person;
            row.pin.is_some() && is_decided
        };
        let mut marked: Vec<(Hash, bool)> =
            self.rows.iter().filter(is_marked).map(|row| (row.atom.key(), row.included())).collect();
        marked.sort_unstable();
        let hash = (!marked.is_empty()).then(|| Fields::new("marked items").json(&marked).finish());
        (u32::try_from(marked.len()).unwrap_or(u32::MAX), hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_budget_follows_its_definition() {
        let out = |window, limit, asked, cap| {
            let budget = Budget::compute(window, limit, asked, cap);
            (budget.reserved_output, budget.safety, budget.prompt)
        };
        assert_eq!(out(128_000, None, None, None), (4_096, 3_840, 120_064));
        assert_eq!(out(8_000, None, None, None), (2_000, 256, 5_744), "a quarter, and never less than 256");
        assert_eq!(out(128_000, None, Some(28_000), None), (28_000, 3_840, 96_160));
        assert_eq!(out(128_000, Some(50_000), None, None), (4_096, 3_840, 46_160));
        assert_eq!(out(128_000, None, None, Some(10_000)), (4_096, 1_250, 8_750), "an eighth where there is little");
        assert_eq!(out(1_000, None, Some(5_000), None), (1_000, 0, 0));
    }

    proptest! {
        /// Results take their own tokens in addition to the cap while the model has room, and never its safety margin.
        #[test]
        fn results_come_on_top_of_a_cap(window in 0_u32..300_000, cap in 1_u32..300_000, tokens in 0_u32..300_000) {
            let (whole, before) = (Budget::compute(window, None, None, None), Budget::compute(window, None, None, Some(cap)));
            let with = before.with_results(tokens);
            prop_assert_eq!(with.prompt, whole.prompt.min(before.prompt + tokens));
            prop_assert_eq!((with.results, with.prompt + with.safety), (with.prompt - before.prompt, with.cap.unwrap()));
            prop_assert!(with.cap.unwrap() <= whole.most());
            prop_assert_eq!(whole.with_results(tokens), whole);
        }

        #[test]
        fn the_computed_cap_leaves_the_needed_tokens(window in 2_000_u32..300_000, share in 1_u32..=100) {
            let whole = Budget::compute(window, None, None, None);
            let needed = whole.prompt / 100 * share;
            let Some(cap) = whole.cap_for(needed) else {
                prop_assert!(needed + 1 >= whole.prompt, "{needed} of {}", whole.prompt);
                return Ok(());
            };
            let capped = Budget::compute(window, None, None, Some(cap));
            prop_assert!(cap <= whole.most() && capped.prompt >= needed, "{} of {needed}", capped.prompt);
            prop_assert!(capped.prompt <= needed + 1, "and hardly more: {} of {needed}", capped.prompt);
            prop_assert_eq!(whole.cap_for(whole.prompt + 2), None);
            prop_assert_eq!((whole.remedy().0, capped.cap.map(|_| capped.remedy().0 == "budget-up")),
                ("models", Some(cap < whole.most())));
        }
    }
}
