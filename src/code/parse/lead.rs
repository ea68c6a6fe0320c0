//! Collects what precedes a definition and belongs to it: comments that no blank line separates from it, attributes,
//! and decorators.
//! Not for: which nodes are comments or attributes (`spec`).

use crate::code::symbol::Span;
use tree_sitter::Node;

/// A comment or an attribute before the next sibling.
#[derive(Clone, Copy)]
pub(crate) struct PendingLead {
    pub(crate) span: Span,
    pub(crate) attr: bool,
    /// Its first row, from 0.
    row: usize,
    /// Its last row, from 0.
    last: usize,
}

/// Comments and attributes before the next sibling.
#[derive(Default)]
pub(crate) struct LeadingText {
    pub(crate) pending: Vec<PendingLead>,
    /// The start (byte, row) of enclosing nodes that contain nothing but the definition.
    pub(crate) outer: Option<(usize, usize)>,
    /// The row on which the previous sibling ended. A comment on it belongs to that sibling.
    previous_row: Option<usize>,
}

/// The bounds of a definition, with the comments and attributes before it.
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
    /// Returns the state for the children of a node that only wraps a definition.
    pub(crate) fn inside(self, node: Node<'_>) -> Self {
        let outer = self.outer.or(Some((node.start_byte(), node.start_position().row)));
        Self { pending: self.pending, outer, previous_row: None }
    }

    /// Adds a comment or an attribute. Returns the pending ones that it separates from the next node.
    pub(crate) fn add(&mut self, node: Node<'_>, attr: bool) -> Vec<PendingLead> {
        let (start, end) = (node.start_position(), node.end_position());
        // In the Rust grammar a line comment ends at the start of the next line.
        let last = if end.column == 0 && end.row > start.row { end.row - 1 } else { end.row };
        let this = PendingLead { span: Span::new(node.start_byte(), node.end_byte()), attr, row: start.row, last };
        if !attr && self.previous_row == Some(start.row) {
            return vec![this];
        }
        let is_separated = self.pending.last().is_some_and(|before| start.row > before.last + 1);
        let separated = if is_separated { std::mem::take(&mut self.pending) } else { Vec::new() };
        self.pending.push(this);
        separated
    }

    /// Notes a sibling that is not a definition. Returns everything that was pending before it.
    pub(crate) fn skip_sibling(&mut self, node: Node<'_>) -> Vec<PendingLead> {
        self.previous_row = Some(node.end_position().row);
        self.outer = None;
        std::mem::take(&mut self.pending)
    }

    /// Assigns the pending comments and attributes to a definition. Also returns the comments and attributes that a
    /// blank line separates from the definition.
    pub(crate) fn take(&mut self, node: Node<'_>) -> (DefinitionLead, Vec<PendingLead>) {
        let (mut start, mut row) = (node.start_byte(), node.start_position().row);
        if let Some((byte, line)) = self.outer.take()
            && byte < start
        {
            (start, row) = (byte, line);
        }
        self.previous_row = Some(node.end_position().row);
        let pending = std::mem::take(&mut self.pending);
        // Attributes belong to the definition at any distance.
        let is_adjacent =
            pending.last().is_some_and(|last| last.attr || last.last + 1 >= row || last.span.start as usize >= start);
        if !is_adjacent {
            return (DefinitionLead { start, row, head: start, doc: Span::default(), attrs: Span::default() }, pending);
        }
        let join = |attr: bool| {
            let of = || pending.iter().filter(|one| one.attr == attr).map(|one| one.span);
            Span { start: of().next().unwrap_or_default().start, end: of().next_back().unwrap_or_default().end }
        };
        let (doc, attrs) = (join(false), join(true));
        let head = if attrs.is_empty() { start } else { node.start_byte() };
        if let Some(first) = pending.first()
            && (first.span.start as usize) < start
        {
            (start, row) = (first.span.start as usize, first.row);
        }
        (DefinitionLead { start, row, head, doc, attrs }, Vec::new())
    }
}
