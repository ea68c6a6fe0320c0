//! Finds the type or module that a name belongs to, if the source of the file shows it: `Type::name`, `self.name`,
//! imported names, and members of variables, parameters, and fields whose type is written or whose value is a new
//! object. Reads Rust, Python, JavaScript, and TypeScript.
//! Not for: finding the definition of a use (`index::resolve`), or the syntax of bindings (`bindings`).

use crate::domain::code::Language;
use std::collections::HashMap;
use std::ops::Range;
use tree_sitter::Node;

/// Maximum variables that are known at one place.
const MAX_BINDINGS: usize = 400;
/// Maximum nesting of an expression or type that is followed.
const MAX_DEPTH: usize = 8;
/// Wrapper types whose inner type's members are used directly. Sorted.
const TRANSPARENT: [&str; 9] =
    ["Arc", "Box", "MutexGuard", "Pin", "Rc", "Ref", "RefMut", "RwLockReadGuard", "RwLockWriteGuard"];

/// How a name is used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum UseForm {
    /// A use in an unknown form.
    Unsure,
    /// By its name alone.
    Name,
    /// A member of something unknown.
    Member,
    /// A member of a type or module: its name, or `module::Type`.
    Owner(String),
}

/// What a member is called on.
enum Receiver {
    Unknown,
    Type(String),
    /// A field of a type.
    Field(String, String),
}

/// A variable, with its type if that is known.
struct Binding {
    name: Range<usize>,
    of: Option<String>,
    /// It ends where a node above this depth ends.
    depth: usize,
    /// Whether it is inside a function. Others are symbols themselves.
    local: bool,
}

/// A use whose owner is the type of a field, which may be declared later in the file.
pub(crate) struct FieldUse {
    pub(crate) symbol: u32,
    pub(crate) name: String,
    owner: (String, String),
}

/// The place of a node in its tree.
pub(crate) struct Place<'a, 'tree> {
    /// The nodes around it, outermost first.
    pub(crate) around: &'a [Node<'tree>],
    /// Its field in the innermost one.
    pub(crate) field: Option<&'a str>,
    /// The name of the type around it.
    pub(crate) own_type: Option<&'a str>,
    pub(crate) depth: usize,
    /// Whether it is inside a function.
    pub(crate) local: bool,
}

/// The variables and imports that are known while a file is walked.
pub(crate) struct Receivers<'a> {
    text: &'a [u8],
    language: Language,
    bindings: Vec<Binding>,
    /// The greatest depth of a variable.
    deepest: usize,
    /// Variables that are known once a node at this depth ends.
    pending: Vec<(usize, Binding)>,
    /// Names of imported items: the real name and the module.
    imports: HashMap<String, (String, String)>,
    /// Types of fields; `None` when they differ.
    fields: HashMap<(String, String), Option<String>>,
    field_uses: Vec<FieldUse>,
}

impl<'a> Receivers<'a> {
    pub(crate) fn new(text: &'a [u8], language: Language) -> Self {
        Self {
            text,
            language,
            bindings: Vec::new(),
            deepest: 0,
            pending: Vec::new(),
            imports: HashMap::new(),
            fields: HashMap::new(),
            field_uses: Vec::new(),
        }
    }

    /// Returns whether the language is one whose receivers are read.
    pub(crate) fn reads(language: Language) -> bool {
        use Language::{JavaScript, Python, Rust, Tsx, TypeScript};
        matches!(language, Rust | Python | JavaScript | TypeScript | Tsx)
    }

    pub(super) fn language(&self) -> Language {
        self.language
    }

    pub(super) fn text_of(&self, node: Node<'_>) -> String {
        String::from_utf8_lossy(&self.text[node.byte_range()]).into_owned()
    }

    /// Ends a node: its variables are forgotten, and its declarations are known from here.
    pub(crate) fn leave(&mut self, depth: usize) {
        if self.deepest > depth {
            self.bindings.retain(|binding| binding.depth <= depth);
            self.deepest = depth;
        }
        while let Some((_, binding)) = self.pending.pop_if(|(at, _)| *at >= depth) {
            self.add(binding);
        }
    }

