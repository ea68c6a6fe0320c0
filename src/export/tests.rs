//! Tests of exports as text: readable, and masked on request. The round trip is tested with the reader, in `import`.

use super::*;
use crate::domain::conversation::{End, Role};

fn record(id: &str, parent: Option<&str>, role: Role, parts: Vec<Part>) -> Record {
    Record {
        id: id.into(),
        parent: parent.map(str::to_owned),
        role,
        name: None,
        content: Content { parts, extra: None },
        end: End::Complete,
        at: Some(1_772_366_400_000),
        lane: String::new(),
        hidden: false,
        model: None,
        label: String::new(),
        favourite: false,
    }
}

fn text_part(text: &str) -> Vec<Part> {
    vec![Part::Text { text: text.into() }]
}

fn small() -> Transcript {
    let reply = Part::Reply { call: "k1".into(), name: "read_file".into(), body: "a\n````\nb\n````\n".into() };
    let call = Part::Call { id: "k1".into(), name: "read_file".into(), args: r#"{"path":"a.md"}"#.into() };
    Transcript {
        source: "pleach:1".into(),
        title: "Two\nlines".into(),
        records: vec![
            record("u", None, Role::User, text_part("What is in a.md?")),
            record("a", Some("u"), Role::Assistant, vec![call]),
            record("t", Some("a"), Role::Tool, vec![reply]),
            record("x", Some("t"), Role::Assistant, text_part("Fences.")),
            record("y", Some("t"), Role::Assistant, text_part("Other answer.")),
        ],
        current: Some("x".into()),
        branches: Vec::new(),
    }
}

#[test]
fn markdown_is_readable() {
    let text = markdown(&small(), false);
    assert!(text.starts_with("# Two lines\n\n## 1. User\n\n*2026-03-01T12:00:00Z*\n\nWhat is in a.md?\n"), "{text}");
    assert!(text.contains("`````\na\n````\nb\n````\n`````\n"), "{text}");
    let order = ["Branch point: 2 branches", "Fences.", "# Branch 1, after message 3", "Other answer."];
    let places: Vec<usize> = order.iter().map(|part| text.find(part).unwrap()).collect();
    assert!(places.is_sorted(), "{places:?} in {text}");
}

#[test]
fn markdown_of_deep_and_wide_trees() {
    let mut all = Transcript { title: "Deep".into(), ..Transcript::default() };
    for n in 0..100_000_u32 {
        let parent = n.checked_sub(1).map(|n| n.to_string());
        all.records.push(record(&n.to_string(), parent.as_deref(), Role::User, text_part("x")));
    }
    for n in 0..10_000_u32 {
        all.records.push(record(&format!("w{n}"), Some("5"), Role::Assistant, text_part("y")));
    }
    let text = markdown(&all, false);
    assert_eq!(text.matches("\n## ").count(), 110_000);
}

#[test]
fn masks_everywhere_only_when_asked() {
    let key = format!("ghp_{}", "a1B2c3".repeat(6));
    let mut all = small();
    all.title = format!("about {key}");
    all.records[0].content = Content {
        parts: text_part(&format!("use {key}")),
        extra: Some(serde_json::json!({"deep": [{"er": format!("{key} {key}")}]})),
    };
    if let Part::Call { args, .. } = &mut all.records[1].content.parts[0] {
        *args = format!(r#"{{"path":"{key}"}}"#);
    }
    for (make, expected) in [(jsonl as fn(&Transcript, bool) -> String, 5), (markdown, 3)] {
        assert_eq!(make(&all, false).matches(&key).count(), expected);
        let masked = make(&all, true);
        assert_eq!((masked.matches(&key).count(), masked.matches("[masked:github]").count()), (0, expected));
    }
}
