//! The panes of the chat, of which one has the keyboard focus.
//! Not for: screens over the chat (`screens`), or the size of panes (`panes`).

/// Which pane has the focus.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Focus {
    /// The composer.
    #[default]
    Composer,
    /// The conversation.
    Conversation,
    /// The branch tree.
    Branches,
    /// The tool calls.
    Tools,
    /// The next request.
    Context,
}

impl Focus {
    /// The panes in the order of the Tab key.
    pub const RING: [Self; 5] = [Self::Composer, Self::Conversation, Self::Context, Self::Branches, Self::Tools];
}
