//! The graph of imports between source files, and its cycles: sets of files that each reach all the others.
//! Not for: which room may import which; that is the table in `architecture.rs`.
//!
//! An edge is a path in a `use` or in code, resolved to the file that defines the item: through `crate`, `self` and
//! `super`, through child modules, through names that the file imports, and through re-exports. A declaration `mod x;`,
//! the import of a module by itself, and calls of inherent methods are no edges.

use std::collections::{BTreeMap, BTreeSet};
use syn::visit::{self, Visit};

/// Files by their paths beneath `src`, and for every file the files that it imports.
pub(crate) struct Imports {
    files: Vec<String>,
    edges: Vec<BTreeSet<usize>>,
}

/// One file, as far as imports are concerned.
#[derive(Default)]
struct Source {
    /// Names that its `use` items bring in, with the whole path of each.
    names: BTreeMap<String, Vec<String>>,
    /// Every path in it, from the root of the crate.
    paths: Vec<Vec<String>>,
}

impl Imports {
    /// Reads files given by their paths beneath `src` and their text.
    pub(crate) fn read<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let files: Vec<(&str, &str)> = files.collect();
        let modules: BTreeMap<Vec<String>, usize> =
            files.iter().enumerate().map(|(at, (file, _))| (super::module_of(file), at)).collect();
        let sources: Vec<Source> = files.iter().map(|(file, text)| read(file, text, &modules)).collect();
        let resolve = |source: &Source| {
            source.paths.iter().filter_map(|path| definer(path, &modules, &sources, 0)).collect::<BTreeSet<_>>()
        };
        let edges = sources.iter().enumerate().map(|(at, source)| {
            let mut to = resolve(source);
            to.remove(&at);
            to
        });
        Self { edges: edges.collect(), files: files.iter().map(|(file, _)| (*file).to_owned()).collect() }
    }

    /// Cycles of at least two files, the largest first.
    pub(crate) fn cycles(&self) -> Vec<Vec<&str>> {
        let mut found: Vec<Vec<&str>> = components(&self.edges)
            .into_iter()
            .filter(|component| component.len() > 1)
            .map(|component| component.into_iter().map(|at| self.files[at].as_str()).collect())
            .collect();
        found.sort_by_key(|cycle: &Vec<&str>| (std::cmp::Reverse(cycle.len()), cycle[0]));
        found
    }

    /// Imports of files in one place by files in another; a place is a file, or a folder with its ending slash.
    pub(crate) fn between(&self, from: &str, to: &str) -> Vec<(&str, &str)> {
        let pairs = self.edges.iter().enumerate().flat_map(|(at, all)| all.iter().map(move |to| (at, *to)));
        let named = pairs.map(|(at, to)| (self.files[at].as_str(), self.files[to].as_str()));
        named.filter(|(at, one)| at.starts_with(from) && one.starts_with(to) && !one.starts_with(from)).collect()
    }

    /// Imports of files in a folder by files outside.
    pub(crate) fn into(&self, folder: &str) -> Vec<(&str, &str)> {
        let pairs = self.edges.iter().enumerate().flat_map(|(at, all)| all.iter().map(move |to| (at, *to)));
        let named = pairs.map(|(at, to)| (self.files[at].as_str(), self.files[to].as_str()));
        named.filter(|(at, to)| to.starts_with(folder) && !at.starts_with(folder)).collect()
    }

    /// The imports among some files, a line for each file.
    pub(crate) fn among(&self, files: &[&str]) -> String {
        let inside = |at: usize| files.contains(&self.files[at].as_str());
        let line = |at: usize| {
            let to: Vec<&str> =
                self.edges[at].iter().filter(|to| inside(**to)).map(|to| self.files[*to].as_str()).collect();
            format!("  {} -> {}\n", self.files[at], to.join(" "))
        };
        (0..self.files.len()).filter(|at| inside(*at)).map(line).collect()
    }
}

fn read(file: &str, text: &str, modules: &BTreeMap<Vec<String>, usize>) -> Source {
    let Ok(parsed) = syn::parse_file(text) else { return Source::default() };
    let mut reader = Reader { module: super::module_of(file), modules, source: Source::default(), bare: Vec::new() };
    reader.visit_file(&parsed);
    let Reader { mut source, bare, .. } = reader;
    for path in bare {
        if let Some(start) = source.names.get(&path[0]) {
            let whole = [&start[..], &path[1..]].concat();
            source.paths.push(whole);
        }
    }
    source
}

