//! The rules of a branch at one time: profile, model, policy, mode, layout, budget, texts, and tools.
//! Not for: computing them (`learned`).

use super::setup::Prompts;
use crate::domain::base::{Fields, Hash};
use crate::domain::call::{ModelInfo, Profile};
use crate::domain::code::CodeSettings;
use crate::domain::planning::{Budget, Layout, Mode, PolicySpec, RequestShape, StateBlock};
use crate::domain::summary::AutoSummarySettings;
use crate::domain::tool::{FileVisibility, ToolSpec};
use std::sync::Arc;

/// The rules that apply to a branch at one time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rules {
    pub(crate) profile: Profile,
    pub(crate) model: ModelInfo,
    pub(crate) policy: PolicySpec,
    pub(crate) window_turns: u32,
    pub(crate) mode: Mode,
    pub(crate) layout: Layout,
    pub(crate) budget: Budget,
    /// Whether the budget's cap is the policy's, so that answers and tool results of the turn are added to it.
    pub(crate) cap_by_policy: bool,
    /// Whether the policy, not the settings, decides if the model keeps a state block.
    pub(crate) state_by_policy: bool,
    pub(crate) personality: String,
    /// Texts that are part of every call; not part of the wire digest.
    pub(crate) prompts: Arc<Prompts>,
    pub(crate) tools: Vec<ToolSpec>,
    /// Tools that are switched off, each with its index among all.
    pub(crate) tools_off: Vec<(usize, ToolSpec)>,
    /// How plans use the workspace's code; `None` if the folder is not trusted or code is switched off.
    pub(crate) code: Option<CodeRules>,
    /// Automatic summaries; not part of the request.
    pub(crate) auto_summaries: AutoSummarySettings,
}

impl Rules {
    /// Returns the requested maximum of the answer in tokens; `None` if there is none.
    pub(crate) fn max_output(&self) -> Option<u32> {
        Some(self.profile.max_output).filter(|limit| *limit > 0)
    }

    /// Returns the fields of a request except its messages, with the given tools.
    pub(crate) fn shape(&self, tools: Vec<ToolSpec>) -> RequestShape {
        RequestShape {
            model: self.model.name.clone(),
            dialect: self.profile.dialect.clone(),
            max_output: self.max_output(),
            temperature: self.profile.temperature,
            tools,
        }
    }
}

/// Returns the digest of everything that shapes the request except its texts.
pub(crate) fn wire_digest(rules: &Rules, state_block: StateBlock) -> Hash {
    Fields::new("wire")
        .text(&rules.profile.name)
        .text(&rules.model.name)
        .json(&rules.profile.dialect)
        .json(&rules.profile.temperature)
        .json(&rules.tools)
        .json(&rules.policy)
        .json(&state_block)
        .json(&rules.layout)
        .json(&rules.mode)
        .json(&rules.budget)
        .number(u64::from(rules.window_turns))
        .finish()
}

/// How plans use the code under the rules of a branch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CodeRules {
    pub(crate) settings: CodeSettings,
    /// The files, folders, and symbols that the search is limited to.
    pub(crate) focus: Vec<String>,
    /// The person's rules about files that may be read.
    pub(crate) visibility: FileVisibility,
}
