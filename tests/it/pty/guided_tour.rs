//! The tour inside the program: each step is done with keys on the real screens and ends only when it was done. Nothing
//! of it enters the person's store.
//! Not for: the recorded tour against a server (`tour`).

use crate::support::pty::{Home, Pty, Start};

/// Whether a tour's store still exists.
fn leftover(home: &Home) -> bool {
    let entries = std::fs::read_dir(home.path("tmp")).unwrap();
    entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("pleach-demo"))
}

/// The tour's instruction, the text below its title, on one line.
fn instruction(screen: &str) -> String {
    let lines: Vec<&str> = screen.lines().collect();
    let title =
        lines.iter().rposition(|line| line.contains(" Tour ") || line.contains("The end of the tour")).unwrap_or(0);
    lines[title..].join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

struct Guide {
    pty: Pty,
}

impl Guide {
    /// Presses keys once the tour asks for them with these words.
    #[track_caller]
    fn asked(&self, step: &str, words: &str, keys: &str) -> String {
        let asks = |screen: &str| {
            let text = instruction(screen);
            text.contains(step) && text.contains(words)
        };
        let screen = self.pty.until(&format!("{step}: {words}"), asks);
        self.pty.keys(keys);
        screen
    }

    /// Types a text and waits until the composer shows it.
    #[track_caller]
    fn asked_to_type(&self, step: &str, words: &str, text: &str) {
        self.asked(step, words, text);
        self.pty.see(text);
    }
}

fn ask_and_exclude(guide: &Guide) {
    guide.asked_to_type("1 of 9", "Type a question", "Which fix should ship first?");
    // Acts that the tour did not ask for do not count.
    guide.asked("1 of 9", "Press Enter", "\x0f");
    guide.pty.see("Next request ·");
    guide.asked("1 of 9", "Press Enter", "\x1b");
    guide.pty.see("^P actions");
    // A deleted message is asked for again.
    guide.asked("1 of 9", "Press Enter", "\x15");
    guide.asked_to_type("1 of 9", "Type a question", "Which fix should ship first?");
    guide.asked("1 of 9", "Press Enter", "\r");
    guide.asked_to_type("2 of 9", "Type the next question", "And what about the late tab?");
    guide.asked("2 of 9", "Press Ctrl+O", "\x0f");
    guide.asked("2 of 9", "Press j until a turn is selected", "jjj");
    guide.asked("2 of 9", "Press h", "h");
    guide.asked("2 of 9", "Press Esc", "\x1b");
    guide.asked("3 of 9", "Press x", "x");
    // Without the exclusion, Esc does not end the step.
    guide.asked("3 of 9", "Press Esc", "x");
    let screen = guide.asked("3 of 9", "The turn is included again. Press x", "\x1b");
    assert!(!screen.contains("The turn is left out"), "{screen}");
    guide.asked("3 of 9", "Press Ctrl+O to open the request again", "\x0f");
    guide.asked("3 of 9", "Press x", "jjjx");
    guide.asked("3 of 9", "Press Esc", "\x1b");
}

fn try_fork_and_race(guide: &Guide) {
    guide.asked("4 of 9", "Press F7", "\x1b[18~");
    guide.asked("4 of 9", "Select a row with j", "jj\r");
    guide.asked("5 of 9", "Press Tab", "\t");
    guide.asked("5 of 9", "Press f", "ff");
    let race = "/race model:offline model:offline-brief How long is the grace period?";
    guide.asked("6 of 9", "Press Ctrl+U to clear", "\x15");
    guide.asked_to_type("6 of 9", race, race);
    guide.pty.keys("\r");
    guide.pty.until("two answers that differ", |screen| {
        instruction(screen).contains("Press Esc to keep both")
            && screen.contains("a placeholder that only")
            && screen.contains("the brief version")
    });
    guide.asked("6 of 9", "Press Esc to keep both", "\x1b");
}

fn compare_and_replay(guide: &Guide) {
    guide.asked("7 of 9", "then g and Enter", "\x02g\r");
    guide.asked("7 of 9", "select a branch named race with j", "\x02jjc");
    guide.asked("7 of 9", "Press Tab", "\tp");
    guide.asked("7 of 9", "Press Esc", "u");
    guide.asked("7 of 9", "Nothing is picked yet. Press Tab", "p");
    guide.asked("7 of 9", "Press Esc", "\x1b");
    guide.asked("8 of 9", "Press Esc to go back to the composer", "\x1b");
    guide.asked("8 of 9", "Press Tab for the messages", "\tG");
    guide.asked("8 of 9", "Press Z, then w", "Z");
    guide.pty.see("Replay this call?");
    guide.pty.keys("w");
    guide.pty.see("Replay the call without");
    guide.pty.keys("fix");
    guide.pty.see("/ fix");
    guide.pty.keys("\r");
    guide.asked("8 of 9", "m marks the turn", "m");
    guide.asked("8 of 9", "Press Esc", "\x1b");
}

#[test]
fn guided_tour_is_done_step_by_step() {
    let home = Home::fresh();
    let pty = Start::new(&home).size(140, 40).run();
    pty.see("take the tour");
    pty.keys("My own question, unsent");
    pty.see("> My own question, unsent");
    pty.keys("\x1b[24~");
    let guide = Guide { pty };
    ask_and_exclude(&guide);
    try_fork_and_race(&guide);
    compare_and_replay(&guide);
    guide.asked("9 of 9", "u repeatedly", "\x02");
    guide.pty.until("the branches have the keys", |screen| screen.contains("switch to"));
    // Undo each of the seven acts. Six are not enough.
    for act in ["suggested a pin", "a call", "picked", "a race", "forked", "the mode"] {
        guide.asked("9 of 9", "u repeatedly", "u");
        guide.pty.until(act, |screen| screen.contains("Undone") && screen.contains(act));
    }
    guide.asked("9 of 9", "u repeatedly", "u");
    let screen = guide.pty.until("the end", |screen| screen.contains("The end of the tour"));
    assert!(instruction(&screen).contains("byte for byte"), "{screen}");
    guide.pty.keys("\x1b");
    guide.pty.see("^P actions");
    guide.pty.keys("\x1b");
    let screen = guide.pty.until("the person's own conversation", |screen| {
        screen.contains("My own question, unsent") && screen.contains("nothing was saved")
    });
    assert!(!screen.contains("The end of the tour") && !screen.contains("grace period"), "{screen}");
    guide.pty.keys("\x03\x04");
    assert_eq!(guide.pty.ended().code, 0);
    assert_eq!(home.json(&["plans", "list"]).as_array().map(Vec::len), Some(0), "no call of the tour is stored");
    assert!(!leftover(&home), "the tour's store is deleted");
}

#[test]
fn guided_tour_can_be_left_at_any_time() {
    let home = Home::fresh();
    let pty = Start::new(&home).size(80, 24).run();
    pty.see("take the tour");
    pty.keys("/tour\r");
    pty.see("1 of 9");
    pty.keys("\x1b");
    pty.see("Leave the tour?");
    pty.keys("\x1b");
    pty.until("the tour goes on", |screen| screen.contains("1 of 9") && !screen.contains("Leave the tour?"));
    pty.keys("\x1b");
    pty.see("Leave the tour?");
    pty.keys("like");
    pty.until("the text", |screen| screen.contains("> like") && !screen.contains("Leave the tour?"));
    pty.keys("\x1b");
    pty.see("Leave the tour?");
    pty.keys("q");
    pty.until("the start page", |screen| screen.contains("take the tour") && !screen.contains("1 of 9"));
    // Quitting inside the tour leaves the tour. Quitting outside ends the program.
    pty.keys("\x1b[24~");
    pty.see("1 of 9");
    pty.keys("\x04");
    pty.until("the start page", |screen| screen.contains("take the tour") && !screen.contains("1 of 9"));
    pty.keys("\x04");
    assert_eq!(pty.ended().code, 0);
    assert!(!leftover(&home), "the tour's store is deleted");
}

/// A step counts what happened, not the order of the keys; a sent message and a closed screen are noticed.
#[test]
fn guided_tour_counts_what_happened() {
    let home = Home::fresh();
    let pty = Start::new(&home).size(120, 35).run();
    pty.see("take the tour");
    pty.keys("\x1b[24~");
    let guide = Guide { pty };
    guide.asked("1 of 9", "Type a question", "\r");
    guide.pty.see("Type a message, then press Enter.");
    // The question and Enter arrive at once.
    guide.asked("1 of 9", "Type a question", "Which fix should ship first?\r");
    guide.asked("2 of 9", "Type the next question", "And what about the late tab?\r");
    guide.pty.until("the second answer", |screen| {
        instruction(screen).contains("That question was sent too. Type the next question")
            && screen.contains("Enter send")
            && !screen.contains("Esc stop")
    });
    guide.asked_to_type("2 of 9", "Type the next question", "How long is the grace period?");
    guide.asked("2 of 9", "Planned, not sent. Press Ctrl+O", "\x0f");
    guide.asked("2 of 9", "until a turn is selected", "\x1b");
    guide.asked("2 of 9", "The request is closed. Press Ctrl+O", "\x0f");
    guide.asked("2 of 9", "until a turn is selected", "jjj");
    // The turn is left out before the tour asks for it.
    guide.asked("2 of 9", "Press h", "x");
    guide.pty.see("You left this out.");
    guide.asked("2 of 9", "Press h", "h");
    guide.asked("2 of 9", "Press Esc", "\x1b");
    guide.asked("3 of 9", "The turn is left out.", "\x1b");
    guide.asked("4 of 9", "Press F7", "\x1b[18~");
    guide.asked("4 of 9", "Select a row with j", "\x1b");
    guide.asked("4 of 9", "Nothing has changed. Press F7", "\x03");
    guide.pty.see("Type a message, /");
    guide.pty.keys("\x04");
    guide.pty.until("the start page", |screen| screen.contains("take the tour") && !screen.contains("of 9"));
    guide.pty.keys("\x04");
    assert_eq!(guide.pty.ended().code, 0);
}
