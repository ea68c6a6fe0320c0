//! Errors that prevent a call to a model.
//! Not for: errors of servers (`fault`).

/// Why a model is not available. Never contains a key.
#[derive(Debug, thiserror::Error)]
pub enum LlmError {
    /// A key is needed and none was found.
    #[error("profile {profile} needs a key, but there is none: {why}")]
    NoKey { profile: String, why: String },
    /// The key command failed.
    #[error("the key command of profile {profile} failed: {why}")]
    KeyCommand {
        profile: String,
        /// What went wrong.
        why: String,
    },
    /// The base URL is invalid.
    #[error("the base_url of profile {profile} is not the address of a server: {why}")]
    Address {
        profile: String,
        /// What is wrong with it.
        why: String,
    },
    /// A header (or the key, which becomes one) contains characters that headers cannot have.
    #[error("the header {name} of profile {profile} has characters that can't be sent")]
    Header {
        profile: String,
        /// The header's name.
        name: String,
    },
    /// The HTTP client cannot be created.
    #[error("the HTTP client can't be started: {0}")]
    Client(String),
    /// A recording cannot be read.
    #[error("the recording {path} can't be read: {why}")]
    Recording {
        path: String,
        /// The problem, with the line number if it concerns a line.
        why: String,
    },
}

/// Returns the first `limit` characters, with an ellipsis in place of the last if the text was longer.
pub(crate) fn clip(text: &str, limit: usize) -> String {
    if text.chars().nth(limit).is_none() {
        return text.to_owned();
    }
    let mut kept: String = text.chars().take(limit.saturating_sub(1)).collect();
    kept.push('…');
    kept
}
