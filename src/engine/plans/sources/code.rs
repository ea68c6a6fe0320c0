//! Offers code of a trusted workspace to a plan: the map, symbols that a person pinned, and touchpoints for the
//! question, each as a row of its own. Lines that the request contains anyway are not sent again.
//! Not for: reading code (`indexing::code_indexer`), finding symbols (`code`), or what the request already contains
//! (`sent_lines`).
//!
//! Nothing here blocks: while the code is being read, a row says so, and the plan is made again afterwards.

use super::code_rows::{ANCHORS, atom_of, gist, heading_atom, map_text, milli, near_row, nothing, place, scores};
use super::code_search::{Attached, Depth, FoundSymbols, Wanted, own_words, read_message, search_symbols};
use super::rules::MIN_CONFIDENCE;
use super::sent_lines::{self, Margin};
use crate::code::find::cards::{Limits, SentLines};
use crate::code::find::{choose, names};
use crate::code::parse::words::Analyzer;
use crate::context::AlreadyIn;
use crate::context::render::render_forms;
use crate::domain::base::failure::Failure;
use crate::domain::base::hash::{Fields, Hash};
use crate::domain::base::secrets;
use crate::domain::call::tokens::grouped;
use crate::domain::code::settings::CodeLimits;
use crate::domain::code::symbols::{CodeMap, CodeRef, NamedSymbol, NearSymbolReason, Touchpoint};
use crate::domain::conversation::mark::{Atom, LeaseTurns, Mark, MarkKind};
use crate::domain::planning::input::{Block, Candidate, Offer, OmittedItem};
use crate::domain::planning::mode::{Mode, SearchChoice};
use crate::domain::planning::plan::{Reason, RowKind, Scores, Source, Warning};
use crate::domain::planning::policy::Section;
use crate::domain::summary::module::{ModuleCard, Staleness};
use crate::engine::indexing::code_indexer::source;
use crate::engine::indexing::code_workspace::{CodeWorkspace, LoadedWorkspace, MapRequest};
use crate::engine::plans::input_builder::{BuiltInput, InputBuilder};
use crate::engine::plans::snapshot::Snapshot;
use crate::engine::summaries::module_cards;
use std::collections::HashSet;

/// The maximum number of rows for symbols that match but are not sent.
const NEAR: usize = 8;
/// Number of touchpoints that are sent whatever their score.
const SURE: usize = 6;
/// The maximum tokens of the heading and the delimiters around touchpoints.
const FRAME: u32 = 64;

/// A symbol search that runs once the lines that the request contains anyway are known.
pub(crate) struct SymbolSearch {
    book: CodeWorkspace,
    limits: CodeLimits,
    depth: Depth,
    asked: String,
    attached: Vec<(String, Option<(u32, u32)>)>,
}

impl SymbolSearch {
    /// Offers the symbols that match the question.
    pub(crate) fn add(
        self,
        builder: &mut InputBuilder,
        snapshot: &Snapshot,
        already_in: &AlreadyIn,
        found: &mut BuiltInput,
    ) -> Result<(), Failure> {
        let lines = sent_lines::already_sent(builder, &self.book, already_in, found)?;
        let counter = builder.counter();
        let encoding = snapshot.rules.model.encoding;
        let count = |text: &str| counter.count(encoding, text);
        let mut writer = CodeWriter { snapshot, book: &self.book, found, count: &count, limits: self.limits };
        writer.touchpoints((&self.asked, self.depth), &self.attached, lines, &mut builder.analyzer);
        Ok(())
    }
}

