//! A real task from start to end in the real program: search, read, run failing tests, edit with one denied hunk, run
//! the tests again, done. In a small generated workspace, and, if `PLEACH_TASK` names a checkout of this repository
//! with a planted fault (see [`Task::planted`]), there.

use crate::support::pty::{Home, Pty, Start};
use crate::support::server::{Server, Step, end, send, stream, words};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Compiling may take this long.
const COMPILES: Duration = Duration::from_mins(40);
const DONE: &str = "The sign was wrong; the tests pass now.";

/// The task.
struct Task {
    folder: PathBuf,
    pattern: &'static str,
    file: &'static str,
    line: &'static str,
    /// The fault and its fix.
    wrong: (&'static str, &'static str),
    /// A change that the person denies.
    unwanted: (&'static str, &'static str),
    passes: &'static str,
}

impl Task {
    /// A workspace with one crate without dependencies, whose test fails.
    fn small(folder: PathBuf) -> Self {
        std::fs::create_dir_all(folder.join("sum/src")).unwrap();
        let put = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        put("Cargo.toml", "[workspace]\nmembers = [\"sum\"]\nresolver = \"3\"\n");
        put("sum/Cargo.toml", "[package]\nname = \"sum\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
        put(
            "sum/src/lib.rs",
            "//! Sums.\n\n/// Both together.\npub fn add(a: i64, b: i64) -> i64 {\n    a - b\n}\n\n#[cfg(test)]\nmod \
                tests {\n    #[test]\n    \
             fn adds() {\n        assert_eq!(super::add(2, 3), 5);\n    }\n}\n",
        );
        Self {
            folder,
            pattern: "fn add",
            file: "sum/src/lib.rs",
            line: "cargo test --offline",
            wrong: ("    a - b\n", "    a + b\n"),
            unwanted: ("//! Sums.\n", "//! Sums, and everything else.\n"),
            passes: "test tests::adds ... ok",
        }
    }

    /// This repository with a wrong operator in `domain::base::chart::eighths`, so that column heights are wrong.
    fn planted(folder: PathBuf) -> Self {
        Self {
            folder,
            pattern: "pub fn eighths",
            file: "src/domain/base/chart.rs",
            line: "cargo test --offline --lib domain::base::chart",
            wrong: ("u128::from(value.min(most)) + room", "u128::from(value.min(most)) * room"),
            unwanted: ("//! Numbers as bars of character cells", "//! Numbers as bars"),
            passes: "test result: ok.",
        }
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.folder.join(self.file)).unwrap()
    }

    /// The model's calls, in order.
    fn script(&self) -> Vec<Vec<Step>> {
        let run = || json!({ "line": self.line, "seconds": 3_000 });
        let edit = |(old, new): (&str, &str)| json!({ "old": old, "new": new });
        let edits = [edit(self.unwanted), edit(self.wrong)];
        let calls = [
            ("search", json!({ "pattern": self.pattern })),
            ("read_file", json!({ "path": self.file })),
            ("run", run()),
            ("edit_file", json!({ "path": self.file, "edits": edits })),
            ("run", run()),
        ];
        let mut script: Vec<Vec<Step>> =
            calls.into_iter().enumerate().map(|(at, (name, args))| call(at, name, &args)).collect();
        script.push(vec![stream(), words(DONE), end()]);
        script
    }
}

fn call(at: usize, name: &str, args: &Value) -> Vec<Step> {
    let function = json!({ "name": name, "arguments": args.to_string() });
    let call = json!({ "index": 0, "id": format!("call_{at}"), "type": "function", "function": function });
    let delta =
        json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [call] }, "finish_reason": "tool_calls" }] });
    vec![stream(), send(&format!("data: {delta}\n\ndata: [DONE]\n\n"))]
}

/// The files beneath a folder except the excluded ones, with hashes of their texts.
fn files(folder: &Path, out: &[&str]) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut todo = vec![folder.to_owned()];
    while let Some(at) = todo.pop() {
        for entry in std::fs::read_dir(&at).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(folder).unwrap().to_owned();
            if out.iter().any(|out| name.starts_with(out)) {
                continue;
            }
            if entry.file_type().unwrap().is_dir() {
                todo.push(path);
            } else if entry.file_type().unwrap().is_file() {
                let hash = blake3::hash(&std::fs::read(&path).unwrap());
                found.insert(name, hash.to_hex().to_string());
            }
        }
    }
    found
}

