//! The screens that open over the chat, one folder each: its `model`, its `update`, its `view`.
//! Not for: the chat itself (`chat`).

pub mod approval;
pub mod aside;
pub mod calls;
pub mod compare;
pub mod editor;
pub(crate) mod help;
pub(crate) mod memories;
pub mod picker;
pub mod race;
pub mod raw_request;
pub mod request;
pub mod search;
pub mod summaries;
pub mod tools;
pub mod traces;
pub mod tree;
pub mod usage;
pub mod what_if;
