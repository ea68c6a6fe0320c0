//! Offers the symbols that match the question, or the symbols of the previous question, as touchpoints, and adds rows
//! for the best symbols that are not sent.
//! Not for: whether to search (`code`), finding symbols (`code_search`), or admission (`context`).

use super::cards::in_thousandths;
use super::code::CodeWriter;
use super::code_history;
use super::code_meaning::Meaning;
use super::code_rows::{atom_of, near_excluded, near_row, nothing, scores};
use super::code_search::{Depth, FoundSymbols, SymbolSearch, own_words, read_for, search_symbols};
use super::sent_lines::Margin;
use crate::code::find::cards::{Limits, SentLines, heading};
use crate::code::find::choose;
use crate::code::parse::words::Analyzer;
use crate::context::render::render_forms;
use crate::domain::base::Hash;
use crate::domain::base::secrets;
use crate::domain::call::tokens::grouped;
use crate::domain::call::{CodeCandidate, CodeSet, Gate, SkipReason};
use crate::domain::code::{CodeRef, NearSymbol, NearSymbolReason};
use crate::domain::conversation::Atom;
use crate::domain::planning::{Block, Candidate, Offer, OfferLimit, OmittedItem, RowKind, Scores, Section, Source};
use crate::domain::planning::{Reason, Warning};
use std::collections::HashSet;
use std::sync::Arc;

/// The maximum number of rows for symbols that match but are not sent.
const NEAR: usize = 8;
/// Number of touchpoints that are sent regardless of score.
const SURE: usize = 6;
/// Documentation and excerpts are tried after all signatures: this is added to a symbol's rank.
const AFTER_SIGNATURES: u32 = 1_000;

/// A request for symbols.
pub(crate) struct SymbolRequest {
    pub(crate) depth: Depth,
    /// The message.
    pub(crate) asked: String,
    /// The files and symbols that are attached to it.
    pub(crate) attached: Vec<(String, Option<(u32, u32)>)>,
    /// Symbols of the previous question, if the message has no content or continues its subject.
    pub(crate) kept: Vec<CodeCandidate>,
}

/// Returns whether a block is the short card of a symbol that the program leased.
pub(super) fn is_short_card(block: &Block) -> bool {
    let engine = matches!(block.reason, Reason::Leased { engine: true, .. } | Reason::Ephemeral);
    engine && block.kind == RowKind::Code
}

