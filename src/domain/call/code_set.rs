//! The record of a code search for a call: the query, the decision whether to search, and the best candidates with
//! their scores.
//! Not for: searching (`code`), sending (`context`), or searches of older messages (`retrieval_set`).

use super::retrieval_set::{Gate, PassReason, SkipReason};
use crate::domain::base::hash::{Fields, Hash};
use crate::domain::base::named_enum::named_enum;
use crate::domain::call::tokens::grouped;
use crate::domain::code::symbols::{CodeRef, Parts};
use crate::domain::planning::mode::Mode;
use serde::{Deserialize, Serialize};

/// The maximum number of candidates that are recorded.
pub const MAX_CANDIDATES: usize = 60;

/// The maximum number of characters of the query that are recorded. The whole message is stored once, as a message.
pub const MAX_QUERY_CHARS: usize = 200;

named_enum! {
    /// The outcome of a candidate.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
    pub enum CodeOutcome {
        Sent = "sent" => "sent",
        NoRoom = "no_room" => "no room",
        Below = "below" => "near miss: symbols that match clearly better are sent",
        Inside = "inside" => "part of another symbol that is sent",
        AlreadySent = "already_sent" => "the request already contains its lines",
        Excluded = "excluded" => "you left its lines out",
        Changed = "changed" => "its file changed after it was indexed",
        /// Enough better candidates come before it.
        Unused = "unused" => "enough better matches",
    }
    /// Returns the outcome as a clause.
    pub fn sentence
}

/// A symbol that was considered.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CodeCandidate {
    /// The symbol, with its file as it was.
    pub code: CodeRef,
    /// The rank, from 1.
    pub rank: u32,
    pub score: f32,
    pub score_parts: Parts,
    /// The words of the query that weigh most in it, heaviest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matched: Vec<String>,
    /// Why it matches, as text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub because: String,
    /// Tokens that it takes or would take; 0 if unknown.
    pub tokens: u32,
    pub outcome: CodeOutcome,
}

/// The record of one code search.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename = "code")]
pub struct CodeSet {
    /// See [`CodeSet::with_id`].
    pub id: Hash,
    /// The query: the message without its attachments, at most [`MAX_QUERY_CHARS`] characters; a query that was cut
    /// ends with `…`. Earlier versions stored the whole query.
    pub query: String,
    /// Digest of the place of the question and of the limits of the search.
    pub filters: Hash,
    /// Digest of the workspace's folder.
    pub workspace: Hash,
    /// The decision whether to search.
    pub gate: Gate,
    /// The context mode.
    pub mode: Mode,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub focus: Vec<String>,
    /// The number of symbols that were searched.
    pub among: u32,
    /// Id of the embedder whose vectors were compared; `None` if only words were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedder: Option<String>,
    /// The best candidates, best first.
    pub candidates: Vec<CodeCandidate>,
}

impl CodeSet {
    /// Returns the set with its query cut and with its id: the hash of that query, the filters, the decision, and the
    /// candidates with their outcomes in order. Scores are not part of it.
    #[must_use]
    pub fn with_id(self) -> Self {
        let query = beginning(&self.query);
        let start = Fields::new("code set").text(&query).hash(self.filters).json(&self.gate);
        let each =
            |fields: Fields, one: &CodeCandidate| fields.hash(one.code.key()).hash(one.code.file).json(&one.outcome);
        let fields = start.number(self.candidates.len() as u64);
        Self { id: self.candidates.iter().fold(fields, each).finish(), query, ..self }
    }

    /// Records which of the offered symbols the plan admits. `sent` returns the tokens of a symbol that is sent, by its
    /// key.
    pub fn record_sent(&mut self, sent: &dyn Fn(Hash) -> Option<u32>) {
        for one in self.candidates.iter_mut().filter(|one| one.outcome == CodeOutcome::Sent) {
            match sent(one.code.key()) {
                Some(tokens) => one.tokens = tokens,
                None => one.outcome = CodeOutcome::NoRoom,
            }
        }
    }

    /// Returns the candidates that were sent.
    pub fn sent(&self) -> impl Iterator<Item = &CodeCandidate> {
        self.candidates.iter().filter(|one| one.outcome == CodeOutcome::Sent)
    }

    /// Returns the candidates that were almost sent.
    pub fn near(&self) -> impl Iterator<Item = &CodeCandidate> {
        let near = |one: &&CodeCandidate| matches!(one.outcome, CodeOutcome::Below | CodeOutcome::NoRoom);
        self.candidates.iter().filter(near)
    }

    /// Returns the decision with its reason as a sentence.
    pub fn sentence(&self) -> String {
        let among = grouped(u64::from(self.among));
        match self.gate {
            Gate::Pass(why) => format!("Searched {among} symbols: {}.", pass_reason(why)),
            Gate::Inherited(why) => {
                format!("No search: {}. Code from the previous question was kept.", skip_reason(why))
            }
            // Earlier versions recorded the same reason for the mode, the policy, and the settings.
            Gate::Skipped(SkipReason::ModeOff) if self.mode != Mode::Off => {
                "No search: the policy or a setting turned code search off.".to_owned()
            }
            Gate::Skipped(why) => format!("No search: {}.", skip_reason(why)),
        }
    }
}

fn beginning(query: &str) -> String {
    if query.chars().nth(MAX_QUERY_CHARS).is_none() {
        return query.to_owned();
    }
    query.chars().take(MAX_QUERY_CHARS - 1).chain(['…']).collect()
}

