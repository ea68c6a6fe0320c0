//! Enforces the architecture described in `src/lib.rs`: which rooms may import which, where third-party crates are
//! allowed, and what pure rooms never use.
//! Not for: style, which clippy and rustfmt check.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

#[path = "architecture/cycles.rs"]
mod cycles;
#[path = "architecture/key_names.rs"]
mod key_names;

use cycles::Imports;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};

/// Rooms of the second floor, which may import only themselves and `domain`.
const SECOND_FLOOR: &[&str] =
    &["config", "context", "store", "llm", "tools", "mcp", "retrieval", "code", "import", "export", "telemetry"];
const ALL_ROOMS: &[&str] = &[
    "domain",
    "engine",
    "cli",
    "tui",
    "config",
    "context",
    "store",
    "llm",
    "tools",
    "mcp",
    "retrieval",
    "code",
    "import",
    "export",
    "telemetry",
];
/// Crates that are allowed only in the rooms named with them.
const RESTRICTED_CRATES: &[(&str, &str)] = &[
    ("ratatui", "tui"),
    ("pulldown_cmark", "tui"),
    ("syntect", "tui"),
    ("two_face", "tui"),
    ("crossterm", "tui"),
    ("tui_textarea", "tui"),
    ("ratatui_textarea", "tui"),
    ("nucleo_matcher", "tui"),
    ("rusqlite", "store"),
    ("zstd", "store"),
    ("async_openai", "llm"),
    ("reqwest", "llm"),
    ("reqwest", "mcp"),
    ("rmcp", "mcp"),
    ("fancy_regex", "llm"),
    ("tokenizers", "llm"),
    ("candle_core", "llm"),
    ("candle_nn", "llm"),
    ("candle_transformers", "llm"),
    ("rust_stemmers", "retrieval"),
    ("rust_stemmers", "code"),
    ("ignore", "code"),
    ("ignore", "tools"),
    ("tree_sitter", "code"),
    ("tree_sitter_rust", "code"),
    ("tree_sitter_python", "code"),
    ("tree_sitter_typescript", "code"),
    ("tree_sitter_javascript", "code"),
    ("tree_sitter_go", "code"),
    ("tree_sitter_c", "code"),
    ("tree_sitter_cpp", "code"),
    ("tree_sitter_java", "code"),
    ("pulp", "retrieval"),
    ("clap", "config"),
    ("clap", "cli"),
    ("clap_complete", "config"),
    ("clap_complete", "cli"),
    ("landlock", "tools"),
    ("seccompiler", "tools"),
    ("libc", "tools"),
];
/// Rooms without tokio, the clock, the environment, and files.
const PURE: &[&str] = &["domain", "context", "retrieval"];
const WORLD: &[&[&str]] = &[
    &["std", "fs"],
    &["std", "env"],
    &["std", "process"],
    &["std", "net"],
    &["std", "os"],
    &["std", "time", "SystemTime"],
    &["cap_std"],
    &["rustix"],
];
const CLOCKS: &[&str] = &["now", "now_v7", "new_v4"];
/// Functions of the module `thread` that start threads.
const STARTS: &[&str] = &["spawn", "scope", "Builder", "*"];
const MOST_LINES: usize = 500;
const MOST_MAIN: usize = 61;
/// The most source files in one folder; in `src`, without files for tests.
const MOST_FILES: usize = 22;
/// Files in one cycle of imports.
const MOST_IN_CYCLE: usize = 8;
/// Rooms with larger cycles, and how large. Lower these as cycles open; never raise one.
const LARGER_CYCLES: &[(&str, usize)] = &[];
/// Folders that other folders of their room build on, and the places of the room that they must not import. They stay
/// usable and readable without what is built on them.
const LOWER_FOLDERS: &[(&str, &[&str])] = &[
    ("engine/api/", &["engine/"]),
    ("code/index/", &["code/find/"]),
    ("code/parse/", &["code/find/"]),
    ("config/keys/", &["config/commands/"]),
    ("context/policy/", &["context/explain/", "context/render/"]),
    ("context/render/", &["context/admission/", "context/explain/", "context/policy/"]),
    ("engine/indexing/", &["engine/branches/", "engine/calls/", "engine/summaries/", "engine/turns/"]),
    ("engine/startup/", &["engine/branches/", "engine/summaries/"]),
    ("engine/tools/", &["engine/branches/", "engine/calls/", "engine/sessions/"]),
    ("tools/files/", &["tools/command/", "tools/sandbox/"]),
    ("tools/sandbox/", &["tools/files/", "tools/command/"]),
    ("cli/system/", &["cli/context/", "cli/conversation/"]),
    ("tui/model/", &["tui/shell/", "tui/update/", "tui/view/"]),
    ("tui/text/", &["tui/chat/", "tui/model/", "tui/screens/", "tui/shell/", "tui/update/", "tui/view/"]),
    ("tui/view/", &["tui/shell/", "tui/update/"]),
    ("store/search/", &["store/file/"]),
    ("store/tables/", &["store/search/", "store/apply.rs"]),
    // The parts of the engine's state: the core holds them, and they do not know it.
    ("engine/inbox.rs", &["engine/core.rs"]),
    ("engine/jobs.rs", &["engine/core.rs"]),
    ("engine/workers.rs", &["engine/core.rs"]),
    ("engine/plans/state.rs", &["engine/core.rs"]),
    ("engine/sessions/state.rs", &["engine/core.rs"]),
    ("engine/summaries/state.rs", &["engine/core.rs"]),
    ("engine/tools/state.rs", &["engine/core.rs"]),
    ("engine/turns/state.rs", &["engine/core.rs"]),
];

