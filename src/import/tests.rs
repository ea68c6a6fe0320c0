//! Tests of every format by example, the round trip of our own format, and malformed input.

use super::*;
use crate::domain::base::Hash;
use crate::domain::base::cases::cases;
use crate::domain::conversation::record::{PORTION, PORTION_RECORDS, PieceReader as _};
use crate::domain::conversation::{BranchPointer, Content, End, Part, Piece, Record, Role, Transcript};
use proptest::prelude::*;
use serde_json::json;
use std::collections::HashMap;

#[path = "../../tests/it/support/chatgpt.rs"]
mod chatgpt;

fn one(text: &str) -> Transcript {
    let reading = read(text.as_bytes(), "some/file.json").unwrap();
    assert_eq!(reading.skipped, [], "{text}");
    assert_eq!(reading.transcripts.len(), 1);
    reading.transcripts.into_iter().next().unwrap()
}

fn shape(transcript: &Transcript) -> Vec<(&str, Option<&str>)> {
    transcript.records.iter().map(|record| (record.id.as_str(), record.parent.as_deref())).collect()
}

#[test]
fn plain_lines() {
    let text = concat!(
        "\u{feff}{\"id\":\"1\",\"role\":\"system\",\"content\":\"Be brief.\",\"session\":\"s\"}\r\n",
        "\r\n",
        "{\"id\":2,\"role\":\"user\",\"name\":\"Ada\",\"content\":\"Hi\",\"session\":\"s\",\"lane\":\"topic:x\",\"created_at\":\"2026-03-01T12:00:00Z\",\"mood\":\"good\"}\r\n",
        "{\"id\":\"3\",\"role\":\"assistant\",\"content\":\"Hello\",\"session\":\"s\",\"model\":\"m\",\"status\":\"truncated\"}",
    );
    let found = one(text);
    assert_eq!(found.source, "jsonl:s");
    assert_eq!(shape(&found), [("1", None), ("2", Some("1")), ("3", Some("2"))]);
    assert_eq!(found.current.as_deref(), Some("3"));
    let ada = &found.records[1];
    assert_eq!((ada.name.as_deref(), ada.lane.as_str(), ada.at), (Some("Ada"), "topic:x", Some(1_772_366_400_000)));
    assert_eq!(ada.content.extra, Some(json!({"mood": "good"})));
    assert_eq!((found.records[2].end, found.records[2].model.as_deref()), (End::Truncated, Some("m")));
}

#[test]
fn several_sessions_and_late_parents() {
    let lines = [
        json!({"id": "b", "parent": "a", "role": "assistant", "content": "late", "session": 1}),
        json!({"id": "x", "role": "user", "content": "other", "session": "two"}),
        json!({"id": "c", "parent": "a", "role": "assistant", "content": "later", "session": 1}),
        json!({"id": "a", "role": "user", "content": "first", "session": 1}),
        json!({"id": "r", "role": "user", "content": "second root", "session": 1}),
    ];
    let text = lines.map(|line| line.to_string()).join("\n");
    let reading = read(text.as_bytes(), "").unwrap();
    assert_eq!(reading.transcripts.len(), 2);
    assert_eq!(shape(&reading.transcripts[0]), [("a", None), ("b", Some("a")), ("c", Some("a")), ("r", None)]);
    assert_eq!(reading.transcripts[1].source, "jsonl:two");
}

#[test]
fn bad_records_are_reported_and_the_rest_is_imported() {
    let lines = [
        r#"{"id":"1","role":"user","content":"a","parent":null}"#,
        r#"{"id":"2","role":"wizard","content":"b","parent":"1"}"#,
        r#"{"id":"3","role":"assistant","content":"c","parent":"2"}"#,
        r#"{"id":"3","role":"assistant","content":"again","parent":"1"}"#,
        r#"{"id":"4","role":"assis"#,
        r#"{"id":"5","role":"user","content":17,"parent":"1"}"#,
        r#"{"id":"6","role":"user","content":"d","parent":"lost"}"#,
        r#"{"id":"7","role":"user","content":"e","parent":"8"}"#,
        r#"{"id":"8","role":"user","content":"f","parent":"7"}"#,
        "42",
    ];
    let reading = read(lines.join("\n").as_bytes(), "f").unwrap();
    let found = &reading.transcripts[0];
    assert_eq!(shape(found), [("1", None), ("2", Some("1")), ("3", Some("2")), ("lost", None), ("6", Some("lost"))]);
    assert!(found.records[1].hidden && found.records[1].content.parts.is_empty());
    let mut places: Vec<&str> = reading.skipped.iter().map(|note| note.place.as_str()).collect();
    places.sort_unstable();
    assert_eq!(places, ["line 10", "line 2", "line 4", "line 5", "line 6", "line 7", "line 8", "line 9"]);
}

