//! Full-text search over messages.
//! Not for: retrieval into prompts, or titles of sessions (there are few; the caller searches the cards).

use crate::domain::base::{NodeId, SessionId};
use crate::store::Store;
use crate::store::sql::{all_rows, int, session_row};
use crate::store::types::StoreError;

/// The maximum number of words of a search that are used; more would only cost time.
const MAX_WORDS: usize = 32;

impl Store {
    /// Returns the sessions of the `limit` messages that contain all these words, the best match first. The last word
    /// may be a prefix.
    pub fn search(&self, words: &str, limit: usize) -> Result<Vec<SessionId>, StoreError> {
        let Some(words) = expression(words) else { return Ok(Vec::new()) };
        let sql = "SELECT session.id
                 FROM search JOIN node ON node.n = search.rowid JOIN session ON session.n = node.session
                 WHERE search MATCH ?1 AND search.rank MATCH 'bm25(0.0, 1.0)' ORDER BY search.rank LIMIT ?2";
        self.read(|conn| all_rows(conn, sql, (words, int(limit as u64)), |row| row.get(0)))
    }

    /// Returns the newest messages of a session that contain these words as a phrase. Does not rank, because that would
    /// read the index entries of every message of the session.
    pub fn newest_with(&self, words: &str, session: SessionId, limit: usize) -> Result<Vec<NodeId>, StoreError> {
        self.read(|conn| {
            let Some(n) = session_row(conn, session)? else { return Ok(Vec::new()) };
            let words = words.replace('\0', " ").replace('"', "\"\"");
            let expression = format!("session : s{n} AND words : \"{words}\"");
            let sql = "SELECT node.id FROM search JOIN node ON node.n = search.rowid
                 WHERE search MATCH ?1 ORDER BY search.rowid DESC LIMIT ?2";
            all_rows(conn, sql, (expression, int(limit as u64)), |row| row.get(0))
        })
    }
}

/// Returns the typed words as an FTS5 expression without operators, or `None` if there is no word.
fn expression(typed: &str) -> Option<String> {
    let cleaned = typed.replace('\0', " ");
    let words: Vec<String> = cleaned
        .split_whitespace()
        .filter(|word| word.chars().any(char::is_alphanumeric))
        .take(MAX_WORDS)
        .map(str::to_owned)
        .collect();
    let last = words.last()?;
    let open = !cleaned.ends_with(char::is_whitespace) && last.chars().count() >= 3;
    Some(phrases(&words, open))
}

/// Returns an FTS5 expression that matches all phrases; with `open`, the last one may end with a prefix.
pub(crate) fn phrases(all: &[String], open: bool) -> String {
    let quoted: Vec<String> = all.iter().map(|word| format!("\"{}\"", word.replace('"', "\"\""))).collect();
    format!("words : ({}{})", quoted.join(" AND "), if open { " *" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_operators_are_plain_words() {
        assert_eq!(expression("a NOT b").as_deref(), Some("words : (\"a\" AND \"NOT\" AND \"b\")"));
        assert_eq!(expression("say \"hi").as_deref(), Some("words : (\"say\" AND \"\"\"hi\" *)"));
        assert_eq!(expression("done ").as_deref(), Some("words : (\"done\")"));
        assert_eq!(expression("-- ()* \0"), None);
    }
}