/// A file, and the parts of its room that may import it.
type OpenFile = (&'static str, &'static [&'static str]);
/// Folders inside a part of a room, and the files in them that other parts may import.
const INNER_FOLDERS: &[(&str, &[OpenFile])] = &[
    ("code/parse/outline/", &[]),
    (
        "engine/plans/sources/",
        &[
            ("cards.rs", &["indexing"]),
            ("code.rs", &["turns"]),
            ("code_rows.rs", &["indexing", "turns"]),
            ("memory.rs", &["sessions"]),
            ("memory_terms.rs", &["sessions"]),
            ("retrieval.rs", &["indexing"]),
            ("rule_text.rs", &["tools"]),
            ("rules.rs", &["tools"]),
            ("suggested_pins.rs", &["branches", "sessions", "turns"]),
            ("summaries.rs", &["branches", "calls", "sessions", "summaries"]),
        ],
    ),
];

/// Modules that may re-export items of another room: the engine's interface, for types of its requests and events that are
/// nouns of every room, and the names of keys and actions, which screens use without knowing the configuration.
const REEXPORTS: &[(&[&str], &str)] = &[(&["engine", "api"], "domain"), (&["tui", "model", "keys"], "config")];

/// Files that decide about every variant of an enum, and how often each of them makes clippy refuse wildcard arms.
const WITHOUT_WILDCARDS: &[(&str, usize)] = &[
    ("cli/client.rs", 5),
    ("cli/conversation/ask.rs", 2),
    ("cli/conversation/plain.rs", 1),
    ("cli/conversation/race.rs", 1),
    ("cli/mod.rs", 1),
    ("cli/system/program.rs", 1),
    ("config/commands/args.rs", 1),
    ("context/explain/cause.rs", 1),
    ("domain/planning/reason.rs", 1),
    ("domain/planning/reason_facts.rs", 1),
    ("engine/api/request/call.rs", 1),
    ("engine/api/request/mod.rs", 1),
    ("engine/api/request/plan.rs", 1),
    ("engine/api/request/turn.rs", 1),
    ("engine/dispatch.rs", 1),
    ("tui/chat/update/mod.rs", 1),
    ("tui/screens/mod.rs", 1),
    ("tui/update/mod.rs", 1),
];

/// A violation of a rule.
#[derive(PartialEq, Eq, Clone, PartialOrd, Ord)]
struct Violation {
    file: String,
    line: usize,
    rule: String,
}

impl fmt::Debug for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.rule)
    }
}

/// Whether a module may use a path in the crate.
fn may_know(from: &[String], to: &[String]) -> bool {
    let name = |path: &[String], at: usize| path.get(at).cloned().unwrap_or_default();
    let room = name(from, 0);
    let (wanted, part) = (name(to, 0), name(to, 1));
    // A single segment that is not a room is an item of lib.rs, such as a macro.
    if !ALL_ROOMS.contains(&wanted.as_str()) || wanted == "domain" {
        return true;
    }
    let interface = wanted == "engine" && part == "api";
    match room.as_str() {
        "domain" => false,
        "" => true,
        "engine" => !matches!(wanted.as_str(), "cli" | "tui"),
        "cli" => wanted == "cli" || wanted == "config" || interface,
        "tui" => {
            // `crate::tui::screens` alone leads to a path that is checked where it is written.
            let way = matches!(to, [_, part] | [_, part, _] if part == "screens")
                || matches!(to, [_, part] if part == "chat")
                // The `Screen` trait and the screen stack belong to the workbench.
                || matches!(to, [_, part, place, ..] if part == "screens" && (place == "screen" || place == "stack"));
            let own = |kinds: &[&str]| {
                let kind = screen_kind(to).unwrap_or(&part);
                wanted == "tui" && (way || kinds.contains(&kind))
            };
            match screen_kind(from) {
                Some("model") => own(&["model"]) || wanted == "config",
                Some("view") => own(&["view", "model", "theme", "text"]),
                Some("update") => {
                    own(&["update", "model", "msg"]) || interface || (wanted == "config" && part == "commands")
                }
                _ => wanted == "tui" || wanted == "config" || interface,
            }
        }
        talent if SECOND_FLOOR.contains(&talent) => wanted == talent,
        _ => false,
    }
}

/// The kind of a workbench module (`model`, `update`, or `view`), from its folder or the start of its file name.
fn screen_kind(module: &[String]) -> Option<&'static str> {
    let parts = match module {
        [room, place, rest @ ..] if room == "tui" && place == "screens" => rest.get(1..)?,
        [room, place, rest @ ..] if room == "tui" && place == "chat" => rest,
        [room, rest @ ..] if room == "tui" => rest,
        _ => return None,
    };
    let first = parts.first()?;
    ["model", "update", "view"]
        .into_iter()
        .find(|kind| first.strip_prefix(kind).is_some_and(|rest| rest.is_empty() || rest.starts_with('_')))
}

fn is_pure(module: &[String]) -> bool {
    module.first().is_some_and(|room| PURE.contains(&room.as_str()))
}

/// Whether tokio is forbidden in a module.
fn without_tokio(module: &[String]) -> bool {
    is_pure(module) || screen_kind(module).is_some()
}

/// Whether the clock, the environment, and files are forbidden in a module.
fn without_world(module: &[String]) -> bool {
    is_pure(module) || matches!(screen_kind(module), Some("update" | "view"))
}

fn starts_with(path: &[String], with: &[&str]) -> bool {
    path.len() >= with.len() && path.iter().zip(with).all(|(a, b)| a == b)
}

/// Checks one file.
struct Inspector<'a> {
    file: &'a str,
    text: &'a str,
    /// The current module, including inline modules.
    module: Vec<String>,
    /// Names that `use … as NAME` gives to items, with the path of each.
    aliases: BTreeMap<String, Vec<String>>,
    found: BTreeSet<Violation>,
}

