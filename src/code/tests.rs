//! Tests of the whole module: languages, hostile bytes, updates, the cache, and budgets.

use super::CodeError;
use super::find::cards::{Found, Limits, Sources, fill};
use super::find::{map, query, rank};
use super::index::build::{Change, renew};
use super::index::cache::Cache;
use super::index::codec::{ByteReader, ByteWriter};
use super::index::record::Record;
use super::index::records::Index;
use super::parse::file::{Parsed, Reader};
use super::parse::walk::Bounds;
use super::parse::words::Analyzer;
use super::symbol::Symbol;
use super::tuning::Tuning;
use crate::domain::base::cases::cases;
use crate::domain::code::symbols::{Kind, LANGUAGES, Language, ParseOutcome};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn read(language: Language, text: &str) -> Parsed {
    Reader::default().read(language, "file", text.as_bytes(), &|| true).unwrap()
}

/// Returns the kind, name, and parent's name of every symbol except the file.
fn outline(language: Language, text: &str) -> Vec<(Kind, String, String)> {
    let parsed = read(language, text);
    let name = |at: u32| parsed.symbols[at as usize].name.to_string();
    parsed.symbols.iter().skip(1).map(|s| (s.kind, s.name.to_string(), name(s.parent.unwrap()))).collect()
}

fn expect(language: Language, text: &str, wanted: &[(Kind, &str, &str)]) {
    let found = outline(language, text);
    let found: Vec<(Kind, &str, &str)> = found.iter().map(|(k, n, p)| (*k, n.as_str(), p.as_str())).collect();
    assert_eq!(found, wanted, "{language:?}");
}

#[test]
fn rust_is_read() {
    use Kind::{Constant, Enum, Function, Impl, Interface, Macro, Method, Module, Prototype, Struct, Type};
    expect(
        Language::Rust,
        "pub struct A<T> { x: T }\nenum B { C }\nimpl<T> fmt::Display for A<T> { fn go(&self) {} }\ntrait T { fn must(&self); }\n\
         mod inner { pub const N: u8 = 1; fn f() { fn nested() {} } }\nmod other;\ntype X = u8;\nmacro_rules! m { () => {} }\n",
        &[
            (Struct, "A", "file"),
            (Enum, "B", "file"),
            (Impl, "A", "file"),
            (Method, "go", "A"),
            (Interface, "T", "file"),
            (Prototype, "must", "T"),
            (Module, "inner", "file"),
            (Constant, "N", "inner"),
            (Function, "f", "inner"),
            (Function, "nested", "f"),
            (Type, "X", "file"),
            (Macro, "m", "file"),
        ],
    );
}

#[test]
fn python_is_read() {
    use Kind::{Class, Constant, Function, Method};
    let text = "\"\"\"Of the module.\"\"\"\nLIMIT = 3\n\n@deco(\"models\")\nclass A(Base):\n    \"\"\"Of A.\"\"\"\n    def go(self):\n        local = 1\n\ndef f(x):\n    def inner():\n        pass\n";
    expect(
        Language::Python,
        text,
        &[
            (Constant, "LIMIT", "file"),
            (Class, "A", "file"),
            (Method, "go", "A"),
            (Function, "f", "file"),
            (Function, "inner", "f"),
        ],
    );
    let parsed = read(Language::Python, text);
    let class = &parsed.symbols[2];
    assert_eq!(&text[class.attrs.within(text.len())], "@deco(\"models\")");
    assert_eq!(super::parse::doc::first_sentence(class, text.as_bytes()), "Of A.");
    assert_eq!(super::parse::doc::first_sentence(&parsed.symbols[0], text.as_bytes()), "Of the module.");
    assert_eq!((class.line, class.lines), (5, (4, 8)));
}

#[test]
fn scripts_are_read() {
    use Kind::{Class, Constant, Enum, Function, Interface, Method, Module, Type};
    let plain = "export const go = (a) => a;\nconst N = 1;\nclass A { run() {} }\nfunction f() { const x = 1; }\nexports.late = function () {};\n";
    expect(
        Language::JavaScript,
        plain,
        &[
            (Function, "go", "file"),
            (Constant, "N", "file"),
            (Class, "A", "file"),
            (Method, "run", "A"),
            (Function, "f", "file"),
            (Method, "late", "file"),
        ],
    );
    let typed = "export interface I { x: number }\ntype T = I;\nenum E { A }\nnamespace N { export function f(): void {} }\nexport default class C { private p = () => 1; }\n";
    for language in [Language::TypeScript, Language::Tsx] {
        expect(
            language,
            typed,
            &[
                (Interface, "I", "file"),
                (Type, "T", "file"),
                (Enum, "E", "file"),
                (Module, "N", "file"),
                (Function, "f", "N"),
                (Class, "C", "file"),
                (Method, "p", "C"),
            ],
        );
    }
    expect(Language::Tsx, "const View = () => <b>hi</b>;\n", &[(Function, "View", "file")]);
}

