//! Reads one source file: its symbols, the words of each, and the names that each uses. Accepts any bytes; parts that
//! do not parse are skipped.
//! Not for: which files are read (`walk`), or storing the result (`record`).

use super::bindings::{self, declares};
use super::declarator::{declares_function, function_value, name_of};
use super::language::grammar;
use super::lead::{LeadingText, PendingLead};
use super::outline;
use super::receivers::{Place, Receivers};
use super::spec::{Role, roles};
use super::words::{Analyzer, words_of};
use crate::code::index::record::{Field, Words};
use crate::code::symbol::{Span, Symbol, to_u32};
use crate::domain::code::{Kind, Language};
use std::collections::HashMap;
use std::ops::ControlFlow;
use tree_sitter::{Node, ParseOptions, Parser, Tree};

/// Maximum bytes of one comment or string that are read.
const MAX_TEXT_BYTES: usize = 20_000;
/// Maximum symbols of one file.
const MAX_SYMBOLS: usize = 20_000;

/// The content of a source file.
pub struct Parsed {
    /// Its symbols, sorted by start; the first is the file itself.
    pub symbols: Vec<Symbol>,
    /// The words and uses of the symbols.
    pub words: Words,
    /// Whether parts of it did not parse.
    pub errors: bool,
}

/// A parser with its grammar and the roles of its nodes.
struct LanguageParser {
    parser: Parser,
    roles: Vec<Role>,
    /// Whether nodes of a kind declare variables, fields, or imports, by kind number.
    declares: Vec<bool>,
}

/// Parses files; each grammar is loaded on first use. Each thread has its own.
#[derive(Default)]
pub struct Reader {
    parsers: HashMap<Language, Option<LanguageParser>>,
    analyzer: Analyzer,
}

impl Reader {
    /// Parses a file's text. `name` becomes the name of the file's own symbol. `keep_going` is called regularly and
    /// stops the parser when it returns false.
    ///
    /// Returns `None` when the grammar cannot be loaded or parsing was stopped.
    pub fn read(
        &mut self,
        language: Language,
        name: &str,
        text: &[u8],
        keep_going: &dyn Fn() -> bool,
    ) -> Option<Parsed> {
        if language.is_text() {
            return Some(outline::read(&mut self.analyzer, language, name, text));
        }
        let prepared = self.parsers.entry(language).or_insert_with(|| prepare(language)).as_mut()?;
        let tree = parse(&mut prepared.parser, text, keep_going)?;
        let prepared = &*prepared;
        let receivers = Receivers::reads(language).then(|| Receivers::new(text, language));
        let mut walk = Walk::new(text, prepared, &mut self.analyzer, (name, receivers));
        walk.run(&tree);
        walk.add_field_uses();
        walk.words.finish();
        let errors = tree.root_node().has_error();
        Some(Parsed { symbols: walk.symbols, words: walk.words, errors })
    }
}

fn prepare(language: Language) -> Option<LanguageParser> {
    let grammar = grammar(language)?;
    let mut parser = Parser::new();
    parser.set_language(&grammar).ok()?;
    let count = u16::try_from(grammar.node_kind_count()).unwrap_or(u16::MAX);
    let declares = (0..count).map(|number| grammar.node_kind_for_id(number).is_some_and(declares)).collect();
    Some(LanguageParser { parser, roles: roles(language, &grammar), declares })
}

fn parse(parser: &mut Parser, text: &[u8], keep_going: &dyn Fn() -> bool) -> Option<Tree> {
    let mut progress =
        |_: &tree_sitter::ParseState| if keep_going() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let mut from = |at: usize, _| text.get(at..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut from, None, Some(options));
    if tree.is_none() {
        parser.reset();
    }
    tree
}

/// A symbol whose node is being walked.
struct Frame {
    symbol: u32,
    depth: usize,
    head_end: usize,
    name: usize,
}

