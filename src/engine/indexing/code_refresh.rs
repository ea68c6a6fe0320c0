//! Reacts to changes of the code index: requests new plans, adds the tools for code, and finds the symbol of an item.
//! Not for: the code that is part of a plan (`plans::sources::code`).

use super::code_workspace::LoadedWorkspace;
use crate::code::find::choose::scope;
use crate::code::find::names;
use crate::context::item_use::mentioned;
use crate::context::references;
use crate::domain::base::{BranchId, Failure};
use crate::domain::code::{CodeRef, Kind};
use crate::domain::conversation::{Atom, Branch};
use crate::domain::planning::{Mode, RowKind};
use crate::domain::tool::RunTools;
use crate::engine::api::Answer;
use crate::engine::core::Core;
use crate::engine::plans::sources::code_rows::atom_of;
use crate::engine::tools::added::WithAdded;
use crate::engine::tools::code::CodeTools;
use crate::engine::tools::state::Tools;
use crate::engine::workers::Workers;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The maximum number of names at a distance of one use.
const MAX_NEIGHBORS: usize = 400;

impl Core {
    /// Requests a new plan for the screen after the code changed, if the plan may contain code.
    pub(crate) fn code_changed(&mut self) {
        let Some(branch) = self.plans.on_screen.as_ref().map(|screen| screen.branch) else { return };
        if self.plans_code(branch) && !self.turns.live.contains_key(&branch) {
            self.plans.outdate();
        }
    }

    /// Adds the tools for code to a branch's tools, if they are offered.
    pub(crate) fn with_code(&self, branch: BranchId, tools: Option<Arc<dyn RunTools>>) -> Option<Arc<dyn RunTools>> {
        let inner = tools?;
        let rules = self.sessions.branch(branch).and_then(|branch| self.rules(&branch)).ok();
        let rules = rules.filter(|_| self.learned.offers_code(&self.setup));
        let Some((rules, encoding)) = rules.and_then(|rules| Some((rules.code?, rules.model.encoding))) else {
            return Some(inner);
        };
        let (workspace, counter) = (self.workers.code.workspace(), self.setup.counter.clone());
        Some(Arc::new(WithAdded { inner, added: CodeTools { workspace, rules, counter, encoding } }))
    }

    /// Returns the names of symbols that use the named symbols or are used by them; empty if the folder is not trusted
    /// or its code is not loaded.
    pub(crate) fn neighbor_names(&self, branch: BranchId, named: &BTreeSet<String>) -> BTreeSet<String> {
        let Ok(branch) = self.sessions.branch(branch) else { return BTreeSet::new() };
        let away = |loaded: &LoadedWorkspace| {
            let own = |name: &String| name.rsplit([':', '.']).next().unwrap_or_default().to_owned();
            let ids: Vec<u32> =
                named.iter().flat_map(|name| loaded.index.defined(&own(name)).iter().copied()).collect();
            let hops = loaded.index.graph().hops(&ids, 1);
            let near = hops.iter().filter(|(_, hop)| **hop == 1).filter_map(|(id, _)| loaded.index.symbol(*id));
            near.map(|(symbol, _)| symbol.name.to_string()).take(MAX_NEIGHBORS).collect()
        };
        self.look_at_code(&branch, away).unwrap_or_default()
    }

    /// Returns the symbols that a text names unambiguously, at most `most`: by an identifier with several parts, or as
    /// `` `name` ``. Empty if the folder is not trusted or its code is not loaded.
    pub(crate) fn named_symbols(&self, branch: BranchId, text: &str, most: usize) -> Vec<CodeRef> {
        let Ok(branch) = self.sessions.branch(branch) else { return Vec::new() };
        let quoted = text.split('`').skip(1).step_by(2).map(|name| name.trim_end_matches("()"));
        let quoted = quoted.filter(|name| name.len() >= 4 && name.chars().all(|c| c.is_alphanumeric() || c == '_'));
        let names: BTreeSet<&str> = references::all_symbols(text).chain(quoted).collect();
        let look = |loaded: &LoadedWorkspace| -> Vec<CodeRef> {
            let only = |name: &&str| {
                let last = name.rsplit([':', '.']).next().unwrap_or_default();
                let is_meant = |id: &&u32| {
                    let fits = loaded
                        .index
                        .symbol(**id)
                        .is_some_and(|(symbol, file)| symbol.kind != Kind::File && !symbol.test && !file.test);
                    fits && loaded.index.qualified(**id).ends_with(*name)
                };
                let mut meant = loaded.index.defined(last).iter().filter(is_meant);
                let code = names::reference(&loaded.index, *meant.next()?)?;
                (meant.next().is_none() && mentioned(text, &code)).then_some(code)
            };
            names.iter().filter_map(only).take(most).collect()
        };
        self.look_at_code(&branch, look).unwrap_or_default()
    }

