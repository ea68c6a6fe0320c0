//! Results of many tool calls in one folder: arguments of every form, files of every kind, rules that deny files, and
//! changes that are applied completely, in part, or not at all.

use super::same;
use pleach::domain::base::Hash;
use pleach::domain::tool::{FileVisibility, Rule, RunTools, ToolEffect, ToolObserver, ToolOutcome, Verdict};
use pleach::tools::{EffectOptions, Workspace, compared};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// The size limit of results in bytes.
const LIMIT: usize = 400;

struct Watch(FileVisibility, bool);

impl ToolObserver for Watch {
    fn cancelled(&self) -> bool {
        self.1
    }

    fn file_visibility(&self) -> FileVisibility {
        self.0.clone()
    }
}

/// A folder with examples of everything.
struct Place {
    outer: TempDir,
    space: Workspace,
    out: String,
}

impl Place {
    fn new() -> Self {
        let outer = TempDir::new().unwrap();
        let root = outer.path().join("in");
        let write = |name: &str, bytes: &[u8]| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        };
        let lines: Vec<String> = (1..=60).map(|n| format!("line {n} of many\n")).collect();
        let twice = "alpha\nbeta\nalpha\n";
        write("notes.txt", b"one\ntwo\nthree\nfour\nfive");
        write("long.txt", lines.concat().as_bytes());
        write("wide.txt", "x".repeat(900).as_bytes());
        write("wide_later.txt", format!("short\n{}\nend\n", "y".repeat(900)).as_bytes());
        write("empty.txt", b"");
        write("crlf.txt", b"one\r\ntwo\r\nthree\r\n");
        write("mixed.txt", b"one\r\ntwo\nthree\n");
        write("twice.txt", twice.as_bytes());
        write("many.txt", "same\n".repeat(12).as_bytes());
        write("latin.txt", b"caf\xe9\nau lait\n");
        write("nul.bin", b"a\0b\n");
        write("late_nul.bin", [vec![b'a'; 9_000], vec![0]].concat().as_slice());
        write("kb.bin", &vec![b'k'; 1_025]);
        write("mb.txt", "m\n".repeat(600_000).as_bytes());
        write("large.txt", "l\n".repeat((1 << 20) + 1).as_bytes());
        write("src/a.rs", b"fn first() {\n    let value = 1;\n}\n\nfn second() {\n    let value = 2;\n}\n");
        write("src/deep/b.rs", b"fn deep() {}\n");
        write("src/deep/c.md", "日本語 with words\nFN shout\n".as_bytes());
        write("src/.gitignore", b"ignored.rs\n!kept.rs\n");
        write("src/ignored.rs", b"fn ignored() {}\n");
        write("src/kept.rs", b"fn kept() {}\n");
        write(".gitignore", b"target/\nkept.rs\n[\n");
        write("target/out.rs", b"fn out() {}\n");
        write(".ignore", b"*.tmp\n");
        write("x.tmp", b"fn tmp() {}\n");
        write(".env", b"TOKEN=fn\n");
        write(".git/config", b"fn git\n");
        write(".pleach.toml", b"fn own\n");
        write("own/store.db", b"fn store\n");
        write("read_only.txt", b"one\n");
        let only = std::os::unix::fs::PermissionsExt::from_mode(0o444);
        fs::set_permissions(root.join("read_only.txt"), only).unwrap();
        fs::write(outer.path().join("outside.txt"), "outside").unwrap();
        for (to, name) in [("notes.txt", "link"), ("src", "folder"), ("../outside.txt", "out"), ("gone", "dangling")] {
            std::os::unix::fs::symlink(to, root.join(name)).unwrap();
        }
        let hidden: Vec<PathBuf> = vec![root.join("own"), root.join("nowhere")];
        let space =
            Workspace::open_with_effects(&root, LIMIT, EffectOptions { hidden, ..EffectOptions::default() }).unwrap();
        Self { outer, space, out: String::new() }
    }

    fn note(&mut self, words: &str) {
        let folder = self.outer.path().display().to_string();
        let words = words.replace(&folder, "DIR");
        for line in words.lines() {
            let line: String = line.chars().take(180).collect();
            let _ = writeln!(self.out, "    {line}");
        }
    }

    fn done(&mut self, done: &ToolOutcome) {
        let output = &done.output;
        let size = output.body.len();
        self.note(&output.body);
        let changed: Vec<_> = done.changed.iter().map(|change| (&change.path, change.size(), &change.hunks)).collect();
        self.note(&format!(
            "= {:?} {size} of {} {:?} {:?} {changed:?}",
            output.status, output.full_bytes, done.exit, done.cut
        ));
    }

    /// One call, prepared and carried out with some of its hunks.
    fn call(&mut self, name: &str, args: &Value, hunks: &[Vec<bool>], watch: &Watch) {
        let text = args.as_str().map_or_else(|| args.to_string(), str::to_owned);
        let _ = writeln!(self.out, "{name} {} {hunks:?}", text.chars().take(300).collect::<String>());
        let effect = match self.space.effect(name, &text) {
            Ok(effect) => effect,
            Err(output) => {
                self.note(&output.body);
                self.note(&format!("= {:?} {} before", output.status, output.full_bytes));
                return;
            }
        };
        match &effect {
            ToolEffect::Change(changes) => {
                for change in changes {
                    self.note(&format!(
                        "{} {:?} {:?} {}",
                        change.path,
                        change.size(),
                        change.hunks,
                        change.before.is_some()
                    ));
                }
            }
            ToolEffect::Read { what } => self.note(&format!("looks at {what:?}")),
            _ => {}
        }
        let done = self.space.carry_out(name, &text, &effect, hunks, watch);
        self.done(&done);
    }

    fn read_calls(&mut self, name: &str, all: &[Value]) {
        for args in all {
            self.call(name, args, &[], &Watch(FileVisibility::default(), false));
        }
    }

    /// The content of a changed or created file.
    fn file(&mut self, name: &str) {
        let text = fs::read_to_string(self.outer.path().join("in").join(name));
        self.note(&format!("{name} holds {:?}", text.map_err(|error| error.kind())));
    }
}