/// A home in which cargo works.
fn home(server: &Server, folder: &Path) -> Home {
    let mut home = Home::server(&server.base_url());
    let real = std::env::home_dir().unwrap();
    for (name, usual) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        let at = std::env::var(name).unwrap_or_else(|_| real.join(usual).display().to_string());
        home.set(name, &at);
    }
    home.work_in(folder);
    let folder = folder.canonicalize().unwrap().display().to_string();
    home.config(&format!("trusted_folders = [{folder:?}]\nstate_block = \"off\"\n[tools]\nseconds = 300\n"));
    home
}

/// Checks what the approval shows and decides with keys.
fn decide(pty: &Pty, tool: &str, shows: &[&str], keys: &str) {
    let waits = format!("{tool} needs approval (Alt+Y)");
    pty.until_within(COMPILES, &format!("{tool} asks"), |screen| screen.contains(&waits));
    pty.keys("\x1by");
    pty.until(&format!("{tool} is shown whole"), |screen| {
        screen.contains("Esc later") && shows.iter().all(|words| screen.contains(words))
    });
    for key in keys.chars() {
        pty.keys(&key.to_string());
    }
}

fn do_task(task: &Task, home: &Home, server: &Server) {
    let before = task.text();
    let pty = Start::new(home).size(140, 40).run();
    pty.until("it is open", |screen| screen.contains("Type a message"));
    pty.keys("The tests fail. Find out why and fix it.\r");
    decide(&pty, "run", &[task.line, "Sandboxed:"], "y");
    decide(&pty, "edit_file", &["@@", task.wrong.1.trim()], " ");
    pty.until("one change is left out", |screen| {
        screen.contains("left out") && screen.contains("approve the selected changes")
    });
    pty.keys("y");
    decide(&pty, "run", &[task.line], "y");
    pty.until_within(COMPILES, "it is done", |screen| screen.contains(DONE) && screen.contains("Type a message"));
    let after = task.text();
    assert_eq!(after, before.replace(task.wrong.0, task.wrong.1), "only the approved change");
    check_screens(&pty, task);
    check_undo(&pty, task, &before, &after);
    pty.keys("\x1b");
    pty.until("the composer has the keys", |screen| screen.contains("^P actions"));
    pty.keys("\x04");
    assert_eq!(pty.ended().code, 0);
    check_records(task, home, server);
}

/// The screen of tool calls shows each outcome and which call fixed which failure.
fn check_screens(pty: &Pty, task: &Task) {
    pty.keys("\x14");
    let screen = pty.until("the calls", |screen| {
        ["Tool calls · main · 5", "1 failed, 1 of them fixed later", "fixes", "fixed", "exit 101"]
            .iter()
            .all(|w| screen.contains(w))
    });
    assert!(screen.contains("Resolves run") && screen.contains("edit_file"), "{screen}");
    pty.keys("l");
    pty.until("the failure", |screen| {
        screen.contains("Fixed by run") && screen.contains(task.file.rsplit('/').next().unwrap())
    });
    pty.keys("k\r");
    pty.until("the edit, whole", |screen| {
        ["Decided by you", &format!("changed {}", task.file), task.wrong.1.trim(), "back to the list"]
            .iter()
            .all(|w| screen.contains(w))
    });
    pty.keys("\x1b");
    pty.until("the list", |screen| screen.contains("Tool calls · main · 5") && screen.contains("Enter full view"));
    pty.keys("\x1b");
    pty.until("the message tells of it", |screen| screen.contains("worked later") && screen.contains("resolves the"));
}

fn check_undo(pty: &Pty, task: &Task, before: &str, after: &str) {
    pty.keys("\x02");
    pty.until("the branches have the keys", |screen| screen.contains("switch to"));
    pty.keys("u");
    pty.until("undone", |screen| screen.contains(&format!("Undone: changed {}", task.file)));
    assert_eq!(task.text(), before, "undo restores the file");
    pty.keys("U");
    pty.until("done again", |screen| screen.contains(&format!("changed {}", task.file)) && !screen.contains("Undone:"));
    assert_eq!(task.text(), after, "redo changes it again");
}

