//! Searching older messages, on the real binary: how modes, the gate, and marks affect results, and that a call with
//! cards matches its plan and can be replayed.

use crate::support::binary::Home;
use crate::support::server::{Server, end, stream, words};
use pleach::store::{OpenOptions, Store};
use serde_json::{Value, json};

fn server() -> Server {
    Server::start(vec![vec![stream(), words("Noted."), end()]])
}

/// A long conversation in which one early turn names the port of the staging proxy.
fn talk(home: &Home) {
    let mut lines = Vec::new();
    let mut say = |id: String, parent: Option<String>, role: &str, content: &str| {
        lines.push(json!({"id": id, "parent": parent, "role": role, "content": content, "session": "ops"}).to_string());
    };
    let topics = ["the quarterly budget", "holiday plans", "the office plants", "a new logo", "parking", "lunch menus"];
    for turn in 0..40 {
        let parent = (turn > 0).then(|| format!("a{}", turn - 1));
        let (asked, answered) = if turn == 4 {
            (
                "Where does the staging proxy listen?".to_owned(),
                "The staging proxy listens on port 48213 behind haproxy.".to_owned(),
            )
        } else {
            let topic = topics[turn % topics.len()];
            (
                format!("Anything about {topic}, number {turn}?"),
                format!(
                    "Plenty could be said of {topic}; here is remark {turn}. {}",
                    "It goes on for a while. ".repeat(12)
                ),
            )
        };
        say(format!("u{turn}"), parent, "user", &asked);
        say(format!("a{turn}"), Some(format!("u{turn}")), "assistant", &answered);
    }
    let file = home.path("ops.jsonl");
    std::fs::write(&file, lines.join("\n")).unwrap();
    home.ok(&["import", &file.display().to_string()]);
}

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn rows<'a>(plan: &'a Value, list: &str, wanted: impl Fn(&Value) -> bool) -> Vec<&'a Value> {
    plan[list].as_array().unwrap().iter().filter(|row| wanted(row)).collect()
}

const QUESTION: &str = "Which port did the staging proxy listen on?";

fn plan(home: &Home, text: &str, flags: &[&str]) -> Value {
    read(&home.ok(&[&["plan", text, "--budget", "2600", "--json"], flags].concat()))
}

