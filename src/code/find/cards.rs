//! Turns ranked symbols into touchpoints: path, line, and signature for each, plus documentation and first lines for
//! the best. No line appears in two touchpoints. A search on request fills a budget with them ([`fill`]); a plan composes
//! all that may be sent, without a budget, and admission chooses among them ([`compose`]).
//! Not for: ranking (`rank`), or reading files (the caller passes a source of texts).

use super::rank::Hit;
use crate::code::index::records::{File, Index, SymbolId};
use crate::code::parse::doc;
use crate::code::symbol::{Symbol, to_u32};
use crate::domain::base::Hash;
use crate::domain::code::{Kind, NearSymbol, NearSymbolReason, Touchpoint};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// Maximum bytes shown of one line.
const LONGEST_LINE: usize = 240;
/// Maximum number of near misses reported.
const MAX_NEAR: usize = 12;
/// The share of the best score that a touchpoint beyond the sure ones must have.
const MIN_OF_BEST: f32 = 0.45;

/// The line of an excerpt where lines follow that a person excluded.
const LEFT_OUT: &str = "… left out by the user";

/// Texts of files by their paths relative to the root.
pub trait Sources {
    /// Returns the current bytes of a file.
    fn text(&self, path: &Path) -> Option<Arc<[u8]>>;
}

/// Limits for the touchpoints of one call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Maximum tokens in total.
    pub budget: u32,
    /// The most touchpoints.
    pub items: usize,
    /// The number of touchpoints that are sent regardless of score; every other touchpoint must reach a share of the
    /// best score, and not be weak.
    pub sure: usize,
    /// The maximum lines of one excerpt; with 0, a touchpoint is a signature with one line of documentation.
    pub lines: usize,
    /// The maximum tokens of one touchpoint.
    pub tokens: u32,
    /// The percentage of the budget that excerpts may take before all signatures are placed.
    pub excerpts: u32,
}

impl Limits {
    /// No limits.
    pub const UNLIMITED: Self = Self {
        budget: u32::MAX,
        items: usize::MAX,
        sure: usize::MAX,
        lines: usize::MAX,
        tokens: u32::MAX,
        excerpts: 0,
    };

    /// Returns limits for a budget, with excerpts of up to 30 lines. A larger budget gives a larger share to excerpts:
    /// locations come first, then text.
    pub fn within(budget: u32) -> Self {
        let excerpts = (25 + budget.saturating_sub(1_000) / 350).min(45);
        Self { budget, items: 400, sure: 400, lines: 30, tokens: 600, excerpts }
    }
}

/// The touchpoints for one query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The touchpoints in the order in which they are sent: best file first, then by line.
    pub items: Vec<Touchpoint>,
    /// The best symbols that are not sent.
    pub near: Vec<NearSymbol>,
    /// Files that have changed since they were indexed.
    pub changed: BTreeSet<String>,
}

/// A touchpoint while the budget is being spent.
struct Draft {
    hit: Hit,
    /// The name of the symbol that was found.
    found: Box<str>,
    rank: u32,
    /// The lines of the signature.
    lines: (u32, u32),
    text: String,
    /// The text without documentation and excerpt.
    brief: String,
    signature: String,
    tokens: u32,
}

struct TouchpointBuilder<'a> {
    index: &'a Index,
    sources: &'a dyn Sources,
    count: &'a dyn Fn(&str) -> u32,
    limits: Limits,
    texts: BTreeMap<String, Option<Arc<[u8]>>>,
    heading_tokens: BTreeMap<String, u32>,
    drafts: Vec<Draft>,
    /// Drafts by the first symbol of their file.
    by_file: BTreeMap<SymbolId, Vec<usize>>,
    used: u32,
    found: Found,
    sent: &'a SentLines,
    excluded: &'a SentLines,
}

/// Ranges of lines, by file: those that are already in the request, or those that a person left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentLines(BTreeMap<String, Vec<(u32, u32)>>);

impl SentLines {
    /// Adds a range of lines of a file.
    pub fn add(&mut self, path: &str, lines: (u32, u32)) {
        if lines.0 <= lines.1 {
            self.0.entry(path.to_owned()).or_default().push(lines);
        }
    }

