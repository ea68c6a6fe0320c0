//! The model's tools for code: the symbols for a question, the source of a symbol, its callers, and its callees. They
//! only read the index that plans use, and every piece of an answer names its file and lines.
//! Not for: other tools (the module `tools`), consent (`turns::consent`), or code that plans include
//! (`plans::sources::code`).

use super::added::LookupTools;
use crate::code::find::cards::{Limits, Sources, fill};
use crate::code::find::{choose, names, query, rank};
use crate::code::index::records::SymbolId;
use crate::code::parse::words::Analyzer;
use crate::code::tuning::Tuning;
use crate::domain::base::secrets;
use crate::domain::call::{CountTokens, Encoding};
use crate::domain::code::symbols::own_name;
use crate::domain::code::{Kind, NamedSymbol};
use crate::domain::conversation::attachment;
use crate::domain::tool::visibility::READS;
use crate::domain::tool::{ToolOutput, ToolSpec, ToolStatus};
use crate::engine::indexing::code_indexer::source;
use crate::engine::indexing::code_workspace::{CodeWorkspace, LoadedWorkspace, WorkspaceFiles};
use crate::engine::startup::rules::CodeRules;
use crate::retrieval::gate;
use serde::Deserialize;
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The names of the tools.
const FIND: &str = "request_code_context";
const EXPAND: &str = "expand";
/// How long a call waits for the code to be read.
const PATIENCE: Duration = Duration::from_secs(30);
/// The default and the maximum number of tokens of an answer.
const USUAL: u32 = 2_000;
const MOST: u32 = 8_000;
/// The maximum number of pieces of an answer.
const PIECES: usize = 12;
/// The maximum number of symbols that are ranked.
const RANKED: usize = 120;
/// The maximum number of callers or callees that are listed.
const LISTED: usize = 40;
/// The maximum number of lines of a symbol in one answer.
const LINES: u32 = 400;

/// Returns the definitions of the two tools for the model.
pub(crate) fn specs() -> Vec<ToolSpec> {
    let spec = |name: &str, description: &str, properties: serde_json::Value, required: &[&str]| ToolSpec {
        name: name.into(),
        description: description.into(),
        parameters: json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false
        }),
    };
    vec![
        spec(
            FIND,
            "Finds the functions and types of the workspace that a question is about, with their first lines.",
            json!({
                "query": {"type": "string", "description": "What to find, in words and names"},
                "path": {"type": "string", "description": "Prefer this file or folder"},
                "budget": {"type": "integer", "description": "Tokens for the answer, 2000 by default, at most 8000"},
            }),
            &["query"],
        ),
        spec(
            EXPAND,
            "Returns the whole source of a symbol, or lists what uses it or what it uses.",
            json!({
                "symbol": {"type": "string", "description": "Its name, with its type or module before it where needed"},
                "path": {"type": "string", "description": "Its file, where several have the name"},
                "what": {"enum": ["source", "callers", "callees"], "description": "source by default"},
            }),
            &["symbol"],
        ),
    ]
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Find {
    query: String,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    budget: Option<u32>,
}

#[derive(Clone, Copy, Deserialize, Default, PartialEq)]
#[serde(rename_all = "lowercase")]
enum ExpandPart {
    #[default]
    Source,
    Callers,
    Callees,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expand {
    symbol: String,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    what: ExpandPart,
}

/// The tools for code.
pub(crate) struct CodeTools {
    pub(crate) workspace: CodeWorkspace,
    pub(crate) rules: CodeRules,
    pub(crate) counter: Arc<dyn CountTokens>,
    pub(crate) encoding: Encoding,
}

impl LookupTools for CodeTools {
    fn specs(&self) -> Vec<ToolSpec> {
        specs()
    }

    fn target(&self, name: &str, args: &str) -> Option<String> {
        match name {
            FIND => Some(String::new()),
            EXPAND => {
                let path = serde_json::from_str::<Expand>(args).ok().and_then(|expand| expand.path);
                Some(path.unwrap_or_default())
            }
            _ => None,
        }
    }

    fn look(&self, name: &str, args: &str, cancelled: &dyn Fn() -> bool) -> ToolOutput {
        let answer = if name == FIND {
            self.answer(args, cancelled, |args: &Find, loaded| Ok(self.find(args, loaded)))
        } else {
            self.answer(args, cancelled, |args: &Expand, loaded| self.expand(args, loaded))
        };
        let (status, body) = match answer {
            _ if cancelled() => (ToolStatus::Cancelled, "Canceled before it finished.".to_owned()),
            Ok(body) => (ToolStatus::Ok, body),
            Err(why) => (ToolStatus::Failed, format!("Failed: {why}")),
        };
        ToolOutput::whole(status, body)
    }
}

impl CodeTools {
    fn answer<A: for<'a> Deserialize<'a>>(
        &self,
        args: &str,
        cancelled: &dyn Fn() -> bool,
        with: impl Fn(&A, &LoadedWorkspace) -> Result<String, String>,
    ) -> Result<String, String> {
        let args: A = serde_json::from_str(args).map_err(|error| format!("the arguments are not valid: {error}."))?;
        self.workspace.settle(PATIENCE, cancelled);
        let answer = self.workspace.wait_with_loaded(PATIENCE, cancelled, |loaded| with(&args, loaded));
        answer.unwrap_or_else(|| Err("the code is still being indexed; ask again, or use search.".into()))
    }

