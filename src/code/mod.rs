//! The code room: knows the symbols of a workspace's source files and finds those that a question is about.
//!
//! The way of a file: [`walk`] lists what git does not ignore → [`language`] says what it is written in → [`parse`] reads its
//! symbols, words and references with a tree-sitter grammar → [`record`] is what is kept of it → [`index`](mod@index) holds the
//! records of all files so that they can be searched, [`build`] makes and renews it, [`cache`] keeps it between starts.
//! The way of a question: [`query`] turns it into weighted terms → [`rank`] scores symbols → [`choose`] says whether any go unasked, and
//! what a focus changes → [`cards`] makes touchpoints of the best that fit a budget. [`scaffold`] draws the map of modules; [`names`] finds symbols by what is typed of them.
//!
//! Not for: what of the found is sent (`context`), counting tokens (a counter is handed in), text files without symbols.

pub mod arrived;
pub mod build;
pub mod cache;
pub mod cards;
pub mod choose;
mod codec;
mod declarator;
mod doc;
pub mod graph;
pub mod index;
pub mod language;
mod lead;
pub mod module;
pub mod names;
pub mod parse;
mod postings;
pub mod query;
pub mod rank;
pub mod record;
pub mod scaffold;
mod spec;
pub mod symbol;
pub mod tuning;
pub mod walk;
pub mod words;

#[cfg(test)]
mod focus_tests;
#[cfg(test)]
mod tests;

/// What can go wrong in the code room.
#[derive(Debug, thiserror::Error)]
pub enum CodeError {
    /// A folder cannot be walked at all.
    #[error("{path} cannot be read: {error}")]
    Folder {
        /// The folder, as given.
        path: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// Somebody asked to stop.
    #[error("indexing was cancelled; what was done so far is kept")]
    Cancelled,
    /// The cache file cannot be written.
    #[error("the index could not be saved: {0}")]
    Cache(std::io::Error),
}
