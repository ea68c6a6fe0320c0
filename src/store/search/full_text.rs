//! Full-text search over messages.
//! Not for: retrieval into prompts, or titles of sessions (there are few; the caller searches the cards).

use crate::domain::base::ids::{NodeId, SessionId};
use crate::store::Store;
use crate::store::sql::int;
use crate::store::types::{SearchHit, StoreError};
use rusqlite::OptionalExtension;

/// The maximum number of words of a search that are used; more would only cost time.
const MAX_WORDS: usize = 32;

impl Store {
    /// Returns the messages that contain all these words, best first, optionally of one session. The last word may be a
    /// prefix.
    pub fn search(&self, words: &str, session: Option<SessionId>, limit: usize) -> Result<Vec<SearchHit>, StoreError> {
        let Some(words) = expression(words) else { return Ok(Vec::new()) };
        self.read(|conn| {
            let scope = match session {
                None => None,
                Some(id) => {
                    let mut query = conn.prepare_cached("SELECT n FROM session WHERE id = ?1")?;
                    match query.query_row([id], |row| row.get::<_, i64>(0)).optional()? {
                        Some(n) => Some(n),
                        None => return Ok(Vec::new()),
                    }
                }
            };
            // The session is part of the match expression: a filter after it would rank the messages of all sessions
            // first.
            let expression = match scope {
                Some(n) => format!("session : s{n} AND {words}"),
                None => words,
            };
            let mut query = conn.prepare_cached(
                "SELECT session.id, node.id, search.rank
                 FROM search JOIN node ON node.n = search.rowid JOIN session ON session.n = node.session
                 WHERE search MATCH ?1 AND search.rank MATCH 'bm25(0.0, 1.0)' ORDER BY search.rank LIMIT ?2",
            )?;
            let hits = query.query_map((expression, int(limit as u64)), |row| {
                Ok(SearchHit { session: row.get(0)?, node: row.get(1)?, score: row.get(2)? })
            })?;
            Ok(hits.collect::<Result<_, _>>()?)
        })
    }
}

impl Store {
    /// Returns the newest messages of a session that contain these words as a phrase. Does not rank, because that would
    /// read the index entries of every message of the session.
    pub fn newest_with(&self, words: &str, session: SessionId, limit: usize) -> Result<Vec<NodeId>, StoreError> {
        self.read(|conn| {
            let mut query = conn.prepare_cached("SELECT n FROM session WHERE id = ?1")?;
            let Some(n) = query.query_row([session], |row| row.get::<_, i64>(0)).optional()? else {
                return Ok(Vec::new());
            };
            let words = words.replace('\0', " ").replace('"', "\"\"");
            let mut query = conn.prepare_cached(
                "SELECT node.id FROM search JOIN node ON node.n = search.rowid
                 WHERE search MATCH ?1 ORDER BY search.rowid DESC LIMIT ?2",
            )?;
            let expression = format!("session : s{n} AND words : \"{words}\"");
            Ok(query.query_map((expression, int(limit as u64)), |row| row.get(0))?.collect::<Result<_, _>>()?)
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
