//! Job control under a real shell: suspend and resume during an answer.

use crate::support::pty::{Home, Pty, Start};
use crate::support::server::{Server, Step, end, stream, words};
use std::path::Path;
use std::time::{Duration, Instant};

fn children(pid: i32) -> Vec<i32> {
    let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// The state letter of a process: `T` when it is stopped.
fn process_state(pid: i32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

#[track_caller]
pub(super) fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(20), "never {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn shell(home: &mut Home) -> Option<Pty> {
    let bash = Path::new("/bin/bash");
    if !bash.exists() || !Path::new("/proc/self/stat").exists() {
        return None;
    }
    let rc = home.path("inputrc");
    std::fs::write(&rc, "set enable-bracketed-paste off\n").unwrap();
    home.set("INPUTRC", &rc.display().to_string());
    home.set("PS1", "SHELL> ");
    let pty = Start::new(home).program(bash).args(&["--norc", "--noprofile", "-i"]).run();
    pty.see("SHELL>");
    Some(pty)
}

#[test]
fn suspend_and_resume() {
    let answer = vec![stream(), words("Half of it "), Step::Stall, words("and the other half."), end()];
    let server = Server::start_posts(vec![answer]);
    let mut home = Home::server(&server.base_url());
    let Some(pty) = shell(&mut home) else {
        println!("SKIPPED: there is no bash or no /proc here");
        return;
    };
    pty.keys(&format!("{}\r", env!("CARGO_BIN_EXE_pleach")));
    pty.see("Type a message");
    pty.keys("Tell me\r");
    pty.see("Half of it");
    let program = children(pty.pid.as_raw_nonzero().get()).pop().unwrap();

    pty.keys("\x1a");
    pty.see("Stopped");
    pty.until("the main screen", |screen| !screen.contains('┬'));
    let ledger = pty.ledger();
    assert!(ledger.balanced(), "{ledger:?}");
    until("the program is stopped", || process_state(program) == Some('T'));
    pty.keys("stty -a; echo done-$((1+1))\r");
    let stty = pty.see("done-2");
    assert!(stty.contains("isig icanon iexten echo "), "{stty}");

    let before = pty.raw().len();
    pty.keys("bg\r");
    pty.until_bytes("the shell answers", |raw, _| String::from_utf8_lossy(&raw[before..]).contains("&\r\n"));
    // The shell reports at its next prompt that the job stopped again.
    until("the shell says that it stopped again", || {
        pty.keys("\r");
        String::from_utf8_lossy(&pty.raw()[before..]).contains("Stopped")
    });
    pty.keys("echo still-$((40+2))\r");
    pty.see("still-42");
    let wrote = String::from_utf8_lossy(&pty.raw()[before..]).into_owned();
    assert!(!wrote.contains("\x1b[?1049h") && !wrote.contains('┬'), "in the background it wrote {wrote:?}");

    server.release();
    let stops = pty.screen().matches("Stopped").count();
    pty.keys("fg\r");
    // A stop signal that arrived while the shell had the terminal may still be pending. A person would type it again.
    let stopped = |screen: &str| screen.matches("Stopped").count() > stops;
    let back = |screen: &str| screen.contains("and the other half.");
    if stopped(&pty.until("in the foreground, or stopped again", |screen| back(screen) || stopped(screen))) {
        pty.keys("fg\r");
    }
    let screen = pty.until("in the foreground", back);
    assert!(screen.contains("Tell me") && screen.contains('┬'), "drawn completely:\n{screen}");
    assert!(!screen.contains("SHELL>") && !screen.contains("still-42"), "no shell output is left:\n{screen}");
    let ledger = pty.ledger();
    assert!(ledger.on.contains(&1049) && ledger.on.contains(&2004) && ledger.pushed == 1, "{ledger:?}");
    pty.keys("\x04");
    pty.until("back in the shell", |screen| !screen.contains('┬') && screen.trim_end().ends_with("SHELL>"));
    pty.keys("echo code-$?\r");
    pty.see("code-0");
    assert!(pty.ledger().balanced(), "{:?}", pty.ledger());
    assert_eq!(server.requests().iter().filter(|request| request.method == "POST").count(), 1);
}

/// The window is closed while the program is stopped. The program must end.
#[test]
fn stopped_program_ends_with_its_terminal() {
    let mut home = Home::offline();
    let Some(mut pty) = shell(&mut home) else {
        println!("SKIPPED: there is no bash or no /proc here");
        return;
    };
    pty.keys(&format!("{}\r", env!("CARGO_BIN_EXE_pleach")));
    pty.see("Type a message");
    let program = children(pty.pid.as_raw_nonzero().get()).pop().unwrap();
    pty.keys("\x1a");
    pty.see("Stopped");
    until("the program is stopped", || process_state(program) == Some('T'));
    pty.close_window();
    until("the program is gone", || process_state(program).is_none_or(|letter| letter == 'Z'));
}
