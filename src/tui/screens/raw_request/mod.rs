//! The exact bytes of a request, by parts; edited once by hand.
//! Not for: its rows (`request`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;
