//! Searches the symbols of the workspace for a message, for a plan.
//! Not for: scores (`code`), or the rows of a plan (`plans::sources::code`).

use super::code_meaning::Meaning;
use super::sent_lines::excluded;
use crate::code::find::cards::{Found, Limits, SentLines, compose, why};
use crate::code::find::choose::{self, Scope};
use crate::code::find::query::{self, Query};
use crate::code::find::rank::{self, Hit};
use crate::code::find::{files, gate, likeness, names};
use crate::code::index::records::Index;
use crate::code::parse::words::Analyzer;
use crate::code::tuning::Tuning;
use crate::domain::base::Hash;
use crate::domain::call::code_set::MAX_CANDIDATES;
use crate::domain::call::{CodeCandidate, CodeOutcome, Gate, PassReason, SkipReason};
use crate::domain::code::{CodeRef, Kind, NearSymbol, NearSymbolReason, Touchpoint};
use crate::domain::conversation::Mark;
use crate::domain::tool::visibility::READS;
use crate::engine::indexing::code_workspace::{LoadedWorkspace, WorkspaceFiles};
use crate::engine::startup::rules::CodeRules;
use crate::retrieval::gate::asks_something;
use crate::retrieval::index::stops::is_filler;
use std::collections::{BTreeSet, HashMap, HashSet};

/// The maximum number of symbols that are ranked.
const RANKED: usize = 120;

/// The files attached to a message, each with its lines if only a part is attached.
pub(crate) type Attached = [(String, Option<(u32, u32)>)];

/// A search: the query, its scope, and its limits.
pub(crate) struct SymbolSearch<'a> {
    pub(crate) asked: &'a Query,
    pub(crate) depth: Depth,
    /// Symbols of the previous question, kept if the message has no content, or continues its subject and finds
    /// nothing.
    pub(crate) kept: &'a [CodeCandidate],
    /// The message's vector, if there is one.
    pub(crate) meaning: Option<&'a Meaning<'a>>,
    pub(crate) scope: &'a Scope,
    pub(crate) attached: &'a Attached,
    /// The marks. A person's mark decides about its symbol, and no line that a person excluded is sent.
    pub(crate) marks: &'a [Mark],
    /// Lines that are already in the request.
    pub(crate) taken: &'a SentLines,
    pub(crate) rules: &'a CodeRules,
    pub(crate) limits: Limits,
    pub(crate) count: &'a dyn Fn(&str) -> u32,
}

/// The result of a symbol search.
pub(crate) struct FoundSymbols {
    pub(crate) items: Vec<(Touchpoint, CodeRef)>,
    pub(crate) near: Vec<(NearSymbol, CodeRef)>,
    /// The number of symbols that were searched.
    pub(crate) among: usize,
    /// The decision whether to search.
    pub(crate) gate: Gate,
    /// The best candidates, best first.
    pub(crate) candidates: Vec<CodeCandidate>,
    /// Id of the embedder whose vectors were compared; `None` if only words were compared.
    pub(crate) embedder: Option<String>,
    /// Names of the focus that match nothing.
    pub(crate) unknown: Vec<String>,
}

/// Words that begin a question about something. Sorted.
const QUESTION_WORDS: [&str; 7] = ["how", "what", "when", "where", "which", "who", "why"];
/// Words that make a question refer to the conversation. Sorted.
#[rustfmt::skip]
const PRONOUNS: [&str; 17] = [
    "he", "i", "it", "its", "me", "my", "our", "she", "that", "their", "these", "they", "this", "those", "we", "you", "your",
];

/// Words that make a question with "where" or "how" one about how a part of the code works. Sorted.
const WORKING_WORDS: [&str; 10] =
    ["computed", "done", "handle", "handled", "handles", "set", "supported", "used", "work", "works"];

/// Reads a message. Filler words of conversations are not content, unless an impersonal question has no other words:
/// "how does undo work".
pub(crate) fn read_message(analyzer: &mut Analyzer, text: &str) -> Query {
    let mut asked = query::read(analyzer, text, &Tuning::default());
    asked.asks = !asked.is_change && !asked.is_order && asks_something(text);
    let start = text.trim_start().to_lowercase();
    asked.asks_where = is_impersonal(text) && ["where ", "how "].iter().any(|word| start.starts_with(word));
    let mut words = start.split(|c: char| !c.is_alphanumeric());
    asked.asks_how_it_works =
        asked.asks_where && (asked.names_code || words.any(|word| WORKING_WORDS.binary_search(&word).is_ok()));
    let is_subject = |term: &str| asked.words.get(term).is_none_or(|word| !is_filler(word));
    let subjects: BTreeSet<Box<str>> = asked.content.iter().filter(|term| is_subject(term)).cloned().collect();
    if !subjects.is_empty() || !is_impersonal(text) {
        asked.content = subjects;
    }
    asked
}

