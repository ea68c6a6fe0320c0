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
