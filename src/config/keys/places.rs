//! The places on the screen where a key binding is active.
//! Not for: the key table (`keymap`), or which place has the focus (the screen).

use serde::Deserialize;

macro_rules! places {
    ($($variant:ident $title:literal $doc:literal $(was $was:literal)?),* $(,)?) => {
        /// Where the focus must be for a binding to be active.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum KeyPlace { $(#[doc = $doc] $(#[serde(alias = $was)])? $variant,)* }

        impl KeyPlace {
            /// All places, in the order of the help.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the title of the place in the help.
            pub fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }

            /// Whether the place is on a screen over the chat.
            pub fn is_on_screen(self) -> bool {
                let chat = [Self::Always, Self::Composer, Self::Panel, Self::Conversation, Self::Branches];
                !chat.contains(&self) && !matches!(self, Self::Picker | Self::Editor)
            }
        }
    };
}

places! {
    Always "everywhere" "Everywhere.",
    Composer "composer" "In the composer.",
    Panel "panels and lists" "In any panel or full-screen list.",
    Conversation "conversation" "In the conversation.",
    Branches "branches" "In the branch tree.",
    Tree "tree" "In the session tree.",
    Overlay "next request, sent request" "In the request screen: the next request, or a request that was sent.",
    Request "exact request" "In the exact request.",
    Tools "tool calls" "In the list of tool calls.",
    Summaries "summaries" "In a summary draft, and in the list of summaries." was "drafts",
    Variants "what if, replays, races" "In side-by-side comparisons: what if, replays, races." was "trials",
    Calls "call history" "In the call history, and in the comparison of two calls.",
    Usage "usage" "In the usage charts." was "stats",
    Editors "editors of state, summaries, memories, policies" "In the editors." was "workshop",
    Compare "branch comparison" "In the comparison of two branches.",
    Approval "approval" "In the approval of a tool call." was "consent",
    Mcp "tools and MCP servers" "In the list of tools and MCP servers." was "toolbox",
    Picker "pickers" "In a list that filters as you type.",
    Editor "text editors" "In a text editor other than the composer.",
}