/// Reads a message for a workspace. A path that is written as a file, but that no file has, is not split into words;
/// only a message that says what to change may name a file that is still to be made.
pub(crate) fn read_for(index: &Index, analyzer: &mut Analyzer, text: &str) -> Query {
    let asked = read_message(analyzer, text);
    let missing = files::missing(index, &asked);
    if missing.is_empty() || asked.is_change || asked.is_order {
        return asked;
    }
    let rest = missing.iter().fold(text.to_owned(), |rest, path| rest.replace(path.as_str(), " "));
    Query { missing, ..read_message(analyzer, &rest) }
}

/// Returns whether a text begins with a question word and has no pronoun.
fn is_impersonal(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.next().is_some_and(|word| QUESTION_WORDS.contains(&word)) && words.all(|word| !PRONOUNS.contains(&word))
}

/// How much code a message may add.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Depth {
    /// Only symbols and files that it names, without their lines.
    Mentioned,
    /// Whatever matches.
    Full,
}

/// Returns a message's text without its attachments.
pub(crate) fn own_words(asked: &str) -> &str {
    asked.find("\n\nFile ").map_or(asked, |at| &asked[..at])
}

/// Searches the symbols of a workspace.
pub(crate) fn search_symbols(loaded: &LoadedWorkspace, wanted: &SymbolSearch<'_>) -> FoundSymbols {
    let (index, asked, scope, tuning) = (&loaded.index, wanted.asked, wanted.scope, Tuning::for_plans());
    let beside: Vec<u32> = wanted.attached.iter().flat_map(|(path, lines)| symbols_at(loaded, path, *lines)).collect();
    let mut hits = rank::rank(index, asked, &tuning, RANKED);
    let (among, unknown) = (index.len(), scope.unknown.clone());
    let mut found = FoundSymbols {
        items: Vec::new(),
        near: Vec::new(),
        among,
        gate: Gate::Skipped(SkipReason::NothingToFind),
        candidates: Vec::new(),
        embedder: None,
        unknown,
    };
    if among == 0 {
        return found;
    }
    let limited = !scope.is_empty() || !beside.is_empty();
    found.gate = decide(index, wanted, &hits, limited);
    if let (Gate::Pass(_), Some(meaning)) = (found.gate, wanted.meaning) {
        let cosines = meaning.cosines(loaded, &hits);
        found.embedder = meaning.embedder().filter(|_| !cosines.is_empty());
        likeness::raise(&mut hits, &cosines);
    }
    let mut limits = wanted.limits;
    let mut hits = match found.gate {
        Gate::Skipped(_) => return found,
        Gate::Inherited(_) => {
            (limits.sure, limits.items) = (wanted.kept.len(), wanted.kept.len());
            kept_hits(index, wanted.kept)
        }
        Gate::Pass(_) if wanted.depth == Depth::Mentioned => {
            choose::focused(index, choose::mentioned(index, asked, hits), scope, &beside)
        }
        Gate::Pass(_) => choose::focused(index, rank::prefer_other_files(index, hits, &tuning), scope, &beside),
    };
    gate::mark_weak(index, asked, &mut hits);
    hits.retain(|hit| index.symbol(hit.id).is_some_and(|(_, file)| wanted.rules.visibility.shows(READS, &file.shown)));
    // Symbols with a mark are included or left out by their mark.
    let decided = wanted.marks.iter().filter(|mark| mark.is_decision());
    let marked: HashSet<Hash> = decided.filter_map(|mark| Some(mark.code.as_ref()?.key())).collect();
    hits.retain(|hit| {
        marked.is_empty() || names::reference(index, hit.id).is_none_or(|code| !marked.contains(&code.key()))
    });
    let files = WorkspaceFiles(&loaded.root);
    let filled = compose(index, &hits, &files, wanted.count, limits, (wanted.taken, &excluded(index, wanted.marks)));
    let code = |path: &str, qualified: &str, line: u32| {
        names::at(index, path, qualified, line).and_then(|id| names::reference(index, id))
    };
    found.candidates = candidates(index, &hits, &filled);
    found.items = filled
        .items
        .into_iter()
        .filter_map(|item| code(&item.path, &item.qualified, item.whole.0).map(|code| (item, code)))
        .collect();
    found.near = filled
        .near
        .into_iter()
        .filter_map(|near| code(&near.path, &near.qualified, near.lines.0).map(|code| (near, code)))
        .collect();
    found
}

