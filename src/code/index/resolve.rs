//! Decides which definitions a use of a name means. A use whose type or module is known means the definition there.
//! Other uses are followed by name, first in the user's own file, then in its folder; they are guesses where the name
//! may mean several symbols or members of unknown types. A common name of a standard library gives an edge by name only
//! if the user also names the type or module that has it.
//! Not for: finding out the type or module (`parse::receivers`), or the graph (`graph`).

use super::common_names;
use super::graph::Edge;
use super::name_use::{NO_NAME, NameShape};
use super::paths::module_path;
use super::records::{File, Index, SymbolId};
use crate::code::parse::receivers::Receivers;
use crate::code::symbol::to_u32;
use crate::domain::code::{Kind, Language};
use std::collections::{BTreeMap, HashSet};

/// A name with more definitions than this gives no edges.
const MAX_DEFINITIONS: usize = 6;
/// A name with more definitions than this is followed within one file only.
const MAX_FOLLOWED: usize = 24;
/// A name with more definitions than this is not searched for in modules.
const MAX_SEARCHED: usize = 400;

/// Returns the uses between all symbols of code, each pair once.
pub(super) fn edges(index: &Index) -> Vec<Edge> {
    let resolver = Resolver::new(index);
    let mut edges: Vec<Edge> = Vec::new();
    for file in index.files().filter(|file| !file.is_text()) {
        for id in file.symbols() {
            let before = edges.len();
            let mut user = User { resolver: &resolver, file, id, edges: &mut edges };
            for used in index.name_uses(id) {
                user.add(used.name, used.shape);
            }
            let own = &mut edges[before..];
            own.sort_unstable_by_key(|edge| (edge.used, edge.is_guess));
            let mut kept = before;
            for at in before..edges.len() {
                if kept == before || edges[kept - 1].used != edges[at].used {
                    edges[kept] = edges[at];
                    kept += 1;
                }
            }
            edges.truncate(kept);
        }
    }
    edges
}

/// What a name refers to.
#[derive(Clone, Copy)]
enum NameTarget {
    /// Nothing that is defined here.
    Nothing,
    One(SymbolId),
    /// One of several symbols.
    Several,
}

/// The lookup tables for resolving all uses.
struct Resolver<'a> {
    index: &'a Index,
    /// The target of each name, by the name's number.
    targets: Vec<NameTarget>,
    /// The number of the folder of each symbol's file.
    folders: Vec<u32>,
    /// The numbers of the common names of each language.
    common: BTreeMap<Language, HashSet<u32>>,
    /// Numbers of the names of each file's modules, by the file's number.
    modules: Vec<Vec<u32>>,
    /// Whether each name is the name of a module, by the name's number.
    is_module: Vec<bool>,
    /// The number of types of each name, by the name's number.
    types: Vec<u32>,
    /// The symbols with an owner: the owner's name, their own name, and their number. Sorted.
    owned: Vec<(u32, u32, SymbolId)>,
}

impl<'a> Resolver<'a> {
    fn new(index: &'a Index) -> Self {
        let mut modules = vec![Vec::new(); index.file_slots()];
        for file in index.files() {
            if let Some(scored) = index.scored.get(file.first as usize) {
                let names = module_path(&file.shown);
                modules[scored.file as usize] = names.iter().filter_map(|name| index.name_number(name)).collect();
            }
        }
        Self {
            index,
            targets: targets(index),
            folders: folders(index),
            common: common_numbers(index),
            is_module: is_module(index.name_count(), &modules),
            types: types(index),
            modules,
            owned: owned(index),
        }
    }

    fn is_member(&self, id: SymbolId) -> bool {
        self.index.scored.get(id as usize).is_some_and(|scored| scored.is_member)
    }

    fn file_of(&self, id: SymbolId) -> u32 {
        self.index.scored.get(id as usize).map_or(u32::MAX, |scored| scored.file)
    }