#[test]
fn chat_messages() {
    let text = json!({"id": "conv", "title": "T", "messages": [
        {"role": "developer", "content": "rules"},
        {"role": "user", "content": [{"type": "text", "text": "look"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "k1", "type": "function", "function": {"name": "a", "arguments": "{\"x\": 1}"}},
            {"type": "function", "function": {"name": "b", "arguments": {"y": 2}}},
            {"id": "k3", "type": "function", "function": {"name": "c", "arguments": "{\"cut"}}]},
        {"role": "tool", "content": "ra"},
        {"role": "tool", "content": "rb"},
        {"role": "assistant", "reasoning_content": "hm", "content": "done"},
    ]})
    .to_string();
    let found = one(&text);
    assert_eq!((found.source.as_str(), found.title.as_str()), ("openai:conv", "T"));
    assert_eq!(found.records[0].role, Role::System);
    let image = &found.records[1].content;
    assert!(matches!(&image.parts[1], Part::Opaque { mime, .. } if mime == "image/png"));
    assert_eq!(image.extra.as_ref().unwrap()["opaque"][0]["type"], "image_url");
    let calls: Vec<_> =
        found.records[2].content.calls().map(|(id, _, args)| (id.to_owned(), args.to_owned())).collect();
    assert_eq!(calls.len(), 2, "a call without its whole arguments is none");
    assert_eq!(calls[0], ("k1".into(), "{\"x\": 1}".into()));
    assert_eq!(found.records[2].content.extra.as_ref().unwrap()["tool_calls"][0]["id"], "k3");
    for (at, call) in [(3, &calls[0].0), (4, &calls[1].0)] {
        assert!(matches!(&found.records[at].content.parts[0], Part::Reply { call: c, .. } if c == call));
    }
    assert_eq!(found.records[5].content.parts[0], Part::Reasoning { text: "hm".into() });
    let bare = one(r#"[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]"#);
    let grown =
        one(r#"[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]"#);
    assert_eq!(bare.source, grown.source, "a grown conversation meets itself");
    assert_eq!(shape(&bare), shape(&grown)[..2]);
    let other = one(r#"[{"role":"user","content":"z"}]"#);
    assert_ne!(bare.source, other.source);
    let answered = one(r#"[{"role":"user","content":"a"},{"role":"assistant","content":"c"}]"#);
    assert_ne!(bare.source, answered.source, "the same question elsewhere is another conversation");
}

#[test]
fn a_truncated_array_keeps_its_beginning() {
    let text = r#"[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"us"#;
    let reading = read(text.as_bytes(), "x.json").unwrap();
    assert_eq!(reading.transcripts[0].records.len(), 2);
    assert_eq!(reading.skipped[0].place, "element 3");
}

#[test]
fn unreadable_files_say_why() {
    let why = |bytes: &[u8]| read(bytes, "x.zip").unwrap_err().to_string();
    assert!(why(b"PK\x03\x04rest").contains("Unzip it first"));
    assert!(why(b"\x1f\x8b\x08").contains("gzip"));
    assert!(why(b"SQLite format 3\0rest").contains("database"));
    assert!(why(b"").contains("empty"));
    assert!(why(b" \n\r\n").contains("empty"));
    assert!(why(br#"{"conversations":[]}"#).contains("no message"));
    assert!(why(b"Dear diary,\ntoday").contains("line 1"));
    assert!(why(br#"[{"uuid":"1","chat_messages":[]}]"#).contains("Claude"));
    assert!(why(b"[]").contains("no message"));
}

#[test]
fn odd_encodings() {
    let mut bytes = br#"{"id":"1","role":"user","content":"bad "#.to_vec();
    bytes.extend([0xff, 0xfe, b'"', b'}']);
    let reading = read(&bytes, "x").unwrap();
    assert!(reading.transcripts[0].records[0].content.plain_text().contains('\u{fffd}'));
    assert!(reading.skipped[0].why.contains("UTF-8"));
    let mut wide = vec![0xff, 0xfe];
    wide.extend(r#"[{"role":"user","content":"ü"}]"#.encode_utf16().flat_map(u16::to_le_bytes));
    assert_eq!(read(&wide, "x").unwrap().transcripts[0].records[0].content.plain_text(), "ü");
}

#[test]
fn a_file_is_read_in_small_pieces_and_a_huge_line_is_shortened() {
    let line = |n: u32, words: &str| {
        let parent = n.checked_sub(1).map_or(json!(null), |n| json!(n.to_string()));
        json!({"id": n.to_string(), "parent": parent, "role": "user", "content": words, "session": "s"}).to_string()
    };
    let mut lines: Vec<String> = (0..4_000).map(|n| line(n, &"word ".repeat(400))).collect();
    lines[7] = line(7, &"é".repeat(9 << 20));
    let mut stream = open(Box::new(Cursor::new(lines.join("\n").into_bytes())), "x.jsonl").unwrap();
    let mut seen: Vec<Record> = Vec::new();
    while let Some(piece) = stream.next().unwrap() {
        let Piece::Records { records, .. } = piece else { continue };
        let bytes: u64 = records.iter().map(|placed| placed.record.content.bytes()).sum();
        assert!(bytes < PORTION + (5 << 20) && records.len() <= PORTION_RECORDS, "{bytes} bytes at once");
        for placed in records {
            assert_eq!(placed.parent, u32::try_from(seen.len()).unwrap().checked_sub(1));
            seen.push(placed.record);
        }
    }
    assert_eq!(seen.len(), 4_000);
    let words = seen[7].content.plain_text();
    assert!(words.len() == 4 << 20 && words.chars().all(|c| c == 'é'), "the first 4 MiB are kept");
    let skipped = stream.report().skipped;
    assert_eq!(skipped.len(), 1);
    assert!(skipped[0].place == "line 8" && skipped[0].why.contains("18874"), "{:?}", skipped[0]);
}

/// Returns the records of a conversation of any size. Asserts that at most one portion is ready at a time.
fn in_portions(text: String) -> Vec<Record> {
    let mut stream = open(Box::new(Cursor::new(text.into_bytes())), "x.json").unwrap();
    let mut seen: Vec<Record> = Vec::new();
    while let Some(piece) = stream.next().unwrap() {
        assert!(stream.out.len() <= 2, "{} pieces wait", stream.out.len());
        let Piece::Records { records, .. } = piece else { continue };
        assert!(records.len() <= PORTION_RECORDS);
        seen.extend(records.into_iter().map(|placed| placed.record));
    }
    assert_eq!(stream.report().skipped, []);
    seen
}

#[test]
fn a_large_conversation_read_in_portions_is_the_same() {
    // One form is larger than what is read whole; the other one, separate lines, is not.
    let message = |n: u32| {
        let role = if n.is_multiple_of(2) { "user" } else { "assistant" };
        json!({"role": role, "content": format!("{n} {}", "word ".repeat(n as usize % 700))})
    };
    let large: Vec<String> = (0..5_000).map(|n| message(n).to_string()).collect();
    let found = in_portions(format!("{{\"messages\":[{}],\"id\":\"c\"}}", large.join(",\n")));
    let lines = in_portions(large.join("\n"));
    assert_eq!(found, lines);
    let made = chatgpt::export(1, 4_000);
    assert!(shorten::weight(made.json.as_bytes()) > shorten::MAX_VALUE_WEIGHT);
    let found = in_portions(made.json.clone());
    let nodes = found.iter().map(|record| (record.id.as_str(), record.parent.as_deref()));
    let wanted = made.trees[0].iter().map(|(id, parent)| (id.as_str(), parent.as_deref()));
    assert_eq!(family(nodes), family(wanted));
    let current = read(made.json.as_bytes(), "x").unwrap().transcripts[0].current.clone();
    assert_eq!(current.as_ref(), Some(&made.current[0]));
    // All messages wait for the first one, which comes last.
    let late = |n: u32| json!({"id": n, "parent": n.checked_sub(1), "role": "user", "content": "x"}).to_string();
    let lines: Vec<String> = (0..10_000).rev().map(late).collect();
    assert_eq!(in_portions(format!("{{\"messages\":[{}]}}", lines.join(","))).len(), 10_000);
}

#[test]
fn a_truncated_conversation_keeps_its_beginning() {
    let text = r#"{"id":"c","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"ro"#;
    let reading = read(text.as_bytes(), "x").unwrap();
    assert_eq!(reading.transcripts[0].source, "openai:c");
    assert_eq!(reading.transcripts[0].records.len(), 2);
    let places: Vec<&str> = reading.skipped.iter().map(|note| note.place.as_str()).collect();
    assert_eq!(places, ["line 1, message 3", "line 1"]);
}

#[test]
fn a_message_of_many_small_values_is_cut_and_keeps_its_text() {
    for filler in ["[],", "{\"\":0},", "0,"] {
        let list = filler.repeat(1_000_000);
        let text = format!("{{\"x\":[{list}0],\"role\":\"user\",\"content\":\"words\"}}");
        let reading = read(text.as_bytes(), "x").unwrap();
        let content = &reading.transcripts[0].records[0].content;
        let kept = content.extra.as_ref().unwrap()["x"].as_array().unwrap().len();
        assert!(content.plain_text() == "words" && (10_000..100_000).contains(&kept), "{kept} values are kept");
        assert!(reading.skipped[0].why.contains("longest texts were cut"), "{:?}", reading.skipped);
    }
}

#[test]
fn an_endless_file_is_refused_by_its_beginning() {
    let noise: Vec<u8> = (0..PREFIX as u64).flat_map(|n| Hash::of(&n.to_le_bytes()).0).take(PREFIX).collect();
    for (bytes, why) in [
        (vec![0; PREFIX], "empty"),
        (b"y\n".repeat(PREFIX / 2), "none of its first lines"),
        (noise, "not text"),
        (b"\x1f\x8b\x08".repeat(30_000), "gzip"),
    ] {
        let error = check(&bytes, "-").unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    assert!(check(b"{\"role\":\"user\"}\n", "-").is_ok());
    let rubbish = format!("{{\"no\n{}", "never json\n".repeat(1_000_000));
    assert!(read(rubbish.as_bytes(), "x").unwrap_err().to_string().contains("line 1"));
}

/// Returns the children of each parent in order. This compares trees regardless of the order of unrelated records.
fn family<'a>(nodes: impl Iterator<Item = (&'a str, Option<&'a str>)>) -> HashMap<Option<&'a str>, Vec<&'a str>> {
    let mut family: HashMap<Option<&str>, Vec<&str>> = HashMap::new();
    for (id, parent) in nodes {
        family.entry(parent).or_default().push(id);
    }
    family
}

#[test]
fn a_chatgpt_export_round_trips_with_the_same_tree() {
    let made = chatgpt::export(3, 520);
    let reading = read(made.json.as_bytes(), "conversations.json").unwrap();
    assert_eq!((reading.format.as_str(), reading.skipped.len()), ("chatgpt", 0));
    assert_eq!(reading.transcripts.len(), 3);
    for ((found, tree), current) in reading.transcripts.iter().zip(&made.trees).zip(&made.current) {
        assert!(found.records.len() >= 520);
        assert_eq!(found.records.len(), tree.len());
        let wanted = family(tree.iter().map(|(id, parent)| (id.as_str(), parent.as_deref())));
        assert_eq!(family(shape(found).into_iter()), wanted);
        assert!(wanted.values().filter(|kids| kids.len() > 1).count() > 50, "edits and regenerations");
        assert_eq!(found.current.as_ref(), Some(current));
        assert!(found.records[0].content.parts.is_empty() && found.records[1].hidden && found.records[2].hidden);
        assert!(found.records.iter().any(|r| r.model.as_deref() == Some("o3")));
        assert!(found.records.iter().any(|r| r.content.parts.iter().any(|p| matches!(p, Part::Opaque { .. }))));
        assert!(
            found
                .records
                .iter()
                .any(|r| matches!(r.content.parts.as_slice(), [Part::Reply { name, .. }] if name == "python"))
        );
        assert_eq!(&one(&crate::export::jsonl(found, false)), found);
    }
    assert_eq!(read(made.json.as_bytes(), "other name.json").unwrap(), reading, "a second import meets the first");
}

#[test]
fn chatgpt_oddities() {
    let text = json!({"title": "", "current_node": "gone", "mapping": {
        "b": {"parent": "a", "children": [], "message": {"author": {"role": "assistant"}, "weight": 0,
            "content": {"content_type": "thoughts", "thoughts": [{"summary": "S", "content": "C"}]}}},
        "a": {"parent": null, "children": ["c", "b"], "message": null},
        "c": {"children": [], "message": {"author": {"role": "martian"}, "content": {}}},
        "d": {"parent": "c", "children": [], "message": {"author": {"role": "user"}, "odd": 1,
            "content": {"content_type": "tether_quote", "url": "u", "text": "quoted"}, "create_time": 1.5}},
        "l": {"parent": "m", "children": ["m"]},
        "m": {"parent": "l", "children": ["l"]},
        "n": 5,
    }})
    .to_string();
    let reading = read(text.as_bytes(), "my.json").unwrap();
    let found = &reading.transcripts[0];
    assert_eq!(shape(found), [("a", None), ("c", Some("a")), ("b", Some("a")), ("d", Some("c")), ("n", None)]);
    assert_eq!(found.title, "my");
    assert!(found.records[2].hidden);
    assert_eq!(found.records[2].content.parts, [Part::Reasoning { text: "S\n\nC".into() }]);
    let quote = &found.records[3];
    assert_eq!((quote.content.plain_text().as_str(), quote.at), ("quoted", Some(1_500)));
    assert_eq!(quote.content.extra, Some(json!({"odd": 1, "content_type": "tether_quote", "content": {"url": "u"}})));
    assert_eq!(reading.skipped.len(), 4, "{:?}", reading.skipped);
}

#[test]
fn a_tree_20_000_deep_is_read_in_any_order() {
    // Recursion over so many messages would overflow a test's stack.
    const DEEP: u32 = 20_000;
    let lines = |order: &mut dyn Iterator<Item = u32>| {
        let mut text = String::new();
        for n in order {
            let parent = n.checked_sub(1).map(|n| n.to_string());
            let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
            let (head, tail) = ("{\"id\":\"", ",\"role\":\"user\",\"content\":\"x\"}");
            text.extend([head, &n.to_string(), "\",\"parent\":", &parent, tail]);
            text.push('\n');
        }
        text
    };
    let forth = one(&lines(&mut (0..DEEP)));
    let back = one(&lines(&mut (0..DEEP).rev()));
    assert_eq!(forth.records.len(), DEEP as usize);
    assert_eq!(forth.records, back.records);
    let nodes: Vec<String> = (0..DEEP)
        .map(|n| {
            let parent = n.checked_sub(1).map_or("null".to_owned(), |n| format!("\"{n}\""));
            let message = r#"{"author":{"role":"user"},"content":{"content_type":"text","parts":["x"]}}"#;
            format!("\"{n}\":{{\"parent\":{parent},\"children\":[\"{}\"],\"message\":{message}}}", n + 1)
        })
        .collect();
    let deep = one(&format!("[{{\"id\":\"z\",\"mapping\":{{{}}}}}]", nodes.join(",")));
    assert_eq!(deep.records.len(), DEEP as usize);
    let nested = format!("{}{}", "[".repeat(200_000), "{\"a\":".repeat(200_000));
    assert!(read(nested.as_bytes(), "nested").is_err());
}

#[test]
fn the_demo_is_imported_without_notes() {
    let found = one(include_str!("../../assets/demo/session.jsonl"));
    assert!(found.records.len() >= 20);
    let wide = family(shape(&found).into_iter()).values().filter(|kids| kids.len() > 1).count();
    assert!(wide >= 2, "an edit and a regenerate");
    assert!(found.records.iter().any(|r| r.content.calls().next().is_some()));
    assert!(found.records.iter().any(|r| r.content.plain_text().contains("---STATE---")));
    assert_eq!(one(&crate::export::jsonl(&found, true)), found, "it contains nothing to mask");
}

fn part() -> impl Strategy<Value = Part> {
    let words = prop_oneof!["\\PC{0,20}", "[a-z\\n\\r\\t\\x00\\x1b\"\\\\]{0,8}", Just(String::new())].boxed();
    let args = prop_oneof![Just("{}".to_owned()), Just("{\"cut".to_owned()), words.clone()];
    prop_oneof![
        4 => words.clone().prop_map(|text| Part::Text { text }),
        1 => words.clone().prop_map(|text| Part::Reasoning { text }),
        2 => (words.clone(), words.clone(), args).prop_map(|(id, name, args)| Part::Call { id, name, args }),
        2 => (words.clone(), words.clone(), words.clone()).prop_map(|(call, name, body)| Part::Reply { call, name, body }),
        1 => (words, any::<[u8; 32]>(), any::<u64>()).prop_map(|(mime, raw, bytes)| Part::Opaque { mime, raw: Hash(raw), bytes }),
    ]
}

fn content() -> impl Strategy<Value = Content> {
    let extra = prop_oneof![
        3 => Just(None),
        1 => Just(Some(json!({"content": 1, "id": "x", "nested": [{"role": null}]}))),
        1 => any::<i64>().prop_map(|n| Some(json!(n))),
    ];
    (prop::collection::vec(part(), 0..4), extra).prop_map(|(parts, extra)| Content { parts, extra })
}

fn transcript() -> impl Strategy<Value = Transcript> {
    let roles = prop::sample::select(vec![Role::System, Role::User, Role::Assistant, Role::Tool]);
    let ends = prop::sample::select(vec![
        End::Complete,
        End::Truncated,
        End::Cancelled,
        End::Interrupted,
        End::Errored,
        End::Removed,
    ]);
    let maybe = || prop::option::of("\\PC{0,6}");
    let record = (
        (any::<prop::sample::Index>(), any::<bool>(), roles, maybe(), content()),
        (ends, prop::option::of(any::<i64>()), "[a-z:]{0,4}", any::<bool>(), maybe()),
        prop_oneof![3 => Just((String::new(), false)), 1 => ("[a-z]{1,5}( [a-z]{1,4})?", any::<bool>())],
    );
    let all = prop::collection::vec(record, 1..12);
    let branch = ("\\PC{0,9}", prop::option::of(any::<prop::sample::Index>()), any::<bool>(), any::<bool>());
    let branches = prop::collection::vec(branch, 0..4);
    (all, "\\PC{0,9}", "\\PC{0,9}", prop::option::of(any::<prop::sample::Index>()), branches).prop_map(
        |(all, source, title, current, branches)| {
            let mut records: Vec<Record> = Vec::new();
            for ((up, root, role, name, content), (end, at, lane, hidden, model), tag) in all {
                let parent = (!root && !records.is_empty()).then(|| records[up.index(records.len())].id.clone());
                let id = format!("n{} é\"", records.len());
                let (label, favorite) = tag;
                records.push(Record { id, parent, role, name, content, end, at, lane, hidden, model, label, favorite });
            }
            let current = current.map(|at| records[at.index(records.len())].id.clone());
            let pointer =
                |(name, head, archived, current): (String, Option<prop::sample::Index>, bool, bool)| BranchPointer {
                    name,
                    head: head.map(|at| records[at.index(records.len())].id.clone()),
                    archived,
                    current,
                };
            let branches = branches.into_iter().map(pointer).collect();
            Transcript { source, title, records, current, branches }
        },
    )
}

fn real_files() -> Vec<Vec<u8>> {
    let made = chatgpt::export(1, 30).json.into_bytes();
    let demo = include_bytes!("../../assets/demo/session.jsonl").to_vec();
    vec![made, demo, br#"[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"tool"}]"#.to_vec()]
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn an_export_reads_back_the_same(all in transcript()) {
        let text = crate::export::jsonl(&all, false);
        let reading = read(text.as_bytes(), "x.jsonl").unwrap();
        prop_assert_eq!(&reading.skipped, &[]);
        prop_assert_eq!(&reading.transcripts[..], std::slice::from_ref(&all));
        prop_assert!(crate::export::markdown(&all, false).starts_with("# "));
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&bytes, "x");
    }

    #[test]
    fn random_json_never_panics(text in r#"(\{|\}|\[|\]|,|:|"id"|"role"|"parent"|"content"|"mapping"|"messages"|"user"|"a"|1|null|\n){0,60}"#) {
        let _ = read(text.as_bytes(), "x");
    }

    #[test]
    fn corrupted_files_never_panic_and_stay_trees(
        which in 0_usize..3,
        spots in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..3), 1..12),
    ) {
        let mut bytes = real_files().swap_remove(which);
        for (at, byte, how) in spots {
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => { bytes.remove(at); }
                _ => bytes.truncate(at.max(bytes.len() / 2)),
            }
            if bytes.is_empty() { bytes.push(b'['); }
        }
        if let Ok(reading) = read(&bytes, "x") {
            for found in &reading.transcripts {
                let mut seen = std::collections::HashSet::new();
                for record in &found.records {
                    prop_assert!(record.parent.as_ref().is_none_or(|parent| seen.contains(parent)), "parents first");
                    prop_assert!(seen.insert(record.id.clone()), "ids once");
                }
            }
        }
    }
}
