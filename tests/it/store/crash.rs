//! kill -9 during a stream: the received text is kept, nothing is half-written, and nothing is sent again.

use crate::support::binary::Home;
use crate::support::server::{Server, Step, stream, words};
use serde_json::Value;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const WORKERS: u64 = 4;
/// Text printed this long before a kill is certainly stored.
const FLUSH: Duration = Duration::from_millis(250);
const WORDS: usize = 400;

/// Deterministic pseudo-random numbers.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

fn word(number: usize) -> String {
    format!("word{number} ")
}

/// An answer in which every word waits for the test.
fn slow() -> Vec<Step> {
    let steps = (0..WORDS).flat_map(|number| [Step::Stall, words(&word(number))]);
    std::iter::once(stream()).chain(steps).chain([Step::Hang]).collect()
}

/// Standard output as timed pieces.
pub(crate) fn watch(mut from: impl std::io::Read + Send + 'static) -> Receiver<(Instant, String)> {
    let (send, pieces) = channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            let _ = send.send((Instant::now(), String::from_utf8_lossy(&buffer[..read]).into_owned()));
        }
    });
    pieces
}

/// Kills once. Returns the text that was certainly stored and the text that was sent.
fn kill_once(home: &Home, chance: &mut Chance, question: &str) -> (String, String, Server) {
    let server = Server::start(vec![slow()]);
    let url = server.base_url();
    let mut command = home.command(&["ask", question]);
    let mut child = command.env("OPENAI_BASE_URL", &url).spawn().unwrap();
    let printed = watch(child.stdout.take().unwrap());
    let errors = watch(child.stderr.take().unwrap());
    server.release();
    let first = printed.recv_timeout(Duration::from_mins(1));
    let first = first.unwrap_or_else(|_| panic!("no text arrived: {:?}", errors.try_iter().collect::<Vec<_>>()));
    let until = Instant::now() + Duration::from_millis(chance.below(1_100));
    let mut sent = 1;
    while Instant::now() < until && sent < WORDS {
        server.release();
        sent += 1;
        // The pace of the stream and the moment of the kill are under test. Nothing is waited for.
        std::thread::sleep(Duration::from_millis(chance.below(40)));
    }
    let run_and_kill = Instant::now();
    child.kill().unwrap();
    child.wait().unwrap();
    let certainly = std::iter::once(first).chain(printed.iter()).filter(|(at, _)| *at + FLUSH <= run_and_kill);
    let certainly: String = certainly.map(|(_, text)| text).collect();
    (certainly, (0..sent).map(word).collect(), server)
}

fn start_again(home: &Home, server: &Server) -> (Vec<Value>, String) {
    let output = home.with(&[("OPENAI_BASE_URL", &server.base_url())], &["message", "list", "--json"]);
    assert_eq!(output.code, 0, "{}", output.err);
    let list: Value = serde_json::from_str(&output.out).unwrap();
    (list.as_array().unwrap().clone(), output.err)
}

fn kill_often(worker: u64) {
    let home =
        Home::new("profile = \"openai\"\nstate_block = \"off\"\n[profiles.openai]\nneeds_key = false\nattempts = 1\n");
    let mut chance = Chance(worker + 1);
    let mut before: Vec<Value> = Vec::new();
    let mut with_words = 0;
    let kills = kills(5);
    for kill in 0..kills {
        let question = format!("question {kill} of {worker}");
        let (certainly, sent, server) = kill_once(&home, &mut chance, &question);
        let (list, report) = start_again(&home, &server);
        assert!(
            report.contains("interrupted") && report.contains("Nothing was sent again"),
            "the next start reports it: {report}"
        );
        assert!(report.contains("pleach regenerate"), "it names commands, not keys: {report}");
        assert_eq!(list[..before.len()], before[..], "earlier messages are unchanged");
        let news = &list[before.len()..];
        let asked = &news[0];
        assert_eq!((&asked["role"], &asked["content"]), (&"user".into(), &question.into()));
        if let Some(answer) = news.get(1) {
            assert_eq!((&answer["role"], &answer["status"]), (&"assistant".into(), &"interrupted".into()));
            assert_eq!(answer["parent"], asked["id"]);
            let kept = answer["content"].as_str().unwrap();
            assert!(!kept.is_empty() && sent.starts_with(kept), "sent: {sent:?}, kept: {kept:?}");
            assert!(
                kept.starts_with(certainly.trim_end()),
                "printed long before the kill: {certainly:?}, kept: {kept:?}"
            );
            assert!(report.contains("its text is kept"), "{report}");
            with_words += 1;
        } else {
            assert_eq!(certainly, "", "lost");
        }
        assert!(news.len() <= 2);
        assert_eq!(start_again(&home, &server).1, "", "reported once");
        assert_eq!(server.requests().len(), 1, "nothing is sent again");
        before = list;
    }
    assert!(with_words >= kills / 2, "most kills happened between words: {with_words}");
    home.assert_sound();
    let plans = home.json(&["plans", "list"]);
    let plans = plans.as_array().unwrap();
    assert_eq!(plans.len(), usize::try_from(kills).unwrap());
    assert!(plans.iter().all(|plan| plan["status"] == "interrupted"));
}

