//! The history of the code search: the symbols of the previous question, which a message without content keeps, and the
//! set that a call records.
//! Not for: searching (`code_search`), or the rounds of one turn (`rounds`).

use super::code_search::{own_words, read_message};
use crate::code::parse::words::Analyzer;
use crate::context::activation::HORIZON;
use crate::domain::base::{Failure, Fields, Hash};
use crate::domain::call::{CodeCandidate, CodeSet, Gate};
use crate::engine::indexing::code_workspace::CodeWorkspace;
use crate::engine::plans::input_builder::InputBuilder;
use crate::engine::plans::snapshot::Snapshot;

/// Returns a set without candidates.
pub(crate) fn set(snapshot: &Snapshot, workspace: &CodeWorkspace, query: &str, gate: Gate) -> CodeSet {
    let focus = snapshot.rules.code.as_ref().map(|rules| rules.focus.clone()).unwrap_or_default();
    let filters = Fields::new("code filters").optional(snapshot.head).json(&snapshot.rules.mode).json(&focus);
    CodeSet {
        id: Hash::default(),
        query: query.to_owned(),
        filters: filters.finish(),
        workspace: workspace_id(workspace),
        gate,
        mode: snapshot.rules.mode,
        focus,
        among: 0,
        candidates: Vec::new(),
        embedder: None,
    }
}

fn workspace_id(workspace: &CodeWorkspace) -> Hash {
    Fields::new("workspace").text(&workspace.own().to_string_lossy()).finish()
}

/// Returns whether a message has no content, such as "ok continue": it names nothing and attaches nothing.
pub(crate) fn is_follow_up(analyzer: &mut Analyzer, asked: &str) -> bool {
    let own = own_words(asked);
    if own.trim().is_empty() || own.len() != asked.len() {
        return false;
    }
    let read = read_message(analyzer, own);
    read.content.is_empty() && read.names.is_empty() && read.paths.is_empty()
}

/// Words at the beginning of a message that continue the subject before. Sorted.
const LINKS: [&str; 6] = ["also", "and", "but", "or", "so", "then"];
/// Words that refer to what was said before. Sorted.
const REFERENCES: [&str; 6] = ["its", "their", "them", "these", "they", "those"];
/// The maximum number of words of a message that continues the subject before.
const LONGEST_CONTINUATION: usize = 8;

/// Returns whether a message continues the subject before it, such as "and its callers?".
pub(crate) fn is_continuation(asked: &str) -> bool {
    let own = own_words(asked);
    let lower = own.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let links = words.first().is_some_and(|word| LINKS.contains(word));
    own.len() == asked.len()
        && words.len() <= LONGEST_CONTINUATION
        && (links || words.iter().any(|word| REFERENCES.contains(word)))
}

/// Returns the symbols that were sent with the newest turn of the path whose search brought any. Messages that only
/// continue the subject are passed over if theirs brought none. Empty if the search of another message brought nothing,
/// was made in another workspace, or was made under another focus: in these cases, the subject has changed.
pub(crate) fn kept(
    builder: &mut InputBuilder,
    snapshot: &Snapshot,
    workspace: &CodeWorkspace,
) -> Result<Vec<CodeCandidate>, Failure> {
    let tips: Vec<Hash> = snapshot.closed_tips().take(HORIZON).collect();
    let touches = builder.store().touches(snapshot.session, &tips)?;
    let focus = snapshot.rules.code.as_ref().map(|rules| rules.focus.as_slice()).unwrap_or_default();
    for id in tips.iter().filter_map(|tip| touches.get(tip)?.code_set) {
        let Some(set) = builder.store().code_set(id)? else { break };
        if set.workspace != workspace_id(workspace) || set.focus != focus {
            break;
        }
        let symbols: Vec<CodeCandidate> = set.sent().cloned().collect();
        if !symbols.is_empty() || !(is_continuation(&set.query) || is_follow_up(&mut builder.analyzer, &set.query)) {
            return Ok(symbols);
        }
    }
    Ok(Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_messages_that_refer_to_the_subject_continue_it() {
        for text in ["and its callers?", "Who uses them?", "Also the tests", "So what are those for?"] {
            assert!(is_continuation(text), "{text}");
        }
        for text in [
            "",
            "Who painted giraffes and elephants?",
            "Is it raining in Paris?",
            "and its callers?\n\nFile a.rs:\n```\nx\n```",
            "And please write a long letter to their mayor about trees",
        ] {
            assert!(!is_continuation(text), "{text}");
        }
    }
}
