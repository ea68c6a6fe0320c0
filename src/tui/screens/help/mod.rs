//! All keys, and which keys may follow the first of several.
//! Not for: guides.

pub(crate) mod view;
pub(crate) mod view_next_keys;
