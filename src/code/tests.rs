//! Tests of the search: order, budgets, the map, and queries. Also what the other tests of the module share.

use super::find::cards::{Found, Limits, Sources, fill};
use super::find::{map, query, rank};
use super::index::build::{Change, renew};
use super::index::cache::Cache;
use super::index::records::Index;
use super::parse::walk::Bounds;
use super::parse::words::Analyzer;
use super::tuning::Tuning;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The files of a folder.
pub(super) struct Disk(pub(super) PathBuf);

impl Sources for Disk {
    fn text(&self, path: &Path) -> Option<Arc<[u8]>> {
        std::fs::read(self.0.join(path)).ok().map(Into::into)
    }
}

pub(super) fn count(text: &str) -> u32 {
    u32::try_from(text.len().div_ceil(4)).unwrap()
}

/// Writes files to a folder, which disappears with the first result, and indexes them.
pub(super) fn indexed(files: &[(&str, &str)]) -> (tempfile::TempDir, Index) {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), files);
    let mut index = Index::default();
    update(&mut index, folder.path(), None);
    (folder, index)
}

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

pub(super) fn update(index: &mut Index, root: &Path, cache: Option<&mut Cache>) -> usize {
    let mut cache = cache;
    let mut keep = |change: Change<'_>| match (cache.as_deref_mut(), change) {
        (Some(cache), Change::Read(record)) => cache.keep(record),
        (Some(cache), Change::Touched(path, stamp)) => cache.touched(path, stamp),
        (Some(cache), Change::Gone(path)) => cache.gone(path),
        (None, _) => {}
    };
    let stop = AtomicBool::new(false);
    let read = renew(index, root, &Bounds::default(), &stop, &mut keep, &mut |_| ()).unwrap().read;
    if let Some(cache) = cache {
        cache.flush().unwrap();
    }
    read
}

pub(super) fn ask(index: &Index, root: &Path, text: &str, budget: u32) -> Found {
    let query = query::read(&mut Analyzer::default(), text, &Tuning::default());
    let hits = rank::rank(index, &query, &Tuning::default(), 300);
    fill(index, &hits, &Disk(root.to_path_buf()), &count, Limits::within(budget))
}

/// The files of the workspace; git ignores one of them.
const FILES: &[(&str, &str)] = &[
    (
        "src/net/retry.rs",
        "/// Tries again.\npub fn retry_request(n: u32) -> bool {\n    backoff(n) > 0\n}\n\nfn backoff(n: u32) -> u32 {\n    n * 2\n}\n",
    ),
    (
        "src/net/mod.rs",
        "pub mod retry;\npub struct Client { timeout: u32 }\nimpl Client {\n    pub fn send(&self) -> bool {\n        retry::retry_request(self.timeout)\n    }\n}\n",
    ),
    (
        "app/models.py",
        "class ModelOptions:\n    \"\"\"Options of a model.\"\"\"\n    def validate(self, temperature):\n        return temperature > 0\n",
    ),
    ("web/view.ts", "export function drawNetworkGraph(points: number[]) {\n  return points.length;\n}\n"),
    ("target/made.rs", "fn ignored_thing() {}\n"),
    (".gitignore", "target/\n"),
];

pub(super) fn workspace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), FILES);
    folder
}

pub(super) fn names(found: &Found) -> Vec<(String, String)> {
    found.items.iter().map(|item| (item.path.clone(), item.symbol.clone())).collect()
}

#[test]
fn best_match_comes_first() {
    let folder = workspace();
    let mut index = Index::default();
    assert_eq!(update(&mut index, folder.path(), None), 5, "ignored files are not read");
    let best = |text: &str| {
        let query = query::read(&mut Analyzer::default(), text, &Tuning::default());
        let hits = rank::rank(&index, &query, &Tuning::default(), 10);
        index.symbol(hits[0].id).unwrap().0.name.to_string()
    };
    assert_eq!(best("fix(net): retrying a request gives up too early"), "retry_request");
    assert_eq!(best("where is the temperature validated?"), "validate");
    assert_eq!(best("network graph is empty"), "drawNetworkGraph");
    assert_eq!(best("`backoff` overflows"), "backoff");
    assert!(index.defined("ignored_thing").is_empty());
    let send = index.defined("send")[0];
    let hops = index.graph().hops(&[send], 2);
    assert_eq!(hops.get(&index.defined("retry_request")[0]), Some(&1));
    assert_eq!(hops.get(&index.defined("backoff")[0]), Some(&2));
}

#[test]
fn budgets_hold_and_lines_are_unique() {
    let folder = workspace();
    let mut index = Index::default();
    update(&mut index, folder.path(), None);
    for budget in [0, 5, 20, 40, 60, 100, 200, 1_000, 8_000] {
        let found = ask(&index, folder.path(), "retry the request of a client with backoff and options", budget);
        let total: u32 = found.items.iter().map(|item| item.tokens).sum();
        assert!(total <= budget, "{total} of {budget}");
        for (at, one) in found.items.iter().enumerate() {
            assert!(one.span.0 <= one.span.1 && one.whole.1 >= one.span.1);
            let apart =
                |two: &crate::domain::code::symbols::Touchpoint| two.path != one.path || two.span.0 > one.span.1;
            assert!(found.items[at + 1..].iter().all(apart), "{one:?}");
        }
    }
    let all = ask(&index, folder.path(), "retry request", 8_000);
    assert!(all.items.iter().any(|item| item.text.contains("backoff(n) > 0") && item.text.contains("Tries again.")));
}

#[test]
fn changed_files_are_not_quoted() {
    let folder = workspace();
    let mut index = Index::default();
    update(&mut index, folder.path(), None);
    std::fs::write(folder.path().join("src/net/retry.rs"), "// nothing any more\n").unwrap();
    let found = ask(&index, folder.path(), "retry request backoff", 1_000);
    assert!(found.items.iter().all(|item| item.path != "src/net/retry.rs"));
    assert!(found.changed.contains("src/net/retry.rs"));
}

#[test]
fn map_keeps_its_budget_and_names_central_symbols() {
    let folder = workspace();
    let mut index = Index::default();
    update(&mut index, folder.path(), None);
    for budget in [0, 3, 10, 30, 200] {
        let map = map::build(&index, &Disk(folder.path().to_path_buf()), &count, budget, 3);
        assert!(map.tokens <= budget && count(&map.text) == map.tokens, "{map:?}");
    }
    let map = map::build(&index, &Disk(folder.path().to_path_buf()), &count, 200, 3);
    assert!(map.text.contains("retry.rs") && map.text.contains("models.py"), "{}", map.text);
    assert!(map.anchors.iter().any(|anchor| anchor.symbol.ends_with("retry_request") && anchor.doc == "Tries again."));
}

#[test]
fn queries_drop_words_without_meaning() {
    let tuning = Tuning::default();
    let read = |text: &str| query::read(&mut Analyzer::default(), text, &tuning);
    let terms = |text: &str| read(text).terms.keys().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(terms("feat(cli)!: readonly mode"), terms("cli: readonly mode"));
    assert_eq!(terms("fix: see https://example.org/abc 0a1b2c3d4e"), ["see"]);
    let together = Analyzer::default().stem("readonly");
    assert!(read("the read only flag").terms.contains_key(&together));
    assert_eq!(read("a change of `src/app.rs`, please").paths, ["src/app.rs"]);
    assert!(read("call draw_data here").names.contains_key("draw_data"));
    let long = "word ".repeat(100_000);
    assert!(read(&long).terms.len() < 10);
}
