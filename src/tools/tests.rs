//! Tests of the tools that only read, on real folders, including every known way to escape from one.

use super::*;
use crate::domain::base::cases::cases;
use crate::domain::tool::{Rule, Verdict};
use proptest::prelude::*;
use serde_json::json;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const SECRET: &str = "outside-secret";

#[test]
fn missing_file_is_not_an_empty_one() {
    let change = |after| compared("notes.md", Some("one\n".into()), after);
    assert_eq!((change(None).after, change(Some("")).after.as_deref()), (None, Some("")));
}

/// A workspace beside a folder that must stay out of reach.
struct Place {
    outer: TempDir,
    space: Workspace,
}

impl Place {
    fn new(limit: usize) -> Self {
        let outer = TempDir::new().unwrap();
        fs::create_dir_all(outer.path().join("in/src")).unwrap();
        fs::create_dir_all(outer.path().join("out")).unwrap();
        fs::write(outer.path().join("out/secret.txt"), SECRET).unwrap();
        let space = Workspace::open(&outer.path().join("in"), limit).unwrap();
        Self { outer, space }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.outer.path().join("in").join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    fn call(&self, name: &str, args: &serde_json::Value) -> ToolOutput {
        let start = Instant::now();
        let out = self.space.run(name, &args.to_string(), &|| false);
        if out.status != ToolStatus::Ok {
            assert!(start.elapsed() < Duration::from_secs(1), "{name} {args} took {:?}", start.elapsed());
        }
        assert!(!out.body.contains(SECRET), "{name} {args}");
        assert!(out.full_bytes >= out.body.len() as u64);
        out
    }

    fn ok(&self, name: &str, args: &serde_json::Value) -> String {
        let out = self.call(name, args);
        assert_eq!(out.status, ToolStatus::Ok, "{}", out.body);
        out.body
    }

    fn read(&self, path: &str) -> ToolOutput {
        self.call("read_file", &json!({ "path": path }))
    }
}

#[test]
fn whole_files_and_ranges_are_read() {
    let place = Place::new(10_000);
    place.write("src/a.txt", "one\ntwo\nthree\nfour");
    let out = place.read("src/a.txt");
    assert_eq!((out.body.as_str(), out.full_bytes), ("one\ntwo\nthree\nfour", 18));
    let part = place.ok("read_file", &json!({"path": "./src/a.txt", "start_line": "2", "lines": 2.0, "why": "x"}));
    assert_eq!(part, "two\nthree\n[the file continues at line 4]\n");
    assert_eq!(place.ok("read_file", &json!({"path": "src/a.txt", "start_line": 4, "lines": 9})), "four");
    let beyond = place.call("read_file", &json!({"path": "src/a.txt", "start_line": 5}));
    assert_eq!(beyond.status, ToolStatus::Failed);
    assert!(beyond.body.contains("ends before line 5"));
    place.write("empty", "");
    assert_eq!(place.read("empty").body, "[empty is empty]\n".trim_end());
}

#[test]
fn long_files_are_cut_at_lines_with_a_note() {
    let place = Place::new(300);
    let text = (1..=100).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n") + "\n";
    place.write("long", &text);
    let mut got = String::new();
    let mut start = 1;
    for _ in 0..20 {
        let out = place.call("read_file", &json!({"path": "long", "start_line": start}));
        let (kept, note) = out.body.split_once("[cut").unwrap_or((&out.body, ""));
        got.push_str(kept);
        let Some((_, next)) = note.rsplit_once("start_line ") else { break };
        assert_eq!(out.full_bytes, (text.len() - (got.len() - kept.len())) as u64);
        start = next.trim_end_matches(['\n', ']']).parse().unwrap();
    }
    assert_eq!(got, text, "the parts join to the whole text");
    place.write("wide", "x".repeat(5_000));
    let wide = place.read("wide");
    assert!(wide.body.contains("cut inside line 1") && wide.body.len() < 600 && wide.full_bytes == 5_000);
}

#[test]
fn no_path_leads_out() {
    let place = Place::new(10_000);
    let outside = place.outer.path().join("out/secret.txt");
    symlink(&outside, place.path("abs")).unwrap();
    symlink("../out/secret.txt", place.path("rel")).unwrap();
    symlink("../out", place.path("dir")).unwrap();
    symlink("/proc/self", place.path("proc")).unwrap();
    symlink("loop", place.path("loop")).unwrap();
    let absolute = outside.to_str().unwrap().to_owned();
    for path in [
        "../out/secret.txt",
        "src/../../out/secret.txt",
        "/etc/passwd",
        "/proc/self/environ",
        &absolute,
        "abs",
        "rel",
        "dir/secret.txt",
        "proc/environ",
        "a\0b",
    ] {
        for tool in ["read_file", "list_dir", "search"] {
            let out = place.call(tool, &json!({"path": path, "pattern": "."}));
            assert_eq!(out.status, ToolStatus::Refused, "{tool} {path}: {}", out.body);
        }
    }
    assert_eq!(place.read("loop").status, ToolStatus::Failed);
    assert_eq!(place.call("list_dir", &json!({"path": "dir"})).status, ToolStatus::Refused);
    let list = place.ok("list_dir", &json!({"depth": 9}));
    assert!(list.contains("dir  (link)") && !list.contains("secret.txt"), "{list}");
    assert!(place.ok("search", &json!({"pattern": "secret|root:"})).contains("no matches"));
}

#[test]
fn links_inside_work() {
    let place = Place::new(10_000);
    place.write("src/a.txt", "inside");
    symlink("src/a.txt", place.path("link")).unwrap();
    assert_eq!(place.read("link").body, "inside");
}

#[test]
fn pipes_devices_and_folders_are_refused_without_blocking() {
    let place = Place::new(10_000);
    let fifo = place.path("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::from(0o600), 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(place.path("sock")).unwrap();
    assert_eq!(place.read("fifo").status, ToolStatus::Refused);
    assert_ne!(place.read("sock").status, ToolStatus::Ok);
    assert_eq!(place.read("src").status, ToolStatus::Failed);
    assert!(place.read("src").body.contains("list_dir"));
    assert_eq!(place.call("search", &json!({"pattern": "x", "path": "fifo"})).status, ToolStatus::Refused);
    assert!(place.ok("search", &json!({"pattern": "x"})).contains("no matches"), "a pipe does not block a search");
    assert!(place.ok("list_dir", &json!({})).contains("fifo  (pipe"));
    let dev = Workspace::open(Path::new("/dev"), 1_000).unwrap();
    for name in ["null", "zero", "tty"] {
        let out = dev.run("read_file", &json!({ "path": name }).to_string(), &|| false);
        assert_ne!(out.status, ToolStatus::Ok, "{name}: {}", out.body);
    }
}

#[test]
fn huge_files_and_odd_names() {
    let place = Place::new(10_000);
    let huge = fs::File::create(place.path("huge")).unwrap();
    huge.set_len(5 << 30).unwrap();
    assert!(place.read("huge").body.contains("not a text file"));
    place.write("tall", "a\n".repeat(1_000));
    fs::OpenOptions::new().write(true).open(place.path("tall")).unwrap().set_len(5 << 30).unwrap();
    // Text at the start, then five gigabytes of zeros: only the requested lines are read.
    place.write("front", "word\n".repeat(4_000));
    fs::OpenOptions::new().write(true).open(place.path("front")).unwrap().set_len(5 << 30).unwrap();
    let start = Instant::now();
    let out = place.call("read_file", &json!({"path": "front", "lines": 2}));
    assert!(out.body.starts_with("word\nword\n[the file continues"), "{}", out.body);
    assert!(place.call("read_file", &json!({"path": "front"})).full_bytes >= 5 << 30);
    assert!(start.elapsed() < Duration::from_secs(1));
    place.write("latin", b"caf\xe9\n");
    assert!(place.read("latin").body.contains('\u{fffd}') && place.read("latin").body.contains("not UTF-8"));
    let odd = place.path("").join(std::ffi::OsStr::from_bytes(b"odd\xff\n\x1bname"));
    fs::write(odd, "needle").unwrap();
    let list = place.ok("list_dir", &json!({}));
    assert!(list.contains("odd\u{fffd}\\n\\u{1b}name  6 B\n") && list.contains("not UTF-8"), "{list}");
    assert!(place.ok("search", &json!({"pattern": "needle"})).contains("odd\u{fffd}\\n\\u{1b}name:1: needle\n"));
}

#[test]
fn search_respects_ignore_rules_and_limits() {
    let place = Place::new(2_000);
    place.write(".gitignore", "target/\n*.log\n!keep.log\n");
    place.write("sub/.gitignore", "only_here\n");
    for name in ["a.rs", "target/b.rs", "x.log", "keep.log", "sub/only_here", "sub/d.rs", "only_here", ".git/config"] {
        place.write(name, "alpha\nNeedle here\n");
    }
    let found = place.ok("search", &json!({"pattern": "needle"}));
    let files: Vec<&str> = found.lines().filter_map(|line| line.split(':').next()).collect();
    assert_eq!(files, ["a.rs", "keep.log", "only_here", "sub/d.rs"]);
    assert!(found.contains("a.rs:2: Needle here"));
    assert!(place.ok("search", &json!({"pattern": "Needle", "path": "sub"})).starts_with("sub/d.rs:2:"));
    assert!(
        place.ok("search", &json!({"pattern": "needle", "path": "x.log"})).starts_with("x.log:2:"),
        "explicitly named files are searched"
    );
    let few = place.ok("search", &json!({"pattern": "needle", "max": 1}));
    assert!(few.starts_with("a.rs:2") && few.contains("cut after 1 matches"), "{few}");
    place.write("many", "needle\n".repeat(10_000));
    let many = place.call("search", &json!({"pattern": "needle", "path": "many", "max": 1000}));
    assert!(many.body.len() < 2_300 && many.body.contains("cut after") && many.full_bytes > 1_000);
    place.write("long", format!("needle{}", "é".repeat(10_000)));
    assert!(place.ok("search", &json!({"pattern": "needle", "path": "long"})).len() < 1_000);
    let bad = place.call("search", &json!({"pattern": "(unclosed"}));
    assert_eq!(bad.status, ToolStatus::Failed);
    assert!(bad.body.contains("regular expression"));
}

#[test]
fn list_respects_depth_and_limits() {
    let place = Place::new(10_000);
    place.write("b/c/d.txt", "12345");
    place.write("a.txt", "x".repeat(3_000));
    place.write(".gitignore", "b/c/secret\n");
    place.write("b/c/secret", "");
    assert_eq!(place.ok("list_dir", &json!({})), ".gitignore  11 B\na.txt  3 KB\nb/\nsrc/\n");
    let deep = place.ok("list_dir", &json!({"path": "b", "depth": 5}));
    assert_eq!(deep, "b/c/\nb/c/d.txt  5 B\n");
    fs::create_dir(place.path("empty")).unwrap();
    let empty = place.call("list_dir", &json!({"path": "empty"}));
    assert!(empty.body.starts_with("[empty") && empty.full_bytes == empty.body.len() as u64);
    for n in 0..1_000 {
        place.write(&format!("many/file-with-a-long-name-{n}"), "");
    }
    let many = place.call("list_dir", &json!({"path": "many"}));
    assert!(many.body.len() < 10_200 && many.full_bytes > 30_000 && many.body.contains("entries are not shown"));
    assert_eq!(place.call("list_dir", &json!({"path": "a.txt"})).status, ToolStatus::Failed);
    assert!(place.call("list_dir", &json!({"path": "nowhere"})).body.contains("does not exist"));
}

#[test]
fn arguments_and_names() {
    let place = Place::new(1_000);
    place.write("a", "text");
    for (args, why) in [
        ("", "path is missing"),
        ("{}", "path is missing"),
        ("{\"path\": 5}", "must be a string"),
        ("{\"path\": \"a\", \"lines\": 0}", "whole number of at least 1"),
        ("{\"path\": \"a\", \"lines\": [1]}", "whole number of at least 1"),
        ("{\"path\": \"a\"", "not valid JSON"),
        ("[]", "must be a JSON object"),
    ] {
        let out = place.space.run("read_file", args, &|| false);
        assert_eq!(out.status, ToolStatus::Failed);
        assert!(out.body.contains(why), "{args}: {}", out.body);
    }
    let twice = serde_json::Value::String("{\"path\": \"a\"}".into()).to_string();
    assert_eq!(place.space.run("read_file", &twice, &|| false).body, "text");
    assert!(place.space.run("shell", "{}", &|| false).body.contains("There is no tool"));
    let names: Vec<String> = place.space.specs().into_iter().map(|spec| spec.name).collect();
    assert_eq!(names, ["read_file", "list_dir", "search"]);
    assert!(Workspace::open(Path::new("/nowhere/at/all"), 1).unwrap_err().to_string().contains("can't be opened"));
}

#[test]
fn tools_stop_when_cancelled() {
    let place = Place::new(1_000_000);
    for n in 0..50 {
        place.write(&format!("f{n}"), "needle\n".repeat(10));
    }
    for tool in ["read_file", "list_dir", "search"] {
        let polls = AtomicUsize::new(0);
        let cancelled = || polls.fetch_add(1, Ordering::Relaxed) >= 2;
        let out = place.space.run(tool, r#"{"path":"","pattern":"needle","depth":9}"#, &cancelled);
        let wanted = if tool == "read_file" { ToolStatus::Failed } else { ToolStatus::Cancelled };
        assert_eq!(out.status, wanted, "{tool}");
    }
    let polls = AtomicUsize::new(0);
    let out = place.space.run("read_file", r#"{"path":"f1"}"#, &|| polls.fetch_add(1, Ordering::Relaxed) >= 2);
    assert_eq!(out.status, ToolStatus::Cancelled);
    assert_eq!(place.space.run("search", "{}", &|| true).status, ToolStatus::Cancelled);
}

/// A file and a folder are swapped again and again for links that lead out, while the tools read.
#[test]
fn swapped_links_never_lead_out_of_reads() {
    let place = Place::new(4_096);
    place.write("file", "inside");
    place.write("folder/secret.txt", "inside");
    let (root, out) = (place.path(""), place.outer.path().join("out"));
    let done = AtomicBool::new(false);
    let mut statuses = [0_usize; 3];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            symlink(out.join("secret.txt"), root.join("file-link")).unwrap();
            symlink(&out, root.join("folder-link")).unwrap();
            while !done.load(Ordering::Relaxed) {
                for name in ["file", "folder"] {
                    let (real, link, aside) = (root.join(name), root.join(format!("{name}-link")), root.join("aside"));
                    fs::rename(&real, &aside).unwrap();
                    fs::rename(&link, &real).unwrap();
                    fs::rename(&real, &link).unwrap();
                    fs::rename(&aside, &real).unwrap();
                }
            }
        });
        let calls = [
            ("read_file", json!({"path": "file"})),
            ("read_file", json!({"path": "folder/secret.txt"})),
            ("search", json!({"pattern": "side", "path": "folder"})),
            ("list_dir", json!({"path": "folder"})),
        ];
        for race in 0..cases(2_000).cases as usize {
            let (tool, args) = &calls[race % calls.len()];
            let out = place.space.run(tool, &args.to_string(), &|| false);
            if out.body.contains(SECRET) {
                done.store(true, Ordering::Relaxed);
                panic!("{tool} {args} led out: {}", out.body);
            }
            statuses[match out.status {
                ToolStatus::Ok => 0,
                ToolStatus::Refused => 1,
                ToolStatus::Failed | ToolStatus::Cancelled => 2,
            }] += 1;
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(statuses[0] > 0, "some reads met the real file: {statuses:?}");
}

#[test]
fn attached_files_follow_the_same_rules() {
    let place = Place::new(500);
    place.write("src/a.rs", "fn a() {}\n");
    place.write("target/b.o", "x");
    place.write(".gitignore", "target\n*.log\n");
    place.write("c.log", "x");
    place.write("bin", [1, 0, 2]);
    place.write("latin", [0xe4, b'\n']);
    symlink(place.outer.path().join("out"), place.path("link")).unwrap();
    let names = |most| place.space.files(most, &FileVisibility::default());
    let want = [".gitignore", "bin", "latin", "src/a.rs"].map(str::to_owned).to_vec();
    assert_eq!(names(100), (want.clone(), false));
    assert_eq!(names(2), (want[..2].to_vec(), true));
    let read = |path: &str, most| place.space.text(path, most, &FileVisibility::default());
    assert_eq!(read("src/a.rs", 100).as_deref(), Ok("fn a() {}\n"));
    assert_eq!(read("src/a.rs", 9), Err("src/a.rs has 10 bytes, more than 9.".to_owned()));
    for (path, why) in
        [("bin", "not a text file"), ("latin", "not a text file"), ("none", "does not exist"), ("src", "is a folder")]
    {
        assert!(read(path, 100).unwrap_err().contains(why), "{path}: {:?}", read(path, 100));
    }
    for path in ["../out/secret.txt", "link/secret.txt", "/etc/passwd"] {
        assert!(read(path, 100).unwrap_err().contains("outside"), "{path}: {:?}", read(path, 100));
    }
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn no_arguments_panic_or_lead_out(
        tool in prop::sample::select(vec!["read_file", "list_dir", "search", "other"]),
        path in "(\\.\\./|/|\\./|src|out|secret\\.txt|\\\\|~|%2e|\\PC){0,8}",
        pattern in "\\PC{0,12}",
        numbers in (any::<i64>(), any::<f32>()),
    ) {
        let place = Place::new(500);
        let args = json!({"path": path, "pattern": pattern, "start_line": numbers.0, "lines": numbers.1, "max": numbers.0, "depth": numbers.1});
        let out = place.space.run(tool, &args.to_string(), &|| false);
        prop_assert!(!out.body.contains(SECRET));
        let _ = place.space.run(tool, &pattern, &|| false);
    }
}

/// Returns rules that deny what the bundled example denies, and that ask about one folder.
fn visibility() -> FileVisibility {
    let rule = |tool: &str, on: &str, verdict| Rule { tool: tool.into(), on: Some(on.into()), verdict };
    FileVisibility::new([rule("*", ".env*", Verdict::Deny), rule("read_file", "asked/", Verdict::Ask)])
}

#[test]
fn no_tool_shows_a_denied_file() {
    let place = Place::new(10_000);
    place.write("src/a.rs", "fn key() {} // KEY");
    for name in [".env", "sub/.env.local", "asked/b", ".envs/c", "src/.ENV"] {
        place.write(name, "KEY=hidden-text");
    }
    symlink(".env", place.path("notes")).unwrap();
    symlink(".envs", place.path("folder")).unwrap();
    symlink("../asked", place.path("sub/deep")).unwrap();
    let visibility = visibility();
    let call = |name: &str, args: serde_json::Value| {
        place.space.run_reader(name, &args.to_string(), &visibility, &|| false).output
    };
    for (name, args) in [
        ("search", json!({"pattern": "KEY"})),
        ("search", json!({"pattern": "KEY", "path": "sub"})),
        ("search", json!({"pattern": "KEY", "path": "sub/deep"})),
        ("search", json!({"pattern": "KEY", "path": "folder"})),
        ("search", json!({"pattern": "KEY", "path": "folder/c"})),
        ("search", json!({"pattern": "KEY", "path": "notes"})),
        ("search", json!({"pattern": "KEY", "path": "./.env"})),
        ("read_file", json!({"path": "notes"})),
        ("read_file", json!({"path": "folder/c"})),
        ("read_file", json!({"path": "sub/deep/b"})),
        ("list_dir", json!({"depth": 9})),
        ("list_dir", json!({"path": "folder"})),
        ("list_dir", json!({"path": "sub/deep"})),
    ] {
        let body = call(name, args.clone()).body;
        let shown = body.contains("hidden-text") || body.lines().any(|line| line.to_lowercase().starts_with(".env"));
        assert!(!shown && !body.contains("folder/c  ") && !body.contains("deep/b  "), "{name} {args}: {body}");
    }
    let found = call("search", json!({"pattern": "KEY"})).body;
    assert!(found.contains("src/a.rs:1") && found.contains("hidden by the user's rules"), "{found}");
    assert!(call("read_file", json!({"path": "notes"})).body.contains("deny * \".env*\""));
    let own = FileVisibility::denying([Rule { tool: "*".into(), on: Some(".env*".into()), verdict: Verdict::Deny }]);
    assert_eq!(place.space.files(99, &own).0, ["asked/b", "src/a.rs"]);
    let text = |path: &str| place.space.text(path, 99, &own);
    assert!(text("notes").unwrap_err().contains("A rule prevents reading notes") && text("asked/b").is_ok());
    let answered = visibility.answered("read_file", &ToolEffect::Read { what: "asked/b".into() });
    let read = place.space.run_reader("read_file", r#"{"path": "sub/deep/b"}"#, &answered, &|| false).output;
    assert!(read.body.contains("hidden-text"), "the person approved this file");
    let none = call("run", json!({"line": "true"})).body;
    assert!(none.contains("There is no tool \"run\""), "nothing here makes changes: {none}");
}

#[test]
fn folders_removed_during_a_walk_are_counted() {
    let place = Place::new(1_000);
    for folder in ["a", "b", "src"] {
        place.write(&format!("{folder}/x"), "");
    }
    let visibility = FileVisibility::default();
    let mut walk =
        files::walk::Walk::new(&place.space, Path::new(""), 3, files::visible::ToolVisibility::of_person(&visibility))
            .ok()
            .unwrap();
    for folder in ["a", "b"] {
        fs::remove_dir_all(place.path(folder)).unwrap();
    }
    let names: Vec<PathBuf> = std::iter::from_fn(|| walk.next().map(|entry| entry.path)).collect();
    assert_eq!((names, walk.unread), (["a", "b", "src", "src/x"].map(PathBuf::from).to_vec(), 2));
}

#[test]
fn list_reports_folders_removed_meanwhile() {
    for gone in 0..3 {
        let place = Place::new(1_000);
        for file in ["a/x", "b/x"] {
            place.write(file, "");
        }
        let calls = AtomicUsize::new(0);
        // It is called once before the walk and then for each entry. The folders are removed after the first entry was
        // read.
        let is_cancelled = || {
            let now = calls.fetch_add(1, Ordering::Relaxed) == 1;
            for folder in ["b", "src"].iter().take(if now { gone } else { 0 }) {
                fs::remove_dir_all(place.path(folder)).unwrap();
            }
            false
        };
        let body = place.space.run("list_dir", r#"{"depth": 2}"#, &is_cancelled).body;
        let unread_note = ["", "[1 folder could not be read]\n", "[2 folders could not be read]\n"][gone];
        let inner = if gone == 0 { "b/x  0 B\n" } else { "" };
        assert_eq!(body, format!("a/\na/x  0 B\nb/\n{inner}src/\n{unread_note}"));
    }
}
