//! Writes Markdown for reading: the current path first, and then every other branch from the message where it diverges.
//! Not for: reading it back. Only JSON lines are exact.

use super::tree::{ChildrenByParent, about, is_shown, one_line, who};
use crate::domain::conversation::{Part, Record, Transcript, attachment};
use std::collections::{HashMap, VecDeque};
use std::fmt::Write;

/// Writes the whole tree.
pub(super) fn write(transcript: &Transcript) -> String {
    let tree = ChildrenByParent::of(transcript);
    let mut text = format!("# {}\n", one_line(&transcript.title));
    let mut waiting: VecDeque<usize> = VecDeque::new();
    let main = tree.main_root();
    waiting.extend(main);
    waiting.extend(tree.roots.iter().filter(|root| Some(**root) != main));
    let mut names = 0;
    let mut tags: HashMap<usize, usize> = HashMap::new();
    while let Some(start) = waiting.pop_front() {
        if let Some(tag) = tags.get(&start) {
            let parent = tree.parents[start].map_or(0, |parent| parent + 1);
            let _ = write!(text, "\n---\n\n# Branch {tag}, after message {parent}\n");
        } else if Some(start) != main {
            text.push_str("\n---\n\n# Another beginning\n");
        }
        let mut at = Some(start);
        while let Some(node) = at {
            message(&mut text, node, &transcript.records[node]);
            let next = tree.next(node);
            let others: Vec<usize> = tree.children[node].iter().copied().filter(|kid| Some(*kid) != next).collect();
            if !others.is_empty() {
                let list: Vec<String> = others
                    .iter()
                    .map(|kid| {
                        names += 1;
                        tags.insert(*kid, names);
                        format!("branch {names}")
                    })
                    .collect();
                let _ = write!(
                    text,
                    "\n> Branch point: {} branches; one follows here, see also {}.\n",
                    others.len() + 1,
                    list.join(", ")
                );
            }
            waiting.extend(others);
            at = next;
        }
    }
    text
}

fn message(text: &mut String, place: usize, record: &Record) {
    if !is_shown(record) {
        return;
    }
    let _ = write!(text, "\n## {}. {}", place + 1, who(record));
    if let Some(name) = record.name.as_deref().filter(|name| !name.is_empty()) {
        let _ = write!(text, " ({})", one_line(name));
    }
    text.push_str("\n\n");
    let about = about(record);
    if !about.is_empty() {
        let _ = write!(text, "*{}*\n\n", about.join(" · "));
    }
    for part in &record.content.parts {
        write_part(text, part);
    }
}

fn write_part(text: &mut String, part: &Part) {
    match part {
        Part::Text { text: words } => {
            let _ = writeln!(text, "{}", words.trim_end());
        }
        Part::Reasoning { text: words } => {
            text.push_str("> Thinking:\n");
            for line in words.lines() {
                let _ = writeln!(text, "> {line}");
            }
            text.push('\n');
        }
        Part::Call { name, args, .. } => {
            let _ = writeln!(text, "Calls the tool {}:\n", code(name));
            fenced(text, "json", args);
        }
        Part::Reply { name, body, .. } => {
            if !name.is_empty() {
                let _ = writeln!(text, "Result of {}:\n", code(name));
            }
            fenced(text, "", body);
        }
        Part::Opaque { mime, raw, bytes } => {
            let _ = writeln!(text, "[{}, {bytes} bytes, {}]", one_line(mime), raw.short());
        }
    }
}

/// Writes a fenced block. Its fence is longer than any run of backticks in the text.
fn fenced(text: &mut String, language: &str, body: &str) {
    let fence = attachment::fence(body);
    let _ = write!(text, "{fence}{language}\n{}\n{fence}\n", body.strip_suffix('\n').unwrap_or(body));
}

fn code(name: &str) -> String {
    format!("`{}`", one_line(name).replace('`', "'"))
}
