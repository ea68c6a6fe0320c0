//! Requests about tools and their servers.
//! Not for: rules about calls (`request`), or the state of servers (`domain::tool::cards`).

use crate::domain::base::hash::Hash;

/// See the module. All but the first three are answered by [`Answer::Done`](super::Answer::Done).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ServerAct {
    /// How all of them stand now; answered by [`Answer::Toolbox`](super::Answer::Toolbox).
    List,
    /// The same, once none of them is still starting.
    Settle,
    /// Starts one anew, and then the same, once it stands.
    Test {
        /// Which.
        server: String,
    },
    /// Switches tools on or off on the branch (undoable), named by their keys.
    Switch {
        /// Which.
        keys: Vec<String>,
        /// On.
        on: bool,
    },
    /// Starts a server anew.
    Restart {
        /// Which.
        server: String,
    },
    /// Takes tools of a server as they are described now: all of it, or one.
    Approve {
        /// Whose.
        server: String,
        /// Which.
        tool: Option<String>,
    },
    /// What a person says to the folder's own file of servers, as it is now.
    File {
        /// Of which text.
        digest: Hash,
        /// Its servers are used.
        yes: bool,
    },
}