    fn add(&mut self, binding: Binding) {
        if self.bindings.len() >= MAX_BINDINGS {
            return;
        }
        // If scopes are whole functions, a second value may belong to another branch.
        let mut of = binding.of.clone();
        if self.language == Language::Python
            && let Some(known) = self.bindings.iter().rfind(|known| self.same(known, &binding))
            && known.of != of
        {
            of = None;
        }
        self.deepest = self.deepest.max(binding.depth);
        self.bindings.push(Binding { of, ..binding });
    }

    fn same(&self, one: &Binding, other: &Binding) -> bool {
        one.depth == other.depth && self.text[one.name.clone()] == self.text[other.name.clone()]
    }

    /// Adds a variable that ends with the node around `depth`.
    pub(super) fn bind(&mut self, name: Node<'_>, of: Option<String>, depth: usize, local: bool) {
        self.add(Binding { name: name.byte_range(), of, depth, local });
    }

    /// Adds a variable that is known once the node at `at` ends.
    pub(super) fn bind_after(&mut self, at: usize, name: Node<'_>, of: Option<String>, depth: usize, local: bool) {
        self.pending.push((at, Binding { name: name.byte_range(), of, depth, local }));
    }

    pub(super) fn import(&mut self, known_as: String, real: String, module: String) {
        self.imports.insert(known_as, (real, module));
    }

    pub(super) fn add_field(&mut self, owner: &str, field: String, of: Option<&String>) {
        let known = self.fields.entry((owner.to_owned(), field)).or_insert_with(|| of.cloned());
        if known.as_ref() != of {
            *known = None;
        }
    }

    fn variable(&self, name: &str) -> Option<&Binding> {
        self.bindings.iter().rfind(|binding| self.text[binding.name.clone()] == *name.as_bytes())
    }

    /// Returns the uses of members of fields, now that all fields are known.
    pub(crate) fn field_uses(self) -> Vec<(FieldUse, UseForm)> {
        let Self { fields, field_uses, .. } = self;
        let via = |used: &FieldUse| match fields.get(&used.owner) {
            Some(Some(of)) => UseForm::Owner(of.clone()),
            _ => UseForm::Member,
        };
        let known = field_uses.into_iter().map(|used| {
            let via = via(&used);
            (used, via)
        });
        known.collect()
    }

    /// Returns the kind of use of a name, and the real name; `None` if it is not a use of a symbol.
    pub(crate) fn via(
        &mut self,
        node: Node<'_>,
        symbol: u32,
        place: &Place<'_, '_>,
    ) -> Option<(UseForm, Option<String>)> {
        let Some(parent) = place.around.last() else { return Some((UseForm::Name, None)) };
        let is_call = || place.around.iter().nth_back(1).is_some_and(|call| is_call_of(*call, *parent));
        match (parent.kind(), place.field) {
            ("field_expression", Some("field")) => {
                is_call().then(|| self.member(node, parent.child_by_field_name("value"), symbol, place)).flatten()
            }
            ("attribute", Some("attribute")) | ("member_expression", Some("property")) => {
                // Properties are used without a call.
                self.member(node, parent.child_by_field_name("object"), symbol, place)
            }
            ("scoped_identifier" | "scoped_type_identifier", Some("name")) => {
                Some((self.qualified(parent.child_by_field_name("path"), place), None))
            }
            ("field_initializer", Some("field" | "name"))
            | ("field_declaration" | "field_pattern" | "keyword_argument", Some("name"))
            | ("let_declaration" | "let_condition" | "required_parameter" | "parameter", Some("pattern")) => None,
            ("token_tree", _) => self.is_symbol(node).then_some((UseForm::Unsure, None)),
            _ => self.alone(node),
        }
    }