    /// Returns the first line in a range that is among these.
    pub fn first_in(&self, path: &str, (first, last): (u32, u32)) -> Option<u32> {
        let runs = self.0.get(path)?.iter().filter(|run| run.0 <= last && first <= run.1);
        runs.map(|run| run.0.max(first)).min()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether the signature of a symbol is among these.
    pub fn contains_signature(&self, path: &str, symbol: &Symbol, text: &[u8]) -> bool {
        let (first, last) = head_lines(symbol, text);
        self.first_in(path, (first.max(1), last.max(1))).is_some()
    }

    /// Returns whether a line of a symbol's documentation is among these.
    pub fn contains_documentation(&self, path: &str, symbol: &Symbol, text: &[u8]) -> bool {
        if self.is_empty() || symbol.doc.is_empty() {
            return false;
        }
        let doc = symbol.doc.within(text.len());
        let line = |end: usize| to_u32(text[..end].split(|byte| *byte == b'\n').count());
        self.first_in(path, (line(doc.start), line(doc.end - 1))).is_some()
    }
}

/// Makes touchpoints of ranked symbols, best first. `count` counts tokens.
pub fn fill(index: &Index, hits: &[Hit], sources: &dyn Sources, count: &dyn Fn(&str) -> u32, limits: Limits) -> Found {
    let none = SentLines::default();
    compose(index, hits, sources, count, limits, (&none, &none))
}

/// Like [`fill`]; leaves out lines that are already in the request, and lines that a person excluded.
pub fn compose(
    index: &Index,
    hits: &[Hit],
    sources: &dyn Sources,
    count: &dyn Fn(&str) -> u32,
    limits: Limits,
    (sent, excluded): (&SentLines, &SentLines),
) -> Found {
    let mut fill = TouchpointBuilder {
        index,
        sources,
        count,
        limits,
        texts: BTreeMap::new(),
        heading_tokens: BTreeMap::new(),
        drafts: Vec::new(),
        by_file: BTreeMap::new(),
        used: 0,
        found: Found::default(),
        sent,
        excluded,
    };
    let reserved = limits.budget.saturating_mul(limits.excerpts) / 100;
    let first = fill.signatures(hits, 0, limits.budget - reserved);
    fill.excerpts();
    fill.signatures(hits, first, limits.budget);
    fill.into_found()
}

impl TouchpointBuilder<'_> {
    /// Adds signatures until `room` is used up. Returns the index at which it stopped.
    fn signatures(&mut self, hits: &[Hit], from: usize, room: u32) -> usize {
        let mut misses = 0;
        let enough = hits.first().map_or(0.0, |best| best.score * MIN_OF_BEST);
        for (at, hit) in hits.iter().enumerate().skip(from) {
            if self.drafts.len() >= self.limits.items || misses > MAX_NEAR {
                return at;
            }
            let Some((found, _)) = self.index.symbol(hit.id) else { continue };
            let id = self.shown_as(hit.id);
            let Some((symbol, file)) = self.index.symbol(id) else { continue };
            let hit = &Hit { id, ..hit.clone() };
            let Some(text) = self.text(file) else {
                self.record_miss(hit, symbol, file, NearSymbolReason::Changed);
                continue;
            };
            if let Some(why) = self.omission(symbol, file, &text) {
                self.record_miss(hit, symbol, file, why);
                continue;
            }
            let lines = head_lines(symbol, &text);
            let signature = signature(symbol, &text);
            let line = self.line(hit.id, symbol, &signature);
            let tokens = (self.count)(&line);
            let head = if self.heading_tokens.contains_key(file.shown.as_ref()) {
                0
            } else {
                (self.count)(&heading(&file.shown))
            };
            if self.drafts.len() >= self.limits.sure && (hit.weak || hit.score < enough) {
                misses += 1;
                self.record_miss(hit, symbol, file, NearSymbolReason::Weak { needed: tokens + head });
                continue;
            }
            if self.used + tokens + head > room {
                if room < self.limits.budget {
                    return at;
                }
                misses += 1;
                self.record_miss(hit, symbol, file, NearSymbolReason::NoRoom { needed: tokens + head });
                continue;
            }
            self.used += tokens + head;
            self.heading_tokens.entry(file.shown.to_string()).or_insert(head);
            self.by_file.entry(file.first).or_default().push(self.drafts.len());
            let rank = to_u32(at + 1);
            let found = found.name.clone();
            let brief = line.clone();
            self.drafts.push(Draft { hit: hit.clone(), found, rank, lines, text: line, brief, signature, tokens });
        }
        hits.len()
    }

    /// Returns the symbol that is shown for a symbol: for a key, the table around it if its lines may be shown.
    fn shown_as(&self, id: SymbolId) -> SymbolId {
        let Some((symbol, _)) = self.index.symbol(id) else { return id };
        let table = self.index.parent(id).filter(|_| symbol.kind == Kind::Key);
        let fits = |table: &SymbolId| {
            self.index.symbol(*table).is_some_and(|(symbol, _)| {
                let lines = symbol.lines.1.saturating_sub(symbol.lines.0) as usize + 1;
                symbol.kind == Kind::Section && lines <= self.limits.lines
            })
        };
        table.filter(fits).unwrap_or(id)
    }

