//! The code room: knows the symbols of a workspace's source files and finds those that a question is about.
//!
//! From a file to the index: [`parse::walk`] lists what git does not ignore, [`parse::language`] names the language,
//! [`parse::file`] reads symbols, words and references with a tree-sitter grammar, [`index::record`] is what is kept of
//! one file, [`index::records`] holds all of them so that they can be searched, [`index::build`] makes and renews them, and
//! [`index::cache`] keeps them between starts.
//! From a question to code: [`find::query`] turns it into weighted terms, [`find::rank`] scores symbols, [`find::choose`]
//! says whether any go unasked and what a focus changes, and [`find::cards`] makes touchpoints of the best that fit a
//! budget. [`find::map`] draws the map of modules; [`find::names`] finds symbols by part of their name.
//!
//! Not for: what of the found is sent (`context`), counting tokens (a counter is handed in), text files without symbols.

pub mod symbol;
pub mod tuning;

pub mod find;
#[cfg(test)]
mod focus_tests;
pub mod index;
pub mod parse;
#[cfg(test)]
mod tests;

/// What can go wrong in the code room.
#[derive(Debug, thiserror::Error)]
pub enum CodeError {
    /// A folder cannot be walked at all.
    #[error("{path} can't be read: {error}")]
    Folder {
        /// The folder, as given.
        path: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// Somebody asked to stop.
    #[error("indexing was stopped; the part that was done is kept")]
    Cancelled,
    /// The cache file cannot be written.
    #[error("the index could not be saved: {0}")]
    Cache(std::io::Error),
}