impl CodeWriter<'_> {
    /// Searches symbols for the question and offers them, or offers the symbols of the previous question.
    pub(super) fn touchpoints(
        &mut self,
        request: &SymbolRequest,
        (mut taken, margin): (SentLines, Margin),
        meaning: Option<&Meaning<'_>>,
        analyzer: &mut Analyzer,
    ) {
        let (depth, attached) = (request.depth, &request.attached);
        for (path, lines) in attached {
            taken.add(path, lines.unwrap_or((1, u32::MAX)));
        }
        let Some(rules) = self.snapshot.rules.code.clone() else { return };
        let limits = Limits {
            items: self.limits.items,
            sure: SURE,
            lines: if depth == Depth::Mentioned { 0 } else { self.limits.lines },
            tokens: self.limits.tokens,
            ..Limits::UNLIMITED
        };
        let found_symbols = self.workspace.look(|loaded| {
            let asked = read_for(&loaded.index, analyzer, own_words(&request.asked));
            let wanted = SymbolSearch {
                asked: &asked,
                depth,
                kept: &request.kept,
                meaning,
                scope: &choose::scope(&loaded.index, &rules.focus),
                attached,
                marks: &self.snapshot.marks,
                taken: &taken,
                rules: &rules,
                limits,
                count: self.count,
            };
            search_symbols(loaded, &wanted)
        });
        let Some(mut found_symbols) = found_symbols else {
            self.record(request, Gate::Skipped(SkipReason::Indexing), 0, (Vec::new(), None));
            return self.near(nothing(Reason::CodeReading, 0));
        };
        let (gate, among) = (found_symbols.gate, found_symbols.among);
        let candidates = std::mem::take(&mut found_symbols.candidates);
        self.record(request, gate, among, (candidates, found_symbols.embedder.take()));
        if among == 0 {
            return;
        }
        for name in &found_symbols.unknown {
            self.found.input.warnings.push(Warning::FocusUnknown { name: name.clone() });
        }
        if gate == Gate::Skipped(SkipReason::NotNamed) {
            return;
        }
        if let Gate::Skipped(because) = gate {
            return self.near(nothing(Reason::NoCode { because }, among));
        }
        if depth == Depth::Mentioned && found_symbols.items.is_empty() && found_symbols.near.is_empty() {
            return;
        }
        self.add_rows(&found_symbols, &margin, rules.settings.share);
    }

    fn record(
        &mut self,
        request: &SymbolRequest,
        gate: Gate,
        among: usize,
        (candidates, embedder): (Vec<CodeCandidate>, Option<String>),
    ) {
        let set = code_history::set(self.snapshot, self.workspace, own_words(&request.asked), gate);
        let among = u32::try_from(among).unwrap_or(u32::MAX);
        self.found.contents.code_set = Some(Arc::new(CodeSet { among, embedder, candidates, ..set }));
    }

    /// Leaves out the short cards of symbols whose lines the request already contains. If only turns of the margin
    /// contain these lines, the card is sent unless one of these turns is.
    pub(super) fn omit_short_cards(&mut self, (taken, margin): &(SentLines, Margin)) {
        let is_taken = |block: &Block| {
            let code = block.source.code.as_deref().filter(|_| is_short_card(block));
            code.is_some_and(|code| taken.first_in(&code.path, code.lines).is_some())
        };
        let (out, stay): (Vec<Block>, Vec<Block>) =
            std::mem::take(&mut self.found.input.blocks).into_iter().partition(is_taken);
        self.found.input.blocks = stay;
        self.found.contents.round_parts.marked.retain(|block| !is_taken(block));
        let blocks = self.found.input.blocks.iter_mut().chain(&mut self.found.contents.round_parts.marked);
        for block in blocks.filter(|block| is_short_card(block)) {
            let Some(code) = block.source.code.as_deref() else { continue };
            let repeats = margin.iter().filter(|(_, lines)| lines.first_in(&code.path, code.lines).is_some());
            block.repeats = repeats.map(|(turn, _)| *turn).collect();
        }
        for code in out.into_iter().filter_map(|block| block.source.code) {
            self.near(near_row(*code, 0, Reason::Duplicate, ("pin", "pins it"), Scores::default()));
        }
    }

    /// Removes the short cards of symbols that are offered as touchpoints.
    fn replace_short_cards(&mut self, offer: &Offer) {
        let offered: HashSet<Option<Atom>> = offer.candidates.iter().map(|one| one.block.atom).collect();
        let stays = |block: &Block| !(is_short_card(block) && offered.contains(&block.atom));
        self.found.input.blocks.retain(stays);
        self.found.contents.round_parts.marked.retain(stays);
    }

    fn add_rows(&mut self, found_symbols: &FoundSymbols, margin: &Margin, share: u32) {
        let others = self.other_rows(found_symbols);
        if found_symbols.items.is_empty() {
            if others.is_empty() {
                let because = match found_symbols.gate {
                    Gate::Inherited(why) => why,
                    Gate::Pass(_) | Gate::Skipped(_) => SkipReason::Faint,
                };
                self.near(nothing(Reason::NoCode { because }, found_symbols.among));
            }
            return others.into_iter().for_each(|row| self.near(row));
        }
        let offer = Offer { others, most_rows: Some(NEAR), ..self.offered(found_symbols, margin, share) };
        self.replace_short_cards(&offer);
        self.found.contents.round_parts.touchpoints = Some(offer.clone());
        self.found.offer(offer);
    }

    /// Returns the rows of symbols that are no candidates.
    fn other_rows(&self, found_symbols: &FoundSymbols) -> Vec<OmittedItem> {
        let remedy = ("include-once", "includes it in the next request");
        let input = &self.found.input;
        let blocks = input.blocks.iter().filter_map(|block| block.atom);
        let listed: HashSet<Atom> = blocks.chain(input.near.iter().map(|near| near.atom)).collect();
        let other = |near: &&(NearSymbol, CodeRef)| !listed.contains(&atom_of(&near.1));
        let row = |(near, code): &(NearSymbol, CodeRef)| {
            if near.why == NearSymbolReason::Excluded {
                return near_excluded(code.clone());
            }
            let (tokens, reason) = omission(near.why);
            near_row(code.clone(), tokens, reason, remedy, in_thousandths(near.score, &[]))
        };
        found_symbols.near.iter().filter(other).take(NEAR).map(row).collect()
    }

    /// Returns the offer: the heading, then the touchpoints by file, between delimiters that do not occur in them. A
    /// touchpoint whose lines are part of a turn of the margin is sent only if that turn is not sent. `share` is the
    /// percentage of the allowance that code may take.
    fn offered(&mut self, found_symbols: &FoundSymbols, margin: &Margin, share: u32) -> Offer {
        let FoundSymbols { items, among, gate, .. } = found_symbols;
        let kept = matches!(gate, Gate::Inherited(_));
        let masked: Vec<String> = items.iter().map(|(item, _)| secrets::mask(&item.text).0.into_owned()).collect();
        let mark = render_forms::delimiter(&masked.concat());
        let name = self.workspace.name();
        let heading = format!("## Code of {name} that may bear on this, as it is now\n\n<<<{mark}\n");
        let among = u32::try_from(*among).unwrap_or(u32::MAX);
        let (title, reason) = if kept {
            (format!("kept from {name}"), Reason::KeptCode { rank: 0 })
        } else {
            let title = format!("found in {name} among {} symbols", grouped(u64::from(among)));
            (title, Reason::CodeSearched { among })
        };
        let heading = self.block(Section::Retrieved, heading, &title, reason, Atom::code_search());
        let heading = Block { kind: RowKind::Search, ..heading };
        let tail = format!("{mark}>>>\n\n");
        let mut candidates = Vec::with_capacity(2 * items.len());
        let mut files: Vec<&str> = Vec::new();
        for ((item, code), text) in items.iter().zip(masked) {
            if !files.contains(&item.path.as_str()) {
                files.push(&item.path);
            }
            let brief = secrets::mask(&item.brief).0.into_owned();
            let more = (text != brief).then_some(text);
            for (text, extends) in std::iter::once((brief, false)).chain(more.map(|text| (text, true))) {
                let texts = self.texts(&item.path, &text, &tail);
                let reason = if kept {
                    Reason::KeptCode { rank: item.rank }
                } else {
                    Reason::Touchpoint { rank: item.rank, because: item.why.clone() }
                };
                let block = Block {
                    atom: Some(atom_of(code)),
                    source: Source { code: Some(Box::new(code.clone())), ..Source::default() },
                    scores: scores(item.score, &item.score_parts),
                    ..Block::new(Section::Retrieved, RowKind::Code, texts[0], &code.title(), reason)
                };
                let turn = margin.iter().find(|(_, lines)| lines.first_in(&item.path, item.span).is_some());
                let order = item.rank + if extends { AFTER_SIGNATURES } else { 0 };
                let one = Candidate::plain(block, order, ("include-once", "includes it in the next request"));
                let (turn, stretch) = (turn.map(|(turn, _)| *turn), u32::try_from(files.len()).unwrap_or(u32::MAX));
                candidates.push(Candidate { texts, stretch, extends, turn, ..one });
            }
        }
        Offer::new(Some(heading), candidates, OfferLimit::Allowance { parts: share, of: 100 })
    }

    /// Returns the text of a touchpoint for each position: the path comes before the first touchpoint of a file.
    fn texts(&mut self, path: &str, text: &str, tail: &str) -> [(Hash, u32); 6] {
        texts(path, text, tail).map(|text| self.found.contents.add_block(text, self.count))
    }
}

