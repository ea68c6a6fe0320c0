//! Adds the rules of a project to a plan's input: a block for each rules file that applies, and one with the names of
//! its skills. A file that a person excluded or that the settings switch off becomes a row that is left out.
//! Not for: finding and reading the files (`tools::workspace`, `skills`).
//!
//! Project rules are texts from files: they are sent in the section Orientation, in a delimited message of the user's
//! role, never among the instructions. A person's own rules are the person's words and are sent with the guidelines.
//! Rules are sent in every mode, as instructions are. They never block a call: if there is not enough room for all, the
//! nearest are tried first.

use super::rounds;
use super::summaries::mentions;
use crate::context::render::render_forms::fenced;
use crate::domain::base::{Failure, Hash};
use crate::domain::conversation::{Atom, MarkKind, Role};
use crate::domain::planning::input::Candidate as Offered;
use crate::domain::planning::{Block, Mode, Offer, OfferLimit, OmittedItem, RowKind, Section, Source};
use crate::domain::planning::{Reason, Warning};
use crate::domain::summary::ModuleCard;
use crate::engine::plans::input_builder::{BuiltInput, InputBuilder};
use crate::engine::plans::snapshot::Snapshot;
use crate::engine::summaries::module_cards;
use crate::engine::tools::skills;
use crate::engine::tools::workspace::{AROUND, Project, RulesFile, RulesText};
use crate::retrieval::index::stops::{is_filler, is_stop};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// The number of tool calls that are checked for paths that they touched.
const TRACES: usize = 64;
/// The number of messages before the open turn whose tool calls are considered.
const RECENT_MESSAGES: usize = 2_000;
/// The maximum number of lines of a message that are searched, and of paths that are taken from them.
const LINES: usize = 50_000;
const PATHS: usize = 200;
/// The maximum number of module summaries that are sent, and their tokens together.
const MODULES: usize = 6;
const MODULE_TOKENS: u32 = 2_000;
/// The minimum confidence of a module summary that is sent, in thousandths.
pub(crate) const MIN_CONFIDENCE: u32 = 500;

/// A text of the project that could be sent.
struct Candidate {
    section: Section,
    kind: RowKind,
    atom: Atom,
    title: String,
    path: Option<String>,
    text: String,
    reason: Reason,
    off: bool,
    /// Why a module summary stays out unless a person includes it.
    below: Option<Reason>,
}

/// Offers the texts that may be sent, and adds rows for the others.
pub(crate) fn add(builder: &mut InputBuilder, snapshot: &Snapshot, found: &mut BuiltInput) -> Result<(), Failure> {
    let Some(project) = builder.project.clone() else { return Ok(()) };
    let near = near(builder, snapshot, found)?;
    let rules_files = project.rules_files(&near, AROUND);
    if rules_files.untrusted > 0 {
        found.input.warnings.push(Warning::RulesUntrusted { count: rules_files.untrusted });
    }
    let mut candidates = Vec::new();
    let mut hidden = 0;
    for rules_file in rules_files.list {
        match &rules_file.found {
            Err(_) if rules_file.off => {}
            Err(why) => {
                let (path, why) = (rules_file.path.clone(), why.clone());
                found.input.warnings.push(Warning::RulesUnread { path, why });
            }
            Ok(text) => {
                hidden += text.hidden;
                candidates.push(candidate(&rules_file, text));
            }
        }
    }
    let skills = project.skills();
    if !skills.is_empty() && !snapshot.rules.tools.is_empty() {
        let count = u32::try_from(skills.len()).unwrap_or(u32::MAX);
        candidates.push(Candidate {
            section: Section::Orientation,
            kind: RowKind::Skills,
            atom: skills::atom(),
            title: format!("skills: {}", skills.iter().map(|s| s.name.as_str()).collect::<Vec<_>>().join(", ")),
            path: None,
            text: fenced("Skills and their purposes. load_skill returns the text of a skill", &skills::listed(&skills)),
            reason: Reason::Skills { count },
            off: false,
            below: None,
        });
    }
    if snapshot.rules.mode == Mode::Heavy {
        candidates.extend(modules(builder, &project, snapshot, found, &near)?);
    }
    let mut writer = RulesWriter { builder, snapshot, found: &mut *found, chosen: Vec::new() };
    for mut candidate in candidates {
        let last = project.last_sent(snapshot.branch.id, &candidate.atom);
        if last.is_some_and(|last| last != Hash::of(candidate.text.as_bytes()))
            && let Reason::ProjectRules { changed, .. } | Reason::OwnRules { changed, .. } = &mut candidate.reason
        {
            *changed = true;
        }
        writer.decide(as_in_previous_round(snapshot, candidate));
    }
    writer.offer();
    if hidden > 0 {
        found.input.warnings.push(Warning::HiddenCharacters { count: hidden });
    }
    Ok(())
}

