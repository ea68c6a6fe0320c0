//! Renders the text of a message in each form, and the texts of blocks and cards.
//! Not for: choosing the form (`admission`) or JSON (`render`).

use crate::domain::base::Hash;
use crate::domain::call::tokens::opens_safely;
use crate::domain::conversation::state;
use crate::domain::conversation::{Content, Part, Role};
use crate::domain::planning::Form;

/// Returns the text of a message in a form, without calls; see [`keeps_calls`].
pub fn message_text(key: Hash, role: Role, content: &Content, form: Form) -> String {
    match form {
        Form::Full | Form::Card => plain(content),
        Form::NoState => state::strip(&plain(content), true),
        Form::Cut(limit) => cut(&plain(content), limit as usize, key),
        Form::Elided => elided(content),
        Form::Placeholder => placeholder(role, content),
        Form::Gone | Form::Out => String::new(),
    }
}

/// How a message is written in the request, besides its form.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WireState {
    /// Whether it is a result without its call.
    pub orphan: bool,
    /// Whether messages may be joined, because roles must alternate.
    pub joins: bool,
    /// Whether blocks precede it in its message.
    pub labeled: bool,
}

/// Returns the exact text of a message's content field (or of its piece of a joined field).
pub fn wire_text(key: Hash, role: Role, content: &Content, form: Form, state: WireState) -> String {
    let text = message_text(key, role, content, form);
    match role {
        Role::System => block("Instructions that came with an import", &text),
        Role::Tool if state.orphan => block("Tool result whose call is missing", &text),
        Role::User if state.labeled && state.joins => format!("{MESSAGE_LABEL}{}", with_final_line_break(text)),
        Role::User if state.labeled => format!("{MESSAGE_LABEL}{text}"),
        Role::User | Role::Assistant if state.joins && !text.is_empty() => joinable(&text),
        Role::User | Role::Assistant | Role::Tool => text,
    }
}

/// Returns whether a calling message keeps its calls in this form.
pub fn keeps_calls(form: Form) -> bool {
    !matches!(form, Form::Elided | Form::Gone | Form::Out | Form::Card)
}

/// Returns texts and results joined by line breaks; other parts become a line that names them. Reasoning is never
/// included.
pub fn plain(content: &Content) -> String {
    let lines: Vec<String> = content
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Text { text } => Some(text.clone()),
            Part::Reply { body, .. } => Some(body.clone()),
            Part::Opaque { mime, bytes, .. } => Some(format!("[{mime}, {bytes} bytes: not sent]")),
            Part::Reasoning { .. } | Part::Call { .. } => None,
        })
        .collect();
    lines.join("\n")
}

/// Returns the head and tail of a long text, in the ratio 20 to 80, with a line between them that says how much is
/// missing and where it is.
pub fn cut(text: &str, limit: usize, key: Hash) -> String {
    let length = text.chars().count();
    if length <= limit {
        return text.to_owned();
    }
    let head = limit / 5;
    let tail = limit - head;
    let start = text.char_indices().nth(head).map_or(text.len(), |(at, _)| at);
    let end = text.char_indices().nth(length - tail).map_or(text.len(), |(at, _)| at);
    let cut_length = length - limit;
    format!(
        "{}\n[… {cut_length} of {length} characters cut; the full text is message {} …]\n{}",
        &text[..start],
        key.short(),
        &text[end..]
    )
}

fn elided(content: &Content) -> String {
    let names: Vec<&str> = content.calls().map(|(_, name, _)| name).collect();
    let note = format!("[tools were called here and are left out: {}]", names.join(", "));
    let text = state::strip(&plain(content), true);
    if text.is_empty() { note } else { format!("{text}\n{note}") }
}

fn placeholder(role: Role, content: &Content) -> String {
    let what = match role {
        Role::Tool => "tool result",
        Role::Assistant => "answer",
        Role::User => "message",
        Role::System => "instructions",
    };
    format!("[{what} of {} characters, left out by the user]", plain(content).chars().count())
}

