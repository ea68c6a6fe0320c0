//! Shell commands: running them, their environment, their output, and the description of their protection.
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