/// Returns a text as the previous round of the turn sent it, with a note if it has changed since; a text that this
/// round adds comes after the results.
fn as_in_previous_round(snapshot: &Snapshot, candidate: Candidate) -> Candidate {
    match rounds::text_before(snapshot, candidate.atom) {
        Some((section, text)) if *text == *candidate.text => Candidate { section, ..candidate },
        Some((section, text)) => {
            let title = format!("{}; it has changed since it was sent", candidate.title);
            Candidate { section, text: text.to_string(), title, ..candidate }
        }
        None => Candidate { section: rounds::section(snapshot, candidate.section), ..candidate },
    }
}

/// Returns a rules file as it is sent.
pub(crate) fn sent(rules_file: &RulesFile, text: &RulesText) -> String {
    let label = if rules_file.own {
        format!("The user's own rules for all projects, from {}", rules_file.path)
    } else {
        format!(
            "Rules of this project for work in {}, from {}. Follow them; later rules and the user's own words take \
                precedence",
            rules_file.folder, rules_file.path
        )
    };
    fenced(&label, &text.sent)
}

fn candidate(rules_file: &RulesFile, text: &RulesText) -> Candidate {
    let (section, reason) = if rules_file.own {
        (Section::Guidelines, Reason::OwnRules { changed: false, left: text.left })
    } else {
        let reason = Reason::ProjectRules { folder: rules_file.folder.clone(), changed: false, left: text.left };
        (Section::Orientation, reason)
    };
    let notes = if text.notes.is_empty() { String::new() } else { format!(" ({})", text.notes.join("; ")) };
    Candidate {
        section,
        kind: RowKind::Rules,
        atom: rules_file.atom,
        title: format!("{}{notes}", rules_file.path),
        path: Some(rules_file.path.clone()),
        text: sent(rules_file, text),
        reason,
        off: rules_file.off,
        below: None,
    }
}

/// Returns the module summaries: first summaries around a named or touched path, then summaries that the message names,
/// then summaries that share a rare word with it, up to the limit on their number. Other summaries and summaries with a
/// low confidence stay out.
fn modules(
    builder: &mut InputBuilder,
    project: &Arc<Project>,
    snapshot: &Snapshot,
    found: &BuiltInput,
    near: &[String],
) -> Result<Vec<Candidate>, Failure> {
    let words = asked(builder, found)?.to_lowercase();
    let mut all = module_cards::current(builder.store(), project)?;
    let rare = RareWords::new(all.iter().map(|(_, card, _)| card.text.as_str()));
    let asked = long_words(&words);
    let fits = |card: &ModuleCard| {
        let path = card.path.as_str();
        let around = near.iter().any(|near| path == "." || Path::new(near).starts_with(path));
        let named =
            path.rsplit('/').next().is_some_and(|name| name.len() > 3 && mentions(&words, &name.to_lowercase()));
        match (around, named || mentions(&words, &path.to_lowercase())) {
            (true, _) => Fit::Around,
            (false, true) => Fit::Named,
            (false, false) if rare.shared(&card.text, &asked) => Fit::Shares,
            (false, false) => Fit::Unrelated,
        }
    };
    let is_new = |atom: Atom| rounds::text_before(snapshot, atom).is_none();
    all.sort_by_cached_key(|(atom, card, _)| (is_new(*atom), fits(card), card.path.clone()));
    let mut left = MODULES;
    let mut candidates = Vec::new();
    for (atom, card, stale) in all {
        project.learn(atom);
        let text = module_cards::sent(&card, Some(&stale));
        let sure = card.confidence >= MIN_CONFIDENCE;
        let below = match fits(&card) {
            Fit::Unrelated => Some(Reason::Unrelated),
            _ if sure && left > 0 => {
                left -= 1;
                None
            }
            _ => Some(Reason::BelowThreshold),
        };
        let staleness = stale.to_text(card.files.len());
        let doubt = if sure { String::new() } else { format!(", confidence {}%", card.confidence / 10) };
        candidates.push(Candidate {
            section: Section::Orientation,
            kind: RowKind::Module,
            atom,
            title: format!("summary of {} ({staleness}{doubt})", card.path),
            path: Some(card.path.clone()),
            text,
            reason: Reason::Module { by: card.by(), staleness },
            off: false,
            below,
        });
    }
    Ok(candidates)
}

