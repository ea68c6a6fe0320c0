//! `session search`: searches messages of all sessions by words and filters, grouped by session.
//! Not for: retrieval for a plan (`retrieve`).

use super::sessions::card_line;
use crate::cli::Run;
use crate::cli::client::expect_answer;
use crate::cli::output::{column, time};
use crate::cli::stop::Stop;
use crate::domain::conversation::search::FILTERS;
use crate::domain::conversation::{FoundMessage, SearchFilter, SessionCard};
use crate::engine::api::{SessionAnswer, SessionRequest};
use serde_json::{Value, json};

/// Width of a match in columns.
const MATCH_WIDTH: usize = 100;

/// Prints the matches. With `--json`, prints an array of sessions in the shape of `session list`, each with its
/// `matches`.
pub(crate) fn search(run: &mut Run<'_, '_>, words: &[String], limit: usize) -> Result<(), Stop> {
    let line = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    let found =
        expect_answer!(run, Session(SessionAnswer::Found), SessionRequest::Find { line: format!("{line} "), limit });
    if !found.problems.is_empty() {
        return Err(Stop::Usage(found.problems.join(" ")));
    }
    let cards = expect_answer!(run, Session(SessionAnswer::Sessions), SessionRequest::List);
    let groups = grouped(&cards, &found.messages, title_words(&line).as_deref());
    if run.io.json {
        return run.io.value(&groups.iter().map(|(card, messages)| session(card, messages)).collect::<Vec<_>>());
    }
    for (card, messages) in &groups {
        run.io.say(&card_line(card));
        for message in messages {
            let who = message.role.name();
            run.io.say(&format!("    {}  {}  {who:<9}  {}", message.node, time(message.at), words_of(message)));
        }
    }
    if groups.is_empty() {
        run.io.say("No matches.");
    }
    if found.more {
        run.io.note(&format!("only the newest {limit} matches are shown; --limit shows more"));
    }
    Ok(())
}

/// Restores the quotes around words that the shell kept together; for a filter, around its value.
fn quoted(word: &str) -> String {
    if !word.contains(char::is_whitespace) || word.contains('"') {
        return word.to_owned();
    }
    match word.split_once(':').filter(|(name, _)| FILTERS.iter().any(|(known, _)| known == name)) {
        Some((name, value)) => format!("{name}:\"{value}\""),
        None => word.to_owned(),
    }
}

/// Returns the words that a session's title must contain to match. None with filters, which titles never match.
fn title_words(line: &str) -> Option<String> {
    let find = SearchFilter::read(line, 0);
    (!find.filtered() && !find.phrases.is_empty()).then(|| find.phrases.join(" ").to_lowercase())
}

fn grouped<'a>(
    cards: &'a [SessionCard],
    messages: &'a [FoundMessage],
    title: Option<&str>,
) -> Vec<(&'a SessionCard, Vec<&'a FoundMessage>)> {
    let mut groups: Vec<(&SessionCard, Vec<&FoundMessage>)> = Vec::new();
    for message in messages {
        if let Some((_, known)) = groups.iter_mut().find(|(card, _)| card.id == message.session) {
            known.push(message);
        } else if let Some(card) = cards.iter().find(|card| card.id == message.session) {
            groups.push((card, vec![message]));
        }
    }
    let named = |card: &&SessionCard| title.is_some_and(|title| card.title.to_lowercase().contains(title));
    for card in cards.iter().filter(named) {
        if !groups.iter().any(|(known, _)| known.id == card.id) {
            groups.push((card, Vec::new()));
        }
    }
    groups
}

fn session(card: &SessionCard, messages: &[&FoundMessage]) -> Value {
    let mut value = json!(card);
    value["matches"] = messages.iter().map(|found| message(found)).collect();
    value
}

/// Returns a message as JSON: `text` is the match with the words around it, `match` the matching parts.
fn message(message: &FoundMessage) -> Value {
    let hits: Vec<&str> = message.pieces.iter().filter(|(hit, _)| *hit).map(|(_, words)| words.as_str()).collect();
    json!({
        "id": message.node,
        "external_id": message.external_id,
        "role": message.role,
        "at": message.at,
        "model": message.model,
        "text": message.pieces.iter().map(|(_, words)| words.as_str()).collect::<String>(),
        "match": hits,
    })
}

/// Returns the match and the words around it on one line.
fn words_of(message: &FoundMessage) -> String {
    let lead: String = message.pieces.iter().take_while(|(hit, _)| !hit).map(|(_, words)| words.as_str()).collect();
    let whole: String = message.pieces.iter().map(|(_, words)| words.as_str()).collect();
    let skip = if message.pieces.iter().any(|(hit, _)| *hit) {
        lead.chars().count().saturating_sub(MATCH_WIDTH / 2)
    } else {
        0
    };
    let text: String = whole.chars().skip(skip).collect();
    let text = if skip > 0 { text.split_once(' ').map_or(text.as_str(), |(_, rest)| rest) } else { text.as_str() };
    column(&text.split_whitespace().collect::<Vec<_>>().join(" "), MATCH_WIDTH).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_words_stay_together_in_filters() {
        assert_eq!(quoted("branch:my try"), "branch:\"my try\"");
        assert_eq!(quoted("two words"), "two words");
        assert_eq!(quoted("\"a phrase\""), "\"a phrase\"");
        assert_eq!(title_words("bees role:user"), None);
        assert_eq!(title_words("Of Bees").as_deref(), Some("of bees"));
    }
}