impl Inspector<'_> {
    fn report(&mut self, path: &[String], rule: String) {
        let line = self.line_of(path);
        self.found.insert(Violation { file: self.file.to_owned(), line, rule });
    }

    /// The most likely line of a path: the one with its longest written part.
    fn line_of(&self, path: &[String]) -> usize {
        let code = |line: &&str| !line.trim_start().starts_with("//");
        let whole = path.join("::");
        let tails = (0..path.len()).map(|from| path[from..].join("::"));
        let heads = (1..path.len()).rev().map(|to| path[..to].join("::"));
        for part in std::iter::once(whole).chain(tails).chain(heads) {
            let at = self.text.lines().position(|line| code(&line) && contains_word(line, &part));
            if let Some(at) = at {
                return at + 1;
            }
        }
        1
    }

    /// Checks one path as written.
    fn check_path(&mut self, written: &[String], exported: bool) {
        let Some(first) = written.first() else { return };
        let inside = match first.as_str() {
            "crate" | "pleach" => Some(written[1..].to_vec()),
            "self" if written.len() > 1 => Some([&self.module[..], &written[1..]].concat()),
            "super" => {
                let ups = written.iter().take_while(|segment| *segment == "super").count();
                let kept = self.module.len().saturating_sub(ups);
                Some([&self.module[..kept], &written[ups..]].concat())
            }
            // Screens are named through the module that contains them.
            "screens" if self.module.first().is_some_and(|room| room == "tui") => {
                Some([&["tui".to_owned()], written].concat())
            }
            _ => None,
        };
        let name = written.join("::");
        let from = if self.module.is_empty() { "the crate root".to_owned() } else { self.module.join("::") };
        match inside {
            Some(to) if !to.is_empty() => {
                if !may_know(&self.module, &to) {
                    self.report(written, format!("{from} may not know {name}"));
                }
                let allowed = REEXPORTS.iter().any(|(interface, room)| self.module == *interface && to[0] == *room);
                if exported && !allowed && !self.module.is_empty() && to.first() != self.module.first() {
                    self.report(written, format!("pub use across rooms: {name}"));
                }
            }
            Some(_) => {}
            None => {
                let whole = self.aliases.get(first).map(|start| [&start[..], &written[1..]].concat());
                self.check_external(&whole.unwrap_or_else(|| written.to_vec()), &name, &from);
            }
        }
    }

    fn check_external(&mut self, written: &[String], name: &str, from: &str) {
        let room = self.module.first().cloned().unwrap_or_else(|| "main".to_owned());
        let homes: Vec<&str> =
            RESTRICTED_CRATES.iter().filter(|(guest, _)| written[0] == *guest).map(|(_, home)| *home).collect();
        if !homes.is_empty() && !homes.contains(&room.as_str()) {
            self.report(written, format!("{} may come only into {}, not into {from}", written[0], homes.join(", ")));
        }
        let threads = written.windows(2).any(|pair| pair[0] == "thread" && STARTS.contains(&pair[1].as_str()));
        if threads && room == "engine" && self.module[1..] != ["jobs".to_owned()] {
            self.report(written, format!("only engine::jobs starts threads, not {from}"));
        }
        if written[0] == "tokio" && without_tokio(&self.module) {
            self.report(written, format!("tokio may not come into {from}"));
        }
        if !without_world(&self.module) {
            return;
        }
        let clock = written.len() > 1 && written.last().is_some_and(|last| CLOCKS.contains(&last.as_str()));
        if clock || WORLD.iter().any(|place| starts_with(written, place)) {
            self.report(written, format!("{from} touches the world: {name}"));
        }
    }

    fn check_use(&mut self, tree: &syn::UseTree, before: &mut Vec<String>, exported: bool) {
        match tree {
            syn::UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.check_use(&path.tree, before, exported);
                before.pop();
            }
            syn::UseTree::Name(name) if name.ident == "self" => self.check_path(&before.clone(), exported),
            syn::UseTree::Name(name) => self.check_path(&[&before[..], &[name.ident.to_string()]].concat(), exported),
            syn::UseTree::Rename(name) => self.check_path(&[&before[..], &[name.ident.to_string()]].concat(), exported),
            syn::UseTree::Glob(_) => self.check_path(&[&before[..], &["*".to_owned()]].concat(), exported),
            syn::UseTree::Group(group) => group.items.iter().for_each(|item| self.check_use(item, before, exported)),
        }
    }
}

impl Inspector<'_> {
    /// Checks that a public item has a docstring. Fields and variants need one only where their name does not say it.
    fn check_documented(&mut self, item: &syn::Item) {
        match item {
            syn::Item::Fn(item) => self.check_docs(&item.vis, &item.attrs, &item.sig.ident),
            syn::Item::Struct(item) => self.check_docs(&item.vis, &item.attrs, &item.ident),
            syn::Item::Enum(item) => self.check_docs(&item.vis, &item.attrs, &item.ident),
            syn::Item::Trait(item) => self.check_docs(&item.vis, &item.attrs, &item.ident),
            syn::Item::Type(item) => self.check_docs(&item.vis, &item.attrs, &item.ident),
            syn::Item::Const(item) => self.check_docs(&item.vis, &item.attrs, &item.ident),
            _ => {}
        }
    }

    fn check_docs(&mut self, seen: &syn::Visibility, attributes: &[syn::Attribute], name: &syn::Ident) {
        if matches!(seen, syn::Visibility::Public(_)) && !attributes.iter().any(|one| one.path().is_ident("doc")) {
            let rule = format!("{name} is public and has no docstring");
            self.report(&[name.to_string()], rule);
        }
    }
}

