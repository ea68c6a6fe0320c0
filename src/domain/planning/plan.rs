//! The plan of a call: every item in exactly one row, with its tokens, its section and its reason.
//! Not for: making plans (`context`), their input (`input`), why a row is in or out (`reason`) or a call that cannot be
//! planned (`blocked`).

use super::mode::Mode;
use super::policy::{Layout, Section};
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::{BranchId, NodeId, SessionId};
use crate::domain::call::tokens::{Certainty, Encoding};
use crate::domain::code::symbols::CodeRef;
use crate::domain::conversation::mark::{Atom, MarkKind};
use crate::domain::conversation::message::Role;
use crate::domain::tool::cards::ToolCost;
use serde::{Deserialize, Serialize};

pub use super::blocked::{Blocked, Choice, Warning};
pub use super::reason::{Reason, Remedy};

/// What a plan was solved from. Two equal bases give one plan.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Basis {
    /// Key of the last node of the path that is answered (zero for an empty branch).
    pub head: Hash,
    /// Digest of the marks.
    pub marks: Hash,
    /// Hash of the draft.
    pub draft: Hash,
    /// Digest of model, parameters, tool schemas, dialect, layout, policy and budget.
    pub wire: Hash,
    /// Digest of section texts, cards and the window's anchor.
    pub frozen: Hash,
}

/// Where the window of an anchored policy starts, and how far its tool results are shortened.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Anchor {
    /// Key of the first node of the first turn in the window.
    pub start: Hash,
    /// Tool results up to this node (its key) are shortened as `form` says.
    pub shortened_to: Option<Hash>,
    /// How they are shortened.
    pub form: Form,
    /// The prompt budget for which this holds.
    pub budget: u32,
    /// The policy for which this holds.
    pub policy: String,
    /// Summaries that went with the call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub summaries: Vec<Hash>,
}

/// How a message is sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// As it is.
    Full,
    /// Without the state block that it held.
    NoState,
    /// A tool's result cut to so many characters, head and tail.
    Cut(u32),
    /// A calling message whose calls are named in one line instead; its results are `Gone`.
    Elided,
    /// Not sent: its line stands in the calling message.
    Gone,
    /// One line in its place: a person left it out.
    Placeholder,
    /// A dated, delimited card outside the flow of turns.
    Card,
    /// Left out together with its whole turn.
    Out,
}

/// In, out, or only suggested.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// It goes.
    In {
        /// Where.
        section: Section,
    },
    /// It stays out.
    Out {
        /// Tokens that it would need beyond what is free.
        needed: u32,
        /// What would bring it in; nothing where nothing can.
        remedy: Option<Remedy>,
    },
    /// Not part of the call; the engine or the model suggests to pin it.
    Suggested,
}

/// What kind of thing a row is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowKind {
    /// One of the program's or person's texts: system, personality, guidelines.
    Text,
    /// The state block.
    State,
    /// A free note that the person pinned.
    Note,
    /// Messages before the first user message.
    Preamble,
    /// A turn.
    Turn,
    /// A turn sent as a card.
    Card,
    /// A summary of turns.
    Summary,
    /// The quoted message.
    Quote,
    /// Many turns in one row.
    Range,
    /// One message.
    Message,
    /// A part of a message that is not text.
    Part,
    /// A look through older messages: what was looked for, and whether it was.
    Search,
    /// A memory that a person confirmed.
    Memory,
    /// A message of a request that was edited by hand.
    Request,
    /// A file with rules of the project, or of the person's own.
    Rules,
    /// The skills that can be loaded.
    Skills,
    /// A summary of a part of a program.
    Module,
    /// Code of the workspace: the map of it, or a symbol.
    Code,
}

impl RowKind {
    /// Its word in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::State => "state",
            Self::Note => "note",
            Self::Preamble => "preamble",
            Self::Turn => "turn",
            Self::Card => "card",
            Self::Summary => "summary",
            Self::Quote => "quote",
            Self::Range => "range",
            Self::Message => "message",
            Self::Part => "part",
            Self::Search => "search",
            Self::Memory => "memory",
            Self::Request => "request",
            Self::Rules => "rules",
            Self::Skills => "skills",
            Self::Module => "module",
            Self::Code => "code",
        }
    }
}

