//! kill -9 in the middle of a stream: what had come is kept, nothing is half, nothing is sent again.

use crate::support::binary::Home;
use crate::support::server::{Server, Step, stream, words};
use serde_json::Value;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const WORKERS: u64 = 4;
const KILLS: u64 = 15;
/// What was printed this long before is surely kept.
const FLUSH: Duration = Duration::from_millis(250);
const WORDS: usize = 400;

/// Numbers that look random and are always the same.
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

/// Standard output as it came, piece by piece with the time of each.
fn watch(mut from: impl std::io::Read + Send + 'static) -> Receiver<(Instant, String)> {
    let (send, pieces) = channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            let _ = send.send((Instant::now(), String::from_utf8_lossy(&buffer[..read]).into_owned()));
        }
    });
    pieces
}

/// One kill. Gives the text that had surely been kept and the text that had been sent.
fn kill_once(home: &Home, chance: &mut Chance, question: &str) -> (String, String, Server) {
    let server = Server::start(vec![slow()]);
    let url = server.base_url();
    let mut command = home.command(&["ask", question]);
    let mut child = command.env("OPENAI_BASE_URL", &url).spawn().unwrap();
    let printed = watch(child.stdout.take().unwrap());
    let errors = watch(child.stderr.take().unwrap());
    server.release();
    let first = printed.recv_timeout(Duration::from_mins(1));
    let first = first.unwrap_or_else(|_| panic!("no word came: {:?}", errors.try_iter().collect::<Vec<_>>()));
    let until = Instant::now() + Duration::from_millis(chance.below(1_100));
    let mut sent = 1;
    while Instant::now() < until && sent < WORDS {
        server.release();
        sent += 1;
        // The pace of the stream and the moment of the kill are what is tried here; nothing is waited for.
        std::thread::sleep(Duration::from_millis(chance.below(40)));
    }
    let killed = Instant::now();
    child.kill().unwrap();
    child.wait().unwrap();
    let surely = std::iter::once(first).chain(printed.iter()).filter(|(at, _)| *at + FLUSH <= killed);
    let surely: String = surely.map(|(_, text)| text).collect();
    (surely, (0..sent).map(word).collect(), server)
}

fn start_again(home: &Home, server: &Server) -> (Vec<Value>, String) {
    let said = home.with(&[("OPENAI_BASE_URL", &server.base_url())], &["message", "list", "--json"]);
    assert_eq!(said.code, 0, "{}", said.err);
    let list: Value = serde_json::from_str(&said.out).unwrap();
    (list.as_array().unwrap().clone(), said.err)
}

fn kill_often(worker: u64) {
    let home =
        Home::new("profile = \"openai\"\nstate_block = \"off\"\n[profiles.openai]\nneeds_key = false\nattempts = 1\n");
    let mut chance = Chance(worker + 1);
    let mut before: Vec<Value> = Vec::new();
    let mut with_words = 0;
    for kill in 0..KILLS {
        let question = format!("question {kill} of {worker}");
        let (surely, sent, server) = kill_once(&home, &mut chance, &question);
        let (list, told) = start_again(&home, &server);
        assert!(
            told.contains("interrupted") && told.contains("Nothing was sent again"),
            "the next start tells: {told}"
        );
        assert!(told.contains("pleach regenerate"), "in commands, not in keys: {told}");
        assert_eq!(list[..before.len()], before[..], "what was there is as it was");
        let news = &list[before.len()..];
        let asked = &news[0];
        assert_eq!((&asked["role"], &asked["content"]), (&"user".into(), &question.into()));
        if let Some(answer) = news.get(1) {
            assert_eq!((&answer["role"], &answer["status"]), (&"assistant".into(), &"interrupted".into()));
            assert_eq!(answer["parent"], asked["id"]);
            let kept = answer["content"].as_str().unwrap();
            assert!(!kept.is_empty() && sent.starts_with(kept), "sent: {sent:?}, kept: {kept:?}");
            assert!(kept.starts_with(surely.trim_end()), "printed long before: {surely:?}, kept: {kept:?}");
            assert!(told.contains("the part that arrived is kept"), "{told}");
            with_words += 1;
        } else {
            assert_eq!(surely, "", "lost");
        }
        assert!(news.len() <= 2);
        assert_eq!(start_again(&home, &server).1, "", "told once");
        assert_eq!(server.requests().len(), 1, "nothing is sent again");
        before = list;
    }
    assert!(with_words >= KILLS / 2, "most kills came in the middle of words: {with_words}");
    home.assert_sound();
    let plans = home.json(&["plans", "list"]);
    let plans = plans.as_array().unwrap();
    assert_eq!(plans.len(), usize::try_from(KILLS).unwrap());
    assert!(plans.iter().all(|plan| plan["status"] == "interrupted"));
}

