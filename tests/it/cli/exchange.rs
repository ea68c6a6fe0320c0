//! Import and export with the real binary: the same tree comes back, and a second import adds nothing.

use crate::support::binary::{Home, finish};
use crate::support::chatgpt;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

/// A message without machine-specific values: identified by its source id.
#[derive(PartialEq, Eq, Debug, Clone)]
struct Plain {
    id: String,
    parent: Option<String>,
    role: String,
    content: String,
    status: String,
    hidden: bool,
    current: bool,
}

/// An export, one message for each line. Siblings are in order.
fn plain(jsonl: &str) -> Vec<Plain> {
    jsonl
        .lines()
        .map(|line| {
            let value: Value = serde_json::from_str(line).unwrap();
            let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
            Plain {
                id: text("id"),
                parent: value["parent"].as_str().map(str::to_owned),
                role: text("role"),
                content: text("content"),
                status: text("status"),
                hidden: value["hidden"] == true,
                current: value["current"] == true,
            }
        })
        .collect()
}

fn write(home: &Home, name: &str, text: &str) -> String {
    let file = home.path(name);
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

fn added(imported: &Value) -> Vec<(u64, u64)> {
    let sessions = imported["sessions"].as_array().unwrap();
    sessions.iter().map(|s| (s["added"].as_u64().unwrap(), s["known"].as_u64().unwrap())).collect()
}

/// Without the session's name, which differs between stores.
fn nameless(jsonl: &str) -> Vec<Value> {
    let lines = jsonl.lines().map(|line| {
        let mut value: Value = serde_json::from_str(line).unwrap();
        let fields = value.as_object_mut().unwrap();
        fields.remove("session");
        fields.remove("source");
        value
    });
    lines.collect()
}

const LOOP: [&str; 4] = ["export", "--format", "jsonl", "--all"];

/// The nodes of a conversation and their parents, without the nodes at its beginning that have no content.
fn with_content(tree: &[(String, Option<String>)], source: &Value) -> Vec<(String, Option<String>)> {
    let has_content = |id: &String| {
        let message = &source["mapping"][id]["message"];
        !message.is_null() && (message["author"]["role"] != "system" || message["content"]["parts"] != json!([""]))
    };
    let kept = tree.iter().filter(|(id, _)| has_content(id));
    kept.map(|(id, parent)| (id.clone(), parent.clone().filter(has_content))).collect()
}

#[test]
fn chatgpt_export_keeps_its_tree() {
    let made = chatgpt::export(2, 500);
    let source: Value = serde_json::from_str(&made.json).unwrap();
    let trees: Vec<_> = (0..2).map(|index| with_content(&made.trees[index], &source[index])).collect();
    assert!(trees.iter().zip(&made.trees).all(|(tree, all)| tree.len() + 2 == all.len()));
    let home = Home::new("");
    let file = write(&home, "conversations.json", &made.json);
    let first = home.json(&["import", &file]);
    assert_eq!(first["skipped"].as_array().unwrap().len(), 0, "{}", first["skipped"]);
    let sizes: Vec<(u64, u64)> = trees.iter().map(|tree| (tree.len() as u64, 0)).collect();
    assert_eq!(added(&first), sizes);
    let again: Vec<(u64, u64)> = sizes.iter().map(|(all, _)| (0, *all)).collect();
    assert_eq!(added(&home.json(&["import", &file])), again, "a second import adds nothing");

    let other = Home::new("");
    for (index, tree) in trees.iter().enumerate() {
        let session = first["sessions"][index]["session"].as_str().unwrap();
        let exported = home.ok(&[&["-s", session], &LOOP[..]].concat());
        let nodes = plain(&exported);
        compare(&nodes, tree, &source[index], &made.current[index]);
        listed(&home, session, &nodes);

        let copy = write(&other, &format!("{index}.jsonl"), &exported);
        let imported = other.json(&["import", &copy]);
        assert_eq!(added(&imported), vec![(tree.len() as u64, 0)]);
        let there = imported["sessions"][0]["session"].as_str().unwrap();
        let again = other.ok(&[&["-s", there], &LOOP[..]].concat());
        assert_eq!(nameless(&again), nameless(&exported), "exporting again gives the same");
        assert_eq!(added(&other.json(&["import", &copy])), vec![(0, tree.len() as u64)]);
    }
    home.assert_sound();
    other.assert_sound();
}

/// Parents, the order of siblings, roles, texts, hidden nodes, and the current node, compared with the file itself.
fn compare(nodes: &[Plain], tree: &[(String, Option<String>)], source: &Value, current: &str) {
    assert_eq!(nodes.len(), tree.len());
    let mapping = &source["mapping"];
    let parents: HashMap<&str, Option<&str>> =
        tree.iter().map(|(id, parent)| (id.as_str(), parent.as_deref())).collect();
    let mut children: HashMap<Option<&str>, Vec<&str>> = HashMap::new();
    for node in nodes {
        children.entry(node.parent.as_deref()).or_default().push(&node.id);
    }
    for node in nodes {
        let original = &mapping[&node.id];
        assert_eq!(parents[node.id.as_str()], node.parent.as_deref(), "{}", node.id);
        let siblings: Vec<&str> =
            original["children"].as_array().unwrap().iter().map(|child| child.as_str().unwrap()).collect();
        assert_eq!(children.get(&Some(node.id.as_str())).cloned().unwrap_or_default(), siblings, "under {}", node.id);
        let message = &original["message"];
        if let Some(role) = message["author"]["role"].as_str() {
            assert_eq!(node.role, role);
        }
        let hidden = message["metadata"]["is_visually_hidden_from_conversation"] == true;
        assert!(!hidden || node.hidden, "{} is hidden", node.id);
        for part in message["content"]["parts"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            assert!(node.content.contains(part), "{:?} in {:?}", part, node.content);
        }
        if let Some(text) = message["content"]["text"].as_str().filter(|_| node.role == "tool") {
            assert!(node.content.contains(text.trim_end()), "{text:?} in {:?}", node.content);
        }
        assert_eq!(node.current, node.id == current);
    }
}

/// `message list` shows the path to the current node.
fn listed(home: &Home, session: &str, nodes: &[Plain]) {
    let by_id: HashMap<&str, &Plain> = nodes.iter().map(|node| (node.id.as_str(), node)).collect();
    let mut path = Vec::new();
    let mut at = nodes.iter().find(|node| node.current);
    while let Some(node) = at {
        path.push(node.id.clone());
        at = node.parent.as_deref().map(|parent| by_id[parent]);
    }
    path.reverse();
    let list = home.json(&["-s", session, "message", "list"]);
    let shown: Vec<&str> = list.as_array().unwrap().iter().map(|m| m["external_id"].as_str().unwrap()).collect();
    assert_eq!(shown, path);
}

#[test]
fn json_lines_round_trip() {
    let home = Home::scripted("{\"deltas\":[{\"text\":\"an answer \\u001b[31m with \\u009b colour\"}]}\n");
    home.ok(&["session", "new", "Round \u{1F501} trip"]);
    home.ok(&["ask", "one"]);
    home.ok(&["ask", "two \u{200B}\u{202E}and\ttabs\r\nlines"]);
    let list = home.json(&["message", "list"]);
    home.ok(&["regenerate"]);
    home.ok(&["edit", list[0]["id"].as_str().unwrap(), "one, again"]);
    home.ok(&["branch", "fork", "side"]);
    home.ok(&["ask", "on the side"]);
    let exported = home.ok(&LOOP);
    assert_eq!(exported, home.ok(&LOOP), "ids are stable");
    assert!(exported.lines().count() >= 9, "{exported}");

    let other = Home::new("");
    let file = write(&other, "a.jsonl", &exported);
    other.ok(&["import", &file]);
    assert_eq!(nameless(&other.ok(&LOOP)), nameless(&exported));
    other.ok(&["import", &file]);
    assert_eq!(nameless(&other.ok(&LOOP)), nameless(&exported));
    assert_eq!(other.json(&["session", "list"]).as_array().unwrap().len(), 1);
    other.assert_sound();
}

#[test]
fn grown_export_moves_only_untouched_heads() {
    let line = |id: &str, parent: &str, role: &str| {
        format!(
            "{{\"id\":\"{id}\",\"parent\":{parent},\"role\":\"{role}\",\"content\":\"text of {id}\",\"session\":\"s\"}}\n"
        )
    };
    let small = line("a", "null", "user") + &line("b", "\"a\"", "assistant");
    let grown = small.clone() + &line("c", "\"b\"", "user") + &line("d", "\"c\"", "assistant");
    let last = |home: &Home| {
        let list = home.json(&["message", "list"]);
        let list = list.as_array().unwrap();
        list.last().unwrap()["content"].as_str().unwrap().to_owned()
    };
    let untouched = Home::scripted("{\"deltas\":[{\"text\":\"mine\"}]}\n");
    let (first, second) = (write(&untouched, "a.jsonl", &small), write(&untouched, "b.jsonl", &grown));
    assert_eq!(added(&untouched.json(&["import", &first])), [(2, 0)]);
    assert_eq!(last(&untouched), "text of b");
    assert_eq!(added(&untouched.json(&["import", &second])), [(2, 2)]);
    assert_eq!(last(&untouched), "text of d");

    let moved = Home::scripted("{\"deltas\":[{\"text\":\"mine\"}]}\n");
    moved.ok(&["import", &first]);
    moved.ok(&["ask", "asked here"]);
    assert_eq!(added(&moved.json(&["import", &second])), [(2, 2)]);
    assert_eq!(last(&moved), "mine", "a person was here");
    assert_eq!(moved.json(&["message", "list", "--all"]).as_array().unwrap().len(), 6);
}

/// A forum of Telegram: its topics and chains of replies are lanes, which commands name and list.
#[test]
#[allow(clippy::too_many_lines, reason = "one export, read by each command")]
fn lanes_of_telegram_are_listed_and_chosen() {
    let text_message = |id: u32, text: &str, to: Option<u32>| {
        json!({ "id": id, "type": "message", "date_unixtime": (1_736_936_400 + id).to_string(), "from": "Ada",
                "from_id": "user5", "text": [text, { "type": "bold", "text": "!" }], "reply_to_message_id": to })
    };
    let topic = json!({ "id": 2, "type": "service", "date_unixtime": "1736936400", "actor": "Ada",
                        "action": "topic_created", "title": "Billing", "text": "" });
    let first = text_message(1, "The cranes are red", None);
    let mut messages =
        vec![first, topic, text_message(3, "It costs nine francs", Some(2)), text_message(4, "All of them", Some(1))];
    let chat =
        |messages: &[Value]| json!({ "name": "Forum", "type": "private_supergroup", "id": 7, "messages": messages });
    let home = Home::new("");
    let file = write(&home, "result.json", &chat(&messages).to_string());
    assert_eq!(added(&home.json(&["import", &file])), [(4, 0)]);
    assert_eq!(added(&home.json(&["import", &file])), [(0, 4)], "a second import adds nothing");
    messages.push(text_message(5, "Even the small ones", Some(4)));
    let file = write(&home, "grown.json", &serde_json::to_string_pretty(&chat(&messages)).unwrap());
    assert_eq!(added(&home.json(&["import", &file])), [(1, 4)]);

    let list = home.json(&["message", "list"]);
    let list = list.as_array().unwrap();
    let lane = |external: &str| {
        let one = list.iter().find(|one| one["external_id"] == external).unwrap();
        one["lane"].as_str().unwrap().to_owned()
    };
    let chain = lane("4");
    assert_eq!((lane("1").as_str(), lane("2").as_str(), lane("3").as_str()), ("", "Billing", "Billing"));
    assert!(chain.strip_prefix("reply:").is_some_and(|key| key.len() == 64), "the whole key of its root: {chain}");
    assert_eq!(lane("5"), chain);

    let lanes = home.json(&["lanes"]);
    let of = |lane: &str| lanes.as_array().unwrap().iter().find(|one| one["lane"] == lane).unwrap().clone();
    assert_eq!(lanes.as_array().unwrap().len(), 3);
    assert_eq!(lanes[0]["lane"], chain, "last used first");
    assert_eq!(lanes[0]["title"], "replies to \"The cranes are red!\"");
    assert_eq!(
        (&of(&chain)["turns"], &of(&chain)["messages"], &of(&chain)["next"]),
        (&json!(2), &json!(2), &json!(true))
    );
    assert_eq!((&of("Billing")["turns"], &of("Billing")["summary"]), (&json!(1), &Value::Null));
    assert!(of("")["est_tokens"].as_u64().unwrap() > 0 && of("")["last_used"] == 1_736_936_401_000_i64);
    let shown = home.ok(&["lane", "list"]);
    for lane in ["", "Billing", &chain] {
        let key = of(lane)["key"].as_str().unwrap().to_owned();
        assert!(shown.lines().any(|line| line.ends_with(&key)), "{key} in {shown}");
        home.ok(&["lane", &key]);
        let now = home.json(&["lane"]);
        let wanted = (&json!(lane), &json!("branch"), &json!("lane"));
        assert_eq!((&now["lane"], &now["from"], &now["window"]), wanted, "a key is a name: {key}");
    }
    let out = |plan: &Value| {
        plan["excluded"].as_array().unwrap().iter().filter(|row| row["reason"] == "outside_lane").count()
    };
    home.ok(&["lane", &chain[..14]]);
    assert_eq!(home.json(&["lane"])["lane"], chain, "the beginning of a key is enough");
    assert_eq!(out(&home.json(&["plan", "And those?"])), 2);
    assert_eq!(out(&home.json(&["plan", "And those?", "--policy", "window"])), 0);
    home.ok(&["lane", "none"]);
    assert_eq!(home.json(&["lane"])["window"], "all");
    assert_eq!(out(&home.json(&["plan", "And those?"])), 0);
    home.ok(&["undo"]);
    assert_eq!(out(&home.json(&["plan", "And those?"])), 2);
    home.assert_sound();
}

#[test]
fn concurrent_imports_add_a_conversation_once() {
    let made = chatgpt::export(3, 60);
    let home = Home::new("");
    home.ok(&["session", "list"]);
    let file = write(&home, "conversations.json", &made.json);
    let running: Vec<_> = (0..4).map(|_| home.command(&["import", &file, "--json"]).spawn().unwrap()).collect();
    let mut sums = vec![0; 3];
    for child in running {
        let output = finish(child);
        assert_eq!(output.code, 0, "{}", output.err);
        for (sum, (new, known)) in sums.iter_mut().zip(added(&serde_json::from_str(&output.out).unwrap())) {
            *sum += new;
            assert!(new + known >= 58);
        }
    }
    // The first two nodes of each conversation have no content.
    let sizes: Vec<u64> = made.trees.iter().map(|tree| tree.len() as u64 - 2).collect();
    assert_eq!(sums, sizes, "each message was added by exactly one process");
    assert_eq!(home.json(&["session", "list"]).as_array().unwrap().len(), 3);
    home.assert_sound();
}

/// The peak memory of a process in kilobytes. The system keeps the peak, so few samples are enough.
#[cfg(target_os = "linux")]
fn peak(mut child: std::process::Child) -> u64 {
    let file = format!("/proc/{}/status", child.id());
    let mut output = child.stdout.take().unwrap();
    let (sender, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut output, &mut std::io::sink());
        sender.send(())
    });
    let mut most = 0;
    while ended.recv_timeout(std::time::Duration::from_millis(4)).is_err() {
        let status = std::fs::read_to_string(&file).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let seen = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok());
        most = most.max(seen.unwrap_or(0));
    }
    assert!(child.wait().unwrap().success());
    most
}

