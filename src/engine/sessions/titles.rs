//! Titles of sessions: the first words of the first question or, if set, a title that the model writes for the first
//! turn. A title that a person gave is never replaced automatically.
//! Not for: names of branches and messages (`branches::fork`, `tags`).

use super::session::Session;
use super::state::TitleResult;
use crate::config::prompts;
use crate::config::settings::Titles;
use crate::domain::base::{BranchId, Failure, FailureKind, NodeId, SessionId, secrets};
use crate::domain::call::{Backend, RunCard};
use crate::domain::conversation::{Branch, Change, NodeHead, Role, SessionCard};
use crate::engine::api::{Answer, Event, SessionEvent, Ticket};
use crate::engine::calls::auxiliary_call::{AuxiliaryCall, Prompt, auxiliary_call};
use crate::engine::core::Core;
use crate::engine::inbox::Inbox;
use crate::engine::plans::input_builder::send_barrier;
use crate::engine::sessions::library::load_session;
use crate::engine::sessions::lookup::named_session;
use crate::engine::summaries::writer::source_text;
use crate::store::types::Write;
use std::sync::Arc;

/// The maximum length in characters of a title from the first question.
const MAX_FIRST_WORDS: usize = 48;
/// The maximum length in characters of a title by the model.
const MAX_MODEL_TITLE: usize = 60;
/// The number of characters of each message that the model reads.
const MAX_READ: usize = 4_000;

impl Core {
    /// Titles a session after its first question, if its title is only a date. Called when a question becomes a node.
    pub(crate) fn title_from_first_question(&mut self, branch: BranchId) {
        if self.setup.settings.titles == Titles::Date {
            return;
        }
        let Ok(session) = self.sessions.of_branch(branch) else { return };
        if !is_dated(&session.card.title) {
            return;
        }
        let title = first_question(session, branch).map(|head| masked(&head.preview)).unwrap_or_default();
        if title.is_empty() {
            return;
        }
        let card = session.card.clone();
        if let Err(error) = self.store.write(vec![Write::SetTitle { session: card.id, title: title.clone() }]) {
            tracing::warn!(%error, "a session could not be titled after its first question");
            return;
        }
        self.show_title(card, title);
    }

    /// Asks the model for a title after the first turn, if the settings request it.
    pub(crate) fn title_automatically(&mut self, branch: BranchId, completed: bool) {
        let wanted =
            self.setup.settings.titles == Titles::Model && completed && !self.setup.patient && !self.store.read_only();
        let first = wanted
            && self.sessions.of_branch(branch).is_ok_and(|session| {
                let own = |title: &str| {
                    is_dated(title)
                        || first_question(session, branch).is_some_and(|head| masked(&head.preview) == title)
                };
                own(&session.card.title) && turns_of(session, branch) == 1
            });
        if !first {
            return;
        }
        let asked = self.sessions.branch(branch).and_then(|branch| self.start_title(None, &branch));
        if let Err(failure) = asked {
            tracing::debug!(%failure, "the model was not asked for a title");
        }
    }

    /// Asks the model for a title on a person's request. Answered when the title is available.
    pub(crate) fn title_by_model(&mut self, ticket: Ticket, named: Option<&str>) -> Result<(), Failure> {
        let id = named_session(&self.store, named)?.ok_or_else(Failure::no_session)?;
        let session = load_session(&mut self.sessions, &self.store, id)?;
        let branch = session.branch(session.current)?.clone();
        self.start_title(Some(ticket), &branch)
    }

    fn start_title(&mut self, ticket: Option<Ticket>, branch: &Branch) -> Result<(), Failure> {
        let rules = self.rules(branch)?;
        if rules.profile.backend == Backend::Offline {
            return Err(
                Failure::user("The offline model can't write titles.").todo("Type a title, or use another model.")
            );
        }
        let session = self.sessions.of_branch(branch.id)?;
        let heads = first_turn(session, branch.id);
        if heads.is_empty() {
            return Err(Failure::user("There is no message yet to write a title from."));
        }
        let id = session.card.id;
        let provider = self.setup.servers.provider(&rules.profile)?;
        if !self.sessions.titles_in_progress.insert(id) {
            return Err(Failure::new(FailureKind::Busy, "A title is already being written.").todo("Wait for it."));
        }
        let mut auxiliary_call = auxiliary_call(&self.setup, &self.store, branch, rules, Some(provider));
        let sources: Vec<NodeId> = heads.iter().map(|head| head.id).collect();
        let ended = move |result, sources, runs| {
            Inbox::Title(Box::new(TitleResult { ticket, session: id, sources, result, runs }))
        };
        self.jobs.report(
            "title",
            move |failure| ended(Err(failure), Vec::new(), Vec::new()),
            move |cancel| {
                auxiliary_call.cancel = cancel.clone();
                let mut runs = Vec::new();
                let result = ask(&auxiliary_call, &sources, &mut runs);
                ended(result, sources, runs)
            },
        );
        Ok(())
    }

