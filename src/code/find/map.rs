//! The map of a workspace: its folders and files within a few tokens, the most important folders expanded first, with
//! what their own comments say about them, and its most central symbols.
//! Not for: symbols for a question (`rank`).

use super::cards::Sources;
use super::module_summary::{describing_rank, opening};
use crate::code::index::records::{File, Index, SymbolId};
use crate::code::parse::doc::first_sentence;
use crate::domain::code::{CodeMap, Kind, MapAnchor};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Maximum files named in one folder.
const MAX_NAMED: usize = 12;
/// Maximum characters of a folder's description.
const MAX_ABOUT: usize = 60;
/// Shorter maximums, for folders that cannot all be described at the full length.
const SHORT_ABOUT: [usize; 4] = [52, 44, 37, 30];
/// Number of folders that may fail to fit before the expansion stops.
const MAX_MISFITS: usize = 8;

#[derive(Default)]
struct Folder {
    folders: BTreeMap<String, Folder>,
    /// Weights by file name.
    files: BTreeMap<String, u64>,
    weight: u64,
    count: usize,
    /// The file that describes the folder, with its rank.
    about: Option<(usize, PathBuf)>,
}

/// Which folders are drawn with their files, and which with a description.
#[derive(Clone, Default)]
struct View {
    open: BTreeSet<Vec<String>>,
    about: BTreeMap<Vec<String>, String>,
}

impl View {
    fn describe(&mut self, texts: &[(String, Vec<String>)]) {
        self.about.extend(texts.iter().map(|(text, path)| (path.clone(), text.clone())));
    }
}

impl Folder {
    fn add(&mut self, parts: &[&str], weight: u64, path: &Path) {
        self.weight += weight;
        self.count += 1;
        match parts {
            [] => {}
            [name] => {
                self.files.insert((*name).to_owned(), weight);
                let rank = describing_rank(name).filter(|rank| self.about.as_ref().is_none_or(|(best, _)| rank < best));
                self.about = rank.map(|rank| (rank, path.to_owned())).or_else(|| self.about.take());
            }
            [folder, rest @ ..] => self.folders.entry((*folder).to_owned()).or_default().add(rest, weight, path),
        }
    }

    fn at(&self, path: &[String]) -> Option<&Self> {
        path.iter().try_fold(self, |folder, name| folder.folders.get(name))
    }

    /// Returns the paths of the folders directly inside a folder.
    fn inside(&self, path: &[String]) -> Vec<Vec<String>> {
        let names = self.at(path).into_iter().flat_map(|folder| folder.folders.keys());
        names.map(|name| [path, std::slice::from_ref(name)].concat()).collect()
    }

