//! Dense retrieval: our index compared with faiss-cpu's flat index in the same run. `cargo bench --bench dense` prints
//! time for each query, recall, memory, and bytes on disk. A number after `--` sets the size of the synthetic set.
//!
//! Real vectors need the feature `local-embeddings` and a model directory in `PLEACH_MINILM`. The texts are sentences
//! from the Markdown files of cargo's registry, preceded by the `content` of the JSON lines in the files that
//! `PLEACH_TEXTS` names. `--vectors=FILE` uses existing vectors of 384 dimensions instead (32-bit floats,
//! little-endian, concatenated; the last 200 are the queries). The faiss half needs `python3` with faiss-cpu and numpy.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, reason = "a bench, read by people")]
#![allow(clippy::print_stdout, reason = "its figures are printed")]
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "figures are rounded anyway")]

#[allow(dead_code, reason = "other benches use the rest of it")]
#[path = "shared/dice.rs"]
mod dice;

use dice::Dice;
use pleach::retrieval::vectors::memory::{Code, VectorIndex};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

const DIMS: usize = 384;
const TOP: usize = 10;
const QUESTIONS: usize = 200;
#[cfg(feature = "local-embeddings")]
const REAL: usize = 10_000;

/// Vectors of length 1, concatenated.
struct Set {
    name: String,
    base: Vec<f32>,
    questions: Vec<f32>,
}

impl Set {
    fn questions(&self) -> impl Iterator<Item = &[f32]> {
        self.questions.chunks_exact(DIMS)
    }

    fn len(&self) -> usize {
        self.base.len() / DIMS
    }
}

/// An approximately normal number: the sum of four uniform ones, with variance 1.
fn normal(dice: &mut Dice) -> f32 {
    let bits = dice.roll();
    let sum: u32 = (0..4).map(|part| (bits >> (16 * part) & 0xFFFF) as u32).sum();
    (sum as f32 / 65_536.0 - 2.0) * 1.732
}

fn vector(dice: &mut Dice) -> Vec<f32> {
    (0..DIMS).map(|_| normal(dice)).collect()
}

fn normalize(vector: &mut [f32]) {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
    for value in vector.iter_mut() {
        *value /= length;
    }
}

/// Topics with subtopics of uneven size. About half of a vector's squared length is individual.
fn clustered(count: usize) -> Set {
    const TOPICS: usize = 200;
    const SUBTOPICS: usize = 5_000;
    let mut dice = Dice(1);
    let topics: Vec<Vec<f32>> = (0..TOPICS).map(|_| vector(&mut dice)).collect();
    let centers: Vec<Vec<f32>> = (0..SUBTOPICS)
        .map(|at| topics[at % TOPICS].iter().zip(vector(&mut dice)).map(|(topic, own)| topic + own).collect())
        .collect();
    let mut points = |count: usize| {
        let mut all = Vec::with_capacity(count * DIMS);
        for _ in 0..count {
            // The square of a uniform number is small more often, so the first subtopics are larger.
            let even = dice.unit();
            let center = &centers[(even * even * SUBTOPICS as f64) as usize];
            let from = all.len();
            all.extend(center.iter().map(|value| value + 1.4 * normal(&mut dice)));
            normalize(&mut all[from..]);
        }
        all
    };
    let name = format!("{count} clustered synthetic vectors ({TOPICS} topics, {SUBTOPICS} subtopics)");
    Set { name, base: points(count), questions: points(QUESTIONS) }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 16];
    for (a, b) in a.chunks_exact(16).zip(b.chunks_exact(16)) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    sums.iter().sum()
}

/// The best matches by exhaustive comparison, and the smallest cosine among them.
fn exact(set: &Set) -> Vec<(Vec<usize>, f32)> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let questions: Vec<&[f32]> = set.questions().collect();
    std::thread::scope(|scope| {
        let parts: Vec<_> = questions
            .chunks(questions.len().div_ceil(threads))
            .map(|part| scope.spawn(move || part.iter().map(|question| best(set, question)).collect::<Vec<_>>()))
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    })
}

fn best(set: &Set, question: &[f32]) -> (Vec<usize>, f32) {
    let mut all: Vec<(f32, usize)> = set.base.chunks_exact(DIMS).map(|vector| dot(question, vector)).zip(0..).collect();
    all.select_nth_unstable_by(TOP - 1, |a, b| b.0.total_cmp(&a.0));
    let least = all[TOP - 1].0;
    (all[..TOP].iter().map(|(_, at)| *at).collect(), least)
}

fn percentiles(mut times: Vec<Duration>) -> (f64, f64) {
    times.sort_unstable();
    let at = |part: usize| times[(times.len() * part / 100).min(times.len() - 1)].as_secs_f64() * 1e3;
    (at(50), at(95))
}