/// How well a module summary fits a message, the best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Fit {
    Around,
    Named,
    Shares,
    Unrelated,
}

/// The number of summaries that contain each word.
struct RareWords {
    summaries: usize,
    counts: HashMap<String, usize>,
}

impl RareWords {
    fn new<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut rare = Self { summaries: 0, counts: HashMap::new() };
        for text in texts {
            rare.summaries += 1;
            for word in long_words(text) {
                *rare.counts.entry(word).or_default() += 1;
            }
        }
        rare
    }

    /// Whether a text contains one of these words, and at most a quarter of the summaries do.
    fn shared(&self, text: &str, asked: &HashSet<String>) -> bool {
        let is_rare = |word: &String| self.counts.get(word).is_some_and(|count| *count <= (self.summaries / 4).max(1));
        long_words(text).iter().any(|word| asked.contains(word) && is_rare(word))
    }
}

/// Returns the words of a text that may indicate its subject, in lower case.
fn long_words(text: &str) -> HashSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_lowercase);
    words.filter(|word| word.len() > 3 && !is_stop(word) && !is_filler(word)).collect()
}

struct RulesWriter<'a> {
    builder: &'a mut InputBuilder,
    snapshot: &'a Snapshot,
    found: &'a mut BuiltInput,
    /// The candidates that may be sent, farthest first.
    chosen: Vec<Candidate>,
}

impl RulesWriter<'_> {
    fn decide(&mut self, candidate: Candidate) {
        let mark = self.snapshot.marks.iter().find(|mark| mark.target == candidate.atom).map(|mark| mark.kind);
        match decided(candidate, mark) {
            (candidate, Some(reason)) => self.out(&candidate, reason, mark),
            (candidate, None) => self.chosen.push(candidate),
        }
    }

    fn out(&mut self, candidate: &Candidate, reason: Reason, mark: Option<MarkKind>) {
        let remedy = match mark {
            Some(MarkKind::Exclude) => ("exclude", "removes the exclusion"),
            Some(MarkKind::ExcludeOnce) => ("exclude-once", "removes the exclusion"),
            Some(MarkKind::Sticky | MarkKind::Leased { .. } | MarkKind::IncludeOnce | MarkKind::Ephemeral) | None => {
                ("include-once", "includes it in the next request")
            }
        };
        let tokens = self.builder.count(self.snapshot.rules.model.encoding, &candidate.text);
        let item = OmittedItem::new(candidate.atom, candidate.kind, &candidate.title, tokens, reason, remedy);
        self.found.input.near.push(OmittedItem { source: source(candidate), ..item });
    }

    /// Offers the candidates that may be sent. Module summaries share a limit, except those that a person includes.
    fn offer(self) {
        let count = self.builder.counting(self.snapshot.rules.model.encoding);
        let is_module = |one: &Candidate| matches!(one.reason, Reason::Module { .. });
        let (modules, rules): (Vec<Candidate>, Vec<Candidate>) = self.chosen.into_iter().partition(is_module);
        let (best_first, nearest) = ((0..).take(modules.len()).collect(), ranks(&rules));
        for (all, ranks, limit) in
            [(rules, nearest, OfferLimit::Room), (modules, best_first, OfferLimit::Share(MODULE_TOKENS))]
        {
            let candidates = all.iter().zip(ranks).map(|(one, rank)| {
                let counted = self.found.contents.add_block(one.text.clone(), &count);
                let block = Block::new(one.section, one.kind, counted, &one.title, one.reason.clone());
                let block = Block { atom: Some(one.atom), source: source(one), ..block };
                Offered::plain(block, rank, ("include-once", "includes it in the next request"))
            });
            let candidates: Vec<Offered> = candidates.collect();
            if !candidates.is_empty() {
                self.found.offer(Offer::new(None, candidates, limit));
            }
        }
    }
}