impl<'ast> Visit<'ast> for Inspector<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_test(attributes(item)) {
            self.check_documented(item);
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_test(&item.attrs) {
            self.check_docs(&item.vis, &item.attrs, &item.sig.ident);
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let exported = !matches!(item.vis, syn::Visibility::Inherited);
        self.check_use(&item.tree, &mut Vec::new(), exported);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if segments.len() > 1 {
            self.check_path(&segments, false);
        }
        visit::visit_path(self, path);
    }

    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if call.method == "elapsed" && call.args.is_empty() && without_world(&self.module) {
            let from = self.module.join("::");
            self.report(&["elapsed".to_owned()], format!("{from} reads the clock: elapsed()"));
        }
        visit::visit_expr_method_call(self, call);
    }

    /// Most of our macros take expressions. Other contents are skipped.
    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        visit::visit_macro(self, call);
        for expression in &macro_expressions(call) {
            self.visit_foreign(expression);
        }
    }
}

/// The expressions in a macro call: its arguments, or the `match` that `matches!` stands for. Empty for other contents.
fn macro_expressions(call: &syn::Macro) -> Vec<syn::Expr> {
    let parser = syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
    if let Ok(arguments) = call.parse_body_with(parser) {
        return arguments.into_iter().collect();
    }
    if !call.path.is_ident("matches") {
        return Vec::new();
    }
    let comma = call.tokens.clone().into_iter().position(|token| token.to_string() == ",").unwrap();
    let (mut value, mut pattern) = (call.tokens.clone(), call.tokens.clone());
    value = value.into_iter().take(comma).collect();
    pattern = pattern.into_iter().skip(comma + 1).collect();
    let (value, pattern) = (value.to_string(), pattern.to_string());
    let pattern = pattern.trim_end().trim_end_matches(',');
    vec![syn::parse_str(&format!("match ({value}) {{ {pattern} => (), _ => () }}")).unwrap()]
}

/// Collects the names that `use … as NAME` gives to items.
#[derive(Default)]
struct Aliases {
    found: BTreeMap<String, Vec<String>>,
}

impl Aliases {
    fn collect(&mut self, tree: &syn::UseTree, before: &[String]) {
        match tree {
            syn::UseTree::Path(path) => self.collect(&path.tree, &[before, &[path.ident.to_string()]].concat()),
            syn::UseTree::Rename(name) if name.ident == "self" => {
                self.found.insert(name.rename.to_string(), before.to_vec());
            }
            syn::UseTree::Rename(name) => {
                self.found.insert(name.rename.to_string(), [before, &[name.ident.to_string()]].concat());
            }
            syn::UseTree::Group(group) => group.items.iter().for_each(|item| self.collect(item, before)),
            syn::UseTree::Name(_) | syn::UseTree::Glob(_) => {}
        }
    }
}

impl<'ast> Visit<'ast> for Aliases {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.collect(&item.tree, &[]);
    }
}

impl Inspector<'_> {
    /// Visits syntax that does not live as long as the file.
    fn visit_foreign(&mut self, expression: &syn::Expr) {
        let mut inner = Inspector {
            file: self.file,
            text: self.text,
            module: self.module.clone(),
            aliases: self.aliases.clone(),
            found: std::mem::take(&mut self.found),
        };
        inner.visit_expr(expression);
        self.found = inner.found;
    }
}

fn contains_word(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        !line[..at].chars().next_back().is_some_and(part) && !line[at + word.len()..].chars().next().is_some_and(part)
    })
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Const(item) => &item.attrs,
        _ => &[],
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

/// The module of a file, from its path relative to `src`.
fn module_of(file: &str) -> Vec<String> {
    let parts: Vec<&str> = file.trim_end_matches(".rs").split('/').collect();
    match parts.as_slice() {
        ["lib" | "main"] => Vec::new(),
        [above @ .., "mod"] => above.iter().map(|part| (*part).to_owned()).collect(),
        all => all.iter().map(|part| (*part).to_owned()).collect(),
    }
}

/// Modules that a file declares only for tests, as paths relative to `src` without extension.
fn test_modules(file: &str, text: &str) -> Vec<String> {
    // Parsing is slow; few files declare such a module.
    let declares = |line: &str| line.contains("mod ") && line.trim_end().ends_with(';');
    if !text.contains("cfg(test)") || !text.lines().any(declares) {
        return Vec::new();
    }
    let Ok(parsed) = syn::parse_file(text) else { return Vec::new() };
    let module = module_of(file).join("/");
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let test_only = parsed.items.iter().filter_map(|item| match item {
        syn::Item::Mod(item) if item.content.is_none() && is_test(&item.attrs) => {
            Some(named_path(&item.attrs).map_or_else(|| (&*module, item.ident.to_string()), |path| (folder, path)))
        }
        _ => None,
    });
    test_only.map(|(place, name)| if place.is_empty() { name } else { format!("{place}/{name}") }).collect()
}

/// The value of `#[path = "…"]`, without the ending.
fn named_path(attributes: &[syn::Attribute]) -> Option<String> {
    attributes.iter().find(|attribute| attribute.path().is_ident("path")).and_then(|attribute| match &attribute.meta {
        syn::Meta::NameValue(syn::MetaNameValue {
            value: syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(path), .. }),
            ..
        }) => Some(path.value().trim_end_matches(".rs").to_owned()),
        _ => None,
    })
}

/// Lines outside inline test modules, which are recognized by rustfmt's brace style.
fn lines_without_tests(text: &str) -> usize {
    let (mut count, mut inside, mut marked) = (0, false, false);
    for line in text.lines() {
        if inside {
            inside = line != "}";
            continue;
        }
        if marked && line.starts_with("mod ") && line.ends_with('{') {
            (inside, marked) = (true, false);
            count -= 1;
            continue;
        }
        marked = line == "#[cfg(test)]";
        count += 1;
    }
    count
}

