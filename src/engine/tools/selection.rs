//! The tools that are sent with a branch's calls, without switched-off tools, and the tokens of a single tool.
//! Not for: switching tools (`switches`).

use crate::context::render::tools_text;
use crate::domain::call::{CountTokens, Encoding};
use crate::domain::tool::{OfferedTool, ToolSpec, mcp};

/// The key that switches off all of the program's own tools.
pub(crate) const OWN: &str = "*";

/// Returns the program's own tools followed by the servers' tools: the tools that are sent with a branch's calls, and
/// the switched-off tools, each with its index among all.
pub(crate) fn switched(
    own: Vec<ToolSpec>,
    offered: &[OfferedTool],
    off: &[String],
) -> (Vec<ToolSpec>, Vec<(usize, ToolSpec)>) {
    let none = off.iter().any(|key| key == OWN);
    let own = own.into_iter().map(|spec| (!none && !off.contains(&spec.name), spec));
    let foreign = offered.iter().map(|tool| (!mcp::is_off(off, &tool.server, &tool.tool), tool.spec.clone()));
    let (mut goes, mut stays) = (Vec::new(), Vec::new());
    for (at, (on, spec)) in own.chain(foreign).enumerate() {
        if on {
            goes.push(spec);
        } else {
            stays.push((at, spec));
        }
    }
    (goes, stays)
}

/// Returns the tokens of a single tool.
pub(crate) fn alone(spec: &ToolSpec, counter: &dyn CountTokens, encoding: Encoding) -> u32 {
    let text = tools_text(std::slice::from_ref(spec));
    counter.count(encoding, text.trim_start_matches('[').trim_end_matches(']'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &str) -> ToolSpec {
        ToolSpec { name: name.into(), description: String::new(), parameters: serde_json::json!({}) }
    }

    fn strings(all: &[&str]) -> Vec<String> {
        all.iter().map(|one| (*one).to_owned()).collect()
    }

    #[test]
    fn a_tool_that_is_off_keeps_its_index() {
        let offered = [("a", "one"), ("a", "two"), ("b", "one")].map(|(server, tool)| OfferedTool {
            spec: spec(&format!("mcp__{server}__{tool}")),
            server: server.into(),
            tool: tool.into(),
            hints: mcp::ToolHints::default(),
        });
        let own = || vec![spec("read_file"), spec("run")];
        let (goes, stays) = switched(own(), &offered, &strings(&["run", "a/two", "b/*"]));
        let names: Vec<&str> = goes.iter().map(|spec| spec.name.as_str()).collect();
        assert_eq!(names, ["read_file", "mcp__a__one"]);
        let off: Vec<(usize, &str)> = stays.iter().map(|(at, spec)| (*at, spec.name.as_str())).collect();
        assert_eq!(off, [(1, "run"), (3, "mcp__a__two"), (4, "mcp__b__one")]);
        assert_eq!(switched(own(), &offered, &strings(&["*"])).0.len(), 3, "the servers' tools go on");
    }
}