    fn text(&mut self, file: &File) -> Option<Arc<[u8]>> {
        if !self.texts.contains_key(file.shown.as_ref()) {
            let text = self.sources.text(&file.path).filter(|text| Hash::of(text) == file.hash);
            if text.is_none() {
                self.found.changed.insert(file.shown.to_string());
            }
            self.texts.insert(file.shown.to_string(), text);
        }
        self.texts.get(file.shown.as_ref()).cloned().flatten()
    }

    fn record_miss(&mut self, hit: &Hit, symbol: &Symbol, file: &File, why: NearSymbolReason) {
        if self.found.near.len() < MAX_NEAR {
            let (kind, lines, qualified) = (symbol.kind, symbol.lines, self.index.qualified(hit.id));
            let (path, symbol) = (file.shown.to_string(), symbol.name.to_string());
            self.found.near.push(NearSymbol { path, symbol, qualified, kind, lines, score: hit.score, why });
        }
    }

    /// Returns why the symbol's signature is not sent, regardless of its score.
    fn omission(&self, symbol: &Symbol, file: &File, text: &[u8]) -> Option<NearSymbolReason> {
        if self.excluded.contains_signature(&file.shown, symbol, text) {
            return Some(NearSymbolReason::Excluded);
        }
        if self.is_shown(symbol, file) {
            return Some(NearSymbolReason::Inside);
        }
        self.sent.contains_signature(&file.shown, symbol, text).then_some(NearSymbolReason::Sent)
    }

    /// Returns whether the symbol's signature is already part of another touchpoint.
    fn is_shown(&self, symbol: &Symbol, file: &File) -> bool {
        let same_file = self.by_file.get(&file.first).into_iter().flatten();
        same_file
            .filter_map(|at| self.drafts.get(*at))
            .any(|draft| draft.lines.0 <= symbol.line && symbol.line <= draft.lines.1)
    }

    fn line(&self, id: SymbolId, symbol: &Symbol, signature: &str) -> String {
        let enclosing = self.index.enclosing(id).filter(|enclosing| enclosing.kind != Kind::File);
        let place = format!("{}-{}", symbol.line, symbol.lines.1);
        match enclosing {
            Some(enclosing) => format!("{place} {}: {signature}\n", enclosing.name),
            None => format!("{place} {signature}\n"),
        }
    }

    /// Adds documentation and first lines to the best symbols while there is room.
    fn excerpts(&mut self) {
        for at in 0..self.drafts.len() {
            let Some((symbol, file)) = self.index.symbol(self.drafts[at].hit.id) else { continue };
            let Some(text) = self.text(file) else { continue };
            let excerpt = self.excerpt(symbol, file, &text);
            let room = self.limits.budget - self.used + self.drafts[at].tokens;
            // Documentation inside the body comes with the body's lines; what a person excluded does not come at all.
            let inside = symbol.doc.start > symbol.head.start && excerpt.is_some();
            let inside = inside || self.excluded.contains_documentation(&file.shown, symbol, &text);
            let documentation = if inside { String::new() } else { doc::first_sentence(symbol, &text) };
            let documentation =
                if documentation.is_empty() { documentation } else { format!("  — {documentation}\n") };
            let (lines, excerpt) = excerpt.unwrap_or_else(|| (self.drafts[at].lines, String::new()));
            let whole = format!("{}{documentation}{excerpt}", self.drafts[at].text);
            let tokens = (self.count)(&whole);
            if tokens <= room.min(self.limits.tokens) {
                self.used = self.used - self.drafts[at].tokens + tokens;
                let draft = &mut self.drafts[at];
                (draft.text, draft.tokens, draft.lines) = (whole, tokens, lines);
            }
        }
    }

