//! Which tools are switched off on a branch, and what each tool costs in a plan.
//! Not for: servers (`servers`), or showing any of it (`cards`).

use crate::context::render::{tools_json, tools_text};
use crate::domain::base::failure::Failure;
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::BranchId;
use crate::domain::call::tokens::{CountTokens, Encoding};
use crate::domain::planning::input::RequestShape;
use crate::domain::tool::cards::ToolCost;
use crate::domain::tool::mcp::{self, Offered};
use crate::domain::tool::trace::ToolSpec;
use crate::engine::api::Answer;
use crate::engine::core::Core;
use crate::engine::plans::input_builder::InputBuilder;
use crate::engine::startup::setup::Rules;

/// All of the program's own tools, where they are switched off.
pub(crate) const OWN: &str = "*";

/// The program's own tools and then the servers': those that go with a branch's calls, and those that are switched off, each
/// with its place among all.
pub(crate) fn switched(
    own: Vec<ToolSpec>,
    offered: &[Offered],
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

/// The tools that go with a branch's calls.
pub(crate) fn specs(own: Vec<ToolSpec>, offered: &[Offered], off: &[String]) -> Vec<ToolSpec> {
    switched(own, offered, off).0
}

/// Tokens of a tool alone.
pub(crate) fn alone(spec: &ToolSpec, counter: &dyn CountTokens, encoding: Encoding) -> u32 {
    let text = tools_text(std::slice::from_ref(spec));
    counter.count(encoding, text.trim_start_matches('[').trim_end_matches(']'))
}

/// The names under which all of somebody's tools are switched off at once, and each of them.
type Family = (String, Vec<String>);

/// What is switched off once `key` was switched. One tool of many that are off together comes back alone.
fn after(mut off: Vec<String>, key: &str, on: bool, families: &[Family]) -> Vec<String> {
    if on {
        let of = families.iter().find(|(all, each)| off.contains(all) && each.iter().any(|one| one == key));
        if let Some((all, each)) = of {
            off.retain(|known| known != all);
            off.extend(each.iter().cloned());
        }
        off.retain(|known| known != key);
    } else {
        off.push(key.to_owned());
    }
    off.sort();
    off.dedup();
    off
}

/// What the tools of plans cost, as it was counted last.
#[derive(Default)]
pub(crate) struct ToolCostCache(Option<(Hash, Encoding, u32, Vec<ToolCost>)>);

impl InputBuilder {
    /// Tokens of all tools that go, as sent, and of each that there is.
    pub(crate) fn weigh_tools(&mut self, rules: &Rules, shape: &RequestShape) -> (u32, Vec<ToolCost>) {
        let sent = tools_json(shape).map_or_else(String::new, |tools| tools.to_string());
        if sent.is_empty() && rules.tools_off.is_empty() {
            return (0, Vec::new());
        }
        let encoding = rules.model.encoding;
        let off = serde_json::to_string(&rules.tools_off).unwrap_or_default();
        let of = Hash::of(format!("{sent}\n{off}").as_bytes());
        if let Some((known, counted, tokens, costs)) = &self.weighed.0
            && (*known, *counted) == (of, encoding)
        {
            return (*tokens, costs.clone());
        }
        let counter = self.counter();
        let cost =
            |spec: &ToolSpec, on| ToolCost { name: spec.name.clone(), tokens: alone(spec, &*counter, encoding), on };
        let mut costs: Vec<ToolCost> = rules.tools.iter().map(|spec| cost(spec, true)).collect();
        for (at, spec) in &rules.tools_off {
            costs.insert((*at).min(costs.len()), cost(spec, false));
        }
        let tokens = counter.count(encoding, &sent);
        self.weighed.0 = Some((of, encoding, tokens, costs.clone()));
        (tokens, costs)
    }
}

impl Core {
    /// Switches tools on or off on a branch: by their keys, or as the model sees them.
    pub(crate) fn switch_tools(
        &mut self,
        branch: Option<BranchId>,
        keys: &[String],
        on: bool,
    ) -> Result<Answer, Failure> {
        let id = branch.ok_or_else(|| Failure::user("No branch is open."))?;
        let keys: Vec<String> = keys.iter().map(|key| self.tool_key(key)).collect();
        let families = self.families();
        let mut overrides = self.branch(id)?.overrides;
        let before = overrides.tools_off.clone();
        overrides.tools_off = keys.iter().fold(before.clone(), |off, key| after(off, key, on, &families));
        if overrides.tools_off == before {
            return Ok(Answer::Done(String::new()));
        }
        let what = match keys.as_slice() {
            [key] if key == OWN => "all built-in tools".to_owned(),
            [key] => key.strip_suffix("/*").map_or_else(|| key.clone(), |server| format!("all tools of {server}")),
            _ => format!("{} tools", keys.len()),
        };
        self.override_as(id, overrides, &format!("switched {what} {}", if on { "on" } else { "off" }))
    }

    fn tool_key(&self, name: &str) -> String {
        let found = self.learned.offered.iter().find(|tool| tool.spec.name == name);
        found.map_or_else(|| name.to_owned(), |tool| mcp::switch(&tool.server, Some(&tool.tool)))
    }

    fn families(&self) -> Vec<Family> {
        let own = self.setup.tools.as_ref().map(|own| self.learned.own_specs(&self.setup, &**own));
        let own = own.into_iter().flatten().map(|spec| spec.name).collect();
        let servers = self.setup.foreign.servers();
        let foreign = servers.iter().map(|server| {
            let name = &server.spec.name;
            let each = server.tools.iter().map(|tool| mcp::switch(name, Some(&tool.name))).collect();
            (mcp::switch(name, None), each)
        });
        std::iter::once((OWN.to_owned(), own)).chain(foreign).collect()
    }
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
    fn what_is_off_keeps_its_place() {
        let offered = [("a", "one"), ("a", "two"), ("b", "one")].map(|(server, tool)| Offered {
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

    #[test]
    fn one_of_many_comes_back_alone() {
        let families =
            [("*".to_owned(), strings(&["read_file", "run"])), ("a/*".to_owned(), strings(&["a/one", "a/two"]))];
        let off = after(strings(&["*", "a/*"]), "a/two", true, &families);
        assert_eq!(off, ["*", "a/one"]);
        assert_eq!(after(off.clone(), "run", true, &families), ["a/one", "read_file"]);
        assert_eq!(after(off.clone(), "*", true, &families), ["a/one"]);
        assert_eq!(after(off, "a/one", false, &families), ["*", "a/one"], "twice is once");
    }
}