/// Returns a labeled block of a message: a header line, the body, a blank line. A block begins and ends in such a way
/// that the tokens of consecutive blocks add up.
pub fn block(label: &str, body: &str) -> String {
    format!("## {label}\n\n{}\n\n", body.trim())
}

/// The label before a person's words when other blocks precede them in the same message.
const MESSAGE_LABEL: &str = "## Message\n\n";

/// Returns a text from outside (a pinned turn, a quoted reply) between delimiters that do not occur in it.
pub fn fenced(label: &str, body: &str) -> String {
    let mark = delimiter(body);
    block(label, &format!("<<<{mark}\n{}\n{mark}>>>", body.trim_end()))
}

/// Returns twelve hex digits of the text's BLAKE3 hash, with a counter appended while they occur in the text.
pub fn delimiter(text: &str) -> String {
    absent(text, &Hash::of(text.as_bytes()).to_string()[..12])
}

/// Returns a mark that does not occur in the text.
fn absent(text: &str, base: &str) -> String {
    let counted = (1_u64..).map(|counter| format!("{base}-{counter}"));
    std::iter::once(base.to_owned()).chain(counted).find(|mark| !text.contains(mark)).unwrap_or_default()
}

/// Returns the body of a turn's card: speaker by speaker, without state blocks and tool results, and with calls only
/// named.
pub fn card_body<'a>(messages: impl Iterator<Item = (Role, &'a Content)>) -> String {
    let mut out = String::new();
    for (role, content) in messages {
        let text = match role {
            Role::Assistant if content.calls().next().is_some() => elided(content),
            Role::Assistant => state::strip(&plain(content), true),
            Role::Tool => continue,
            Role::User | Role::System => plain(content),
        };
        if text.trim().is_empty() {
            continue;
        }
        out.push_str(role.name());
        out.push_str(": ");
        out.push_str(text.trim());
        out.push_str("\n\n");
    }
    out.trim_end().to_owned()
}

/// Returns a text whose tokens add up when it is joined to others of the same role: it begins with a label if its first
/// character requires one, and ends its last line. For dialects whose roles must alternate.
pub fn joinable(text: &str) -> String {
    let open = if text.starts_with(opens_safely) { "" } else { MESSAGE_LABEL };
    format!("{open}{}", with_final_line_break(text.to_owned()))
}

fn with_final_line_break(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push_str("\n\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::call::tokens::safe_cut;
    use proptest::prelude::*;

    #[test]
    fn marks_around_a_text_do_not_occur_in_it() {
        let marks = ["", "a", "mark", "mark-1", "mark-1 mark-2", "mark-2"].map(|text| absent(text, "mark"));
        assert_eq!(marks, ["mark", "mark", "mark-1", "mark-2", "mark-3", "mark-1"]);
    }

    #[test]
    fn cuts_by_characters_and_says_so() {
        let text = "é".repeat(100);
        let shown = cut(&text, 10, Hash::default());
        assert!(shown.starts_with("éé\n[… 90 of 100"));
        assert!(shown.ends_with(&"é".repeat(8)));
        assert_eq!(cut("short", 10, Hash::default()), "short");
    }

    #[test]
    fn delimiter_is_absent_from_the_text() {
        assert_eq!(["x", "x ab", "ab ab-1 x"].map(|text| absent(text, "ab")), ["ab", "ab-1", "ab-2"]);
    }

    proptest! {
        #[test]
        fn blocks_join_safely(a in any::<String>(), b in any::<String>()) {
            prop_assert!(safe_cut(&block("A", &a), &block("B", &b)));
            prop_assert!(safe_cut(&fenced("A", &a), &fenced("B", &b)));
            prop_assert!(safe_cut(&joinable(&a), &joinable(&b)));
            prop_assert!(safe_cut(&block("A", &a), MESSAGE_LABEL));
        }
    }
}
