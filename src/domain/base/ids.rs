//! Public ids: a `UUIDv7` in one type per noun, so that a branch cannot be mistaken for a session.
//! Not for: making ids (the engine, which has the clock) or content identity (`Hash`).

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
            /// Whether its text starts with `text` (lower case).
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
    /// A node: one message at one place in a tree.
    NodeId
);
id!(
    /// A memory: something that stays known beyond the message that said it.
    MemoryId
);
id!(
    /// A race: one prompt on several branches at once.
    RaceId
);
id!(
    /// A run: one call to a model server, whatever its outcome.
    RunId
);
