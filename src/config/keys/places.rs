//! The places on the screen where a key binding is active.
//! Not for: the key table (`keymap`), or which place has the focus (the screen).

use serde::Deserialize;

/// Where the focus must be for a binding to be active.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum When {
    /// Everywhere.
    Always,
    /// In the composer.
    Composer,
    /// In any panel or full-screen list.
    Panel,
    /// In the conversation.
    Conversation,
    /// In the branch tree.
    Branches,
    /// In the list of tool calls.
    Tools,
    /// In the context overlay.
    Overlay,
    /// In a list that typing filters.
    Picker,
    /// In a text editor other than the composer.
    Editor,
    /// In the draft of a summary, and in the list of summaries.
    Drafts,
    /// In side-by-side comparisons: what if, replays, races.
    Trials,
    /// In the call history, and in the difference between two calls.
    Calls,
    /// In the comparison of two branches.
    Compare,
    /// In the session tree.
    Tree,
    /// In the usage charts.
    Stats,
    /// In the editors of state, summaries, memories, and policies.
    Workshop,
    /// In the exact request.
    Request,
    /// In the approval of a tool call.
    Consent,
    /// In the list of tools and MCP servers.
    Toolbox,
}

impl When {
    /// Returns the title of the place in the help.
    pub fn title(self) -> &'static str {
        match self {
            Self::Always => "everywhere",
            Self::Composer => "composer",
            Self::Panel => "panels and lists",
            Self::Conversation => "conversation",
            Self::Branches => "branches",
            Self::Tools => "tool calls",
            Self::Overlay => "next request",
            Self::Picker => "pickers",
            Self::Editor => "text editors",
            Self::Drafts => "summaries",
            Self::Trials => "what if, replays, races",
            Self::Calls => "call history",
            Self::Compare => "branch comparison",
            Self::Tree => "tree",
            Self::Stats => "usage",
            Self::Workshop => "editors of state, summaries, memories, policies",
            Self::Request => "exact request",
            Self::Consent => "approval",
            Self::Toolbox => "tools and MCP servers",
        }
    }

    /// All places, in the order of the help.
    pub const ALL: [Self; 19] = [
        Self::Always,
        Self::Composer,
        Self::Panel,
        Self::Conversation,
        Self::Branches,
        Self::Tree,
        Self::Overlay,
        Self::Request,
        Self::Tools,
        Self::Drafts,
        Self::Trials,
        Self::Calls,
        Self::Stats,
        Self::Workshop,
        Self::Compare,
        Self::Consent,
        Self::Toolbox,
        Self::Picker,
        Self::Editor,
    ];
}