/// The stored and received calls: each matches its plan, and the traces are complete.
fn check_records(task: &Task, home: &Home, server: &Server) {
    let json = |args: &[&str]| home.json(args);
    let runs = json(&["plans", "list"]);
    let runs = runs.as_array().unwrap();
    assert_eq!(runs.len(), 6);
    let posts: Vec<_> = server.requests().into_iter().filter(|request| request.method == "POST").collect();
    for (at, post) in posts.iter().enumerate() {
        let digest = blake3::hash(&post.body).to_hex().to_string();
        let run = runs.iter().find(|run| run["request_digest"] == digest.as_str());
        let run = run.unwrap_or_else(|| panic!("call {at} was not sent as planned"));
        let plan = json(&["plans", "show", run["run_id"].as_str().unwrap_or_else(|| panic!("{run}"))]);
        let plan = plan.get("plan").unwrap_or(&plan);
        assert!(plan["est_total"].as_u64().unwrap() > 0 && plan["tools"].as_u64().unwrap() > 100, "{plan}");
        assert!(!plan["included"].as_array().unwrap().is_empty());
        let body: Value = serde_json::from_slice(&post.body).unwrap();
        let results = body["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool").count();
        assert_eq!(results, at, "each round sends the results so far");
    }
    let last = String::from_utf8_lossy(&posts[5].body).into_owned();
    assert!(last.contains(task.passes) && last.contains("denied 1 of 2 changes"), "{last}");

    let traces = json(&["traces"]);
    let traces = traces.as_array().unwrap();
    let check_records: Vec<_> =
        traces.iter().map(|t| (t["name"].as_str().unwrap(), t["state"].as_str().unwrap())).collect();
    let wanted = [("run", "ok"), ("edit_file", "ok"), ("run", "failed"), ("read_file", "ok"), ("search", "ok")];
    assert_eq!(check_records, wanted);
    assert_eq!((&traces[2]["fixed_by"], &traces[0]["resolves"][0]), (&traces[0]["id"], &traces[2]["id"]));
    assert_eq!(traces[2]["fixed_after"], json!([task.file]));
    assert_eq!((&traces[2]["exit"], &traces[2]["word"]), (&json!(101), &json!("you")));
    assert!(traces[2]["error"].as_str().unwrap().to_lowercase().contains("fail"), "{}", traces[2]);
    let failed = json(&["traces", "--failed", "--tool", "run"]);
    assert_eq!(failed.as_array().unwrap().len(), 1);
    let groups = json(&["traces", "--grouped"]);
    assert_eq!((&groups[0]["tool"], &groups[0]["count"], &groups[0]["fixed"]), (&json!("run"), &json!(1), &json!(1)));
    let whole = json(&["traces", "show", traces[1]["id"].as_str().unwrap()]);
    assert!(whole["diffs"][0].as_str().unwrap().contains(task.wrong.1.trim()), "{whole}");
    for trace in traces.iter().rev() {
        let shown = |key: &str| trace[key].to_string();
        let link = format!("{}{}", shown("fixed_by"), shown("resolves"));
        #[allow(clippy::print_stdout, reason = "what a run by hand is told")]
        {
            println!("{} {} {} {} ms {}", shown("name"), shown("state"), shown("exit"), shown("duration_ms"), link);
        }
    }
}

#[test]
fn real_task_from_search_to_passing_tests() {
    let script = |task: &Task| Server::start_posts(task.script());
    let folder = tempfile::tempdir().unwrap();
    let task = Task::small(folder.path().join("in"));
    std::fs::write(folder.path().join("neighbor.txt"), "not to be touched").unwrap();
    let server = script(&task);
    let home = home(&server, &task.folder);
    // Outside the folder, only files made by allowed commands are new.
    let outside = files(folder.path(), &["in/target", "in/Cargo.lock", "in/sum/src/lib.rs"]);
    let around = files(&home.path(""), &["config", "data", "state", "tmp"]);
    do_task(&task, &home, &server);
    assert_eq!(files(folder.path(), &["in/target", "in/Cargo.lock", "in/sum/src/lib.rs"]), outside);
    assert_eq!(files(&home.path(""), &["config", "data", "state", "tmp"]), around, "nothing in the home folder");
}

#[test]
fn real_task_on_this_repository() {
    let Some(folder) = std::env::var_os("PLEACH_TASK").map(PathBuf::from) else {
        #[allow(clippy::print_stdout, reason = "a test that is skipped says so")]
        {
            println!("skipped: PLEACH_TASK names no checkout with a planted fault");
        }
        return;
    };
    let task = Task::planted(folder);
    let server = Server::start_posts(task.script());
    let home = home(&server, &task.folder);
    let outside = files(&task.folder, &["target", ".git", task.file]);
    do_task(&task, &home, &server);
    assert_eq!(files(&task.folder, &["target", ".git", task.file]), outside, "no other file was changed");
}
