//! Recall of touchpoints: do they contain the files and symbols that a commit changed, given only its message? And the
//! speed of the index.
//!
//! `cargo bench --bench code -- DIR COMMITS.jsonl [DIR COMMITS.jsonl …]` measures recall of files and symbols at 1,000,
//! 4,000, and 8,000 tokens (counted with o200k) over commits `{id, query, files, symbols}`, compared with plain grep
//! and with a map of the most central symbols in the same run. A symbol counts when an item has its name in a changed
//! file. One more row gives the same for the items that a plan in Heavy would send: at most twelve, within 4,000 tokens,
//! and none when the gate stays closed.
//!
//! `cargo bench --bench code -- --times DIR` copies DIR, indexes the copy, changes one file, and asks 200 questions,
//! compared with universal-ctags if installed. Without arguments it does both with pleach's own sources and its own
//! questions.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, reason = "a bench, read by people")]
#![allow(clippy::print_stdout, reason = "its figures are printed")]
#![allow(clippy::cast_possible_truncation, reason = "counts of a bench")]

use pleach::code::find::cards::{Limits, Sources, fill};
use pleach::code::find::rank::{Hit, prefer_other_files, rank};
use pleach::code::find::{gate, map, query};
use pleach::code::index::build::{Change, Round, renew};
use pleach::code::index::cache::Cache;
use pleach::code::index::records::Index;
use pleach::code::parse::walk::Bounds;
use pleach::code::parse::words::{Analyzer, is_stop, words_of};
use pleach::code::tuning::Tuning;
use pleach::domain::call::{CountTokens, Encoding};
use pleach::domain::code::Parts;
use pleach::llm::counting::tokens::Tokenizers;
use pleach::retrieval::gate::asks_something;
use pleach::retrieval::index::stops::is_filler;
use serde::Deserialize;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

const BUDGETS: [u32; 3] = [1_000, 4_000, 8_000];

#[derive(Deserialize)]
struct Commit {
    query: String,
    files: Vec<String>,
    symbols: Vec<String>,
}

/// The files and symbols that are sent.
type Sent = (BTreeSet<String>, BTreeSet<(String, String)>);

struct Disk {
    root: PathBuf,
    known: RefCell<HashMap<PathBuf, Arc<[u8]>>>,
}

impl Disk {
    fn new(root: &Path) -> Self {
        Self { root: root.to_path_buf(), known: RefCell::default() }
    }
}

impl Sources for Disk {
    fn text(&self, path: &Path) -> Option<Arc<[u8]>> {
        if let Some(text) = self.known.borrow().get(path) {
            return Some(Arc::clone(text));
        }
        let text: Arc<[u8]> = std::fs::read(self.root.join(path)).ok()?.into();
        self.known.borrow_mut().insert(path.to_path_buf(), Arc::clone(&text));
        Some(text)
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let tokens = Tokenizers::new();
    let count = |text: &str| tokens.count(Encoding::O200kBase, text);
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => {
            let own = Path::new(env!("CARGO_MANIFEST_DIR"));
            recall(&own.join("src"), &own_questions(), &count);
            times(&own.join("src"), &count);
        }
        ["--times", folders @ ..] => folders.iter().for_each(|folder| times(Path::new(folder), &count)),
        pairs => {
            for pair in pairs.chunks_exact(2) {
                recall(Path::new(pair[0]), &commits(pair[1]), &count);
            }
        }
    }
}

fn commits(file: &str) -> Vec<Commit> {
    let text = std::fs::read_to_string(file).expect("a file of commits");
    text.lines().map(|line| serde_json::from_str(line).expect("a commit on each line")).collect()
}

/// Questions about pleach, each with the symbols that answer it.
fn own_questions() -> Vec<Commit> {
    let ask = |query: &str, file: &str, symbol: &str| Commit {
        query: query.into(),
        files: vec![file.into()],
        symbols: vec![symbol.into()],
    };
    vec![
        ask("where are escape sequences made visible?", "domain/safe.rs", "clean"),
        ask("fix: stemming of possessive words", "retrieval/words.rs", "lower"),
        ask("decoder of server sent events loses a line", "llm/sse.rs", "Decoder"),
        ask("the walk must not follow symbolic links", "code/walk.rs", "list"),
        ask("power iteration of centrality", "code/graph.rs", "centrality"),
        ask("ignore rules of folders on the way down", "tools/rules.rs", "Rules"),
    ]
}