    /// Applies the model's title, or reports the failure.
    pub(crate) fn apply_title(&mut self, titled: TitleResult) {
        let TitleResult { ticket, session, sources, result, runs } = titled;
        self.sessions.titles_in_progress.remove(&session);
        for run in runs {
            self.show_run(run);
        }
        let result = result.and_then(|title| self.set_model_title(session, title, sources));
        match (ticket, result) {
            (Some(ticket), result) => self.answer(ticket, result.map(Answer::Done)),
            (None, Ok(_)) => {}
            (None, Err(failure)) => {
                self.notify(format!("The model returned no title for this session: {}", failure.what));
            }
        }
    }

    fn set_model_title(&mut self, id: SessionId, title: String, sources: Vec<NodeId>) -> Result<String, Failure> {
        let card = self.store.session(id)?.ok_or_else(Failure::session_gone)?;
        let change = Change::Title { before: card.title.clone(), after: title.clone() };
        let operation = self.setup.operation(id, format!("the model titled the session {title}"), vec![change]);
        self.store.write(vec![
            Write::SetTitle { session: id, title: title.clone() },
            Write::SetModelTitle { session: id, title: title.clone(), sources },
            operation,
        ])?;
        let notice = format!("The session's title is now {title:?}; u undoes it.");
        self.show_title(card, title);
        Ok(notice)
    }

    /// Applies a title in memory and on the screen.
    pub(crate) fn show_title(&mut self, mut card: SessionCard, title: String) {
        if let Some(session) = self.sessions.open.get_mut(&card.id) {
            session.card.title.clone_from(&title);
        }
        card.title = title;
        self.emit(Event::Session(SessionEvent::Card(card)));
    }
}

/// Makes one call with the text of the first turn, with secrets masked.
fn ask(auxiliary_call: &AuxiliaryCall, sources: &[NodeId], runs: &mut Vec<RunCard>) -> Result<String, Failure> {
    let mut text = String::new();
    for node in auxiliary_call.store.nodes(sources)? {
        let words: String = source_text(&node.head, &node.content).chars().take(MAX_READ).collect();
        text.extend([node.head.role.name(), ": ", words.trim(), "\n\n"]);
    }
    let (text, _) = secrets::mask(&text);
    let prompt = Prompt {
        what: "title",
        policy: "title",
        instructions: prompts::TITLE,
        version: prompts::TITLE_VERSION,
        title: "the first turn, to write a title from".to_owned(),
        text: &text,
        otherwise: "Type a title yourself.",
        keeps_state: false,
    };
    let (answer, _) = auxiliary_call.ask(&prompt, &mut |_| {}, runs)?;
    let (answer, _) = secrets::mask(&answer);
    let title = title_from_answer(&answer);
    if title.is_empty() {
        return Err(Failure::new(FailureKind::Provider, "The model returned no title.")
            .todo("Try again, or use another model."));
    }
    Ok(title)
}

/// Returns the first words of a line after masking secrets.
fn masked(line: &str) -> String {
    first_words(&secrets::mask(line).0)
}

fn first_question(session: &Session, branch: BranchId) -> Option<&NodeHead> {
    let path = path_of(session, branch)?;
    let turn = path.turns.iter().find(|turn| turn.asked)?;
    Some(session.tree.head(path.slots[turn.nodes.start]))
}

fn turns_of(session: &Session, branch: BranchId) -> usize {
    path_of(session, branch).map_or(0, |path| path.turns.iter().filter(|turn| turn.asked).count())
}

