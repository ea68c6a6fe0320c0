//! Bad input to the real binary: every error is a sentence that says what happened, what was kept, and what to do. Text
//! from outside reaches a terminal only as plain text.

use crate::support::binary::{CommandOutput, Home, profile};
use crate::support::damage::DAMAGES;
use crate::support::server::{Server, Step, end, json, send, stream, words};
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Read as _;
use std::net::TcpListener;

/// Sets a color and the title, and rings the bell, with 7-bit and with 8-bit control characters.
const HOSTILE: &str = "h\u{1b}[31mred\u{1b}]0;owned\u{7}\u{9b}32m\u{9d}0;t\u{9c}\u{8}\u{7f}end";

fn json_str(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// Everything except line ends is printable.
fn assert_clean(text: &str, what: &str) {
    let bad = text.chars().find(|c| c.is_control() && *c != '\n');
    assert!(bad.is_none(), "{what}: {bad:?} in {text:?}");
}

fn assert_failed(output: &CommandOutput, code: i32, parts: &[&str]) {
    assert_eq!(output.code, code, "{}\n{}", output.out, output.err);
    assert_clean(&output.err, "an error");
    for part in parts {
        assert!(output.err.contains(part), "{part:?} in {}", output.err);
    }
}

/// The conversation contains only these messages.
fn assert_conversation(home: &Home, texts: &[&str]) {
    let list = home.json(&["message", "list"]);
    let all: Vec<&str> = list.as_array().unwrap().iter().map(|m| m["content"].as_str().unwrap()).collect();
    assert_eq!(all, texts);
}

#[test]
fn a_wrong_key() {
    let body = "{\"error\":{\"message\":\"Incorrect API key provided: sk-wrong-0123456789abcdef.\",\"type\":\"invalid_request_error\",\"code\":\"invalid_api_key\"}}";
    let server = Server::start(vec![json(401, &[], body)]);
    let home = Home::asking(&server.base_url());
    let output = home.with(&[("TEST_KEY", "sk-wrong-0123456789abcdef")], &["ask", "hi"]);
    assert_failed(&output, 4, &["key", "The conversation is unchanged", "TEST_KEY"]);
    assert!(!output.err.contains("sk-wrong-0123456789abcdef"), "the key is not repeated: {}", output.err);
    assert!(!output.err.contains("composer"), "there is no composer here: {}", output.err);
    assert_eq!(server.requests().len(), 1);
    assert_conversation(&home, &[]);
}

#[test]
fn an_unknown_model() {
    let body = "{\"error\":{\"message\":\"The model `gpt-9` does not exist\",\"type\":\"invalid_request_error\",\"code\":\"model_not_found\"}}";
    let server = Server::start(vec![json(404, &[], body)]);
    let home = Home::asking(&server.base_url());
    assert_failed(
        &home.run(&["--model", "gpt-9", "ask", "hi"]),
        4,
        &["gpt-9", "The conversation is unchanged", "pleach models"],
    );
    assert_conversation(&home, &[]);
}

#[test]
fn a_refused_connection() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let home = Home::asking(&format!("http://{free}/v1"));
    let output = home.run(&["ask", "hi"]);
    assert_failed(&output, 4, &["No connection", &free.to_string(), "The conversation is unchanged", "base_url"]);
    assert!(!output.err.contains("os error"), "in plain words: {}", output.err);
    assert_conversation(&home, &[]);
}

#[test]
fn html_answer_and_broken_stream() {
    let page = vec![crate::support::server::head(200, &[("content-type", "text/html")]), send("<html>Sign in</html>")];
    let broken = vec![stream(), words("Half an "), words("answer"), Step::Reset];
    let server = Server::start(vec![page, broken]);
    let home = Home::asking(&server.base_url());
    assert_failed(&home.run(&["ask", "hi"]), 4, &["The conversation is unchanged"]);
    assert_conversation(&home, &[]);
    let output = home.run(&["ask", "hi"]);
    assert_failed(&output, 4, &["kept"]);
    assert!(output.out.contains("Half an answer"), "{}", output.out);
    assert_conversation(&home, &["hi", "Half an answer"]);
}