fn indexed(root: &Path) -> Index {
    let mut index = Index::default();
    renew(&mut index, root, &Bounds::default(), &AtomicBool::new(false), &mut |_| (), &mut |_| ()).expect("a folder");
    index
}

fn recall(root: &Path, commits: &[Commit], count: &dyn Fn(&str) -> u32) {
    let index = indexed(root);
    let disk = Disk::new(root);
    println!("\n{}: {} commits, {} symbols", root.display(), commits.len(), index.len());
    println!("{:<34} files 1k / 4k / 8k      symbols 1k / 4k / 8k", "");
    let tuning = Tuning::default();
    let mut analyzer = Analyzer::default();
    let central = by_centrality(&index);
    let own = |text: &str, budget: u32, analyzer: &mut Analyzer| {
        let hits = rank(&index, &query::read(analyzer, text, &tuning), &tuning, 600);
        sent(&index, &hits, &disk, count, Limits::within(budget))
    };
    row("pleach", commits, &mut |text, budget| own(text, budget, &mut analyzer));
    #[cfg(feature = "local-embeddings")]
    row("pleach, with vectors", commits, &mut vectors::sender(&index, &disk, count));
    heavy(&index, &disk, commits, count);
    row("most central symbols (map)", commits, &mut |_, budget| {
        sent(&index, &central, &disk, count, Limits { excerpts: 0, lines: 0, ..Limits::within(budget) })
    });
    let lines = Lines::read(&index, &disk);
    row("grep, most words in a line first", commits, &mut |text, budget| lines.grep(&index, text, budget, count));
}

/// The order with the vectors of the model in `PLEACH_MINILM`.
#[cfg(feature = "local-embeddings")]
mod vectors {
    use super::{Disk, Sent, sent};
    use pleach::code::find::cards::{Limits, Sources as _};
    use pleach::code::find::likeness::{embedded_text, raise};
    use pleach::code::find::query;
    use pleach::code::find::rank::rank;
    use pleach::code::index::records::Index;
    use pleach::code::parse::words::Analyzer;
    use pleach::code::tuning::Tuning;
    use pleach::domain::call::embedding::{Embed, Purpose};
    use pleach::llm::embedders::local::LocalEmbedder;
    use std::collections::HashMap;
    use std::path::Path;

    /// Number of symbols whose vectors are compared.
    const COMPARED: usize = 120;

    pub(super) fn sender<'a>(
        index: &'a Index,
        disk: &'a Disk,
        count: &'a dyn Fn(&str) -> u32,
    ) -> impl FnMut(&str, u32) -> Sent + 'a {
        let folder = std::env::var_os("PLEACH_MINILM").expect("PLEACH_MINILM names a model directory");
        let embedder = LocalEmbedder::open(Path::new(&folder)).expect("a model");
        let (mut analyzer, tuning) = (Analyzer::default(), Tuning::default());
        let mut known: HashMap<(bool, String), Vec<f32>> = HashMap::new();
        move |text, budget| {
            let mut hits = rank(index, &query::read(&mut analyzer, text, &tuning), &tuning, 600);
            let compared = hits.len().min(COMPARED);
            let mut vector = |text: &str, purpose: Purpose| {
                let key = (purpose == Purpose::Query, text.to_owned());
                known
                    .entry(key)
                    .or_insert_with(|| {
                        embedder.embed(&[text], purpose, &|| true).expect("a vector").pop().expect("one vector")
                    })
                    .clone()
            };
            let question = vector(text, Purpose::Query);
            let mut cosines = HashMap::new();
            for hit in &hits[..compared] {
                let Some((_, file)) = index.symbol(hit.id) else { continue };
                let Some(source) = disk.text(&file.path) else { continue };
                let Some(symbol) = embedded_text(index, hit.id, &source) else { continue };
                let vector = vector(&symbol, Purpose::Passage);
                cosines.insert(hit.id, question.iter().zip(&vector).map(|(a, b)| a * b).sum());
            }
            raise(&mut hits[..compared], &cosines);
            sent(index, &hits, disk, count, Limits::within(budget))
        }
    }
}

