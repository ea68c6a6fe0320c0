//! The map of a workspace: its folders and files within a few tokens, the most important folders expanded first, and
//! its most central symbols.
//! Not for: symbols for a question (`rank`).

use super::cards::Sources;
use crate::code::index::records::{File, Index, SymbolId};
use crate::code::parse::doc::first_sentence;
use crate::domain::code::symbols::{CodeMap, Kind, MapAnchor};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Maximum files named in one folder.
const MAX_NAMED: usize = 12;
/// Number of folders that may fail to fit before the expansion stops.
const MAX_MISFITS: usize = 8;

#[derive(Default)]
struct Folder {
    folders: BTreeMap<String, Folder>,
    /// Weights by file name.
    files: BTreeMap<String, u64>,
    weight: u64,
    count: usize,
}

impl Folder {
    fn add(&mut self, parts: &[&str], weight: u64) {
        self.weight += weight;
        self.count += 1;
        match parts {
            [] => {}
            [name] => {
                self.files.insert((*name).to_owned(), weight);
            }
            [folder, rest @ ..] => self.folders.entry((*folder).to_owned()).or_default().add(rest, weight),
        }
    }

    fn at(&self, path: &[String]) -> Option<&Self> {
        path.iter().try_fold(self, |folder, name| folder.folders.get(name))
    }

    fn draw(&self, path: &mut Vec<String>, open: &BTreeSet<Vec<String>>, out: &mut String) {
        for (name, folder) in &self.folders {
            path.push(name.clone());
            let indent = "  ".repeat(path.len() - 1);
            if open.contains(path) {
                let _ = writeln!(out, "{indent}{name}/{}", folder.names());
                folder.draw(path, open, out);
            } else {
                let files = if folder.count == 1 { "file" } else { "files" };
                let _ = writeln!(out, "{indent}{name}/ {} {files}", folder.count);
            }
            path.pop();
        }
    }

    /// Returns the names of the most important files, and how many more there are.
    fn names(&self) -> String {
        let mut files: Vec<(&String, &u64)> = self.files.iter().collect();
        files.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
        let mut shown: Vec<&str> = files.iter().take(MAX_NAMED).map(|(name, _)| name.as_str()).collect();
        shown.sort_unstable();
        let more = files.len().saturating_sub(MAX_NAMED);
        let rest = if more > 0 { format!(" +{more}") } else { String::new() };
        if shown.is_empty() { String::new() } else { format!(" {}{rest}", shown.join(" ")) }
    }
}

/// Draws the map within `budget` tokens, and returns it with `anchors` central symbols.
#[must_use]
pub fn scaffold(
    index: &Index,
    sources: &dyn Sources,
    count: &dyn Fn(&str) -> u32,
    budget: u32,
    anchors: usize,
) -> CodeMap {
    let central = index.graph().centrality(index);
    let mut root = Folder::default();
    for file in index.files().filter(|file| file.count > 0) {
        let parts: Vec<&str> = file.shown.split('/').collect();
        root.add(&parts, weight(file, &central));
    }
    let (text, tokens) = open(&root, count, budget);
    CodeMap { text, tokens, anchors: central_symbols(index, &central, sources, anchors) }
}

fn weight(file: &File, central: &[u64]) -> u64 {
    let sum: u64 = (file.first..file.first + file.count).filter_map(|id| central.get(id as usize)).sum();
    if file.test { sum / 4 } else { sum }
}

/// Expands the most important folder that fits, repeatedly. Returns the map and its tokens.
fn open(root: &Folder, count: &dyn Fn(&str) -> u32, budget: u32) -> (String, u32) {
    let draw = |open: &BTreeSet<Vec<String>>| {
        let names = root.names();
        let mut out = if names.is_empty() { String::new() } else { format!("./{names}\n") };
        root.draw(&mut Vec::new(), open, &mut out);
        out
    };
    let mut open = BTreeSet::new();
    let mut text = draw(&open);
    let mut tokens = count(&text);
    if tokens > budget {
        return clipped(&text, count, budget);
    }
    let mut candidates: Vec<Vec<String>> = root.folders.keys().map(|name| vec![name.clone()]).collect();
    let mut misfits = 0;
    while misfits < MAX_MISFITS {
        let heaviest =
            |path: &&Vec<String>| root.at(path).map(|folder| (folder.weight, std::cmp::Reverse((*path).clone())));
        let Some(path) = candidates.iter().max_by_key(heaviest).cloned() else { break };
        candidates.retain(|other| *other != path);
        open.insert(path.clone());
        let (next, cost) = {
            let next = draw(&open);
            let cost = count(&next);
            (next, cost)
        };
        if cost > budget {
            open.remove(&path);
            misfits += 1;
            continue;
        }
        (text, tokens) = (next, cost);
        let inside = root.at(&path).into_iter().flat_map(|folder| folder.folders.keys());
        candidates.extend(inside.map(|name| [&path[..], std::slice::from_ref(name)].concat()));
    }
    (text, tokens)
}

/// Returns the first lines that fit, with their tokens.
fn clipped(text: &str, count: &dyn Fn(&str) -> u32, budget: u32) -> (String, u32) {
    let (mut out, mut tokens) = (String::new(), 0);
    for line in text.lines() {
        let longer = format!("{out}{line}\n");
        let cost = count(&longer);
        if cost > budget {
            break;
        }
        (out, tokens) = (longer, cost);
    }
    (out, tokens)
}

/// Returns the most central symbols, at most two of each file, without tests.
pub(crate) fn central_symbols(index: &Index, central: &[u64], sources: &dyn Sources, most: usize) -> Vec<MapAnchor> {
    let mut order: Vec<(u64, SymbolId)> = central.iter().copied().zip(0..).filter(|(weight, _)| *weight > 0).collect();
    order.sort_unstable_by(|a, b| {
        b.0.cmp(&a.0).then_with(|| {
            let key = |id| index.symbol(id).map(|(symbol, file)| (&file.path, symbol.span.start));
            key(a.1).cmp(&key(b.1))
        })
    });
    let mut found = Vec::new();
    let mut by_file: BTreeMap<&str, u32> = BTreeMap::new();
    for (_, id) in order {
        if found.len() >= most {
            break;
        }
        let Some((symbol, file)) = index.symbol(id) else { continue };
        if matches!(symbol.kind, Kind::File | Kind::Impl | Kind::Module) || symbol.test || file.test {
            continue;
        }
        let of_file = by_file.entry(&file.shown).or_default();
        *of_file += 1;
        if *of_file > 2 {
            continue;
        }
        let text = sources.text(&file.path);
        found.push(MapAnchor {
            path: file.shown.to_string(),
            line: symbol.line,
            symbol: index.qualified(id),
            kind: symbol.kind,
            doc: text.map(|text| first_sentence(symbol, &text)).unwrap_or_default(),
        });
    }
    found
}
