//! Public ids: `UUIDv7` values in one type per kind of object, so that a branch's id cannot be mistaken for a
//! session's.
//! Not for: making ids (the engine, which has the clock) or identity by content (`Hash`).

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use uuid::Uuid;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// Returns whether the id as text starts with `text` (in lower case).
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
    /// The id of a session: one tree of messages with its branches.
    SessionId
);
id!(
    /// The id of a branch: a named pointer into a session's tree, with its marks.
    BranchId
);
id!(
    /// The id of a node: one message at one place in a tree.
    NodeId
);
id!(
    /// The id of a memory, which is stored independently of its message.
    MemoryId
);
id!(
    /// The id of a race: one prompt on several branches at once.
    RaceId
);
id!(
    /// The id of a run: one call to a model server, regardless of its outcome.
    RunId
);