#[test]
#[cfg(target_os = "linux")]
fn import_memory_stays_below_200_mb() {
    let home = Home::new("");
    let long = |role: &str| format!("{{\"role\":\"{role}\",\"content\":\"{}\"}}\n", "some words ".repeat(1_500_000));
    let lists = |count: usize| "[],".repeat(count);
    let message = format!("{{\"role\":\"user\",\"content\":\"words\",\"x\":[{}0]}}", lists(10_000));
    let shapes = [
        ("two long messages", long("user") + &long("assistant")),
        ("a line of lists", format!("{{\"role\":\"user\",\"content\":\"words\",\"x\":[{}0]}}\n", lists(5_000_000))),
        ("one conversation", format!("{{\"messages\":[{}]}}", vec![message; 200].join(","))),
        ("an account", {
            let text_message = |n: u32| {
                format!("{{\"id\":{n},\"type\":\"message\",\"text\":\"words\",\"reply_to_message_id\":{}}}", n - 1)
            };
            let list = (1..40_000).map(text_message).collect::<Vec<_>>().join(",\n");
            let chat = format!("{{\"name\":\"T\",\"type\":\"private_group\",\"id\":1,\"messages\":[{list}]}}");
            format!("{{\"about\":\"{}\",\"chats\":{{\"list\":[{chat}]}}}}", "x".repeat(5 << 20))
        }),
    ];
    for (shape, text) in shapes {
        let file = write(&home, "large.json", &text);
        let child = home.command(&["import", &file]).stderr(Stdio::null()).spawn().unwrap();
        let peak = peak(child) / 1_000;
        assert!((10..200).contains(&peak), "{shape}: {peak} MB");
    }
}