    fn language(&self, id: SymbolId) -> Option<Language> {
        self.index.symbol(id).and_then(|(_, file)| file.language)
    }

    fn types_named(&self, name: u32) -> u32 {
        self.types.get(name as usize).copied().unwrap_or_default()
    }

    /// Returns whether a symbol's file is a module of that name or inside one.
    fn is_in(&self, id: SymbolId, module: u32, directly: bool) -> bool {
        let modules = self.modules.get(self.file_of(id) as usize).map(Vec::as_slice).unwrap_or_default();
        if directly { modules.last() == Some(&module) } else { modules.contains(&module) }
    }

    /// Returns the symbols of a name that are directly inside a type or module of another name.
    fn owned_by(&self, owner: u32, name: u32) -> impl Iterator<Item = SymbolId> {
        let start = self.owned.partition_point(|one| (one.0, one.1) < (owner, name));
        let end = self.owned.partition_point(|one| (one.0, one.1) <= (owner, name));
        self.owned[start..end].iter().map(|one| one.2)
    }
}

/// One symbol whose uses are resolved.
struct User<'a, 'e> {
    resolver: &'a Resolver<'a>,
    file: &'a File,
    id: SymbolId,
    edges: &'e mut Vec<Edge>,
}

impl User<'_, '_> {
    /// Adds the edges of a use.
    fn add(&mut self, name: u32, shape: NameShape) {
        let resolver = self.resolver;
        let language = self.file.language;
        let is_read = language.is_some_and(Receivers::reads);
        let before = self.edges.len();
        match shape {
            NameShape::Owner { owner, module } => return self.add_owned(name, owner, module),
            NameShape::Unsure => self.add_named(name, &|_| true),
            NameShape::Name => self.add_named(name, &|id| !resolver.is_member(id)),
            // In Rust only a member follows a dot; elsewhere it may be a module's function.
            NameShape::Member if language == Some(Language::Rust) => self.add_named(name, &|id| resolver.is_member(id)),
            NameShape::Member => self.add_named(name, &|_| true),
        }
        for edge in &mut self.edges[before..] {
            edge.is_guess |= shape == NameShape::Member || (is_read && resolver.is_member(edge.used));
        }
        if self.edges.len() > before && self.is_common(name) {
            let known = self.edges.split_off(before).into_iter();
            let known: Vec<Edge> = known.filter(|edge| self.knows_owner(edge.used)).collect();
            self.edges.extend(known);
        }
    }

    /// Returns whether a name is a common one of the user's language.
    fn is_common(&self, name: u32) -> bool {
        let common = self.file.language.and_then(|language| self.resolver.common.get(&language));
        common.is_some_and(|common| common.contains(&name))
    }

    fn push(&mut self, used: SymbolId, is_guess: bool) {
        if used != self.id {
            self.edges.push(Edge { user: self.id, used, is_guess });
        }
    }

    /// Adds the edges to all of these symbols, or none if they are too many.
    fn push_few(&mut self, used: &[SymbolId], is_guess: bool) {
        if used.len() <= MAX_DEFINITIONS {
            for id in used {
                self.push(*id, is_guess);
            }
        }
    }

    /// Adds the edges of a use that only its name describes. Prefers a definition in the user's own file, then one in
    /// its folder.
    fn add_named(&mut self, name: u32, accepts: &dyn Fn(SymbolId) -> bool) {
        match self.resolver.targets.get(name as usize) {
            None | Some(NameTarget::Nothing) => {}
            Some(NameTarget::One(used)) => {
                let is_foreign = !same_family(self.resolver.language(*used), self.file.language);
                if accepts(*used) {
                    self.push(*used, is_foreign);
                }
            }
            Some(NameTarget::Several) => self.add_ambiguous(name, accepts),
        }
    }