#[test]
fn malformed_settings() {
    let home = Home::new("");
    let file = home.config_file().display().to_string();
    let cases = [
        ("mode = \"light\"\npolicy = 3\n", "line 2, column 10", "policy"),
        ("mode = \"light\n", "line 1", "string"),
        ("\nmodee = \"off\"\n", "line 2, column 1", "Did you mean `mode"),
        ("[tools]\nrounds = \"many\"\n", "line 2, column 10", "rounds"),
        ("mode = \"wild\"\n", "line 1, column 8", "wild"),
        ("profile = \"nope\"\n", "line 1", "nope"),
        ("x = \"\u{1b}[31m\"\n", "line 1", ""),
    ];
    for (text, place, about) in cases {
        home.configure(text);
        for command in [&["ask", "hi"][..], &["config", "check"], &["doctor"]] {
            let output = home.run(command);
            assert_failed(&output, 2, &[&file, place, about]);
            assert_eq!(output.out, "");
        }
    }
    assert!(!home.store().exists(), "nothing was changed");
}

#[test]
fn an_unreadable_store() {
    let home = Home::scripted("{\"deltas\":[{\"text\":\"ok\"}]}\n");
    home.ok(&["ask", "hi"]);
    let good = std::fs::read(home.store()).unwrap();
    let broken: [(&str, Vec<u8>); 3] = [
        ("text.db", b"not a store at all".to_vec()),
        ("cut.db", good[..good.len() / 2].to_vec()),
        ("zero.db", {
            let mut bytes = good.clone();
            bytes[..100].fill(0);
            bytes
        }),
    ];
    for (name, bytes) in broken {
        let path = home.path(name);
        std::fs::write(&path, &bytes).unwrap();
        let output = home.run(&["--store", &path.display().to_string(), "ask", "hi"]);
        assert_failed(&output, 5, &[name, "--store"]);
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "{name} is as it was");
    }
    let folder = home.workspace().display().to_string();
    assert_failed(&home.run(&["--store", &folder, "ask", "hi"]), 5, &[&folder, "--store"]);
    // A folder in which not even root can write.
    assert_failed(&home.run(&["--store", "/proc/none/pleach.db", "ask", "hi"]), 5, &["/proc/none", "--store"]);
}

/// Three kinds of damage, with and without a backup: the error is clear, nothing is changed, and the store is moved
/// aside only after confirmation.
#[test]
fn a_damaged_store() {
    for (name, harm) in DAMAGES {
        for backup in [true, false] {
            let home = Home::scripted("{\"deltas\":[{\"text\":\"ok\"}]}\n");
            home.ok(&["ask", "hi"]);
            let beside = |begins: &str| -> Vec<std::path::PathBuf> {
                let entries = std::fs::read_dir(home.store().parent().unwrap()).unwrap().flatten();
                let all = entries.map(|entry| entry.path());
                all.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(begins)).collect()
            };
            let copies = beside("pleach.db.backup-");
            assert_eq!(copies.len(), 1, "a complete backup");
            if !backup {
                std::fs::remove_file(&copies[0]).unwrap();
            }
            harm(&home.store());
            let bytes = std::fs::read(home.store()).unwrap();
            let unchanged = || assert_eq!(std::fs::read(home.store()).unwrap(), bytes, "{name}");
            let copy = copies[0].display().to_string();
            let about = if backup { copy.as_str() } else { "It has no backup" };
            for command in [&["session", "list"][..], &["ask", "again"], &["doctor"], &["message", "list"]] {
                assert_failed(
                    &home.run(command),
                    5,
                    &["is damaged", "The store was not changed", about, "doctor --repair"],
                );
                unchanged();
            }
            assert_failed(&home.run(&["doctor", "--repair"]), 2, &["is damaged", about, "Nothing changed", "--yes"]);
            unchanged();
            assert!(beside("pleach.db.corrupt-").is_empty());

            let mended = home.json(&["doctor", "--repair", "--yes"]);
            let moved = mended["moved"].as_str().unwrap();
            assert_eq!(std::fs::read(moved).unwrap(), bytes, "{name}: moved as it was");
            assert_eq!(mended["from"], if backup { Value::from(copy) } else { Value::Null });
            let sessions = home.json(&["session", "list"]);
            assert_eq!(sessions.as_array().unwrap().len(), usize::from(backup), "{name}");
            assert_failed(&home.run(&["doctor", "--repair", "--yes"]), 0, &[]);
            if name == "a flipped page" {
                let file = mended["salvaged"]["file"].as_str().unwrap();
                assert_eq!(mended["salvaged"]["messages"], 2, "{mended}");
                home.ok(&["import", file]);
                let texts = home.ok(&["message", "list"]);
                assert!(texts.contains("hi") && texts.contains("ok"), "{texts}");
            }
            home.assert_sound();
        }
    }
}