#[test]
fn branches_keep_their_heads() {
    let home = Home::scripted("{\"deltas\":[{\"text\":\"an answer\"}]}\n");
    home.ok(&["session", "new", "Trees"]);
    home.ok(&["ask", "one"]);
    home.ok(&["branch", "fork", "side"]);
    home.ok(&["ask", "on the side"]);
    home.ok(&["branch", "fork", "away"]);
    home.ok(&["-b", "main", "ask", "on main"]);
    home.ok(&["branch", "archive", "away"]);
    let exported = home.ok(&LOOP);
    let branches = |home: &Home| {
        let lines = home.ok(&LOOP);
        let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let found: Vec<(String, Value, Value)> = lines
            .iter()
            .filter(|line| !line["branch"].is_null())
            .map(|line| (line["branch"].as_str().unwrap().to_owned(), line["head"].clone(), line["archived"].clone()))
            .collect();
        found
    };
    let wanted = branches(&home);
    assert_eq!(wanted.iter().map(|(name, ..)| name.as_str()).collect::<Vec<_>>(), ["main", "side", "away"]);

    let other = Home::scripted("{\"deltas\":[{\"text\":\"an answer\"}]}\n");
    let file = write(&other, "a.jsonl", &exported);
    assert_eq!(other.json(&["import", &file])["skipped"].as_array().unwrap().len(), 0);
    assert_eq!(branches(&other), wanted);
    other.ok(&["-b", "side", "ask", "asked here"]);
    let moved = branches(&other);
    other.ok(&["branch", "rename", "main", "mine"]);
    other.ok(&["import", &file]);
    let names: Vec<String> = branches(&other).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["mine", "side", "away"], "no message is duplicated");
    assert_eq!(branches(&other)[1].1, moved[1].1, "a person was here");
    assert_eq!(added(&home.json(&["import", &write(&home, "own.jsonl", &exported)]))[0].0, 0);
    assert_eq!(branches(&home), wanted, "importing its own export changes nothing");
}

