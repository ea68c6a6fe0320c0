//! Journeys through the whole program.

use crate::support::pty::{Home, Pty, Start};
use crate::support::server::{Server, Step, end, json, stream, words};
use serde_json::Value;
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// The workbench, wide enough that sentences stay on one line.
fn workbench(home: &Home) -> Pty {
    let pty = Start::new(home).size(180, 50).run();
    pty.see("Type a message");
    pty
}

/// The word that follows another one on the screen.
fn after<'a>(screen: &'a str, word: &str) -> &'a str {
    let rest = screen.split_once(word).unwrap_or_else(|| panic!("no {word:?} in:\n{screen}")).1;
    rest.split_whitespace().next().unwrap()
}

fn digests(home: &Home) -> Vec<String> {
    let runs = home.json(&["plans", "list"]);
    let mut runs: Vec<&Value> = runs.as_array().unwrap().iter().collect();
    runs.sort_by_key(|run| run["at"].as_i64());
    runs.iter().map(|run| run["request_digest"].as_str().unwrap().to_owned()).collect()
}

fn posts(server: &Server) -> Vec<Vec<u8>> {
    server.requests().into_iter().filter(|request| request.method == "POST").map(|request| request.body).collect()
}

/// Every posted body is the request of a stored plan, byte for byte.
fn assert_bodies_are_plans(server: &Server, home: &Home) {
    let mut came: Vec<String> = posts(server).iter().map(|body| blake3::hash(body).to_hex().to_string()).collect();
    let mut stored = digests(home);
    came.sort();
    stored.sort();
    assert_eq!(came, stored);
}

fn answer(text: &str) -> Vec<Step> {
    vec![stream(), words(text), end()]
}

#[test]
fn newcomer() {
    let home = Home::fresh();
    let pty = workbench(&home);
    pty.until("the first screen explains itself", |screen| {
        screen.contains("shows every request") && screen.contains("Model servers") && screen.contains("take the tour")
    });
    pty.keys("How do bees dance?");
    pty.keys("\r");
    pty.see("I am the offline model");
    pty.until("the answer is whole", |screen| screen.contains(" in · "));
    pty.keys("And wasps?");
    pty.see("> And wasps?");

    pty.keys("\x0f");
    pty.until("the overlay with both turns", |screen| {
        screen.contains("Next request ·") && screen.contains("How do bees dance?") && screen.contains("And wasps?")
    });
    pty.keys("v");
    let screen = pty.until("the details", |screen| screen.contains(", request "));
    let with = after(&screen, ", request ").to_owned();
    pty.keys("jjx");
    let screen = pty.until("the turn is out", |screen| screen.contains("1 left out") && screen.contains("✕"));
    assert_ne!(after(&screen, ", request "), with, "the plan changed at once:\n{screen}");
    let drawn = after(&screen, ", request ").trim_end_matches(',').to_owned();
    pty.keys("\x1b");
    pty.until("the chat again", |screen| screen.contains("> And wasps?"));
    pty.keys("\r");
    pty.until("the second answer", |screen| screen.matches(" in · ").count() == 2);
    pty.keys("\x04");
    let ended = pty.ended();
    assert_eq!(ended.code, 0);

    let sent = digests(&home);
    assert_eq!(sent.len(), 2);
    assert!(sent[1].starts_with(&drawn), "drawn {drawn}, sent {sent:?}");
    let pty = workbench(&home);
    pty.until("all is there again", |screen| {
        screen.contains("How do bees dance?") && screen.contains("And wasps?") && screen.contains("Left out 1")
    });
}