/// Where a row's text comes from.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Source {
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<SessionId>,
    /// The branch.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub branch: Option<BranchId>,
    /// The turn's number on the path, from 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub turn: Option<u32>,
    /// The first message.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub message: Option<NodeId>,
    /// Its id where it was imported from.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub external_id: Option<String>,
    /// Milliseconds since 1970, for display.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub at: Option<i64>,
    /// The file, as people name it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<String>,
    /// Which bytes of the message's text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub span: Option<(u32, u32)>,
    /// For code: which symbol, and its file as it was.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub code: Option<Box<CodeRef>>,
}

/// A score in thousandths with its parts; empty for what is not chosen by score. Not part of a plan's id.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Scores {
    /// The whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<i32>,
    /// What it is made of, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<(String, i32)>,
}

impl Scores {
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.score.is_none() && self.parts.is_empty()
    }
}

/// One message inside a row.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Item {
    /// The node's key.
    pub key: Hash,
    /// The node; none for the draft.
    pub node: Option<NodeId>,
    /// Who speaks.
    pub role: Role,
    /// How it is sent.
    pub form: Form,
    /// Tokens of its content in that form.
    pub tokens: u32,
    /// First words, unsanitised.
    pub title: String,
    /// How many tools it calls.
    #[serde(default)]
    pub calls: u16,
    /// A result without its call: sent as labelled text.
    #[serde(default)]
    pub orphan: bool,
}

/// One row of a plan.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Row {
    /// What.
    pub atom: Atom,
    /// Of which kind.
    pub kind: RowKind,
    /// In or out.
    pub verdict: Verdict,
    /// Why.
    pub reason: Reason,
    /// Tokens in the request (for excluded rows: what it would take), label and separator included.
    pub tokens: u32,
    /// One line, unsanitised.
    pub title: String,
    /// Where from.
    pub source: Source,
    /// The mark on it.
    pub pin: Option<MarkKind>,
    /// Its messages, in order.
    pub items: Vec<Item>,
    /// For a range: how many turns.
    pub turns: u32,
    /// For texts and cards: hash of the text as it is sent.
    #[serde(default)]
    pub text: Option<Hash>,
    /// Why it, and not another.
    #[serde(default, skip_serializing_if = "Scores::is_empty")]
    pub scores: Scores,
}

impl Row {
    /// Whether it goes.
    #[must_use]
    pub fn included(&self) -> bool {
        matches!(self.verdict, Verdict::In { .. })
    }

    /// Its section, when it goes.
    #[must_use]
    pub fn section(&self) -> Option<Section> {
        match self.verdict {
            Verdict::In { section } => Some(section),
            Verdict::Out { .. } | Verdict::Suggested => None,
        }
    }
}

/// The room there is, in tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Budget {
    /// The model's context window.
    pub context_window: u32,
    /// Kept free for the answer.
    pub reserved_output: u32,
    /// Kept free for what no count can see.
    pub safety: u32,
    /// What the prompt may take: min(cap, input limit, window − reserved) − safety.
    pub prompt: u32,
    /// The cap that a person or the policy set, where one did.
    pub cap: Option<u32>,
    /// The most that the server takes as input, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_limit: Option<u32>,
}

impl Budget {
    /// Works out the room (safety = max(256, 3 % of the window); reserved = asked limit, else
    /// min(4,096, a quarter of the window)). On windows too small for that, safety shrinks to an eighth of the room.
    #[must_use]
    pub fn work_out(window: u32, input_limit: Option<u32>, asked_output: Option<u32>, cap: Option<u32>) -> Self {
        let reserved = asked_output.unwrap_or_else(|| (window / 4).min(4_096)).min(window);
        let room = room(window, reserved, input_limit);
        let capped = cap.unwrap_or(u32::MAX).min(room);
        let safety = (window / 100 * 3).max(256).min(capped / 8);
        Self { context_window: window, reserved_output: reserved, safety, prompt: capped - safety, cap, input_limit }
    }

    /// The largest cap that changes anything: beyond it the model has no room.
    #[must_use]
    pub fn most(&self) -> u32 {
        room(self.context_window, self.reserved_output, self.input_limit)
    }

    /// The smallest cap that leaves a prompt budget of `needed` tokens (see [`Budget::work_out`]); none where the model has
    /// not that much room.
    #[must_use]
    pub fn cap_for(&self, needed: u32) -> Option<u32> {
        let margin = (self.context_window / 100 * 3).max(256);
        let shrunk = u64::from(needed) * 8 / 7 + 1;
        let cap = needed.saturating_add(margin).min(u32::try_from(shrunk).unwrap_or(u32::MAX));
        Some(cap).filter(|cap| *cap <= self.most())
    }