/// The row for Heavy, with its limits at its largest allowance.
fn heavy(index: &Index, disk: &Disk, commits: &[Commit], count: &dyn Fn(&str) -> u32) {
    let (tuning, mut analyzer) = (Tuning::for_plans(), Analyzer::default());
    let limits = Limits { budget: 4_000 - 64, items: 12, sure: 6, lines: 30, tokens: 600, excerpts: 50 };
    let (mut items, mut silent) = (0, 0);
    let (mut files, mut symbols) = (Vec::new(), Vec::new());
    let (mut open_files, mut open_symbols) = (Vec::new(), Vec::new());
    for commit in commits {
        let mut asked = query::read(&mut analyzer, &commit.query, &tuning);
        asked.asks = !asked.is_change && !asked.is_order && asks_something(&commit.query);
        let words = asked.words.clone();
        asked.content.retain(|term| words.get(term).is_none_or(|word| !is_filler(word)));
        let mut hits = rank(index, &asked, &tuning, 120);
        let is_silent = gate::skip_reason(index, &asked, &hits).is_some();
        silent += usize::from(is_silent);
        hits = prefer_other_files(index, hits, &tuning);
        gate::mark_weak(index, &asked, &mut hits);
        let open = sent(index, &hits, disk, count, limits);
        open_files.extend(share_of_files(commit, &open));
        open_symbols.extend(share_of_symbols(commit, &open));
        let hits = if is_silent { &[] } else { &hits[..] };
        items += fill(index, hits, disk, count, limits).items.len();
        let found = sent(index, hits, disk, count, limits);
        files.extend(share_of_files(commit, &found));
        symbols.extend(share_of_symbols(commit, &found));
    }
    let mean = items as f64 / commits.len().max(1) as f64;
    println!(
        "{:<34}{:>7.1}                {:>7.1}                ({mean:.1} items, none for {silent})",
        "pleach, Heavy, 4k",
        mean_of(&files),
        mean_of(&symbols)
    );
    println!(
        "{:<34}{:>7.1}                {:>7.1}",
        "the same without the gate",
        mean_of(&open_files),
        mean_of(&open_symbols)
    );
}

fn share_of_files(commit: &Commit, (files, _): &Sent) -> Option<f64> {
    let hit = commit.files.iter().filter(|file| files.contains(*file)).count();
    (!commit.files.is_empty()).then(|| hit as f64 / commit.files.len() as f64 * 100.0)
}

fn share_of_symbols(commit: &Commit, (_, symbols): &Sent) -> Option<f64> {
    let was_found =
        |symbol: &&String| commit.files.iter().any(|file| symbols.contains(&(file.clone(), (*symbol).clone())));
    let hit = commit.symbols.iter().filter(was_found).count();
    (!commit.symbols.is_empty()).then(|| hit as f64 / commit.symbols.len() as f64 * 100.0)
}

fn mean_of(shares: &[f64]) -> f64 {
    shares.iter().sum::<f64>() / shares.len().max(1) as f64
}

fn sent(index: &Index, hits: &[Hit], disk: &Disk, count: &dyn Fn(&str) -> u32, limits: Limits) -> Sent {
    let found = fill(index, hits, disk, count, limits);
    let told: u32 = found.items.iter().map(|item| item.tokens).sum();
    let block: String = found.items.iter().map(|item| item.text.as_str()).collect();
    assert!(told <= limits.budget && count(&block) <= limits.budget, "the budget holds");
    let symbols = found.items.iter().map(|item| (item.path.clone(), item.symbol.clone())).collect();
    (found.items.into_iter().map(|item| item.path).collect(), symbols)
}

fn row(name: &str, commits: &[Commit], send: &mut dyn FnMut(&str, u32) -> Sent) {
    let mut shown = [String::new(), String::new()];
    for budget in BUDGETS {
        let (mut files, mut symbols) = (Vec::new(), Vec::new());
        for commit in commits {
            let found = send(&commit.query, budget);
            files.extend(share_of_files(commit, &found));
            symbols.extend(share_of_symbols(commit, &found));
        }
        for (text, shares) in shown.iter_mut().zip([files, symbols]) {
            let _ = write!(text, "{:>7.1}", mean_of(&shares));
        }
    }
    println!("{name:<34}{}  {}", shown[0], shown[1]);
}

fn by_centrality(index: &Index) -> Vec<Hit> {
    let mut order: Vec<(u64, u32)> = index.graph().centrality(index).into_iter().zip(0..).collect();
    order.sort_unstable_by_key(|(weight, id)| (std::cmp::Reverse(*weight), *id));
    let hit = |(_, id): (u64, u32)| Hit { id, score: 0.0, parts: Parts::default(), matched: Vec::new(), weak: false };
    order.into_iter().filter(|(_, id)| index.symbol(*id).is_some()).map(hit).collect()
}

