//! Offers code of a trusted workspace to a plan: the map, symbols that a person pinned, and touchpoints for the
//! question, each in a separate row. Lines that the request already contains are not sent again.
//! Not for: reading code (`indexing::code_indexer`), finding symbols (`code`), or finding the lines that the request
//! already contains (`sent_lines`).
//!
//! Nothing here blocks: while the code is being read, a row says so, and the plan is made again afterward.

use super::code_meaning::Meaning;
use super::code_offer::{SymbolRequest, is_short_card};
use super::code_rows::{ANCHORS, atom_of, first_line, map_text, near_excluded, near_row, nothing, place};
use super::code_search::{Depth, own_words, read_message};
use super::rules::MIN_CONFIDENCE;
use super::sent_lines::{self, excluded};
use super::{code_history, retrieval, rounds};
use crate::code::find::brief::brief as code_brief;
use crate::code::find::cards::Sources as _;
use crate::code::find::names;
use crate::context::AlreadyIn;
use crate::context::render::render_forms;
use crate::domain::base::secrets;
use crate::domain::base::{Failure, Fields};
use crate::domain::call::{Gate, SkipReason};
use crate::domain::code::{CodeLimits, CodeMap, CodeRef, MapAnchor, NamedSymbol};
use crate::domain::conversation::{Actor, Atom, LeaseTurns, Mark, MarkKind};
use crate::domain::planning::Reason;
use crate::domain::planning::{
    Block, Candidate, Mode, Offer, OfferLimit, OmittedItem, RowKind, Scores, SearchChoice, Section, Source,
};
use crate::domain::summary::{ModuleCard, Staleness};
use crate::engine::indexing::code_indexer::source;
use crate::engine::indexing::code_workspace::{CodeWorkspace, LoadedWorkspace, MapRequest, WorkspaceFiles};
use crate::engine::plans::input_builder::{BuiltInput, InputBuilder};
use crate::engine::plans::snapshot::Snapshot;
use crate::engine::summaries::module_cards;
use std::path::Path;
use std::sync::Arc;

/// The maximum tokens of a short card, and of the label and delimiters around its text.
pub(crate) const SYMBOL_TOKENS: u32 = 120;
const LABEL: u32 = 60;

/// A symbol search that runs once the lines that the request already contains are known.
pub(crate) struct SymbolSearch {
    workspace: CodeWorkspace,
    limits: CodeLimits,
    /// The search; `None` if only short cards are compared with the lines that the request contains.
    request: Option<SymbolRequest>,
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
        let lines = sent_lines::already_sent(builder, &self.workspace, already_in, found)?;
        let count = builder.counting(snapshot.rules.model.encoding);
        let vectors = builder.finder.vectors.clone();
        let may_compare = self.request.as_ref().filter(|request| request.depth == Depth::Full);
        let compares = may_compare.filter(|request| !code_history::is_follow_up(&mut builder.analyzer, &request.asked));
        let meaning = vectors
            .as_ref()
            .zip(compares)
            .map(|(vectors, request)| Meaning::new(vectors, own_words(&request.asked), snapshot.priority));
        let mut writer = CodeWriter { snapshot, workspace: &self.workspace, found, count: &count, limits: self.limits };
        writer.omit_short_cards(&lines);
        if let Some(request) = &self.request {
            writer.touchpoints(request, lines, meaning.as_ref(), &mut builder.analyzer);
        }
        Ok(())
    }
}