    /// Checks the code for changes while a plan that uses it is on the screen.
    pub(crate) fn watch_code(&mut self) {
        let Ok(branch) = self.sessions.current().map(|session| session.current) else { return };
        if self.setup.patient || !self.tools.trusted || !self.plans.drawn.contains_key(&branch) {
            return;
        }
        if self.plans_code(branch) {
            self.workers.code.workspace().watch();
        }
    }

    /// Whether the plans of a branch may contain code of the workspace.
    fn plans_code(&self, branch: BranchId) -> bool {
        let rules = self.sessions.branch(branch).and_then(|branch| self.rules(&branch));
        rules.is_ok_and(|rules| rules.code.is_some() && rules.mode != Mode::Off)
    }

    /// Reads the index of the code under the rules of a branch; `None` if the folder is not trusted or its code is not
    /// loaded.
    fn look_at_code<T>(&self, branch: &Branch, with: impl FnOnce(&LoadedWorkspace) -> T) -> Option<T> {
        self.uses_code(branch).then(|| self.workers.code.workspace().look(with)).flatten()
    }

    /// Whether an item of a branch is code: the map or a symbol.
    pub(crate) fn is_code(&self, branch: &Branch, atom: &Atom) -> bool {
        *atom == Atom::code_map() || self.code_ref(branch, atom).is_some()
    }

    /// Returns the symbol of a branch's item: from its row in the last drawn plan, from its mark, or from the index of
    /// the workspace.
    pub(crate) fn code_ref(&self, branch: &Branch, atom: &Atom) -> Option<Box<CodeRef>> {
        let Atom::Section { text } = atom else { return None };
        let row = || {
            let rows = &self.plans.drawn.get(&branch.id)?.solved.plan.rows;
            rows.iter().find(|row| row.kind == RowKind::Code && row.atom == *atom)?.source.code.clone()
        };
        let mark = || branch.marks.iter().find(|mark| mark.target == *atom).and_then(|mark| mark.code.clone());
        let indexed = || {
            let find = |loaded: &LoadedWorkspace| {
                names::references(&loaded.index).find(|code| code.key() == *text).map(Box::new)
            };
            self.look_at_code(branch, find).flatten()
        };
        row().or_else(mark).or_else(indexed)
    }

    /// Returns the items of the workspace's code whose atoms match: the map and symbols. A single command waits until
    /// the workspace is read.
    pub(crate) fn code_items(&self, branch: &Branch, fits: &dyn Fn(&Atom) -> bool) -> Vec<Atom> {
        let symbols = self.symbols(branch, &|code| fits(&atom_of(code)));
        symbols.into_iter().chain(Some(Atom::code_map()).filter(|map| self.uses_code(branch) && fits(map))).collect()
    }

    /// Returns the item of the workspace's code that a path, a path with lines, or a name identifies.
    pub(crate) fn code_at(&self, branch: &Branch, text: &str) -> Result<Option<Atom>, Failure> {
        match self.symbols(branch, &|code| names::is_at(code, text)).as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(*one)),
            more => Err(Failure::user(format!("{text:?} matches {} symbols of the code.", more.len()))
                .todo("Type its path and lines, such as src/main.rs:10-20, or the id that `pleach plan` prints.")),
        }
    }

    fn symbols(&self, branch: &Branch, fits: &dyn Fn(&CodeRef) -> bool) -> Vec<Atom> {
        if !self.uses_code(branch) {
            return Vec::new();
        }
        self.apply_denials(Some(branch.id));
        let workspace = self.workers.code.workspace();
        workspace.refresh();
        let symbols = |loaded: &LoadedWorkspace| {
            names::references(&loaded.index).filter(|code| fits(code)).map(|code| atom_of(&code)).collect()
        };
        workspace.look(symbols).unwrap_or_default()
    }

    /// Whether calls of a branch may contain code of the workspace.
    fn uses_code(&self, branch: &Branch) -> bool {
        self.rules(branch).is_ok_and(|rules| rules.code.is_some())
    }
}

/// Adds to an answer about a changed focus the names that match nothing, if the code is loaded.
pub(crate) fn with_unknown_focus(tools: &Tools, workers: &Workers, answer: Answer, focus: &[String]) -> Answer {
    let look = |loaded: &LoadedWorkspace| scope(&loaded.index, focus).unknown;
    let known = tools.trusted.then(|| workers.code.workspace().look(look)).flatten();
    match (answer, known.filter(|unknown| !unknown.is_empty())) {
        (Answer::Done(notice), Some(unknown)) => {
            let unknown = unknown.join(", ");
            Answer::Done(format!("{notice} There is no file, folder, or symbol {unknown} here."))
        }
        (answer, _) => answer,
    }
}