/// Offers the map of the code and adds the symbols that a person pinned. Returns the search that is to run; `None` if
/// none is.
pub(crate) fn add(
    builder: &mut InputBuilder,
    snapshot: &Snapshot,
    asked: Option<&str>,
    found: &mut BuiltInput,
) -> Result<Option<SymbolSearch>, Failure> {
    let (Some(rules), Some(book)) = (&snapshot.rules.code, builder.code.clone()) else { return Ok(None) };
    let limits = rules.orienting.limits(snapshot.rules.mode);
    let attached = attached(snapshot, asked.unwrap_or_default());
    let marked = snapshot.marks.iter().any(|mark| mark.code.is_some());
    let focus = !rules.focus.is_empty() || !attached.is_empty();
    let depth = depth(builder, snapshot, (focus, asked)).filter(|_| limits.items > 0);
    let useful = focus || snapshot.rules.mode == Mode::Heavy || !snapshot.rules.tools.is_empty();
    let maps = limits.map > 0 && useful && book.holds_code();
    if !maps && depth.is_none() && !marked {
        return Ok(None);
    }
    let counter = builder.counter();
    let encoding = snapshot.rules.model.encoding;
    let count = |text: &str| counter.count(encoding, text);
    let wish = MapRequest { encoding, tokens: limits.map, anchors: limits.anchors };
    if maps {
        drop(book.map(wish));
    }
    book.refresh();
    let parts = if maps && limits.anchors > 0 { parts(builder, snapshot, found)? } else { Vec::new() };
    let mut writer = CodeWriter { snapshot, book: &book, found, count: &count, limits };
    if maps {
        writer.map(book.map(wish).as_deref(), &parts);
    }
    if marked {
        writer.marked();
    }
    let asked = asked.unwrap_or_default().to_owned();
    Ok(depth.map(|depth| SymbolSearch { book, limits, depth, asked, attached }))
}

/// Returns how much of the code the message may bring; `None` if none. In Light without a focus, that is only what it
/// names.
fn depth(builder: &mut InputBuilder, snapshot: &Snapshot, (focus, asked): (bool, Option<&str>)) -> Option<Depth> {
    let (mode, search) = (snapshot.rules.mode, snapshot.search);
    if search == SearchChoice::Never {
        return None;
    }
    if mode == Mode::Heavy || focus || search == SearchChoice::Anyway {
        return Some(Depth::Full);
    }
    if mode == Mode::Off {
        return None;
    }
    let asked = read_message(&mut builder.analyzer, own_words(asked.unwrap_or_default()));
    (!asked.names.is_empty() || !asked.paths.is_empty()).then_some(Depth::Mentioned)
}

/// Returns one line for each module summary that the message is about and that is neither sent whole nor excluded by a
/// person.
fn parts(builder: &InputBuilder, snapshot: &Snapshot, found: &BuiltInput) -> Result<Vec<String>, Failure> {
    let Some(project) = &builder.project else { return Ok(Vec::new()) };
    let offered = || found.input.offers.iter().flat_map(|offer| &offer.candidates);
    let goes = |atom: Atom| offered().any(|one| one.block.atom == Some(atom));
    let out = |atom: Atom| snapshot.marks.iter().any(|mark| mark.target == atom && mark.kind.excludes());
    let near = &found.input.near;
    let unrelated = |atom: Atom| near.iter().any(|row| row.atom == atom && row.reason == Reason::Unrelated);
    let all = module_cards::current(builder.store(), project)?.into_iter();
    let line = |(_, card, stale): (Atom, ModuleCard, Staleness)| {
        format!("{} ({}): {}", card.path, stale.to_text(card.files.len()), gist(&card))
    };
    let all = all.filter(|(atom, card, _)| card.confidence >= MIN_CONFIDENCE && !unrelated(*atom));
    Ok(all.filter(|(atom, ..)| !goes(*atom) && !out(*atom)).take(ANCHORS).map(line).collect())
}

/// Returns the files and symbols that are attached to the message; they count as focus.
fn attached(snapshot: &Snapshot, asked: &str) -> Vec<(String, Option<(u32, u32)>)> {
    let text = snapshot.draft.as_ref().map(|(_, content)| content.plain_text());
    let texts = crate::domain::conversation::attachment::attached_texts(text.as_deref().unwrap_or(asked));
    texts.into_iter().map(|text| (text.path.to_owned(), text.lines)).collect()
}