/// The violation in a file that decides about every variant of an enum, if it no longer refuses wildcard arms.
fn wildcard_arms(file: &str, text: &str) -> Option<String> {
    let expected = WITHOUT_WILDCARDS.iter().find(|(name, _)| *name == file).map_or(0, |(_, count)| *count);
    let attributes = text.lines().map(str::trim_start).filter(|line| {
        line.starts_with('#') && !line.contains("allow(") && line.contains("clippy::wildcard_enum_match_arm")
    });
    let count = attributes.count();
    (count < expected).then(|| format!("src/{file} refuses wildcard arms {count} times; {expected} are expected"))
}

/// All violations in one file, given its path relative to `src`.
fn inspect(file: &str, text: &str) -> Vec<Violation> {
    let violation = |line, rule: String| Violation { file: format!("src/{file}"), line, rule };
    let mut found = Vec::new();
    if !text.starts_with("//! ") {
        found.push(violation(1, "the file has no //! header saying what it is for".into()));
    }
    let header: Vec<&str> = text.lines().take_while(|line| line.starts_with("//!")).collect();
    if !file.ends_with("lib.rs") && !header.iter().any(|line| line.contains("Not for")) {
        found.push(violation(1, "the header does not say what the file is not for".into()));
    }
    let most = if file == "main.rs" { MOST_MAIN } else { MOST_LINES };
    let lines = lines_without_tests(text);
    if lines > most {
        found.push(violation(most + 1, format!("the file has {lines} lines; {most} are allowed")));
    }
    match syn::parse_file(text) {
        Ok(parsed) => {
            let name = format!("src/{file}");
            let module = module_of(file);
            let mut aliases = Aliases::default();
            aliases.visit_file(&parsed);
            let mut inspector = Inspector { file: &name, text, module, aliases: aliases.found, found: BTreeSet::new() };
            inspector.visit_file(&parsed);
            found.extend(inspector.found);
        }
        Err(error) => found.push(violation(1, format!("the file does not parse: {error}"))),
    }
    found
}

/// Folders with more files than the limit.
fn full_folders<'a>(files: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut counts = BTreeMap::<&str, usize>::new();
    for file in files {
        *counts.entry(file.rsplit_once('/').map_or("", |(folder, _)| folder)).or_default() += 1;
    }
    let full = counts.into_iter().filter(|(_, count)| *count > MOST_FILES);
    full.map(|(folder, count)| format!("{folder} has {count} files; {MOST_FILES} are allowed")).collect()
}

