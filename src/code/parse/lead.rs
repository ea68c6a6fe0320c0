//! Collects what precedes a definition and belongs to it: comments without a blank line between, attributes,
//! decorators.
//! Not for: which nodes are comments or attributes (`spec`).

use crate::code::symbol::Span;
use tree_sitter::Node;

/// A comment or an attribute before the next sibling.
#[derive(Clone, Copy)]
pub(crate) struct PendingLead {
    pub(crate) span: Span,
    pub(crate) attr: bool,
    /// The first row, from 0.
    row: usize,
    /// The last row that it covers, from 0.
    last: usize,
}

/// Comments and attributes before the next sibling.
#[derive(Default)]
pub(crate) struct LeadingText {
    pub(crate) waiting: Vec<PendingLead>,
    /// The start (byte, row) of enclosing nodes that contain nothing but the definition.
    pub(crate) outer: Option<(usize, usize)>,
    /// The row on which the previous sibling ended. A comment on it belongs to that sibling.
    behind: Option<usize>,
}

/// What belongs to a definition.
pub(crate) struct DefinitionLead {
    /// The first byte, including comments and attributes.
    pub(crate) start: usize,
    /// Its row, from 0.
    pub(crate) row: usize,
    /// The first byte of the definition itself.
    pub(crate) head: usize,
    pub(crate) doc: Span,
    pub(crate) attrs: Span,
}

impl LeadingText {
    /// The state for the children of a node that only wraps a definition.
    pub(crate) fn inside(self, node: Node<'_>) -> Self {
        let outer = self.outer.or(Some((node.start_byte(), node.start_position().row)));
        Self { waiting: self.waiting, outer, behind: None }
    }

    /// Adds a comment or an attribute. Returns those that it separates from what follows.
    pub(crate) fn add(&mut self, node: Node<'_>, attr: bool) -> Vec<PendingLead> {
        let (start, end) = (node.start_position(), node.end_position());
        // In the Rust grammar a line comment ends at the start of the next line.
        let last = if end.column == 0 && end.row > start.row { end.row - 1 } else { end.row };
        let this = PendingLead { span: Span::new(node.start_byte(), node.end_byte()), attr, row: start.row, last };
        if !attr && self.behind == Some(start.row) {
            return vec![this];
        }
        let apart = self.waiting.last().is_some_and(|before| start.row > before.last + 1);
        let cut = if apart { std::mem::take(&mut self.waiting) } else { Vec::new() };
        self.waiting.push(this);
        cut
    }

    /// Another sibling: returns everything that was waiting.
    pub(crate) fn pass(&mut self, node: Node<'_>) -> Vec<PendingLead> {
        self.behind = Some(node.end_position().row);
        self.outer = None;
        std::mem::take(&mut self.waiting)
    }

    /// A definition: what was waiting belongs to it. Returns what a blank line separates from it.
    pub(crate) fn take(&mut self, node: Node<'_>) -> (DefinitionLead, Vec<PendingLead>) {
        let (mut start, mut row) = (node.start_byte(), node.start_position().row);
        if let Some((byte, line)) = self.outer.take()
            && byte < start
        {
            (start, row) = (byte, line);
        }
        self.behind = Some(node.end_position().row);
        let waiting = std::mem::take(&mut self.waiting);
        // Attributes belong to the definition at any distance.
        let near =
            waiting.last().is_some_and(|last| last.attr || last.last + 1 >= row || last.span.start as usize >= start);
        if !near {
            return (DefinitionLead { start, row, head: start, doc: Span::default(), attrs: Span::default() }, waiting);
        }
        let join = |attr: bool| {
            let of = || waiting.iter().filter(|one| one.attr == attr).map(|one| one.span);
            Span { start: of().next().unwrap_or_default().start, end: of().next_back().unwrap_or_default().end }
        };
        let (doc, attrs) = (join(false), join(true));
        let head = if attrs.is_empty() { start } else { node.start_byte() };
        if let Some(first) = waiting.first()
            && (first.span.start as usize) < start
        {
            (start, row) = (first.span.start as usize, first.row);
        }
        (DefinitionLead { start, row, head, doc, attrs }, Vec::new())
    }
}