    fn add_ambiguous(&mut self, name: u32, accepts: &dyn Fn(SymbolId) -> bool) {
        let resolver = self.resolver;
        let (first, end) = (self.file.first, self.file.first + self.file.count);
        let all = resolver.index.definitions(name);
        let own = &all[all.partition_point(|id| *id < first)..all.partition_point(|id| *id < end)];
        let own: Vec<SymbolId> = own.iter().copied().filter(|id| accepts(*id)).collect();
        if !own.is_empty() {
            return self.push_few(&own, own.len() > 1);
        }
        let counts = |id: &SymbolId| {
            resolver.index.is_code(*id) && accepts(*id) && same_family(resolver.language(*id), self.file.language)
        };
        let existing: Vec<SymbolId> = all.iter().copied().filter(counts).take(MAX_FOLLOWED + 1).collect();
        if existing.len() > MAX_FOLLOWED {
            return;
        }
        let folder = resolver.folders[self.id as usize];
        let mut near: Vec<SymbolId> =
            existing.iter().copied().filter(|id| resolver.folders[*id as usize] == folder).collect();
        if near.is_empty() {
            near.clone_from(&existing);
        }
        self.push_few(&near, existing.len() > 1);
    }

    /// Adds the edges of a use whose type or module is known. If nothing there has the name, adds no edges, unless the
    /// type may inherit the name.
    fn add_owned(&mut self, name: u32, owner: u32, module: u32) {
        let resolver = self.resolver;
        let language = self.file.language;
        let mut found: Vec<SymbolId> =
            resolver.owned_by(owner, name).filter(|id| same_family(resolver.language(*id), language)).collect();
        if !found.is_empty() {
            let own_file = resolver.file_of(self.file.first);
            let is_known = narrow(&mut found, |id| module != NO_NAME && resolver.is_in(id, module, true))
                || narrow(&mut found, |id| module != NO_NAME && resolver.is_in(id, module, false))
                || narrow(&mut found, |id| resolver.file_of(id) == own_file);
            let several = found.iter().any(|id| resolver.file_of(*id) != resolver.file_of(found[0]));
            return self.push_few(&found, several || (!is_known && resolver.types_named(owner) > 1));
        }
        let all = resolver.index.definitions(name);
        if all.len() <= MAX_SEARCHED && resolver.is_module.get(owner as usize).copied().unwrap_or_default() {
            let counts = |id: &SymbolId| {
                resolver.index.is_code(*id)
                    && !resolver.is_member(*id)
                    && resolver.is_in(*id, owner, false)
                    && same_family(resolver.language(*id), language)
            };
            found = all.iter().copied().filter(counts).collect();
            narrow(&mut found, |id| resolver.is_in(id, owner, true));
        }
        if !found.is_empty() {
            return self.push_few(&found, found.len() > 1);
        }
        if resolver.types_named(owner) > 0 && !self.is_common(name) {
            self.add_inherited(name);
        }
    }

    /// Adds guesses at members that a type inherits: of traits in Rust, of any types elsewhere.
    fn add_inherited(&mut self, name: u32) {
        let resolver = self.resolver;
        let is_rust = self.file.language == Some(Language::Rust);
        let inherits = |id: SymbolId| {
            let is_of_trait = || resolver.index.enclosing(id).is_some_and(|owner| owner.kind == Kind::Interface);
            resolver.is_member(id) && (!is_rust || is_of_trait())
        };
        let before = self.edges.len();
        self.add_named(name, &inherits);
        self.edges[before..].iter_mut().for_each(|edge| edge.is_guess = true);
    }

    /// Returns whether the user names the owner of a definition: it is inside the same type or file, or uses the name
    /// of the type or module.
    fn knows_owner(&self, definition: SymbolId) -> bool {
        let index = self.resolver.index;
        let Some((_, other)) = index.symbol(definition) else { return false };
        let mentions = |name: &str| {
            index.name_number(name).is_some_and(|name| index.name_uses(self.id).any(|used| used.name == name))
        };
        let Some(owner) = index.enclosing(definition).filter(|owner| owner.kind.has_methods()) else {
            return other.first == self.file.first
                || module_path(&other.shown).last().is_some_and(|module| mentions(module));
        };
        let mut around = index.parent(self.id);
        while let Some((id, (symbol, _))) = around.and_then(|id| Some((id, index.symbol(id)?))) {
            if symbol.kind.has_methods() && symbol.name == owner.name {
                return true;
            }
            around = index.parent(id);
        }
        mentions(&owner.name)
    }
}