/// Milliseconds for each query: the median and the 95th percentile.
fn ours(set: &Set) -> (f64, f64) {
    let begin = Instant::now();
    let mut index = VectorIndex::new();
    index.reserve(set.len(), DIMS);
    let mut disk = 0;
    for (doc, vector) in (0..).zip(set.base.chunks_exact(DIMS)) {
        let code = Code::of(vector).unwrap();
        disk += code.encode().len();
        index.push(doc, &code).unwrap();
    }
    let built = begin.elapsed();
    let mut times = Vec::new();
    let mut found = Vec::new();
    for round in 0..3 {
        for question in set.questions() {
            let begin = Instant::now();
            let near = index.nearest(question, TOP, None).unwrap();
            times.push(begin.elapsed());
            if round == 0 {
                found.push(near);
            }
        }
    }
    let (mut hits, mut asked) = (0_usize, 0_usize);
    for (near, (best, _)) in found.iter().zip(exact(set)) {
        hits += best.iter().filter(|at| near.iter().any(|near| near.doc as usize == **at)).count();
        asked += TOP;
    }
    let (median, late) = percentiles(times);
    println!(
        "  ours, {} p50 {median:8.3} ms  p95 {late:8.3} ms  recall@{TOP} {:.4}  memory {:.1} MB  disk {:.1} MB  built \
            in {built:.1?}",
        if set.len() < 100_000 { "1 thread      " } else { "side by side  " },
        hits as f64 / asked as f64,
        index.memory() as f64 / 1e6,
        disk as f64 / 1e6,
    );
    (median, late)
}

const FAISS: &str = r"
import sys, time
try:
    import numpy, faiss
except ImportError:
    print('none'); sys.exit()
base, questions, dims = sys.argv[1], sys.argv[2], int(sys.argv[3])
base = numpy.memmap(base, dtype='float32', mode='r').reshape(-1, dims)
questions = numpy.fromfile(questions, dtype='float32').reshape(-1, dims)
index = faiss.IndexFlatIP(dims)
for start in range(0, len(base), 65536):
    index.add(numpy.ascontiguousarray(base[start:start + 65536]))
