//! Terminal features: the mouse, the title, detection of the background color, notifications, and plain mode.

use crate::support::lexer::{Token, all};
use crate::support::pty::{Background, Home, Pty, Start};
use std::io::Write as _;
use std::process::{Command, Stdio};

const READY: &str = "pleach shows every request";

fn osc(raw: &[u8]) -> Vec<String> {
    let body = |token| if let Token::Osc(body) = token { Some(body) } else { None };
    all(raw).into_iter().filter_map(body).collect()
}

fn end(pty: Pty) -> crate::support::pty::Ended {
    pty.keys("\x04");
    let before = pty.before.clone();
    let ended = pty.ended();
    assert_eq!(ended.termios, before);
    assert!(ended.ledger.balanced(), "left behind: {:?}", ended.ledger);
    ended
}

/// Whether a cell's background has the color that the workbench sets for a theme.
fn has_background(raw: &[u8], (r, g, b): (u8, u8, u8)) -> bool {
    let rgb = format!("48;2;{r};{g};{b}");
    String::from_utf8_lossy(raw).contains(&rgb)
}

const LIGHT: (u8, u8, u8) = (0xfb, 0xfb, 0xf9);
const DARK: (u8, u8, u8) = (0x12, 0x15, 0x1a);

fn colored() -> Home {
    let mut home = Home::offline();
    home.set("COLORTERM", "truecolor");
    home
}

#[test]
fn terminal_reports_its_background() {
    let home = colored();
    for (answer, ground) in [("rgb:ffff/ffff/ffff", LIGHT), ("rgb:1e1e/1e1e/1e1e", DARK), ("rgb:f/f/f", LIGHT)] {
        let pty = Start::new(&home).ground(Background::Answers(format!("\x1b]11;{answer}\x1b\\"))).run();
        pty.see(READY);
        assert!(has_background(&pty.raw(), ground), "{answer}");
        let other = if ground == LIGHT { DARK } else { LIGHT };
        assert!(!has_background(&pty.raw(), other), "no other color appeared before {answer}");
        end(pty);
    }
}

#[test]
fn silent_terminal_is_not_waited_for() {
    let mut home = colored();
    let pty = Start::new(&home).ground(Background::Mute).run();
    pty.see(READY);
    assert!(has_background(&pty.raw(), DARK));
    end(pty);
    home.set("COLORFGBG", "0;15");
    let pty = Start::new(&home).ground(Background::Mute).run();
    pty.see(READY);
    assert!(has_background(&pty.raw(), LIGHT), "the environment says so");
    end(pty);
    home.set("NO_COLOR", "1");
    let pty = Start::new(&home).ground(Background::Mute).run();
    pty.see(READY);
    assert!(!osc(&pty.raw()).contains(&"11;?".to_owned()), "without colors there is no query");
    end(pty);
}

/// Late, split, endless, or hostile: a terminal's answer never appears as text on the screen.
#[test]
fn terminal_answers_never_enter_the_message() {
    let home = colored();
    let answers = [
        "\x1b]11;rgb:ffff/ffff/ffff\x1b\\",
        "\x1b]11;rgb:ffff/ffff/ffff\x07",
        "\x1b]11;rgb:zzzz/ffff/ffff\x1b\\",
        "\x1b]11;rm -rf /\r\x07",
        "\x1b]11;\x1b[31m\x1b\\",
        &format!("\x1b]11;{}\x1b\\", "rgb:ff/ff/ff;".repeat(200)),
    ];
    for answer in answers {
        let pty = Start::new(&home).ground(Background::Mute).run();
        pty.see(READY);
        pty.keys("before");
        pty.see("before");
        pty.keys(answer);
        pty.keys(" after");
        let screen = pty.until("what was typed, and nothing else", |screen| screen.contains("> before after"));
        assert!(!screen.contains("rgb") && !screen.contains("rm -rf"), "{answer:?}:\n{screen}");
        if answer.contains("ffff/ffff/ffff\x1b") && !answer.contains('z') {
            pty.until_bytes("the light theme, late", |raw, _| has_background(raw, LIGHT));
        }
        pty.keys("\x03");
        pty.see(READY);
        end(pty);
    }
}