    fn draw(&self, path: &mut Vec<String>, view: &View, out: &mut String) {
        for (name, folder) in &self.folders {
            path.push(name.clone());
            let indent = "  ".repeat(path.len() - 1);
            let about = view.about.get(path);
            if view.open.contains(path) {
                let about = about.map_or_else(String::new, |about| format!(" ({about})"));
                let _ = writeln!(out, "{indent}{name}/{about}{}", folder.names());
                folder.draw(path, view, out);
            } else if let Some(about) = about {
                let _ = writeln!(out, "{indent}{name}/ {about}");
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

/// Returns the map within `budget` tokens, with `anchors` central symbols.
pub fn build(
    index: &Index,
    sources: &dyn Sources,
    count: &dyn Fn(&str) -> u32,
    budget: u32,
    anchors: usize,
) -> CodeMap {
    let central = index.graph().centrality(index);
    let mut root = Folder::default();
    for file in index.files().filter(|file| file.count > 0 && !file.is_text()) {
        let parts: Vec<&str> = file.shown.split('/').collect();
        root.add(&parts, weight(file, &central), &file.path);
    }
    let about = |path: &Path, name: &str| sources.text(path).map(|text| about(name, &text)).unwrap_or_default();
    let (text, tokens) = draw(&root, count, budget, &about);
    CodeMap { text, tokens, anchors: central_symbols(index, &central, sources, anchors) }
}

/// Returns the sum of the centrality of a file's symbols, a quarter of it for tests.
pub(crate) fn weight(file: &File, central: &[u64]) -> u64 {
    let sum: u64 = file.symbols().filter_map(|id| central.get(id as usize)).sum();
    if file.test { sum / 4 } else { sum }
}

/// Draws the map: the folders in view are described before a folder is expanded into the names of its files and the
/// folders inside it. Returns the map and its tokens.
fn draw(
    root: &Folder,
    count: &dyn Fn(&str) -> u32,
    budget: u32,
    about: &dyn Fn(&Path, &str) -> String,
) -> (String, u32) {
    let mut drawing = Drawing::new(root, count);
    if drawing.tokens > budget {
        return clipped(&drawing.text, count, budget);
    }
    drawing.describe(root.inside(&[]), budget, about);
    drawing.expand(budget, about);
    (drawing.text, drawing.tokens)
}

/// A map while it is being drawn.
struct Drawing<'a> {
    root: &'a Folder,
    count: &'a dyn Fn(&str) -> u32,
    view: View,
    text: String,
    tokens: u32,
}

impl<'a> Drawing<'a> {
    fn new(root: &'a Folder, count: &'a dyn Fn(&str) -> u32) -> Self {
        let mut drawing = Self { root, count, view: View::default(), text: String::new(), tokens: 0 };
        drawing.text = drawing.drawn(&drawing.view);
        drawing.tokens = count(&drawing.text);
        drawing
    }

    fn drawn(&self, view: &View) -> String {
        let names = self.root.names();
        let mut out = if names.is_empty() { String::new() } else { format!("./{names}\n") };
        self.root.draw(&mut Vec::new(), view, &mut out);
        out
    }

    /// Draws another view if it fits. Returns whether it fits.
    fn change(&mut self, limit: u32, change: impl FnOnce(&mut View)) -> bool {
        let mut view = self.view.clone();
        change(&mut view);
        let text = self.drawn(&view);
        let tokens = (self.count)(&text);
        if tokens <= limit {
            (self.view, self.text, self.tokens) = (view, text, tokens);
        }
        tokens <= limit
    }

    /// Expands the most important folder that fits, repeatedly, and describes the folders inside it.
    fn expand(&mut self, limit: u32, about: &dyn Fn(&Path, &str) -> String) {
        let mut candidates: BTreeSet<Vec<String>> = self.root.inside(&[]).into_iter().collect();
        let mut misfits = 0;
        while misfits < MAX_MISFITS {
            let heaviest = |path: &&Vec<String>| {
                self.root.at(path).map(|folder| (folder.weight, std::cmp::Reverse((*path).clone())))
            };
            let Some(path) = candidates.iter().max_by_key(heaviest).cloned() else { break };
            candidates.remove(&path);
            if !self.change(limit, |view| {
                view.open.insert(path.clone());
            }) {
                misfits += 1;
                continue;
            }
            let inside = self.root.inside(&path);
            candidates.extend(inside.iter().cloned());
            self.describe(inside, limit, about);
        }
    }

    /// Adds descriptions to folders in view: to all of them, shortened if necessary, or else to the most important ones
    /// that fit.
    fn describe(&mut self, mut paths: Vec<Vec<String>>, limit: u32, about: &dyn Fn(&Path, &str) -> String) {
        let weight = |path: &[String]| self.root.at(path).map_or(0, |folder| folder.weight);
        paths.sort_by(|a, b| weight(b).cmp(&weight(a)).then_with(|| a.cmp(b)));
        let description = |path: &[String]| {
            let (_, file) = self.root.at(path)?.about.as_ref()?;
            Some(about(file, path.last().map_or("", String::as_str))).filter(|text| !text.is_empty())
        };
        let mut texts: Vec<_> = paths.into_iter().filter_map(|path| Some((description(&path)?, path))).collect();
        if texts.is_empty() || self.change(limit, |view| view.describe(&texts)) {
            return;
        }
        for most in SHORT_ABOUT {
            for (text, _) in &mut texts {
                *text = shortened(text, most);
            }
            if self.change(limit, |view| view.describe(&texts)) {
                return;
            }
        }
        let mut misfits = 0;
        for one in texts.chunks(1) {
            misfits += usize::from(!self.change(limit, |view| view.describe(one)));
            if misfits >= MAX_MISFITS {
                break;
            }
        }
    }
}

/// Returns the description of a folder from a file's opening comment, in at most [`MAX_ABOUT`] characters.
fn about(name: &str, text: &[u8]) -> String {
    let opening = opening(text);
    let whole = opening.trim_end_matches('.');
    // "The engine: plans and turns" repeats the name.
    let rest = match whole.split_once(": ") {
        Some((head, rest)) if head.to_lowercase().contains(&name.to_lowercase()) => rest,
        _ => whole,
    };
    shortened(rest, MAX_ABOUT)
}

/// Returns a description in at most `most` characters, cut between words.
fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let cut: String = text.chars().take(most - 1).collect();
    let cut = cut.rsplit_once(' ').map_or(cut.as_str(), |(words, _)| words);
    format!("{}…", cut.trim_end_matches([',', ';', ':', ' ']))
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
        let is_other = matches!(symbol.kind, Kind::File | Kind::Impl | Kind::Module) || file.is_text();
        if is_other || symbol.test || file.test {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_are_short() {
        let long = format!("//! {}end.\n", "word, ".repeat(20));
        for (name, text, wanted) in [
            ("net", "//! Sends requests. Retries them.\n", "Sends requests"),
            ("engine", "//! The engine: plans, turns, and tools.\n", "plans, turns, and tools"),
            ("net", "//! The engine: plans.\n", "The engine: plans"),
            ("net", "fn main() {}\n", ""),
            ("net", long.as_str(), "word, word, word, word, word, word, word, word, word…"),
        ] {
            assert_eq!(about(name, text.as_bytes()), wanted);
        }
    }

    /// A description replaces the number of files of a closed folder.
    #[test]
    fn folders_are_described_where_names_do_not_fit() {
        let mut root = Folder::default();
        for (folder, weight) in [("a", 9), ("b", 1)] {
            for file in 0..14 {
                let name = format!("file_with_a_long_name_{file}.rs");
                root.add(&["src", folder, &name], weight, Path::new(&name));
            }
            root.add(&["src", folder, "mod.rs"], weight, Path::new(&format!("src/{folder}/mod.rs")));
        }
        let count = |text: &str| u32::try_from(text.len().div_ceil(4)).unwrap();
        let about = |path: &Path, _: &str| {
            if path == Path::new("src/a/mod.rs") { "keeps letters".to_owned() } else { String::new() }
        };
        for (budget, wanted) in [(6, "src/ 30 files\n"), (20, "src/\n  a/ keeps letters\n  b/ 15 files\n")] {
            let (text, tokens) = draw(&root, &count, budget, &about);
            assert_eq!((text.as_str(), tokens), (wanted, count(wanted)), "{budget}");
        }
        let (text, tokens) = draw(&root, &count, 400, &about);
        assert!(tokens <= 400 && text.contains("  a/ (keeps letters) ") && text.contains("+3\n"), "{text}");
    }

    /// The names of files in one large folder must not displace the descriptions of the other folders in view.
    #[test]
    fn every_folder_in_view_is_described_before_files_are_named() {
        let mut root = Folder::default();
        root.add(&["src", "lib.rs"], 1, Path::new("src/lib.rs"));
        let rooms: Vec<String> = (0..9).map(|room| format!("room_{room}")).collect();
        for room in &rooms {
            root.add(&["src", room, "mod.rs"], 1, Path::new(&format!("src/{room}/mod.rs")));
        }
        for file in 0..40 {
            let name = format!("file_{file}.rs");
            root.add(&["src", "room_4", "deep", &name], 100, Path::new(&name));
        }
        let count = |text: &str| u32::try_from(text.len().div_ceil(4)).unwrap();
        let about = |path: &Path, _: &str| format!("holds the parts of {} that are public", path.display());
        for budget in [200, 150, 120] {
            let (text, tokens) = draw(&root, &count, budget, &about);
            for room in &rooms {
                let is_described =
                    [" ", " ("].iter().any(|open| text.contains(&format!("  {room}/{open}holds the parts")));
                assert!(is_described && tokens <= budget, "{room}, {budget}, {tokens}:\n{text}");
            }
        }
    }
}