#[test]
fn removal_during_a_read_is_reported() {
    let home = Home::scripted("{\"deltas\":[{\"text\":\"ok\"}]}\n");
    home.ok(&["ask", "a secret word"]);
    let id = home.json(&["message", "list"])[0]["id"].as_str().unwrap().to_owned();
    let other = rusqlite::Connection::open(home.store()).unwrap();
    other.execute_batch("BEGIN; SELECT count(*) FROM node;").unwrap();
    let output = home.ok(&["message", "remove", &id, "--yes"]);
    assert!(output.contains("deleted permanently") && output.contains("is still in the store's log"), "{output}");
    assert!(home.ok(&["doctor"]).contains("purge pending"));
    drop(other);
    home.ok(&["session", "list"]);
    assert!(!home.ok(&["doctor"]).contains("purge pending"));
    assert_eq!(home.files_containing("a secret word"), Vec::<String>::new());
}

#[test]
fn store_of_a_newer_version() {
    let home = Home::scripted("{\"deltas\":[{\"text\":\"ok\"}]}\n");
    home.ok(&["ask", "hi"]);
    rusqlite::Connection::open(home.store()).unwrap().pragma_update(None, "user_version", 9_999).unwrap();
    let known: i64 =
        include_str!("../../../src/store/schema.rs").matches("include_str!(\"schema/").count().try_into().unwrap();
    assert_failed(&home.run(&["ask", "hi"]), 5, &["newer", "9999", &format!("supports {known}")]);
}

/// A folder and file without write permission: the stored conversation can still be read.
#[cfg(unix)]
#[test]
fn a_read_only_folder() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::scripted("{\"deltas\":[{\"text\":\"ok\"}]}\n");
    home.ok(&["ask", "hi"]);
    let folder = home.store().parent().unwrap().to_path_buf();
    let writable = |mode: u32| std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(mode)).unwrap();
    writable(0o500);
    let output = |args: &[&str]| {
        let mut command = home.command(args);
        if std::fs::write(folder.join("probe"), "").is_ok() {
            // Root may write everywhere, so run as another user.
            std::fs::remove_file(folder.join("probe")).unwrap();
            give_to_nobody(home.path("").as_path());
            std::os::unix::process::CommandExt::uid(&mut command, NOBODY);
        }
        crate::support::binary::finish(command.spawn().unwrap())
    };
    let read = output(&["message", "list", "--json"]);
    let asked = output(&["ask", "again"]);
    let chat = home.path("chat.jsonl");
    std::fs::write(&chat, "{\"role\":\"user\",\"content\":\"brought along\"}\n").unwrap();
    let imported = output(&["import", &chat.display().to_string()]);
    writable(0o700);
    assert_eq!(read.code, 0, "{}", read.err);
    assert!(read.out.contains("\"hi\""));
    assert_failed(&asked, 5, &["read-only"]);
    assert_failed(&imported, 5, &["read-only", "Nothing was imported."]);
    assert_conversation(&home, &["hi", "ok"]);
}

/// An account that owns nothing.
#[cfg(unix)]
const NOBODY: u32 = 65_534;

#[cfg(unix)]
fn give_to_nobody(path: &std::path::Path) {
    std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            give_to_nobody(&entry.unwrap().path());
        }
    }
}

fn ten_megabytes() -> String {
    let mut text = String::with_capacity(10 << 20);
    let mut number = 0_u64;
    while text.len() < 10_000_000 {
        let _ = writeln!(text, "line {number}: the quick brown fox, naïve 日本");
        number += 1;
    }
    text
}