    /// Returns whether a name is not the name of a variable.
    fn is_symbol(&self, node: Node<'_>) -> bool {
        node.kind() == "type_identifier" || self.variable(&self.text_of(node)).is_none_or(|binding| !binding.local)
    }

    /// Returns the kind of use of a name without a receiver.
    fn alone(&self, node: Node<'_>) -> Option<(UseForm, Option<String>)> {
        if !self.is_symbol(node) || node.kind() == "shorthand_field_identifier" {
            return None;
        }
        Some(match self.imports.get(&self.text_of(node)) {
            Some((real, module)) if !module.is_empty() => (UseForm::Owner(module.clone()), Some(real.clone())),
            Some((real, _)) => (UseForm::Name, Some(real.clone())),
            None => (UseForm::Name, None),
        })
    }

    fn member(
        &mut self,
        node: Node<'_>,
        value: Option<Node<'_>>,
        symbol: u32,
        place: &Place<'_, '_>,
    ) -> Option<(UseForm, Option<String>)> {
        match value.map_or(Receiver::Unknown, |value| self.receiver(value, place, 0)) {
            Receiver::Unknown => Some((UseForm::Member, None)),
            Receiver::Type(of) => Some((UseForm::Owner(of), None)),
            Receiver::Field(of, field) => {
                self.field_uses.push(FieldUse { symbol, name: self.text_of(node), owner: (of, field) });
                None
            }
        }
    }

    /// Returns the receiver described by an expression.
    fn receiver(&self, node: Node<'_>, place: &Place<'_, '_>, depth: usize) -> Receiver {
        if depth > MAX_DEPTH {
            return Receiver::Unknown;
        }
        let known = |of: Option<String>| of.map_or(Receiver::Unknown, Receiver::Type);
        match node.kind() {
            "self" | "this" => known(place.own_type.map(str::to_owned)),
            "reference_expression" | "parenthesized_expression" => {
                let inner = node.child_by_field_name("value").or_else(|| node.named_child(0));
                inner.map_or(Receiver::Unknown, |inner| self.receiver(inner, place, depth + 1))
            }
            "identifier" => known(self.of_variable(node, place)),
            "field_expression" | "attribute" | "member_expression" => {
                let value = node.child_by_field_name("value").or_else(|| node.child_by_field_name("object"));
                let field = ["field", "attribute", "property"].iter().find_map(|name| node.child_by_field_name(name));
                match (value.map(|value| self.receiver(value, place, depth + 1)), field) {
                    (Some(Receiver::Type(of)), Some(field)) => Receiver::Field(of, self.text_of(field)),
                    _ => Receiver::Unknown,
                }
            }
            _ => known(self.constructed(node, place)),
        }
    }

    /// Returns the type of a variable, or the type or module that a name means.
    fn of_variable(&self, node: Node<'_>, place: &Place<'_, '_>) -> Option<String> {
        let name = self.text_of(node);
        if let Some(binding) = self.variable(&name) {
            return binding.of.clone();
        }
        if self.language == Language::Python && (name == "self" || name == "cls") {
            return place.own_type.map(str::to_owned);
        }
        self.imported(&name).or_else(|| is_type(&name).then_some(name))
    }

    /// Returns the real name of an import, with the module of a type.
    fn imported(&self, name: &str) -> Option<String> {
        let (real, module) = self.imports.get(name)?;
        Some(if is_type(real) && !module.is_empty() { format!("{module}::{real}") } else { real.clone() })
    }

    /// Returns the name of the type or module before `::`.
    fn qualified(&self, path: Option<Node<'_>>, place: &Place<'_, '_>) -> UseForm {
        let Some(path) = path else { return UseForm::Name };
        let last = match path.kind() {
            "self" | "super" | "crate" => return UseForm::Name,
            "scoped_identifier" | "scoped_type_identifier" => path.child_by_field_name("name"),
            "generic_type" => path.child_by_field_name("type"),
            "identifier" | "type_identifier" => Some(path),
            _ => None,
        };
        let owner = last.and_then(|last| self.type_name(last, place));
        owner.map_or(UseForm::Unsure, UseForm::Owner)
    }