    /// Returns the lines after the signature, up to the next chosen symbol, the next line that a person excluded, or
    /// the limit, with their text.
    fn excerpt(&self, symbol: &Symbol, file: &File, text: &[u8]) -> Option<((u32, u32), String)> {
        let (first, head) = head_lines(symbol, text);
        let same_file = self.by_file.get(&file.first).into_iter().flatten().filter_map(|at| self.drafts.get(*at));
        let sent = self.sent.first_in(&file.shown, (head + 1, symbol.lines.1));
        let same_file = same_file.map(|draft| draft.lines.0).filter(|line| *line > head && *line <= symbol.lines.1);
        let excluded = self.excluded.first_in(&file.shown, (head + 1, symbol.lines.1));
        let next = same_file.chain(sent).chain(excluded).min();
        let stop = next.map_or(symbol.lines.1, |line| line - 1);
        let last = stop.min(symbol.lines.1).min(head.saturating_add(to_u32(self.limits.lines)));
        if last <= head {
            return None;
        }
        let mut shown: Vec<String> = text
            .split(|byte| *byte == b'\n')
            .skip(head as usize)
            .take((last - head) as usize)
            .map(|line| clipped(&String::from_utf8_lossy(line)))
            .collect();
        if excluded == Some(last + 1) {
            shown.push(LEFT_OUT.to_owned());
        }
        Some(((first.max(1), last), format!("{}\n", shown.join("\n"))))
    }

    fn into_found(mut self) -> Found {
        // The places of the files' best drafts, by the first symbol of the file.
        let mut order: BTreeMap<SymbolId, usize> = BTreeMap::new();
        for (file, drafts) in &self.by_file {
            order.extend(drafts.first().map(|best| (*file, *best)));
        }
        let place = |draft: &Draft| {
            self.index.symbol(draft.hit.id).map(|(_, file)| (order.get(&file.first).copied(), draft.lines.0))
        };
        self.drafts.sort_by_key(place);
        let mut before = String::new();
        for draft in std::mem::take(&mut self.drafts) {
            let Some((symbol, file)) = self.index.symbol(draft.hit.id) else { continue };
            let is_first = before != *file.shown;
            let head = if is_first { heading(&file.shown) } else { String::new() };
            let extra =
                if is_first { self.heading_tokens.get(file.shown.as_ref()).copied().unwrap_or_default() } else { 0 };
            before = file.shown.to_string();
            self.found.items.push(Touchpoint {
                path: file.shown.to_string(),
                span: draft.lines,
                symbol: symbol.name.to_string(),
                qualified: self.index.qualified(draft.hit.id),
                kind: symbol.kind,
                whole: symbol.lines,
                signature: draft.signature,
                text: format!("{head}{}", draft.text),
                brief: format!("{head}{}", draft.brief),
                tokens: draft.tokens + extra,
                rank: draft.rank,
                score: draft.hit.score,
                score_parts: draft.hit.parts,
                why: why(&draft.hit, &draft.found),
                file_hash: file.hash,
            });
        }
        self.found
    }
}

/// Returns the strongest reasons for a hit, as text.
pub fn why(hit: &Hit, name: &str) -> String {
    let parts = hit.parts;
    let exact = format!("the name {name}");
    let words = match hit.matched.as_slice() {
        [] => "words in it".to_owned(),
        [word] => format!("the word \"{word}\""),
        words => format!("the words \"{}\"", words.join("\", \"")),
    };
    let all = [
        (parts.exact, exact.as_str()),
        (parts.focus, "in or near the focus"),
        (parts.words, words.as_str()),
        (parts.file, "words in its file"),
        (parts.path, "its path"),
        (parts.graph, "a related symbol"),
        (parts.near, "nearby code"),
        (parts.meaning, "a similar meaning"),
    ];
    let most = all.iter().map(|(part, _)| *part).fold(0.0, f32::max);
    let strong = all.iter().filter(|(part, _)| *part > 0.0 && *part >= most * 0.3);
    strong.map(|(_, reason)| *reason).collect::<Vec<_>>().join(", ")
}

/// Returns the line before the first touchpoint of a file.
pub(crate) fn heading(path: &str) -> String {
    format!("## {path}\n")
}

/// Returns the signature on one line.
pub(crate) fn signature(symbol: &Symbol, text: &[u8]) -> String {
    if symbol.kind == Kind::File {
        return format!("file {}", symbol.name);
    }
    let raw = String::from_utf8_lossy(&text[symbol.head.within(text.len())]);
    let joined = raw.split_whitespace().collect::<Vec<_>>().join(" ");
    clipped(joined.trim_end_matches(['{', ':', ' ', '=']))
}

/// Returns the first and last line of the signature; `(0, 0)` for a file, which has none.
fn head_lines(symbol: &Symbol, text: &[u8]) -> (u32, u32) {
    if symbol.kind == Kind::File {
        return (0, 0);
    }
    let head = &text[symbol.head.within(text.len())];
    let trimmed = head.trim_ascii_end();
    let more = trimmed.split(|byte| *byte == b'\n').count().saturating_sub(1);
    (symbol.line, symbol.line.saturating_add(to_u32(more)))
}

fn clipped(line: &str) -> String {
    line[..line.floor_char_boundary(LONGEST_LINE)].to_owned()
}
