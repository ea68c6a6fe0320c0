//! Policies, layouts and the sections of a prompt, as data.
//! Not for: applying them (`context`) or reading their files (`config`).

use super::tuning::{Adaptive, Choose, Lanes, Levels, Relevance};
use crate::domain::conversation::activation::Activation;
use crate::domain::summary::draft::Compaction;
use serde::{Deserialize, Serialize};

/// A section of the prompt. Every included row stands in exactly one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// The program's (or the person's) instructions.
    System,
    /// How the model should be.
    Personality,
    /// How history and state are to be read.
    Guidelines,
    /// The state block.
    State,
    /// Sticky pins.
    StickyPins,
    /// Summary of the session.
    SessionSummary,
    /// Summary of the lane.
    LaneSummary,
    /// Scaffold and capsules.
    Orientation,
    /// Retrieved cards.
    Retrieved,
    /// Leased pins and items included once.
    LeasedPins,
    /// The window of recent turns.
    Recent,
    /// The message that is replied to.
    QuotedReply,
    /// The open turn: the message now asked, and what came of it so far.
    UserMessage,
}

impl Section {
    /// Its name in JSON and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Personality => "personality",
            Self::Guidelines => "guidelines",
            Self::State => "state",
            Self::StickyPins => "sticky_pins",
            Self::SessionSummary => "session_summary",
            Self::LaneSummary => "lane_summary",
            Self::Orientation => "orientation",
            Self::Retrieved => "retrieved",
            Self::LeasedPins => "leased_pins",
            Self::Recent => "recent",
            Self::QuotedReply => "quoted_reply",
            Self::UserMessage => "user_message",
        }
    }

    /// Whether its rows are attached to the message that is asked: marked, looked up or summed up for it. The turns are not,
    /// nor are the texts that go with every call.
    #[must_use]
    pub fn is_attached(self) -> bool {
        match self {
            Self::StickyPins
            | Self::SessionSummary
            | Self::LaneSummary
            | Self::Orientation
            | Self::Retrieved
            | Self::LeasedPins
            | Self::QuotedReply => true,
            Self::System | Self::Personality | Self::Guidelines | Self::State | Self::Recent | Self::UserMessage => {
                false
            }
        }
    }

    /// Its title for people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Personality => "personality",
            Self::Guidelines => "guidelines",
            Self::State => "state",
            Self::StickyPins => "sticky pins",
            Self::SessionSummary => "session summary",
            Self::LaneSummary => "lane summary",
            Self::Orientation => "orientation",
            Self::Retrieved => "retrieved",
            Self::LeasedPins => "leased pins",
            Self::Recent => "recent turns",
            Self::QuotedReply => "quoted reply",
            Self::UserMessage => "your message",
        }
    }
}

/// The order of the sections on the wire and on the screen.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// Instructions, state, pins and summaries first, then the turns.
    Classic,
    /// What rarely changes first, then the turns, then what changes with each call: a server's cache can reuse most of it.
    #[default]
    CacheFriendly,
}

impl Layout {
    /// Its name in configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::CacheFriendly => "cache_friendly",
        }
    }

    /// Reads a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Classic, Self::CacheFriendly].into_iter().find(|layout| layout.name() == name)
    }

    /// The sections in order.
    #[must_use]
    pub fn sections(self) -> &'static [Section] {
        use Section as S;
        match self {
            Self::Classic => &[
                S::System,
                S::Personality,
                S::Guidelines,
                S::State,
                S::StickyPins,
                S::SessionSummary,
                S::LaneSummary,
                S::Orientation,
                S::Retrieved,
                S::LeasedPins,
                S::Recent,
                S::QuotedReply,
                S::UserMessage,
            ],
            Self::CacheFriendly => &[
                S::System,
                S::Personality,
                S::Guidelines,
                S::StickyPins,
                S::Orientation,
                S::Recent,
                S::State,
                S::SessionSummary,
                S::LaneSummary,
                S::Retrieved,
                S::LeasedPins,
                S::QuotedReply,
                S::UserMessage,
            ],
        }
    }
}

/// What a policy may decide. Hard rules (budget, whole atoms, sticky pins, the open turn) are not among it.
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of its own, named in policy files")]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PolicySpec {
    /// Its name (the file's stem).
    #[serde(skip_deserializing)]
    pub name: String,
    /// One sentence.
    pub about: String,
    /// Changes when its meaning does.
    pub version: u32,
    /// How many of the last turns are in the window; 0 is all.
    pub window_turns: u32,
    /// Keep the window's start fixed until it overflows, then drop to `refill_percent` at once; reach back only while less
    /// than that is used.
    pub anchored: bool,
    /// See `anchored`.
    pub refill_percent: u32,
    /// Look through older messages for what fits the message, as far as the mode allows.
    pub retrieval: bool,
    /// Look only through messages of the branch's lane.
    pub one_lane: bool,
    /// Shorten tool results of closed turns under budget pressure before turns are dropped.
    pub shorten_tools: bool,
    /// Cap on the prompt in tokens; 0 leaves the model's own limit.
    pub user_cap: u32,
    /// The order of the sections, where nobody chose one.
    pub layout: Layout,
    /// Ask for a state block: `required`, `optional` or `off`.
    pub state_block: StateBlock,
    /// Tokens that leased pins may take together.
    pub leased_cap_tokens: u32,
    /// Turns that a new lease lasts.
    pub lease_turns: u32,
    /// What the program leases and suggests by itself.
    pub activation: Activation,
    /// Bring back how an error was resolved when a tool fails in the same way again.
    pub error_pairs: bool,
    /// How turns are chosen: `recent`, `lane`, `relevance` or `levels`.
    pub choose: Choose,
    /// For `lane`.
    pub lanes: Lanes,
    /// Weights for `relevance`.
    pub relevance: Relevance,
    /// The moving size for `relevance`.
    pub adaptive: Adaptive,
    /// For `levels`.
    pub levels: Levels,
    /// Summaries that are made by themselves.
    pub compaction: Compaction,
}

impl Default for PolicySpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            about: String::new(),
            version: 1,
            window_turns: 0,
            anchored: true,
            refill_percent: 70,
            retrieval: true,
            one_lane: true,
            shorten_tools: true,
            user_cap: 0,
            layout: Layout::default(),
            state_block: StateBlock::Required,
            leased_cap_tokens: 2_048,
            lease_turns: 15,
            activation: Activation::default(),
            error_pairs: true,
            choose: Choose::default(),
            lanes: Lanes::default(),
            relevance: Relevance::default(),
            adaptive: Adaptive::default(),
            levels: Levels::default(),
            compaction: Compaction::default(),
        }
    }
}

/// Whether the model is asked to keep a state block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum StateBlock {
    /// Asked for from the first request on that leaves out turns; a missing one is mentioned.
    Auto,
    /// Asked for with every answer; a missing one is mentioned.
    #[default]
    #[serde(alias = "on")]
    Required,
    /// Asked for; a missing one is not mentioned.
    Optional,
    /// Not asked for and not sent.
    Off,
}