#[test]
fn sixty_kills_in_a_stream_lose_nothing() {
    std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            scope.spawn(move || kill_often(worker));
        }
    });
}

/// Before the first word: the question is there, no answer is made up, nothing is sent again.
#[test]
fn a_kill_before_the_first_word() {
    let home = Home::new("profile = \"openai\"\n[profiles.openai]\nneeds_key = false\nattempts = 1\n");
    let server = Server::start(vec![vec![Step::Hang]]);
    let mut child = home.command(&["ask", "a question"]).env("OPENAI_BASE_URL", server.base_url()).spawn().unwrap();
    let begun = Instant::now();
    while server.requests().is_empty() {
        assert!(begun.elapsed() < Duration::from_mins(1), "the request came");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let (list, told) = start_again(&home, &server);
    assert!(told.contains("interrupted"), "{told}");
    assert_eq!(list.len(), 1);
    assert_eq!((&list[0]["role"], &list[0]["content"]), (&"user".into(), &"a question".into()));
    assert_eq!(server.requests().len(), 1);
    home.assert_sound();
}

/// A home whose files cannot grow beyond what the store has now and a little, and the command that asks in it. Where
/// the log cannot grow the system refuses as a full disk does.
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
fn a_full_disk_in_the_middle_of_an_answer() {
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
        // What is acknowledged: the first words are in the store.
        while !saved.query_row("SELECT count(*) > 0 FROM stream_chunk", [], |row| row.get::<_, bool>(0)).unwrap() {
            assert!(begun.elapsed() < Duration::from_mins(1), "the first words are saved");
            std::thread::yield_now();
        }
        drop(saved);
        server.release();
        let mut told = String::new();
        while !told.contains("The store can't be written") {
            let (_, more) = errors.recv_timeout(Duration::from_mins(1)).unwrap_or_else(|_| panic!("not told: {told}"));
            told.push_str(&more);
        }
        assert!(child.try_wait().unwrap().is_none(), "the program lives");
        if room_again {
            let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
            prlimit(pid, Resource::Fsize, Rlimit { current: None, maximum: None }).unwrap();
            server.release();
            let out: String = printed.iter().map(|(_, text)| text).collect();
            assert_eq!(out.trim_end(), format!("The beginning. {big}The end."), "all of it was printed");
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
            assert!(answer.starts_with("The beginning."), "nothing that was saved is lost");
            assert_eq!(list[1]["status"], "interrupted");
        }
        home.assert_sound();
        assert_eq!(server.requests().len(), 1);
    }
}