fn found(plan: &Value) -> Vec<String> {
    let cards = rows(plan, "included", |row| row["section"] == "retrieved" && row["kind"] == "card");
    cards.iter().map(|row| row["source"]["external_id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn modes_limit_retrieval() {
    let server = server();
    let home = Home::asking(&server.base_url());
    talk(&home);
    let light = plan(&home, QUESTION, &[]);
    assert!(found(&light).contains(&"a4".to_owned()), "{light}");
    let tokens = |plan: &Value| {
        rows(plan, "included", |row| row["section"] == "retrieved")
            .iter()
            .map(|row| row["tokens"].as_u64().unwrap())
            .sum::<u64>()
    };
    let prompt = light["budget"]["prompt"].as_u64().unwrap();
    let broad = "What was remarked about the office plants and about parking?";
    let (light_broad, heavy_broad) = (plan(&home, broad, &[]), plan(&home, broad, &["--mode", "heavy"]));
    for (plan, share) in [(&light, 7), (&light_broad, 7), (&heavy_broad, 3)] {
        assert!(tokens(plan) <= prompt / share, "{} of {prompt}", tokens(plan));
    }
    assert!(tokens(&heavy_broad) > tokens(&light_broad), "{} and {}", tokens(&heavy_broad), tokens(&light_broad));
    assert_eq!(light["retrieval_set_ids"].as_array().unwrap().len(), 1);
    let card = rows(&light, "included", |row| row["source"]["external_id"] == "a4")[0].clone();
    assert_eq!((&card["reason"], &card["source"]["turn"]), (&json!("retrieved"), &json!(5)));
    assert!(card["score"].as_f64().unwrap() > 0.0 && card["score_parts"]["bm25"].as_f64().unwrap() > 0.0, "{card}");
    let off = plan(&home, QUESTION, &["--mode", "off"]);
    assert!(found(&off).is_empty());
    assert_eq!(rows(&off, "excluded", |row| row["reason"] == "mode_off").len(), 1, "{off}");
    let window = plan(&home, QUESTION, &["--policy", "window"]);
    assert!(found(&window).is_empty() && window["retrieval_set_ids"].as_array().unwrap().is_empty());
}

/// The budget decides which results are sent, but not whether to search: if none fits, their rows and the row of the
/// search say so.
#[test]
fn a_search_happens_in_every_budget() {
    let server = server();
    let home = Home::asking(&server.base_url());
    talk(&home);
    let mut without = 0;
    for budget in (300..900).step_by(50).map(|budget: u32| budget.to_string()) {
        let out = home.run(&["plan", QUESTION, "--budget", &budget, "--json"]);
        let Ok(plan) = serde_json::from_str::<Value>(&out.out) else { continue };
        if plan["included"].is_null() || !found(&plan).is_empty() {
            continue;
        }
        without += 1;
        let cut = |kind: &str| {
            let is_cut = |row: &Value| row["reason"] == "allowance" || row["reason"] == "budget";
            rows(&plan, "excluded", |row| row["kind"] == kind && is_cut(row)).len()
        };
        assert!(cut("card") > 0 && cut("search") == 1, "{budget}: {plan}");
    }
    assert!(without > 0, "some budgets are too small");
}

/// While the window holds one lane, messages of all lanes are found; otherwise only those of the branch's lane.
#[test]
fn other_lanes_are_found_while_one_is_chosen() {
    let server = server();
    let home = Home::asking(&server.base_url());
    talk(&home);
    home.ok(&["lane", "plants"]);
    let chosen = plan(&home, QUESTION, &[]);
    assert!(found(&chosen).contains(&"a4".to_owned()), "{chosen}");
    let other = rows(&chosen, "excluded", |row| row["reason"] == "outside_lane");
    assert!(!other.is_empty() && rows(&chosen, "included", |row| row["section"] == "recent").is_empty());
    home.ok(&["ask", "Which pots are empty?"]);
    assert!(found(&plan(&home, QUESTION, &[])).contains(&"a4".to_owned()));
    home.ok(&["lane", "none"]);
    let all = plan(&home, QUESTION, &[]);
    assert!(found(&all).is_empty(), "the branch goes on in the lane of its last message: {all}");
}

/// Many nearly equal turns and one that names the port: little of them is worth quoting.
#[test]
fn unused_card_room_goes_to_turns() {
    let home = Home::new("");
    let line = |n: usize| {
        let turn = n / 2;
        let (role, id, parent) = match n % 2 {
            0 => ("user", format!("u{turn}"), turn.checked_sub(1).map(|turn| format!("a{turn}"))),
            _ => ("assistant", format!("a{turn}"), Some(format!("u{turn}"))),
        };
        let points: Vec<String> = (0..30).map(|point| format!(" point{point} was raised and settled")).collect();
        let points = points.concat();
        let content = match (turn, n % 2) {
            (4, 0) => "Where does the staging proxy listen for the callers from outside of the house?".to_owned(),
            (4, _) => "The staging proxy listens on port 48213 behind haproxy.".to_owned(),
            (_, 0) => format!("Please write down the minutes of today's stand-up meeting again, number {turn}."),
            _ => format!("Minutes {turn}:{points}."),
        };
        json!({"id": id, "parent": parent, "role": role, "content": content, "session": "ops"}).to_string()
    };
    let file = home.path("minutes.jsonl");
    std::fs::write(&file, (0..120).map(line).collect::<Vec<_>>().join("\n")).unwrap();
    home.ok(&["import", &file.display().to_string()]);
    let asked = |text: &str, mode: &str| read(&home.ok(&["plan", text, "--budget", "8000", "--mode", mode, "--json"]));
    let plan = |mode: &str| asked(QUESTION, mode);
    let turns = |plan: &Value| rows(plan, "included", |row| row["section"] == "recent").len();
    let off = plan("off");
    for mode in ["light", "heavy"] {
        let plan = plan(mode);
        assert!(found(&plan).contains(&"a4".to_owned()), "{plan}");
        let number = |value: &Value| value.as_u64().unwrap();
        let free = number(&plan["budget"]["prompt"]) - number(&plan["est_total"]);
        let next = rows(&plan, "excluded", |row| row["kind"] == "turn")[0];
        assert!(free < number(&next["tokens"]) + 12, "{mode}: {free} tokens are empty, the next turn is {next}");
        let cards: u64 =
            rows(&plan, "included", |row| row["section"] == "retrieved").iter().map(|r| number(&r["tokens"])).sum();
        let fewer = u64::try_from(turns(&off) - turns(&plan)).unwrap();
        assert!(fewer * 200 <= cards + 200, "{mode}: {fewer} turns left for {cards} tokens of cards");
        let output = next["reason_text"].as_str().unwrap();
        assert!(
            output.starts_with("Does not fit the budget: ") && free.abs_diff(first_number(output)) <= 16,
            "{output}, and {free} are free"
        );
    }
    let broad = "Which minutes did the staging proxy raise and settle?";
    let light = read(&home.ok(&["plan", broad, "--budget", "5000", "--json"]));
    let near = rows(&light, "excluded", |row| {
        row["kind"] == "card" && (row["reason"] == "allowance" || row["reason"] == "budget")
    });
    assert!(!near.is_empty() && near.iter().all(|row| row["tokens"].as_u64().unwrap() > 0), "{light}");
    // Turns that come into the room that is left are not quoted beside it.
    let plan = asked(broad, "heavy");
    let of = |row: &&Value| row["source"]["turn"].as_u64().unwrap();
    let whole: Vec<u64> = rows(&plan, "included", |row| row["section"] == "recent").iter().map(of).collect();
    let cards = rows(&plan, "included", |row| row["section"] == "retrieved" && row["kind"] == "card");
    assert!(cards.len() > 5 && cards.iter().all(|card| !whole.contains(&of(card))), "{plan}");
}

fn first_number(text: &str) -> u64 {
    text.split(|c: char| !c.is_ascii_digit()).find(|digits| !digits.is_empty()).unwrap().parse().unwrap()
}

#[test]
fn message_without_content_retrieves_nothing() {
    let server = server();
    let home = Home::asking(&server.base_url());
    talk(&home);
    for text in ["continue", "go on", "ok do it", "why?", "next"] {
        let plan = plan(&home, text, &[]);
        let fresh: Vec<String> = found(&plan).into_iter().filter(|id| id == "a4" || id == "u4").collect();
        assert!(fresh.is_empty(), "{text}: {fresh:?}");
    }
}

#[test]
fn excluded_messages_are_not_found() {
    let server = server();
    let home = Home::asking(&server.base_url());
    talk(&home);
    home.ok(&["exclude", "a4", "--message"]);
    let without = plan(&home, QUESTION, &[]);
    assert!(!found(&without).contains(&"a4".to_owned()), "{without}");
    let row = rows(&without, "excluded", |row| row["source"]["external_id"] == "a4" && row["kind"] == "message");
    assert_eq!(row.len(), 1, "{without}");
    assert_eq!(row[0]["reason"], "user_excluded");
    home.ok(&["undo"]);
    assert!(found(&plan(&home, QUESTION, &[])).contains(&"a4".to_owned()));
}

#[test]
fn call_with_cards_matches_its_plan_and_replays() {
    let server = server();
    let home = Home::asking(&server.base_url());
    talk(&home);
    for layout in ["classic", "cache_friendly"] {
        let flags = ["--budget", "2600", "--layout", layout];
        let planned = read(&home.ok(&[&["plan", QUESTION, "--json"], &flags[..]].concat()));
        let body = home.ok(&[&["plan", QUESTION, "--request"], &flags[..]].concat());
        assert!(body.contains("48213"), "{body}");
        let answer = read(&home.ok(&[&["ask", QUESTION, "--json"], &flags[..]].concat()));
        let requests = server.requests();
        assert_eq!(String::from_utf8_lossy(&requests.last().unwrap().body), body);
        assert_eq!(answer["plan_id"], planned["plan_id"]);
        let run = answer["run_id"].as_str().unwrap();
        let again = read(&home.ok(&["replay", run, "--dry-run", "--json"]));
        assert_eq!(again["same"], true);
        let sum: u64 = planned["sections"].as_array().unwrap().iter().map(|s| s["tokens"].as_u64().unwrap()).sum();
        let whole = sum + planned["framing"].as_u64().unwrap() + planned["tools"].as_u64().unwrap();
        assert_eq!(planned["est_total"].as_u64(), Some(whole));
        home.ok(&["undo"]);
    }
    home.ok(&["message", "remove", "a4", "--yes"]);
    let store = std::fs::read(home.store()).unwrap();
    let contains = |needle: &[u8]| store.windows(needle.len()).any(|window| window == needle);
    assert!(!contains(b"48213"), "removed messages are in no plan either");
}

#[test]
fn batch_queries() {
    let server = server();
    let home = Home::asking(&server.base_url());
    talk(&home);
    let batch = home.path("batch.jsonl");
    std::fs::write(
        &batch,
        format!(
            "{}\n{}\n",
            json!({"id": 1, "query": QUESTION, "session": "ops"}),
            json!({"id": "two", "query": "go on", "session": "ops"})
        ),
    )
    .unwrap();
    let out = home.ok(&["retrieve", "--batch", &batch.display().to_string(), "--budget", "200", "--json"]);
    let lines: Vec<Value> = out.lines().map(read).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!((&lines[0]["id"], &lines[1]["id"]), (&json!(1), &json!("two")));
    let items = lines[0]["items"].as_array().unwrap();
    assert!(items.iter().any(|item| item["external_ids"] == json!(["a4"])), "{}", lines[0]);
    assert!(items.iter().map(|item| item["tokens"].as_u64().unwrap()).sum::<u64>() <= 200);
    assert!(lines[1]["items"].as_array().unwrap().is_empty(), "{}", lines[1]);
    let output = home.run(&["retrieve", "--batch", &home.path("none").display().to_string()]);
    assert_eq!(output.code, 1);
    std::fs::write(&batch, "{\"id\": 1}\n").unwrap();
    let output = home.run(&["retrieve", "--batch", &batch.display().to_string()]);
    assert!(output.err.contains("line 1") && output.err.contains("query"), "{}", output.err);
}

#[test]
fn index_is_continued_after_a_restart() {
    let home = Home::new("");
    let topics = ["harbour", "meadow", "kiln", "lantern", "orchard"];
    let line = |n: usize| {
        let parent = (n > 0).then(|| format!("m{}", n - 1));
        let role = if n.is_multiple_of(2) { "user" } else { "assistant" };
        let content = format!("Remark {n} of the {} and of crate{}.", topics[n % 5], n % 50);
        json!({"id": format!("m{n}"), "parent": parent, "role": role, "content": content}).to_string()
    };
    let file = home.path("long.jsonl");
    std::fs::write(&file, (0..400).map(line).collect::<Vec<_>>().join("\n")).unwrap();
    home.ok(&["import", &file.display().to_string()]);
    let store = || Store::open(&OpenOptions { path: home.store(), read_only: true }).unwrap().store;
    let session = store().sessions().unwrap()[0].id;
    assert!(store().index_tail(session).unwrap().is_none());
    let question = "What was the remark on the kiln and crate17?";
    let first = plan(&home, question, &[]);
    assert!(!found(&first).is_empty(), "{first}");
    assert!(store().index_tail(session).unwrap().is_some(), "an incomplete segment is stored too");
    assert_eq!(plan(&home, question, &[]), first);
    home.ok(&["message", "remove", "m17", "--yes"]);
    assert!(store().index_tail(session).unwrap().is_none());
}
