//! A newcomer's journey from an empty home to a fork, a pin, an exclusion, a comparison, and an undo, using only keys
//! that the screen names at that moment.

use crate::support::pty::{Home, Pty, Start};

/// The bytes of a key, given its name on the screen.
fn bytes(key: &str) -> String {
    match key {
        "Enter" => "\r".to_owned(),
        "Tab" => "\t".to_owned(),
        "Esc" => "\x1b".to_owned(),
        key => match key.strip_prefix('^').and_then(|rest| rest.chars().next()) {
            Some(letter) => char::from(u8::try_from(letter).unwrap() & 0x1f).to_string(),
            None => key.to_owned(),
        },
    }
}

/// Presses the key in front of a hint once the screen shows it: `p pin`.
#[track_caller]
fn press(pty: &Pty, hint: &str) -> String {
    let screen = pty.until(&format!("the screen names {hint:?}"), |screen| named(screen, hint));
    let (key, _) = hint.split_once(' ').unwrap();
    pty.keys(&bytes(key));
    screen
}

/// Whether the screen shows a key and its hint as separate words.
fn named(screen: &str, hint: &str) -> bool {
    let alone = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    screen
        .match_indices(hint)
        .any(|(at, _)| alone(screen[..at].chars().next_back()) && alone(screen[at + hint.len()..].chars().next()))
}

/// Writes a message, sends it as the screen says, and waits for a number of answers.
#[track_caller]
fn ask(pty: &Pty, text: &str, answers: usize) {
    pty.see("Type a message");
    pty.keys(text);
    pty.see(&format!("> {text}"));
    press(pty, "Enter send");
    pty.until("the answer", |screen| screen.matches(" in · ").count() == answers && screen.contains("Type a message"));
}

#[test]
fn newcomer_finds_every_key_on_the_screen() {
    let home = Home::fresh();
    let pty = Start::new(&home).size(120, 44).run();
    pty.until("what this is for", |screen| {
        screen.contains("shows every request before it is sent") && screen.contains("type a message and press Enter")
    });
    ask(&pty, "How do bees dance?", 1);

    // Pin the answer.
    press(&pty, "Tab messages");
    press(&pty, "p pin");
    pty.until("a mark that can be undone", |screen| screen.contains('◆') && screen.contains("u undoes it"));

    // Fork, and ask another question there.
    press(&pty, "f fork");
    pty.until("on the fork", |screen| screen.contains("▸ main-2") && screen.contains("Type a message"));
    ask(&pty, "And how do wasps find food?", 2);

    // Exclude the newest turn from the next request.
    press(&pty, "Tab messages");
    press(&pty, "x leave out");
    pty.until("left out", |screen| screen.contains('✕'));

    // Compare the fork with its original branch.
    press(&pty, "Esc type");
    press(&pty, "^B branches");
    press(&pty, "c compare");
    pty.until("the comparison", |screen| screen.contains("They diverge after turn 1") && screen.contains("wasps"));
    press(&pty, "Esc close");
    pty.until("the conversation again", |screen| !screen.contains("They diverge"));

    // Undo the exclusion, the fork, and the pin.
    press(&pty, "u undo");
    pty.until("nothing is left out", |screen| !screen.contains('✕'));
    press(&pty, "u undo");
    pty.until("the fork is gone", |screen| screen.contains("▸ main ") && !screen.contains("main-2  "));
    press(&pty, "u undo");
    pty.until("the pin is gone", |screen| !screen.contains('◆'));

    press(&pty, "Esc type");
    pty.see("Type a message");
    pty.keys("\x04");
    assert_eq!(pty.ended().code, 0);
    let runs = home.json(&["plans", "list"]);
    assert_eq!(runs.as_array().map(Vec::len), Some(2), "both questions were asked and are stored");
}
