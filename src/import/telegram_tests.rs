//! Exports of Telegram Desktop: single chats, chats of an account, lanes of topics and replies, and malformed input.

use super::*;
use crate::domain::base::cases::cases;
use crate::domain::conversation::record::{PORTION_RECORDS, PieceReader as _};
use crate::domain::conversation::{Part, Piece, Record, Role, Transcript};
use proptest::prelude::*;
use serde_json::{Value, json};

#[allow(clippy::needless_pass_by_value, reason = "callers build the list in place")]
fn chat(kind: &str, messages: Vec<Value>) -> Value {
    json!({ "name": "Team", "type": kind, "id": 77, "messages": messages })
}

fn text_message(id: i64, text: &str) -> Value {
    json!({ "id": id, "type": "message", "date": "2025-01-15T10:30:00", "date_unixtime": (1_736_936_400 + id).to_string(),
            "from": "Ada", "from_id": "user5", "text": text, "text_entities": [{ "type": "plain", "text": text }] })
}

fn reply(id: i64, to: i64) -> Value {
    let mut message = text_message(id, &format!("message {id}"));
    message["reply_to_message_id"] = to.into();
    message
}

fn topic(id: i64, title: &str) -> Value {
    json!({ "id": id, "type": "service", "date": "2025-01-15T10:30:00", "date_unixtime": "1736936400",
            "actor": "Ada", "actor_id": "user5", "action": "topic_created", "title": title, "text": "" })
}

/// Formats a value as Telegram Desktop writes it, over several lines.
fn to_text(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap()
}

fn one(value: &Value) -> Transcript {
    let reading = read(to_text(value).as_bytes(), "result.json").unwrap();
    assert_eq!((reading.format.as_str(), &reading.skipped[..]), ("telegram", &[][..]));
    assert_eq!(reading.transcripts.len(), 1);
    reading.transcripts.into_iter().next().unwrap()
}

fn lanes(records: &[Record]) -> Vec<(&str, &str)> {
    records.iter().map(|record| (record.id.as_str(), record.lane.as_str())).collect()
}

#[test]
fn a_chat_is_one_conversation_in_the_order_of_the_file() {
    let mut answer = text_message(3, "Hello, Ada.");
    (answer["from"], answer["from_id"]) = ("Helper".into(), "user77".into());
    let edited = json!({ "id": 2, "type": "message", "date": "2025-01-15T10:30:00", "from": null, "from_id": "user6",
        "edited": "2025-01-16T10:30:00", "reactions": [{ "type": "emoji", "count": 2 }], "text": "Hi" });
    let found = one(&chat("bot_chat", vec![text_message(1, "Good morning"), edited, answer]));
    assert_eq!((found.source.as_str(), found.title.as_str()), ("telegram:chat:77", "Team"));
    let shape = |record: &Record| (record.id.clone(), record.parent.clone(), record.role, record.name.clone());
    let (own, name) = (Role::User, |name: &str| Some(name.to_owned()));
    let shapes: Vec<_> = found.records.iter().map(shape).collect();
    assert_eq!(shapes[0], ("1".into(), None, own, name("Ada")));
    assert_eq!(shapes[1], ("2".into(), name("1"), own, None));
    assert_eq!(shapes[2], ("3".into(), name("2"), Role::Assistant, name("Helper")), "the bot of the chat answers");
    assert_eq!(found.records[0].at, Some(1_736_936_401_000));
    assert_eq!(found.records[1].at, Some(1_736_937_000_000), "a local time without a zone is read as UTC");
    let extra = found.records[1].content.extra.as_ref().unwrap();
    assert_eq!((&extra["edited"], &extra["reactions"][0]["count"]), (&json!("2025-01-16T10:30:00"), &json!(2)));
    assert_eq!(found.current.as_deref(), Some("3"));
    let group = one(&chat("private_group", vec![text_message(1, "a"), text_message(2, "b")]));
    assert!(group.records.iter().all(|record| record.role == Role::User), "nobody in a group is known as a bot");
}