#[test]
fn day_with_a_server() {
    let first = vec![stream(), words("The first "), words("part"), Step::Hang];
    let scripts =
        vec![first, answer(" and the rest."), answer("Another answer."), answer("On the fork."), answer("Once more.")];
    let server = Server::start_posts(scripts);
    let home = Home::server(&server.base_url());
    let pty = workbench(&home);
    pty.keys("Question one\r");
    pty.see("The first part");
    let pressed = Instant::now();
    pty.keys("\x1b");
    pty.see("stopped");
    let took = pressed.elapsed();
    assert!(server.saw_client_leave());
    // 100 ms on an idle machine. A loaded one gets more.
    assert!(took < Duration::from_millis(800), "stopping took {took:?}");

    pty.keys("\tc");
    pty.see("and the rest.");
    pty.until("the turn is over", |screen| screen.contains("The first part") && !screen.contains("^c"));
    pty.keys("R");
    pty.see("Another answer.");
    pty.until("two versions", |screen| screen.contains("‹2/2›"));
    pty.keys("G");
    pty.keys("h");
    pty.until("the version before", |screen| screen.contains("‹1/2›") && screen.contains("and the rest."));
    pty.keys("l");
    pty.until("the next version", |screen| screen.contains("Another answer.") && screen.contains("‹2/2›"));
    pty.keys("p");
    pty.see("◆");
    pty.keys("f");
    pty.until("a second branch", |screen| screen.matches(" ◀").count() == 1 && screen.matches(['○', '●']).count() >= 2);
    pty.see("CTX: Light");
    pty.keys("\x06");
    pty.see("CTX: Heavy");
    pty.keys("\x06");
    pty.see("CTX: Off");
    pty.keys("Question two\r");
    pty.see("On the fork.");
    pty.until("the turn is over", |screen| screen.contains(" in · ") || !screen.contains("^c"));
    pty.keys("\x03\x04");
    assert_eq!(pty.ended().code, 0);

    assert_bodies_are_plans(&server, &home);
    let runs = home.json(&["plans", "list"]);
    let newest = runs.as_array().unwrap().iter().max_by_key(|run| run["at"].as_i64()).unwrap();
    assert_eq!(newest["mode"], "off", "{newest}");
    let branches = home.json(&["branch", "list"]);
    assert_eq!(branches.as_array().unwrap().len(), 2, "{branches}");
}

#[test]
fn two_branches_answer_at_once() {
    let slow = |one: &str, two: &str| vec![stream(), words(one), Step::Stall, words(two), end()];
    let scripts = vec![answer("Ground."), slow("Fork begins", " and ends."), slow("Main begins", " and ends.")];
    let server = Server::start_posts(scripts);
    let home = Home::server(&server.base_url());
    let pty = workbench(&home);
    pty.keys("Base\r");
    pty.see("Ground.");
    pty.until("the turn is over", |screen| screen.contains("Type a message") && screen.contains("^P actions"));
    pty.keys("\tf");
    pty.until("a second branch", |screen| screen.matches(['○', '●']).count() >= 2);
    pty.keys("On the fork\r");
    pty.see("Fork begins");
    pty.keys("\x02g\r");
    pty.until("the first branch", |screen| screen.contains("Ground.") && !screen.contains("Fork begins"));
    pty.keys("On main\r");
    pty.see("Main begins");
    server.release();
    server.release();
    pty.see("Main begins and ends.");
    pty.keys("\x02G\r");
    pty.see("Fork begins and ends.");
    pty.keys("\x04");
    assert_eq!(pty.ended().code, 0);
    assert_bodies_are_plans(&server, &home);
    let all = home.json(&["message", "list", "--all"]).to_string();
    for text in ["Main begins and ends.", "Fork begins and ends."] {
        assert!(all.contains(text), "{all}");
    }
    assert!(!all.contains("cancelled") && !all.contains("interrupted"), "{all}");
}