#[test]
fn go_and_java_are_read() {
    use Kind::{Class, Constant, Enum, Function, Interface, Method, Struct, Type};
    expect(
        Language::Go,
        "package p\n\n// S is.\ntype S struct { A int }\ntype I interface { Do() }\ntype N int\nconst (\n\tX = 1\n\tY = 2\n)\nfunc (s *S) Go() { x := 1; _ = x }\nfunc F() {}\n",
        &[
            (Struct, "S", "file"),
            (Interface, "I", "file"),
            (Type, "N", "file"),
            (Constant, "X", "file"),
            (Constant, "Y", "file"),
            (Method, "Go", "file"),
            (Function, "F", "file"),
        ],
    );
    expect(
        Language::Java,
        "package p;\n/** Of A. */\n@Deprecated\npublic class A { A() {} int f(int x) { return x; } enum E { P } interface I { void g(); } }\n",
        &[
            (Class, "A", "file"),
            (Method, "A", "A"),
            (Method, "f", "A"),
            (Enum, "E", "A"),
            (Interface, "I", "A"),
            (Method, "g", "I"),
        ],
    );
}

#[test]
fn c_and_cpp_are_read() {
    use Kind::{Class, Function, Macro, Method, Module, Prototype, Struct, Type};
    expect(
        Language::C,
        "#define MAX(a, b) ((a) > (b) ? (a) : (b))\nstruct s { int x; };\ntypedef struct s s_t;\nint f(int);\nstatic char *g(void) { int local(int); return 0; }\n",
        &[
            (Macro, "MAX", "file"),
            (Struct, "s", "file"),
            (Type, "s_t", "file"),
            (Prototype, "f", "file"),
            (Function, "g", "file"),
        ],
    );
    expect(
        Language::Cpp,
        "namespace n {\ntemplate <class T> class A { public: void f(); int g() { return 1; } };\ntemplate <class T> void A<T>::f() {}\n}\n",
        &[(Module, "n", "file"), (Class, "A", "n"), (Prototype, "f", "A"), (Method, "g", "A"), (Function, "f", "n")],
    );
}

#[test]
fn leading_comments_and_attributes_belong_to_a_symbol() {
    let text = "//! Of the file.\n\n// Apart.\n\n/// First.\n/// Second.\n#[cfg(unix)]\n#[inline]\nfn f(a: u8) -> u8 {\n    a\n}\nlet x; // behind\nfn g() {}\n";
    let parsed = read(Language::Rust, text);
    let find = |name: &str| parsed.symbols.iter().find(|s| *s.name == *name).unwrap();
    let f = find("f");
    let part = |span: super::symbol::Span| &text[span.within(text.len())];
    assert_eq!(part(f.doc).trim_end(), "/// First.\n/// Second.");
    assert_eq!(part(f.attrs), "#[cfg(unix)]\n#[inline]");
    assert_eq!(part(f.head), "fn f(a: u8) -> u8 ");
    assert_eq!((f.line, f.lines), (9, (5, 11)));
    assert!(find("g").doc.is_empty(), "a comment behind code belongs to that code");
    assert_eq!(super::parse::doc::words(&parsed.symbols[0], text.as_bytes()).lines().next(), Some("Of the file."));
}

#[test]
fn files_with_errors_are_read_in_part() {
    let parsed = read(Language::Rust, "fn good() {}\nfn bad( {{{ \nstruct Fine;\n");
    assert!(parsed.errors);
    assert!(parsed.symbols.iter().any(|symbol| *symbol.name == *"good"));
}

#[test]
fn deep_nesting_takes_no_stack() {
    let deep = 20_000;
    let text = format!("fn f() {{ {}1{} }}", "(".repeat(deep), ")".repeat(deep));
    read(Language::Rust, &text);
    let text = format!("{}{}", "mod m {".repeat(3_000), "}".repeat(3_000));
    assert!(read(Language::Rust, &text).symbols.len() > 1_000);
}

