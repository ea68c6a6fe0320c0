//! The input of a plan: one frozen value with all token counts, so that planning needs no tokenizer, no clock, and no
//! store.
//! Not for: collecting it (`engine`) or solving it (`context`).

use super::blocked::Warning;
use super::facts::TurnFacts;
use super::mode::Mode;
use super::plan::{Anchor, Basis, Budget, Form, RowKind, Scores, Source};
use super::policy::{Layout, PolicySpec, Section};
use super::reason::Reason;
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::NodeId;
use crate::domain::call::model::Dialect;
use crate::domain::call::tokens::{Certainty, Encoding};
use crate::domain::conversation::mark::{Atom, Mark};
use crate::domain::conversation::message::Role;
use crate::domain::tool::cards::ToolCost;
use crate::domain::tool::trace::ToolSpec;
use serde::{Deserialize, Serialize};

/// Tokens that a chat template adds around each message and that no text shows. OpenAI's published rule of thumb: 3 per
/// message, 3 to start the answer; the ids of a call and of its result count as 12.
pub const MESSAGE_FRAMING: u32 = 3;
/// See [`MESSAGE_FRAMING`].
pub const ANSWER_FRAMING: u32 = 3;
/// See [`MESSAGE_FRAMING`].
pub const CALL_FRAMING: u32 = 12;

/// The parts of a request other than its messages.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RequestShape {
    pub model: String,
    /// How the server expects the request to be written.
    pub dialect: Dialect,
    /// Maximum tokens of the answer, if limited.
    pub max_output: Option<u32>,
    pub temperature: Option<f64>,
    /// The offered tools.
    pub tools: Vec<ToolSpec>,
}

/// A section's text, exactly as it will be sent (with label and separator).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Block {
    pub section: Section,
    pub kind: RowKind,
    /// Hash of the sent text.
    pub text: Hash,
    pub tokens: u32,
    /// One-line title, unsanitized.
    pub title: String,
    /// The reason why it is sent.
    pub reason: Reason,
    /// For a note: the atom that identifies it in marks. `None` for other texts, whose atom is made from `text`.
    pub atom: Option<Atom>,
    pub source: Source,
    /// For retrieved items: the score and its parts.
    #[serde(default, skip_serializing_if = "Scores::is_empty")]
    pub scores: Scores,
    /// For a lease of the program: the turns with the same text. While one of them is in the window, the lease is left
    /// out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<Atom>,
}

impl Block {
    /// Creates a block that belongs to no message from the hash and the tokens of its text as sent.
    pub fn new(section: Section, kind: RowKind, (text, tokens): (Hash, u32), title: &str, reason: Reason) -> Self {
        Self {
            section,
            kind,
            text,
            tokens,
            title: title.to_owned(),
            reason,
            atom: None,
            source: Source::default(),
            scores: Scores::default(),
            repeats: Vec::new(),
        }
    }
}

/// A retrieved or retrievable item that is left out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OmittedItem {
    /// The atom that identifies the item in marks.
    pub atom: Atom,
    pub kind: RowKind,
    /// One-line title, unsanitized.
    pub title: String,
    /// Tokens that the item would take.
    pub tokens: u32,
    /// The reason why it is left out.
    pub reason: Reason,
    /// The action that would include the item, and its effect.
    pub remedy: (String, String),
    pub source: Source,
    pub scores: Scores,
}

impl OmittedItem {
    /// Creates the entry of a block that is left out.
    pub fn of(block: &Block, reason: Reason, remedy: (String, String)) -> Self {
        Self {
            atom: block.atom.unwrap_or(Atom::Section { text: block.text }),
            kind: block.kind,
            title: block.title.clone(),
            tokens: block.tokens,
            reason,
            remedy,
            source: block.source.clone(),
            scores: block.scores.clone(),
        }
    }