#[test]
fn servers_that_refuse() {
    let wrong =
        json(401, &[], r#"{"error":{"message":"Incorrect API key provided: sk-te**key","code":"invalid_api_key"}}"#);
    let busy = json(429, &[("retry-after", "30")], r#"{"error":{"message":"Rate limit reached"}}"#);
    let server = Server::start_posts(vec![wrong, busy, answer("At last.")]);
    let home = Home::server(&server.base_url());
    let pty = workbench(&home);
    pty.keys("Precious words\r");
    let screen = pty.until("a sentence and the draft", |screen| {
        screen.contains("(401)") && screen.contains("> Precious words") && screen.matches("Precious words").count() == 1
    });
    assert!(!screen.contains("{\"error\""), "{screen}");
    pty.keys("\r");
    pty.until("the countdown", |screen| screen.contains("starts in 2") && screen.contains("Esc stops"));
    pty.keys("\x1b");
    pty.until("the draft is back", |screen| screen.contains("> Precious words") && !screen.contains("starts in"));
    pty.keys("\r");
    pty.see("At last.");
    assert_eq!(posts(&server).len(), 3);
    pty.keys("\x04");
    assert_eq!(pty.ended().code, 0);

    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut home = Home::server(&format!("http://{closed}/v1"));
    home.config("[profiles.openai]\nattempts = 1\n");
    home.set("PLEACH_PROFILE", "openai");
    let pty = workbench(&home);
    pty.keys("Is anybody there?\r");
    pty.until("a sentence and the draft", |screen| screen.contains("onnect") && screen.contains("> Is anybody there?"));
}

/// Ten million bytes in a bracketed paste that contains the end marker.
#[test]
fn enormous_paste() {
    let server = Server::start_posts(vec![answer("Read it all.")]);
    let home = Home::server(&server.base_url());
    home.config(
        "budget = 49000000\n[models]\n\"gpt-4.1-mini\" = { context_window = 50000000, encoding = \"approximate\" }\n",
    );
    let pty = workbench(&home);
    pty.see("pleach shows every request");
    let row = format!("{}\r\n", "x1 ".repeat(42));
    let big = row.repeat(10_000_000 / row.len() + 1);
    pty.paste(&big);
    pty.until("the paste is folded", |screen| screen.contains("[pasted ") && screen.contains(" lines"));
    let pressed = Instant::now();
    pty.keys("\x1bOP");
    pty.until("the help", |screen| screen.contains("Show all keys"));
    assert!(pressed.elapsed() < Duration::from_secs(3), "a key took {:?}", pressed.elapsed());
    pty.keys("\x1b");
    pty.until("the composer", |screen| screen.contains("[pasted "));
    pty.keys("\r");
    pty.see("Read it all.");
    let body: Value = serde_json::from_slice(&posts(&server)[0]).unwrap();
    let sent = body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
    assert!(sent.len() >= 9_900_000, "{} bytes came", sent.len());
    assert!(sent.contains(big.replace("\r\n", "\n").trim_end()), "the text is unchanged");
}

#[test]
fn paste_that_contains_its_end_marker() {
    let server = Server::start_posts(vec![answer("One message.")]);
    let home = Home::server(&server.base_url());
    let pty = workbench(&home);
    pty.see("pleach shows every request");
    pty.paste("harmless\x1b[201~\rrm -rf /\r\x04\x03\x1a and so on");
    pty.until("it lies in the composer", |screen| screen.contains("and so on") || screen.contains("[pasted"));
    assert!(posts(&server).is_empty(), "nothing was sent by itself");
    pty.keys("\r");
    pty.see("One message.");
    let body = String::from_utf8(posts(&server)[0].clone()).unwrap();
    assert!(body.contains("harmless") && body.contains("and so on"), "{body}");
    pty.keys("\x04");
    assert_eq!(pty.ended().code, 0);
}

/// A terminal without bracketed paste sends a paste as keys in one burst.
#[test]
fn paste_without_brackets() {
    let server = Server::start_posts(vec![answer("Got it."), answer("Typed.")]);
    let home = Home::server(&server.base_url());
    let pty = workbench(&home);
    pty.see("pleach shows every request");
    let text = "fn main() {\n\tprintln!(\"naïve 日本\");\n\n}\nand a last line";
    pty.keys(&text.replace('\n', "\r"));
    pty.until("all of it is in the composer", |screen| {
        screen.contains("and a last line") || screen.contains("[pasted")
    });
    assert!(posts(&server).is_empty(), "no part of it was sent");
    pty.keys("\r");
    pty.see("Got it.");
    let sent_text = |n: usize| {
        let body: Value = serde_json::from_slice(&posts(&server)[n]).unwrap();
        body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned()
    };
    assert_eq!(sent_text(0), text);
    pty.until("the turn is over", |screen| screen.contains("Type a message"));
    pty.paste("in brackets");
    pty.keys("\r");
    pty.see("Typed.");
    assert_eq!(sent_text(1), "in brackets", "Enter directly after a bracketed paste sends");
    assert_eq!(posts(&server).len(), 2);
}