fn record(path: &str, text: &[u8]) -> Option<Record> {
    let language = super::parse::language::of_path(Path::new(path))?;
    let parsed = Reader::default().read(language, "file", text, &|| true)?;
    Some(Record {
        path: path.into(),
        stamp: super::index::record::FileStamp::default(),
        hash: crate::domain::base::hash::Hash::of(text),
        fate: ParseOutcome::Parsed,
        language: Some(language),
        errors: parsed.errors,
        lines: 1,
        symbols: parsed.symbols,
        words: parsed.words,
    })
}

fn nests(symbols: &[Symbol], length: usize) {
    for (at, symbol) in symbols.iter().enumerate() {
        assert!(symbol.span.start <= symbol.span.end && symbol.span.end as usize <= length);
        assert!(symbol.head.end as usize <= length && symbol.lines.0 <= symbol.line && symbol.line <= symbol.lines.1);
        if at > 0 {
            assert!((symbol.parent.unwrap() as usize) < at);
        }
    }
}

const ENDINGS: [&str; 12] = ["rs", "py", "ts", "tsx", "js", "go", "c", "cpp", "java", "toml", "yml", "md"];

/// Fragments of several languages, and garbage.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "fn f",
            "(",
            ")",
            "{",
            "}",
            "class A",
            ":",
            "\n",
            "  ",
            "def g",
            "struct ",
            "/**",
            "*/",
            "//",
            "#",
            "@x",
            "\"",
            "'",
            "<",
            ">",
            "=",
            "=>",
            "impl ",
            "func ",
            "type T",
            "const ",
            "export ",
            "template",
            "namespace n",
            ";",
            ",",
            "\0",
            "日本",
            "\u{202e}",
            "interface I",
            "return",
            "\t",
            "\r\n",
            "#define M",
            "typedef",
            "[",
            "]",
            "&",
            "*",
            "->",
            "::",
            "# ",
            "key: ",
            "- ",
            "```",
            "\"\"\"",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn any_bytes_parse_and_round_trip(text in hostile()) {
        for ending in ENDINGS {
            let record = record(&format!("a.{ending}"), &text).unwrap();
            nests(&record.symbols, text.len());
            let mut writer = ByteWriter::default();
            writer.record(&record);
            let back = ByteReader(&writer.0).record();
            prop_assert_eq!(back.as_ref(), Some(&record));
        }
    }

    #[test]
    fn damaged_bytes_give_a_valid_record_or_none(text in hostile(), at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let mut writer = ByteWriter::default();
        writer.record(&record("a.rs", &text).unwrap());
        let mut bytes = writer.0;
        prop_assert!(ByteReader(&bytes[..at.index(bytes.len())]).record().is_none());
        let place = at.index(bytes.len());
        bytes[place] = to;
        if let Some(record) = ByteReader(&bytes).record() {
            let mut index = Index::default();
            index.insert(&record);
            index.refresh();
            let query = query::read(&mut Analyzer::default(), "f g class", &Tuning::default());
            let hits = rank::rank(&index, &query, &Tuning::default(), 50);
            let _ = fill(&index, &hits, &NoFiles, &count, Limits::within(500));
        }
    }
}

struct NoFiles;

impl Sources for NoFiles {
    fn text(&self, _: &Path) -> Option<Arc<[u8]>> {
        None
    }
}

struct Folder(PathBuf);

impl Sources for Folder {
    fn text(&self, path: &Path) -> Option<Arc<[u8]>> {
        std::fs::read(self.0.join(path)).ok().map(Into::into)
    }
}

fn count(text: &str) -> u32 {
    u32::try_from(text.len().div_ceil(4)).unwrap()
}

fn update(index: &mut Index, root: &Path, cache: Option<&mut Cache>) -> usize {
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

fn ask(index: &Index, root: &Path, text: &str, budget: u32) -> Found {
    let query = query::read(&mut Analyzer::default(), text, &Tuning::default());
    let hits = rank::rank(index, &query, &Tuning::default(), 300);
    fill(index, &hits, &Folder(root.to_path_buf()), &count, Limits::within(budget))
}

fn workspace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    put(
        "src/net/retry.rs",
        "/// Tries again.\npub fn retry_request(n: u32) -> bool {\n    backoff(n) > 0\n}\n\nfn backoff(n: u32) -> u32 {\n    n * 2\n}\n",
    );
    put(
        "src/net/mod.rs",
        "pub mod retry;\npub struct Client { timeout: u32 }\nimpl Client {\n    pub fn send(&self) -> bool {\n        retry::retry_request(self.timeout)\n    }\n}\n",
    );
    put(
        "app/models.py",
        "class ModelOptions:\n    \"\"\"Options of a model.\"\"\"\n    def validate(self, temperature):\n        return temperature > 0\n",
    );
    put("web/view.ts", "export function drawNetworkGraph(points: number[]) {\n  return points.length;\n}\n");
    put("target/made.rs", "fn ignored_thing() {}\n");
    put(".gitignore", "target/\n");
    folder
}