#[test]
fn standard_input_and_words_are_one_message() {
    let home = Home::scripted("{\"deltas\":[{\"text\":\"an answer\"}]}\n");
    let last = |home: &Home, input: &[u8], args: &[&str]| {
        let output = home.with_input(args, input);
        assert_eq!(output.code, 0, "{}", output.err);
        let list = home.json(&["message", "list"]);
        let mut users = list.as_array().unwrap().iter().filter(|message| message["role"] == "user");
        users.next_back().unwrap()["content"].as_str().unwrap().to_owned()
    };
    assert_eq!(last(&home, b"X\n", &["ask", "sum", "up"]), "sum up\n\nX");
    assert_eq!(last(&home, b"a\n```\nb\n", &["ask", "fix"]), "fix\n\n````\na\n```\nb\n````");
    assert_eq!(last(&home, b"", &["ask", "alone"]), "alone");
    assert_eq!(last(&home, b"piped\n", &["add", "user", "noted"]), "noted\n\npiped");
    assert_eq!(last(&home, b"only\n", &["add", "user", "-"]), "only");
    let planned = |input: &[u8], args: &[&str]| home.with_input(args, input).out;
    let both = planned(b"X\n", &["plan", "--request", "words"]);
    assert!(both.contains("words\\n\\nX"), "{both}");

    let mut child = home.command(&["ask", "slow"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    err.read_line(&mut line).unwrap();
    assert!(line.contains("reading the message from standard input"), "{line}");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn endless_message_is_refused() {
    let home = Home::new("");
    for args in
        [&["ask", "-"][..], &["add", "user", "-"], &["plan", "-"], &["retrieve", "--batch", "-"], &["import", "-"]]
    {
        let output = finish(home.command(args).stdin(std::fs::File::open("/dev/zero").unwrap()).spawn().unwrap());
        assert_eq!(output.code, 1, "{args:?} {}", output.err);
        assert!(output.err.contains("is larger than") || output.err.contains("empty"), "{args:?} {}", output.err);
    }
    let output = home.run(&["import", "/dev/zero"]);
    assert!(output.code == 1 && output.err.contains("is a device"), "{}", output.err);
    let output = home.run(&["import", "/"]);
    assert!(output.code == 1 && output.err.contains("folder"), "{}", output.err);
    assert_eq!(home.json(&["session", "list"]).as_array().unwrap().len(), 0);
}

#[test]
fn bad_record_is_reported_and_the_rest_imported() {
    let home = Home::new("");
    let text = "{\"id\":\"a\",\"role\":\"user\",\"content\":\"x\"}\nnot json\n{\"id\":\"b\",\"parent\":\"a\",\"role\":\"assistant\",\"content\":\"y\"}\n";
    let file = write(&home, "broken.jsonl", text);
    let output = home.run(&["import", &file]);
    assert_eq!(output.code, 0, "{}", output.err);
    assert!(output.err.contains("line 2"), "{}", output.err);
    assert!(output.out.contains(": 2 messages, ") || output.out.contains(": 3 messages, "), "{}", output.out);
    assert!(home.ok(&["message", "list", "--all", "--json"]).contains("\"y\""));
}

/// The first message of a ChatGPT conversation may have no time; the messages below it keep their times.
#[test]
fn messages_below_a_first_node_without_a_time_keep_their_times() {
    let home = Home::new("");
    let message = |id: &str, role: &str, at: f64| json!({"id": id, "author": {"role": role}, "create_time": at, "content": {"content_type": "text", "parts": [id]}});
    let made = json!([{"title": "Old", "create_time": 1_700_000_000.5, "current_node": "answer", "mapping": {
        "root": {"id": "root", "parent": null, "children": ["question"], "message": {"id": "root",
            "author": {"role": "system"}, "content": {"content_type": "text", "parts": ["Be brief."]}}},
        "question": {"id": "question", "message": message("question", "user", 1_700_000_001.0), "parent": "root",
            "children": ["answer"]},
        "answer": {"id": "answer", "message": message("answer", "assistant", 1_700_000_060.0), "parent": "question",
            "children": []},
    }}]);
    let file = write(&home, "conversations.json", &made.to_string());
    home.ok(&["import", &file]);
    let exported = home.ok(&LOOP);
    let times: Vec<String> = exported
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["created_at"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(times[1..], ["2023-11-14T22:13:21Z", "2023-11-14T22:14:20Z"], "{exported}");
    assert!(times[0] < times[1], "{exported}");
}
