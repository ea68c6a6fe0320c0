//! Commands that a call runs: how one starts, what it finds in its environment and in its folder, and what protection it has.
//! Not for: the protection itself (`sandbox`).

#[cfg(unix)]
pub(super) mod credentials;
#[cfg(unix)]
pub(super) mod environment;
#[cfg(unix)]
pub(super) mod output;
#[cfg(unix)]
pub(super) mod protection;
#[cfg(unix)]
pub(super) mod run;
#[cfg(unix)]
pub(super) mod scratch;
