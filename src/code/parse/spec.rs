//! The roles of each grammar's nodes, as tables by node kind.
//! Not for: walking a tree (`file`).

use crate::domain::code::{Kind, Language};

/// The role of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// None by itself; its children are visited.
    Plain,
    /// An identifier: a word and a use of a name.
    Name,
    Comment,
    /// A string literal.
    Text,
    /// An attribute or decorator of the next node.
    Attr,
    /// A definition.
    Def(Kind),
    /// A declaration in C: a definition only if it declares a function.
    Declaration,
    /// A variable: a definition when its value is a function, or outside functions.
    Variable,
    /// A definition only when its value is a function.
    Callback,
    /// A definition only when it has a body.
    Bodied(Kind),
    /// A wrapper around a definition: comments and attributes before it belong to the definition.
    Wrap,
    /// An import: words of the file, but no uses.
    Import,
}

use Role::{Attr, Bodied, Callback, Comment, Declaration, Def, Import, Name, Text, Variable, Wrap};

const RUST: &[(&str, Role)] = &[
    ("identifier", Name),
    ("type_identifier", Name),
    ("field_identifier", Name),
    ("shorthand_field_identifier", Name),
    ("line_comment", Comment),
    ("block_comment", Comment),
    ("string_content", Text),
    ("attribute_item", Attr),
    ("function_item", Def(Kind::Function)),
    ("function_signature_item", Def(Kind::Prototype)),
    ("struct_item", Def(Kind::Struct)),
    ("enum_item", Def(Kind::Enum)),
    ("union_item", Def(Kind::Union)),
    ("trait_item", Def(Kind::Interface)),
    ("impl_item", Def(Kind::Impl)),
    ("mod_item", Bodied(Kind::Module)),
    ("const_item", Def(Kind::Constant)),
    ("static_item", Def(Kind::Constant)),
    ("type_item", Def(Kind::Type)),
    ("macro_definition", Def(Kind::Macro)),
    ("use_declaration", Import),
];

const PYTHON: &[(&str, Role)] = &[
    ("identifier", Name),
    ("comment", Comment),
    ("string_content", Text),
    ("decorator", Attr),
    ("decorated_definition", Wrap),
    ("function_definition", Def(Kind::Function)),
    ("class_definition", Def(Kind::Class)),
    ("assignment", Variable),
    ("import_statement", Import),
    ("import_from_statement", Import),
];

const SCRIPT: &[(&str, Role)] = &[
    ("identifier", Name),
    ("type_identifier", Name),
    ("property_identifier", Name),
    ("private_property_identifier", Name),
    ("shorthand_property_identifier", Name),
    ("comment", Comment),
    ("string_fragment", Text),
    ("decorator", Attr),
    ("export_statement", Wrap),
    ("lexical_declaration", Wrap),
    ("variable_declaration", Wrap),
    ("ambient_declaration", Wrap),
    ("function_declaration", Def(Kind::Function)),
    ("generator_function_declaration", Def(Kind::Function)),
    ("function_signature", Def(Kind::Prototype)),
    ("class_declaration", Def(Kind::Class)),
    ("abstract_class_declaration", Def(Kind::Class)),
    ("method_definition", Def(Kind::Method)),
    ("method_signature", Def(Kind::Prototype)),
    ("abstract_method_signature", Def(Kind::Prototype)),
    ("interface_declaration", Def(Kind::Interface)),
    ("type_alias_declaration", Def(Kind::Type)),
    ("enum_declaration", Def(Kind::Enum)),
    ("internal_module", Def(Kind::Module)),
    ("module", Def(Kind::Module)),
    ("variable_declarator", Variable),
    ("pair", Callback),
    ("public_field_definition", Callback),
    ("field_definition", Callback),
    ("assignment_expression", Callback),
    ("import_statement", Import),
];

const GO: &[(&str, Role)] = &[
    ("identifier", Name),
    ("type_identifier", Name),
    ("field_identifier", Name),
    ("package_identifier", Name),
    ("comment", Comment),
    ("interpreted_string_literal_content", Text),
    ("raw_string_literal_content", Text),
    ("type_declaration", Wrap),
    ("const_declaration", Wrap),
    ("var_declaration", Wrap),
    ("var_spec_list", Wrap),
    ("function_declaration", Def(Kind::Function)),
    ("method_declaration", Def(Kind::Method)),
    ("type_spec", Def(Kind::Type)),
    ("type_alias", Def(Kind::Type)),
    ("const_spec", Variable),
    ("var_spec", Variable),
    ("import_declaration", Import),
];

const C: &[(&str, Role)] = &[
    ("identifier", Name),
    ("type_identifier", Name),
    ("field_identifier", Name),
    ("namespace_identifier", Name),
    ("comment", Comment),
    ("string_content", Text),
    ("raw_string_content", Text),
    ("template_declaration", Wrap),
    ("function_definition", Def(Kind::Function)),
    ("declaration", Declaration),
    ("field_declaration", Declaration),
    ("struct_specifier", Bodied(Kind::Struct)),
    ("union_specifier", Bodied(Kind::Union)),
    ("enum_specifier", Bodied(Kind::Enum)),
    ("class_specifier", Bodied(Kind::Class)),
    ("type_definition", Def(Kind::Type)),
    ("alias_declaration", Def(Kind::Type)),
    ("concept_definition", Def(Kind::Type)),
    ("namespace_definition", Bodied(Kind::Module)),
    ("preproc_def", Def(Kind::Macro)),
    ("preproc_function_def", Def(Kind::Macro)),
    ("preproc_include", Import),
];

const JAVA: &[(&str, Role)] = &[
    ("identifier", Name),
    ("type_identifier", Name),
    ("line_comment", Comment),
    ("block_comment", Comment),
    ("string_fragment", Text),
    ("multiline_string_fragment", Text),
    ("class_declaration", Def(Kind::Class)),
    ("interface_declaration", Def(Kind::Interface)),
    ("enum_declaration", Def(Kind::Enum)),
    ("record_declaration", Def(Kind::Struct)),
    ("annotation_type_declaration", Def(Kind::Interface)),
    ("method_declaration", Def(Kind::Method)),
    ("constructor_declaration", Def(Kind::Method)),
    ("compact_constructor_declaration", Def(Kind::Method)),
    ("import_declaration", Import),
    ("package_declaration", Import),
];

/// Returns the roles of a grammar's node kinds, by kind number.
pub(crate) fn roles(language: Language, grammar: &tree_sitter::Language) -> Vec<Role> {
    let table = match language {
        Language::Rust => RUST,
        Language::Python => PYTHON,
        Language::TypeScript | Language::Tsx | Language::JavaScript => SCRIPT,
        Language::Go => GO,
        Language::C | Language::Cpp => C,
        Language::Java => JAVA,
        Language::Toml | Language::Yaml | Language::Markdown => &[],
    };
    let count = u16::try_from(grammar.node_kind_count()).unwrap_or(u16::MAX);
    let role = |number: u16| {
        let kind = grammar.node_kind_for_id(number).filter(|_| grammar.node_kind_is_named(number))?;
        table.iter().find(|(name, _)| *name == kind).map(|(_, role)| *role)
    };
    (0..count).map(|number| role(number).unwrap_or(Role::Plain)).collect()
}

/// Returns whether a node kind is a function expression.
pub(crate) fn is_function(kind: &str) -> bool {
    matches!(
        kind,
        "arrow_function" | "function_expression" | "generator_function" | "func_literal" | "class" | "lambda"
    )
}