#[test]
#[allow(clippy::too_many_lines, reason = "a list")]
fn reading_tools() {
    let mut place = Place::new();
    let shapes = [
        json!(""),
        json!("null"),
        json!("7"),
        json!("[]"),
        json!("{"),
        json!("\"{\\\"path\\\": \\\"notes.txt\\\"}\""),
        json!("\"words\""),
        json!({"path": null}),
        json!({"path": 7}),
        json!({"path": ""}),
        json!({"path": "./notes.txt"}),
        json!({"path": "src/./a.rs"}),
        json!({"path": "notes.txt", "start_line": 2}),
        json!({"path": "notes.txt", "start_line": "2", "lines": 2.0}),
        json!({"path": "notes.txt", "start_line": 5}),
        json!({"path": "notes.txt", "start_line": 6}),
        json!({"path": "empty.txt", "start_line": 2}),
        json!({"path": "notes.txt", "lines": 5}),
        json!({"path": "notes.txt", "lines": 4}),
        json!({"path": "notes.txt", "lines": 0}),
        json!({"path": "notes.txt", "lines": 1.5}),
        json!({"path": "notes.txt", "lines": "x"}),
        json!({"path": "notes.txt", "lines": " "}),
        json!({"path": "notes.txt", "lines": [1]}),
        json!({"path": "notes.txt", "lines": -1}),
        json!({"path": "notes.txt", "lines": 1e300}),
        json!({"path": "long.txt"}),
        json!({"path": "long.txt", "start_line": 40}),
        json!({"path": "long.txt", "start_line": 3, "lines": 100}),
        json!({"path": "wide.txt"}),
        json!({"path": "wide_later.txt"}),
        json!({"path": "wide_later.txt", "start_line": 2}),
        json!({"path": "empty.txt"}),
        json!({"path": "crlf.txt"}),
        json!({"path": "latin.txt"}),
        json!({"path": "nul.bin"}),
        json!({"path": "late_nul.bin"}),
        json!({"path": "src"}),
        json!({"path": "gone/x"}),
        json!({"path": "notes.txt/x"}),
        json!({"path": "link"}),
        json!({"path": "out"}),
        json!({"path": "dangling"}),
        json!({"path": "../outside.txt"}),
        json!({"path": "/etc/passwd"}),
        json!({"path": "a\u{0}b"}),
        json!({"path": "tab\tand\nend"}),
        json!({"path": ".git/config"}),
        json!({"path": "target/out.rs"}),
    ];
    place.read_calls("read_file", &shapes);
    place.read_calls(
        "list_dir",
        &[
            json!({}),
            json!({"depth": 2}),
            json!({"depth": 99}),
            json!({"path": "src"}),
            json!({"path": "src", "depth": 9}),
            json!({"path": "folder"}),
            json!({"path": "notes.txt"}),
            json!({"path": "src/deep", "depth": "1"}),
            json!({"path": "out"}),
            json!({"path": "gone"}),
            json!({"depth": 0}),
        ],
    );
    place.read_calls(
        "search",
        &[
            json!({}),
            json!({"pattern": ""}),
            json!({"pattern": "("}),
            json!({"pattern": "fn"}),
            json!({"pattern": "FN"}),
            json!({"pattern": "fn", "path": "src"}),
            json!({"pattern": "fn", "path": "src/a.rs"}),
            json!({"pattern": "^line \\d+", "path": "long.txt"}),
            json!({"pattern": "line", "path": "long.txt", "max": 2}),
            json!({"pattern": "line", "path": "long.txt", "max": 60}),
            json!({"pattern": "x+", "path": "wide.txt"}),
            json!({"pattern": "caf", "path": "latin.txt"}),
            json!({"pattern": "a", "path": "nul.bin"}),
            json!({"pattern": "nothing at all"}),
            json!({"pattern": "two$", "path": "crlf.txt"}),
            json!({"pattern": "x", "path": "gone"}),
            json!({"pattern": "x", "path": "out"}),
            json!({"pattern": "日本", "path": ""}),
            json!({"pattern": "a", "max": 0}),
            json!({"pattern": "fn first\\(\\) \\{\\n"}),
        ],
    );
    for name in ["run_it", "write", ""] {
        place.read_calls(name, &[json!({})]);
    }
    let stopped = Watch(FileVisibility::default(), true);
    place.call("read_file", &json!({"path": "notes.txt"}), &[], &stopped);
    same("tools_reading", &place.out);
}