struct Walk<'a> {
    text: &'a [u8],
    roles: &'a [Role],
    declares: &'a [bool],
    receivers: Option<Receivers<'a>>,
    /// The nodes around the current one, outermost first.
    around: Vec<Node<'a>>,
    analyzer: &'a mut Analyzer,
    symbols: Vec<Symbol>,
    words: Words,
    frames: Vec<Frame>,
    leads: Vec<LeadingText>,
    imports: Option<usize>,
    has_content: bool,
}

impl<'a> Walk<'a> {
    fn new(
        text: &'a [u8],
        parser: &'a LanguageParser,
        analyzer: &'a mut Analyzer,
        (name, receivers): (&str, Option<Receivers<'a>>),
    ) -> Self {
        let file = Symbol::file(name, text);
        let frames = vec![Frame { symbol: 0, depth: 0, head_end: 0, name: usize::MAX }];
        let leads = vec![LeadingText::default()];
        let words = Words::default();
        Self {
            text,
            roles: &parser.roles,
            declares: &parser.declares,
            receivers,
            around: Vec::new(),
            analyzer,
            symbols: vec![file],
            words,
            frames,
            leads,
            imports: None,
            has_content: false,
        }
    }

    fn run(&mut self, tree: &'a Tree) {
        let mut cursor = tree.walk();
        let mut depth = 0;
        loop {
            let node = cursor.node();
            let role = self.roles.get(usize::from(node.kind_id())).copied().unwrap_or(Role::Plain);
            self.declare(node, depth);
            let field = if role == Role::Name { cursor.field_name() } else { None };
            if self.enter(node, (role, field), depth) && cursor.goto_first_child() {
                self.around.push(node);
                let outer = if role == Role::Wrap { self.leads.last_mut().map(std::mem::take) } else { None };
                self.leads.push(outer.map(|lead| lead.inside(node)).unwrap_or_default());
                depth += 1;
                continue;
            }
            loop {
                self.leave(depth);
                if cursor.goto_next_sibling() {
                    break;
                }
                if let Some(lead) = self.leads.pop() {
                    self.add_comments(&lead.pending);
                }
                if !cursor.goto_parent() {
                    return;
                }
                self.around.pop();
                depth = depth.saturating_sub(1);
            }
        }
    }

    fn leave(&mut self, depth: usize) {
        if self.frames.len() > 1 && self.frames.last().is_some_and(|frame| frame.depth == depth) {
            self.frames.pop();
        }
        if self.imports == Some(depth) {
            self.imports = None;
        }
        if let Some(receivers) = &mut self.receivers {
            receivers.leave(depth);
        }
    }

    /// Notes the variables, fields, and imports that a node declares.
    fn declare(&mut self, node: Node<'_>, depth: usize) {
        if !self.declares.get(usize::from(node.kind_id())).copied().unwrap_or_default() {
            return;
        }
        let local = self.symbols.get(self.owner() as usize).is_some_and(|symbol| symbol.kind.is_callable());
        let own_type = own_type(&self.frames, &self.symbols);
        if let Some(receivers) = &mut self.receivers {
            let place = Place { around: &self.around, field: None, own_type, depth, local };
            bindings::read(receivers, node, &place);
        }
    }

    fn owner(&self) -> u32 {
        self.frames.last().map_or(0, |frame| frame.symbol)
    }

    /// Visits a node. Returns whether to visit its children.
    fn enter(&mut self, node: Node<'_>, (role, field): (Role, Option<&str>), depth: usize) -> bool {
        match role {
            Role::Comment | Role::Attr => {
                let separated =
                    self.leads.last_mut().map(|lead| lead.add(node, role == Role::Attr)).unwrap_or_default();
                self.add_comments(&separated);
                return false;
            }
            Role::Wrap => return true,
            Role::Plain if !node.is_named() => return false,
            _ => {}
        }
        if let Some(kind) = self.defined_kind(node, role)
            && self.symbols.len() < MAX_SYMBOLS
            && self.define(node, kind, depth)
        {
            return true;
        }
        let separated = self.leads.last_mut().map(|lead| lead.skip_sibling(node)).unwrap_or_default();
        self.add_comments(&separated);
        if depth > 0 {
            self.has_content = true;
        }
        match role {
            Role::Name => self.name(node, field, depth),
            Role::Text => self.add_text(node),
            Role::Import if self.imports.is_none() => self.imports = Some(depth),
            _ => {}
        }
        !matches!(role, Role::Name | Role::Text)
    }

    /// Returns the kind of symbol that a node defines, if any.
    fn defined_kind(&self, node: Node<'_>, role: Role) -> Option<Kind> {
        let enclosing = self.symbols.get(self.owner() as usize).map_or(Kind::File, |symbol| symbol.kind);
        let outside = !enclosing.is_callable() && enclosing != Kind::Constant;
        match role {
            Role::Def(Kind::Function) if enclosing.has_methods() => Some(Kind::Method),
            Role::Def(Kind::Type) => Some(refined_kind(node)),
            Role::Def(kind) => Some(kind),
            Role::Bodied(kind) => node.child_by_field_name("body").map(|_| kind),
            Role::Declaration => (outside && declares_function(node)).then_some(Kind::Prototype),
            Role::Variable if function_value(node).is_some() => Some(Kind::Function),
            Role::Variable => (matches!(enclosing, Kind::File | Kind::Module)).then_some(Kind::Constant),
            Role::Callback => function_value(node).map(|_| Kind::Method),
            _ => None,
        }
    }

    fn define(&mut self, node: Node<'_>, kind: Kind, depth: usize) -> bool {
        let Some(named) = name_of(node) else { return false };
        let Some(lead) = self.leads.last_mut() else { return false };
        let (taken, separated) = lead.take(node);
        self.add_comments(&separated);
        self.has_content = true;
        let name = String::from_utf8_lossy(&self.text[named.name.clone()]);
        let owner = named.owner.map(|owner| String::from_utf8_lossy(&self.text[owner]).into_owned());
        let parent = self.owner();
        let parent_symbol = self.symbols.get(parent as usize);
        let end = head_end(node, kind, self.text);
        let attrs = &self.text[taken.attrs.within(self.text.len())];
        let test = parent_symbol.is_some_and(|parent_symbol| parent_symbol.test) || is_test(attrs, &name, kind);
        let (from, to) = (node.start_position().row, node.end_position().row);
        let line = |row: usize| to_u32(row + 1);
        let number = to_u32(self.symbols.len());
        self.symbols.push(Symbol {
            kind,
            name: name.as_ref().into(),
            parent: Some(parent),
            span: Span::new(taken.start, node.end_byte()),
            lines: (line(taken.row), line(to)),
            head: Span::new(taken.head, end),
            line: line(from),
            doc: taken.doc,
            attrs: taken.attrs,
            test,
        });
        self.frames.push(Frame { symbol: number, depth, head_end: end, name: named.name.start });
        self.add_words(number, taken.doc, Field::Doc);
        self.add_words(number, taken.attrs, Field::Head);
        if let Some(owner) = owner {
            self.words.name(self.analyzer, number, &owner, Field::Head, true);
        }
        true
    }

    fn name(&mut self, node: Node<'_>, in_field: Option<&str>, depth: usize) {
        let Some(frame) = self.frames.last() else { return };
        let Ok(name) = std::str::from_utf8(&self.text[node.byte_range()]) else { return };
        let own = frame.name == node.start_byte();
        let field = match () {
            () if own => Field::Name,
            () if node.start_byte() < frame.head_end => Field::Head,
            () => Field::Body,
        };
        let is_used = !own && self.imports.is_none();
        let symbol = frame.symbol;
        let Some(receivers) = self.receivers.as_mut() else {
            return self.words.name(self.analyzer, symbol, name, field, is_used);
        };
        self.words.name(self.analyzer, symbol, name, field, false);
        let own_type = own_type(&self.frames, &self.symbols);
        let place = Place { around: &self.around, field: in_field, own_type, depth, local: true };
        if is_used && let Some((via, real)) = receivers.via(node, symbol, &place) {
            self.words.add_use(symbol, real.as_deref().unwrap_or(name), &via);
        }
    }

    /// Adds the uses of members of fields, now that the types of all fields are known.
    fn add_field_uses(&mut self) {
        for (used, via) in self.receivers.take().into_iter().flat_map(Receivers::field_uses) {
            self.words.add_use(used.symbol, &used.name, &via);
        }
    }

    fn add_text(&mut self, node: Node<'_>) {
        let owner = self.owner();
        let span = Span::new(node.start_byte(), node.end_byte());
        let is_doc = is_docstring(node);
        if is_doc && let Some(symbol) = self.symbols.get_mut(owner as usize) {
            symbol.doc = span;
        }
        self.add_words(owner, span, if is_doc { Field::Doc } else { Field::Body });
    }

    /// Adds comments that belong to no definition to the symbol that encloses them.
    fn add_comments(&mut self, pending: &[PendingLead]) {
        let owner = self.owner();
        for one in pending {
            let first = owner == 0 && !self.has_content && !one.attr;
            let license = first && is_license(&self.text[one.span.within(self.text.len())]);
            if license {
                continue;
            }
            if first && let Some(file) = self.symbols.first_mut() {
                let start = if file.doc.is_empty() { one.span.start } else { file.doc.start };
                file.doc = Span { start, end: one.span.end };
            }
            self.add_words(owner, one.span, if first { Field::Doc } else { Field::Body });
        }
    }

    fn add_words(&mut self, symbol: u32, span: Span, field: Field) {
        let text = &self.text[span.within(self.text.len())];
        let text = String::from_utf8_lossy(&text[..text.len().min(MAX_TEXT_BYTES)]);
        for word in words_of(&text) {
            self.words.name(self.analyzer, symbol, word, field, false);
        }
    }
}

/// Returns the name of the type around the current node.
fn own_type<'s>(frames: &[Frame], symbols: &'s [Symbol]) -> Option<&'s str> {
    let mut around = frames.iter().rev().filter_map(|frame| symbols.get(frame.symbol as usize));
    around.find(|symbol| symbol.kind.has_methods()).map(|symbol| &*symbol.name)
}