/// The Rust files beneath a folder of the package, by their paths relative to it, with their text.
fn sources(place: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(place);
    let (mut waiting, mut found): (Vec<PathBuf>, _) = (vec![root.clone()], Vec::new());
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
                found.push((name, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// All sources without those for tests.
fn product_sources() -> Vec<(String, String)> {
    let mut sources = sources("src");
    assert!(sources.len() > 20, "the sources were not found");
    let for_tests: Vec<String> = sources.iter().flat_map(|(file, text)| test_modules(file, text)).collect();
    let is_for_tests = |file: &str| {
        let name = file.trim_end_matches(".rs");
        for_tests
            .iter()
            .any(|test| name == test || name.strip_prefix(test.as_str()).is_some_and(|rest| rest.starts_with('/')))
    };
    sources.retain(|(file, _)| !is_for_tests(file));
    sources
}

fn imports(files: &[(String, String)]) -> Imports {
    Imports::read(files.iter().map(|(file, text)| (file.as_str(), text.as_str())))
}

/// Cycles of imports with more files than their room may have, each with the imports that make it.
fn large_cycles(imports: &Imports, larger: &[(&str, usize)]) -> Vec<String> {
    let most = |cycle: &[&str]| {
        let room = cycle[0].split('/').next();
        larger.iter().find(|(name, _)| Some(*name) == room).map_or(MOST_IN_CYCLE, |(_, most)| *most)
    };
    let large = imports.cycles().into_iter().filter(|cycle| cycle.len() > most(cycle));
    large
        .map(|cycle| {
            format!("a cycle of {} files; {} are allowed:\n{}", cycle.len(), most(&cycle), imports.among(&cycle))
        })
        .collect()
}

/// Imports of what is built on a folder by the folder itself.
fn upward_imports(imports: &Imports) -> Vec<String> {
    let places = LOWER_FOLDERS.iter().flat_map(|(folder, above)| above.iter().map(move |place| (folder, place)));
    let pairs = places.flat_map(|(folder, place)| imports.between(folder, place));
    pairs.map(|(from, to)| format!("{from} may not import {to}, which is built on it")).collect()
}

/// Imports of a file in an inner folder by another part of its room that is not listed with it.
fn inner_imports(imports: &Imports) -> Vec<String> {
    let mut found = Vec::new();
    for (folder, open) in INNER_FOLDERS {
        let whole: String = folder.split_inclusive('/').take(2).collect();
        for (from, to) in imports.into(folder).into_iter().filter(|(from, _)| !from.starts_with(&whole)) {
            let part = from.split('/').nth(1).unwrap_or_default();
            if !open.iter().any(|(file, parts)| to[folder.len()..] == **file && parts.contains(&part)) {
                found.push(format!("{from} may not import {to}, which is internal to {whole}"));
            }
        }
    }
    found
}

#[test]
fn inner_folders_are_closed_to_other_parts() {
    let sources = product_sources();
    for (folder, open) in INNER_FOLDERS {
        assert!(sources.iter().any(|(file, _)| file.starts_with(folder)), "no file is in {folder}");
        for (name, _) in *open {
            assert!(
                sources.iter().any(|(file, _)| *file == format!("{folder}{name}")),
                "{folder}{name} does not exist"
            );
        }
    }
    let list = inner_imports(&imports(&sources));
    assert!(list.is_empty(), "{}", list.join("\n"));

    let plant = |file: &str| {
        let code = "use crate::engine::plans::sources::cards::Cards as Internal;";
        let files = [(file, code), ("engine/plans/sources/cards.rs", ""), ("engine/plans/sources/mod.rs", "")];
        inner_imports(&imports(&files.map(|(file, code)| (file.to_owned(), code.to_owned())))).len()
    };
    assert_eq!((plant("engine/branches/fork.rs"), plant("engine/plans/collect.rs")), (1, 0));
}

#[test]
fn lower_folders_import_nothing_that_is_built_on_them() {
    let sources = product_sources();
    for place in LOWER_FOLDERS.iter().flat_map(|(folder, above)| above.iter().chain([folder])) {
        assert!(sources.iter().any(|(file, _)| file.starts_with(place)), "no file is in {place}");
    }
    let list = upward_imports(&imports(&sources));
    assert!(list.is_empty(), "{}", list.join("\n"));

    let plant = |file: &str, code: &str| {
        let files = [(file, code), ("engine/core.rs", ""), ("code/find/rank.rs", ""), ("code/index/graph.rs", "")];
        upward_imports(&imports(&files.map(|(file, code)| (file.to_owned(), code.to_owned()))))
    };
    assert_eq!(plant("engine/api/view.rs", "use crate::engine::core::Core;").len(), 1);
    assert_eq!(plant("engine/turns/state.rs", "fn f(core: &super::super::core::Core) {}").len(), 1);
    assert_eq!(plant("code/index/build.rs", "use crate::code::find::rank; fn f() { rank::best(); }").len(), 1);
    assert_eq!(plant("code/find/cards.rs", "use crate::code::index::graph::Graph; use super::rank::best;").len(), 0);
    assert_eq!(plant("engine/turns/live.rs", "use crate::engine::core::Core;").len(), 0);
}

/// Prints all cycles of more than three files: `cargo test --test architecture cycles -- --nocapture`.
#[test]
fn cycles_stay_small() {
    let imports = imports(&product_sources());
    for cycle in imports.cycles().into_iter().filter(|cycle| cycle.len() > 3) {
        println!("a cycle of {} files:\n{}", cycle.len(), imports.among(&cycle));
    }
    let list = large_cycles(&imports, LARGER_CYCLES);
    assert!(list.is_empty(), "{}", list.join("\n"));
}

#[test]
fn import_cycles_are_caught() {
    let plant = |files: &[(&str, &str)]| {
        let files: Vec<(String, String)> =
            files.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
        imports(&files).cycles().into_iter().map(|cycle| cycle.join(" ")).collect::<Vec<_>>()
    };
    let none: [&str; 0] = [];
    for (a, b) in [
        ("use super::b::B;", "use super::a::A;"),
        ("use crate::store::b;\nfn f() { b::g(); }", "fn g() -> crate::store::a::A { todo!() }"),
        ("fn f() { println!(\"{}\", super::b::g()); }", "use {std::fmt, super::a::{self, A as C}};"),
        ("use super::B;", "use super::super::store::a::A;"),
        ("impl From<super::b::B> for A { }", "mod inner { use super::super::a::A; }"),
    ] {
        let interface = "mod a;\nmod b;\npub use b::B;";
        let found = plant(&[("store/a.rs", a), ("store/b.rs", b), ("store/mod.rs", interface)]);
        assert_eq!(found, ["store/a.rs store/b.rs"], "{a} {b}");
        assert_eq!(
            plant(&[
                ("store/a.rs", a),
                ("store/b.rs", "use super::c::C;"),
                ("store/c.rs", ""),
                ("store/mod.rs", interface)
            ]),
            none
        );
    }
    let parent = "mod a;\nmod b;\nstruct Shared;\nfn f() { a::g(); }";
    let found = plant(&[("x/a.rs", "use super::Shared;"), ("x/b.rs", "use super::a;"), ("x/mod.rs", parent)]);
    assert_eq!(found, ["x/a.rs x/mod.rs"]);
    let for_tests = "#[cfg(test)]\nmod tests { use super::super::b::B; }";
    assert_eq!(plant(&[("x/a.rs", for_tests), ("x/b.rs", "use super::a::A;")]), none);

    let ring = |size: usize| {
        let file = |at: usize| (format!("x/f{at}.rs"), format!("use super::f{0}::X{0};", (at + 1) % size));
        (0..size).map(file).collect::<Vec<_>>()
    };
    assert_eq!(large_cycles(&imports(&ring(8)), &[]), none);
    assert_eq!(large_cycles(&imports(&ring(9)), &[]).len(), 1);
    assert_eq!(large_cycles(&imports(&ring(9)), &[("x", 9)]), none);
}

#[test]
fn architecture_rules_hold() {
    let sources = product_sources();
    let found: Vec<Violation> = sources.iter().flat_map(|(file, text)| inspect(file, text)).collect();
    let mut list: Vec<String> = found.iter().map(|violation| format!("{violation:?}")).collect();
    for (name, _) in WITHOUT_WILDCARDS {
        assert!(sources.iter().any(|(file, _)| file == name), "{name} does not exist");
    }
    list.extend(sources.iter().filter_map(|(file, text)| wildcard_arms(file, text)));
    let tests = self::sources("tests");
    assert!(tests.len() > 20, "the tests were not found");
    list.extend(full_folders(sources.iter().chain(&tests).map(|(file, _)| file.as_str())));
    assert!(list.is_empty(), "{} violations:\n{}", list.len(), list.join("\n"));
}

#[test]
fn sentences_take_keys_from_the_key_table() {
    let found: Vec<String> =
        product_sources().iter().flat_map(|(file, text)| key_names::fixed_keys(file, text)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
    let caught = |code: &str| key_names::fixed_keys("tui/a.rs", code).len();
    assert_eq!(caught("fn a() { say(\"Esc closes, Ctrl+P lists, F5 shows\"); }"), 3);
    assert_eq!(caught("// \"Esc\"\nfn a() { say(\"Escape\", Key::Esc, '\"', \"F13\"); }"), 0);
}

/// The violations in a sample file, as `line: rule`.
fn violations_in(file: &str, code: &str) -> Vec<String> {
    let text = format!("//! A planted file. Not for: anything.\n{code}\n");
    inspect(file, &text).into_iter().map(|violation| format!("{}: {}", violation.line, violation.rule)).collect()
}

#[test]
fn forbidden_imports_are_caught() {
    for (file, code) in [
        ("domain/plan.rs", "use crate::store::Store;"),
        ("context/mod.rs", "use crate::config::Settings;"),
        ("store/mod.rs", "fn f() { crate::llm::ask(); }"),
        ("llm/openai.rs", "use super::super::engine::api::Ticket;"),
        ("import/mod.rs", "use crate::{domain::record::Record, export};"),
        ("export/mod.rs", "fn f(x: &crate::import::ImportError) {}"),
        (
            "tools/mod.rs",
            "impl From<crate::store::StoreError> for X { fn from(_: crate::store::StoreError) -> X { X } }",
        ),
        ("engine/turn.rs", "use crate::tui::msg::Msg;"),
        ("engine/mod.rs", "use crate::cli;"),
        ("cli/mod.rs", "use crate::tui::run;"),
        ("cli/ask.rs", "use crate::engine::Engine;"),
        ("cli/ask.rs", "use crate::store::Store as S;"),
        ("tui/mod.rs", "use crate::engine::journal::Journal;"),
        ("tui/mod.rs", "use crate::cli::output;"),
        ("tui/model/mod.rs", "use crate::engine::api::Event;"),
        ("tui/model/tree.rs", "use crate::tui::msg::Msg;"),
        ("tui/view/mod.rs", "use crate::config::Keymap;"),
        ("tui/view/tree.rs", "use super::super::msg::Msg;"),
        ("tui/screens/tree/view.rs", "use super::update::press;"),
        ("tui/screens/tree/view_detail.rs", "use crate::tui::{screens, msg::Msg};"),
        ("tui/screens/tree/model.rs", "use super::view::draw;"),
        ("tui/screens/tree/model.rs", "fn f() { screens::calls::update::act(); }"),
        ("tui/screens/tree/update.rs", "use crate::config::Keymap;"),
        ("tui/chat/update/acts.rs", "use crate::tui::chat::view::meter;"),
        ("tui/view/tree.rs", "use crate::engine::api::Event;"),
        ("tui/update/mod.rs", "use crate::tui::view::draw;"),
        ("tui/update/mod.rs", "use crate::config::Keymap;"),
        ("store/mod.rs", "fn f() { println!(\"{}\", crate::llm::name()); }"),
        ("store/mod.rs", "mod inner { use super::super::llm::Openai; }"),
        ("store/mod.rs", "fn f(e: X) -> bool { matches!(e, Some(ref x) if crate::llm::knows(x)) }"),
        ("store/mod.rs", "fn f(e: X) -> bool { matches!(e, crate::llm::Core { .. } if e.is_open(),) }"),
        ("unknown/mod.rs", "use crate::store::Store;"),
    ] {
        let found = violations_in(file, code);
        assert!(
            found.len() == 1 && found[0].starts_with("2: ") && found[0].contains("may not know"),
            "{file} {code}: {found:?}"
        );
    }
}

#[test]
fn restricted_crates_and_impure_calls_are_caught() {
    for (file, code) in [
        ("engine/mod.rs", "use ratatui::buffer::Buffer;"),
        ("cli/mod.rs", "fn f() { crossterm::terminal::size(); }"),
        ("main.rs", "fn main() { ratatui::restore(); }"),
        ("engine/mod.rs", "use rusqlite::Connection;"),
        ("cli/models.rs", "use async_openai::types::Model;"),
        ("tui/mod.rs", "fn f() -> reqwest::Result<()> { Ok(()) }"),
        ("context/tokens.rs", "use fancy_regex::Regex;"),
        ("tools/search.rs", "use tree_sitter::Parser;"),
        ("context/mod.rs", "use rust_stemmers::Stemmer;"),
        ("domain/run.rs", "use tokio::sync::mpsc;"),
        ("context/mod.rs", "async fn f() { tokio::task::yield_now().await }"),
        ("tui/model/mod.rs", "use tokio::sync::watch;"),
        ("tui/view/mod.rs", "use {std::fmt, std::fs::File};"),
        ("domain/ids.rs", "fn f() -> uuid::Uuid { uuid::Uuid::now_v7() }"),
        ("context/mod.rs", "fn f() { let _ = std::time::Instant::now(); }"),
        ("context/mod.rs", "fn f() { let _ = jiff::Timestamp::now(); }"),
        ("context/mod.rs", "fn f(x: std::time::Instant) { let _ = x.elapsed(); }"),
        ("tui/update/mod.rs", "fn f() { let _ = std::env::var(\"HOME\"); }"),
        ("tui/chat/view/meter.rs", "fn f() { let _ = std::env::var(\"HOME\"); }"),
        ("tui/screens/tree/update.rs", "use tokio::sync::watch;"),
        ("domain/mod.rs", "use std::time::SystemTime;"),
        ("engine/turns/live.rs", "fn f() { std::thread::spawn(|| ()); }"),
        ("engine/mod.rs", "fn f() { std::thread::Builder::new(); }"),
        ("engine/mod.rs", "use std::thread::*;"),
        ("engine/mod.rs", "fn f() { strand::spawn(|| ()); } use std::thread as strand;"),
        ("engine/mod.rs", "fn f() { strand::spawn(|| ()); } use std::thread::{self as strand};"),
        ("engine/mod.rs", "use std as s; fn f() { s::thread::spawn(|| ()); }"),
        ("domain/ids.rs", "use std as s; fn f() { s::fs::read(X); }"),
    ] {
        let found = violations_in(file, code);
        assert!(found.len() == 1 && found[0].starts_with("2: "), "{file} {code}: {found:?}");
    }
}

#[test]
fn file_rules_are_caught() {
    let across = violations_in("engine/mod.rs", "pub use crate::store::Store;");
    assert_eq!(across, ["2: pub use across rooms: crate::store::Store"]);
    assert_eq!(violations_in("engine/mod.rs", "pub(crate) use crate::domain::ids::RunId;").len(), 1);
    assert_eq!(violations_in("engine/api/mod.rs", "pub use crate::store::Store;").len(), 1);
    assert_eq!(violations_in("engine/api/mod.rs", "pub use crate::domain::planning::draft::Draft;").len(), 0);
    assert_eq!(inspect("store/mod.rs", "use std::fmt;\n")[0].rule, "the file has no //! header saying what it is for");
    assert_eq!(inspect("store/mod.rs", "//! A store.\n").len(), 1);
    let many: Vec<String> = (0..23).map(|at| format!("store/{at}.rs")).collect();
    assert_eq!(full_folders(many.iter().map(String::as_str)).len(), 1);
    assert_eq!(full_folders(many.iter().skip(1).map(String::as_str)).len(), 0);
    let long = |lines: usize| format!("//! Long. Not for: reading.\n{}", "// x\n".repeat(lines - 1));
    assert_eq!(inspect("store/a.rs", &long(500)), []);
    assert_eq!(inspect("store/a.rs", &long(501)).len(), 1);
    let with_tests = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", long(500), "    // x\n".repeat(300));
    assert_eq!(inspect("store/a.rs", &with_tests), []);
    assert_eq!(inspect("store/a.rs", &format!("{with_tests}// x\n")).len(), 1);
    assert_eq!(inspect("main.rs", &long(MOST_MAIN)), []);
    assert_eq!(inspect("main.rs", &long(MOST_MAIN + 1)).len(), 1);
    assert_eq!(inspect("store/a.rs", "//! Broken. Not for: use.\nfn (").len(), 1);
    assert_eq!(violations_in("store/a.rs", "pub struct A { pub b: u8 }"), ["2: A is public and has no docstring"]);
    assert_eq!(violations_in("store/a.rs", "struct A; impl A { pub fn b() {} }").len(), 1);
    assert_eq!(violations_in("store/a.rs", "/// A.\npub struct A; pub(crate) enum B {}"), [""; 0]);
    let dispatch = "//! Requests.\n#![deny(clippy::wildcard_enum_match_arm)]\n";
    assert_eq!(wildcard_arms("engine/dispatch.rs", dispatch), None);
    for weaker in ["#![allow", "// #![deny"] {
        assert!(wildcard_arms("engine/dispatch.rs", &dispatch.replace("#![deny", weaker)).is_some(), "{weaker}");
    }
}

#[test]
fn allowed_code_passes() {
    for (file, code) in [
        ("lib.rs", "pub mod cli; pub mod domain;"),
        ("main.rs", "use pleach::{cli, tui}; fn main() { cli::run(); tui::run(); }"),
        ("domain/plan.rs", "use super::ids::NodeId; use crate::domain::hash::Hash; pub use super::mark::Mark;"),
        ("store/nodes.rs", "use crate::domain::ids::NodeId; use super::StoreError; use rusqlite::params; use std::fs;"),
        (
            "engine/turn.rs",
            "use crate::{config, context::plan, domain, export, import, llm, store, telemetry, tools}; use tokio::sync::mpsc;",
        ),
        ("cli/ask.rs", "use crate::engine::api::{self, Request}; use crate::config::Settings; use super::output;"),
        ("engine/jobs.rs", "fn f() { std::thread::spawn(|| ()); }"),
        ("engine/mod.rs", "use std::thread::JoinHandle; fn f() { std::thread::sleep(X); }"),
        ("tui/mod.rs", "use crate::engine::{api, api::Event}; use ratatui::Frame; use tokio::sync::mpsc;"),
        ("tui/model/mod.rs", "use crate::config::Keymap; use crate::domain::plan::Row; use std::time::Instant;"),
        ("tui/view/tree.rs", "use super::super::theme::Theme; use crate::tui::{model::Model, text}; use super::line;"),
        ("tui/update/mod.rs", "use crate::engine::api::Request; use crate::tui::{model, msg::Msg};"),
        (
            "tui/screens/tree/update.rs",
            "use crate::tui::screens; use super::model::TreeScreen; fn f() { screens::calls::model::new(); }",
        ),
        (
            "tui/screens/tree/view_detail.rs",
            "use super::view; use crate::tui::chat::model::Panel; use crate::tui::text;",
        ),
        (
            "context/mod.rs",
            "fn f() { let now = 5; g(now); } #[cfg(test)] mod tests { use std::fs; use crate::store::Store; }",
        ),
        (
            "store/mod.rs",
            "#[cfg(test)] use crate::llm::Offline; fn f() -> &'static str { \"use crate::llm\" } // crate::llm::X",
        ),
    ] {
        assert_eq!(violations_in(file, code), Vec::<String>::new(), "{file} {code}");
    }
    assert_eq!(test_modules("store/mod.rs", "#[cfg(test)] mod tests; mod real;"), ["store/tests"]);
    assert_eq!(test_modules("store/nodes.rs", "#[cfg(test)] mod tests;"), ["store/nodes/tests"]);
    assert_eq!(test_modules("store/nodes.rs", "#[cfg(test)]\n#[path = \"x_tests.rs\"]\nmod tests;"), ["store/x_tests"]);
    let product = "pub mod escape_tests;\n#[cfg(test)]\nmod tests;";
    assert_eq!(test_modules("domain/base/mod.rs", product), ["domain/base/tests"], "a name makes no file a test");
}