/// Returns the text of a touchpoint for each position: after the touchpoint before it, after another of its file, and
/// after one of another file, each in the middle and last.
fn texts(path: &str, text: &str, tail: &str) -> [String; 6] {
    let named = heading(path);
    let body = text.strip_prefix(&named).unwrap_or(text);
    let [before, same, other] = [text.to_owned(), body.to_owned(), format!("{named}{body}")];
    let last = [&before, &same, &other].map(|text| format!("{text}{tail}"));
    let [before_last, same_last, other_last] = last;
    [before, before_last, same, same_last, other, other_last]
}

/// Returns the tokens that a symbol needed and the reason that it is no candidate.
fn omission(why: NearSymbolReason) -> (u32, Reason) {
    match why {
        NearSymbolReason::NoRoom { needed } | NearSymbolReason::Weak { needed } => (needed, Reason::BelowThreshold),
        NearSymbolReason::Inside | NearSymbolReason::Sent => (0, Reason::Duplicate),
        NearSymbolReason::Excluded => (0, Reason::UserExcluded { once: false }),
        NearSymbolReason::Changed => (0, Reason::StaleFile),
    }
}

#[cfg(test)]
mod tests {
    use super::super::code_search::read_message;
    use super::*;
    use crate::code::find::cards::compose;
    use crate::code::find::rank::rank;
    use crate::code::index::build::renew;
    use crate::code::index::records::Index;
    use crate::code::parse::walk::Bounds;
    use crate::code::tuning::Tuning;
    use crate::context;
    use crate::domain::call::{CountTokens as _, Encoding};
    use crate::engine::indexing::code_workspace::WorkspaceFiles;
    use crate::llm::counting::tokens::Tokenizers;
    use std::path::Path;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn a_weak_symbol_is_left_out_by_better_matches() {
        assert_eq!(omission(NearSymbolReason::Weak { needed: 30 }), (30, Reason::BelowThreshold));
        assert!(!Reason::BelowThreshold.sentence().contains("messages"), "symbols and summaries have this reason too");
    }