#[test]
fn topics_precede_reply_chains_and_those_the_root() {
    let found = one(&chat(
        "private_supergroup",
        vec![
            text_message(1, "general"),
            topic(2, "Billing"),
            reply(3, 2),
            reply(4, 3),
            reply(5, 1),
            reply(6, 5),
            topic(7, "Billing"),
            reply(8, 7),
            reply(9, 999),
            reply(10, 9),
            topic(11, "reply: root"),
            reply(12, 11),
            topic(13, " \n "),
            reply(14, 13),
            text_message(15, "general again"),
        ],
    ));
    let (other, odd) = ("Billing (7)", "topic:reply: root");
    let wanted = [
        ("1", ""),
        ("2", "Billing"),
        ("3", "Billing"),
        ("4", "Billing"),
        ("5", "reply:1"),
        ("6", "reply:1"),
        ("7", other),
        ("8", other),
        ("9", "reply:999"),
        ("10", "reply:999"),
        ("11", odd),
        ("12", odd),
        ("13", "topic 13"),
        ("14", "topic 13"),
        ("15", ""),
    ];
    assert_eq!(lanes(&found.records), wanted);
    let created = &found.records[1];
    assert!(created.hidden && created.role == Role::System);
    assert_eq!(
        (created.content.plain_text().as_str(), created.name.as_deref()),
        ("topic created: Billing", Some("Ada"))
    );
}

#[test]
fn replies_to_another_chat_begin_no_lane() {
    let mut elsewhere = reply(2, 1);
    elsewhere["reply_to_peer_id"] = "channel8".into();
    let mut here = reply(3, 1);
    here["reply_to_peer_id"] = "channel77".into();
    let found = one(&chat("public_channel", vec![text_message(1, "a"), elsewhere, here]));
    assert_eq!(lanes(&found.records), [("1", ""), ("2", ""), ("3", "reply:1")]);
}

/// Imports use these numbers to find the roots of chains of replies among stored messages.
#[test]
fn a_chain_names_its_root_by_number_where_the_file_holds_it() {
    let text =
        to_text(&chat("private_group", vec![text_message(5, "a"), reply(6, 5), reply(7, 6), reply(8, 4), reply(9, 9)]));
    let roots = |mut pieces: Box<dyn FnMut() -> Option<Piece>>| {
        let mut roots = Vec::new();
        while let Some(piece) = pieces() {
            let Piece::Records { records, .. } = piece else { continue };
            roots.extend(records.into_iter().map(|placed| placed.reply_root));
        }
        roots
    };
    let mut stream = open(Box::new(Cursor::new(text.clone().into_bytes())), "").unwrap();
    let streamed = roots(Box::new(move || stream.next().unwrap()));
    assert_eq!(streamed, [None, Some(0), Some(0), None, None]);
    let mut loaded = read(text.as_bytes(), "").unwrap().transcripts.remove(0).pieces(0).into_iter();
    assert_eq!(roots(Box::new(move || loaded.next())), streamed);
}

#[test]
fn texts_of_entities_are_joined() {
    let text = json!(["See ", { "type": "text_link", "text": "the page", "href": "https://a.example/b" }, ", run ",
        { "type": "code", "text": "make" }, " or\n", { "type": "pre", "text": "a\nb", "language": "sh" },
        { "type": "bold", "text": "now" }, { "type": "mention", "text": " @ada" }, 7]);
    let mut message = text_message(1, "");
    message["text"] = text.clone();
    let wanted = "See the page (https://a.example/b), run `make` or\n```sh\na\nb\n```\nnow @ada";
    let found = one(&chat("personal_chat", vec![message]));
    assert_eq!(found.records[0].content.plain_text(), wanted);
    let mut only = json!({ "id": 1, "type": "message", "from": "Ada", "text": "" });
    only["text_entities"] = text;
    assert_eq!(one(&chat("personal_chat", vec![only])).records[0].content.plain_text(), wanted);
}

#[test]
fn what_is_no_text_is_kept() {
    let with = |id: i64, fields: Value| {
        let mut message = text_message(id, if id == 1 { "A caption" } else { "" });
        message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        message
    };
    let photo = |place: &str| with(1, json!({ "photo": place, "width": 640, "height": 480 }));
    let others = || {
        vec![
            with(
                2,
                json!({ "file": "v.ogg", "media_type": "voice_message", "mime_type": "audio/ogg", "duration_seconds": 4 }),
            ),
            with(
                3,
                json!({ "poll": { "question": "When?", "answers": [{ "text": "Now", "voters": 2 }, { "text": "Never" }] } }),
            ),
            with(4, json!({ "place_name": "Quay", "location_information": { "latitude": 1.5, "longitude": 2.5 } })),
            json!({ "id": 5, "type": "unsupported" }),
            json!({ "id": 6, "type": "service", "actor": "Ada", "action": "invite_members", "members": ["Bo", "Cy"] }),
            with(7, json!({ "game_title": "Chess", "sticker_emoji": "x" })),
        ]
    };
    let read = |place: &str| one(&chat("private_group", std::iter::once(photo(place)).chain(others()).collect()));
    let found = read("photos/photo_1.jpg");
    let content = |at: usize| &found.records[at].content;
    assert_eq!(content(0).plain_text(), "A caption");
    let mime = |at: usize| match content(at).parts.last() {
        Some(Part::Opaque { mime, .. }) => mime.as_str(),
        other => panic!("{other:?}"),
    };
    assert_eq!([mime(0), mime(1), mime(3), mime(6)], ["image/*", "audio/ogg", "application/json", "application/json"]);
    assert_eq!(content(0).extra.as_ref().unwrap()["photo"], "photos/photo_1.jpg");
    assert_eq!(content(1).extra.as_ref().unwrap()["opaque"][0]["duration_seconds"], 4);
    assert_eq!(content(2).plain_text(), "Poll: When?\n- Now\n- Never");
    assert_eq!(content(3).extra.as_ref().unwrap()["opaque"][0]["name"], "Quay");
    assert!(content(4).parts.is_empty() && found.records[4].hidden);
    assert_eq!(content(5).plain_text(), "invite members: Bo, Cy");
    let without = read("(File not included. Change data exporting settings to download.)");
    let same = |(one, two): (&Record, &Record)| one.content.hash() == two.content.hash() && one.id == two.id;
    assert!(found.records.iter().zip(&without.records).all(same), "an export without files is the same conversation");
}

