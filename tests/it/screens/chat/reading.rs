//! Reading messages: Markdown, folds, copying parts, scrolling, and headers.
//! Not for: searching the conversation (`conversation_search`).

use crate::screens::Stage;
use crate::screens::fixture::{self, MAIN, text_node};
use crate::screens::pictures::pictures;
use pleach::domain::base::Hash;
use pleach::domain::call::{RunCard, RunStatus, UseCount};
use pleach::domain::conversation::{End, Role};
use pleach::engine::api::{Answer, Event, Request, SessionRequest, TurnEvent};
use pleach::tui::model::status::Severity;
use pleach::tui::theme::{Ink, Theme};

const ANSWER: &str = "## What happens\n\nThe token is *rotated* before the old one is **stored**, see `auth.rs`:\n\n\
    ```rust\n/// Stores, then rotates.\nfn refresh(&mut self) -> Result<Token, Error> {\n    let next = self.store.rotate(\"now\")?; // 1\n    Ok(next)\n}\n```\n\n\
    1. store it\n2. rotate it\n   - under a lock\n   - once\n\n> Never log a token.\n> > Not even a part.\n\n\
    | Case | Seconds | 日本語 |\n|:-----|--------:|:------:|\n| one tab | 1 | `ok` |\n| two tabs at once | 12,000 | fails |\n\n\
    - [x] found\n- [ ] fixed\n\n---\n\nMore in [the handbook](https://docs.example/auth?x=1) and at https://b.example/page.";

fn reading(answer: &str) -> Stage {
    let one = text_node(1, None, Role::User, "Explain the fault, with code.");
    let two = text_node(2, Some(&one), Role::Assistant, answer);
    let nodes = vec![one, two];
    let main = fixture::branch(MAIN, "main", nodes.last(), None);
    let view = fixture::view(&nodes, vec![main]);
    fixture::open(nodes, view)
}

#[test]
fn answer_in_markdown() {
    pictures("markdown", &mut reading(ANSWER));
    let mut stage = reading(ANSWER);
    stage.theme = Theme::built_in("dark", false);
    let buf = stage.buffer(100, 40);
    let keyword = stage.theme.style(Ink::Keyword).fg.unwrap();
    let cells = buf.content().iter().filter(|cell| cell.fg == keyword).map(ratatui::buffer::Cell::symbol);
    let words: String = cells.collect();
    assert!(words.contains("fn") && words.contains("let"), "{words}");
    let ascii = {
        stage.theme = Theme::built_in("none", true);
        stage.screen(60, 45)
    };
    assert!(ascii.replace("日本語", "").is_ascii(), "{ascii}");
}

#[test]
fn a_tool_result_without_a_trace_names_the_argument_of_its_call() {
    let mut stage = fixture::opened();
    stage.press("tab g");
    for width in [60, 120] {
        let screen = stage.screen(width, 35);
        assert!(screen.contains("▸ read_file src/auth.rs"), "{screen}");
        assert!(!screen.contains("read_file fn refresh"), "{screen}");
    }
}

#[test]
fn long_code_is_folded() {
    let code = (0..200).map(|n| format!("let line{n} = {n};\n")).collect::<Vec<_>>().concat();
    let mut stage = reading(&format!("Here:\n\n```rust\n{code}```\n\nDone."));
    let screen = stage.screen(160, 60);
    assert!(screen.contains("▸ 170 more lines of code; z on the message opens it"), "{screen}");
    assert!(screen.contains("let line29") && !screen.contains("let line30"));
    stage.press("tab z");
    assert!(!stage.screen(160, 60).contains("more lines"));
    stage.press("tab tab tab tab").press("pagedown pagedown pagedown pagedown");
    let screen = stage.screen(160, 60);
    assert!(screen.contains("let line199"), "{screen}");
    stage.press("tab");
    stage.press("z");
    assert!(stage.screen(160, 60).contains("170 more lines"));
}

#[test]
fn parts_of_a_message_are_copied() {
    let mut stage = reading(&format!("{ANSWER}\n\n~~~\nsecond\n~~~\n---STATE---\nGoal: x\n---END STATE---"));
    stage.press("tab Y");
    let screen = stage.screen(100, 30);
    for words in
        ["code 1 rust: /// Stores, then rotates.", "code 2: second", "the message", "this turn", "the whole branch"]
    {
        assert!(screen.contains(words), "{words}: {screen}");
    }
    pictures("copies", &mut stage);
    stage.press("down enter");
    assert_eq!(stage.copied, ["second\n"]);
    stage.press("Y").type_text("messa").press("enter");
    assert!(stage.copied[1].starts_with("## What happens") && !stage.copied[1].contains("STATE"));
    stage.press("Y").type_text("turn").press("enter");
    assert!(stage.copied[2].starts_with("## you\n\nExplain the fault, with code.\n\n## gpt-4.1-mini\n\n## What"));
    stage.press("Y").type_text("branch").press("enter");
    assert!(matches!(stage.last(), Request::Session(SessionRequest::Markdown { branch: MAIN })));
    stage.reply(|r| matches!(r, Request::Session(SessionRequest::Markdown { .. })), Answer::Text("# all".into()));
    assert_eq!(stage.copied[3], "# all");
}