/// Returns the kind of a Go type: only the inside of its declaration says whether the type is a struct.
fn refined_kind(node: Node<'_>) -> Kind {
    match node.child_by_field_name("type").map(|inner| inner.kind()) {
        Some("struct_type") => Kind::Struct,
        Some("interface_type") => Kind::Interface,
        _ => Kind::Type,
    }
}

/// Returns the end of the signature: at the body or, for a symbol that cannot be called, at the end of its first line.
fn head_end(node: Node<'_>, kind: Kind, text: &[u8]) -> usize {
    let body = node.child_by_field_name("body").or_else(|| function_value(node)?.child_by_field_name("body"));
    if let Some(body) = body {
        return body.start_byte();
    }
    if kind.is_callable() && kind != Kind::Macro {
        return node.end_byte();
    }
    let line = text[node.byte_range()].iter().position(|byte| *byte == b'\n');
    line.map_or(node.end_byte(), |line| node.start_byte() + line)
}

/// Returns whether attributes or the name mark a symbol as test code.
fn is_test(attrs: &[u8], name: &str, kind: Kind) -> bool {
    let attrs = String::from_utf8_lossy(attrs);
    let marked = !attrs.contains("not(") && words_of(&attrs).any(|word| word == "test" || word == "Test");
    marked || (kind.is_callable() && name.starts_with("test_"))
}

/// Returns whether a string stands alone as the first statement of a body.
fn is_docstring(content: Node<'_>) -> bool {
    let Some(string) = content.parent().filter(|string| string.kind() == "string") else { return false };
    let Some(statement) = string.parent().filter(|parent| parent.kind() == "expression_statement") else {
        return false;
    };
    let first = statement.prev_named_sibling().is_none_or(|before| before.kind() == "comment");
    first && statement.parent().is_some_and(|parent| matches!(parent.kind(), "block" | "module"))
}

fn is_license(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&text[..text.len().min(2_000)]).to_lowercase();
    text.contains("copyright") || text.contains("licensed under") || text.contains("spdx-license")
}