/// Returns a candidate with this mark, and the reason if it stays out.
fn decided(candidate: Candidate, mark: Option<MarkKind>) -> (Candidate, Option<Reason>) {
    let out = match mark {
        Some(MarkKind::Exclude) => Some(Reason::UserExcluded { once: false }),
        Some(MarkKind::ExcludeOnce) => Some(Reason::UserExcluded { once: true }),
        Some(MarkKind::IncludeOnce) => return (Candidate { reason: Reason::IncludedOnce, ..candidate }, None),
        _ if candidate.off => Some(Reason::SwitchedOff),
        _ if candidate.below.is_some() => candidate.below.clone(),
        _ => None,
    };
    (candidate, out)
}

/// Returns the ranks in which candidates, farthest first, are tried: first candidates that a person includes in this
/// call, then the nearest files.
fn ranks(chosen: &[Candidate]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..chosen.len()).rev().collect();
    order.sort_by_key(|at| chosen[*at].reason != Reason::IncludedOnce);
    let mut ranks = vec![0; chosen.len()];
    for (rank, at) in (0..).zip(order) {
        ranks[at] = rank;
    }
    ranks
}

fn source(candidate: &Candidate) -> Source {
    Source { path: candidate.path.clone(), ..Source::default() }
}

/// Returns the text of the user messages of the open turn.
fn asked(builder: &mut InputBuilder, found: &BuiltInput) -> Result<String, Failure> {
    let mut words = String::new();
    let asks = found.input.open.messages.iter().filter(|message| message.role == Role::User);
    let asks: Vec<_> = asks.map(|message| (message.key, message.node)).collect();
    for (key, node) in asks {
        let content = match found.contents.messages.get(&key) {
            Some(content) => Some(content.clone()),
            None => builder.content(key, node)?,
        };
        words.push_str(&content.map(|content| content.plain_text()).unwrap_or_default());
        words.push('\n');
    }
    Ok(words)
}

/// Returns the paths that the message names or attaches, and the paths that recent tool calls on this path touched.
fn near(builder: &mut InputBuilder, snapshot: &Snapshot, found: &BuiltInput) -> Result<Vec<String>, Failure> {
    let mut paths = BTreeSet::new();
    collect_paths(&asked(builder, found)?, &mut paths);
    let here: HashSet<_> = snapshot.path.nodes.iter().rev().take(RECENT_MESSAGES).map(|node| node.id).collect();
    for trace in builder.store().traces(snapshot.session, TRACES)? {
        if trace.node.is_none_or(|node| here.contains(&node))
            && let Ok(args) = serde_json::from_str::<serde_json::Value>(&trace.args)
        {
            let touched = ["path", "folder"].iter().filter_map(|name| args.get(name)?.as_str());
            paths.extend(touched.map(str::to_owned));
        }
    }
    Ok(paths.into_iter().collect())
}