#[test]
fn ten_megabytes_on_standard_input() {
    let server = Server::start(vec![vec![stream(), words("Read."), end()]]);
    let home = Home::approximate(&server.base_url());
    let text = ten_megabytes();
    let output = home.with_input(&["ask", "-"], text.as_bytes());
    assert_failed(&output, 3, &["tokens", "you can"]);
    assert_eq!(server.requests().len(), 0, "nothing was sent");
    assert_conversation(&home, &[]);
    let huge = profile(&server.base_url()).replace("16000", "100000000").replace("gpt-4o-mini", "huge");
    home.configure(&(huge + "[models.huge]\nencoding = \"approximate\"\n"));
    let output = home.with_input(&["--budget", "90000000", "ask", "-"], text.as_bytes());
    assert_eq!((output.code, output.out.as_str()), (0, "Read.\n"), "{}", output.err);
    let body: Value = serde_json::from_slice(&server.requests()[0].body).unwrap();
    let last = body["messages"].as_array().unwrap().last().unwrap();
    assert!(last["content"].as_str().unwrap().contains(text.trim_end()), "all output arrived");
    home.assert_sound();
}

#[test]
fn a_message_larger_than_the_budget() {
    let home = Home::new("");
    let text = "word ".repeat(3_000);
    let output = home.run(&["--budget", "1000", "ask", &text]);
    assert_failed(&output, 3, &["budget", "you can"]);
    let output = home.run(&["--budget", "1000", "plan", &text, "--json"]);
    assert_eq!(output.code, 3);
    let blocked: Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(blocked["blocked"], true);
    assert!(blocked["needed"].as_u64() > Some(1_000));
    assert!(!blocked["choices"].as_array().unwrap().is_empty());
    assert_conversation(&home, &[]);
}

#[test]
fn odd_standard_input() {
    let home = Home::new("");
    assert_failed(&home.with_input(&["ask", "-"], b"caf\xe9"), 1, &["UTF-8", "byte 3"]);
    assert_failed(&home.with_input(&["ask", "-"], b""), 2, &["empty"]);
    assert_failed(&home.run(&["import", "/nowhere/at/all.json"]), 1, &["/nowhere/at/all.json"]);
    let file = home.path("odd.json");
    std::fs::write(&file, b"\x00\x01\x02 nothing known").unwrap();
    assert_failed(&home.run(&["import", &file.display().to_string()]), 1, &["odd.json"]);
}

