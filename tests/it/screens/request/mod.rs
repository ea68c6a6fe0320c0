//! The screen of the request: its rows and tokens, and the requests that were sent.

mod counts;
mod overlay;
pub(crate) mod sent;
mod state_request;