    /// Admission relies on this: whatever touchpoints are sent, one that leaves frees at least what the next one then
    /// takes in addition, such as the path of its file.
    #[test]
    fn a_touchpoint_that_leaves_frees_enough_for_the_next() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/code/find");
        let mut index = Index::default();
        renew(&mut index, &root, &Bounds::default(), &AtomicBool::new(false), &mut |_| (), &mut |_| ()).unwrap();
        let tokenizers = Tokenizers::new();
        let count = |text: &str| tokenizers.count(Encoding::O200kBase, text);
        for asked in ["rank symbols by the words of a query", "the limits of a touchpoint", "map of the folders"] {
            let hits = rank(&index, &read_message(&mut Analyzer::default(), asked), &Tuning::for_plans(), 60);
            let limits = Limits { items: 30, lines: 4, ..Limits::UNLIMITED };
            let found = compose(
                &index,
                &hits,
                &WorkspaceFiles(&root),
                &count,
                limits,
                (&SentLines::default(), &SentLines::default()),
            );
            assert!(found.items.len() > 12, "{}", found.items.len());
            let mut candidates = Vec::new();
            let mut files: Vec<&str> = Vec::new();
            for item in &found.items {
                files.push(&item.path);
                files.dedup();
                for (text, extends) in [(&item.brief, false), (&item.text, true)] {
                    let texts = texts(&item.path, text, "12345>>>\n\n");
                    let texts = texts.map(|text| (Hash::of(text.as_bytes()), count(&text)));
                    let block = Block::new(Section::Retrieved, RowKind::Code, texts[0], "", Reason::CodeReading);
                    let stretch = u32::try_from(files.len()).unwrap();
                    candidates.push(Candidate { texts, stretch, extends, ..Candidate::plain(block, 0, ("", "")) });
                }
            }
            let offer = Offer::new(None, candidates, OfferLimit::Room);
            for (every, from) in (1..9).flat_map(|every| (0..every).map(move |from| (every, from))) {
                context::assert_leaving_frees_enough(&offer, &|at| at % every == from || (at / 5) % every == from);
            }
        }
    }
}