/// A home in which every text from outside is hostile.
fn hostile_world() -> (Home, Server) {
    let hostile = words(HOSTILE);
    let refused = json(400, &[], &format!("{{\"error\":{{\"message\":{}}}}}", json_str(HOSTILE)));
    let models = json(200, &[], &format!("{{\"data\":[{{\"id\":{}}}]}}", json_str(HOSTILE)));
    let called = send(&format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{{\"index\":0,\"id\":{0},\"function\":{{\"name\":\"read_file\",\
         \"arguments\":\"{{\\\"path\\\":\\\"odd\\\"}}\"}}}}]}},\"finish_reason\":\"tool_calls\"}}]}}\n\ndata: [DONE]\n\n",
        json_str(HOSTILE)
    ));
    let answer = vec![stream(), hostile, end()];
    let server = Server::start(vec![answer.clone(), vec![stream(), called], answer, refused, models]);
    let home = Home::new("");
    let mut config = profile(&server.base_url());
    config.insert_str(0, &format!("trusted_folders = [{:?}]\n", home.workspace().display().to_string()));
    home.configure(&config);
    std::fs::write(home.workspace().join("odd"), HOSTILE).unwrap();
    (home, server)
}

#[test]
#[allow(clippy::too_many_lines, reason = "a list")]
fn hostile_text_never_controls_the_terminal() {
    let (home, _server) = hostile_world();
    home.ok(&["session", "new", HOSTILE]);
    let mut output =
        vec![home.run(&["ask", HOSTILE]), home.run(&["ask", "read the file"]), home.run(&["ask", "be refused"])];
    assert_eq!(output.iter().map(|output| output.code).collect::<Vec<_>>(), [0, 0, 4], "{}", output[1].err);
    output.push(home.run(&["models", "--profile", "test"]));
    let file = home.path("in.jsonl");
    let line = format!(
        "{{\"id\":{0},\"role\":\"user\",\"name\":{0},\"content\":{0},\"lane\":{0},\"session\":{0},\"title\":{0}}}\nnot {HOSTILE}\n",
        json_str(HOSTILE)
    );
    std::fs::write(&file, line).unwrap();
    let file = file.display().to_string();
    home.ok(&["branch", "fork", HOSTILE]);
    let question = home.json(&["message", "list"])[0]["id"].as_str().unwrap().to_owned();
    let run = home.json(&["plans", "list"])[0]["run_id"].as_str().unwrap().to_owned();
    home.ok(&["state", "edit", HOSTILE]);
    home.ok(&["pin", "--note", HOSTILE]);
    home.ok(&["exclude", &question]);
    let commands: &[&[&str]] = &[
        &["plan", HOSTILE],
        &["plan", HOSTILE, "--json"],
        &["plans", "list"],
        &["plans", "list", "--json"],
        &["plans", "show", &run],
        &["build", HOSTILE],
        &["context", "show", HOSTILE],
        &["message", "list"],
        &["message", "list", "--json"],
        &["message", "show", &question],
        &["message", "list", "--all"],
        &["branch", "list"],
        &["branch", "list", "--json"],
        &["session", "list"],
        &["session", "list", "--json"],
        &["session", "search", "red"],
        &["state", "show"],
        &["replay", &run, "--dry-run"],
        &["export", "--format", "markdown"],
        &["export", "--all"],
        &["doctor"],
        &["message", "show", HOSTILE],
        &["-s", HOSTILE, "-b", "no\u{1b}[1m", "message", "list"],
        &["-s", "\u{1b}[5m", "branch", "list"],
        &["import", &file],
        &["import", "/no\u{1b}[31m"],
        &["session", "rename", HOSTILE],
        &["\u{1b}[31mask"],
        &["ask", "--\u{9b}31m"],
        &["--model", HOSTILE, "plan", "x"],
        &["--profile", HOSTILE, "plan", "x"],
        &["--policy", HOSTILE, "plan", "x"],
    ];
    for command in commands {
        output.push(home.run(command));
        in_a_terminal(&home, command);
    }
    for output in &output {
        assert_clean(&output.out, "standard output");
        assert_clean(&output.err, "standard error");
    }
}

/// Runs in a pseudo-terminal: the output contains only line ends and the SGR codes of clap's own styling.
fn in_a_terminal(home: &Home, args: &[&str]) {
    let pair = native_pty_system().openpty(PtySize { rows: 50, cols: 200, pixel_width: 0, pixel_height: 0 }).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_pleach"));
    command.args(args);
    command.env_clear();
    for (name, value) in home.env() {
        command.env(name, value);
    }
    command.env("NO_COLOR", "1");
    command.cwd(home.workspace());
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader().unwrap();
    let mut bytes = Vec::new();
    // A pseudo-terminal whose last program has ended reports an error instead of an end of file.
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = reader.read(&mut buffer) {
        bytes.extend_from_slice(&buffer[..read]);
    }
    child.wait().unwrap();
    let text = String::from_utf8(bytes).expect("UTF-8").replace("\r\n", "\n");
    assert!(!text.is_empty(), "{args:?} says something");
    assert_clean(&text, &format!("in a terminal, {args:?}"));
}

/// Removing a message also removes its picked copies: from marks, from undo and redo, and from stored plans.
#[test]
fn removing_a_message_removes_its_copies() {
    let home = Home::scripted("{\"deltas\":[{\"text\":\"ok\"}]}\n");
    home.ok(&["ask", "what we begin with", "-b", "main"]);
    home.ok(&["branch", "fork", "side", "-b", "main"]);
    home.ok(&["ask", "hi, the word is xyzzyplugh, tell nobody", "-b", "side"]);
    let list = home.json(&["message", "list", "-b", "side"]);
    let at = |m: &&Value| m["content"].as_str().is_some_and(|text| text.contains("xyzzyplugh"));
    let id = list.as_array().unwrap().iter().find(at).unwrap()["id"].as_str().unwrap().to_owned();
    home.ok(&["branch", "pick", &id, "-b", "side", "--onto", "main"]);
    home.ok(&["branch", "return", "side", "--onto", "main"]);
    home.ok(&["ask", "what about it?", "-b", "main"]);
    home.ok(&["undo", "-b", "main"]);
    home.ok(&["branch", "return", "side", "--onto", "main"]);
    assert!(!home.files_containing("xyzzyplugh").is_empty());
    home.ok(&["message", "remove", &id, "-b", "side", "--yes"]);
    assert_eq!(home.files_containing("xyzzyplugh"), Vec::<String>::new());
    for act in ["undo", "undo", "undo", "redo", "redo", "redo"] {
        home.run(&[act, "-b", "main"]);
    }
    assert!(!home.ok(&["plan", "what about it?", "-b", "main", "--request"]).contains("xyzzyplugh"));
    assert_eq!(home.files_containing("xyzzyplugh"), Vec::<String>::new());
    home.assert_sound();
}

/// When standard output fails, as with a full disk, the command reports that and fails, and its work is kept.
#[cfg(target_os = "linux")]
#[test]
fn failing_standard_output() {
    let home = Home::scripted("{\"deltas\":[{\"text\":\"ok\"}]}\n");
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for args in [
        &["ask", "hi"][..],
        &["ask", "hi", "--json"],
        &["plan", "hi"],
        &["plan", "hi", "--request"],
        &["export", "--format", "jsonl"],
        &["export", "--format", "markdown"],
        &["message", "list"],
        &["message", "list", "--json"],
        &["config", "path"],
        &["man"],
        &["--version"],
    ] {
        let child = home.command(args).stdout(full()).stderr(std::process::Stdio::piped()).spawn().unwrap();
        let ended = child.wait_with_output().unwrap();
        let err = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(1), "{args:?}: {err}");
        assert!(err.contains("Can't write to standard output: No space left on device."), "{args:?}: {err}");
    }
    assert_conversation(&home, &["hi", "ok", "hi", "ok"]);
    let blocked = home.command(&["--budget", "10", "plan", "hi", "--json"]).stdout(full()).spawn().unwrap();
    assert_eq!(blocked.wait_with_output().unwrap().status.code(), Some(3), "the command's own exit code is kept");
    // A reader that closes the pipe is not a failure.
    let mut child = home.command(&["man"]).spawn().unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), String::from_utf8(ended.stderr).unwrap().as_str()), (Some(0), ""));
}

