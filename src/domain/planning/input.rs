//! What a plan is solved from: one frozen value that carries every token count, so that planning needs no tokenizer,
//! no clock and no store.
//! Not for: gathering it (`engine`) or solving it (`context`).

use super::facts::TurnFacts;
use super::mode::Mode;
use super::plan::{Anchor, Basis, Budget, Form, Reason, RowKind, Scores, Source, Warning};
use super::policy::{Layout, PolicySpec, Section};
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::NodeId;
use crate::domain::call::model::Dialect;
use crate::domain::call::tokens::{Certainty, Encoding};
use crate::domain::conversation::mark::{Atom, Mark};
use crate::domain::conversation::message::Role;
use crate::domain::tool::cards::ToolCost;
use crate::domain::tool::trace::ToolSpec;
use serde::{Deserialize, Serialize};

/// Tokens that no text shows: what a chat template adds around messages (OpenAI's published rule of thumb: 3 a message
/// and 3 to open the answer; a call's and its result's ids are taken as 12).
pub const MESSAGE_FRAMING: u32 = 3;
/// See [`MESSAGE_FRAMING`].
pub const ANSWER_FRAMING: u32 = 3;
/// See [`MESSAGE_FRAMING`].
pub const CALL_FRAMING: u32 = 12;

/// What of a request is not its messages.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RequestShape {
    /// Model name.
    pub model: String,
    /// How the server wants it written.
    pub dialect: Dialect,
    /// The limit asked for the answer, where one is asked.
    pub max_output: Option<u32>,
    /// Temperature, where one is set.
    pub temperature: Option<f64>,
    /// The tools on offer.
    pub tools: Vec<ToolSpec>,
}

/// A section's text, ready as it will be sent (label and separator included).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Block {
    /// Where it belongs.
    pub section: Section,
    /// What it is.
    pub kind: RowKind,
    /// Hash of the projected text.
    pub text: Hash,
    /// Tokens of the projected text.
    pub tokens: u32,
    /// One line.
    pub title: String,
    /// Why it goes.
    pub reason: Reason,
    /// For a note: its atom as marks name it (else made from `text`).
    pub atom: Option<Atom>,
    /// Where from.
    pub source: Source,
    /// For what was looked up: its score in thousandths, and what it is made of.
    #[serde(default, skip_serializing_if = "Scores::is_empty")]
    pub scores: Scores,
}

impl Block {
    /// A text of no message: `text` is the hash of its projected form, of so many tokens.
    #[must_use]
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
        }
    }
}

/// What was looked up, or could have been, and does not go.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NotSent {
    /// It, as marks name it.
    pub atom: Atom,
    /// Of which kind.
    pub kind: RowKind,
    /// One line.
    pub title: String,
    /// Tokens that it would take.
    pub tokens: u32,
    /// Why it stays out.
    pub reason: Reason,
    /// The action that would bring it in, and what that does.
    pub remedy: (String, String),
    /// Where from.
    pub source: Source,
    /// Its score.
    pub scores: Scores,
}

/// What one source found for this call, in the order in which it is sent. Admission decides which of it goes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Offer {
    /// Stands before the first candidate that goes.
    pub heading: Option<Block>,
    /// See [`Candidate`].
    pub candidates: Vec<Candidate>,
    /// Tokens of the mode's allowance that they may take together, heading included. None for what draws on the room
    /// alone, before anything that is looked up (rules of the project, the map of the code).
    pub most: Option<u32>,
}

/// Something that may go beside the turns, with its tokens in every form that it may take.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Candidate {
    /// It, as it is sent behind the candidate before it and before another one.
    pub block: Block,
    /// Its text and tokens in each place: see [`Candidate::text`].
    pub texts: [(Hash, u32); 4],
    /// Candidates of an offer are tried in this order.
    pub order: u32,
    /// Candidates of an offer with the same number go together or not at all.
    pub together: u32,
    /// The turn that says the same: while it goes itself, the candidate stays out.
    pub turn: Option<Atom>,
    /// The action that would bring it in, and what that does.
    pub remedy: (String, String),
}

impl Candidate {
    /// A candidate whose text is the same wherever it stands.
    #[must_use]
    pub fn plain(block: Block, order: u32, remedy: (&str, &str)) -> Self {
        Self {
            texts: [(block.text, block.tokens); 4],
            order,
            together: order,
            turn: None,
            remedy: (remedy.0.to_owned(), remedy.1.to_owned()),
            block,
        }
    }

    /// Its text and tokens where the candidate before it stays out (`alone`), and where none follows (`last`).
    #[must_use]
    pub fn text(&self, alone: bool, last: bool) -> (Hash, u32) {
        self.texts[2 * usize::from(alone) + usize::from(last)]
    }
}

/// Why a message cannot be sent as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SendBarrier {
    /// Hidden in the export that it came from.
    Hidden,
    /// Instructions from an import.
    Foreign,
    /// Nothing in it.
    Empty,
    /// Removed.
    Removed,
}

/// A part of a message that the model cannot take: a line of text names it in its place.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PartInput {
    /// One hash for the part at this place: of its message's key, its number and its bytes' hash.
    pub atom: Hash,
    /// Its media type and size.
    pub title: String,
}

