//! Policies, layouts, and the sections of a prompt, as data.
//! Not for: applying them (`context`) or reading their files (`config`).

use super::tuning::{Adaptive, Lanes, Levels, Relevance, TurnSelection};
use crate::domain::base::named_enum::named_enum;
use crate::domain::conversation::activation::Activation;
use crate::domain::summary::draft::AutoSummarySettings;
use serde::{Deserialize, Serialize};

named_enum! {
    /// A section of the prompt. Every included row is in exactly one.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, PartialOrd, Ord)]
    pub enum Section {
        /// The program's (or the person's) instructions.
        System = "system" => "system",
        Personality = "personality" => "personality",
        /// Guidelines for reading history and state.
        Guidelines = "guidelines" => "guidelines",
        /// The state block.
        State = "state" => "state",
        /// Permanent pins.
        StickyPins = "sticky_pins" => "pins",
        SessionSummary = "session_summary" => "session summary",
        LaneSummary = "lane_summary" => "summary",
        /// The code map, rules, and module summaries.
        Orientation = "orientation" => "rules, code map",
        /// Retrieved cards.
        Retrieved = "retrieved" => "found",
        /// Leased pins and items included once.
        LeasedPins = "leased_pins" => "leases",
        /// The window of recent turns.
        Recent = "recent" => "recent turns",
        /// The message replied to.
        QuotedReply = "quoted_reply" => "quoted reply",
        /// The open turn: the user's message, and what followed it so far.
        UserMessage = "user_message" => "your message",
        /// Items that a later request of the turn adds after the tool results, so that everything before them stays
        /// unchanged: rules of a folder that a tool touched, and the solution of an error that recurred.
        DuringTurn = "during_turn" => "added during the turn",
    }
    /// Returns the display title.
    pub fn title
}

impl Section {
    /// Returns whether the section's rows are attached to the question: marked, retrieved, or summarized for it. Turns
    /// of the window are not, nor are texts sent with every call.
    pub fn is_attached(self) -> bool {
        match self {
            Self::StickyPins
            | Self::SessionSummary
            | Self::LaneSummary
            | Self::Retrieved
            | Self::LeasedPins
            | Self::QuotedReply
            | Self::DuringTurn => true,
            Self::System
            | Self::Personality
            | Self::Guidelines
            | Self::State
            | Self::Orientation
            | Self::Recent
            | Self::UserMessage => false,
        }
    }
}

named_enum! {
    /// The order of the sections in the request and on the screen.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, Default)]
    pub enum Layout {
        /// Instructions, state, pins, and summaries first, then the turns.
        Classic = "classic",
        /// Sections that rarely change first, then the turns, then sections that change with each call, so that a server
        /// can reuse most of its cache.
        #[default]
        CacheFriendly = "cache_friendly",
    }
}

impl Layout {
    /// Parses a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|layout| layout.name() == name)
    }

    /// Returns the sections in order.
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
                S::DuringTurn,
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
                S::DuringTurn,
            ],
        }
    }
}

/// The switches and numbers that a policy may set. Hard rules (the budget, whole atoms, permanent pins, the open turn)
/// are not among them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PolicySpec {
    /// The name (the file's stem).
    #[serde(skip_deserializing)]
    pub name: String,
    /// A description in one sentence.
    pub about: String,
    /// The version, which changes with the meaning of the policy.
    pub version: u32,
    /// Maximum number of turns in the window; 0 means all.
    pub window_turns: u32,
    /// Whether the window's start stays fixed until the window overflows. It then moves forward so that the history
    /// takes at most `refill_percent` of the room. It moves back only while the history takes less than that.
    pub anchored: bool,
    /// See `anchored`.
    pub refill_percent: u32,
    /// Whether older messages are searched for the message, within the mode's limits.
    pub retrieval: bool,
    /// Whether only messages of the branch's lane are searched, unless `lane_window` limits the window to that lane.
    pub one_lane: bool,
    /// Whether the window is limited to the lane that a person chose on the branch, if any. Other lanes can still be
    /// found. Only for `recent`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lane_window: bool,
    /// Whether tool results of closed turns are shortened before turns are dropped.
    pub shorten_tools: bool,
    /// Cap on the prompt in tokens; 0 means the model's own limit.
    pub user_cap: u32,
    /// The default order of the sections.
    pub layout: Layout,
    /// Whether the model is asked for a state block.
    pub state_block: StateBlock,
    /// Tokens that all leases may take together.
    pub leased_cap_tokens: u32,
    /// Number of turns of a new lease.
    pub lease_turns: u32,
    /// Numbers for automatic leases and suggested pins.
    pub activation: Activation,
    /// Whether the solution of an earlier error is quoted when a tool fails in the same way again.
    pub error_pairs: bool,
    /// How turns are chosen: `recent`, `lane`, `relevance`, or `levels`.
    pub choose: TurnSelection,
    /// Numbers for `lane`.
    pub lanes: Lanes,
    /// Weights for `relevance`.
    pub relevance: Relevance,
    /// The adaptive size for `relevance`.
    pub adaptive: Adaptive,
    /// Numbers for `levels`.
    pub levels: Levels,
    /// Automatic summaries (`[summaries]` in a file). They are written under their original name, because requests are
    /// identified by a digest of their policy.
    #[serde(rename(serialize = "compaction", deserialize = "summaries"), alias = "compaction")]
    pub auto_summaries: AutoSummarySettings,
}

impl PolicySpec {
    /// Returns whether the window contains only turns of one lane. `chosen` is whether a person chose the branch's
    /// lane.
    pub fn keeps_to_lane(&self, chosen: bool) -> bool {
        self.choose == TurnSelection::Lane || (self.lane_window && chosen)
    }

    /// Returns whether the policy may leave out turns that would fit.
    pub fn withholds(&self) -> bool {
        self.choose != TurnSelection::Recent || self.lane_window
    }
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
            lane_window: false,
            shorten_tools: true,
            user_cap: 0,
            layout: Layout::default(),
            state_block: StateBlock::Required,
            leased_cap_tokens: 2_048,
            lease_turns: 15,
            activation: Activation::default(),
            error_pairs: true,
            choose: TurnSelection::default(),
            lanes: Lanes::default(),
            relevance: Relevance::default(),
            adaptive: Adaptive::default(),
            levels: Levels::default(),
            auto_summaries: AutoSummarySettings::default(),
        }
    }
}

/// Whether the model is asked to keep a state block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum StateBlock {
    /// Requested from the first request that leaves out turns; a missing block is reported.
    Auto,
    /// Requested with every answer; a missing block is reported.
    #[default]
    #[serde(alias = "on")]
    Required,
    /// Requested with every answer; a missing block is not reported.
    Optional,
    /// Neither requested nor sent.
    Off,
}