fn names(found: &Found) -> Vec<(String, String)> {
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
fn updated_index_equals_a_new_one() {
    let folder = workspace();
    let mut index = Index::default();
    update(&mut index, folder.path(), None);
    assert_eq!(update(&mut index, folder.path(), None), 0, "nothing changed");
    let path = |name: &str| folder.path().join(name);
    for round in 0..4 {
        let text = format!("fn backoff(n: u32) -> u32 {{ n }}\nfn quite_new_{round}() {{ backoff(1); }}\n");
        std::fs::write(path("src/net/retry.rs"), text).unwrap();
        std::fs::write(path(&format!("src/extra_{round}.go")), "package p\nfunc Backoff() {}\n").unwrap();
        if round > 0 {
            std::fs::remove_file(path(&format!("src/extra_{}.go", round - 1))).unwrap();
        }
        update(&mut index, folder.path(), None);
        let mut anew = Index::default();
        update(&mut anew, folder.path(), None);
        for question in ["backoff of a request", "quite new client", "validate options", "extra"] {
            let (a, b) = (ask(&index, folder.path(), question, 500), ask(&anew, folder.path(), question, 500));
            assert_eq!(a.items, b.items, "{question}");
        }
        assert_eq!(index.len(), anew.len());
    }
}

#[test]
fn touched_files_are_not_parsed_again() {
    let folder = workspace();
    let mut index = Index::default();
    update(&mut index, folder.path(), None);
    let path = folder.path().join("app/models.py");
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(77)).unwrap();
    assert_eq!(update(&mut index, folder.path(), None), 0);
}

#[test]
fn records_survive_restarts() {
    let folder = workspace();
    let kept = tempfile::tempdir().unwrap();
    let file = kept.path().join("x.index");
    let question = "retry request with options";
    let open = |index: &mut Index| Cache::open(&file, folder.path(), index).unwrap();
    let mut first = Index::default();
    let (mut cache, loaded) = open(&mut first);
    assert_eq!((loaded.records, loaded.damaged), (0, false));
    update(&mut first, folder.path(), Some(&mut cache));
    let wanted = names(&ask(&first, folder.path(), question, 400));
    let (other, loaded) = open(&mut Index::default());
    assert!(cache.writes() && !other.writes(), "one process writes");
    assert_eq!(loaded.records, 5);
    drop((cache, other));
    let mut second = Index::default();
    let (mut cache, _) = open(&mut second);
    assert_eq!(update(&mut second, folder.path(), Some(&mut cache)), 0);
    assert_eq!(names(&ask(&second, folder.path(), question, 400)), wanted);
    drop(cache);
    let whole = std::fs::read(&file).unwrap();
    for cut in [whole.len() - 1, whole.len() / 2, 70, 3, 0] {
        std::fs::write(&file, &whole[..cut]).unwrap();
        let mut third = Index::default();
        let (mut cache, _) = open(&mut third);
        update(&mut third, folder.path(), Some(&mut cache));
        assert_eq!(names(&ask(&third, folder.path(), question, 400)), wanted, "cut at {cut}");
    }
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 0x40;
    std::fs::write(&file, &flipped).unwrap();
    let mut fourth = Index::default();
    let (mut cache, loaded) = open(&mut fourth);
    assert!(loaded.damaged && loaded.records < 5);
    update(&mut fourth, folder.path(), Some(&mut cache));
    assert_eq!(names(&ask(&fourth, folder.path(), question, 400)), wanted);
    drop(cache);
    let mut old = whole.clone();
    let number = old.iter().position(|byte| *byte == b'\n').unwrap() - 1;
    old[number] -= 1;
    std::fs::write(&file, &old).unwrap();
    let mut fifth = Index::default();
    let (mut cache, loaded) = open(&mut fifth);
    assert_eq!((loaded.records, loaded.damaged), (0, true), "a cache of another version is not read");
    assert_eq!(update(&mut fifth, folder.path(), Some(&mut cache)), 5);
    drop(cache);
    assert_eq!(open(&mut Index::default()).1, crate::code::index::cache::Loaded { records: 5, damaged: false });
    let elsewhere = tempfile::tempdir().unwrap();
    let (_, loaded) = Cache::open(&file, elsewhere.path(), &mut Index::default()).unwrap();
    assert_eq!((loaded.records, loaded.damaged), (0, true), "the cache of another workspace is not used");
}

