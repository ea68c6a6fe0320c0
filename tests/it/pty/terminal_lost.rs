//! The terminal is gone: its window was closed, or tmux killed the session.

use super::shell::until;
use crate::support::pty::{Home, Start};
use crate::support::server::{Server, Step, stream, words};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// CPU time used by a process, in hundredths of a second.
fn used(pid: i32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}

/// With SIGHUP, without it, and with SIGHUP ignored (`nohup`).
#[test]
fn window_is_closed_during_an_answer() {
    for (controlling, nohup) in [(true, false), (false, false), (true, true)] {
        let server = Server::start_posts(vec![vec![stream(), words("Part of an answer"), Step::Hang]]);
        let home = Home::server(&server.base_url());
        let line = format!("trap '' HUP; exec {}", env!("CARGO_BIN_EXE_pleach"));
        let args = ["-c", &line];
        let mut start = Start::new(&home);
        start.controlling = controlling;
        if nohup {
            start = start.program(std::path::Path::new("/bin/bash")).args(&args);
        }
        let mut pty = start.run();
        pty.see("Type a message");
        pty.keys("A question\r");
        pty.see("Part of an answer");
        let pid = pty.pid.as_raw_nonzero().get();
        let before = used(pid);
        pty.close_window();
        let began = Instant::now();
        let mut spent = 0;
        let code = loop {
            // CPU time while the program ends and may still load its vocabulary. A busy loop would show here.
            if let (Some(before), Some(now)) = (before, used(pid)) {
                spent = now.saturating_sub(before);
                assert!(spent < 160, "busy loop: {now} after {before}");
            }
            if let Some(code) = pty.gone_within(Duration::from_millis(20)) {
                break code;
            }
            assert!(began.elapsed() < Duration::from_secs(5), "it is still running (controlling: {controlling})");
        };
        println!(
            "gone after {:?}, {spent}0 ms of processor (controlling: {controlling}, nohup: {nohup})",
            began.elapsed()
        );
        let log = std::fs::read_to_string(home.path("state/pleach/log/pleach.log")).unwrap_or_default();
        assert_eq!(code, 129, "controlling: {controlling}; the log: {log}");
        assert!(server.saw_client_leave());
        let owners = std::fs::read_dir(home.path("data/pleach/owners")).unwrap().flatten();
        for lock in owners.map(|entry| std::fs::File::open(entry.path()).unwrap()) {
            lock.try_lock().expect("no lock is left");
        }
        let messages = home.json(&["message", "list"]);
        let last = messages.as_array().and_then(|messages| messages.last()).unwrap();
        assert_eq!(last["content"], "Part of an answer", "{messages}");
        assert!(["cancelled", "interrupted"].contains(&last["status"].as_str().unwrap()), "{last}");
    }
}

fn tmux(socket: &str, home: &Home, args: &[&str]) -> String {
    let mut command = Command::new("tmux");
    command.args(["-f", "/dev/null", "-L", socket]).args(args).current_dir(home.work());
    home.set_environment(&mut command);
    let output = command.stdin(Stdio::null()).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn in_tmux() {
    if !Command::new("tmux").arg("-V").output().is_ok_and(|output| output.status.success()) {
        println!("SKIPPED: there is no tmux here");
        return;
    }
    let home = Home::offline();
    let socket = format!("pleach-test-{}", std::process::id());
    let program = env!("CARGO_BIN_EXE_pleach");
    tmux(&socket, &home, &["new-session", "-d", "-s", "t", "-x", "100", "-y", "30", program]);
    let shows = |text: &str| tmux(&socket, &home, &["capture-pane", "-p", "-t", "t"]).contains(text);
    until("the workbench in tmux", || shows("Type a message"));
    let pid: i32 = tmux(&socket, &home, &["list-panes", "-t", "t", "-F", "#{pane_pid}"]).trim().parse().unwrap();
    tmux(&socket, &home, &["send-keys", "-t", "t", "-l", "Hello from tmux"]);
    until("the typed text", || shows("Hello from tmux"));
    tmux(&socket, &home, &["send-keys", "-t", "t", "Enter"]);
    until("the answer", || shows("I am the offline model") && shows(" in · "));
    tmux(&socket, &home, &["kill-session", "-t", "t"]);
    until("the program is gone", || used(pid).is_none());
    tmux(&socket, &home, &["kill-server"]);
    let list = home.json(&["message", "list"]);
    assert_eq!(list.as_array().unwrap().len(), 2, "{list}");
}