    /// Creates an item without a source and a score. `remedy` is the action and its effect.
    pub fn new(atom: Atom, kind: RowKind, title: &str, tokens: u32, reason: Reason, remedy: (&str, &str)) -> Self {
        Self {
            atom,
            kind,
            title: title.to_owned(),
            tokens,
            reason,
            remedy: (remedy.0.to_owned(), remedy.1.to_owned()),
            source: Source::default(),
            scores: Scores::default(),
        }
    }
}

/// The candidates of one source for this call, in sending order. Admission decides which of them are sent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Offer {
    /// The block sent before the first admitted candidate, if any candidate is admitted.
    pub heading: Option<Block>,
    /// The candidates, in sending order.
    pub candidates: Vec<Candidate>,
    /// The tokens that all candidates with their heading may take.
    pub limit: OfferLimit,
    /// Items that were found and are not candidates, best first. They get rows after the candidates that are left out.
    pub others: Vec<OmittedItem>,
    /// The maximum number of rows for items that are left out, best first; `None` for a row for each of them.
    pub most_rows: Option<usize>,
}

impl Offer {
    /// Creates an offer with a row for each candidate that is left out.
    pub fn new(heading: Option<Block>, candidates: Vec<Candidate>, limit: OfferLimit) -> Self {
        Self { heading, candidates, limit, others: Vec::new(), most_rows: None }
    }
}

/// The tokens that the candidates of an offer may take together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum OfferLimit {
    /// Any free room, before anything retrieved: rules of the project, the map of the code.
    Room,
    /// At most this many tokens of that room: module summaries.
    Share(u32),
    /// At most this fraction of the mode's allowance: retrieved items.
    Allowance { parts: u32, of: u32 },
}

impl OfferLimit {
    /// The whole allowance of the mode.
    pub const WHOLE_ALLOWANCE: Self = Self::Allowance { parts: 1, of: 1 };

    /// Returns whether the offer spends the allowance.
    pub fn is_of_allowance(self) -> bool {
        matches!(self, Self::Allowance { .. })
    }

    /// Returns the most tokens that the offer may take under an allowance.
    pub fn tokens(self, allowance: u32) -> u32 {
        match self {
            Self::Room => u32::MAX,
            Self::Share(most) => most,
            Self::Allowance { parts, of } => {
                let tokens = u64::from(allowance) * u64::from(parts.min(of)) / u64::from(of.max(1));
                u32::try_from(tokens).unwrap_or(u32::MAX)
            }
        }
    }
}

/// An item that may be sent in addition to the turns, with its tokens in every form.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Candidate {
    /// The block as sent between two other candidates.
    pub block: Block,
    /// The text's hash and tokens in each position; see [`Candidate::text`].
    pub texts: [(Hash, u32); 6],
    /// The order in which the candidates of an offer are tried. Candidates with the same number are admitted together or
    /// not at all.
    pub order: u32,
    /// The stretch of the offer that the candidate is in, such as a day: only the first one sent of it names it.
    pub stretch: u32,
    /// Whether it contains the candidate before it in the offer and more. It is tried only if that one is admitted, and
    /// is then sent in its place.
    pub extends: bool,
    /// The turn with the same text. While that turn itself is sent, the candidate is left out.
    pub turn: Option<Atom>,
    /// The action that would include the item, and its effect.
    pub remedy: (String, String),
}

impl Candidate {
    /// Creates a candidate whose text is the same in every position.
    pub fn plain(block: Block, order: u32, remedy: (&str, &str)) -> Self {
        Self {
            texts: [(block.text, block.tokens); 6],
            order,
            stretch: 0,
            extends: false,
            turn: None,
            remedy: (remedy.0.to_owned(), remedy.1.to_owned()),
            block,
        }
    }

    /// Returns the hash and the tokens of the text for a position; `last` if no candidate follows.
    pub fn text(&self, after: Preceding, last: bool) -> (Hash, u32) {
        self.texts[2 * after as usize + usize::from(last)]
    }
}

/// What is sent before a candidate of the same offer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preceding {
    /// The candidate before it in the offer.
    Previous,
    /// An earlier candidate of its stretch.
    Stretch,
    /// None of its stretch.
    Other,
}