/// Offers the map of the code and adds the symbols that a person pinned. Returns the search to run; `None` if there is
/// none.
pub(crate) fn add(
    builder: &mut InputBuilder,
    snapshot: &Snapshot,
    asked: Option<&str>,
    found: &mut BuiltInput,
) -> Result<Option<SymbolSearch>, Failure> {
    let (Some(rules), Some(workspace)) = (&snapshot.rules.code, builder.code.clone()) else { return Ok(None) };
    let limits = rules.settings.limits(snapshot.rules.mode);
    let asked = asked.unwrap_or_default();
    let attached = attached(snapshot, asked);
    let marked = snapshot.marks.iter().any(|mark| mark.code.is_some());
    let focus = !rules.focus.is_empty() || !attached.is_empty();
    let searches = limits.items > 0 && rules.settings.share > 0 && retrieval::limits(snapshot).retrieves();
    let round = snapshot.round_before.as_ref();
    let request = match round {
        Some(_) => None,
        None => request(builder, snapshot, (&workspace, asked), (focus, searches), attached, found)?,
    };
    let useful = focus || snapshot.rules.mode == Mode::Heavy || !snapshot.rules.tools.is_empty();
    let maps = limits.map > 0 && useful && workspace.holds_code();
    if !maps && request.is_none() && !marked && round.is_none() {
        return Ok(None);
    }
    let count = builder.counting(snapshot.rules.model.encoding);
    let map_request =
        MapRequest { encoding: snapshot.rules.model.encoding, tokens: limits.map, anchors: limits.anchors };
    if maps {
        drop(workspace.map(map_request));
    }
    workspace.refresh();
    if let Some(round) = round {
        rounds::repeat_code(round, snapshot, &workspace, found);
    }
    let maps = maps && (round.is_none() || rounds::excludes_map(snapshot));
    let parts = if maps && limits.anchors > 0 { parts(builder, snapshot, found)? } else { Vec::new() };
    let mut writer = CodeWriter { snapshot, workspace: &workspace, found, count: &count, limits };
    if maps {
        writer.map(workspace.map(map_request).as_deref(), &parts);
    }
    if marked {
        writer.marked();
    }
    let short = round.is_none() && found.input.blocks.iter().any(is_short_card);
    Ok((short || request.is_some()).then_some(SymbolSearch { workspace, limits, request }))
}

/// Returns the search for a message; if nothing is searched, records that and returns `None`. A message without content
/// keeps the symbols of the previous question, in every mode that searches. So does one that continues the subject, in
/// a whole search that finds nothing.
fn request(
    builder: &mut InputBuilder,
    snapshot: &Snapshot,
    (workspace, asked): (&CodeWorkspace, &str),
    (focus, searches): (bool, bool),
    attached: Vec<(String, Option<(u32, u32)>)>,
    found: &mut BuiltInput,
) -> Result<Option<SymbolRequest>, Failure> {
    if asked.trim().is_empty() {
        return Ok(None);
    }
    let depth = depth(builder, snapshot, (focus, searches), asked);
    let may_keep = matches!(depth, Ok(_) | Err(SkipReason::NotNamed)) && attached.is_empty();
    let continues = depth == Ok(Depth::Full) && code_history::is_continuation(asked);
    let kept = if may_keep && (continues || code_history::is_follow_up(&mut builder.analyzer, asked)) {
        code_history::kept(builder, snapshot, workspace)?
    } else {
        Vec::new()
    };
    let depth = match depth {
        Ok(depth) => depth,
        Err(SkipReason::NotNamed) if !kept.is_empty() => Depth::Mentioned,
        Err(why) => {
            let set = code_history::set(snapshot, workspace, own_words(asked), Gate::Skipped(why));
            found.contents.code_set = workspace.holds_code().then(|| Arc::new(set));
            let reason = match why {
                SkipReason::ModeOff => Some(Reason::ModeOff),
                SkipReason::PolicyOff | SkipReason::NoShare => Some(Reason::NoCode { because: why }),
                SkipReason::NotWanted
                | SkipReason::Indexing
                | SkipReason::NothingToFind
                | SkipReason::NoContent
                | SkipReason::Unknown
                | SkipReason::Common
                | SkipReason::Faint
                | SkipReason::NotNamed
                | SkipReason::NoFile => None,
            };
            if let Some(reason) = reason.filter(|_| workspace.holds_code()) {
                let row = nothing(reason, 0);
                found.contents.round_parts.near.push(row.clone());
                found.input.near.push(row);
            }
            return Ok(None);
        }
    };
    Ok(Some(SymbolRequest { depth, asked: asked.to_owned(), attached, kept }))
}