    /// The action that makes more room, and what it does: a larger budget where there can be one, else another model.
    #[must_use]
    pub fn remedy(&self) -> (&'static str, &'static str) {
        if self.prompt + self.safety < self.most() {
            ("budget-up", "raises the budget")
        } else {
            ("models", "switches to a model with a larger context window")
        }
    }
}

/// What a model takes as input beside the answer.
fn room(window: u32, reserved: u32, input_limit: Option<u32>) -> u32 {
    input_limit.unwrap_or(u32::MAX).min(window.saturating_sub(reserved))
}

/// A solved plan. Its rows are in the order of the request, then suggestions, then what is out (newest first).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ContextPlan {
    /// H(rows, policy, layout, dialect, model, parameters, tools).
    pub id: Hash,
    /// What it was solved from.
    pub basis: Basis,
    /// H(basis).
    pub input_digest: Hash,
    /// Policy name.
    pub policy: String,
    /// Policy version.
    pub policy_version: u32,
    /// Context mode.
    pub mode: Mode,
    /// Layout.
    pub layout: Layout,
    /// Profile name.
    pub profile: String,
    /// Model name.
    pub model: String,
    /// How tokens were counted.
    pub encoding: Encoding,
    /// How sure the numbers are.
    pub certainty: Certainty,
    /// The room.
    pub budget: Budget,
    /// Rows' tokens + framing + tools.
    pub est_total: u32,
    /// Tokens that message framing takes.
    pub framing: u32,
    /// Tokens that tool schemas take.
    pub tools: u32,
    /// What each of them takes, those among them that are switched off; empty in plans of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_costs: Vec<ToolCost>,
    /// Budgets of the priority levels, permanent first; none where the policy has no levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level_budgets: Option<[u32; 4]>,
    /// All rows.
    pub rows: Vec<Row>,
    /// The window's start after this plan; stored when the plan is sent.
    pub anchor: Option<Anchor>,
    /// Retrieval sets that took part.
    pub retrieval_set_ids: Vec<Hash>,
    /// Things to know.
    pub warnings: Vec<Warning>,
}

impl ContextPlan {
    /// Tokens by section, in the layout's order, empty ones left out.
    #[must_use]
    pub fn sections(&self) -> Vec<(Section, u32)> {
        let sum = |section: Section| -> u32 {
            self.rows.iter().filter(|row| row.section() == Some(section)).map(|row| row.tokens).sum()
        };
        let present = |section: &Section| self.rows.iter().any(|row| row.section() == Some(*section));
        self.layout.sections().iter().copied().filter(present).map(|section| (section, sum(section))).collect()
    }

    /// The rows that go, in order.
    pub fn included(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.included())
    }

    /// The rows that stay out.
    pub fn excluded(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| matches!(row.verdict, Verdict::Out { .. }))
    }

    /// The suggested rows.
    pub fn suggested(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| matches!(row.verdict, Verdict::Suggested))
    }

    /// Items attached to the message (see [`Section::is_attached`]), and their tokens: what the line under it shows.
    #[must_use]
    pub fn attached(&self) -> (u32, u32) {
        let attached = self.included().filter(|row| row.section().is_some_and(Section::is_attached));
        attached.fold((0, 0), |(count, tokens), row| (count + 1, tokens + row.tokens))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_room_is_what_the_definitions_say() {
        let out = |window, limit, asked, cap| {
            let budget = Budget::work_out(window, limit, asked, cap);
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
        #[test]
        fn a_cap_leaves_what_is_needed(window in 2_000_u32..300_000, share in 1_u32..=100) {
            let whole = Budget::work_out(window, None, None, None);
            let needed = whole.prompt / 100 * share;
            let Some(cap) = whole.cap_for(needed) else {
                prop_assert!(needed + 1 >= whole.prompt, "{needed} of {}", whole.prompt);
                return Ok(());
            };
            let capped = Budget::work_out(window, None, None, Some(cap));
            prop_assert!(cap <= whole.most() && capped.prompt >= needed, "{} of {needed}", capped.prompt);
            prop_assert!(capped.prompt <= needed + 1, "and hardly more: {} of {needed}", capped.prompt);
            prop_assert_eq!(whole.cap_for(whole.prompt + 2), None);
            prop_assert_eq!((whole.remedy().0, capped.cap.map(|_| capped.remedy().0 == "budget-up")),
                ("models", Some(cap < whole.most())));
        }
    }
}