impl Preceding {
    /// All values, in the order of a candidate's texts.
    pub const ALL: [Self; 3] = [Self::Previous, Self::Stretch, Self::Other];
}

/// Why a message cannot be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SendBarrier {
    /// The message was hidden in the export that it came from.
    Hidden,
    /// The message contains imported instructions.
    Foreign,
    /// The message contains instructions, which are sent as a separate block.
    Instructions,
    /// The message is empty.
    Empty,
    /// The message was removed.
    Removed,
}

/// A part of a message that the model cannot accept; a line of text replaces it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PartInput {
    /// A hash of the part's message, number, and bytes.
    pub atom: Hash,
    /// The media type and size.
    pub title: String,
}

/// A message with its tokens in every form.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MessageInput {
    /// The node's key (for the draft, the key that its node would have).
    pub key: Hash,
    /// The node; `None` for the draft and for results made at send time.
    pub node: Option<NodeId>,
    /// Who wrote it.
    pub role: Role,
    /// The first words, unsanitized.
    pub title: String,
    /// `Full`, or `NoState` if a state block is removed.
    pub whole: Form,
    /// Tokens in the form `whole`, calls included.
    pub tokens: u32,
    /// For long tool results: tokens when cut to a number of characters, as (characters, tokens).
    pub cuts: Vec<(u32, u32)>,
    /// For a calling message: tokens when its episode is elided.
    pub elided: Option<u32>,
    /// Tokens of the line that replaces it when it is excluded.
    pub placeholder: u32,
    /// Number of its tool calls.
    pub calls: u16,
    /// Whether it is a tool result without its call; such a result is sent as labeled text.
    pub orphan: bool,
    /// Why the message cannot be sent; `None` if it can.
    pub bar: Option<SendBarrier>,
    /// The parts that the dialect cannot carry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartInput>,
}

impl MessageInput {
    /// Creates a message without a node and with only one form: a draft, a made result, or a request by the program.
    pub fn plain(key: Hash, role: Role, title: String, tokens: u32) -> Self {
        Self {
            key,
            node: None,
            role,
            title,
            whole: Form::Full,
            tokens,
            cuts: Vec::new(),
            elided: None,
            placeholder: 0,
            calls: 0,
            orphan: false,
            bar: None,
            parts: Vec::new(),
        }
    }
}

/// A turn (or the preamble) as a candidate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TurnInput {
    pub atom: Atom,
    /// The number on the path, from 1; 0 for the preamble.
    pub number: u32,
    /// One-line title, unsanitized.
    pub title: String,
    pub source: Source,
    /// The messages, in order.
    pub messages: Vec<MessageInput>,
    /// Hash and tokens of the dated card that would replace the turn outside the window; only for marked turns.
    pub card: Option<(Hash, u32)>,
    /// Facts for policies.
    #[serde(default)]
    pub facts: TurnFacts,
}

/// Consecutive turns that are only counted.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Gap {
    /// Index in [`PlanInput::turns`] of the turn that the gap precedes.
    pub before: usize,
    /// The keys of the gap's first and last node.
    pub range: (Hash, Hash),
    pub turns: u32,
    /// The approximate tokens, for display.
    pub tokens: u32,
    /// The number of the gap's first turn on the path.
    pub from: u32,
    /// Whether none of its turns is in the window's lane, so that the window may reach beyond the gap.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub elsewhere: bool,
}

/// A mark whose message is not on the path.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InactiveMark {
    pub mark: Mark,
    /// One-line title of the marked item, unsanitized.
    pub title: String,
    pub source: Source,
    /// Approximate tokens that the item would take.
    pub tokens: u32,
    /// Whether the path has another version of the message: an edited one, or another answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replaced: bool,
}

/// A turn that a summary replaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CoveredTurn {
    /// Key of its user message.
    pub user: Hash,
    /// Key of its last node.
    pub tip: Hash,
    /// Id of the summary.
    pub by: Hash,
    /// Whether the turn contains something that the question names and the summary lacks. Messages of the turn may then
    /// be retrieved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lacks: bool,
}

