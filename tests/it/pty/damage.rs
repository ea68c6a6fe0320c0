//! A damaged store and the workbench: a question before the screen opens, and no change without an answer; a background
//! check after a kill; a full disk.

use super::shell::until;
use crate::support::damage::{DAMAGES, flip_leaf};
use crate::support::pty::{Home, Pty, Start};
use crate::support::server::{Server, Step, end, stream, words};
use rustix::process::{Resource, Rlimit, Signal, prlimit};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A home with one answered question, and its store's file.
fn used() -> (Home, PathBuf) {
    let home = Home::offline();
    let (output, code) = home.cli(&["ask", "Where is my talk?"]);
    assert_eq!(code, 0, "{output}");
    let store = home.path("data/pleach/pleach.db");
    (home, store)
}

fn backups(store: &Path) -> Vec<PathBuf> {
    beside(store, "pleach.db.backup-")
}

fn beside(store: &Path, begins: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(store.parent().unwrap()).unwrap().flatten().map(|entry| entry.path());
    entries.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(begins)).collect()
}

/// The damaged file after it was moved aside, without its log.
fn moved_aside(store: &Path) -> PathBuf {
    let found = beside(store, "pleach.db.corrupt-");
    found.into_iter().find(|path| path.to_string_lossy().ends_with('Z')).expect("the file was moved")
}

/// Shows the question and answers it.
fn asked(home: &Home, backup: bool, answer: &str) -> Pty {
    let pty = Start::new(home).size(180, 40).run();
    let screen = pty.see("? [q]");
    assert!(screen.contains("is damaged") && screen.contains("[n] move the store aside"), "{screen}");
    assert_eq!(screen.contains("[b]"), backup, "{screen}");
    assert_eq!(screen.contains("It has no backup"), !backup, "{screen}");
    assert!(!pty.ledger().entered, "before the screen opens");
    pty.keys(answer);
    pty
}

#[test]
fn nothing_changes_without_an_answer() {
    for (name, harm) in DAMAGES {
        let (home, store) = used();
        harm(&store);
        let bytes = std::fs::read(&store).unwrap();
        for (backup, answer) in [(true, "q\r"), (true, "\r"), (true, "\x04"), (false, "b\r"), (false, "\r")] {
            if !backup {
                for file in backups(&store) {
                    std::fs::remove_file(file).unwrap();
                }
            }
            let ended = asked(&home, backup, answer).ended();
            assert_eq!(ended.code, 5, "{name}: {}", ended.screen);
            assert!(!ended.ledger.entered && ended.termios == ended.before, "{name}");
            assert!(ended.screen.contains("doctor --repair"), "{}", ended.screen);
            assert_eq!(std::fs::read(&store).unwrap(), bytes, "{name}, {answer:?}");
        }
        assert!(beside(&store, "pleach.db.corrupt-").is_empty());
    }
}

#[test]
fn from_the_newest_backup() {
    for (name, harm) in DAMAGES {
        let (home, store) = used();
        harm(&store);
        let bytes = std::fs::read(&store).unwrap();
        let pty = asked(&home, true, "b\r");
        pty.until("the talk of the backup", |screen| {
            screen.contains("Where is my talk?") && screen.contains("offline")
        });
        pty.keys("\x04");
        assert_eq!(pty.ended().code, 0, "{name}");
        assert_eq!(std::fs::read(moved_aside(&store)).unwrap(), bytes, "{name}: moved as it was");
        assert_eq!(home.json(&["message", "list"]).as_array().unwrap().len(), 2, "{name}");
    }
}

#[test]
fn from_an_empty_store() {
    let (home, store) = used();
    let (_, harm) = DAMAGES[2];
    harm(&store);
    let bytes = std::fs::read(&store).unwrap();
    let pty = asked(&home, true, "n\r");
    let screen = pty.see("pleach shows every request");
    assert!(!screen.contains("Where is my talk?"), "{screen}");
    pty.keys("\x04");
    assert_eq!(pty.ended().code, 0);
    assert_eq!(std::fs::read(moved_aside(&store)).unwrap(), bytes);
}

/// Damage that no start reads: only the check finds it, and only after a kill.
#[test]
fn file_is_checked_after_a_kill() {
    let (home, store) = used();
    let mut lines = String::new();
    for n in 0..400 {
        let _ =
            writeln!(lines, "{{\"role\":\"user\",\"content\":\"entry{n} lorem{n} ipsum{n} dolor{n} sit{n} amet{n}\"}}");
    }
    let file = home.path("many.jsonl");
    std::fs::write(&file, lines).unwrap();
    let (output, code) = home.cli(&["import", &file.display().to_string()]);
    assert_eq!(code, 0, "{output}");
    let up = || {
        let pty = Start::new(&home).size(180, 40).run();
        pty.until("the workbench", |screen| screen.contains("entry399"));
        pty
    };
    let dead = || {
        let entries = std::fs::read_dir(store.with_file_name("owners")).unwrap().flatten();
        entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "dead")).count()
    };
    let pty = up();
    pty.signal(Signal::KILL);
    pty.ended();
    let pty = up();
    until("the check found nothing", || dead() == 0);
    pty.keys("still here");
    let screen = pty.see("still here");
    assert!(!screen.contains("damaged"), "{screen}");
    pty.signal(Signal::KILL);
    pty.ended();

    flip_leaf(&store, "search_data");
    let pty = up();
    pty.see("The store is damaged: export the sessions that you need, quit, and run `pleach doctor --repair`.");
    pty.keys("\x1b");
    pty.until("the alarm is put away", |screen| !screen.contains("is damaged"));
    pty.keys("\x04");
    let code = pty.ended().code;
    assert_eq!(code, 0, "reported, and work continues");
    assert_eq!(dead(), 1, "reported again at the next start");
    let (output, _) = home.cli(&["doctor"]);
    assert!(output.contains("✗ store") && output.contains("damaged") && output.contains("doctor --repair"), "{output}");
}

