//! Finds the name of a definition, and its owning type if the grammar writes that type next to the name.
//! Not for: which nodes are definitions (`spec`).

use super::spec::is_function;
use std::ops::Range;
use tree_sitter::Node;

/// Maximum nesting of declarators that is followed.
const MAX_DEPTH: usize = 16;

/// The name of a definition.
pub(crate) struct DefinitionName {
    /// The byte range of the name.
    pub(crate) name: Range<usize>,
    /// The byte range of the owning type, if it is written next to the name.
    pub(crate) owner: Option<Range<usize>>,
}

impl DefinitionName {
    fn plain(node: Node<'_>) -> Self {
        Self { name: node.byte_range(), owner: None }
    }
}

/// Returns the name of a definition node, if it has one.
pub(crate) fn name_of(node: Node<'_>) -> Option<DefinitionName> {
    match node.kind() {
        "impl_item" => node.child_by_field_name("type").and_then(type_name).map(DefinitionName::plain),
        "function_definition" | "declaration" | "field_declaration" | "type_definition" => {
            match node.child_by_field_name("name") {
                Some(name) => Some(DefinitionName::plain(name)),
                None => node.child_by_field_name("declarator").and_then(declared_name),
            }
        }
        "method_declaration" => {
            let owner = node.child_by_field_name("receiver").and_then(type_name).map(|owner| owner.byte_range());
            Some(DefinitionName { name: node.child_by_field_name("name")?.byte_range(), owner })
        }
        "assignment" => identifier(node.child_by_field_name("left")?),
        "assignment_expression" => {
            let left = node.child_by_field_name("left")?;
            let part = left.child_by_field_name("property");
            identifier(part.unwrap_or(left))
        }
        "pair" => identifier(node.child_by_field_name("key")?),
        "field_definition" => node.child_by_field_name("property").map(DefinitionName::plain),
        "variable_declarator" => identifier(node.child_by_field_name("name")?),
        _ => node.child_by_field_name("name").map(DefinitionName::plain),
    }
}

fn identifier(node: Node<'_>) -> Option<DefinitionName> {
    matches!(node.kind(), "identifier" | "property_identifier" | "private_property_identifier")
        .then(|| DefinitionName::plain(node))
}

/// Returns the function that is the value of a variable or property, if the value is a function.
pub(crate) fn function_value(node: Node<'_>) -> Option<Node<'_>> {
    let value = node.child_by_field_name("value").or_else(|| node.child_by_field_name("right"))?;
    is_function(value.kind()).then_some(value)
}

/// Returns whether a C declaration declares a function.
pub(crate) fn declares_function(node: Node<'_>) -> bool {
    let mut at = node.child_by_field_name("declarator");
    for _ in 0..MAX_DEPTH {
        match at {
            Some(node) if node.kind() == "function_declarator" => return true,
            Some(node) => at = node.child_by_field_name("declarator"),
            None => return false,
        }
    }
    false
}

/// Follows pointers, arrays, and parameter lists to the declared name.
fn declared_name(node: Node<'_>) -> Option<DefinitionName> {
    let mut at = node;
    let mut owner = None;
    for _ in 0..MAX_DEPTH {
        match at.kind() {
            "identifier" | "field_identifier" | "type_identifier" | "operator_name" | "destructor_name" => {
                return Some(DefinitionName { name: at.byte_range(), owner });
            }
            "qualified_identifier" => {
                owner = at.child_by_field_name("scope").map(|scope| scope.byte_range());
                at = at.child_by_field_name("name")?;
            }
            "template_function" | "template_method" => at = at.child_by_field_name("name")?,
            "reference_declarator" | "parenthesized_declarator" | "attributed_declarator" => at = at.named_child(0)?,
            _ => at = at.child_by_field_name("declarator")?,
        }
    }
    None
}

/// Returns the first type name in a type expression.
fn type_name(node: Node<'_>) -> Option<Node<'_>> {
    let mut at = node;
    for _ in 0..MAX_DEPTH {
        at = match at.kind() {
            "type_identifier" | "primitive_type" => return Some(at),
            "scoped_type_identifier" => at.child_by_field_name("name")?,
            "parameter_declaration" | "reference_type" => at.child_by_field_name("type")?,
            "generic_type" | "pointer_type" => at.child_by_field_name("type").or_else(|| at.named_child(0))?,
            _ => at.named_child(0)?,
        };
    }
    None
}
