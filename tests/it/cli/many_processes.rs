//! Many processes on one store: nothing is lost, blocked forever, or mixed up.

use crate::support::bench::histories;
use crate::support::binary::Home;
use crate::support::server::{Server, Step, end, send, stream, words};
use serde_json::Value;

const PROCESSES: usize = 8;

/// Three processes have a session each, and five have a branch each in one session.
fn place(process: usize) -> [String; 4] {
    let (session, branch) =
        if process < 3 { (format!("own {process}"), "main".into()) } else { ("shared".into(), format!("b{process}")) };
    ["-s".into(), session, "-b".into(), branch]
}

#[test]
fn eight_processes_share_one_store() {
    let turns = usize::try_from(histories(12).end).unwrap();
    let home = Home::scripted("{\"deltas\":[{\"text\":\"A short answer.\"}]}\n");
    for process in 0..3 {
        home.ok(&["session", "new", &format!("own {process}")]);
    }
    home.ok(&["session", "new", "shared"]);
    for process in 3..PROCESSES {
        home.ok(&["branch", "fork", &format!("b{process}"), "--stay"]);
    }
    std::thread::scope(|scope| {
        for process in 0..PROCESSES {
            let home = &home;
            scope.spawn(move || {
                let flags = place(process);
                for turn in 0..turns {
                    let text = format!("process {process} turn {turn}");
                    let mut args: Vec<&str> = flags.iter().map(String::as_str).collect();
                    args.extend(["ask", &text]);
                    let output = home.run(&args);
                    assert_eq!(output.code, 0, "{text}: {}", output.err);
                    assert_eq!((output.out.as_str(), output.err.as_str()), ("A short answer.\n", ""), "{text}");
                }
            });
        }
    });
    home.assert_sound();
    let mut runs = 0;
    for process in 0..PROCESSES {
        let flags = place(process);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        check(&home.json(&[&flags[..], &["message", "list"]].concat()), process, turns);
        if process <= 3 {
            let plans = home.json(&[&flags[..2], &["plans", "list"]].concat());
            let plans = plans.as_array().unwrap();
            assert!(plans.iter().all(|plan| plan["status"] == "complete"));
            runs += plans.len();
        }
    }
    assert_eq!(runs, PROCESSES * turns);
    let everything = home.json(&["-s", "shared", "message", "list", "--all"]);
    assert_eq!(everything.as_array().unwrap().len(), 5 * turns * 2);
}

/// The turns of one process are complete, in order, and unmixed.
fn check(list: &Value, process: usize, turns: usize) {
    let list = list.as_array().unwrap();
    assert_eq!(list.len(), turns * 2, "process {process}");
    for (turn, pair) in list.chunks(2).enumerate() {
        assert_eq!(pair[0]["content"], format!("process {process} turn {turn}"));
        assert_eq!((&pair[1]["content"], &pair[1]["status"]), (&"A short answer.".into(), &"complete".into()));
        assert_eq!(pair[1]["parent"], pair[0]["id"]);
    }
}

/// The texts of a list, which must form a straight path.
fn assert_straight(list: &Value) -> Vec<String> {
    let list = list.as_array().unwrap();
    for pair in list.windows(2) {
        assert_eq!(pair[1]["parent"], pair[0]["id"], "a straight path");
    }
    list.iter().map(|node| node["content"].as_str().unwrap().to_owned()).collect()
}

/// All processes ask on one branch and wait for their turns: nothing is lost, doubled, or forked.
#[test]
fn eight_processes_take_turns_on_one_branch() {
    let home = Home::scripted("{\"deltas\":[{\"text\":\"A short answer.\"}]}\n");
    home.ok(&["session", "new"]);
    std::thread::scope(|scope| {
        for process in 0..PROCESSES {
            let home = &home;
            scope.spawn(move || {
                let output = home.run(&["ask", "--wait", &format!("question {process}")]);
                assert_eq!((output.code, output.out.as_str()), (0, "A short answer.\n"), "{}", output.err);
            });
        }
    });
    let texts = assert_straight(&home.json(&["message", "list", "--all"]));
    let mut asked: Vec<&String> = texts.iter().step_by(2).collect();
    asked.sort();
    assert_eq!(
        asked,
        (0..PROCESSES).map(|process| format!("question {process}")).collect::<Vec<_>>().iter().collect::<Vec<_>>()
    );
    assert_eq!(texts.len(), 2 * PROCESSES);
    home.assert_sound();
    let left: Vec<_> = std::fs::read_dir(home.store().with_file_name("owners")).unwrap().flatten().collect();
    assert!(left.is_empty(), "no file of a claim or the queue is left: {left:?}");
}