/// Of a last message longer than the screen, `G` and `j` show the end, and `g` goes to the beginning of the conversation.
#[test]
fn the_end_of_a_long_last_message_is_reached() {
    let first = fixture::text_node(1, None, Role::User, "The question");
    let text = (1..=90).map(|n| format!("- line {n}\n")).collect::<Vec<_>>().concat();
    let nodes = vec![first.clone(), fixture::text_node(2, Some(&first), Role::Assistant, &text)];
    let view = fixture::view(&nodes, vec![fixture::branch(fixture::MAIN, "main", nodes.last(), None)]);
    let mut stage = fixture::open(nodes, view);
    stage.screen(100, 30);
    for (keys, shown, hidden) in [
        ("tab g", "The question", "line 90"),
        ("G", "line 90", "line 1\n"),
        ("j", "line 90", "line 1\n"),
        ("k", "The question", "line 90"),
        ("j j", "line 90", "line 1\n"),
    ] {
        let screen = stage.press(keys).screen(100, 30);
        let lines: Vec<&str> = screen.lines().map(str::trim_end).collect();
        let has = |words: &str| lines.iter().any(|line| line.contains(words));
        assert!(has(shown) && !screen.contains(hidden), "{keys}: {screen}");
    }
}

/// The rows of the conversation on a screen of 100 × 30, without the rows that the notice covers.
fn upper_rows(stage: &mut Stage) -> Vec<String> {
    stage.screen(100, 30).lines().take(20).map(str::to_owned).collect()
}

/// A notice covers the last rows of the conversation while it is shown. No row moves when it opens or closes; a longer
/// answer and the next page show the end above the notice.
#[test]
fn a_notice_moves_no_row_of_the_conversation() {
    let first = fixture::text_node(1, None, Role::User, "The question");
    let text = (1..=90).map(|n| format!("- line {n}\n")).collect::<Vec<_>>().concat();
    let nodes = vec![first.clone(), fixture::text_node(2, Some(&first), Role::Assistant, &text)];
    let view = fixture::view(&nodes, vec![fixture::branch(fixture::MAIN, "main", nodes.last(), None)]);
    let mut stage = fixture::open(nodes, view);
    for keys in ["f7 esc", "pageup", "pageup pagedown"] {
        stage.press(keys);
        let before = upper_rows(&mut stage);
        stage.model.status.say(Severity::Warning, "A notice of several rows. ".repeat(12), stage.model.now);
        assert!(stage.screen(100, 30).contains("A notice of several rows."));
        assert_eq!(upper_rows(&mut stage), before, "{keys}: the notice opens");
        stage.press("esc");
        assert!(!stage.screen(100, 30).contains("A notice of several rows."));
        assert_eq!(upper_rows(&mut stage), before, "{keys}: the notice closes");
    }
    stage.press("pagedown pagedown pagedown");
    assert!(stage.screen(100, 30).contains("line 90"));
    stage.model.status.say(Severity::Warning, "A notice of several rows. ".repeat(12), stage.model.now);
    assert!(!stage.screen(100, 30).contains("line 90"), "the notice covers the end");
    stage.press("pagedown");
    assert!(stage.screen(100, 30).contains("line 90"), "the next page is above the notice");
    let after = stage.model.conversation.path.last().map(|slot| {
        let session = stage.model.session.as_ref().unwrap();
        session.tree.head(*slot).id
    });
    stage.event(Event::Turn(TurnEvent::Opened { branch: MAIN, text: "The newest words".into(), after }));
    assert!(stage.screen(100, 30).contains("The newest words"), "new rows are above the notice");
    let before = upper_rows(&mut stage);
    stage.press("esc");
    assert_eq!(upper_rows(&mut stage), before, "no row moves back");
}

/// An imported message without a text, which only keeps a position in the tree, takes no row and no step.
#[test]
fn an_empty_hidden_message_is_not_shown() {
    let mut root = fixture::node(1, None, Role::System, Vec::new());
    (root.head.hidden, root.head.imported) = (true, true);
    let question = fixture::text_node(2, Some(&root), Role::User, "Why does login fail?");
    let answer = fixture::text_node(3, Some(&question), Role::Assistant, "The token is rotated.");
    let nodes = vec![root, question, answer];
    let view = fixture::view(&nodes, vec![fixture::branch(MAIN, "main", nodes.last(), None)]);
    let mut stage = fixture::open(nodes, view);
    let screen = stage.screen(100, 30);
    assert!(!screen.contains("instructions") && !screen.contains("hidden"), "{screen}");
    stage.press("tab g");
    assert_eq!(stage.model.conversation.cursor, 1, "the first message that is shown");
    stage.press("k");
    assert_eq!(stage.model.conversation.cursor, 1);
}

