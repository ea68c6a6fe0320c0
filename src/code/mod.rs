//! The code module: indexes the symbols of a workspace's source files and finds the symbols that a question is about.
//!
//! From a file to the index: [`parse::walk`] lists the files that git does not ignore, [`parse::language`] detects the
//! language, [`parse::file`] reads symbols, words, and references with a tree-sitter grammar, [`index::record`] is the
//! record of one file, [`index::records`] makes all records searchable, [`index::build`] creates and updates them, and
//! [`index::cache`] stores them between starts.
//!
//! From a question to code: [`find::query`] turns it into weighted terms, [`find::rank`] scores symbols, [`find::gate`]
//! decides whether to send any, [`find::choose`] applies the focus, and [`find::cards`] makes touchpoints of the best
//! that fit a budget. [`find::map`] draws the map of modules, and [`find::names`] finds symbols by part of their name.
//!
//! Settings and documents (TOML, YAML, Markdown) are indexed too: [`parse::file`] reads their tables, keys, and
//! headings as symbols. They do not change the scores of code, and rank like code only when a question asks for them.
//!
//! Not for: deciding what is sent (`context`), counting tokens (the caller passes a counter), or other text files.

pub mod symbol;
pub mod tuning;

#[cfg(test)]
mod enough_tests;
pub mod find;
#[cfg(test)]
mod focus_tests;
pub mod index;
#[cfg(test)]
mod index_tests;
pub mod parse;
#[cfg(test)]
mod parse_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod text_tests;
#[cfg(test)]
mod uses_tests;

/// Errors of the code module.
#[derive(Debug, thiserror::Error)]
pub enum CodeError {
    /// A folder that cannot be read.
    #[error("{path} can't be read: {error}")]
    Folder {
        /// The folder, as given.
        path: String,
        /// The cause.
        error: std::io::Error,
    },
    /// The caller asked to stop.
    #[error("indexing was stopped; the part that was done is kept")]
    Cancelled,
    /// The cache file cannot be written.
    #[error("the index could not be saved: {0}")]
    Cache(std::io::Error),
}