#[test]
fn reading_tools_under_rules() {
    let mut place = Place::new();
    let rule = |tool: &str, on: Option<&str>, verdict| Rule { tool: tool.into(), on: on.map(str::to_owned), verdict };
    let rules = [
        vec![rule("read_file", Some(".env"), Verdict::Deny)],
        vec![rule("read_file", Some("src/deep"), Verdict::Deny), rule("list_dir", Some("src/a.rs"), Verdict::Deny)],
        vec![rule("search", Some("src"), Verdict::Ask), rule("read_file", Some("notes.txt"), Verdict::Ask)],
        vec![rule("*", Some("*.rs"), Verdict::Deny), rule("read_file", Some("src/a.rs"), Verdict::Allow)],
    ];
    for rules in rules {
        let words: Vec<String> = rules.iter().map(Rule::to_text).collect();
        let _ = writeln!(place.out, "== {}", words.join("; "));
        let visibility = FileVisibility::new(rules.clone());
        let watch = Watch(visibility, false);
        for path in [".env", "notes.txt", "link", "src/a.rs", "folder/a.rs", "src/deep/b.rs", "folder/deep/c.md"] {
            place.call("read_file", &json!({ "path": path }), &[], &watch);
        }
        place.call("list_dir", &json!({"depth": 3, "path": "src"}), &[], &watch);
        place.call("list_dir", &json!({"depth": 3, "path": "folder"}), &[], &watch);
        place.call("search", &json!({"pattern": "fn", "max": 5}), &[], &watch);
        place.call("search", &json!({"pattern": "fn", "path": "folder"}), &[], &watch);
        let mine = FileVisibility::denying(rules);
        let files = place.space.files(99, &mine);
        place.note(&format!("{files:?}"));
        for path in [".env", "notes.txt", "src/a.rs", "folder/deep/c.md"] {
            let text = place.space.text(path, 60, &mine);
            place.note(&format!("{path} {text:?}"));
        }
    }
    for most in [0, 1, 3] {
        let files = place.space.files(most, &FileVisibility::default());
        place.note(&format!("{files:?}"));
    }
    for (path, most) in [
        ("notes.txt", 23),
        ("notes.txt", 22),
        ("latin.txt", 99),
        ("nul.bin", 99),
        ("src", 9),
        ("gone", 9),
        ("out", 9),
        ("mb.txt", 1_000),
    ] {
        let text = place.space.text(path, most, &FileVisibility::default());
        place.note(&format!("{path} {most} {text:?}"));
    }
    same("tools_under_rules", &place.out);
}