/// Returns how much code the message may add, or the reason why it adds none. In Light without a focus, a message adds
/// only code that it names.
fn depth(
    builder: &mut InputBuilder,
    snapshot: &Snapshot,
    (focus, searches): (bool, bool),
    asked: &str,
) -> Result<Depth, SkipReason> {
    let (mode, search) = (snapshot.rules.mode, snapshot.search);
    if search == SearchChoice::Never {
        return Err(SkipReason::NotWanted);
    }
    if !searches {
        return Err(match (retrieval::off(snapshot), retrieval::limits(snapshot).retrieves()) {
            (Reason::ModeOff, _) => SkipReason::ModeOff,
            (_, true) => SkipReason::NoShare,
            (_, false) => SkipReason::PolicyOff,
        });
    }
    if mode == Mode::Heavy || focus || search == SearchChoice::Anyway {
        return Ok(Depth::Full);
    }
    let asked = read_message(&mut builder.analyzer, own_words(asked));
    let names = !asked.names.is_empty() || !asked.paths.is_empty() || !asked.documents.is_empty();
    if names { Ok(Depth::Mentioned) } else { Err(SkipReason::NotNamed) }
}

/// Returns one line for each module summary that the message is about and that is neither sent whole nor excluded by a
/// person.
fn parts(builder: &InputBuilder, snapshot: &Snapshot, found: &BuiltInput) -> Result<Vec<String>, Failure> {
    let Some(project) = &builder.project else { return Ok(Vec::new()) };
    let offered = || found.input.offers.iter().flat_map(|offer| &offer.candidates);
    let is_offered = |atom: Atom| offered().any(|one| one.block.atom == Some(atom));
    let is_excluded = |atom: Atom| snapshot.marks.iter().any(|mark| mark.target == atom && mark.kind.excludes());
    let near = &found.input.near;
    let unrelated = |atom: Atom| near.iter().any(|row| row.atom == atom && row.reason == Reason::Unrelated);
    let all = module_cards::current(builder.store(), project)?.into_iter();
    let line = |(_, card, stale): (Atom, ModuleCard, Staleness)| {
        format!("{} ({}): {}", card.path, stale.to_text(card.files.len()), first_line(&card))
    };
    let all = all.filter(|(atom, card, _)| card.confidence >= MIN_CONFIDENCE && !unrelated(*atom));
    Ok(all.filter(|(atom, ..)| !is_offered(*atom) && !is_excluded(*atom)).take(ANCHORS).map(line).collect())
}

/// Returns the files and symbols that are attached to the message; they count as focus.
fn attached(snapshot: &Snapshot, asked: &str) -> Vec<(String, Option<(u32, u32)>)> {
    let text = snapshot.draft.as_ref().map(|(_, content)| content.plain_text());
    let texts = crate::domain::conversation::attachment::attached_texts(text.as_deref().unwrap_or(asked));
    texts.into_iter().map(|text| (text.path.to_owned(), text.lines)).collect()
}

/// Writes the parts of a plan's input that concern code.
pub(super) struct CodeWriter<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) workspace: &'a CodeWorkspace,
    pub(super) found: &'a mut BuiltInput,
    pub(super) count: &'a dyn Fn(&str) -> u32,
    pub(super) limits: CodeLimits,
}