/// How often each kind of write is killed; `PLEACH_KILLS` widens it.
fn kills_of_each() -> u64 {
    std::env::var("PLEACH_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(3)
}

/// Starts a command and kills it at some moment of its life, whose usual length is known.
fn killed(home: &Home, args: &[&str], chance: &mut Chance, length: Duration) {
    let mut child = home.command(args).spawn().unwrap();
    let moment = chance.below(u64::try_from(length.as_micros()).unwrap() + 2_000);
    // The moment of the kill is what is tried here; nothing is waited for.
    std::thread::sleep(Duration::from_micros(moment));
    let _ = child.kill();
    child.wait().unwrap();
}

/// The texts of the path that is stood on.
fn texts(home: &Home) -> Vec<String> {
    let list = home.json(&["message", "list"]);
    list.as_array().unwrap().iter().map(|node| node["content"].as_str().unwrap().to_owned()).collect()
}

/// The program's own opinion of the store, and SQLite's.
fn assert_well(home: &Home, what: &str) {
    for finding in home.json(&["doctor"]).as_array().unwrap() {
        let subject = finding["subject"].as_str().unwrap();
        // How far the conversion of stored plans is, is neither well nor ill.
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

/// A store of version 2 with many plans, which stand in the older form.
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

/// The conversion of stored plans, killed three times: every plan stays under its id, in one of the two forms, and the
/// plans of calls read the same as in a store whose conversion was never killed.
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
        killed(&home, &["session", "list"], chance, length);
        assert_eq!(ids(), all, "conversion of plans");
    }
    assert_well(&home, "conversion of plans");
    let run = home.json(&["plans", "list"])[0]["run_id"].as_str().unwrap().to_owned();
    assert_eq!(home.json(&["plans", "show", &run]), whole.json(&["plans", "show", &run]));
}

/// Each kind of write, killed at any moment: it is done whole or not at all, and what was there before stays.
#[test]
fn a_kill_in_any_write_loses_nothing() {
    let home = Home::scripted("{\"deltas\":[{\"text\":\"An answer.\"}]}\n");
    home.ok(&["ask", "the first question"]);
    let begun = Instant::now();
    home.ok(&["ask", "the second question"]);
    let length = begun.elapsed();
    let (mut chance, mut converted) = (Chance(7), None);
    for round in 0..kills_of_each() {
        // A question: what was acknowledged is the beginning of what is there now.
        let before = texts(&home);
        killed(&home, &["ask", &format!("question {round}")], &mut chance, length);
        let after = texts(&home);
        assert!(after.starts_with(&before) && after.len() <= before.len() + 2, "ask: {before:?} and then {after:?}");
        assert_well(&home, "ask");

        // An import: all of it or nothing.
        let file = home.path(&format!("chat-{round}.jsonl"));
        std::fs::write(&file, lines(usize::try_from(round).unwrap() * 1_000, 300)).unwrap();
        let own = home.json(&["session", "list"])[0]["id"].as_str().unwrap().to_owned();
        killed(&home, &["import", &file.display().to_string()], &mut chance, length);
        for session in home.json(&["session", "list"]).as_array().unwrap() {
            let id = session["id"].as_str().unwrap();
            let count = home.json(&["-s", id, "message", "list"]).as_array().unwrap().len();
            assert!(id == own || count == 300 || count == after.len(), "import: {count} messages");
        }
        // Stands on the conversation again.
        home.ok(&["-s", &own, "message", "list"]);
        assert_well(&home, "import");

        // Removal and undo: before or after, nothing between.
        let word = format!("remove-me-{round}");
        home.ok(&["ask", &word]);
        let before = texts(&home);
        let asked = home.json(&["message", "list"]);
        let id = asked.as_array().unwrap().iter().rev().find(|node| node["role"] == "user").unwrap()["id"].clone();
        killed(&home, &["message", "remove", id.as_str().unwrap(), "--yes"], &mut chance, length);
        let after = texts(&home);
        assert_eq!(after.len(), before.len(), "the place stays");
        assert_well(&home, "removal");
        if !after.contains(&word) {
            assert_eq!(home.holding(&word), Vec::<String>::new(), "removed, and nowhere any more");
        }
        home.ok(&["ask", "to be undone"]);
        let (before, without) = (texts(&home), after);
        killed(&home, &["undo"], &mut chance, length);
        let after = texts(&home);
        assert!(after == before || after == without, "undo: {before:?} and then {after:?}");
        assert_well(&home, "undo");

        // A store of an older schema: it stays that or becomes a present one, and holds what it held.
        let old = Home::scripted("");
        std::fs::create_dir_all(old.store().parent().unwrap()).unwrap();
        std::fs::copy("tests/fixtures/store-v1.db", old.store()).unwrap();
        killed(&old, &["session", "list"], &mut chance, length);
        let list = old.json(&["session", "list"]);
        assert_eq!(list, *converted.get_or_insert_with(|| list.clone()), "conversion");
        assert_well(&old, "conversion");
        plans_survive(&mut chance, length);

        // A backup: under its name there is a whole one or none.
        for file in backups(&home) {
            std::fs::remove_file(file).unwrap();
        }
        killed(&home, &["session", "list"], &mut chance, length);
        for file in backups(&home) {
            let copy = rusqlite::Connection::open(&file).unwrap();
            let verdict: String = copy.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
            assert_eq!(verdict, "ok", "backup");
        }
        assert_well(&home, "backup");
    }
}