/// While one process asks and does not finish, the others are refused, and nothing of theirs is stored or sent.
#[test]
fn without_waiting_others_are_refused() {
    let server = Server::start(vec![vec![stream(), words("First."), Step::Stall, end()]]);
    let home = Home::approximate(&server.base_url());
    home.ok(&["session", "new"]);
    let (ended, over) = std::sync::mpsc::channel();
    let mut started = Vec::new();
    for process in 0..PROCESSES {
        let child = home.command(&["ask", &format!("question {process}")]).env("TEST_KEY", "k").spawn().unwrap();
        started.push(child.id());
        let ended = ended.clone();
        std::thread::spawn(move || ended.send((process, crate::support::binary::finish(child))));
    }
    let refused: Vec<_> = (1..PROCESSES).map(|_| over.recv().unwrap()).collect();
    let winner = (0..PROCESSES).find(|process| refused.iter().all(|(other, _)| other != process)).unwrap();
    for (_, output) in &refused {
        assert_eq!((output.code, output.out.as_str()), (6, ""), "{}", output.err);
        let who =
            format!("Another process is sending on main: the command line (process {}), since 2", started[winner]);
        assert!(output.err.contains(&who), "{who:?} in {}", output.err);
        assert!(
            output.err.contains("was not saved and nothing was sent") && output.err.contains("--wait"),
            "{}",
            output.err
        );
    }
    server.release();
    let (process, output) = over.recv().unwrap();
    assert_eq!((process, output.code, output.out.as_str()), (winner, 0, "First.\n"), "{}", output.err);
    let texts = assert_straight(&home.json(&["message", "list", "--all"]));
    assert_eq!(texts, [format!("question {winner}"), "First.".into()]);
    assert_eq!(server.requests().len(), 1);
}

/// While one process asks on a branch, other requests on it wait or are refused, as within one process. Side questions
/// with the context before the open question, and other branches, continue.
#[test]
fn other_branches_continue_during_a_turn() {
    for rounds in [1, 2] {
        beside_an_open_turn(rounds);
    }
}