#[test]
fn kept_results_are_read_in_parts() {
    let mut place = Place::new();
    let text: Vec<String> = (1..=50).map(|n| format!("kept {n}\r\n")).collect();
    let text = text.concat();
    for (name, args) in [
        ("read_file", json!({"path": "kept:1", "start_line": 3, "lines": 2})),
        ("read_file", json!({"path": "kept:1"})),
        ("read_file", json!({"start_line": 51})),
        ("read_file", json!({"start_line": 52})),
        ("read_file", json!({"path": 7})),
        ("search", json!({"path": "kept:1", "pattern": "kept 4"})),
        ("search", json!({"path": "kept:1", "pattern": "kept", "max": 3})),
        ("search", json!({"path": "kept:1", "pattern": "none"})),
        ("search", json!({"path": "kept:1"})),
        ("list_dir", json!({})),
    ] {
        let _ = writeln!(place.out, "{name} {args}");
        let done = place.space.over(name, &args.to_string(), &text);
        place.done(&done);
    }
    let keeps = place.space.keeps();
    place.note(&format!("{keeps}"));
    let reading_tools = Workspace::open(&place.outer.path().join("in"), 1).unwrap();
    let keeps = reading_tools.keeps();
    let names: Vec<String> = reading_tools.specs().into_iter().map(|spec| spec.name).collect();
    place.note(&format!("{keeps} {names:?}"));
    for name in ["edit_file", "write_file", "run"] {
        let output = reading_tools.effect(name, "{}").unwrap_err();
        place.note(&output.body);
        let output = place.space.run(name, "{}", &|| false);
        place.note(&output.body);
    }
    let refused = reading_tools.put_back("notes.txt", None, Some("x"));
    place.note(&format!("{refused:?}"));
    for spec in place.space.specs() {
        place.note(&format!("{} {} {}", spec.name, spec.description, spec.parameters));
    }
    same("tools_kept", &place.out);
}

