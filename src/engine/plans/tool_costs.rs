//! Counts the tokens of each tool in a plan.
//! Not for: which tools are sent (`tools::selection`).

use super::input_builder::InputBuilder;
use crate::context::render::tools_json;
use crate::domain::base::Hash;
use crate::domain::planning::RequestShape;
use crate::domain::tool::{ToolCost, ToolSpec};
use crate::engine::startup::rules::Rules;
use crate::engine::tools::selection::alone;

impl InputBuilder {
    /// Returns the tokens of all tools that are sent, and the cost of each known tool.
    pub(crate) fn count_tools(&mut self, rules: &Rules, shape: &RequestShape) -> (u32, Vec<ToolCost>) {
        let sent = tools_json(shape).map_or_else(String::new, |tools| tools.to_string());
        if sent.is_empty() && rules.tools_off.is_empty() {
            return (0, Vec::new());
        }
        let encoding = rules.model.encoding;
        let off = serde_json::to_string(&rules.tools_off).unwrap_or_default();
        let of = Hash::of(format!("{sent}\n{off}").as_bytes());
        if let Some((known, counted, tokens, costs)) = &self.tool_costs
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
        self.tool_costs = Some((of, encoding, tokens, costs.clone()));
        (tokens, costs)
    }
}
