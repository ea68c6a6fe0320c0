//! Writers of export formats from neutral records: JSON lines, which are exact, Markdown and HTML for reading, and
//! bundles, which also contain the recorded calls.
//! Not for: reading them back (`import`), or choosing the exported sessions and branches (`engine`).

mod bundle;
mod html;
mod jsonl;
mod markdown;
mod masking;
mod tree;

use crate::domain::call::bundle::{Bundle, WrittenBundle};
use crate::domain::conversation::Transcript;
use masking::masked;

/// Writes the whole tree as JSON lines in the import format, with secrets masked if `mask`. Reading them back gives the
/// same tree.
pub fn jsonl(transcript: &Transcript, mask: bool) -> String {
    jsonl::write(&masked(transcript, mask))
}

/// Writes the tree as Markdown, with secrets masked if `mask`: the current path first, and then every other branch from
/// where it diverges.
pub fn markdown(transcript: &Transcript, mask: bool) -> String {
    markdown::write(&masked(transcript, mask))
}

/// Writes one HTML file without scripts, with secrets masked if `mask`: the current path with the other answers listed
/// at each branch point, or the whole tree if `whole`.
pub fn html(transcript: &Transcript, mask: bool, whole: bool) -> String {
    html::write(&masked(transcript, mask), whole)
}

/// Writes a bundle: the messages as in JSON lines, the plans, searches, calls, and tool calls, one record per line.
/// Secrets are always masked, and each record has a hash that covers it and all records before it.
pub fn bundle(bundle: &Bundle) -> WrittenBundle {
    bundle::write(bundle)
}

#[cfg(test)]
mod tests;