/// Collects `@path` words and the paths of attached files.
fn collect_paths(text: &str, paths: &mut BTreeSet<String>) {
    for line in text.lines().take(LINES) {
        if paths.len() >= PATHS {
            return;
        }
        if let Some(path) = line.strip_prefix("File ").and_then(|rest| rest.strip_suffix(':')) {
            paths.insert(path.to_owned());
        }
        for word in
            line.split_whitespace().filter_map(|word| word.trim_start_matches(['(', '"', '\'', '`']).strip_prefix('@'))
        {
            let word = word.trim_end_matches([',', '.', ';', ':', ')', '"', '\'', '`', '?', '!']);
            if !word.is_empty() {
                paths.insert(word.to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one((kind, reason): (RowKind, Reason)) -> Candidate {
        Candidate {
            section: Section::Orientation,
            kind,
            atom: Atom::Section { text: Hash::default() },
            title: String::new(),
            path: None,
            text: String::new(),
            reason,
            off: false,
            below: None,
        }
    }

    #[test]
    fn marks_decide_before_switches_and_room() {
        let excluded = |once| Some(Reason::UserExcluded { once });
        for (mark, usual, off, below) in [
            (Some(MarkKind::Exclude), excluded(false), excluded(false), excluded(false)),
            (Some(MarkKind::ExcludeOnce), excluded(true), excluded(true), excluded(true)),
            (Some(MarkKind::IncludeOnce), None, None, None),
            (None, None, Some(Reason::SwitchedOff), Some(Reason::BelowThreshold)),
            (Some(MarkKind::Sticky), None, Some(Reason::SwitchedOff), Some(Reason::BelowThreshold)),
        ] {
            for (is_off, is_below, out) in
                [(false, false, usual), (true, false, off.clone()), (true, true, off), (false, true, below)]
            {
                let candidate = one((RowKind::Rules, Reason::Recent));
                let candidate =
                    Candidate { off: is_off, below: is_below.then_some(Reason::BelowThreshold), ..candidate };
                let (candidate, because) = decided(candidate, mark);
                assert_eq!(because, out, "{mark:?} {is_off} {is_below}");
                assert_eq!(candidate.reason == Reason::IncludedOnce, mark == Some(MarkKind::IncludeOnce));
            }
        }
    }

    #[test]
    fn a_rare_word_relates_a_summary_to_a_message() {
        let texts =
            ["Bees and their dances, all files.", "Wasps, all files.", "Hives, all files.", "Combs, all files."];
        let rare = RareWords::new(texts.into_iter());
        let shared = |text: &str| texts.map(|summary| rare.shared(summary, &long_words(text)));
        assert_eq!(shared("Why do the bees turn?"), [true, false, false, false]);
        assert_eq!(shared("Which files are there? Tell me of combs."), [false, false, false, true]);
        assert_eq!(shared("What is to be done, and what about their work?"), [false; 4]);
        assert!(RareWords::new([texts[0]].into_iter()).shared(texts[0], &long_words("list the files")));
    }

    #[test]
    fn items_included_by_a_person_are_tried_first_and_then_the_nearest() {
        let rules = |reason| (RowKind::Rules, reason);
        let (usual, once) = (Reason::Recent, Reason::IncludedOnce);
        let chosen = [rules(usual.clone()), rules(once.clone()), rules(usual), rules(once)];
        assert_eq!(ranks(&chosen.map(one)), [3, 1, 2, 0]);
    }

    #[test]
    fn a_message_names_paths() {
        let mut paths = BTreeSet::new();
        collect_paths("see (@src/a.rs), @b/c.md. and me@home\n\nFile d/e.py:\n```\n@decorator\n```", &mut paths);
        let found: Vec<&str> = paths.iter().map(String::as_str).collect();
        assert_eq!(found, ["b/c.md", "d/e.py", "decorator", "src/a.rs"]);
    }

    #[test]
    fn a_message_that_names_many_paths_is_read_up_to_the_line_that_reaches_the_limit() {
        for (a_line, found) in [(1, PATHS), (3, PATHS.div_ceil(3) * 3)] {
            let names: Vec<String> = (0..PATHS * 4).map(|at| format!("@{at}")).collect();
            let text: Vec<String> = names.chunks(a_line).map(|line| line.join(" ")).collect();
            let mut paths = BTreeSet::new();
            collect_paths(&text.join("\n"), &mut paths);
            assert_eq!(paths.len(), found);
        }
    }

    #[test]
    fn a_name_is_mentioned_only_as_a_separate_word() {
        for (text, name, spoken) in [
            ("use pdf now", "pdf", true),
            ("pdf", "pdf", true),
            ("(pdf)", "pdf", true),
            ("pdfs, then pdf", "pdf", true),
            ("pdfs", "pdf", false),
            ("a_pdf", "pdf", false),
            ("epdf", "pdf", false),
            ("pdf_x", "pdf", false),
            ("anything", "", false),
        ] {
            assert_eq!(mentions(text, name), spoken, "{name:?} in {text:?}");
        }
    }
}