/// Returns the messages of the first turn that may be sent.
fn first_turn(session: &Session, branch: BranchId) -> Vec<NodeHead> {
    let Some(path) = path_of(session, branch) else { return Vec::new() };
    let Some(turn) = path.turns.iter().find(|turn| turn.asked) else { return Vec::new() };
    let heads = path.slots[turn.nodes.clone()].iter().map(|slot| session.tree.head(*slot));
    heads.filter(|head| head.role != Role::Tool && send_barrier(head, false).is_none()).cloned().collect()
}

fn path_of(session: &Session, branch: BranchId) -> Option<Arc<super::path::PathView>> {
    let branch = session.branch(branch).ok()?;
    Some(session.paths.get(&session.tree, session.head(branch)))
}

/// Whether a title is only the time at which its session was created.
fn is_dated(title: &str) -> bool {
    let shape = |c: char| if c.is_ascii_digit() { '0' } else { c };
    title.chars().map(shape).eq("0000-00-00 00:00".chars())
}

/// Returns the first words of a line, up to the end of its first sentence, as many whole words as fit.
pub(super) fn first_words(line: &str) -> String {
    let line = line.trim_start_matches(|c: char| !c.is_alphanumeric());
    let ends = |(at, c): (usize, char)| {
        let next = line[at + c.len_utf8()..].chars().next();
        (matches!(c, '.' | '?' | '!' | ';') && next.is_some_and(char::is_whitespace)).then_some(at)
    };
    let sentence = line.char_indices().find_map(ends).filter(|at| *at >= 12).map_or(line, |at| &line[..at]);
    let sentence =
        sentence.trim_end_matches(|c: char| matches!(c, '.' | '?' | '!' | ':' | ',' | ';') || c.is_whitespace());
    shortened(sentence, MAX_FIRST_WORDS)
}

/// Shortens a line to as many whole words as fit; a single long word is cut.
fn shortened(line: &str, most: usize) -> String {
    if line.chars().count() <= most {
        return line.to_owned();
    }
    let cut: String = line.chars().take(most - 1).collect();
    let whole = cut.rfind(char::is_whitespace).filter(|at| *at > most / 2).map_or(cut.as_str(), |at| &cut[..at]);
    format!("{}…", whole.trim_end())
}

/// Converts a model's answer to a title: its first line without quotation marks, Markdown, a label, or a period.
fn title_from_answer(answer: &str) -> String {
    let Some(line) = answer.lines().map(str::trim).find(|line| !line.is_empty()) else { return String::new() };
    let odd =
        |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '“' | '”' | '„' | '«' | '»' | '*' | '#' | '`' | '_');
    let line = line.trim_matches(odd);
    let line = ["Title:", "title:", "Name:"].iter().find_map(|label| line.strip_prefix(label)).unwrap_or(line);
    let line: String = line.trim_matches(odd).chars().filter(|c| !c.is_control()).collect();
    shortened(line.trim_end_matches('.').trim(), MAX_MODEL_TITLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sentence_makes_a_title() {
        assert_eq!(first_words("Why is the sky blue?"), "Why is the sky blue");
        assert_eq!(
            first_words("My server hangs on start. It prints nothing at all, what now?"),
            "My server hangs on start"
        );
        assert_eq!(first_words("v1.2.3 fails"), "v1.2.3 fails");
        assert_eq!(
            first_words("Hi. How do I sort a list of pairs by their second part?"),
            "Hi. How do I sort a list of pairs by their…"
        );
        assert_eq!(first_words("  -- "), "");
        let long = first_words(&"ö".repeat(100));
        assert_eq!(long.chars().count(), MAX_FIRST_WORDS);
        assert!(long.ends_with('…'));
    }

    #[test]
    fn only_a_date_is_a_date() {
        assert!(is_dated("2026-11-22 13:40"));
        for other in ["2026-11-22", "2026-11-22 13:40 b", "plans of 2026", ""] {
            assert!(!is_dated(other), "{other}");
        }
    }

    #[test]
    fn decorations_of_a_models_title_are_removed() {
        assert_eq!(title_from_answer("\n**\"Sorting pairs in Rust.\"**\nBecause …"), "Sorting pairs in Rust");
        assert_eq!(title_from_answer("Title: `serde` and lifetimes"), "serde` and lifetimes");
        assert_eq!(title_from_answer("a\u{1b}[31mred"), "a[31mred");
        assert_eq!(title_from_answer(" \n \n"), "");
        assert!(title_from_answer(&"word ".repeat(50)).chars().count() <= MAX_MODEL_TITLE);
    }
}