#[test]
fn title_names_the_session_and_is_restored() {
    let home = Home::offline();
    let (printed, code) = home.cli(&["session", "new", "auth\u{7}\u{1b}]2;evil\u{1b}\\bug"]);
    assert_eq!(code, 0, "{printed}");
    let pty = Pty::open(&home);
    pty.see(READY);
    pty.until_bytes("the title", |raw, _| osc(raw).iter().any(|body| body.contains("▸ main")));
    pty.keys("A question\r");
    pty.see("I am the offline model");
    pty.until_bytes("the mark went", |raw, _| {
        let titles: Vec<String> = osc(raw).into_iter().filter(|body| body.starts_with("2;")).collect();
        titles.iter().any(|body| body.contains('◌')) && titles.last().is_some_and(|body| !body.contains('◌'))
    });
    let titles: Vec<String> = osc(&pty.raw()).into_iter().filter(|body| body.starts_with("2;")).collect();
    assert!(titles.iter().all(|body| body.starts_with("2;pleach")), "{titles:?}");
    let ended = end(pty);
    assert!(String::from_utf8_lossy(&ended.raw).contains("\x1b[23;2t"), "the earlier title is restored");
    home.config("[screen]\ntitle = false\n");
    let pty = Pty::open(&home);
    pty.see("Type a message");
    let ended = end(pty);
    assert!(osc(&ended.raw).iter().all(|body| !body.starts_with("2;")), "switched off");
}

#[test]
fn mouse_works_and_is_released() {
    let home = Home::offline();
    let pty = Start::new(&home).size(120, 35).run();
    pty.see(READY);
    assert!(!pty.ledger().on.contains(&1000), "off by default");
    pty.keys("\x18m");
    pty.see("Mouse on: click, scroll, drag borders");
    assert!([1000, 1002, 1006].iter().all(|mode| pty.ledger().on.contains(mode)), "{:?}", pty.ledger());
    assert!(!pty.ledger().on.contains(&1003), "movements without a button have no effect");
    pty.keys("\x1b[<0;95;4M\x1b[<0;95;4m");
    pty.see("switch to");
    pty.keys("\x1b[<0;60;33M\x1b[<0;60;33m");
    pty.see("^P actions");
    // Drags the line between the conversation and the sidebar to the left.
    let before = pty.screen();
    let column = |screen: &str| screen.lines().nth(1).unwrap().chars().position(|c| c == '┬').unwrap();
    let from = column(&before);
    pty.keys(&format!("\x1b[<0;{};6M", from + 1));
    pty.keys(&format!("\x1b[<32;{};6M\x1b[<0;{};6m", from - 7, from - 7));
    pty.until("the border moved", |screen| column(screen) == from - 8);
    let ended = end(pty);
    assert!(ended.ledger.entered);
    let kept = std::fs::read_to_string(home.path("state/pleach/screen.toml")).unwrap();
    assert!(kept.contains("right = "), "{kept}");
    let pty = Start::new(&home).size(120, 35).run();
    pty.see(READY);
    assert_eq!(column(&pty.screen()), from - 8, "remembered after a restart");
    end(pty);
}

#[test]
fn theme_is_saved_with_the_files_comments() {
    let home = colored();
    home.config("# mine\n[screen]\ntitle = true # yes\n");
    let pty = Pty::open(&home);
    pty.see(READY);
    pty.keys("/theme sepia\r");
    pty.see("Theme sepia, saved in");
    pty.until_bytes("its ground", |raw, _| has_background(raw, (0xf6, 0xed, 0xda)));
    let text = std::fs::read_to_string(home.path("config/pleach/config.toml")).unwrap();
    assert_eq!(text, "# mine\n[screen]\ntitle = true # yes\ntheme = \"sepia\"\n");
    end(pty);
}

#[test]
fn settings_are_reloaded_when_their_file_changes() {
    let home = colored();
    home.config("mode = \"light\"\n");
    let pty = Pty::open(&home);
    pty.see("CTX: Light");
    home.config("mode = \"heavy\"\n[screen]\ntheme = \"sepia\"\n");
    pty.see("CTX: Heavy");
    pty.until_bytes("the theme", |raw, _| has_background(raw, (0xf6, 0xed, 0xda)));
    pty.see("Settings reloaded");
    home.config("mode = \"heavy\"\n[screen]\nthmee = \"dark\"\n");
    pty.see("line 3, column 1");
    pty.see("CTX: Heavy");
    home.config("mode = \"off\"\n[log]\nlevel = \"debug\"\n");
    pty.see("After a restart: log");
    pty.see("CTX: Off");
    end(pty);
}

