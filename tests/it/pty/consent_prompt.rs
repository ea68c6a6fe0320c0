//! Approving a tool call at the command line's prompt in a terminal.

use crate::support::pty::{Home, Pty, Start};

/// Asks for a file to be written and waits for the prompt.
fn asked(home: &Home) -> Pty {
    home.config(&format!("trusted_folders = [{:?}]\n", home.work().canonicalize().unwrap().display().to_string()));
    let call = r#"call write_file {"path": "a.txt", "text": "written"}"#;
    let pty = Start::new(home).args(&["ask", call]).run();
    pty.see("Enter y to approve");
    pty
}

#[test]
fn ctrl_c_stops_the_turn_at_once() {
    let home = Home::offline();
    let pty = asked(&home);
    pty.keys("\x03");
    assert_eq!(pty.ended().code, 130);
    assert!(!home.work().join("a.txt").exists());
}

/// What was typed before a question is not its answer. The line is in the terminal before the program starts to read.
#[test]
fn text_typed_before_a_question_does_not_answer_it() {
    let home = Home::offline();
    assert_eq!(home.cli(&["session", "new", "work"]).1, 0);
    for (args, question, done) in [
        (&["session", "delete", "work"][..], "[y/N]", "nothing was deleted"),
        (&["trust"], "Enter y to trust", "nothing changed"),
    ] {
        let pty = Start::new(&home).args(args).run();
        pty.keys("y\r");
        pty.see(question);
        pty.keys("n\r");
        let ended = pty.ended();
        assert!(ended.screen.contains(done), "{}", ended.screen);
    }
    for (args, question) in [(&["session", "delete", "work"][..], "[y/N]"), (&["trust"], "Enter y to trust")] {
        let pty = Start::new(&home).args(args).run();
        pty.see(question);
        pty.keys("y\r");
        if args[0] == "session" {
            pty.see("from the backups too? [y/N]");
            pty.keys("n\r");
        }
        assert_eq!(pty.ended().code, 0, "{args:?}");
    }
}

#[test]
fn typed_approval_is_accepted() {
    let home = Home::offline();
    let pty = asked(&home);
    pty.keys("y\r");
    assert_eq!(pty.ended().code, 0);
    assert_eq!(std::fs::read_to_string(home.work().join("a.txt")).unwrap(), "written");
    let pty = Start::new(&home).args(&["ask", r#"call write_file {"path": "b.txt", "text": "x"}"#]).run();
    pty.keys("y\r");
    pty.see("Enter y to approve");
    pty.keys("\r");
    assert_eq!(pty.ended().code, 0);
    assert!(!home.work().join("b.txt").exists(), "neither an empty line nor text typed before the prompt approves");
}