for threads in (1, 2):
    faiss.omp_set_num_threads(threads)
    for question in questions[:10]:
        index.search(question[None], 10)
    times = []
    for _ in range(3 if len(base) < 200000 else 1):
        for question in questions:
            begin = time.perf_counter()
            index.search(question[None], 10)
            times.append(time.perf_counter() - begin)
    times.sort()
    begin = time.perf_counter()
    index.search(questions, 10)
    batch = (time.perf_counter() - begin) / len(questions)
    print(threads, times[len(times) // 2] * 1e3, times[len(times) * 95 // 100] * 1e3, batch * 1e3)
";

/// Number of threads, median, 95th percentile, and milliseconds for each query when all are sent at once.
fn faiss(set: &Set) -> Option<Vec<[f64; 4]>> {
    let folder = tempfile::tempdir().ok()?;
    let [base, questions] = [("base", &set.base), ("questions", &set.questions)].map(|(name, values)| {
        let path = folder.path().join(name);
        write(&path, values).map(|()| path)
    });
    let output = std::process::Command::new("python3")
        .args(["-c", FAISS])
        .args([base.ok()?, questions.ok()?])
        .arg(DIMS.to_string())
        .output()
        .ok()?;
    let numbers = |line: &str| -> Option<[f64; 4]> {
        let numbers: Vec<f64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
        numbers.try_into().ok()
    };
    let lines: Vec<[f64; 4]> = String::from_utf8_lossy(&output.stdout).lines().filter_map(numbers).collect();
    (!lines.is_empty()).then_some(lines)
}

fn write(path: &Path, values: &[f32]) -> std::io::Result<()> {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    values.iter().try_for_each(|value| file.write_all(&value.to_le_bytes()))?;
    file.flush()
}

fn measure(set: &Set) {
    println!("{}, {} questions, top {TOP}", set.name, set.questions().count());
    let (median, late) = ours(set);
    let Some(lines) = faiss(set) else {
        println!("  faiss not installed: skipped");
        return;
    };
    let flat = set.base.len() as f64 * 4.0 / 1e6;
    for [threads, p50, p95, batch] in lines {
        println!(
            "  faiss flat, {threads} thread{} p50 {p50:8.3} ms  p95 {p95:8.3} ms  memory {flat:.1} MB  ours is {:.1} \
                x (p50), {:.1} x (p95) as fast; all questions at once {batch:.3} ms each",
            if threads > 1.0 { "s" } else { " " },
            p50 / median,
            p95 / late,
        );
    }
}

/// Vectors from a file.
fn from_file(file: &str) -> Result<Set, String> {
    let bytes = std::fs::read(file).map_err(|error| format!("{file}: {error}"))?;
    let value = |four: &[u8]| four.try_into().map(f32::from_le_bytes).unwrap_or_default();
    let mut base: Vec<f32> = bytes.chunks_exact(4).map(value).collect();
    let count = base.len() / DIMS;
    if !base.len().is_multiple_of(DIMS) || count <= QUESTIONS {
        return Err(format!("{file} does not hold more than {QUESTIONS} vectors of {DIMS} dimensions"));
    }
    let questions = base.split_off((count - QUESTIONS) * DIMS);
    Ok(Set { name: format!("{} vectors of {file}", count - QUESTIONS), base, questions })
}

#[cfg(not(feature = "local-embeddings"))]
fn real() -> Result<Set, String> {
    Err("the feature local-embeddings is off".to_owned())
}

/// Sentences embedded by the model in `PLEACH_MINILM`, cached in the target folder.
#[cfg(feature = "local-embeddings")]
fn real() -> Result<Set, String> {
    use pleach::domain::call::embedding::{Embed, Purpose};
    let folder = std::env::var_os("PLEACH_MINILM").ok_or("PLEACH_MINILM names no model directory")?;
    let embedder = pleach::llm::embedders::local::LocalEmbedder::open(Path::new(&folder)).map_err(|e| e.to_string())?;
    if embedder.dims() != DIMS {
        return Err(format!("the model has {} dimensions, not {DIMS}", embedder.dims()));
    }
    let texts = texts::sentences(REAL + QUESTIONS);
    if texts.len() < REAL + QUESTIONS {
        return Err(format!("only {} sentences were found", texts.len()));
    }
    let digest = pleach::domain::base::hash::Fields::new("dense").text(&embedder.id()).json(&texts).finish();
    let cache_path = texts::cache_path(&digest.short());
    let mut base = texts::read(&cache_path).filter(|values| values.len() == texts.len() * DIMS).unwrap_or_default();
    if base.is_empty() {
        let begin = Instant::now();
        let borrowed: Vec<&str> = texts.iter().map(String::as_str).collect();
        let vectors = embedder.embed(&borrowed, Purpose::Passage, &|| true).map_err(|e| e.to_string())?;
        let took = begin.elapsed();
        println!(
            "embedded {} sentences in {took:.1?}, {:.1?} each",
            texts.len(),
            took / u32::try_from(texts.len()).unwrap()
        );
        base = vectors.concat();
        write(&cache_path, &base).map_err(|e| e.to_string())?;
    }
    let questions = base.split_off(REAL * DIMS);
    Ok(Set { name: format!("{REAL} real vectors of sentences"), base, questions })
}

/// Real sentences, and the cache of their vectors.
#[cfg(feature = "local-embeddings")]
mod texts {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    /// Distinct sentences, always the same on one machine. Sentences spread over the sources come last and serve as
    /// queries.
    pub(super) fn sentences(count: usize) -> Vec<String> {
        let mut all = Vec::new();
        let mut seen = BTreeSet::new();
        let mut add = |text: &str| {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            if (20..600).contains(&text.len()) && text.contains(' ') && seen.insert(text.clone()) {
                all.push(text);
            }
        };
        for file in std::env::var("PLEACH_TEXTS").unwrap_or_default().split(':').filter(|file| !file.is_empty()) {
            for line in std::fs::read_to_string(file).unwrap_or_default().lines() {
                let value: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
                add(value["content"].as_str().unwrap_or_default());
            }
        }
        for file in markdown() {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            let prose =
                text.split("\n\n").filter(|block| !block.contains(['|', '<']) && !block.starts_with([' ', '#', '`']));
            prose.flat_map(|block| block.split(". ")).take(400).for_each(&mut add);
        }
        // The choice of queries must not depend on the source of the texts.
        all.sort_by_cached_key(|text| pleach::domain::base::hash::Hash::of(text.as_bytes()));
        all.truncate(count);
        all
    }

    fn home() -> PathBuf {
        let set = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        set.unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cargo"))
    }

    /// The Markdown files at the top of each package in cargo's registry, sorted by name.
    fn markdown() -> BTreeSet<PathBuf> {
        let inside = |folder: &Path| {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).collect::<Vec<_>>()
        };
        let packages = inside(&home().join("registry/src")).into_iter().flat_map(|source| inside(&source));
        let files = packages.flat_map(|package| inside(&package));
        files.filter(|file| file.extension().is_some_and(|extension| extension == "md")).collect()
    }

    pub(super) fn cache_path(digest: &str) -> PathBuf {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
        target.join(format!("dense-{digest}.f32"))
    }

    pub(super) fn read(path: &Path) -> Option<Vec<f32>> {
        let bytes = std::fs::read(path).ok()?;
        Some(bytes.chunks_exact(4).filter_map(|four| four.try_into().ok().map(f32::from_le_bytes)).collect())
    }
}

fn main() {
    let named = std::env::args().find_map(|word| word.strip_prefix("--vectors=").map(str::to_owned));
    match named.map_or_else(real, |file| from_file(&file)) {
        Ok(set) => measure(&set),
        Err(why) => println!("real vectors: skipped, {why}"),
    }
    // Cargo's own arguments are not numbers.
    let size = std::env::args().skip(1).find_map(|word| word.parse().ok());
    measure(&clustered(size.unwrap_or(1_000_000)));
}
