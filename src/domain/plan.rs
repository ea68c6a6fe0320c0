//! The plan of a call: every item in exactly one row, with its tokens, its section and its reason.
//! Not for: making plans (`context`) or their input (`input`).

use super::hash::Hash;
use super::ids::{BranchId, NodeId, SessionId};
use super::mark::{Atom, MarkKind};
use super::message::Role;
use super::mode::Mode;
use super::policy::{Layout, Section};
use super::tokens::{Certainty, Encoding};
use serde::{Deserialize, Serialize};

/// What a plan was solved from. Two equal bases give one plan.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
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

/// Why an item is in or out. Each has one English sentence.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Reason {
    /// In: the program's instructions.
    Instructions,
    /// In: the person's own text from configuration or branch.
    Configured,
    /// In: guidelines for reading history and keeping state.
    Guideline,
    /// In: the newest state on this path.
    CurrentState,
    /// In: the message now asked, or the turn that is open.
    Open,
    /// In: pinned by the person.
    Sticky,
    /// In: leased.
    Leased {
        /// Turns left.
        left: u32,
    },
    /// In: within the window.
    Recent,
    /// In: the person asked for it for this call.
    IncludedOnce,
    /// In: replied to.
    Replied,
    /// In: asks the model to go on where its answer was cut.
    GoOn,
    /// In, brought back: had been further away.
    Reinjected,
    /// Out: no room.
    Budget {
        /// Tokens that were free for it.
        free: u32,
    },
    /// Out: before the window's start.
    OutsideWindow,
    /// Out: the person took it out.
    UserExcluded {
        /// For this call only.
        once: bool,
    },
    /// Out: its lease ended.
    TtlExpired,
    /// Out: the leases together are over their cap.
    LeaseCap {
        /// The cap in tokens.
        cap: u32,
    },
    /// Out: not on this branch's path.
    OffPath,
    /// Out: hidden where it was imported from.
    Hidden,
    /// Out: instructions that came with an import.
    ForeignInstructions,
    /// Out: the model cannot take it.
    ModelCannot,
    /// Out: removed.
    Removed,
    /// Out: another row already says it.
    Duplicate,
    /// Out: the mode gathers nothing by itself.
    ModeOff,
    /// Out: bigger than the whole budget.
    TooLarge,
}

impl Reason {
    /// The sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::Instructions => "Instructions that go with every call.".into(),
            Self::Configured => "You configured this text.".into(),
            Self::Guideline => "Says how history is to be read and the state block kept.".into(),
            Self::CurrentState => "The newest state block on this branch's path.".into(),
            Self::Open => "The turn that is being asked; it always goes.".into(),
            Self::Sticky => "You pinned it; it stays until you take the pin off.".into(),
            Self::Leased { left } => format!("Leased: stays for {left} more {}.", turns_word(*left)),
            Self::Recent => "Recent: inside the window.".into(),
            Self::IncludedOnce => "You included it for this call.".into(),
            Self::Replied => "Your message replies to it.".into(),
            Self::GoOn => "Asks the model to go on where its answer was cut.".into(),
            Self::Reinjected => "Brought back from outside the window.".into(),
            Self::Budget { free } => format!("No room: {free} tokens were free for it."),
            Self::OutsideWindow => "Older than the window reaches.".into(),
            Self::UserExcluded { once: false } => "You excluded it.".into(),
            Self::UserExcluded { once: true } => "You excluded it for this call.".into(),
            Self::TtlExpired => "Its lease ended.".into(),
            Self::LeaseCap { cap } => format!("Leased pins together are over their cap of {cap} tokens."),
            Self::OffPath => "Marked, but not on this branch's path: the mark sleeps.".into(),
            Self::Hidden => "Hidden in the export that it came from.".into(),
            Self::ForeignInstructions => "Instructions from an import are off unless you include them.".into(),
            Self::ModelCannot => "The model cannot take this kind of content.".into(),
            Self::Removed => "Removed: only its place is left.".into(),
            Self::Duplicate => "Already in the request in another row.".into(),
            Self::ModeOff => "The context mode is Off.".into(),
            Self::TooLarge => "Larger than the whole prompt budget.".into(),
        }
    }

    /// Its word in JSON.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Configured => "configured",
            Self::Guideline => "guideline",
            Self::CurrentState => "current_state",
            Self::Open => "open",
            Self::Sticky => "sticky",
            Self::Leased { .. } => "leased",
            Self::Recent => "recent",
            Self::IncludedOnce => "included_once",
            Self::Replied => "replied",
            Self::GoOn => "go_on",
            Self::Reinjected => "reinjected",
            Self::Budget { .. } => "budget",
            Self::OutsideWindow => "outside_window",
            Self::UserExcluded { .. } => "user_excluded",
            Self::TtlExpired => "ttl_expired",
            Self::LeaseCap { .. } => "lease_cap",
            Self::OffPath => "off_path",
            Self::Hidden => "hidden",
            Self::ForeignInstructions => "foreign_instructions",
            Self::ModelCannot => "model_cannot",
            Self::Removed => "removed",
            Self::Duplicate => "duplicate",
            Self::ModeOff => "mode_off",
            Self::TooLarge => "too_large",
        }
    }
}

fn turns_word(n: u32) -> &'static str {
    if n == 1 { "turn" } else { "turns" }
}

/// What would bring an excluded item in, and at what price.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Remedy {
    /// The action's name in the key table (`include-once`, `exclude`, `pin`, `budget-up` …); the screen shows its key.
    pub action: String,
    /// What it does, as the end of a sentence: "takes the exclusion back".
    pub does: String,
    /// Tokens that would have to leave first.
    pub pushes_out: u32,
    /// How many of the oldest turns in the window that would take.
    pub pushes_turns: u32,
}

