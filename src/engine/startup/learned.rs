//! Facts that the program learned while running (quirks of servers, models that servers reported, tools, code), and the
//! rules of a branch that follow from these facts and the settings.
//! Not for: the settings themselves (`setup`), or reading quirks from the store (`calls::quirks`).

use super::rules::{CodeRules, Rules};
use super::setup::{ReloadableSettings, Setup};
use crate::domain::base::{Failure, FailureKind};
use crate::domain::call::{Backend, Encoding, ModelInfo, Profile, Quirk};
use crate::domain::conversation::{Branch, Overrides};
use crate::domain::planning::{Budget, Layout};
use crate::domain::tool::{FileVisibility, OfferedTool, RunTools, ToolSpec};
use crate::engine::calls::meters::Meters;
use crate::engine::indexing::code_workspace::CodeWorkspace;
use crate::engine::tools::code;
use crate::engine::tools::selection::switched;
use crate::llm::offline::OFFLINE_MODELS;
use std::collections::HashMap;
use std::sync::Arc;

/// Facts that the program learned while running.
#[derive(Default)]
pub(crate) struct LearnedSettings {
    /// Quirks of servers, by profile and model.
    pub(crate) quirks: HashMap<(String, String), Vec<Quirk>>,
    /// Models as their servers describe them, by profile and model.
    pub(crate) models: HashMap<(String, String), ModelInfo>,
    /// Names of the models that servers listed since the start, by profile, in the order of the list.
    pub(crate) listed: HashMap<String, Vec<String>>,
    /// Tools of servers that are available and approved.
    pub(crate) offered: Arc<Vec<OfferedTool>>,
    /// The workspace's code.
    pub(crate) code: Option<CodeWorkspace>,
    /// How models count tokens, compared with the program's counter.
    pub(crate) meters: Meters,
}

impl LearnedSettings {
    /// Whether the tools for code are offered to the model.
    pub(crate) fn offers_code(&self, setup: &Setup) -> bool {
        let wanted = setup.settings.code.enabled && setup.settings.code.tools;
        wanted && self.code.as_ref().is_some_and(CodeWorkspace::holds_code)
    }

    /// Returns the program's own tools, including the tools for code if they are offered.
    pub(crate) fn own_specs(&self, setup: &Setup, own: &dyn RunTools) -> Vec<ToolSpec> {
        let mut all = own.specs();
        if self.offers_code(setup) {
            all.extend(code::specs());
        }
        all
    }
}