#[test]
fn kills_during_a_stream_lose_nothing() {
    std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            scope.spawn(move || kill_often(worker));
        }
    });
}

/// Killed before the first word: the question is stored, no answer is invented, and nothing is sent again.
#[test]
fn kill_before_the_first_word() {
    let home = Home::new("profile = \"openai\"\n[profiles.openai]\nneeds_key = false\nattempts = 1\n");
    let server = Server::start(vec![vec![Step::Hang]]);
    let mut child = home.command(&["ask", "a question"]).env("OPENAI_BASE_URL", server.base_url()).spawn().unwrap();
    server.await_posts(1);
    child.kill().unwrap();
    child.wait().unwrap();
    let (list, report) = start_again(&home, &server);
    assert!(report.contains("interrupted"), "{report}");
    assert_eq!(list.len(), 1);
    assert_eq!((&list[0]["role"], &list[0]["content"]), (&"user".into(), &"a question".into()));
    assert_eq!(server.requests().len(), 1);
    home.assert_sound();
}

/// A home whose files can grow only slightly beyond their current size, and a command that asks in it. When the log
/// cannot grow, the system fails as with a full disk.
#[cfg(target_os = "linux")]
fn no_room(home: &Home, server: &Server) -> std::process::Command {
    home.ok(&["session", "new"]);
    let size = std::fs::metadata(home.store()).unwrap().len() / 1_024 + 48;
    let line = format!("ulimit -S -f {size}; exec {} ask 'a question'", env!("CARGO_BIN_EXE_pleach"));
    let mut command = std::process::Command::new("/bin/bash");
    command.args(["-c", &line]).env_clear().envs(home.env()).env("OPENAI_BASE_URL", server.base_url());
    command.current_dir(home.workspace()).stdin(std::process::Stdio::null());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    command
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk_during_an_answer() {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    for room_again in [true, false] {
        let big = "filler words ".repeat(60_000);
        let answer = vec![
            stream(),
            words("The beginning. "),
            Step::Stall,
            words(&big),
            Step::Stall,
            words("The end."),
            crate::support::server::end(),
        ];
        let server = Server::start(vec![answer]);
        let home = Home::new(
            "profile = \"openai\"\nstate_block = \"off\"\n[profiles.openai]\nneeds_key = false\nattempts = 1\n",
        );
        let mut child = no_room(&home, &server).spawn().unwrap();
        let printed = watch(child.stdout.take().unwrap());
        let errors = watch(child.stderr.take().unwrap());
        let saved = rusqlite::Connection::open(home.store()).unwrap();
        let begun = Instant::now();
        // The first words are acknowledged, so they are in the store.
        while !saved.query_row("SELECT count(*) > 0 FROM stream_chunk", [], |row| row.get::<_, bool>(0)).unwrap() {
            assert!(begun.elapsed() < Duration::from_mins(1), "the first words are saved");
            std::thread::yield_now();
        }
        drop(saved);
        server.release();
        let mut errors_text = String::new();
        while !errors_text.contains("The store can't be written") {
            let (_, more) =
                errors.recv_timeout(Duration::from_mins(1)).unwrap_or_else(|_| panic!("not reported: {errors_text}"));
            errors_text.push_str(&more);
        }
        assert!(child.try_wait().unwrap().is_none(), "the program is alive");
        if room_again {
            let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
            prlimit(pid, Resource::Fsize, Rlimit { current: None, maximum: None }).unwrap();
            server.release();
            let out: String = printed.iter().map(|(_, text)| text).collect();
            assert_eq!(out.trim_end(), format!("The beginning. {big}The end."), "the whole answer was printed");
            assert_eq!(child.wait().unwrap().code(), Some(0));
        } else {
            child.kill().unwrap();
            child.wait().unwrap();
            let out: String = printed.iter().map(|(_, text)| text).collect();
            assert!(out.starts_with("The beginning."), "{out}");
        }
        let (list, _) = start_again(&home, &server);
        let answer = list[1]["content"].as_str().unwrap();
        if room_again {
            assert_eq!((answer.len(), list[1]["status"].as_str()), (big.len() + 23, Some("complete")));
        } else {
            assert!(answer.starts_with("The beginning."), "no saved text is lost");
            assert_eq!(list[1]["status"], "interrupted");
        }
        home.assert_sound();
        assert_eq!(server.requests().len(), 1);
    }
}

/// How often something is killed: `usual` times, or as often as `PLEACH_KILLS` says.
fn kills(usual: u64) -> u64 {
    std::env::var("PLEACH_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(usual)
}

/// Starts a command and kills it at a random moment of its usual duration.
fn run_and_kill(home: &Home, args: &[&str], chance: &mut Chance, length: Duration) {
    let mut child = home.command(args).spawn().unwrap();
    let moment = chance.below(u64::try_from(length.as_micros()).unwrap() + 2_000);
    // The moment of the kill is under test. Nothing is waited for.
    std::thread::sleep(Duration::from_micros(moment));
    let _ = child.kill();
    child.wait().unwrap();
}

/// The texts of the active path.
fn texts(home: &Home) -> Vec<String> {
    let list = home.json(&["message", "list"]);
    list.as_array().unwrap().iter().map(|node| node["content"].as_str().unwrap().to_owned()).collect()
}

/// Both the program's own check and SQLite's find the store healthy.
fn assert_healthy(home: &Home, what: &str) {
    for finding in home.json(&["doctor"]).as_array().unwrap() {
        let subject = finding["subject"].as_str().unwrap();
        // The progress of converting stored plans is not a fault.
        assert!(!matches!(subject, "store" | "store content") || finding["ok"] == true, "{what}: {finding}");
    }
    home.assert_sound();
}

fn lines(from: usize, count: usize) -> String {
    let line = |n| format!("{{\"role\":\"user\",\"content\":\"line {n} of a chat\"}}\n");
    (from..from + count).map(line).collect::<Vec<_>>().concat()
}

fn backups(home: &Home) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(home.store().parent().unwrap()).unwrap().flatten().map(|entry| entry.path());
    entries.filter(|path| path.to_string_lossy().ends_with('Z')).collect()
}

/// A store of version 2 with many plans in the older form.
fn with_old_plans() -> Home {
    let home = Home::scripted("");
    std::fs::create_dir_all(home.store().parent().unwrap()).unwrap();
    let packed = std::fs::File::open("tests/fixtures/store-v2.db.zst").unwrap();
    std::fs::write(home.store(), zstd::stream::decode_all(packed).unwrap()).unwrap();
    let more = "WITH RECURSIVE copy (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copy WHERE n < 40)
                INSERT INTO plan (id, body) SELECT randomblob(32), body FROM plan, copy";
    rusqlite::Connection::open(home.store()).unwrap().execute_batch(more).unwrap();
    home
}

/// Converting stored plans, killed three times: every plan keeps its id and is in one of the two forms, and the plans
/// of calls read the same as after an uninterrupted conversion.
fn plans_survive(chance: &mut Chance, length: Duration) {
    let (home, whole) = (with_old_plans(), with_old_plans());
    let ids = || -> Vec<Vec<u8>> {
        let store = rusqlite::Connection::open(home.store()).unwrap();
        let version: i64 = store.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
        let older = if version == 2 { "" } else { "UNION SELECT id FROM plan_text" };
        let mut query = store.prepare(&format!("SELECT id FROM plan {older} ORDER BY id")).unwrap();
        query.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    let all = ids();
    for _ in 0..3 {
        run_and_kill(&home, &["session", "list"], chance, length);
        assert_eq!(ids(), all, "conversion of plans");
    }
    assert_healthy(&home, "conversion of plans");
    let run = home.json(&["plans", "list"])[0]["run_id"].as_str().unwrap().to_owned();
    assert_eq!(home.json(&["plans", "show", &run]), whole.json(&["plans", "show", &run]));
}

/// Each kind of write, killed at any moment, is complete or absent, and earlier data stays.
#[test]
fn kills_during_writes_lose_nothing() {
    let home = Home::scripted("{\"deltas\":[{\"text\":\"An answer.\"}]}\n");
    home.ok(&["ask", "the first question"]);
    let begun = Instant::now();
    home.ok(&["ask", "the second question"]);
    let length = begun.elapsed();
    let (mut chance, mut converted) = (Chance(7), None);
    for round in 0..kills(3) {
        // A question: the acknowledged text is the beginning of the stored text.
        let before = texts(&home);
        run_and_kill(&home, &["ask", &format!("question {round}")], &mut chance, length);
        let after = texts(&home);
        assert!(after.starts_with(&before) && after.len() <= before.len() + 2, "ask: {before:?} and then {after:?}");
        assert_healthy(&home, "ask");

        // An import: all or nothing.
        let file = home.path(&format!("chat-{round}.jsonl"));
        std::fs::write(&file, lines(usize::try_from(round).unwrap() * 1_000, 300)).unwrap();
        let own = home.json(&["session", "list"])[0]["id"].as_str().unwrap().to_owned();
        run_and_kill(&home, &["import", &file.display().to_string()], &mut chance, length);
        for session in home.json(&["session", "list"]).as_array().unwrap() {
            let id = session["id"].as_str().unwrap();
            let count = home.json(&["-s", id, "message", "list"]).as_array().unwrap().len();
            assert!(id == own || count == 300 || count == after.len(), "import: {count} messages");
        }
        // Makes the conversation active again.
        home.ok(&["-s", &own, "message", "list"]);
        assert_healthy(&home, "import");

        // Removal and undo: before or after, nothing between.
        let word = format!("remove-me-{round}");
        home.ok(&["ask", &word]);
        let before = texts(&home);
        let asked = home.json(&["message", "list"]);
        let id = asked.as_array().unwrap().iter().rev().find(|node| node["role"] == "user").unwrap()["id"].clone();
        run_and_kill(&home, &["message", "remove", id.as_str().unwrap(), "--yes"], &mut chance, length);
        let after = texts(&home);
        assert_eq!(after.len(), before.len(), "the active session stays");
        assert_healthy(&home, "removal");
        if !after.contains(&word) {
            assert_eq!(home.files_containing(&word), Vec::<String>::new(), "removed from everywhere");
        }
        home.ok(&["ask", "to be undone"]);
        let (before, without) = (texts(&home), after);
        run_and_kill(&home, &["undo"], &mut chance, length);
        let after = texts(&home);
        assert!(after == before || after == without, "undo: {before:?} and then {after:?}");
        assert_healthy(&home, "undo");

        // A store of an older schema stays as it is or is migrated completely, with its content.
        let old = Home::scripted("");
        std::fs::create_dir_all(old.store().parent().unwrap()).unwrap();
        std::fs::copy("tests/fixtures/store-v1.db", old.store()).unwrap();
        run_and_kill(&old, &["session", "list"], &mut chance, length);
        let list = old.json(&["session", "list"]);
        assert_eq!(list, *converted.get_or_insert_with(|| list.clone()), "conversion");
        assert_healthy(&old, "conversion");
        plans_survive(&mut chance, length);

        // A backup: the file is complete or absent.
        for file in backups(&home) {
            std::fs::remove_file(file).unwrap();
        }
        run_and_kill(&home, &["session", "list"], &mut chance, length);
        for file in backups(&home) {
            let copy = rusqlite::Connection::open(&file).unwrap();
            let verdict: String = copy.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
            assert_eq!(verdict, "ok", "backup");
        }
        assert_healthy(&home, "backup");
    }
}