fn pass_reason(why: PassReason) -> &'static str {
    match why {
        PassReason::Forced => "you requested the search",
        PassReason::Named => "the message names a symbol or file",
        PassReason::Focus => "a focus or an attached file limits the search",
        PassReason::Cue
        | PassReason::Rare
        | PassReason::Several
        | PassReason::Time
        | PassReason::Meaning
        | PassReason::Matches => "symbols contain enough of the message",
    }
}

/// Returns the reason why the code was not searched, as a clause.
pub fn skip_reason(because: SkipReason) -> &'static str {
    match because {
        SkipReason::ModeOff => "the mode Off turns code search off",
        SkipReason::PolicyOff => "the policy turns code search off",
        SkipReason::NoShare => "the settings leave no room for code",
        SkipReason::NotNamed => {
            "the message names no symbol or file, and mode Light sends only named symbols and files"
        }
        SkipReason::NoFile => "the message names a file that does not exist in this folder",
        SkipReason::NotWanted => "you turned the search off for this call",
        SkipReason::NoContent => "the message names nothing to search for",
        SkipReason::Unknown => "the code contains nothing that the message names",
        SkipReason::Indexing => "the code is still being indexed",
        SkipReason::NothingToFind | SkipReason::Common | SkipReason::Faint => "no symbol matches enough of the message",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::code::symbols::Kind;

    fn candidate(name: &str, outcome: CodeOutcome, score: f32) -> CodeCandidate {
        let (path, file) = ("src/a.rs".to_owned(), Hash::of(b"file"));
        let code = CodeRef { path, qualified: name.into(), kind: Kind::Function, lines: (1, 3), nth: 0, file };
        let score_parts = Parts { words: score, ..Parts::default() };
        let (matched, because) = (vec!["lease".into()], "the word \"lease\"".into());
        CodeCandidate { code, rank: 1, score, score_parts, matched, because, tokens: 9, outcome }
    }

    fn set(candidates: Vec<CodeCandidate>) -> CodeSet {
        CodeSet {
            id: Hash::default(),
            query: "where does a lease expire".into(),
            filters: Hash::default(),
            workspace: Hash::of(b"folder"),
            gate: Gate::Pass(PassReason::Matches),
            mode: Mode::Heavy,
            focus: Vec::new(),
            among: 1_200,
            embedder: None,
            candidates,
        }
        .with_id()
    }

    #[test]
    fn the_id_covers_candidates_and_outcomes_but_not_scores() {
        let of = |outcome, score| set(vec![candidate("expire", outcome, score)]).id;
        assert_eq!(of(CodeOutcome::Sent, 1.0), of(CodeOutcome::Sent, 2.0));
        assert_ne!(of(CodeOutcome::Sent, 1.0), of(CodeOutcome::Below, 1.0));
        assert_ne!(set(Vec::new()).id, of(CodeOutcome::Sent, 1.0));
    }

    #[test]
    fn only_the_beginning_of_a_long_query_is_kept() {
        let of = |query: &str| CodeSet { query: query.into(), ..set(Vec::new()) }.with_id();
        for length in [0, 1, MAX_QUERY_CHARS] {
            assert_eq!(of(&"ß".repeat(length)).query, "ß".repeat(length));
        }
        let cut = of(&"ß".repeat(MAX_QUERY_CHARS + 1));
        assert_eq!(cut.query, format!("{}…", "ß".repeat(MAX_QUERY_CHARS - 1)));
        assert_eq!(cut.clone().with_id(), cut, "cutting again changes nothing");
        assert_ne!(of("a").id, of("b").id);
    }

    #[test]
    fn a_set_says_that_it_is_one_of_code_and_round_trips() {
        let one = set(vec![candidate("expire", CodeOutcome::Sent, 1.0)]);
        let text = serde_json::to_string(&one).unwrap();
        assert!(text.starts_with(r#"{"kind":"code","#), "{text}");
        assert_eq!(serde_json::from_str::<CodeSet>(&text).unwrap(), one);
    }

    #[test]
    fn what_the_plan_left_out_was_not_sent() {
        let all = ["a", "b", "c"].map(|name| candidate(name, CodeOutcome::Sent, 1.0));
        let kept = all[1].code.key();
        let mut set = set(all.to_vec());
        set.candidates[2].outcome = CodeOutcome::Below;
        set.record_sent(&|key| (key == kept).then_some(7));
        let outcomes: Vec<CodeOutcome> = set.candidates.iter().map(|one| one.outcome).collect();
        assert_eq!(outcomes, [CodeOutcome::NoRoom, CodeOutcome::Sent, CodeOutcome::Below]);
        assert_eq!((set.sent().count(), set.near().count(), set.candidates[1].tokens), (1, 2, 7));
    }

    #[test]
    fn each_decision_has_its_sentence() {
        let sentence = |gate| CodeSet { gate, ..set(Vec::new()) }.sentence();
        assert_eq!(
            sentence(Gate::Pass(PassReason::Named)),
            "Searched 1,200 symbols: the message names a symbol or file."
        );
        let recorded = |mode| CodeSet { gate: Gate::Skipped(SkipReason::ModeOff), mode, ..set(Vec::new()) }.sentence();
        assert_eq!(recorded(Mode::Off), "No search: the mode Off turns code search off.");
        assert_eq!(recorded(Mode::Heavy), "No search: the policy or a setting turned code search off.");
        assert_eq!(sentence(Gate::Skipped(SkipReason::PolicyOff)), "No search: the policy turns code search off.");
        assert!(
            sentence(Gate::Inherited(SkipReason::NoContent)).ends_with("Code from the previous question was kept.")
        );
    }
}
