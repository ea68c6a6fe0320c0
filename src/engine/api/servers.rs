//! Requests about tools and their servers.
//! Not for: rules about calls (`acts`), or the state of servers (`domain::tool::cards`).

use crate::domain::base::Hash;

/// A request about tools and their servers. [`List`](Self::List), [`Settle`](Self::Settle) and [`Test`](Self::Test) are
/// answered by [`ToolAnswer::ToolList`](super::ToolAnswer::ToolList), the others by [`Answer::Done`](super::Answer::Done).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ServerAct {
    /// List all tools and servers.
    List,
    /// List them after all servers have finished starting.
    Settle,
    /// Restart a server and list all tools once it runs.
    Test {
        /// The server's name.
        server: String,
    },
    /// Switch tools on or off on the branch (undoable).
    Switch {
        /// The keys of the tools.
        keys: Vec<String>,
        /// Whether to switch them on.
        on: bool,
    },
    Restart {
        /// The server's name.
        server: String,
    },
    /// Approve the current descriptions of a server's tools: all, or one.
    Approve {
        /// The server's name.
        server: String,
        /// The tool; all if `None`.
        tool: Option<String>,
    },
    /// Accept or reject the folder's own server file in its current form.
    File {
        /// The digest of the file.
        digest: Hash,
        /// Whether its servers are used.
        yes: bool,
    },
}
