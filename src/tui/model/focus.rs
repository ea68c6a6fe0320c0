//! The panes of the chat: the composer, the conversation, and the panels. One of them has the keyboard focus.
//! Not for: screens over the chat (`screens`), or the sizes of panels (`panels`).

/// A pane, which can have the keyboard focus.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Focus {
    #[default]
    Composer,
    Conversation,
    /// The branches panel.
    Branches,
    /// The tools panel.
    Tools,
    /// The panel of the next request.
    Context,
}

impl Focus {
    /// The panes in the order of the Tab key.
    pub const RING: [Self; 5] = [Self::Composer, Self::Conversation, Self::Context, Self::Branches, Self::Tools];
}
