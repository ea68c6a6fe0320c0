//! A turn from sending to its end: the pure state machine, calls, tool calls, consent, the commit, and the turn-end
//! reflection.
//! Not for: planning it (`plans`).

pub(super) mod aside;
pub(super) mod claims;
pub(super) mod commit;
pub(super) mod consent;
pub(super) mod effects;
pub(super) mod item_use;
pub(super) mod limits;
pub(super) mod live;
pub mod machine;
pub(super) mod open_question;
pub(super) mod reflect;
mod reflect_code;
pub(super) mod runner;
pub(super) mod settle;
pub(super) mod state;
pub(super) mod state_suggestions;
pub(super) mod stream;
pub(super) mod tool_calls;
mod touched_item;