impl CodeWriter<'_> {
    fn mark(&self, atom: Atom) -> Option<&Mark> {
        self.snapshot.marks.iter().find(|mark| mark.target == atom)
    }

    /// Adds a row of code that is left out. Later rounds of the turn repeat it.
    pub(super) fn near(&mut self, near: OmittedItem) {
        self.found.contents.round_parts.near.push(near.clone());
        self.near_by_mark(near);
    }

    /// Adds a row of code that is left out because of its mark.
    fn near_by_mark(&mut self, near: OmittedItem) {
        let input = &mut self.found.input;
        input.basis.frozen = Fields::new("no code").hash(input.basis.frozen).json(&near.reason).finish();
        input.near.push(near);
    }

    /// Adds the text of a block and returns the block.
    pub(super) fn block(&mut self, section: Section, text: String, title: &str, reason: Reason, atom: Atom) -> Block {
        let counted = self.found.contents.add_block(text, self.count);
        Block { atom: Some(atom), ..Block::new(section, RowKind::Code, counted, title, reason) }
    }

    /// Offers the map of folders with a hint on how to explore further, and in Heavy the most central symbols.
    fn map(&mut self, map: Option<&CodeMap>, parts: &[String]) {
        let name = self.workspace.name();
        let title = format!("map of {name}");
        let mark = self.mark(Atom::code_map()).map(|mark| mark.kind);
        let row = |reason: Reason, tokens: u32, remedy: (&str, &str)| {
            OmittedItem::new(Atom::code_map(), RowKind::Code, &title, tokens, reason, remedy)
        };
        let Some(map) = map else {
            return self.near(row(Reason::CodeReading, 0, ("include-once", "includes it in the next request")));
        };
        if map.text.is_empty() {
            return;
        }
        let text = map_text(&name, &self.without_excluded(map), parts, &self.snapshot.rules.tools);
        let tokens = (self.count)(&text);
        if let Some(kind) = mark.filter(|kind| kind.excludes()) {
            let once = kind == MarkKind::ExcludeOnce;
            let action = if once { "exclude-once" } else { "exclude" };
            let reason = Reason::UserExcluded { once };
            return self.near_by_mark(row(reason, tokens, (action, "removes the exclusion")));
        }
        let block = self.block(Section::Orientation, text, &title, Reason::CodeMap, Atom::code_map());
        let candidate = Candidate::plain(block, 0, ("budget-up", "raises the budget"));
        let offer = Offer::new(None, vec![candidate], OfferLimit::Room);
        self.found.contents.round_parts.map = Some(offer.clone());
        self.found.offer(offer);
    }

    /// Returns the map without the central symbols whose lines a person excluded.
    fn without_excluded(&self, map: &CodeMap) -> CodeMap {
        let mut map = map.clone();
        if self.snapshot.marks.iter().any(|mark| mark.kind.excludes() && mark.code.is_some()) {
            let excluded = self.workspace.look(|loaded| excluded(&loaded.index, &self.snapshot.marks));
            let is_sent = |anchor: &MapAnchor| {
                excluded
                    .as_ref()
                    .is_some_and(|lines| lines.first_in(&anchor.path, (anchor.line, anchor.line)).is_none())
            };
            map.anchors.retain(is_sent);
        }
        map
    }

    /// Adds the symbols that a person pinned, with their current source, the symbols that the program leased, as short
    /// cards, and rows for excluded symbols.
    fn marked(&mut self) {
        let marks: Vec<Mark> = self.snapshot.marks.iter().filter(|mark| mark.code.is_some()).cloned().collect();
        for mark in marks {
            let Some(code) = mark.code.as_deref() else { continue };
            let engine = mark.by == Actor::Engine;
            if mark.kind.excludes() {
                self.excluded(&mark, code);
            }
            let Some((section, reason)) = inclusion(mark.kind, engine) else { continue };
            let remedy = ("pin", if engine { "pins it" } else { "removes the pin" });
            let out = |reason: Reason| near_row(code.clone(), 0, reason, remedy, Scores::default());
            if engine && self.snapshot.rules.mode == Mode::Off {
                self.near_by_mark(out(Reason::ModeOff));
                continue;
            }
            let marks = &self.snapshot.marks;
            let is_excluded = self.workspace.look(|loaded| is_excluded(loaded, marks, code, engine));
            if engine && is_excluded == Some(true) {
                self.near_by_mark(near_excluded(code.clone()));
                continue;
            }
            if let Some(round) = &self.snapshot.round_before {
                if let Some(mut block) = rounds::marked(round, mark.target, section) {
                    rounds::copy_text(round, block.text, self.found);
                    self.found.contents.round_parts.marked.push(block.clone());
                    rounds::note_change(&mut block, self.workspace);
                    self.require(block);
                    continue;
                }
                // The program's marks do not change during a turn: a symbol that was not sent stays out.
                if engine {
                    continue;
                }
            }
            let now = self.workspace.look(|loaded| now(loaded, code, engine.then_some(self.count)));
            let (Some(is_excluded), Some(now)) = (is_excluded, now) else {
                self.near_by_mark(out(Reason::CodeReading));
                continue;
            };
            let Some((code, text)) = now else {
                self.near_by_mark(out(Reason::StaleFile));
                continue;
            };
            let changed = mark.code.as_ref().is_some_and(|then| then.file != code.file);
            let since = if changed { "; its file has changed since it was marked" } else { "" };
            let label = if engine {
                format!("Code mentioned before: {}", place(&code))
            } else {
                format!("Code chosen by the user, in its current version: {}", place(&code))
            };
            let although = if is_excluded { "; you also left out lines of it" } else { "" };
            let title = format!("{}{since}{although}", code.title());
            let block = self.block(section, render_forms::fenced(&label, &text), &title, reason, atom_of(&code));
            let block = Block { source: Source { code: Some(Box::new(code)), ..Source::default() }, ..block };
            self.found.contents.round_parts.marked.push(block.clone());
            self.require(block);
        }
    }

    /// Adds the row of a symbol that a person excluded.
    fn excluded(&mut self, mark: &Mark, code: &CodeRef) {
        let once = mark.kind == MarkKind::ExcludeOnce;
        let now = self.workspace.look(|loaded| now(loaded, code, None)).flatten();
        let tokens = now.map_or(0, |(_, text)| (self.count)(&text));
        let remedy = (if once { "exclude-once" } else { "exclude" }, "removes the exclusion");
        self.near_by_mark(near_row(code.clone(), tokens, Reason::UserExcluded { once }, remedy, Scores::default()));
    }

    /// Adds a block without an offer: a person's own pins are never left out; if they do not fit, the call is blocked.
    fn require(&mut self, block: Block) {
        let input = &mut self.found.input;
        let frozen = Fields::new("code pin").hash(input.basis.frozen).hash(block.text);
        input.basis.frozen = frozen.json(&block.section).json(&block.reason).finish();
        input.blocks.push(block);
    }
}