#[test]
fn an_account_is_one_conversation_for_each_chat() {
    let named = |name: Value, kind: Value, id: i64, messages: Vec<Value>| json!({ "name": name, "type": kind, "id": id, "messages": messages });
    let lonely = json!({ "type": "saved_messages", "id": 5, "messages": [text_message(1, "a note")] });
    let list = vec![
        named("Ada".into(), "personal_chat".into(), 10, vec![text_message(1, "hi"), reply(2, 1)]),
        named("Nobody".into(), "personal_chat".into(), 11, vec![]),
        lonely,
        named(Value::Null, Value::Null, 12, vec![text_message(1, "gone")]),
        json!(["not a chat"]),
    ];
    let left = vec![named("Old".into(), "public_channel".into(), 13, vec![text_message(1, "news")])];
    let account = json!({
        "about": "\"chats\": {\"list\": [", "personal_information": { "user_id": 5 },
        "contacts": { "about": "", "list": [{ "first_name": "x".repeat(2 * PREFIX) }] },
        "chats": { "about": "", "list": list }, "left_chats": { "about": "", "list": left },
    });
    let mut text = to_text(&account);
    let reading = read(text.as_bytes(), "result.json").unwrap();
    let sources: Vec<_> = reading.transcripts.iter().map(|one| (one.source.as_str(), one.title.as_str())).collect();
    let wanted = [
        ("telegram:chat:10", "Ada"),
        ("telegram:chat:5", "Saved Messages"),
        ("telegram:chat:12", "Telegram chat 12"),
        ("telegram:chat:13", "Old"),
    ];
    assert_eq!(sources, wanted);
    assert_eq!(lanes(&reading.transcripts[0].records), [("1", ""), ("2", "reply:1")]);
    let places: Vec<&str> = reading.skipped.iter().map(|note| note.place.as_str()).collect();
    assert_eq!(places, ["chat 5"]);
    let alone = one(
        &json!({ "name": "Ada", "type": "personal_chat", "id": 10, "messages": [text_message(1, "hi"), reply(2, 1)] }),
    );
    assert_eq!(alone, reading.transcripts[0], "a chat exported alone is the same conversation");
    text.truncate(text.find("\"gone\"").unwrap());
    let truncated = read(text.as_bytes(), "result.json").unwrap();
    assert_eq!(truncated.transcripts[..], reading.transcripts[..2]);
    assert!(truncated.skipped.iter().any(|note| note.why.contains("is cut off")), "{:?}", truncated.skipped);
}

