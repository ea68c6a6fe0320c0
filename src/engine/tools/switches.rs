//! Switches tools on and off on a branch.
//! Not for: which tools are sent (`selection`), servers (`servers`), or cards (`cards`).

use super::selection::OWN;
use crate::domain::base::{BranchId, Failure};
use crate::domain::tool::mcp;
use crate::engine::api::Answer;
use crate::engine::core::Core;
use crate::engine::startup::learned::LearnedSettings;
use crate::engine::startup::setup::Setup;

/// The key that switches a whole group of tools off, and the keys of its tools.
type Family = (String, Vec<String>);

/// Returns the keys that are switched off after `key` was switched. Switching on one tool of a group that is entirely
/// off leaves the others off.
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

impl Core {
    /// Switches tools on or off on a branch. Tools are named by their keys or by the names that the model sees.
    pub(crate) fn switch_tools(
        &mut self,
        branch: Option<BranchId>,
        keys: &[String],
        on: bool,
    ) -> Result<Answer, Failure> {
        let id = branch.ok_or_else(|| {
            Failure::user("No branch is open.").todo("Open a session with `pleach session switch NAME`.")
        })?;
        let keys: Vec<String> = keys.iter().map(|key| self.learned.tool_key(key)).collect();
        let families = families(&self.learned, &self.setup);
        let mut overrides = self.sessions.branch(id)?.overrides;
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
        self.override_as(id, overrides, &format!("{} {what}", if on { "enabled" } else { "disabled" }))
    }
}

fn families(learned: &LearnedSettings, setup: &Setup) -> Vec<Family> {
    let own = setup.settings.tools.as_ref().map(|own| learned.own_specs(setup, &**own));
    let own = own.into_iter().flatten().map(|spec| spec.name).collect();
    let servers = setup.foreign.servers();
    let foreign = servers.iter().map(|server| {
        let name = &server.spec.name;
        let each = server.tools.iter().map(|tool| mcp::switch(name, Some(&tool.name))).collect();
        (mcp::switch(name, None), each)
    });
    std::iter::once((OWN.to_owned(), own)).chain(foreign).collect()
}

impl LearnedSettings {
    fn tool_key(&self, name: &str) -> String {
        let found = self.offered.iter().find(|tool| tool.spec.name == name);
        found.map_or_else(|| name.to_owned(), |tool| mcp::switch(&tool.server, Some(&tool.tool)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(all: &[&str]) -> Vec<String> {
        all.iter().map(|one| (*one).to_owned()).collect()
    }

    #[test]
    fn one_tool_of_a_group_is_switched_on_alone() {
        let families =
            [("*".to_owned(), strings(&["read_file", "run"])), ("a/*".to_owned(), strings(&["a/one", "a/two"]))];
        let off = after(strings(&["*", "a/*"]), "a/two", true, &families);
        assert_eq!(off, ["*", "a/one"]);
        assert_eq!(after(off.clone(), "run", true, &families), ["a/one", "read_file"]);
        assert_eq!(after(off.clone(), "*", true, &families), ["a/one"]);
        assert_eq!(after(off, "a/one", false, &families), ["*", "a/one"], "twice is once");
    }
}