/// An accepted summary among the blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SummaryInput {
    /// Id of the summary.
    pub by: Hash,
    /// Hash of its block's text.
    pub text: Hash,
    /// Whether the question names the summary's lane or task. Turns that it does not cover may then leave for it.
    pub named: bool,
    /// Whether it belongs to another lane, which the question names.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub elsewhere: bool,
    /// Whether the question names something that a turn contains and its summary lacks.
    pub lacks: bool,
    /// Whether the next summary is one level above this one. It is sent only if the next one is not.
    #[serde(default)]
    pub older: bool,
    /// The first and the last turn that it covers; `None` in inputs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<(u32, u32)>,
}

/// The previous round's decision about a closed turn that its policy sent or withheld.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TurnBefore {
    pub atom: Atom,
    /// The form of its tool results, or why it was left out.
    pub sent: Result<Form, Reason>,
    /// Whether it was chosen for its relevance rather than its age.
    pub relevant: bool,
    /// Whether it was sent in the window.
    pub in_window: bool,
}

/// Everything that a plan depends on.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlanInput {
    /// The digests of everything that the plan is solved from.
    pub basis: Basis,
    pub policy: PolicySpec,
    /// Maximum number of turns in the window; 0 means all.
    pub window_turns: u32,
    pub mode: Mode,
    pub layout: Layout,
    pub profile: String,
    /// The request's other fields.
    pub shape: RequestShape,
    /// Tokens of the tool definitions as sent.
    pub tools_tokens: u32,
    /// The tokens of each tool counted alone, including tools that are switched off, in offering order.
    pub tool_costs: Vec<ToolCost>,
    /// The encoding of the counts.
    pub encoding: Encoding,
    /// The certainty of the counts.
    pub certainty: Certainty,
    pub budget: Budget,
    /// The texts: instructions, state, notes, the quoted reply, the request to continue.
    pub blocks: Vec<Block>,
    /// The request to keep a state block, sent if the plan leaves out turns or `always_asks` is set. It never displaces
    /// the newest turn or a person's lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_request: Option<Block>,
    /// Whether the state block is requested even if no turn is left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub always_asks: bool,
    /// Turns of the path, oldest first, without the open one.
    pub turns: Vec<TurnInput>,
    /// Turns that are only counted.
    pub gaps: Vec<Gap>,
    /// The open turn. Its last user message also has a labeled form; see `labeled`.
    pub open: TurnInput,
    /// Extra tokens of the label that the open turn's user message gets if blocks precede it in the same message.
    #[serde(rename = "labelled")]
    pub labeled: u32,
    /// Marks on the path and on notes.
    pub marks: Vec<Mark>,
    pub inactive_marks: Vec<InactiveMark>,
    /// Retrieved or retrievable items that are left out, best first.
    pub near: Vec<OmittedItem>,
    /// The offers of the sources, in sending order. They spend the allowance in the same order.
    pub offers: Vec<Offer>,
    /// Tokens that the mode, the policy, and the person's choice allow for all retrieved items. Unspent tokens go to
    /// the window.
    pub allowance: u32,
    /// The retrieval sets of the cards among `blocks`.
    pub retrieval_set_ids: Vec<Hash>,
    /// The summaries among `blocks`, in the order of their acceptance.
    #[serde(default)]
    pub summaries: Vec<SummaryInput>,
    /// Turns that the summaries replace: those in `turns`, and the last ones of gaps.
    pub covered: Vec<CoveredTurn>,
    /// The start of the last call's window.
    pub anchor: Option<Anchor>,
    /// For a later round of a turn: the policy's decisions in the previous round, which stay unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_before: Option<Vec<TurnBefore>>,
    /// Warnings from collecting the input.
    pub warnings: Vec<Warning>,
}

impl PlanInput {
    /// Returns the reason of an item that a summary replaces.
    pub fn superseded(&self, by: Hash) -> Reason {
        let turns = self.summaries.iter().find(|summary| summary.by == by).and_then(|summary| summary.turns);
        Reason::Superseded { by, turns }
    }
}
