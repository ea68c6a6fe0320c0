//! Reads the variables, parameters, fields, and imports that a node declares.
//! Not for: the effect of declarations on a name (`receivers`).

use super::receivers::{Place, Receivers};
use crate::code::symbol::to_u32;
use crate::domain::code::Language;
use tree_sitter::Node;

/// The kinds of nodes that declare something. Sorted.
#[rustfmt::skip]
const KINDS: &[&str] = &[
    "arrow_function", "as_pattern", "assignment", "catch_clause", "closure_parameters", "default_parameter",
    "field_declaration", "for_expression", "for_in_clause", "for_in_statement", "for_statement", "formal_parameters",
    "import_from_statement", "import_statement", "lambda_parameters", "let_condition", "let_declaration", "match_arm",
    "optional_parameter", "parameter", "parameters", "public_field_definition", "required_parameter", "type_parameters",
    "typed_default_parameter", "typed_parameter", "use_declaration", "variable_declarator",
];

/// Returns whether nodes of a kind declare something, in a language whose receivers are read.
pub(super) fn declares(kind: &str) -> bool {
    KINDS.binary_search(&kind).is_ok()
}

/// Maximum nodes of one pattern or import that are read.
const MAX_NODES: usize = 400;

/// Reads the declarations of a node.
pub(super) fn read(known: &mut Receivers<'_>, node: Node<'_>, place: &Place<'_, '_>) {
    match known.language() {
        Language::Rust => read_rust(known, node, place),
        Language::Python => read_python(known, node, place),
        _ => read_script(known, node, place),
    }
}

fn field<'tree>(node: Node<'tree>, name: &str) -> Option<Node<'tree>> {
    node.child_by_field_name(name)
}