impl Remedy {
    /// The sentence, with the key named by the caller.
    #[must_use]
    pub fn sentence(&self, key: &str) -> String {
        let price = match (self.pushes_out, self.pushes_turns) {
            (0, _) => "; nothing has to leave for it".to_owned(),
            (tokens, 0) => format!("; {tokens} tokens too many, so the budget must grow too"),
            (tokens, turns) => format!("; pushes out the {turns} oldest {} ({tokens} tokens)", turns_word(turns)),
        };
        format!("{key} {}{price}", self.does)
    }
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
    /// The quoted message.
    Quote,
    /// Many turns in one row.
    Range,
    /// One message.
    Message,
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
            Self::Quote => "quote",
            Self::Range => "range",
            Self::Message => "message",
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
}

impl Budget {
    /// Works out the room (DEFINITIONS: safety = max(256, 3 % of the window); reserved = asked limit, else
    /// min(4,096, a quarter of the window)). On windows too small for that, safety shrinks to an eighth of the room.
    #[must_use]
    pub fn work_out(window: u32, input_limit: Option<u32>, asked_output: Option<u32>, cap: Option<u32>) -> Self {
        let reserved = asked_output.unwrap_or_else(|| (window / 4).min(4_096)).min(window);
        let room = input_limit.unwrap_or(u32::MAX).min(window - reserved);
        let capped = cap.unwrap_or(u32::MAX).min(room);
        let safety = (window / 100 * 3).max(256).min(capped / 8);
        Self { context_window: window, reserved_output: reserved, safety, prompt: capped - safety, cap }
    }
}

/// Something to know about a plan that stops nobody.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "warning", rename_all = "snake_case")]
pub enum Warning {
    /// The model's window is not known; a value was assumed.
    WindowAssumed {
        /// The value.
        tokens: u32,
    },
    /// Tool results were shortened to make room.
    ToolsShortened {
        /// How many.
        count: u32,
    },
    /// Marks sleep because their messages are not on the path.
    MarksAsleep {
        /// How many.
        count: u32,
    },
    /// Invisible characters are among what is sent.
    HiddenCharacters {
        /// How many.
        count: u32,
    },
    /// Parts that the model cannot take are sent as a line of text.
    PartsAsText {
        /// How many.
        count: u32,
    },
    /// The last answer brought no state block; the old state is sent.
    StateMissing,
    /// A tool result was missing and is sent as `[cancelled]`.
    ResultsMade {
        /// How many.
        count: u32,
    },
}

impl Warning {
    /// The sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::WindowAssumed { tokens } => {
                format!("The model's context window is not known; {tokens} tokens are assumed.")
            }
            Self::ToolsShortened { count } => format!("{count} tool results are shortened to make room."),
            Self::MarksAsleep { count } => {
                format!("{count} marks sleep: their messages are not on this branch's path.")
            }
            Self::HiddenCharacters { count } => format!("{count} invisible characters are among what is sent."),
            Self::PartsAsText { count } => format!("{count} parts the model cannot take are sent as a line of text."),
            Self::StateMissing => "The last answer brought no state block; the state before it is sent.".into(),
            Self::ResultsMade { count } => format!("{count} missing tool results are sent as [cancelled]."),
        }
    }
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

    /// Items beyond the turn itself (pins, cards, quote), and their tokens: what the line under a message shows.
    #[must_use]
    pub fn attached(&self) -> (u32, u32) {
        let extra = |row: &&Row| {
            !matches!(row.section(), Some(Section::Recent | Section::UserMessage | Section::System) | None)
        };
        self.included().filter(extra).fold((0, 0), |(count, tokens), row| (count + 1, tokens + row.tokens))
    }
}

/// A way out of [`Blocked`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "choice", rename_all = "snake_case")]
pub enum Choice {
    /// Raise the cap.
    LargerBudget {
        /// To at least this many tokens of prompt budget.
        at_least: u32,
    },
    /// Ask a model with a larger window.
    OtherModel,
    /// Take these pins off, or lease them.
    Unpin {
        /// Which.
        atoms: Vec<Atom>,
        /// Tokens that frees.
        frees: u32,
    },
    /// Send these tool results shortened.
    ShortenBodies {
        /// Tokens that frees.
        frees: u32,
    },
    /// Offer fewer tools.
    FewerTools {
        /// Tokens that frees.
        frees: u32,
    },
    /// Say it shorter, or in several messages.
    ShorterMessage {
        /// By so many tokens.
        by: u32,
    },
}

impl Choice {
    /// The sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::LargerBudget { at_least } => format!("raise the budget to {at_least} tokens or more"),
            Self::OtherModel => "choose a model with a larger context window".into(),
            Self::Unpin { atoms, frees } => format!("take {} pins off (frees {frees} tokens)", atoms.len()),
            Self::ShortenBodies { frees } => format!("send the tool results shortened (frees {frees} tokens)"),
            Self::FewerTools { frees } => format!("switch the tools off (frees {frees} tokens)"),
            Self::ShorterMessage { by } => format!("shorten the message by {by} tokens"),
        }
    }
}

/// What must go does not fit. Nothing was cut and nothing was sent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Blocked {
    /// What it was solved from.
    pub basis: Basis,
    /// Tokens that what must go takes.
    pub needed: u32,
    /// The prompt budget.
    pub budget: Budget,
    /// Ways out.
    pub choices: Vec<Choice>,
    /// What must go.
    pub rows: Vec<Row>,
}

impl Blocked {
    /// The sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        format!(
            "What must go into this call takes {} tokens and the prompt budget is {}; nothing was sent and nothing was cut.",
            self.needed, self.budget.prompt
        )
    }
}
