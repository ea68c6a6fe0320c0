//! Public identities: `UUIDv7` behind one type a noun, so that a branch is never taken for a session.
//! Not for: making new ids (the engine does, it owns the clock) or content identity (that is `Hash`).

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use uuid::Uuid;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// Whether its text begins so, in lower case.
            #[must_use]
            pub fn begins(&self, text: &str) -> bool {
                self.0.hyphenated().encode_lower(&mut Uuid::encode_buffer()).starts_with(text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, uuid::Error> {
                text.parse().map(Self)
            }
        }
    };
}

id!(
    /// A session: one tree of messages with its branches.
    SessionId
);
id!(
    /// A branch: a named pointer into a session's tree, with its marks.
    BranchId
);
id!(
    /// A node: one message at one place of a tree.
    NodeId
);
id!(
    /// A memory: something that is to be known beyond the message that said it.
    MemoryId
);
id!(
    /// A race: one prompt on several branches at once.
    RaceId
);
id!(
    /// A run: one call to a model server, whatever became of it.
    RunId
);