    /// Returns the name that a type or module has in the workspace; `None` for a type parameter.
    fn type_name(&self, node: Node<'_>, place: &Place<'_, '_>) -> Option<String> {
        let name = self.text_of(node);
        if name == "Self" {
            return place.own_type.map(str::to_owned);
        }
        let is_parameter = name.starts_with(char::is_uppercase) && self.variable(&name).is_some();
        if is_parameter { None } else { self.imported(&name).or(Some(name)) }
    }

    /// Returns the type that a type expression is about.
    pub(super) fn type_of(&self, node: Node<'_>, place: &Place<'_, '_>) -> Option<String> {
        let mut at = node;
        for _ in 0..MAX_DEPTH {
            at = match at.kind() {
                "type_identifier" | "identifier" => return self.type_name(at, place),
                "primitive_type" | "predefined_type" => return Some(self.text_of(at)),
                "scoped_type_identifier" => return self.type_name(at.child_by_field_name("name")?, place),
                "attribute" => return self.type_name(at.child_by_field_name("attribute")?, place),
                "reference_type" => at.child_by_field_name("type")?,
                "dynamic_type" | "abstract_type" => at.child_by_field_name("trait")?,
                "type_annotation" | "type" => at.named_child(0)?,
                "generic_type" => {
                    let base = at.child_by_field_name("type").or_else(|| at.child_by_field_name("name"))?;
                    if TRANSPARENT.binary_search(&self.text_of(base).as_str()).is_err() {
                        return (self.language == Language::Rust).then(|| self.type_of(base, place)).flatten();
                    }
                    let inside = at.child_by_field_name("type_arguments")?;
                    inside.named_child(0).filter(|first| first.kind() != "lifetime")?
                }
                _ => return None,
            };
        }
        None
    }

    /// Returns the type of an expression that makes a new object.
    pub(super) fn constructed(&self, node: Node<'_>, place: &Place<'_, '_>) -> Option<String> {
        let mut at = node;
        for _ in 0..MAX_DEPTH {
            at = match at.kind() {
                "struct_expression" => return self.type_of(at.child_by_field_name("name")?, place),
                "new_expression" => return self.type_of(at.child_by_field_name("constructor")?, place),
                "reference_expression" => at.child_by_field_name("value")?,
                "call" => {
                    let class = at.child_by_field_name("function").filter(|class| class.kind() == "identifier")?;
                    let name = self.text_of(class);
                    let real = self.imports.get(&name).map_or(name.as_str(), |(real, _)| real.as_str());
                    return is_type(real).then(|| self.type_name(class, place)).flatten();
                }
                "call_expression" => {
                    let called = at.child_by_field_name("function").filter(|f| f.kind() == "scoped_identifier")?;
                    let name = self.text_of(called.child_by_field_name("name")?);
                    let makes = matches!(name.as_str(), "new" | "default" | "from") || name.starts_with("with_");
                    let UseForm::Owner(owner) = self.qualified(called.child_by_field_name("path"), place) else {
                        return None;
                    };
                    if !makes || !owner.rsplit("::").next().is_some_and(is_type) {
                        return None;
                    }
                    if TRANSPARENT.binary_search(&owner.as_str()).is_err() {
                        return Some(owner);
                    }
                    at.child_by_field_name("arguments")?.named_child(0)?
                }
                _ => return None,
            };
        }
        None
    }
}

/// Returns whether a name is written like a type name.
fn is_type(name: &str) -> bool {
    name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase)
}

/// Returns whether a node calls another one.
fn is_call_of(call: Node<'_>, called: Node<'_>) -> bool {
    let is_call = matches!(call.kind(), "call_expression" | "call" | "generic_function");
    is_call && call.child_by_field_name("function") == Some(called)
}