    /// Whether a person's rule denies reading a file.
    fn withheld(&self, path: &str) -> bool {
        !self.rules.visibility.shows(READS, path)
    }

    fn find(&self, args: &Find, loaded: &LoadedWorkspace) -> String {
        let budget = args.budget.unwrap_or(USUAL).clamp(100, MOST);
        let tuning = Tuning::default();
        let asks = gate::asks_something(&args.query);
        let asked = query::Query { asks, ..query::read(&mut Analyzer::default(), &args.query, &tuning) };
        let scope = choose::scope(&loaded.index, &args.path.iter().cloned().collect::<Vec<_>>());
        let mut hits = choose::focused(&loaded.index, rank::rank(&loaded.index, &asked, &tuning, RANKED), &scope, &[]);
        hits.retain(|hit| loaded.index.symbol(hit.id).is_some_and(|(_, file)| !self.withheld(&file.shown)));
        let count = |text: &str| self.counter.count(self.encoding, text);
        let limits = Limits { budget, items: PIECES, sure: PIECES, lines: 30, tokens: 600, excerpts: 60 };
        let mut items = fill(&loaded.index, &hits, &WorkspaceFiles(&loaded.root), &count, limits).items;
        items.sort_by_key(|item| item.rank);
        let (mut out, mut left) = (unknown(&scope), 0);
        let begun = out.len();
        for item in &items {
            let named = NamedSymbol {
                path: item.path.clone(),
                short: item.symbol.clone(),
                qualified: item.qualified.clone(),
                kind: item.kind,
                lines: (item.span.0.max(1), item.span.1.max(1)),
            };
            let text = WorkspaceFiles(&loaded.root).text(Path::new(&item.path)).unwrap_or_default();
            let more = if item.span.1 < item.whole.1 {
                format!("[{} continues to line {}; expand returns all of it]\n", item.symbol, item.whole.1)
            } else {
                String::new()
            };
            let piece = format!("{}{more}\n", piece(&named, &names::lines(&text, named.lines)));
            if count(&out) + count(&piece) > budget {
                left += 1;
            } else {
                out.push_str(&piece);
            }
        }
        if out.len() == begun {
            return format!("{out}[no symbol matches; use search to find words in files]");
        }
        if left > 0 {
            let _ = writeln!(out, "[{left} more matches do not fit in {budget} tokens]");
        }
        out
    }

    fn expand(&self, args: &Expand, loaded: &LoadedWorkspace) -> Result<String, String> {
        let ids = self.meant(args, loaded);
        let [id] = ids.as_slice() else {
            return if ids.is_empty() {
                Err(self.nowhere(args, loaded))
            } else {
                let list = self.list(loaded, ids.iter().map(|id| (*id, false)));
                Ok(format!("Several symbols have this name; add a path:\n{list}"))
            };
        };
        let graph = loaded.index.graph();
        match args.what {
            ExpandPart::Source => whole(loaded, *id),
            ExpandPart::Callers => {
                let users = graph.users(*id).iter().map(|user| (*user, graph.is_guess(*user, *id)));
                Ok(self.listed(loaded, users, "No known symbol uses it."))
            }
            ExpandPart::Callees => {
                let used = graph.uses(*id).iter().map(|used| (*used, graph.is_guess(*id, *used)));
                Ok(self.listed(loaded, used, "It uses no symbol of the workspace."))
            }
        }
    }

    /// Returns why no symbol matches a name: the path does not exist, or the symbol is in another file.
    fn nowhere(&self, args: &Expand, loaded: &LoadedWorkspace) -> String {
        let name = short(&args.symbol);
        let Some(path) = &args.path else {
            return format!("no symbol of the workspace is named {name:?}; {FIND} finds symbols.");
        };
        let elsewhere = self.meant(&Expand { symbol: args.symbol.clone(), path: None, what: args.what }, loaded);
        let list = self.list(loaded, elsewhere.into_iter().map(|id| (id, false)));
        let scope = choose::scope(&loaded.index, std::slice::from_ref(path));
        let path = short(path);
        match (scope.unknown.is_empty(), list.is_empty()) {
            (true, true) => format!("no symbol in {path:?} is named {name:?}; {FIND} finds symbols."),
            (true, false) => format!("no symbol in {path:?} is named {name:?}; elsewhere:\n{list}"),
            (false, true) => format!("no file is named {path:?}, and no symbol {name:?}; {FIND} finds symbols."),
            (false, false) => format!("no file or folder is named {path:?}; elsewhere:\n{list}"),
        }
    }