#[test]
fn long_call_sends_a_notification() {
    let home = Home::offline();
    home.config("[screen]\nnotify = \"osc777\"\nnotify_after = 0\n");
    let pty = Pty::open(&home);
    pty.see(READY);
    assert!(pty.ledger().on.contains(&1004), "focus is reported");
    pty.keys("One\r");
    pty.until("the whole answer", |screen| screen.contains(" in · ") && screen.contains("^P actions"));
    pty.keys("\x1b[O");
    pty.keys("Two\r");
    pty.until("both answers", |screen| screen.matches("I am the offline model").count() == 2);
    pty.until_bytes("the notification", |raw, _| {
        osc(raw).iter().any(|body| body.starts_with("777;notify;pleach;The answer is complete on main"))
    });
    assert_eq!(osc(&pty.raw()).iter().filter(|body| body.starts_with("777;")).count(), 1, "only without focus");
    end(pty);
}

fn plain(home: &Home, input: &str) -> (String, String, i32) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pleach"));
    command.arg("--plain").current_dir(home.work()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    home.set_environment(&mut command);
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.code().unwrap_or(-1))
}

#[test]
fn plain_mode_over_a_pipe() {
    let home = Home::offline();
    let script = "How do bees dance?\n/context\n/pin 1\n/context\n/unpin 1\n/fork alt\nAnd wasps?\n/branch switch \
        main\n/branch\n/mode heavy\n\
                  /undo\n/read 2\n/pins\n/nonsense\n/pin 99\n//slash\none \\\ntwo\n/stats\n/quit\nnever read\n";
    let (out, err, code) = plain(&home, script);
    assert_eq!(code, 0, "{out}\n{err}");
    assert!(!out.contains('\x1b') && !err.contains('\x1b'), "no escape at all");
    for wanted in [
        "Branch main. Mode Light.",
        "percent.",
        "you: How do bees dance?",
        "answer:\n",
        "I am the offline model",
        "recent turns ",
        "  turn 1 ",
        "Pinned turn 1.",
        "Unpinned turn 1.",
        "Branch alt.",
        "Mode Heavy.",
        "2 of 2 messages.",
        "/slash",
    ] {
        assert!(out.contains(wanted), "{wanted:?} in:\n{out}");
    }
    assert!(err.contains("Unknown command /nonsense") && err.contains("There is no turn 99"), "{err}");
    assert!(err.contains("`/message list` lists the turns"), "{err}");
    assert!(!out.contains("never read"));
    let main = home.json(&["message", "list", "-b", "main"]);
    let printed: Vec<&str> = main.as_array().unwrap().iter().filter_map(|m| m["content"].as_str()).collect();
    assert!(printed.contains(&"/slash") && printed.contains(&"one \ntwo"), "{printed:?}");
    assert!(!printed.contains(&"And wasps?"), "from the fork");
}

#[test]
fn command_output_opens_on_the_screen() {
    let home = Home::offline();
    let pty = Start::new(&home).run();
    pty.see("CTX: Light");
    pty.keys("How do bees dance?\r");
    pty.see("I am the offline model");
    pty.see("No earlier text shares words with it.");
    pty.keys("/pin 1\r");
    pty.see("◆");
    pty.keys("/message read 1\r");
    let text = pty.until("what it printed", |screen| screen.contains("/message read 1 ─"));
    assert!(text.contains("1 of ") && text.contains(" messages."), "{text}");
    pty.keys("\x1b");
    pty.until("the text is closed", |screen| !screen.contains("/message read 1 ─"));
    pty.keys("/plans why 99\r");
    pty.see("There is no turn 99");
    pty.keys("\x1b[A");
    pty.see("/plans why 99");
    pty.keys("\x03");
    end(pty);
}

#[test]
fn plain_mode_in_a_terminal() {
    let home = Home::offline();
    let pty = Start::new(&home).args(&["--plain"]).run();
    pty.see("/help lists the commands");
    pty.see("you: ");
    pty.keys("How do bees dance?\r");
    pty.until("the next prompt", |screen| screen.matches("you: ").count() == 2);
    pty.keys("\x03");
    pty.see("^C");
    pty.keys("/help\r");
    pty.see("a backslash at the end of a line continues the message");
    pty.see("To send text that starts with /");
    pty.keys("\x04");
    let before = pty.before.clone();
    let ended = pty.ended();
    assert_eq!((ended.code, ended.termios == before), (0, true));
    assert!(!ended.ledger.entered && ended.ledger.on.is_empty(), "{:?}", ended.ledger);
    assert!(!ended.raw.contains(&0x1b), "no cursor movement, no color, no alternate screen");
}