/// Keeps the symbols that a condition accepts, if there are any. Returns whether there are.
fn narrow(found: &mut Vec<SymbolId>, accepts: impl Fn(SymbolId) -> bool) -> bool {
    let is_known = found.iter().any(|id| accepts(*id));
    if is_known {
        found.retain(|id| accepts(*id));
    }
    is_known
}

/// Returns whether symbols of two languages can use each other directly.
fn same_family(one: Option<Language>, other: Option<Language>) -> bool {
    use Language::{C, Cpp, JavaScript, Tsx, TypeScript};
    let family = |language: Language| match language {
        Cpp => C,
        JavaScript | Tsx => TypeScript,
        other => other,
    };
    one.map(family) == other.map(family)
}

/// Returns the target of each name, by the name's number.
fn targets(index: &Index) -> Vec<NameTarget> {
    let of = |name: u32| {
        let mut existing = index.definitions(name).iter().filter(|id| index.is_code(**id));
        match (existing.next(), existing.next()) {
            (None, _) => NameTarget::Nothing,
            (Some(only), None) => NameTarget::One(*only),
            _ => NameTarget::Several,
        }
    };
    (0_u32..).take(index.name_count()).map(of).collect()
}

/// Returns whether each name is the name of a module, by the name's number.
fn is_module(names: usize, modules: &[Vec<u32>]) -> Vec<bool> {
    let mut found = vec![false; names];
    for name in modules.iter().flatten() {
        found[*name as usize] = true;
    }
    found
}

/// Returns the number of types of each name.
fn types(index: &Index) -> Vec<u32> {
    let is_type = |id: &&SymbolId| {
        let kind = index.is_code(**id).then(|| index.symbol(**id)).flatten().map(|(symbol, _)| symbol.kind);
        kind.is_some_and(|kind| kind.has_methods() || kind == Kind::Type)
    };
    let count = |name: u32| index.definitions(name).iter().filter(is_type).count();
    (0_u32..).take(index.name_count()).map(|name| to_u32(count(name))).collect()
}

/// Returns the symbols with an owner, sorted by its name and their own.
fn owned(index: &Index) -> Vec<(u32, u32, SymbolId)> {
    let of = |name: u32| {
        let owned = move |id: &SymbolId| {
            let owner = index.scored.get(*id as usize).map_or(NO_NAME, |scored| scored.owner);
            (owner != NO_NAME && index.is_code(*id)).then_some((owner, name, *id))
        };
        index.definitions(name).iter().filter_map(owned)
    };
    let names = (0_u32..).take(index.name_count());
    let mut all: Vec<(u32, u32, SymbolId)> = names.flat_map(of).collect();
    all.sort_unstable();
    all
}

/// Returns the number of the folder of each symbol's file.
fn folders(index: &Index) -> Vec<u32> {
    let mut numbers = vec![u32::MAX; index.symbol_slots()];
    let mut known: BTreeMap<&str, u32> = BTreeMap::new();
    for file in index.files() {
        let folder = file.shown.rsplit_once('/').map_or("", |(folder, _)| folder);
        let next = to_u32(known.len());
        let number = *known.entry(folder).or_insert(next);
        numbers[file.first as usize..][..file.count as usize].fill(number);
    }
    numbers
}

/// Returns the numbers of the common names of each language.
fn common_numbers(index: &Index) -> BTreeMap<Language, HashSet<u32>> {
    let of =
        |language: Language| common_names::of(language).iter().filter_map(|name| index.name_number(name)).collect();
    Language::ALL.into_iter().map(|language| (language, of(language))).collect()
}