#[test]
fn cache_file_is_compacted() {
    let folder = workspace();
    let kept = tempfile::tempdir().unwrap();
    let file = kept.path().join("x.index");
    let mut index = Index::default();
    let (mut cache, _) = Cache::open(&file, folder.path(), &mut index).unwrap();
    update(&mut index, folder.path(), Some(&mut cache));
    let record = record("app/models.py", b"class Again: pass\n").unwrap();
    for _ in 0..2_000 {
        cache.keep(&record);
        cache.flush().unwrap();
    }
    drop(cache);
    assert!(std::fs::metadata(&file).unwrap().len() < 400_000);
    let (_, loaded) = Cache::open(&file, folder.path(), &mut Index::default()).unwrap();
    assert_eq!((loaded.records, loaded.damaged), (5, false));
}

#[test]
fn unsupported_files_are_listed_and_not_parsed() {
    let folder = workspace();
    let put = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    put("big.rs", &vec![b'\n'; (1 << 20) + 1]);
    put("binary.c", b"int x;\0\x01");
    put("made.js", b"// Code generated by a tool. DO NOT EDIT.\nfunction f() {}\n");
    put("latin.py", b"# caf\xe9\ndef caf\xe9_latin():\n    pass\n");
    put("notes.txt", b"words");
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt as _;
        put_odd(folder.path(), std::ffi::OsStr::from_bytes(b"odd\xff.rs"));
        std::os::unix::fs::symlink("/", folder.path().join("root")).unwrap();
        std::os::unix::fs::symlink("big.rs", folder.path().join("linked.rs")).unwrap();
    }
    let mut index = Index::default();
    update(&mut index, folder.path(), None);
    let fate = |name: &str| index.file_at(Path::new(name)).map(|file| file.fate);
    assert_eq!(fate("big.rs"), Some(ParseOutcome::TooLarge));
    assert_eq!(fate("binary.c"), Some(ParseOutcome::Binary));
    assert_eq!(fate("made.js"), Some(ParseOutcome::Generated));
    assert_eq!(fate("latin.py"), Some(ParseOutcome::Parsed));
    assert_eq!(fate("notes.txt"), Some(ParseOutcome::NoLanguage));
    assert_eq!(fate("linked.rs"), None);
    #[cfg(unix)]
    {
        let odd = index.defined("in_an_odd_file");
        assert_eq!(odd.len(), 1);
        assert_eq!(&*index.symbol(odd[0]).unwrap().1.shown, "odd\u{fffd}.rs");
        let found = ask(&index, folder.path(), "in_an_odd_file", 300);
        assert_eq!(found.items[0].symbol, "in_an_odd_file");
    }
}

#[cfg(unix)]
fn put_odd(folder: &Path, name: &std::ffi::OsStr) {
    std::fs::write(folder.join(name), "fn in_an_odd_file() {}\n").unwrap();
}

#[test]
fn reading_can_be_stopped_and_resumed() {
    let folder = workspace();
    let mut index = Index::default();
    let stop = AtomicBool::new(true);
    let ended = renew(&mut index, folder.path(), &Bounds::default(), &stop, &mut |_| (), &mut |_| ());
    assert!(matches!(ended, Err(CodeError::Cancelled)));
    assert_eq!(update(&mut index, folder.path(), None), 5);
    let none = renew(
        &mut index,
        Path::new("/nowhere/at/all"),
        &Bounds::default(),
        &AtomicBool::new(false),
        &mut |_| (),
        &mut |_| (),
    );
    assert!(matches!(none, Err(CodeError::Folder { .. })));
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
        let map = map::scaffold(&index, &Folder(folder.path().to_path_buf()), &count, budget, 3);
        assert!(map.tokens <= budget && count(&map.text) == map.tokens, "{map:?}");
    }
    let map = map::scaffold(&index, &Folder(folder.path().to_path_buf()), &count, 200, 3);
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

#[test]
fn languages_have_grammars() {
    for language in LANGUAGES {
        assert!(Reader::default().read(language, "x", b"", &|| true).is_some(), "{language:?}");
    }
}