/// A store whose file vanished, and one with missing content: reported with a remedy, and never silently replaced.
#[test]
fn vanished_store_and_missing_content() {
    let home = Home::scripted("{\"deltas\":[{\"text\":\"ok\"}]}\n");
    home.ok(&["ask", "hi"]);
    let findings = home.json(&["doctor"]);
    let content = |findings: &Value| {
        findings.as_array().unwrap().iter().find(|it| it["subject"] == "store content").unwrap().clone()
    };
    let well = content(&findings);
    assert_eq!((&well["ok"], &well["messages"], &well["faults"]), (&true.into(), &"2".into(), &"".into()));
    for missing in [true, false] {
        if missing { std::fs::remove_file(home.store()) } else { std::fs::write(home.store(), "") }.unwrap();
        let output = home.run(&["ask", "again"]);
        assert_failed(&output, 5, &["although there is a backup of it", ".backup-2", "doctor --repair", "--empty"]);
        assert_eq!(home.store().exists(), !missing, "no new store was created");
        assert_failed(&home.run(&["doctor", "--repair"]), 2, &["--yes", ".backup-2"]);
        let mended = home.json(&["doctor", "--repair", "--yes"]);
        assert_eq!(mended["moved"].is_null(), missing, "{mended}");
        assert_conversation(&home, &["hi", "ok"]);
    }
    let store = rusqlite::Connection::open(home.store()).unwrap();
    store.execute_batch("DROP INDEX node_by_parent").unwrap();
    drop(store);
    let output = home.run(&["doctor", "--json"]);
    assert_eq!(output.code, 5, "scripts can detect it by the exit code: {}", output.out);
    let hurt = content(&serde_json::from_str(&output.out).unwrap());
    assert_eq!((&hurt["ok"], &hurt["faults"]), (&false.into(), &"the index node_by_parent is missing".into()));
    assert!(hurt["todo"].as_str().unwrap().contains("doctor --repair"), "{hurt}");
    home.ok(&["doctor", "--repair", "--yes"]);
    assert_eq!(content(&home.json(&["doctor"]))["ok"], true);
    assert_conversation(&home, &["hi", "ok"]);
}