    /// Returns the symbols that a name refers to, only in the given file if there is one.
    fn meant(&self, args: &Expand, loaded: &LoadedWorkspace) -> Vec<SymbolId> {
        let index = &loaded.index;
        let wanted = args.symbol.trim();
        let own = wanted.rsplit(['#', ':', '.']).next().unwrap_or_default();
        let path = args.path.as_deref().or_else(|| wanted.split_once('#').map(|(path, _)| path));
        let scope = path.map(|path| choose::scope(index, &[path.to_owned()]));
        let here = |path: &str| scope.as_ref().is_none_or(|scope| scope.holds(path)) && !self.withheld(path);
        let found = names::find(index, wanted, 200).into_iter().filter(|named| here(&named.path));
        let named = found.filter(|named| own_name(&named.qualified) == own);
        let at = |named: NamedSymbol| names::at(index, &named.path, &named.qualified, named.lines.0);
        let ids: Vec<SymbolId> = named.filter_map(at).collect();
        // An exact match takes precedence over a match in another letter case, and symbols of the program over symbols
        // of tests and text.
        let exact: Vec<SymbolId> = ids
            .iter()
            .copied()
            .filter(|id| {
                index
                    .symbol(*id)
                    .is_some_and(|(symbol, file)| *symbol.name == *own && !(symbol.test || file.test || file.is_text()))
            })
            .collect();
        if exact.is_empty() { ids } else { exact }
    }

    fn listed(&self, loaded: &LoadedWorkspace, ids: impl Iterator<Item = (SymbolId, bool)>, none: &str) -> String {
        let list = self.list(loaded, ids);
        if list.is_empty() { none.to_owned() } else { list }
    }

    /// Lists symbols with one line each, by file, tests last. The line of a use that is a guess says so.
    fn list(&self, loaded: &LoadedWorkspace, ids: impl Iterator<Item = (SymbolId, bool)>) -> String {
        let mut lines: Vec<(bool, String, u32, String)> = Vec::new();
        for (id, is_guess) in ids {
            let Some((symbol, file)) = loaded.index.symbol(id) else { continue };
            if symbol.kind == Kind::File && symbol.name.is_empty() || self.withheld(&file.shown) {
                continue;
            }
            let by_name = if is_guess { "  (by name)" } else { "" };
            let label = format!("{} {}{by_name}", symbol.kind.name(), loaded.index.qualified(id));
            lines.push((symbol.test || file.test, file.shown.to_string(), symbol.lines.0, label));
        }
        lines.sort();
        lines.dedup();
        let left = lines.len().saturating_sub(LISTED);
        let mut out = String::new();
        for (_, path, line, label) in lines.into_iter().take(LISTED) {
            let _ = writeln!(out, "{path}:{line}  {label}");
        }
        if left > 0 {
            let _ = writeln!(out, "[{left} more]");
        }
        out
    }
}

/// Returns a line about a path that does not exist, so that the whole workspace was searched; empty otherwise.
fn unknown(scope: &choose::Scope) -> String {
    let names: Vec<String> = scope.unknown.iter().map(|name| short(name)).collect();
    if names.is_empty() {
        return String::new();
    }
    format!("[no file or folder is named {}; the whole workspace was searched]\n", names.join(", "))
}

/// Returns the source of a symbol, up to the maximum number of lines.
fn whole(loaded: &LoadedWorkspace, id: SymbolId) -> Result<String, String> {
    let named = names::named(&loaded.index, id).ok_or("the symbol no longer exists.")?;
    let last = named.lines.1.min(named.lines.0.saturating_add(LINES - 1));
    let found = source(loaded, &named).map_err(|failure| failure.what)?;
    let text: String = found.text.split_inclusive('\n').take(LINES as usize).collect();
    let shown = NamedSymbol { lines: (named.lines.0, last), ..found.named.clone() };
    let more = if last < named.lines.1 {
        format!("[it continues to line {}; read_file from line {}]\n", named.lines.1, last + 1)
    } else {
        String::new()
    };
    Ok(format!("{}{more}", piece(&shown, &text)))
}

/// Formats lines of a file with their place as a heading, in a code fence that nothing in them closes.
fn piece(named: &NamedSymbol, text: &str) -> String {
    let (text, _) = secrets::mask(text);
    let fence = attachment::fence(&text);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{}\n{fence}\n{text}{end}{fence}\n", attachment::heading(&named.place()))
}

fn short(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_added_tool_is_known_to_rules() {
        use crate::domain::tool::consent::PROGRAM_TOOLS;
        let added = [FIND, EXPAND, crate::engine::tools::skills::TOOL];
        assert!(added.iter().all(|name| PROGRAM_TOOLS.contains(name)));
    }

    #[test]
    fn nothing_in_a_piece_closes_its_fence() {
        let (path, lines, kind) = ("src/a.rs".to_owned(), (3, 9), Kind::Function);
        let named = NamedSymbol { path, short: "a".into(), qualified: "a".into(), kind, lines };
        for (text, fence) in [("fn a() {}", "```"), ("`a`\n", "```"), ("/// ```\n", "````"), ("````` a", "``````")] {
            let piece = piece(&named, text);
            let lines: Vec<&str> = piece.lines().collect();
            assert_eq!((lines[1], lines[lines.len() - 1]), (fence, fence), "{piece}");
            assert_eq!(lines[2..lines.len() - 1].join("\n"), text.trim_end());
        }
    }
}
