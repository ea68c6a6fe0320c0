//! A person's acts on branches: marks, forks, heads, the state block, undo, comparing, picking, editing.
//! Not for: turns (`turns`).

pub(super) mod compare;
pub(super) mod editable;
mod file_notes;
pub(super) mod fork;
pub(super) mod mark_state;
pub(super) mod marks;
pub(super) mod pick;
pub(super) mod policy_files;
pub(super) mod state_block;
pub(super) mod undo;
pub(super) mod undo_skips;