/// One message with its tokens in every form that it may take.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MessageInput {
    /// The node's key (or the key that the draft's node would have).
    pub key: Hash,
    /// The node; none for the draft and for results made up at send time.
    pub node: Option<NodeId>,
    /// Who speaks.
    pub role: Role,
    /// First words, unsanitised.
    pub title: String,
    /// `Full`, or `NoState` where a state block is cut out.
    pub whole: Form,
    /// Tokens in that form, calls included.
    pub tokens: u32,
    /// For long tool results: tokens when cut to so many characters.
    pub cuts: Vec<(u32, u32)>,
    /// For a calling message: tokens when its episode is elided.
    pub elided: Option<u32>,
    /// Tokens of the one line that stands for it when it is left out.
    pub placeholder: u32,
    /// How many tools it calls.
    pub calls: u16,
    /// A result without its call: sent as labelled text.
    pub orphan: bool,
    /// Why it is not sent, where it is not.
    pub bar: Option<SendBarrier>,
    /// Parts of it that no request of this dialect can carry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartInput>,
}

impl MessageInput {
    /// A message that is no node and has one form only: a draft, a made result, a request of the program's own.
    #[must_use]
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

/// One turn (or the preamble) as a candidate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TurnInput {
    /// The turn.
    pub atom: Atom,
    /// Its number on the path, from 1; 0 for the preamble.
    pub number: u32,
    /// One line.
    pub title: String,
    /// Where from.
    pub source: Source,
    /// Its messages, in order.
    pub messages: Vec<MessageInput>,
    /// Hash and tokens of the dated card that would stand for it outside the window; only for marked turns.
    pub card: Option<(Hash, u32)>,
    /// What policies know of it.
    #[serde(default)]
    pub facts: TurnFacts,
}

/// Turns that are not looked at one by one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Gap {
    /// It stands before this index of `turns`.
    pub before: usize,
    /// Its first node's key and last node's key.
    pub range: (Hash, Hash),
    /// How many turns.
    pub turns: u32,
    /// Their tokens, roughly, for display.
    pub tokens: u32,
    /// Number of its first turn.
    pub from: u32,
}

/// A mark whose message is not on the path.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InactiveMark {
    /// The mark.
    pub mark: Mark,
    /// What it is on, in a line.
    pub title: String,
    /// Where from.
    pub source: Source,
    /// Tokens that it would take, roughly.
    pub tokens: u32,
}

/// A turn that a summary stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Covered {
    /// Key of its user message.
    pub user: Hash,
    /// Key of its last node.
    pub tip: Hash,
    /// The capsule.
    pub by: Hash,
}

/// An accepted summary among the blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SummaryInput {
    /// The capsule.
    pub by: Hash,
    /// Its block's text.
    pub text: Hash,
    /// The question names its lane or its task: it is asked for, whatever it saves.
    pub named: bool,
    /// The question names something that it does not say: messages that it covers may be looked up.
    pub lacks: bool,
    /// The level before the one that follows: it goes only where that one does not.
    #[serde(default)]
    pub older: bool,
}

/// Everything that a plan depends on.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlanInput {
    /// The digests of all that follows, and of what it was made from.
    pub basis: Basis,
    /// The policy.
    pub policy: PolicySpec,
    /// Last N turns in the window; 0 is all.
    pub window_turns: u32,
    /// Context mode.
    pub mode: Mode,
    /// Layout.
    pub layout: Layout,
    /// Profile name.
    pub profile: String,
    /// The request's other fields.
    pub shape: RequestShape,
    /// Tokens of the tool schemas as sent.
    pub tools_tokens: u32,
    /// Those of each alone, and of tools that are switched off, in the order in which they are offered.
    pub tool_costs: Vec<ToolCost>,
    /// How tokens were counted.
    pub encoding: Encoding,
    /// How sure the counts are.
    pub certainty: Certainty,
    /// The room.
    pub budget: Budget,
    /// Texts: instructions, state, notes, quoted reply, the request to go on.
    pub blocks: Vec<Block>,
    /// Asks the model to keep a state block, if the plan leaves out turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_request: Option<Block>,
    /// Turns of the path that are looked at, oldest first, the open one apart.
    pub turns: Vec<TurnInput>,
    /// Turns that are not.
    pub gaps: Vec<Gap>,
    /// The open turn. Its last user message also has a labelled form (see `labelled`).
    pub open: TurnInput,
    /// Extra tokens of the open turn's user message when it follows blocks in one message and so gets a label.
    pub labelled: u32,
    /// Marks on the path and on notes.
    pub marks: Vec<Mark>,
    /// Marks that sleep.
    pub inactive_marks: Vec<InactiveMark>,
    /// What was looked up, or could have been, and does not go; best first.
    pub near: Vec<NotSent>,
    /// What sources found, in the order in which it is sent and may take of the allowance.
    pub offers: Vec<Offer>,
    /// Tokens that mode, policy and the person's wish let everything take that is looked up. What is not spent goes to the
    /// window.
    pub allowance: u32,
    /// The retrieval sets that the cards among `blocks` come from.
    pub retrieval_set_ids: Vec<Hash>,
    /// The summaries among `blocks`, in the order in which they were accepted.
    #[serde(default)]
    pub summaries: Vec<SummaryInput>,
    /// Turns that they stand for: those of `turns`, and the last ones of gaps.
    pub covered: Vec<Covered>,
    /// Where the window started last time.
    pub anchor: Option<Anchor>,
    /// What gathering noticed.
    pub warnings: Vec<Warning>,
}