#[test]
fn malformed_messages_are_reported_and_the_rest_is_imported() {
    let control = r#"{ "id": 4, "type": "message", "from": "A\x1Bda", "text": "bell \x07 and \x0" }"#;
    let good = [text_message(1, "a"), reply(6, 3)].map(|message| message.to_string());
    let messages =
        [&good[0], "17", r#"{"type":"message","text":"no id"}"#, control, r#"{"id":5,"text":tru}"#, &good[1], &good[0]];
    let text = format!(
        "{{\n \"name\": \"T\",\n \"type\": \"private_group\",\n \"id\": 9,\n \"messages\": [{}]\n}}",
        messages.join(",\n")
    );
    let reading = read(text.as_bytes(), "result.json").unwrap();
    let found = &reading.transcripts[0];
    assert_eq!(lanes(&found.records), [("1", ""), ("4", ""), ("6", "reply:3")]);
    assert_eq!(found.records[1].name.as_deref(), Some("A\u{1b}da"));
    assert_eq!(found.records[1].content.plain_text(), "bell \u{7} and \u{fffd}0");
    let places: Vec<&str> = reading.skipped.iter().map(|note| note.place.as_str()).collect();
    let at = |number: u32| format!("the document, message {number}");
    assert_eq!(places, [at(2), at(3), at(5), at(7)]);
}

#[test]
fn a_chat_that_breaks_off_keeps_its_beginning() {
    let whole = to_text(&chat("private_group", vec![text_message(1, "a"), text_message(2, "b"), text_message(3, "c")]));
    let cut = whole.find("\"id\": 3").unwrap();
    let reading = read(&whole.as_bytes()[..cut], "result.json").unwrap();
    assert_eq!(lanes(&reading.transcripts[0].records), [("1", ""), ("2", "")]);
    assert!(reading.skipped.iter().any(|note| note.why.contains("is cut off")), "{:?}", reading.skipped);
    let other = json!({ "type": "fruit_chat", "id": "c", "messages": [{ "role": "user", "content": "a" }] });
    assert_eq!(read(other.to_string().as_bytes(), "x").unwrap().format, "openai", "its id is not one of a chat");
}

#[test]
fn a_chat_of_any_size_is_read_in_portions() {
    let message = |id: i64| {
        if id % 3 == 0 {
            reply(id, id - 1)
        } else {
            text_message(id, &"word ".repeat(usize::try_from(id).unwrap() % 400))
        }
    };
    let whole = chat("private_supergroup", (1..=6_000).map(message).collect());
    let account = json!({ "chats": { "list": [chat("personal_chat", vec![text_message(1, "a")]), whole] } });
    for (text, sessions) in [(to_text(&whole), 1), (to_text(&account), 2)] {
        let mut stream = open(Box::new(Cursor::new(text.into_bytes())), "result.json").unwrap();
        let (mut seen, mut last) = (Vec::new(), 0);
        while let Some(piece) = stream.next().unwrap() {
            let Piece::Records { session, records } = piece else { continue };
            assert!(records.len() <= PORTION_RECORDS);
            if session + 1 == sessions {
                seen.extend(records.into_iter().map(|placed| placed.record));
            }
            last = session;
        }
        assert_eq!((stream.report().skipped.len(), last + 1, seen.len()), (0, sessions, 6_000));
        let chain = |record: &&Record| record.lane == format!("reply:{}", record.id.parse::<i64>().unwrap() - 1);
        assert_eq!(seen.iter().filter(chain).count(), 2_000);
    }
}

proptest! {
    #![proptest_config(cases(96))]

    /// A reply is in the lane of the message that it replies to, or starts a lane; a reply to a topic is in the topic.
    #[test]
    fn every_reply_follows_its_chain(
        messages in prop::collection::vec((prop::option::of(0_usize..40), "[a-c]{0,2}", 0_u8..6), 1..40),
    ) {
        let id = |at: usize| 100 + i64::try_from(at).unwrap();
        let list: Vec<Value> = messages.iter().enumerate().map(|(at, (to, title, kind))| match to {
            _ if *kind == 0 => topic(id(at), title),
            Some(to) if *to < at => reply(id(at), id(*to)),
            _ => text_message(id(at), title),
        }).collect();
        let found = one(&chat("private_supergroup", list));
        prop_assert_eq!(found.records.len(), messages.len());
        let created: Vec<&str> =
            found.records.iter().filter(|record| record.hidden).map(|record| record.lane.as_str()).collect();
        let distinct: std::collections::HashSet<&&str> = created.iter().collect();
        prop_assert_eq!(distinct.len(), created.len(), "each topic is a lane of its own");
        for (at, (to, _, kind)) in messages.iter().enumerate().filter(|(_, (_, _, kind))| *kind > 0) {
            let lane = &found.records[at].lane;
            match to.filter(|to| *to < at) {
                None => prop_assert_eq!(lane, "", "{}", kind),
                Some(to) if found.records[to].lane.is_empty() => prop_assert_eq!(lane, &format!("reply:{}", id(to))),
                Some(to) => prop_assert_eq!(lane, &found.records[to].lane),
            }
        }
    }

    /// A file that is truncated or damaged anywhere is read as far as possible and never causes a panic.
    #[test]
    fn a_damaged_file_is_read_as_far_as_it_goes(at in any::<prop::sample::Index>(), cut in any::<bool>(), byte in any::<u8>()) {
        let account = json!({ "chats": { "list": [chat("private_supergroup", vec![topic(1, "T"), reply(2, 1), text_message(3, "c")])] } });
        let mut bytes = to_text(&account).into_bytes();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] = byte }
        if let Ok(reading) = read(&bytes, "result.json") {
            prop_assert!(reading.transcripts.iter().all(|one| one.records.len() <= 3));
        }
    }
}
