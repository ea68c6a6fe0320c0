//! Tests of exports as text: readable, escaped, and masked. The round trip is tested with the reader, in `import`.

use super::*;
use crate::domain::conversation::{BranchPointer, Content, End, Part, Record, Role};

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
        favorite: false,
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
    let page = |all: &Transcript, mask: bool| html(all, mask, true);
    for (make, expected) in [(&jsonl as &dyn Fn(&Transcript, bool) -> String, 5), (&markdown, 3), (&page, 4)] {
        assert_eq!(make(&all, false).matches(&key).count(), expected);
        let masked = make(&all, true);
        assert_eq!((masked.matches(&key).count(), masked.matches("[masked:github]").count()), (0, expected));
    }
}

#[test]
fn a_page_lists_the_other_answers_or_contains_them() {
    let mut all = small();
    all.branches = vec![
        BranchPointer { name: "main".into(), head: Some("x".into()), archived: false, current: true },
        BranchPointer { name: "side".into(), head: Some("y".into()), archived: false, current: false },
    ];
    let path = html(&all, false, false);
    assert!(path.contains("<li>Assistant: Other answer.</li>") && path.contains("end of main"), "{path}");
    assert_eq!((path.matches("<article").count(), path.matches("Branch: main<").count()), (4, 1));
    let whole = html(&all, false, true);
    let order =
        ["Fences.", "Another branch, after <a href=\"#m3\">message 3</a>", "<article class=\"other\" id=\"m5\">"];
    let places: Vec<usize> = order.iter().map(|part| whole.find(part).unwrap()).collect();
    assert!(places.is_sorted(), "{places:?} in {whole}");
    assert!(whole.contains("<li><a href=\"#m5\">5. Assistant: Other answer.</a></li>"), "{whole}");
}

#[test]
fn a_page_contains_texts_as_they_are_and_nothing_that_acts() {
    let mut all = small();
    let text =
        "<script>alert(\"1\")</script> & 'x' \u{1b}[31m\u{202e}\0\n\n```html\n<img src=x onerror=y>\n```\n<b>after";
    all.title = "</title><script>".into();
    all.records[0].content.parts = text_part(text);
    all.records[0].name = Some("\"><i>".into());
    all.records[3].content.parts = text_part("```\nnever closed\n~~~\n");
    for whole in [false, true] {
        let page = html(&all, false, whole);
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
        for tag in ["<script", "<img", "<b>", "<i>", "\u{1b}", "\u{202e}", "\0"] {
            assert!(!page.contains(tag), "{tag:?} in {page}");
        }
        let shown = "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;x&#39; ⟨U+001B⟩[31m⟨U+202E⟩⟨U+0000⟩";
        assert!(page.contains(shown), "{page}");
        assert!(page.contains(
            "<pre><code>&lt;img src=x onerror=y&gt;</code></pre>\n<div class=\"text\" dir=\"auto\">&lt;b&gt;after"
        ));
        assert!(page.contains("<pre><code>never closed\n~~~</code></pre>"), "{page}");
        assert!(page.contains("<pre><code>a\n````\nb\n````</code></pre>"), "a result is shown as it is: {page}");
        assert!(page.contains("prefers-color-scheme: dark") && !page.contains("http://") && !page.contains("https://"));
    }
}