/// Returns the section and the reason of a marked symbol; `None` if its mark includes nothing.
fn inclusion(kind: MarkKind, engine: bool) -> Option<(Section, Reason)> {
    match kind {
        MarkKind::Sticky => Some((Section::StickyPins, Reason::Sticky)),
        MarkKind::Ephemeral => Some((Section::LeasedPins, Reason::Ephemeral)),
        MarkKind::Leased { turns: LeaseTurns::Left(turns) } => {
            Some((Section::LeasedPins, Reason::Leased { left: turns.get(), engine }))
        }
        MarkKind::IncludeOnce => Some((Section::LeasedPins, Reason::IncludedOnce)),
        MarkKind::Leased { turns: LeaseTurns::Ended } | MarkKind::Exclude | MarkKind::ExcludeOnce => None,
    }
}

/// Returns whether the lines of a symbol, or only its signature and documentation if `brief`, contain lines that a
/// person excluded.
fn is_excluded(loaded: &LoadedWorkspace, marks: &[Mark], code: &CodeRef, brief: bool) -> bool {
    let lines = excluded(&loaded.index, marks);
    let symbol = names::resolve(&loaded.index, code).and_then(|id| loaded.index.symbol(id));
    let Some((symbol, _)) = symbol.filter(|_| !lines.is_empty()) else { return false };
    if !brief {
        return lines.first_in(&code.path, symbol.lines).is_some();
    }
    let text = WorkspaceFiles(&loaded.root).text(Path::new(&code.path)).unwrap_or_default();
    lines.contains_signature(&code.path, symbol, &text) || lines.contains_documentation(&code.path, symbol, &text)
}

/// Returns a symbol as it is now, with its source, or in brief if `brief` counts tokens; `None` if it no longer exists.
fn now(loaded: &LoadedWorkspace, wanted: &CodeRef, brief: Option<&dyn Fn(&str) -> u32>) -> Option<(CodeRef, String)> {
    let id = names::resolve(&loaded.index, wanted)?;
    let code = names::reference(&loaded.index, id)?;
    if let Some(count) = brief {
        let text = WorkspaceFiles(&loaded.root).text(Path::new(&code.path))?;
        let text = code_brief(&loaded.index, id, &text, (count, SYMBOL_TOKENS - LABEL))?;
        return Some((code, secrets::mask(&text).0.into_owned()));
    }
    let named = NamedSymbol {
        path: code.path.clone(),
        short: String::new(),
        qualified: code.qualified.clone(),
        kind: code.kind,
        lines: code.lines,
    };
    Some((code, source(loaded, &named).ok()?.text))
}