#[test]
#[allow(clippy::too_many_lines, reason = "a list")]
fn changing_tools() {
    let mut place = Place::new();
    let open = Watch(FileVisibility::default(), false);
    let edit = |old: &str, new: &str| json!({"old": old, "new": new});
    let big = "b".repeat((2 << 20) + 1);
    let half = "h".repeat(1 << 20);
    for (name, args) in [
        ("edit_file", json!({})),
        ("edit_file", json!({"path": "notes.txt"})),
        ("edit_file", json!({"path": "notes.txt", "edits": []})),
        ("edit_file", json!({"path": "notes.txt", "edits": 7})),
        ("edit_file", json!({"path": "notes.txt", "edits": [7]})),
        ("edit_file", json!({"path": "notes.txt", "edits": "nonsense"})),
        ("edit_file", json!({"path": "notes.txt", "edits": [{"old": "one"}]})),
        ("edit_file", json!({"path": "notes.txt", "edits": [{"new": "one"}]})),
        ("edit_file", json!({"path": "notes.txt", "edits": [edit("one", "1"), edit("", "x")]})),
        ("edit_file", json!({"path": "notes.txt", "edits": [edit("one", "one")]})),
        ("edit_file", json!({"path": "notes.txt", "edits": [edit("ONE", "1")]})),
        ("edit_file", json!({"path": "src/a.rs", "edits": [edit("fn  second()  {\n  let value = 2;", "x")]})),
        (
            "edit_file",
            json!({"path": "src/a.rs", "edits": [edit("fn second() {\n    let value = 3;\n    more();\n}", "x")]}),
        ),
        ("edit_file", json!({"path": "src/a.rs", "edits": [edit("zzz", "x")]})),
        ("edit_file", json!({"path": "long.txt", "edits": [edit("line 30 of many!\nother", "x")]})),
        ("edit_file", json!({"path": "twice.txt", "edits": [edit("alpha", "x")]})),
        ("edit_file", json!({"path": "many.txt", "edits": [edit("same", "x")]})),
        ("edit_file", json!({"path": "twice.txt", "edits": [edit("alpha", &big)]})),
        ("edit_file", json!({"path": "twice.txt", "edits": [{"old": "alpha", "new": half, "replace_all": true}]})),
        ("edit_file", json!({"path": "twice.txt", "edits": [{"old": "alpha", "new": "x", "replace_all": 1}]})),
        ("edit_file", json!({"path": "notes.txt", "edits": vec![edit("one", "one"); 201]})),
        ("edit_file", json!({"path": "gone.txt", "edits": [edit("a", "b")]})),
        ("edit_file", json!({"path": "gone/x.txt", "edits": [edit("a", "b")]})),
        ("edit_file", json!({"path": "latin.txt", "edits": [edit("a", "b")]})),
        ("edit_file", json!({"path": "nul.bin", "edits": [edit("a", "b")]})),
        ("edit_file", json!({"path": "large.txt", "edits": [edit("a", "b")]})),
        ("edit_file", json!({"path": "src", "edits": [edit("a", "b")]})),
        ("edit_file", json!({"path": "link", "edits": [edit("one", "b")]})),
        ("edit_file", json!({"path": "folder/a.rs", "edits": [edit("first", "b")]})),
        ("edit_file", json!({"path": "notes.txt/x", "edits": [edit("first", "b")]})),
        ("edit_file", json!({"path": ".git/config", "edits": [edit("fn", "b")]})),
        ("edit_file", json!({"path": ".PLEACH.toml", "edits": [edit("fn", "b")]})),
        ("edit_file", json!({"path": "own/store.db", "edits": [edit("fn", "b")]})),
        ("edit_file", json!({"path": "read_only.txt", "edits": [edit("one", "b")]})),
        ("write_file", json!({"path": "", "text": "x"})),
        ("write_file", json!({"path": "x"})),
        ("write_file", json!({"path": "notes.txt", "text": "one\ntwo\nthree\nfour\nfive"})),
        ("write_file", json!({"path": "x", "text": "a\u{0}b"})),
        ("write_file", json!({"path": "x", "text": big})),
        ("write_file", json!({"path": "src", "text": "x"})),
        ("write_file", json!({"path": "src/.git/x", "text": "x"})),
        ("write_file", json!({"path": "out", "text": "x"})),
        ("write_file", json!({"path": "notes.txt/x", "text": "x"})),
        ("write_file", json!({"path": "own/new", "text": "x"})),
        ("write_file", json!({"path": "../x", "text": "x"})),
    ] {
        place.call(name, &args, &[], &open);
    }
    let _ = writeln!(place.out, "== done");
    let several = json!({"path": "notes.txt", "edits": [edit("one", "1"), edit("three", "3\n3b"), edit("five", "")]});
    place.call("edit_file", &several, &[vec![false, false, false]], &open);
    place.call("edit_file", &several, &[vec![true, false]], &open);
    place.file("notes.txt");
    place.call("edit_file", &json!({"path": "notes.txt", "old": "two", "new": "2"}), &[vec![]], &open);
    place.call(
        "edit_file",
        &json!({"path": "twice.txt", "replace_all": "true", "edits": edit("alpha", "a")}),
        &[],
        &open,
    );
    place.file("twice.txt");
    place.call(
        "edit_file",
        &json!({"path": "crlf.txt", "edits": "[{\"old\": \"one\\ntwo\", \"new\": \"1\\n2\\n\"}]"}),
        &[],
        &open,
    );
    place.file("crlf.txt");
    place.call("edit_file", &json!({"path": "mixed.txt", "edits": [edit("two\nthree", "2\n3")]}), &[], &open);
    place.file("mixed.txt");
    place.call("write_file", &json!({"path": "crlf.txt", "text": "a\nb\n"}), &[], &open);
    place.file("crlf.txt");
    place.call("write_file", &json!({"path": "crlf.txt", "text": "a\r\nb\n"}), &[], &open);
    place.file("crlf.txt");
    place.call("write_file", &json!({"path": "made/of/folders.txt", "text": "new\n"}), &[], &open);
    place.file("made/of/folders.txt");
    place.call("write_file", &json!({"path": "empty.txt", "text": "now\nfull"}), &[], &open);
    place.call("write_file", &json!({"path": "long.txt", "text": "all\nother\n"}), &[], &open);
    place.call("write_file", &json!({"path": "none.txt", "text": ""}), &[], &open);
    place.file("none.txt");
    place.call(
        "write_file",
        &json!({"path": "stopped.txt", "text": "x"}),
        &[],
        &Watch(FileVisibility::default(), true),
    );
    place.file("stopped.txt");
    put_back(&mut place);
    same("tools_changing", &place.out);
}