/// Every line of every parsed file, in lowercase.
struct Lines(Vec<(String, Vec<String>)>);

impl Lines {
    fn read(index: &Index, disk: &Disk) -> Self {
        let files = index.files().filter(|file| file.count > 0);
        let read = |path: &Path| {
            let text = disk.text(path).unwrap_or_default();
            String::from_utf8_lossy(&text).lines().map(str::to_lowercase).collect()
        };
        Self(files.map(|file| (file.shown.to_string(), read(&file.path))).collect())
    }

    /// `path:line: text` of the lines with most of the query's words, until the budget is used up.
    fn grep(&self, index: &Index, text: &str, budget: u32, count: &dyn Fn(&str) -> u32) -> Sent {
        let low = text.to_lowercase();
        let words: BTreeSet<&str> = words_of(&low).filter(|word| word.len() > 2 && !is_stop(word)).collect();
        let mut hits: Vec<(usize, usize, usize)> = Vec::new();
        for (file, (_, lines)) in self.0.iter().enumerate() {
            for (line, text) in lines.iter().enumerate() {
                let found = words.iter().filter(|word| text.contains(*word)).count();
                if found > 0 {
                    hits.push((found, file, line));
                }
            }
        }
        hits.sort_unstable_by_key(|(found, file, line)| (std::cmp::Reverse(*found), *file, *line));
        let (mut sent, mut used): (Sent, u32) = (Sent::default(), 0);
        for (_, file, line) in hits {
            let (path, lines) = &self.0[file];
            used += count(&format!("{path}:{}:{}\n", line + 1, lines[line]));
            if used > budget {
                break;
            }
            sent.0.insert(path.clone());
            // In grep's favor, a line counts for every symbol around it.
            let Some(place) = index.file_at(Path::new(path)) else { continue };
            for (symbol, _) in (place.first..place.first + place.count).filter_map(|id| index.symbol(id)) {
                if (symbol.lines.0 as usize..=symbol.lines.1 as usize).contains(&(line + 1)) {
                    sent.1.insert((path.clone(), symbol.name.to_string()));
                }
            }
        }
        sent
    }
}

fn times(source: &Path, count: &dyn Fn(&str) -> u32) {
    let scratch = std::env::temp_dir().join(format!("pleach-bench-code-{}", std::process::id()));
    let root = scratch.join("tree");
    copy(source, &root);
    println!("\n{} (copied)", source.display());
    let (stop, bounds) = (AtomicBool::new(false), Bounds::default());
    let mut index = Index::default();
    let kept = scratch.join("x.index");
    let (mut cache, _) = Cache::open(&kept, &root, &mut index).unwrap();
    let mut bring = |index: &mut Index| {
        let begun = Instant::now();
        let mut keep = |change: Change<'_>| match change {
            Change::Read(record) => cache.keep(record),
            Change::Touched(path, stamp) => cache.touched(path, stamp),
            Change::Gone(path) => cache.gone(path),
        };
        renew(index, &root, &bounds, &stop, &mut keep, &mut |_| ()).unwrap();
        cache.flush().unwrap();
        begun.elapsed()
    };
    let first = bring(&mut index);
    let lines: u64 = index.files().map(|file| u64::from(file.lines)).sum();
    println!("index: {first:.2?}, {lines} lines, {} symbols, {} uses", index.len(), index.graph().edges());
    println!("memory at most {} MiB, file {} MiB", peak() >> 20, std::fs::metadata(&kept).unwrap().len() >> 20);
    ctags(&root);
    let victim = index.files().filter(|file| file.count > 20).nth(7).map(|file| root.join(&file.path));
    if let Some(victim) = victim {
        let text = std::fs::read(&victim).unwrap();
        let again: Vec<Duration> = (0..7)
            .map(|round| {
                std::fs::write(&victim, [&text[..], format!("\n// change {round}\n").as_bytes()].concat()).unwrap();
                bring(&mut index)
            })
            .collect();
        println!("one file changed, whole tree looked through again: {}", spread(again));
        glances(&mut index, &root, &victim, &text, &bounds);
    }
    let begun = Instant::now();
    let mut loaded = Index::default();
    drop(cache);
    drop(Cache::open(&kept, &root, &mut loaded).unwrap());
    loaded.refresh();
    println!("start from the kept file: {:.2?}, {} files", begun.elapsed(), loaded.files().count());
    questions(&index, &root, count);
    let begun = Instant::now();
    let map = map::build(&index, &Disk::new(&root), count, 200, 6);
    println!("map: {:.2?}, {} tokens", begun.elapsed(), map.tokens);
    std::fs::remove_dir_all(scratch).unwrap();
}