/// Returns the named children of a node.
fn children(node: Node<'_>) -> impl DoubleEndedIterator<Item = Node<'_>> {
    (0..node.named_child_count()).filter_map(move |at| node.named_child(to_u32(at)))
}

/// Returns the type that a declaration states, or else the type of its value.
fn declared_type(known: &Receivers<'_>, node: Node<'_>, value: &str, place: &Place<'_, '_>) -> Option<String> {
    match field(node, "type") {
        Some(of) => known.type_of(of, place),
        None => known.constructed(field(node, value)?, place),
    }
}

/// Adds the variables of a parameter, whose scope is the function around it.
fn bind_parameter(known: &mut Receivers<'_>, node: Node<'_>, place: &Place<'_, '_>) {
    let of = field(node, "type").and_then(|of| known.type_of(of, place));
    let scope = place.depth.saturating_sub(1);
    match field(node, "pattern") {
        Some(name) if name.kind() == "identifier" => known.bind(name, of, scope, true),
        pattern => bind_all(known, pattern, scope, true),
    }
}

/// Adds all names of a pattern as variables of unknown types.
fn bind_all(known: &mut Receivers<'_>, pattern: Option<Node<'_>>, depth: usize, local: bool) {
    for name in names_in(known, pattern) {
        known.bind(name, None, depth, local);
    }
}

/// Returns the names that a pattern may bind.
fn names_in<'tree>(known: &Receivers<'_>, pattern: Option<Node<'tree>>) -> Vec<Node<'tree>> {
    let mut open: Vec<Node<'tree>> = pattern.into_iter().collect();
    let (mut names, mut seen) = (Vec::new(), 0);
    while let Some(node) = open.pop() {
        seen += 1;
        if seen > MAX_NODES {
            break;
        }
        match node.kind() {
            "identifier" | "shorthand_field_identifier" | "shorthand_property_identifier_pattern" => {
                // In patterns of Rust, other names are constants and variants.
                if known.language() != Language::Rust || !known.text_of(node).starts_with(char::is_uppercase) {
                    names.push(node);
                }
            }
            "scoped_identifier" | "scoped_type_identifier" | "type_identifier" | "field_identifier" => {}
            _ => open.extend(children(node).rev()),
        }
    }
    names
}

fn read_rust(known: &mut Receivers<'_>, node: Node<'_>, place: &Place<'_, '_>) {
    let depth = place.depth;
    match node.kind() {
        "let_declaration" => {
            let pattern = field(node, "pattern");
            if let Some(name) = pattern.filter(|pattern| pattern.kind() == "identifier") {
                let of = declared_type(known, node, "value", place);
                known.bind_after(depth, name, of, depth, true);
            } else {
                for name in names_in(known, pattern) {
                    known.bind_after(depth, name, None, depth, true);
                }
            }
        }
        "let_condition" => {
            for name in names_in(known, field(node, "pattern")) {
                known.bind_after(depth, name, None, depth.saturating_sub(1), true);
            }
        }
        "parameter" => bind_parameter(known, node, place),
        "closure_parameters" => bind_all(known, Some(node), depth, true),
        "type_parameters" => {
            let names = children(node).map(|one| field(one, "name").unwrap_or(one));
            for name in names.filter(|name| name.kind() == "type_identifier") {
                known.bind(name, None, depth, true);
            }
        }
        "for_expression" | "match_arm" => bind_all(known, field(node, "pattern"), depth + 1, true),
        "field_declaration" => {
            if let (Some(owner), Some(name), Some(of)) = (place.own_type, field(node, "name"), field(node, "type")) {
                let of = known.type_of(of, place);
                known.add_field(owner, known.text_of(name), of.as_ref());
            }
        }
        "use_declaration" => {
            if let Some(tree) = field(node, "argument") {
                import_rust(known, tree);
            }
        }
        _ => {}
    }
}

/// Reads a tree of imports: each item with the module that it is in.
fn import_rust(known: &mut Receivers<'_>, tree: Node<'_>) {
    let mut open: Vec<(Node<'_>, String)> = vec![(tree, String::new())];
    let mut seen = 0;
    while let Some((node, module)) = open.pop() {
        seen += 1;
        if seen > MAX_NODES {
            return;
        }
        let path_end = |known: &Receivers<'_>, path: Option<Node<'_>>, module: &str| match path {
            Some(path) if path.kind() == "scoped_identifier" => {
                field(path, "name").map_or_else(String::new, |name| known.text_of(name))
            }
            Some(path) if matches!(path.kind(), "self" | "super" | "crate") => String::new(),
            Some(path) => known.text_of(path),
            None => module.to_owned(),
        };
        match node.kind() {
            "identifier" | "type_identifier" => {
                let name = known.text_of(node);
                known.import(name.clone(), name, module);
            }
            "scoped_identifier" => {
                if let Some(name) = field(node, "name").map(|name| known.text_of(name)) {
                    let module = path_end(known, field(node, "path"), &module);
                    known.import(name.clone(), name, module);
                }
            }
            "use_as_clause" => {
                let (path, alias) = (field(node, "path"), field(node, "alias"));
                if let (Some(path), Some(alias)) = (path, alias) {
                    let real = path_end(known, Some(path), &module);
                    let module = if path.kind() == "scoped_identifier" {
                        path_end(known, field(path, "path"), &module)
                    } else {
                        module
                    };
                    known.import(known.text_of(alias), real, module);
                }
            }
            "scoped_use_list" => {
                let module = path_end(known, field(node, "path"), &module);
                open.extend(field(node, "list").map(|list| (list, module)));
            }
            "use_list" => open.extend(children(node).map(|one| (one, module.clone()))),
            // The module itself: `use a::b::{self}`.
            "self" if !module.is_empty() => known.import(module.clone(), module, String::new()),
            _ => {}
        }
    }
}

fn read_python(known: &mut Receivers<'_>, node: Node<'_>, place: &Place<'_, '_>) {
    let depth = place.depth;
    // The scope is the whole function: its parameters and its body are one level deeper than the function.
    let scope = place.around.iter().rposition(|node| node.kind() == "function_definition").map_or(1, |at| at + 1);
    match node.kind() {
        "assignment" => {
            let of = declared_type(known, node, "right", place);
            match field(node, "left") {
                Some(name) if name.kind() == "identifier" => known.bind_after(depth, name, of, scope, place.local),
                Some(left) if left.kind() == "attribute" => {
                    let object = field(left, "object").map(|object| known.text_of(object));
                    if let (Some("self"), Some(owner), Some(name)) =
                        (object.as_deref(), place.own_type, field(left, "attribute"))
                    {
                        known.add_field(owner, known.text_of(name), of.as_ref());
                    }
                }
                left => bind_all(known, left, scope, place.local),
            }
        }
        "typed_parameter" | "typed_default_parameter" | "default_parameter" => {
            let of = field(node, "type").and_then(|of| known.type_of(of, place));
            let name = field(node, "name").or_else(|| node.named_child(0)).filter(|name| name.kind() == "identifier");
            if let Some(name) = name {
                known.bind(name, of, depth.saturating_sub(1), true);
            }
        }
        "parameters" | "lambda_parameters" => {
            for name in children(node).filter(|one| one.kind() == "identifier") {
                if !matches!(known.text_of(name).as_str(), "self" | "cls") {
                    known.bind(name, None, depth, true);
                }
            }
        }
        "for_statement" | "for_in_clause" => bind_all(known, field(node, "left"), scope, place.local),
        "as_pattern" => bind_all(known, field(node, "alias"), scope, place.local),
        "import_statement" => import_python(known, node, None),
        "import_from_statement" => {
            let module = field(node, "module_name").map(|module| known.text_of(module)).unwrap_or_default();
            import_python(known, node, Some(&last_part(&module)));
        }
        _ => {}
    }
}

fn last_part(module: &str) -> String {
    module.rsplit('.').next().unwrap_or_default().to_owned()
}

fn import_python(known: &mut Receivers<'_>, node: Node<'_>, module: Option<&str>) {
    let mut cursor = node.walk();
    let names: Vec<Node<'_>> = node.children_by_field_name("name", &mut cursor).take(MAX_NODES).collect();
    for name in names {
        let (real, alias) = match name.kind() {
            "aliased_import" => (field(name, "name"), field(name, "alias")),
            _ => (Some(name), None),
        };
        let Some(real) = real.map(|real| known.text_of(real)) else { continue };
        match (module, alias.map(|alias| known.text_of(alias))) {
            (Some(module), alias) => known.import(alias.unwrap_or_else(|| real.clone()), real, module.to_owned()),
            (None, Some(alias)) => known.import(alias, last_part(&real), String::new()),
            // `import a.b` makes `a` known.
            (None, None) if !real.contains('.') => known.import(real.clone(), real, String::new()),
            (None, None) => {}
        }
    }
}

fn read_script(known: &mut Receivers<'_>, node: Node<'_>, place: &Place<'_, '_>) {
    let depth = place.depth;
    match node.kind() {
        "variable_declarator" => {
            let of = declared_type(known, node, "value", place);
            let outer = depth.saturating_sub(1);
            match field(node, "name") {
                Some(name) if name.kind() == "identifier" => known.bind_after(depth, name, of, outer, place.local),
                pattern => bind_all(known, pattern, outer, place.local),
            }
        }
        "required_parameter" | "optional_parameter" => bind_parameter(known, node, place),
        "formal_parameters" => {
            for one in children(node).filter(|one| !one.kind().ends_with("_parameter")) {
                bind_all(known, Some(one), depth, true);
            }
        }
        "arrow_function" | "catch_clause" => bind_all(known, field(node, "parameter"), depth + 1, true),
        "for_in_statement" => bind_all(known, field(node, "left"), depth + 1, true),
        "public_field_definition" => {
            if let (Some(owner), Some(name)) = (place.own_type, field(node, "name")) {
                let of = declared_type(known, node, "value", place);
                known.add_field(owner, known.text_of(name), of.as_ref());
            }
        }
        "import_statement" => import_script(known, node),
        _ => {}
    }
}

fn import_script(known: &mut Receivers<'_>, node: Node<'_>) {
    let source = field(node, "source").map(|source| known.text_of(source)).unwrap_or_default();
    let path = source.trim_matches(['"', '\'']).trim_end_matches("/index");
    let file = path.rsplit('/').next().unwrap_or_default();
    let module = file.split_once('.').map_or(file, |(stem, _)| if stem.is_empty() { "" } else { stem }).to_owned();
    let mut open = vec![node];
    let mut seen = 0;
    while let Some(at) = open.pop() {
        seen += 1;
        if seen > MAX_NODES {
            return;
        }
        match at.kind() {
            "import_specifier" => {
                let Some(real) = field(at, "name").map(|name| known.text_of(name)) else { continue };
                let alias = field(at, "alias").map_or_else(|| real.clone(), |alias| known.text_of(alias));
                known.import(alias, real, module.clone());
            }
            "namespace_import" => {
                if let Some(name) = at.named_child(0) {
                    known.import(known.text_of(name), module.clone(), String::new());
                }
            }
            _ => open.extend(children(at)),
        }
    }
}
