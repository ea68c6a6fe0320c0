//! Instructions in the conversation: system messages that the person added, and imported system prompts that the person
//! keeps. Each is a block among the instructions, regardless of its message's position on the path, and can be
//! excluded.
//! Not for: the configured instructions (`input`).

use super::input::InputAssembly;
use crate::context::render::render_forms;
use crate::domain::base::Failure;
use crate::domain::conversation::{Atom, Content, MarkKind, NodeHead};
use crate::domain::planning::Reason;
use crate::domain::planning::{Block, OmittedItem, RowKind, Section, SendBarrier};

/// Returns the text of instructions in the conversation as it is sent; `None` if they are empty.
pub(crate) fn instructions_text(head: &NodeHead, content: &Content) -> Option<String> {
    let body = content.plain_text();
    let label = if head.imported { "Instructions of the imported conversation" } else { "Instructions of the user" };
    Some(body.trim()).filter(|body| !body.is_empty()).map(|body| render_forms::block(label, body))
}

impl InputAssembly<'_> {
    /// Returns the instructions in the conversation as blocks, and adds excluded ones as omitted items.
    pub(super) fn instructions(&mut self) -> Result<Vec<Block>, Failure> {
        let snapshot = self.snapshot;
        let mut blocks = Vec::new();
        for head in &snapshot.instructions {
            let Some(content) = self.builder.content(head.key, Some(head.id))? else { continue };
            let Some(text) = instructions_text(head, &content) else { continue };
            let atom = Atom::Message { node: head.key };
            let mut marks = snapshot.marks.iter().filter(|mark| mark.target == atom);
            let once = head.imported && marks.clone().all(|mark| mark.kind == MarkKind::IncludeOnce);
            let reason = Reason::ConversationInstructions { imported: head.imported, once };
            let source = self.source(0, Some(head));
            if let Some(mark) = marks.find(|mark| mark.kind.excludes()) {
                self.omit_instructions(head, text, mark.kind);
                continue;
            }
            let block = Block::new(Section::System, RowKind::Message, self.text(text), &head.preview, reason);
            blocks.push(Block { atom: Some(atom), source, ..block });
        }
        Ok(blocks)
    }

    /// Returns the reason why a message is not sent in its turn: instructions are sent as blocks instead.
    pub(super) fn bar_of(&self, head: &NodeHead, bar: Option<SendBarrier>) -> Option<SendBarrier> {
        let kept = || self.snapshot.instructions.iter().any(|one| one.key == head.key);
        if bar == Some(SendBarrier::Foreign) && kept() { Some(SendBarrier::Instructions) } else { bar }
    }

    fn omit_instructions(&mut self, head: &NodeHead, text: String, kind: MarkKind) {
        let (once, tokens) = (kind == MarkKind::ExcludeOnce, self.text(text).1);
        let (atom, reason) = (Atom::Message { node: head.key }, Reason::UserExcluded { once });
        let remedy = (if once { "exclude-once" } else { "exclude" }, "removes the exclusion");
        let item = OmittedItem::new(atom, RowKind::Message, &head.preview, tokens, reason, remedy);
        self.near.push(OmittedItem { source: self.source(0, Some(head)), ..item });
    }
}
