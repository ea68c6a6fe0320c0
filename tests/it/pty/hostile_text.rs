//! Hostile text from every source: it reaches the terminal only as visible text.

use crate::support::lexer::{Token, all, foreign, foreign_except};
use crate::support::pty::{Home, Pty, Start};
use crate::support::server::{Server, end, json, send, stream, words};
use serde_json::json as value;

/// Attempts, each between markers, so that the rest can be found.
const PAYLOADS: [&str; 28] = [
    "\x1b]0;title\x07",
    "\x1b]2;title\x1b\\",
    "\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\",
    "\x1b]52;c;ZXZpbA==\x07",
    "\x1b]10;?\x1b\\",
    "\x1b]1337;File=inline=1:AAAA\x07",
    "\x1bP+q544e\x1b\\",
    "\x1bP1$r0m\x1b\\",
    "\x1b_Ga=T;AAAA\x1b\\",
    "\x1b^pm\x1b\\",
    "\x1bXsos\x1b\\",
    "\x1b[6n",
    "\x1b[21t",
    "\x1b[c",
    "\x1b[2J\x1b[H",
    "\x1b[?1049l",
    "\x1b[?2004l",
    "\x1b[31mred",
    "\x1bc",
    "\x1b(0lqk",
    "\u{9b}31m",
    "\u{9d}0;title\u{9c}",
    "\u{90}q\u{9c}",
    "over\rwritten",
    "gone\x08\x08\x08\x08",
    "bell\x07\x7f\x0b\x0c",
    "bidi\u{202e}txt\u{202c}\u{2066}x\u{2069}",
    "tag\u{e0041}\u{e0042}\u{200b}\u{feff}",
];

fn hostile() -> String {
    PAYLOADS.iter().enumerate().map(|(at, payload)| format!("<{at}{payload}{at}>")).collect::<Vec<_>>().join(" ")
}

/// The output up to the end of the last complete frame.
fn complete_frames(raw: &[u8]) -> &[u8] {
    const END: &[u8] = b"\x1b[?2026l";
    let last = raw.windows(END.len()).rposition(|part| part == END);
    last.map_or(raw, |at| &raw[..at + END.len()])
}

#[track_caller]
fn assert_no_foreign_escapes(raw: &[u8]) {
    let found = foreign(complete_frames(raw));
    let first: Vec<&Token> = found.iter().take(5).collect();
    assert!(found.is_empty(), "{} pieces reached the terminal, first {first:?}", found.len());
}

fn workbench(home: &Home) -> Pty {
    let pty = Start::new(home).size(200, 60).run();
    pty.see("Type a message");
    pty
}

/// From imported messages with tools, the session's title, a branch's name, tool traces, and the exact request.
#[test]
fn from_stored_conversations() {
    let home = Home::offline();
    let bad = hostile();
    let lines = [
        value!({"role": "system", "content": bad}),
        value!({"role": "user", "content": format!("Imported {bad}"), "name": "Eve\u{1b}[31m"}),
        value!({"role": "assistant", "content": bad, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": format!("read{bad}"), "arguments": format!("{{\"path\":\"{bad}\"}}")}}
        ]}),
        value!({"role": "tool", "tool_call_id": "c1", "content": bad}),
        value!({"role": "assistant", "content": format!("Answer {bad}")}),
    ];
    let file = home.work().join("talk.json");
    std::fs::write(&file, value!({ "messages": lines }).to_string()).unwrap();
    let (output, code) = home.cli(&["import", "talk.json"]);
    assert_eq!(code, 0, "{output}");
    for args in [["session", "rename", &bad], ["branch", "rename", &bad]] {
        let (output, code) = home.cli(&args);
        assert_eq!(code, 0, "{output}");
        assert_no_foreign_escapes(output.replace('\n', " ").as_bytes());
    }
    let pty = Start::new(&home).size(200, 60).run();
    pty.see("imported system prompt");
    pty.keys("\x1by");
    pty.see("imported system prompt?");
    pty.keys("\r");
    pty.see("Type a message");
    pty.see("⟨U+E0041⟩");
    pty.keys("\t\x1b[H");
    for (keys, seen) in [("\x0f", "Next request ·"), ("\r", "Instructions"), ("qq", "Answer")] {
        pty.keys(keys);
        pty.see(seen);
    }
    assert_no_foreign_escapes(&pty.raw());

    // Only copying by a key press may send OSC 52.
    pty.keys("\x02");
    pty.see("switch to");
    pty.keys("y");
    pty.until_bytes("the copy", |raw, _| raw.windows(5).any(|five| five == b"\x1b]52;"));
    let is_one = |token: &Token| matches!(token, Token::Osc(body) if body.starts_with("52;"));
    let copies = all(&pty.raw()).iter().filter(|token| is_one(token)).count();
    assert_eq!(copies, 1);
    assert!(foreign(&pty.raw()).iter().all(|token| matches!(token, Token::Osc(body) if body.starts_with("52;"))));
    pty.keys("\x1bOR");
    pty.see("Sessions");
    pty.keys("\x1bOS");
    pty.see("offline");
    assert!(foreign(complete_frames(&pty.raw())).len() == 1, "only the copied text");
}

