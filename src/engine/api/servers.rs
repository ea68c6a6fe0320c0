//! Requests about tools and their servers.
//! Not for: rules about calls (`request`), or the state of servers (`domain::tool::cards`).

use crate::domain::base::hash::Hash;

/// See the module. All but the first three are answered by [`Answer::Done`](super::Answer::Done).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ServerAct {
    /// Show all tools and servers. Answered by [`Answer::Toolbox`](super::Answer::Toolbox).
    List,
    /// The same, after all servers have finished starting.
    Settle,
    /// Restart a server, then the same once it runs.
    Test {
        /// Which.
        server: String,
    },
    /// Switch tools on or off on the branch (undoable).
    Switch {
        /// Which.
        keys: Vec<String>,
        /// On.
        on: bool,
    },
    /// Restart a server.
    Restart {
        /// Which.
        server: String,
    },
    /// Approve the present descriptions of a server's tools: all, or one.
    Approve {
        /// The branch.
        server: String,
        /// Which.
        tool: Option<String>,
    },
    /// Accept or reject the folder's own server file in its present form.
    File {
        /// The digest of the file.
        digest: Hash,
        /// Whether its servers are used.
        yes: bool,
    },
}
