//! The terminal is restored on every way to exit: its settings, its modes, and its main screen.

use crate::support::pty::{Ended, Home, Pty, Start};
use rustix::process::Signal;
use std::time::Duration;

/// Text that shows that the workbench is ready.
const READY: &str = "pleach shows every request";

fn up(home: &Home) -> Pty {
    let pty = Pty::open(home);
    pty.see(READY);
    assert!(pty.ledger().on.contains(&1049), "the alternate screen is entered");
    assert_ne!(pty.termios(), pty.before, "raw mode is on");
    pty
}

#[track_caller]
fn clean(pty: Pty, code: u32) -> Ended {
    let before = pty.before.clone();
    let ended = pty.ended();
    assert_eq!(ended.termios, before, "the terminal's settings");
    assert!(ended.ledger.balanced(), "left behind: {:?}", ended.ledger);
    assert_eq!(ended.code, code, "the exit code; the screen:\n{}", ended.screen);
    assert!(!ended.screen.contains('─'), "a rule is left on the main screen:\n{}", ended.screen);
    ended
}

#[test]
fn after_quitting() {
    let home = Home::offline();
    let pty = up(&home);
    pty.keys("\x04");
    clean(pty, 0);
    let pty = up(&home);
    pty.keys("draft\x03");
    pty.see(READY);
    pty.keys("\x03");
    pty.see("again to quit");
    pty.keys("\x03");
    clean(pty, 0);
}

#[test]
fn after_signals() {
    let home = Home::offline();
    let others = [Signal::QUIT, Signal::USR1, Signal::USR2, Signal::ALARM, Signal::XCPU]
        .map(|it| (it, 128 + it.as_raw().unsigned_abs()));
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)].into_iter().chain(others) {
        let pty = up(&home);
        pty.signal(signal);
        clean(pty, code);
    }
}

#[test]
fn with_the_mouse_taken() {
    let home = Home::offline();
    home.config("[screen]\nmouse = true\n");
    let pty = up(&home);
    assert!(pty.ledger().on.contains(&1000) || pty.ledger().on.contains(&1002), "{:?}", pty.ledger());
    pty.signal(Signal::TERM);
    clean(pty, 143);
}

#[cfg(debug_assertions)]
#[test]
fn after_a_panic() {
    for (wher, keys) in [("update", "\x1b[20~"), ("engine", "\tu"), ("view", "simulate")] {
        let mut home = Home::offline();
        home.set("PLEACH_TEST_PANIC", wher);
        let pty = up(&home);
        pty.keys(keys);
        let ended = clean(pty, 101);
        let raw = String::from_utf8_lossy(&ended.raw).into_owned();
        let (screen, main) = raw.rsplit_once("\x1b[?1049l").unwrap();
        assert!(
            main.contains(&format!("simulated panic in the {wher}")),
            "the message is on the main screen: \
            {main:?}"
        );
        assert!(!screen.contains("simulated panic"), "and not earlier");
        let log = std::fs::read_to_string(home.path("state/pleach/log/pleach.log")).unwrap_or_default();
        assert!(log.contains("simulated panic"), "and in the log: {log:?}");
    }
}

/// A panic in a call's task: the answer is an error, the workbench continues, and the message is in the log.
#[cfg(debug_assertions)]
#[test]
fn panic_in_a_call_ends_only_the_call() {
    let mut home = Home::offline();
    home.set("PLEACH_TEST_PANIC", "call");
    let pty = up(&home);
    pty.keys("A question\r");
    pty.until("it is said and the draft is back", |screen| {
        screen.contains("An internal error interrupted the answer") && screen.contains("> A question")
    });
    pty.keys("\x03\x04");
    let ended = clean(pty, 0);
    assert!(!String::from_utf8_lossy(&ended.raw).contains("simulated panic"), "no message on the screen");
    let log = std::fs::read_to_string(home.path("state/pleach/log/pleach.log")).unwrap_or_default();
    assert!(log.contains("simulated panic in the call"), "but in the log: {log:?}");
}

#[test]
fn after_a_failed_start() {
    let home = Home::offline();
    home.config("[screen\nmouse = true\n");
    let pty = Pty::open(&home);
    let ended = clean(pty, 2);
    assert!(!ended.ledger.entered, "the alternate screen was never entered");
    assert!(ended.screen.contains("config.toml"), "{}", ended.screen);
    let home = Home::offline();
    let dir = home.path("data/pleach");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("pleach.db"), vec![7; 40_000]).unwrap();
    let pty = Pty::open(&home);
    pty.see("? [q]");
    pty.keys("q\r");
    clean(pty, 5);
    assert_eq!(std::fs::read(dir.join("pleach.db")).unwrap(), vec![7; 40_000], "the file is unchanged");
}

/// At first Ctrl+C is a signal, later a key. Either way the terminal is restored.
#[test]
fn ctrl_c_at_once() {
    let home = Home::offline();
    for wait in [0, 2, 5, 10, 20, 35, 50] {
        let pty = Pty::open(&home);
        // The moment is under test. The result does not depend on the program's progress.
        std::thread::sleep(Duration::from_millis(wait));
        pty.keys("\x03");
        let code = pty.gone_within(Duration::from_millis(1_500));
        let ended = if let Some(code) = code {
            pty.ended_with(code)
        } else {
            pty.see("again to quit");
            pty.keys("\x03\x03");
            pty.ended()
        };
        // 1000: ended by the signal itself, before the program handled it.
        assert!([0, 130, 1000].contains(&ended.code), "after {wait} ms: {}", ended.code);
        assert!(ended.ledger.balanced(), "after {wait} ms: {:?}", ended.ledger);
        assert_eq!(ended.termios, ended.before, "after {wait} ms");
    }
}

#[test]
fn missing_terminal_is_reported() {
    let home = Home::offline();
    let (output, code) = home.cli(&[]);
    assert!(output.contains("needs a terminal"), "{output}");
    assert_eq!(code, 1);
}

#[test]
fn demo_saves_nothing() {
    let home = Home::offline();
    // A folder's settings are read, and decisions about them are looked up. Neither may create a folder.
    std::fs::write(home.path("work").join(".pleach.toml"), "mode = \"heavy\"\n").unwrap();
    // The next demo removes what a demo that was killed left behind.
    let left = home.path("tmp").join(format!("pleach-demo-{}", uuid::Uuid::now_v7().simple()));
    std::fs::create_dir(&left).unwrap();
    std::fs::write(left.join("lock"), "").unwrap();
    let pty = Start::new(&home).args(&["--demo"]).size(200, 40).run();
    pty.see("demo, nothing is saved");
    pty.until("a conversation", |screen| screen.contains("you ·") || screen.contains("offline ·"));
    pty.keys("Does it answer?\r");
    pty.see("I am the offline model");
    pty.until("the answer is whole", |screen| screen.contains(" in · "));
    pty.keys("\x04");
    let ended = clean(pty, 0);
    assert!(ended.ledger.entered);
    for folder in ["data", "config", "tmp"] {
        let left: Vec<_> = std::fs::read_dir(home.path(folder)).unwrap().flatten().map(|entry| entry.path()).collect();
        assert!(left.is_empty(), "{folder} holds {left:?}");
    }
}