/// From an answer, its thinking, its tool calls, an error message, and model names.
#[test]
fn from_a_server() {
    let bad = hostile();
    let delta =
        |delta: serde_json::Value| send(&format!("data: {}\n\n", value!({"choices": [{"index": 0, "delta": delta}]})));
    let call = value!({"tool_calls": [{"index": 0, "id": bad, "function": {"name": format!("t{bad}"), "arguments": format!("{{\"p\":{}}}", value!(bad))}}]});
    let scripts = vec![
        vec![stream(), delta(value!({"reasoning_content": bad})), words(&format!("Heard {bad} so.")), end()],
        vec![
            stream(),
            words(&bad),
            delta(call),
            send(
                "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n",
            ),
        ],
        json(400, &[], &value!({"error": {"message": format!("Refused {bad}"), "code": bad}}).to_string()),
    ];
    let list = value!({"object": "list", "data": [{"id": format!("model-{bad}"), "object": "model"}]});
    let server = Server::serve(scripts, Some(json(200, &[], &list.to_string())));
    let home = Home::server(&server.base_url());
    let pty = workbench(&home);
    pty.keys("First\r");
    pty.until("the answer, with marks", |screen| screen.contains("Heard") && screen.contains("⟨U+E0041⟩"));
    pty.until("the turn is over", |screen| screen.contains("^P actions"));
    pty.keys("Second\r");
    pty.until("the end of the second", |screen| screen.contains("Refused") && screen.contains("^P actions"));
    pty.keys("\x1bOS");
    pty.see("model-");
    pty.keys("\x1b");
    pty.until("the chat", |screen| !screen.contains("model-"));
    pty.keys("Third\r");
    pty.see("Refused");
    assert_no_foreign_escapes(&pty.raw());
}

/// Typed and pasted.
#[test]
fn from_the_keyboard() {
    let home = Home::offline();
    let pty = workbench(&home);
    for payload in PAYLOADS {
        pty.paste(&format!("see {payload} "));
    }
    pty.until("the pastes", |screen| screen.contains("see ") || screen.contains("[pasted"));
    pty.keys("\r");
    pty.until("the answer", |screen| screen.contains("I am the offline model") && screen.contains(" in · "));
    pty.see("⟨U+E0041⟩");
    assert_no_foreign_escapes(&pty.raw());
}

/// With links enabled, only plain web addresses reach the terminal: no other schemes, and no address with unusual
/// characters.
#[test]
fn links_contain_only_addresses() {
    let bad = "[a](javascript:alert(1)) [b](file:///etc/passwd) [c](https://x.example/\u{1b}]52;c;AA==\u{7}) \
               [d](https://x.example/&#27;]0;t&#7;) [e](<https://x.example/ y>) [g](https://bücher.example) \
               [h](https://x.example/\u{202e}) <javascript:x> [i](HTTPS://good.example/q?a=b&c=d;e) https://plain.example.";
    let lines = [
        value!({"role": "user", "content": "Links?"}),
        value!({"role": "assistant", "content": format!("{bad} {}", hostile())}),
    ];
    let mut home = Home::offline();
    home.set("TERM_PROGRAM", "WezTerm");
    std::fs::write(home.work().join("talk.json"), value!({ "messages": lines }).to_string()).unwrap();
    assert_eq!(home.cli(&["import", "talk.json"]).1, 0);
    let pty = workbench(&home);
    pty.see("plain.example");
    pty.until_bytes("a link", |raw, _| raw.windows(4).any(|four| four == b"\x1b]8;"));
    let good = ["HTTPS://good.example/q?a=b&c=d;e", "https://plain.example", "http://evil.example"];
    let rest = foreign_except(&pty.raw(), &good);
    assert!(rest.is_empty(), "{rest:?}");
    let given: Vec<String> = all(&pty.raw())
        .into_iter()
        .filter_map(|token| if let Token::Osc(body) = token { Some(body) } else { None })
        .collect();
    assert!(given.contains(&format!("8;;{}", good[0])) && given.contains(&format!("8;;{}", good[1])), "{given:?}");
}