/// The open turn waits in its first round, or in its second one, after a tool result was stored.
#[allow(clippy::too_many_lines, reason = "one story")]
fn beside_an_open_turn(rounds: usize) {
    let server = Server::answering(move |request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let messages = body["messages"].as_array().cloned().unwrap_or_default();
        let asked = messages.iter().rfind(|message| message["role"] == "user");
        let slow = asked.is_some_and(|message| message["content"] == "slow");
        let call = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"list_dir","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
        match (slow, messages.iter().any(|message| message["role"] == "tool")) {
            (false, _) => vec![stream(), words("Beside."), end()],
            (true, false) if rounds == 2 => vec![stream(), send(&format!("data: {call}\n\n")), end()],
            (true, _) => vec![stream(), words("First."), Step::Stall, end()],
        }
    });
    let home = Home::approximate(&server.base_url());
    home.ok(&["trust", "--yes"]);
    home.ok(&["ask", "zero"]);
    home.ok(&["branch", "fork", "other", "--stay"]);
    let list = home.json(&["message", "list"]);
    let question = list[0]["id"].as_str().unwrap();
    let posts = || server.requests().iter().filter(|request| request.method == "POST").count();
    let ask = |words: &[&str]| home.command(words).env("TEST_KEY", "k").spawn().unwrap();
    let first = ask(&["-b", "main", "ask", "slow"]);
    server.await_posts(1 + rounds);
    assert_eq!(posts(), 1 + rounds);
    for (words, code, made) in [
        (&["-b", "main", "ask", "x"][..], 6, 0),
        (&["-b", "main", "regenerate"], 6, 0),
        (&["-b", "main", "edit", question, "in other words"], 6, 0),
        (&["-b", "main", "race", "which?", "--arm", "mode=off", "--arm", "mode=heavy"], 6, 0),
        (&["-b", "main", "aside", "what is that?"], 0, 1),
        (&["-b", "other", "race", "which?", "--arm", "mode=off", "--arm", "mode=heavy"], 0, 2),
        (&["-b", "other", "ask", "y"], 0, 1),
        (&["-b", "other", "regenerate"], 0, 1),
    ] {
        let before = posts();
        let output = home.run(words);
        assert_eq!((output.code, posts() - before), (code, made), "{words:?}: {}", output.err);
        let refused = "Another process is sending on main: the command line (process ";
        assert_eq!(output.err.contains(refused), code == 6, "{words:?}: {}", output.err);
    }
    let mut bodies = server.requests().into_iter().map(|request| String::from_utf8(request.body).unwrap());
    let aside = bodies.find(|body| body.contains("what is that?")).unwrap();
    assert!(aside.contains("zero") && !aside.contains("slow"), "unanswered questions are not sent: {aside}");
    assert!(!aside.contains("tool_call_id"), "nor are their tool results: {aside}");
    let waits = ask(&["-b", "main", "ask", "--wait", "last"]);
    server.release();
    for (child, answer) in [(first, "First.\n"), (waits, "Beside.\n")] {
        let output = crate::support::binary::finish(child);
        assert_eq!((output.code, output.out.as_str()), (0, answer), "{}", output.err);
    }
    let list = home.json(&["-b", "main", "message", "list"]);
    assert_straight(&list);
    let spoken =
        list.as_array().unwrap().iter().filter(|message| message["role"] != "tool" && message["content"] != "");
    let output: Vec<&str> = spoken.map(|message| message["content"].as_str().unwrap()).collect();
    assert_eq!(output, ["zero", "Beside.", "slow", "First.", "last", "Beside."]);
    assert_eq!(
        home.json(&["branch", "list"]).as_array().unwrap().len(),
        4,
        "main, other, and the two branches of the race"
    );
    home.assert_sound();
}

/// When the asking process is killed, the waiting one continues at once after the partial answer. Ctrl+C leaves the
/// queue.
#[cfg(unix)]
#[test]
fn waiting_process_continues_after_a_kill() {
    let server = Server::start(vec![vec![Step::Hang], vec![stream(), words("Second."), end()]]);
    let home = Home::approximate(&server.base_url());
    home.ok(&["session", "new"]);
    let ask = |words: &[&str]| home.command(words).env("TEST_KEY", "k").spawn().unwrap();
    let mut first = ask(&["ask", "one"]);
    let begun = std::time::Instant::now();
    server.await_posts(1);
    let in_line = || {
        let names = std::fs::read_dir(home.store().with_file_name("owners")).unwrap().flatten();
        names.filter(|entry| entry.path().extension().is_some_and(|end| end == "waits")).count()
    };
    let until = |count: usize| {
        while in_line() != count {
            assert!(begun.elapsed() < std::time::Duration::from_mins(1), "{count} in line");
            std::thread::yield_now();
        }
    };
    let waiter_process = ask(&["ask", "--wait", "two"]);
    until(1);
    let waiter = ask(&["ask", "--wait", "three"]);
    until(2);
    let pid = rustix::process::Pid::from_raw(i32::try_from(waiter_process.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let left = crate::support::binary::finish(waiter_process);
    assert_eq!(left.code, 130, "{}", left.err);
    assert!(left.err.contains("Stopped waiting. Your message was not saved and nothing was sent."), "{}", left.err);
    first.kill().unwrap();
    first.wait().unwrap();
    let output = crate::support::binary::finish(waiter);
    assert_eq!((output.code, output.out.as_str()), (0, "Second.\n"), "{}", output.err);
    assert!(output.err.contains("Another process is sending on main"), "the reason for waiting: {}", output.err);
    let texts = assert_straight(&home.json(&["message", "list", "--all"]));
    assert_eq!(texts, ["one", "three", "Second."]);
    assert_eq!(server.requests().len(), 2, "nothing is sent again");
}
