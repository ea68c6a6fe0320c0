//! Tests of reading: the symbols of each language, and hostile bytes.

use super::index::codec::{ByteReader, ByteWriter};
use super::index::record::{FileStamp, Record};
use super::parse::file::{Parsed, Reader};
use super::symbol::Symbol;
use crate::domain::base::Hash;
use crate::domain::base::cases::cases;
use crate::domain::code::{Kind, Language, ParseOutcome};
use proptest::prelude::*;
use std::path::Path;

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
    assert!(find("g").doc.is_empty(), "a comment after code belongs to that code");
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

#[test]
fn languages_have_grammars() {
    for language in Language::ALL {
        assert!(Reader::default().read(language, "x", b"", &|| true).is_some(), "{language:?}");
    }
}

pub(super) fn record(path: &str, text: &[u8]) -> Option<Record> {
    let language = super::parse::language::of_path(Path::new(path))?;
    let parsed = Reader::default().read(language, "file", text, &|| true)?;
    Some(Record {
        path: path.into(),
        stamp: FileStamp::default(),
        hash: Hash::of(text),
        outcome: ParseOutcome::Parsed,
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

/// Fragments of several languages.
#[rustfmt::skip]
const FRAGMENTS: &[&str] = &[
    "fn f", "(", ")", "{", "}", "class A", ":", "\n", "  ", "def g", "struct ", "/**", "*/", "//", "#", "@x", "\"",
    "'", "<", ">", "=", "=>", "impl ", "func ", "type T", "const ", "export ", "template", "namespace n", ";", ",",
    "\0", "日本", "\u{202e}", "interface I", "return", "\t", "\r\n", "#define M", "typedef", "[", "]", "&", "*", "->",
    "::", "# ", "key: ", "- ", "```", "\"\"\"",
];

/// Fragments of several languages, and garbage.
pub(super) fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::sample::select(FRAGMENTS).prop_map(|text| text.as_bytes().to_vec()),
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
}