/// Starts the program with room for few more bytes in the store, and a turn whose answer does not fit.
#[cfg(target_os = "linux")]
fn answer_on_full_disk(home: &Home, server: &Server) -> Pty {
    let (output, code) = home.cli(&["session", "new"]);
    assert_eq!(code, 0, "{output}");
    let size = std::fs::metadata(home.path("data/pleach/pleach.db")).unwrap().len() / 1_024 + 48;
    let line = format!("ulimit -S -f {size}; exec {}", env!("CARGO_BIN_EXE_pleach"));
    let pty = Start::new(home).program(Path::new("/bin/bash")).args(&["-c", &line]).size(180, 40).run();
    pty.see("Type a message");
    pty.keys("A question\r");
    pty.see("The beginning.");
    server.release();
    pty
}

/// The disk fills up during an answer: the answer stays on the screen, the problem is reported, and the answer is saved
/// once there is room.
#[cfg(target_os = "linux")]
#[test]
fn full_disk_during_an_answer() {
    let big = "filler words ".repeat(60_000);
    let script = vec![
        stream(),
        words("The beginning. "),
        Step::Stall,
        words(&big),
        words("The middle."),
        Step::Stall,
        words(" The end."),
        end(),
    ];
    let server = Server::start_posts(vec![script]);
    let home = Home::server(&server.base_url());
    let pty = answer_on_full_disk(&home, &server);
    pty.until("it is said, and what came is there", |screen| {
        screen.contains("The store can't be written") && screen.contains("The middle.")
    });
    pty.keys("alive");
    pty.see("> alive");
    prlimit(Some(pty.pid), Resource::Fsize, Rlimit { current: None, maximum: None }).unwrap();
    server.release();
    pty.see("The end.");
    until("the turn is over", || home.json(&["plans", "list"])[0]["status"] == "complete");
    pty.until("the banner goes by itself", |screen| !screen.contains("can't be written"));
    pty.keys("\x03\x04");
    assert_eq!(pty.ended().code, 0);
    let list = home.json(&["message", "list"]);
    let answer = list.as_array().unwrap().last().unwrap().clone();
    assert_eq!(answer["status"], "complete");
    let kept = answer["content"].as_str().unwrap();
    assert_eq!(kept, format!("The beginning. {big}The middle. The end."), "the whole answer");
}

/// Quitting while the disk is full: the program says what would be lost, asks again when a file cannot be written, and
/// can import the saved file.
#[cfg(target_os = "linux")]
#[test]
fn quitting_on_a_full_disk() {
    let big = "filler words ".repeat(60_000);
    let script = vec![stream(), words("The beginning. "), Step::Stall, words(&big), words("The middle."), Step::Hang];
    let server = Server::start_posts(vec![script]);
    let mut home = Home::server(&server.base_url());
    home.set("TMPDIR", &home.path("").display().to_string());
    let pty = answer_on_full_disk(&home, &server);
    pty.until("it is said", |screen| screen.contains("The store can't be written") && screen.contains("The middle."));
    pty.keys("half a thought");
    pty.see("> half a thought");
    pty.keys("\x18q");
    let screen = pty.see("Quit and lose this?");
    assert!(screen.contains("the answer on main: 120,004 words (assistant)"), "{screen}");
    pty.keys("n");
    pty.until("it goes on", |screen| !screen.contains("Quit and lose this?") && screen.contains("> half a thought"));
    pty.keys("\x18q");
    pty.see("Quit and lose this?");
    pty.keys("s");
    pty.see("Save the unwritten messages to this file");
    pty.keys("\r");
    pty.see("That file could not be written: File too large");
    assert!(unsaved(&home).is_empty(), "no partial file is left");
    prlimit(Some(pty.pid), Resource::Fsize, Rlimit { current: None, maximum: None }).unwrap();
    pty.keys("\r");
    assert_eq!(pty.ended().code, 0);
    let [file] = unsaved(&home).try_into().unwrap();
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(kept.contains(&format!("The beginning. {big}The middle.")), "the whole answer");
    let (output, code) = home.cli(&["import", &file.display().to_string()]);
    assert_eq!(code, 0, "{output}");
}

#[cfg(target_os = "linux")]
fn unsaved(home: &Home) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(home.path("")).unwrap().flatten().map(|entry| entry.path());
    entries.filter(|path| path.to_string_lossy().contains("pleach-unsaved-")).collect()
}