struct CodeWriter<'a> {
    snapshot: &'a Snapshot,
    book: &'a CodeWorkspace,
    found: &'a mut BuiltInput,
    count: &'a dyn Fn(&str) -> u32,
    limits: CodeLimits,
}

impl CodeWriter<'_> {
    fn mark(&self, atom: Atom) -> Option<&Mark> {
        self.snapshot.marks.iter().find(|mark| mark.target == atom)
    }

    fn near(&mut self, near: OmittedItem) {
        let input = &mut self.found.input;
        input.basis.frozen = Fields::new("no code").hash(input.basis.frozen).json(&near.reason).finish();
        input.near.push(near);
    }

    fn block(&self, section: Section, text: String, title: &str, reason: Reason, atom: Atom) -> (Block, String) {
        let counted = (Hash::of(text.as_bytes()), (self.count)(&text));
        let block = Block { atom: Some(atom), ..Block::new(section, RowKind::Code, counted, title, reason) };
        (block, text)
    }

    /// Offers the map of folders with a hint on how to explore further, and in Heavy the most central symbols.
    fn map(&mut self, map: Option<&CodeMap>, parts: &[String]) {
        let name = self.book.name();
        let title = format!("map of {name}");
        let mark = self.mark(Atom::code_map()).map(|mark| mark.kind);
        let row = |reason: Reason, tokens: u32, remedy: (&str, &str)| OmittedItem {
            atom: Atom::code_map(),
            kind: RowKind::Code,
            title: title.clone(),
            tokens,
            reason,
            remedy: (remedy.0.into(), remedy.1.into()),
            source: Source::default(),
            scores: Scores::default(),
        };
        let Some(map) = map else {
            return self.near(row(Reason::CodeReading, 0, ("include-once", "includes it in the next request")));
        };
        if map.text.is_empty() {
            return;
        }
        let text = map_text(&name, map, parts, &self.snapshot.rules.tools);
        let tokens = (self.count)(&text);
        if let Some(kind) = mark.filter(|kind| kind.excludes()) {
            let once = kind == MarkKind::ExcludeOnce;
            let action = if once { "exclude-once" } else { "exclude" };
            let reason = Reason::UserExcluded { once };
            return self.near(row(reason, tokens, (action, "removes the exclusion")));
        }
        let block = self.block(Section::Orientation, text, &title, Reason::Oriented, Atom::code_map());
        let (block, text) = block;
        self.found.contents.blocks.insert(block.text, text.into());
        let candidate = Candidate::plain(block, 0, ("budget-up", "raises the budget"));
        self.found.offer(Offer { heading: None, candidates: vec![candidate], most: None });
    }

    /// Adds the symbols that a person pinned, with their present source, and rows for those that are excluded.
    fn marked(&mut self) {
        let marks: Vec<Mark> = self.snapshot.marks.iter().filter(|mark| mark.code.is_some()).cloned().collect();
        for mark in marks {
            let Some(code) = mark.code.as_deref() else { continue };
            let now = self.book.look(|loaded| now(loaded, code)).flatten();
            let (section, reason) = match mark.kind {
                MarkKind::Sticky => (Section::StickyPins, Reason::Sticky),
                MarkKind::Leased { turns: LeaseTurns::Ended } | MarkKind::Ephemeral => continue,
                MarkKind::Leased { turns: LeaseTurns::Left(turns) } => {
                    (Section::LeasedPins, Reason::Leased { left: turns.get(), engine: false })
                }
                MarkKind::IncludeOnce => (Section::LeasedPins, Reason::IncludedOnce),
                MarkKind::Exclude | MarkKind::ExcludeOnce => {
                    let once = mark.kind == MarkKind::ExcludeOnce;
                    let tokens = now.as_ref().map_or(0, |(_, text)| (self.count)(text));
                    let action = if once { "exclude-once" } else { "exclude" };
                    let remedy = (action.to_owned(), "removes the exclusion".to_owned());
                    let reason = Reason::UserExcluded { once };
                    self.near(near_row(code.clone(), tokens, reason, remedy, Scores::default()));
                    continue;
                }
            };
            if now.is_none() && self.book.look(|_| ()).is_none() {
                let remedy = ("pin".to_owned(), "removes the pin".to_owned());
                self.near(near_row(code.clone(), 0, Reason::CodeReading, remedy, Scores::default()));
                continue;
            }
            let Some((code, text)) = now else {
                let remedy = ("pin".to_owned(), "removes the pin".to_owned());
                self.near(near_row(code.clone(), 0, Reason::StaleFile, remedy, Scores::default()));
                continue;
            };
            let changed = mark.code.as_ref().is_some_and(|then| then.file != code.file);
            let since = if changed { "; its file was changed since it was marked" } else { "" };
            let label = format!("Code chosen by the user, in its current version: {}", place(&code));
            let title = format!("{}{since}", code.title());
            let (block, text) =
                self.block(section, render_forms::fenced(&label, &text), &title, reason, atom_of(&code));
            let block = Block { source: Source { code: Some(Box::new(code)), ..Source::default() }, ..block };
            // Without an offer they are required: a person's own pins block a call rather than be left out.
            self.found.contents.blocks.insert(block.text, text.into());
            let input = &mut self.found.input;
            let frozen = Fields::new("code pin").hash(input.basis.frozen).hash(block.text);
            input.basis.frozen = frozen.json(&block.section).json(&block.reason).finish();
            input.blocks.push(block);
        }
    }

    /// Searches symbols for the question and offers them.
    fn touchpoints(
        &mut self,
        (asked, depth): (&str, Depth),
        attached: &Attached,
        (mut taken, margin): (SentLines, Margin),
        analyzer: &mut Analyzer,
    ) {
        for (path, lines) in attached {
            taken.add(path, lines.unwrap_or((1, u32::MAX)));
        }
        let most = self.most();
        if most <= FRAME || asked.trim().is_empty() {
            return;
        }
        let asked = read_message(analyzer, own_words(asked));
        let marked: HashSet<Hash> =
            self.snapshot.marks.iter().filter_map(|mark| Some(mark.code.as_ref()?.key())).collect();
        let Some(rules) = self.snapshot.rules.code.clone() else { return };
        let limits = Limits {
            budget: most - FRAME,
            items: self.limits.items,
            sure: SURE,
            lines: if depth == Depth::Mentioned { 0 } else { self.limits.lines },
            tokens: self.limits.tokens,
            excerpts: 50,
        };
        let found_symbols = self.book.look(|loaded| {
            let wanted = Wanted {
                asked: &asked,
                depth,
                scope: &choose::scope(&loaded.index, &rules.focus),
                attached,
                marked: &marked,
                taken: &taken,
                rules: &rules,
                limits,
                count: self.count,
            };
            search_symbols(loaded, &wanted)
        });
        let Some(found_symbols) = found_symbols else {
            return self.near(nothing(Reason::CodeReading, 0));
        };
        if found_symbols.among == 0 {
            return;
        }
        for name in &found_symbols.unknown {
            self.found.input.warnings.push(Warning::FocusUnknown { name: name.clone() });
        }
        if let Some(because) = found_symbols.silent {
            return self.near(nothing(Reason::NoCode { because }, found_symbols.among));
        }
        if depth == Depth::Mentioned && found_symbols.items.is_empty() && found_symbols.near.is_empty() {
            return;
        }
        self.add_rows(&found_symbols, &margin, most);
    }

    /// Returns the tokens of the retrieval allowance that code may use.
    fn most(&self) -> u32 {
        let share = self.snapshot.rules.code.as_ref().map_or(0, |rules| rules.orienting.share.min(100));
        (u64::from(self.found.input.allowance) * u64::from(share) / 100).try_into().unwrap_or(u32::MAX)
    }

    fn add_rows(&mut self, found_symbols: &FoundSymbols, margin: &Margin, most: u32) {
        if !found_symbols.items.is_empty() {
            let offer = self.offered(&found_symbols.items, found_symbols.among, margin, most);
            self.found.offer(offer);
        }
        if found_symbols.items.is_empty() && found_symbols.near.is_empty() {
            let because = crate::domain::call::retrieval_set::SkipReason::Faint;
            self.near(nothing(Reason::NoCode { because }, found_symbols.among));
        }
        let include = || ("include-once".to_owned(), "includes it in the next request".to_owned());
        for (near, code) in found_symbols.near.iter().take(NEAR) {
            let (tokens, reason) = match near.why {
                NearSymbolReason::NoRoom { needed } | NearSymbolReason::Weak { needed } => {
                    (needed, Reason::BelowThreshold)
                }
                NearSymbolReason::Inside | NearSymbolReason::Sent => (0, Reason::Duplicate),
                NearSymbolReason::Changed => (0, Reason::StaleFile),
            };
            let scores = Scores { score: Some(milli(near.score)), parts: Vec::new() };
            self.near(near_row(code.clone(), tokens, reason, include(), scores));
        }
    }

    /// Returns the offer: the heading, then the touchpoints by file, between delimiters that do not occur in them. A
    /// touchpoint whose lines are part of a turn of the margin is sent only if that turn is not.
    fn offered(&mut self, items: &[(Touchpoint, CodeRef)], among: usize, margin: &Margin, most: u32) -> Offer {
        let masked: Vec<String> = items.iter().map(|(item, _)| secrets::mask(&item.text).0.into_owned()).collect();
        let mark = render_forms::delimiter(&masked.concat());
        let name = self.book.name();
        let heading = format!("## Code of {name} that may bear on this, as it is now\n\n<<<{mark}\n");
        let among = u32::try_from(among).unwrap_or(u32::MAX);
        let title = format!("{} found in {name} among {} symbols", items.len(), grouped(u64::from(among)));
        let (mut heading, text) =
            self.block(Section::Retrieved, heading, &title, Reason::CodeSearched { among }, heading_atom());
        heading.kind = RowKind::Search;
        self.found.contents.blocks.insert(heading.text, text.into());
        let tail = format!("{mark}>>>\n\n");
        let mut candidates = Vec::with_capacity(items.len());
        for (order, ((item, code), text)) in (0..).zip(items.iter().zip(masked)) {
            let named = format!("## {}\n", item.path);
            let alone = if text.starts_with(&named) { text.clone() } else { format!("{named}{text}") };
            let texts = [text.clone(), format!("{text}{tail}"), alone.clone(), format!("{alone}{tail}")];
            let texts = texts.map(|text| {
                let counted = (Hash::of(text.as_bytes()), (self.count)(&text));
                self.found.contents.blocks.insert(counted.0, text.into());
                counted
            });
            let reason = Reason::Touchpoint { rank: item.rank, because: item.why.clone() };
            let block = Block {
                atom: Some(atom_of(code)),
                source: Source { code: Some(Box::new(code.clone())), ..Source::default() },
                scores: scores(item.score, &item.score_parts),
                ..Block::new(Section::Retrieved, RowKind::Code, texts[0], &code.title(), reason)
            };
            let turn = margin.iter().find(|(_, lines)| lines.first_in(&item.path, item.span).is_some());
            let one = Candidate::plain(block, order, ("include-once", "includes it in the next request"));
            candidates.push(Candidate { texts, turn: turn.map(|(turn, _)| *turn), ..one });
        }
        Offer { heading: Some(heading), candidates, most: Some(most) }
    }
}

/// Returns a symbol as it is now, with its source; `None` if it is gone.
fn now(loaded: &LoadedWorkspace, wanted: &CodeRef) -> Option<(CodeRef, String)> {
    let id = names::resolve(&loaded.index, wanted)?;
    let code = names::reference(&loaded.index, id)?;
    let named = NamedSymbol {
        path: code.path.clone(),
        short: String::new(),
        qualified: code.qualified.clone(),
        kind: code.kind,
        lines: code.lines,
    };
    Some((code, source(loaded, &named).ok()?.text))
}
