//! The places of the screen where a binding of the key table counts.
//! Not for: the key table (`keymap`), or which place has the focus (the screen knows).

use serde::Deserialize;

/// Where the focus must be for a binding to count.
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
    /// In a list that is filtered by typing.
    Picker,
    /// In a text editor other than the composer.
    Editor,
    /// On the draft of a summary, and in the list of summaries.
    Drafts,
    /// Among calls side by side: what if, replays, races.
    Trials,
    /// In the list of calls, and in what differs between two of them.
    Calls,
    /// On two branches side by side.
    Compare,
    /// In the whole tree of the session.
    Tree,
    /// In the charts of what calls came to.
    Stats,
    /// Among state, summaries, memories and policies with their versions.
    Workshop,
    /// On the exact bytes of a request.
    Request,
    /// On a call to a tool that waits for a word.
    Consent,
    /// Among tools and their servers.
    Toolbox,
}

impl When {
    /// Its name in the key table.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Always => "everywhere",
            Self::Composer => "composer",
            Self::Panel => "panels and lists",
            Self::Conversation => "conversation",
            Self::Branches => "branches",
            Self::Tools => "tools",
            Self::Overlay => "context overlay",
            Self::Picker => "pickers",
            Self::Editor => "editors",
            Self::Drafts => "summaries",
            Self::Trials => "what if, replays, races",
            Self::Calls => "calls",
            Self::Compare => "two branches",
            Self::Tree => "tree",
            Self::Stats => "what calls came to",
            Self::Workshop => "state, summaries, memories, policies",
            Self::Request => "exact request",
            Self::Consent => "a tool that asks",
            Self::Toolbox => "tools and servers",
        }
    }

    /// All of them, in the order of the help.
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