/// The header of the selected answer says how much of its context was used; that of another message does not.
#[test]
fn a_selected_answer_shows_used_items() {
    let mut stage = fixture::opened();
    let nodes = fixture::story();
    let mut card = fixture::run(2, &nodes[4], &nodes[5]);
    card.uses = Some(UseCount { shown: 12, used: 3, shown_tokens: 4_100, used_tokens: 900 });
    stage.event(Event::Turn(TurnEvent::Run(Box::new(card))));
    assert!(!stage.screen(120, 35).contains("items used"));
    stage.press("tab");
    assert!(stage.screen(120, 35).contains(" · 3 of 12 items used"), "{}", stage.screen(120, 35));
    stage.press("k");
    assert!(!stage.screen(120, 35).contains("items used"));
}

#[test]
fn key_press_does_not_wrap_ten_thousand_messages() {
    let mut nodes = Vec::new();
    for n in 1..=10_000_u128 {
        let role = if n % 2 == 1 { Role::User } else { Role::Assistant };
        let text = "word ".repeat(1_000);
        let node = fixture::text_node(n, nodes.last(), role, &text);
        nodes.push(node);
    }
    let head = fixture::branch(MAIN, "main", nodes.last(), None);
    let view = fixture::view(&nodes, vec![head]);
    let mut stage = fixture::open(nodes, view);
    stage.screen(120, 40);
    let before = stage.cache.misses;
    stage.type_text("a").screen(120, 40);
    assert_eq!(stage.cache.misses, before, "a key wraps nothing again");
    stage.press("tab g").screen(120, 40);
    stage.press("G").screen(120, 40);
    assert!(stage.cache.misses < before + 30, "{} messages were wrapped", stage.cache.misses - before);
    assert!(stage.model.bodies.bytes() < 1_000_000, "only what was near the view was loaded");
    let begin = std::time::Instant::now();
    for _ in 0..50 {
        stage.type_text("x").buffer(120, 40);
    }
    let each = begin.elapsed() / 200;
    assert!(each.as_millis() < 80, "a frame takes {each:?} even without optimization");
}

#[test]
fn a_pin_that_went_along_has_a_line_under_the_question() {
    let nodes = fixture::story();
    let mut view = fixture::view(&nodes, vec![fixture::branch(MAIN, "main", Some(&nodes[5]), None)]);
    view.runs = vec![RunCard { items: 0, attached: 0, marked: 1, ..fixture::run(2, &nodes[4], &nodes[5]) }];
    let screen = fixture::open(nodes, view).screen(120, 35);
    assert!(screen.contains("└ 1 marked item · Ctrl+O shows the request"), "{screen}");
}

#[test]
fn the_line_about_marked_items_is_shown_where_they_changed() {
    let nodes = fixture::story();
    let lines = |marks: [(u32, Option<&[u8]>); 2]| {
        let mut view = fixture::view(&nodes, vec![fixture::branch(MAIN, "main", Some(&nodes[5]), None)]);
        let run = |n: u128, at: usize| {
            let (marked, marks) = marks[at];
            let run = fixture::run(n, &nodes[4 * at], &nodes[4 * at + 1]);
            RunCard { items: 0, attached: 0, marked, marks: marks.map(Hash::of), ..run }
        };
        view.runs = vec![run(1, 0), run(2, 1)];
        let screen = fixture::open(nodes.clone(), view).screen(120, 60);
        screen.matches("shows the request").count()
    };
    let (one, other) = (Some(&b"one"[..]), Some(&b"other"[..]));
    assert_eq!(lines([(1, one), (1, one)]), 1, "the same mark is not mentioned again");
    assert_eq!(lines([(1, one), (1, other)]), 2, "another mark is");
    assert_eq!(lines([(1, one), (2, other)]), 2, "one more mark is");
    assert_eq!(lines([(1, one), (0, None)]), 1, "without marks, nothing is unusual");
    assert_eq!(lines([(1, None), (1, None)]), 1, "calls of earlier versions");
}

#[test]
fn label_of_a_cut_answer_names_why_it_ended() {
    let cases = [
        (Some("length"), "cut off: the answer reached the output limit"),
        (Some("content_filter"), "cut off by the server's content filter"),
        (None, "cut off: the server ended the stream early"),
    ];
    for (reason, words) in cases {
        let mut nodes = fixture::story();
        nodes[5].head.end = End::Truncated;
        let mut view = fixture::view(&nodes, vec![fixture::branch(MAIN, "main", Some(&nodes[5]), None)]);
        let (finish_reason, status) = (reason.map(str::to_owned), RunStatus::Truncated);
        view.runs.push(RunCard { finish_reason, status, ..fixture::run(2, &nodes[4], &nodes[5]) });
        let mut stage = fixture::open(nodes, view);
        let whole = [words.to_owned(), format!("{words} · /continue"), format!("{words} · /continue · /regenerate")];
        for width in 60..130 {
            let screen = stage.screen(width, 35);
            let line = screen.lines().find_map(|line| line.split_once("✕ cut off")).expect("the label").1;
            let line = format!("cut off{}", line.split(['│', '┃']).next().unwrap_or_default().trim_end());
            assert!(whole.contains(&line), "{width}: {line:?} is cut in the middle of a hint");
        }
        assert!(stage.screen(120, 35).contains(&whole[2]), "{words}");
    }
}