/// Undo and redo, and changes that come too late.
fn put_back(place: &mut Place) {
    let hash = |text: &str| Some(Hash::of(text.as_bytes()));
    let _ = writeln!(place.out, "== put back");
    for (path, expected, text) in [
        ("made/of/folders.txt", hash("other"), Some("old")),
        ("made/of/folders.txt", hash("new\n"), Some("old")),
        ("made/of/folders.txt", None, Some("older")),
        ("made/of/folders.txt", hash("new\n"), None),
        ("made/of/folders.txt", hash("old"), None),
        ("made/of/folders.txt", hash("old"), None),
        ("made/of/folders.txt", hash("old"), Some("again")),
        ("made/of/folders.txt", None, None),
        ("never/was.txt", None, None),
        ("never/was.txt", hash("x"), None),
        ("never/was.txt", None, Some("is")),
        (".git/config", hash("fn git\n"), Some("x")),
        ("../x", None, Some("x")),
        ("read_only.txt", hash("one\n"), Some("two\n")),
        ("read_only.txt", hash("one\n"), None),
    ] {
        let done = place.space.put_back(path, expected, text);
        place.note(&format!("{path} {} {text:?} {done:?}", expected.is_some()));
        place.file(path);
    }
    let watch = Watch(FileVisibility::default(), false);
    let late = [
        compared("twice.txt", Some("before".into()), Some("after")),
        compared("fresh.txt", Some("before".into()), Some("after")),
        compared("empty.txt", None, Some("after")),
        compared("fresh.txt", None, Some("after\n")),
        compared("fresh.txt", Some("after\n".into()), None),
        compared("../x", None, Some("after")),
    ];
    for change in &late {
        let done = place.space.carry_out("edit_file", "{}", &ToolEffect::Change(vec![change.clone()]), &[], &watch);
        place.done(&done);
    }
    let both =
        vec![late[0].clone(), compared("second.txt", None, Some("x\n")), compared("third.txt", None, Some("y\n"))];
    let done =
        place.space.carry_out("edit_file", "{}", &ToolEffect::Change(both), &[vec![], vec![], vec![false]], &watch);
    place.done(&done);
    place.file("second.txt");
    place.file("third.txt");
    let foreign = ToolEffect::Foreign { server: "s".into(), tool: "t".into(), looks: true };
    let done = place.space.carry_out("t", "{}", &foreign, &[], &watch);
    place.done(&done);
}