/// The same with glances, as the running program does it: only known files and folders are checked, and the index is
/// locked only for the middle part.
fn glances(index: &mut Index, root: &Path, victim: &Path, text: &[u8], bounds: &Bounds) {
    let stop = AtomicBool::new(false);
    std::thread::sleep(Duration::from_millis(60));
    let look = |index: &Index| Round::survey(index, root, bounds, &stop).unwrap().folders().unwrap_or_default();
    let mut folders = look(index);
    renew(index, root, bounds, &stop, &mut |_| (), &mut |_| ()).unwrap();
    let mut steps: [Vec<Duration>; 5] = Default::default();
    for round in 0..15 {
        let changed = [text, format!("\n// recheck {round}\n").as_bytes()].concat();
        std::fs::write(victim, changed).unwrap();
        // A more recent change time would not be trusted, and the file would be read again.
        std::thread::sleep(Duration::from_millis(60));
        let begun = Instant::now();
        let mut last = begun;
        let mut lap = |at: usize| {
            let now = Instant::now();
            steps[at].push(now - last);
            last = now;
        };
        let Some(mut found) = Round::recheck(index, root, &folders, false) else {
            folders = look(index);
            continue;
        };
        lap(0);
        found.read_ahead(root, bounds, &stop);
        lap(1);
        let done = found.take_in(index, (root, bounds, &stop), &mut |_| (), &mut |_| ()).unwrap();
        assert_eq!(done.read, 1);
        index.compact_if_sparse();
        lap(2);
        let graph = index.rebuilt_graph().unwrap();
        lap(3);
        index.put_graph(graph);
        steps[4].push(begun.elapsed());
    }
    let [looked, read, stored, graph, all] = steps;
    println!("one file changed, known files looked at: {}", spread(all));
    println!("  looked {}", spread(looked));
    println!("  read {}", spread(read));
    println!("  put in, while others wait {}", spread(stored));
    println!("  graph {}", spread(graph));
}

/// 200 questions from words that occur in symbol names.
fn questions(index: &Index, root: &Path, count: &dyn Fn(&str) -> u32) {
    let mut names: Vec<String> = Vec::new();
    for file in index.files().filter(|file| file.count > 3) {
        names.extend(index.symbol(file.first + 2).map(|(symbol, _)| symbol.name.replace('_', " ")));
    }
    let step = (names.len() / 600).max(1);
    let picked: Vec<&String> = names.iter().step_by(step).collect();
    let tuning = Tuning::default();
    let mut analyzer = Analyzer::default();
    let (mut ranked, mut whole) = (Vec::new(), Vec::new());
    for three in picked.chunks(3).take(200) {
        let text = format!(
            "fix: {} when the value is missing, so that the list keeps its order",
            three.iter().map(|s| s.as_str()).collect::<Vec<_>>().join(" ")
        );
        // The program finds files in the system's cache but reads them again for every question.
        let disk = Disk::new(root);
        let begun = Instant::now();
        let hits = rank(index, &query::read(&mut analyzer, &text, &tuning), &tuning, 600);
        ranked.push(begun.elapsed());
        let found = fill(index, &hits, &disk, count, Limits::within(8_000));
        whole.push(begun.elapsed());
        assert!(!found.items.is_empty());
    }
    println!("retrieval, ranking only: {}", spread(ranked));
    println!("retrieval with touchpoints for 8,000 tokens: {}", spread(whole));
}

fn spread(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    format!("p50 {:.1?}, p95 {:.1?}, max {:.1?}", at(50), at(95), at(100))
}

fn ctags(root: &Path) {
    let begun = Instant::now();
    let languages = "--languages=Rust,Python,TypeScript,JavaScript,Go,C,C++,Java";
    let ran = Command::new("ctags").args(["-R", languages, "-f", "-"]).arg(root).output();
    match ran {
        Ok(out) => {
            let tags = out.stdout.split(|byte| *byte == b'\n').count();
            println!("universal-ctags: {:.2?}, {tags} tags (one thread, definitions only)", begun.elapsed());
        }
        Err(_) => println!("universal-ctags is not installed"),
    }
}

fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or("VmHWM: 0 kB");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or_default() << 10
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        let to = to.join(entry.file_name());
        if kind.is_dir() {
            copy(&entry.path(), &to);
        } else if kind.is_file() {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}