/// Computes the rules of a branch. The command line takes precedence over the branch, except for what was chosen on the
/// branch since the program started (`before_choices` holds the overrides before that), the branch over the
/// configuration, and the configuration over the policy.
pub(crate) fn rules(
    setup: &Setup,
    learned: &LearnedSettings,
    (branch, before_choices): (&Branch, &Overrides),
    trusted: bool,
) -> Result<Rules, Failure> {
    let settings = &setup.settings;
    let call = &setup.call.updated(before_choices, &branch.overrides);
    let pick = |get: &dyn Fn(&Overrides) -> Option<String>| {
        get(call).or_else(|| get(&branch.overrides)).or_else(|| get(&settings.defaults))
    };
    let name = pick(&|o| o.profile.clone()).unwrap_or_else(|| settings.profile.clone());
    let mut profile = settings.profiles.get(&name).cloned().ok_or_else(|| unknown("profile", &name, setup))?;
    let model = model_of(setup, [call, &branch.overrides], &profile);
    if !may_have(&profile, &model) {
        return Err(unknown_model(&profile, &model));
    }
    for quirk in learned.quirks.get(&(name, model.clone())).into_iter().flatten() {
        quirk.apply(&mut profile.dialect);
    }
    let set = (settings.models)(&model, &profile);
    // The encoding comes from the current settings, not from the settings at the time when the server reported its
    // window.
    let counted = |info: ModelInfo| ModelInfo { encoding: set.encoding, exact_encoding: set.exact_encoding, ..info };
    let model = learned.models.get(&(profile.name.clone(), model)).cloned().map_or_else(|| set.clone(), counted);
    let policy_name = pick(&|o| o.policy.clone()).unwrap_or_else(|| "layered".into());
    let mut policy =
        settings.policies.get(&policy_name).cloned().ok_or_else(|| unknown("policy", &policy_name, setup))?;
    if let Some(wish) = settings.state_block {
        policy.state_block = wish;
    }
    policy.lane_window &= branch.overrides.lane.is_some();
    let layers = [call, &branch.overrides, &settings.defaults];
    let layout = pick(&|o| o.layout.clone()).unwrap_or_else(|| policy.layout.name().into());
    let layout = Layout::from_name(&layout).ok_or_else(|| {
        Failure::new(FailureKind::Config, format!("There is no layout {layout:?}."))
            .todo("Use classic or cache_friendly.")
    })?;
    let own_cap = layers.iter().find_map(|o| o.budget);
    let cap = own_cap.or(Some(policy.user_cap).filter(|cap| *cap > 0));
    let asked = Some(profile.max_output).filter(|limit| *limit > 0);
    let own = settings.tools.as_ref().filter(|_| trusted && profile.dialect.tools);
    let (tools, tools_off) = own.map_or_else(Default::default, |own| {
        switched(learned.own_specs(setup, &**own), &learned.offered, &branch.overrides.tools_off)
    });
    Ok(Rules {
        budget: Budget::compute(model.context_window, model.input_limit, asked, cap),
        cap_by_policy: own_cap.is_none(),
        state_by_policy: settings.state_block.is_none(),
        window_turns: layers.iter().find_map(|o| o.window).unwrap_or(policy.window_turns),
        mode: layers.iter().find_map(|o| o.mode).unwrap_or_default(),
        personality: pick(&|o| o.personality.clone()).unwrap_or_else(|| settings.prompts.personality.clone()),
        prompts: settings.prompts.clone(),
        tools,
        tools_off,
        code: (settings.code.enabled && trusted).then(|| CodeRules {
            settings: settings.code,
            focus: branch.overrides.focus.clone(),
            visibility: FileVisibility::default(),
        }),
        auto_summaries: policy.auto_summaries.under(layers.iter().find_map(|o| o.auto_summaries)),
        profile,
        model,
        policy,
        layout,
    })
}

pub(crate) fn unknown(what: &str, name: &str, setup: &Setup) -> Failure {
    let known: Vec<&str> = match what {
        "policy" => setup.settings.policies.keys().map(String::as_str).collect(),
        _ => setup.settings.profiles.keys().map(String::as_str).collect(),
    };
    Failure::new(FailureKind::Config, format!("There is no {what} {name:?}."))
        .todo(format!("Known names: {}.", known.join(", ")))
}

/// Returns the model's name. A model chosen for one profile does not apply to another: the nearest layer that names a
/// model decides, unless a nearer layer names a profile.
fn model_of(setup: &Setup, layers: [&Overrides; 2], profile: &Profile) -> String {
    for layer in layers {
        if let Some(model) = &layer.model {
            return model.clone();
        }
        if layer.profile.is_some() {
            return profile.model.clone();
        }
    }
    let ReloadableSettings { model, profile: usual, .. } = &setup.settings;
    let own = model.clone().filter(|model| profile.name == *usual && may_have(profile, model));
    own.unwrap_or_else(|| profile.model.clone())
}

/// Whether a profile may have a model of this name. Only an offline profile has a fixed list of models.
fn may_have(profile: &Profile, name: &str) -> bool {
    profile.backend != Backend::Offline || name == profile.model || OFFLINE_MODELS.contains(&name)
}

fn unknown_model(profile: &Profile, name: &str) -> Failure {
    let known = OFFLINE_MODELS.join(", ");
    Failure::new(FailureKind::Config, format!("The profile {} has no model {name:?}.", profile.name))
        .todo(format!("Its models: {known}. Another profile has other models: `pleach profile NAME` chooses one."))
}

/// Returns the encoding when no branch is open, from the command line and the settings.
pub(crate) fn encoding(setup: &Setup) -> Encoding {
    let settings = &setup.settings;
    let layers = [&setup.call, &settings.defaults];
    let name = layers.iter().find_map(|layer| layer.profile.as_ref()).unwrap_or(&settings.profile);
    let Some(profile) = settings.profiles.get(name) else { return Encoding::Approximate };
    (settings.models)(&model_of(setup, layers, profile), profile).encoding
}