/// Decides whether to search for a message. A message without content keeps the code of the previous question; so does
/// one that continues its subject and finds nothing.
fn decide(index: &Index, wanted: &SymbolSearch<'_>, hits: &[Hit], limited: bool) -> Gate {
    let asked = wanted.asked;
    let names = !asked.names.is_empty() || !asked.paths.is_empty() || !files::named(index, asked).is_empty();
    let no_file = !asked.missing.is_empty() && !names && !limited;
    if no_file && asked.content.is_empty() {
        return Gate::Skipped(SkipReason::NoFile);
    }
    if !wanted.kept.is_empty() && !names && asked.content.is_empty() {
        return Gate::Inherited(SkipReason::NoContent);
    }
    if wanted.depth == Depth::Mentioned {
        return match (names, no_file) {
            (true, _) => Gate::Pass(PassReason::Named),
            (false, true) => Gate::Skipped(SkipReason::NoFile),
            (false, false) => Gate::Skipped(SkipReason::NotNamed),
        };
    }
    if limited {
        return Gate::Pass(PassReason::Focus);
    }
    match gate::skip_reason(index, asked, hits) {
        Some(why) if !wanted.kept.is_empty() => Gate::Inherited(why),
        Some(_) if no_file => Gate::Skipped(SkipReason::NoFile),
        Some(why) => Gate::Skipped(why),
        None => Gate::Pass(gate::pass_reason(index, asked)),
    }
}

/// Returns the symbols of the previous question that still exist, as hits with their scores in that search.
fn kept_hits(index: &Index, kept: &[CodeCandidate]) -> Vec<Hit> {
    let hit = |one: &CodeCandidate| {
        let matched = one.matched.iter().map(|word| word.as_str().into()).collect();
        Some(Hit {
            id: names::resolve(index, &one.code)?,
            score: one.score,
            parts: one.score_parts,
            matched,
            weak: false,
        })
    };
    kept.iter().filter_map(hit).collect()
}

/// Returns the best hits as candidates of the set.
fn candidates(index: &Index, hits: &[Hit], filled: &Found) -> Vec<CodeCandidate> {
    let sent: HashMap<(&str, &str, u32), u32> = filled
        .items
        .iter()
        .map(|item| ((item.path.as_str(), item.qualified.as_str(), item.whole.0), item.tokens))
        .collect();
    let near: HashMap<(&str, &str, u32), NearSymbolReason> = filled
        .near
        .iter()
        .map(|near| ((near.path.as_str(), near.qualified.as_str(), near.lines.0), near.why))
        .collect();
    let one = |(at, hit): (usize, &Hit)| {
        let code = names::reference(index, hit.id)?;
        let place = (code.path.as_str(), code.qualified.as_str(), code.lines.0);
        let (outcome, tokens) = match (sent.get(&place), near.get(&place)) {
            (Some(tokens), _) => (CodeOutcome::Sent, *tokens),
            (None, Some(NearSymbolReason::NoRoom { needed })) => (CodeOutcome::NoRoom, *needed),
            (None, Some(NearSymbolReason::Weak { needed })) => (CodeOutcome::Below, *needed),
            (None, Some(NearSymbolReason::Inside)) => (CodeOutcome::Inside, 0),
            (None, Some(NearSymbolReason::Sent)) => (CodeOutcome::AlreadySent, 0),
            (None, Some(NearSymbolReason::Excluded)) => (CodeOutcome::Excluded, 0),
            (None, Some(NearSymbolReason::Changed)) => (CodeOutcome::Changed, 0),
            (None, None) => (CodeOutcome::Unused, 0),
        };
        let name = index.symbol(hit.id).map(|(symbol, _)| symbol.name.to_string()).unwrap_or_default();
        let (rank, matched) = (u32::try_from(at + 1).unwrap_or(u32::MAX), hit.matched.iter().map(ToString::to_string));
        let (matched, because) = (matched.collect(), why(hit, &name));
        Some(CodeCandidate { code, rank, score: hit.score, score_parts: hit.parts, matched, because, tokens, outcome })
    };
    hits.iter().enumerate().filter_map(one).take(MAX_CANDIDATES).collect()
}

