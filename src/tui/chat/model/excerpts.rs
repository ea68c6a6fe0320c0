//! Extracts the code blocks of a message, which can be copied one by one.
//! Not for: copying (`shell`), or the list for choosing one (`screens::picker`).

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

/// How many blocks are extracted at most.
const MAX_BLOCKS: usize = 200;

/// A code block.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Excerpt {
    /// Language named by the fence; empty if none.
    pub language: String,
    /// The code without its fences.
    pub text: String,
}

/// Returns the code blocks of a message, in order.
pub fn code_blocks(message: &str) -> Vec<Excerpt> {
    let mut found = Vec::new();
    let mut open: Option<Excerpt> = None;
    for event in Parser::new(message) {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                let info = if let CodeBlockKind::Fenced(info) = kind { info.to_string() } else { String::new() };
                let language = info.split([' ', ',', '{']).next().unwrap_or_default().to_owned();
                open = Some(Excerpt { language, text: String::new() });
            }
            Event::Text(text) => {
                if let Some(block) = &mut open {
                    block.text.push_str(&text);
                }
            }
            Event::End(TagEnd::CodeBlock) => {
                found.extend(open.take());
                if found.len() >= MAX_BLOCKS {
                    break;
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_blocks_are_returned_unchanged() {
        let text = "a\n```rust,ignore\nfn x() {\n\t1\n}\n```\n1. b\n   ~~~\n   in a list\n   ~~~\n\n```\nopen\n";
        let found = code_blocks(text);
        let want = [("rust", "fn x() {\n\t1\n}\n"), ("", "in a list\n"), ("", "open\n")];
        assert_eq!(found.iter().map(|b| (b.language.as_str(), b.text.as_str())).collect::<Vec<_>>(), want);
        assert!(code_blocks("no code").is_empty());
    }
}
