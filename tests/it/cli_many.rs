//! Many programs on one store: nothing is lost, nothing waits in vain, nothing is mixed up.

use crate::support::binary::Home;
use serde_json::Value;

const PROCESSES: usize = 8;
const TURNS: usize = 50;

/// Three have a session each, five a branch each of the same session.
fn place(process: usize) -> [String; 4] {
    let (session, branch) =
        if process < 3 { (format!("own {process}"), "main".into()) } else { ("shared".into(), format!("b{process}")) };
    ["-s".into(), session, "-b".into(), branch]
}

#[test]
fn eight_programs_take_fifty_turns_each_on_one_store() {
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
                for turn in 0..TURNS {
                    let text = format!("process {process} turn {turn}");
                    let mut args: Vec<&str> = flags.iter().map(String::as_str).collect();
                    args.extend(["ask", &text]);
                    let said = home.run(&args);
                    assert_eq!(said.code, 0, "{text}: {}", said.err);
                    assert_eq!((said.out.as_str(), said.err.as_str()), ("A short answer.\n", ""), "{text}");
                }
            });
        }
    });
    home.assert_sound();
    let mut runs = 0;
    for process in 0..PROCESSES {
        let flags = place(process);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        check(&home.json(&[&flags[..], &["message", "list"]].concat()), process);
        if process <= 3 {
            let plans = home.json(&[&flags[..2], &["plans", "list"]].concat());
            let plans = plans.as_array().unwrap();
            assert!(plans.iter().all(|plan| plan["status"] == "complete"));
            runs += plans.len();
        }
    }
    assert_eq!(runs, PROCESSES * TURNS);
    let everything = home.json(&["-s", "shared", "message", "list", "--all"]);
    assert_eq!(everything.as_array().unwrap().len(), 5 * TURNS * 2);
}

/// Every turn of one program, in order, with its answer, and nobody else's.
fn check(list: &Value, process: usize) {
    let list = list.as_array().unwrap();
    assert_eq!(list.len(), TURNS * 2, "process {process}");
    for (turn, pair) in list.chunks(2).enumerate() {
        assert_eq!(pair[0]["content"], format!("process {process} turn {turn}"));
        assert_eq!((&pair[1]["content"], &pair[1]["status"]), (&"A short answer.".into(), &"complete".into()));
        assert_eq!(pair[1]["parent"], pair[0]["id"]);
    }
}
