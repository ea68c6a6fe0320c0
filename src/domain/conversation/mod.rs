//! The elements of a conversation: messages, their tree, branches, marks, lanes, tags, tasks, state blocks, memories,
//! and the operations that change them.
//! Not for: the content of a call (`planning`).

pub mod activation;
pub mod attachment;
pub mod branch;
pub mod compare;
pub mod lane;
pub mod lane_use;
pub mod mark;
pub mod memory;
pub mod message;
pub mod operation;
pub mod record;
pub mod resolve;
pub mod search;
pub mod state;
pub mod state_suggestions;
pub mod tag;
pub mod task;
pub mod transition;
pub mod tree;

pub use activation::{Activation, SymbolTouch, Touch, Touches};
pub use branch::{Branch, Overrides, SessionCard, StateVersion};
pub use compare::{Ancestor, ComparedMessage, Comparison, Side};
pub use lane::Lane;
pub use lane_use::LaneUse;
pub use mark::{Actor, Atom, LeaseTurns, Mark, MarkKind};
pub use memory::{Memory, MemoryKind, MemoryStatus, Scope};
pub use message::{Content, End, Node, NodeHead, Part, Role};
pub use operation::{Change, Operation};
pub use record::{
    BranchPointer, ImportResult, ImportedFile, IncomingPieces, Piece, PieceReader, PlacedRecord, Record, Report,
    Skipped, Transcript,
};
pub use search::{FoundMessage, FoundMessages, SearchFilter};
pub use state_suggestions::SuggestedPin;
pub use tag::{Tag, TagFilter};
pub use task::TaskSpan;
pub use transition::{ItemState, Subject, Transition};
pub use tree::{Slot, Tree};