/// The file that defines what a path names.
fn definer(path: &[String], modules: &BTreeMap<Vec<String>, usize>, sources: &[Source], depth: usize) -> Option<usize> {
    let (length, at) =
        (1..=path.len()).rev().find_map(|length| modules.get(&path[..length]).map(|at| (length, *at)))?;
    // A module by itself defines nothing.
    let item = path.get(length)?;
    match sources[at].names.get(item).filter(|_| depth < 8) {
        Some(start) => definer(&[&start[..], &path[length + 1..]].concat(), modules, sources, depth + 1).or(Some(at)),
        None => Some(at),
    }
}

/// Collects the imports of one file.
struct Reader<'a> {
    module: Vec<String>,
    modules: &'a BTreeMap<Vec<String>, usize>,
    source: Source,
    /// Paths that begin with a name, which a `use` further down may explain.
    bare: Vec<Vec<String>>,
}

impl Reader<'_> {
    /// The path from the root of the crate, unless it begins with a plain name that is no child module.
    fn whole(&self, written: &[String]) -> Option<Vec<String>> {
        match written[0].as_str() {
            "crate" | "pleach" => Some(written[1..].to_vec()),
            "self" => Some([&self.module[..], &written[1..]].concat()),
            "super" => {
                let ups = written.iter().take_while(|segment| *segment == "super").count();
                let kept = self.module.len().saturating_sub(ups);
                Some([&self.module[..kept], &written[ups..]].concat())
            }
            first => {
                let child = [&self.module[..], &[first.to_owned()]].concat();
                self.modules.contains_key(&child).then(|| [&self.module[..], written].concat())
            }
        }
    }

    fn add(&mut self, written: &[String]) {
        match self.whole(written) {
            Some(path) => self.source.paths.push(path),
            None => self.bare.push(written.to_vec()),
        }
    }

    fn add_use(&mut self, tree: &syn::UseTree, before: &mut Vec<String>) {
        let mut bind = |path: Vec<String>, name: String| {
            if let Some(whole) = self.whole(&path) {
                self.source.names.insert(name, whole);
            }
            self.add(&path);
        };
        match tree {
            syn::UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.add_use(&path.tree, before);
                before.pop();
            }
            syn::UseTree::Name(name) if name.ident == "self" => {
                bind(before.clone(), before.last().cloned().unwrap_or_default());
            }
            syn::UseTree::Name(name) => {
                let name = name.ident.to_string();
                bind([&before[..], std::slice::from_ref(&name)].concat(), name);
            }
            syn::UseTree::Rename(name) => {
                bind([&before[..], &[name.ident.to_string()]].concat(), name.rename.to_string());
            }
            syn::UseTree::Glob(_) => self.add(&[&before[..], &["*".to_owned()]].concat()),
            syn::UseTree::Group(group) => group.items.iter().for_each(|item| self.add_use(item, before)),
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !super::is_test(super::attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !super::is_test(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.add_use(&item.tree, &mut Vec::new());
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            let written: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            self.add(&written);
        }
        visit::visit_path(self, path);
    }

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        visit::visit_macro(self, call);
        for expression in &super::macro_expressions(call) {
            let mut inner = Reader {
                module: self.module.clone(),
                modules: self.modules,
                source: std::mem::take(&mut self.source),
                bare: std::mem::take(&mut self.bare),
            };
            inner.visit_expr(expression);
            (self.source, self.bare) = (inner.source, inner.bare);
        }
    }
}

/// Strongly connected components, by Tarjan's algorithm ("Depth-first search and linear graph algorithms", 1972).
fn components(edges: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
    struct Search<'a> {
        edges: &'a [BTreeSet<usize>],
        /// When each file was met, and the earliest file on the stack that it reaches.
        met: Vec<Option<usize>>,
        low: Vec<usize>,
        stack: Vec<usize>,
        count: usize,
        found: Vec<Vec<usize>>,
    }
    impl Search<'_> {
        fn visit(&mut self, at: usize) {
            self.met[at] = Some(self.count);
            self.low[at] = self.count;
            self.count += 1;
            self.stack.push(at);
            for &to in &self.edges[at] {
                match self.met[to] {
                    None => {
                        self.visit(to);
                        self.low[at] = self.low[at].min(self.low[to]);
                    }
                    Some(met) if self.stack.contains(&to) => self.low[at] = self.low[at].min(met),
                    Some(_) => {}
                }
            }
            if Some(self.low[at]) == self.met[at] {
                let from = self.stack.iter().position(|on| *on == at).unwrap();
                let mut component = self.stack.split_off(from);
                component.sort_unstable();
                self.found.push(component);
            }
        }
    }
    let mut search = Search {
        edges,
        met: vec![None; edges.len()],
        low: vec![0; edges.len()],
        stack: Vec::new(),
        count: 0,
        found: Vec::new(),
    };
    for at in 0..edges.len() {
        if search.met[at].is_none() {
            search.visit(at);
        }
    }
    search.found
}