/// Returns the symbols of a file that lie within these lines; all if `None`.
fn symbols_at(loaded: &LoadedWorkspace, path: &str, lines: Option<(u32, u32)>) -> Vec<u32> {
    let Some(file) = loaded.index.file_at(std::path::Path::new(path)) else { return Vec::new() };
    let (first, last) = lines.unwrap_or((1, u32::MAX));
    let inside = |id: &u32| {
        loaded
            .index
            .symbol(*id)
            .is_some_and(|(symbol, _)| symbol.kind != Kind::File && first <= symbol.lines.0 && symbol.lines.1 <= last)
    };
    (file.first..file.first + file.count).filter(inside).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::index::build::renew;
    use crate::code::parse::walk::Bounds;
    use std::sync::atomic::AtomicBool;

    /// Messages that ask for nothing new.
    const FOLLOW_UPS: [&str; 10] = [
        "thanks, that works!",
        "ok continue",
        "yes please",
        "go on",
        "great",
        "do it",
        "next",
        "sounds good",
        "perfect, thank you",
        "and now?",
    ];

    #[test]
    fn filler_words_are_content_only_of_impersonal_questions() {
        let content = |text: &str| -> Vec<String> {
            read_message(&mut Analyzer::default(), text).content.iter().map(ToString::to_string).collect()
        };
        assert_eq!(content("how does undo work"), ["undo"]);
        assert_eq!(content("where does a lease expire"), ["expir", "leas"]);
        assert_eq!(content("how does undo touch a lease?"), ["leas", "touch"]);
        for text in ["what do you mean?", "why?", "undo it"].into_iter().chain(FOLLOW_UPS) {
            assert_eq!(content(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn the_words_of_a_missing_file_are_not_searched_unless_it_may_be_made() {
        let content = |text: &str| -> Vec<String> {
            let asked = read_for(&Index::default(), &mut Analyzer::default(), text);
            asked.content.iter().map(ToString::to_string).collect()
        };
        assert_eq!(content("Explain llm/templates.py"), [""; 0]);
        assert_eq!(content("How does llm/templates.py count tokens?"), ["count", "token"]);
        assert_eq!(content("Create templates.py"), ["py", "templat"]);
    }

    const FILES: &[(&str, &str)] = &[
        ("leases.rs", "/// Ends a lease when the lease ended.\npub fn expire(lease: &Lease) {}\npub struct Lease;\n"),
        ("undo.rs", "/// Takes the last change back.\npub fn undo() {}\n"),
        (
            "render/prefix.rs",
            "/// Computes the part of a request that a server has cached.\npub fn cached_prefix() {}\n",
        ),
        ("import/telegram.rs", "/// Reads exports of Telegram.\npub fn read_export() {}\n"),
        ("tools/rules.rs", "/// Checks the deny rules of a tool.\npub fn check_rule() {}\n"),
        ("admit.rs", "pub fn admit_using() {}\npub fn admit() { admit_using() }\n"),
        (
            "samples.rs",
            "/// Makes samples of text.\npub fn sample() -> &'static str { \"a haiku about autumn, a letter to the mayor\" }\n",
        ),
        ("study.rs", "/// Does research.\npub fn study() {}\npub fn open_group() {}\n"),
    ];

    /// Questions about the code bring code; follow-ups without content and questions about other things do not.
    #[test]
    fn questions_about_the_code_bring_code() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in FILES {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let mut index = Index::default();
        renew(&mut index, folder.path(), &Bounds::default(), &AtomicBool::new(false), &mut |_| (), &mut |_| ())
            .unwrap();
        let because = |text: &str| {
            let asked = read_message(&mut Analyzer::default(), text);
            gate::skip_reason(&index, &asked, &rank::rank(&index, &asked, &Tuning::for_plans(), RANKED))
        };
        let (nothing, unknown, faint) =
            (Some(SkipReason::NoContent), Some(SkipReason::Unknown), Some(SkipReason::Faint));
        for (text, wanted) in [
            ("where does a lease expire", None),
            ("how does undo work", None),
            ("How does undo work?", None),
            ("which function computes the cached prefix", None),
            ("what reads Telegram exports", None),
            ("where is the deny rule of a tool checked", None),
            ("who calls admit_using", None),
            ("see import/telegram.rs", None),
            ("Where are exports handled?", None),
            ("Where is class Lease defined?", None),
            ("How is the mayor?", faint),
            ("How is the mayor handled?", None),
            ("How is the weather handled?", unknown),
            ("How did the mayor work with Melanie?", faint),
            ("Which exports?", faint),
            ("thanks, that works!", nothing),
            ("ok continue", nothing),
            ("yes please", nothing),
            ("great", nothing),
            ("why?", nothing),
            ("undo that", nothing),
            ("what do you mean?", nothing),
            ("Add a letter to the sample", None),
            ("Write a haiku about autumn", faint),
            ("Write a letter to the mayor", faint),
            ("Write a haiku about autumn\n\nIt should mention the mayor.", faint),
            ("Who painted the sunrise?", unknown),
            ("What did Caroline research?", faint),
            ("Which group did Melanie and Caroline join in Lisbon?", faint),
        ] {
            assert_eq!(because(text), wanted, "{text}");
        }
    }
}
