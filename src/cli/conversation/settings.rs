//! `mode`, `model`, `budget`, and the other branch settings: shows and changes them.
//! Not for: parsing the values (`config::commands::setting`), or program settings (`system::program`).

use super::lanes;
use crate::cli::Run;
use crate::cli::context::summaries;
use crate::cli::pick;
use crate::cli::stop::Stop;
use crate::config::commands::setting::{LaneCommand, Setting, SettingCommand};
use crate::engine::api::{BranchRequest, Draft, Planned, SessionView};
use serde_json::{Value, json};

/// Shows or changes a setting of the branch.
pub(crate) fn setting(run: &mut Run<'_, '_>, command: &SettingCommand) -> Result<(), Stop> {
    if let SettingCommand::Lane { command: Some(LaneCommand::List), .. } = command {
        return lanes::list(run);
    }
    let mut setting = command.change().map_err(Stop::Usage)?;
    if let Some(Setting::Personality(Some(text))) = &mut setting {
        *text = run.io.text(std::slice::from_ref(text))?.unwrap_or_default();
    }
    match setting {
        Some(setting) => change(run, &setting, true),
        None => show(run, command),
    }
}

/// Changes a setting of the branch; `create` starts a session if none exists.
pub(crate) fn change(run: &mut Run<'_, '_>, setting: &Setting, create: bool) -> Result<(), Stop> {
    let policies: Vec<&str> = run.config.policies.keys().map(String::as_str).collect();
    if let Some(text) = setting.unknown_policy(&policies) {
        return Err(Stop::Usage(text));
    }
    let view = run.open(create)?;
    let branch = pick::branch(&view, None)?;
    let setting = &setting.clone().among(view.nodes.iter().map(|head| head.lane.as_str()));
    let mut overrides = branch.overrides.clone();
    setting.apply(&mut overrides);
    let shown = setting.sentence(&branch.name);
    run.change(BranchRequest::Override { branch: branch.id, overrides }, &shown)
}

fn show(run: &mut Run<'_, '_>, command: &SettingCommand) -> Result<(), Stop> {
    let view = run.open(false)?;
    let branch = pick::branch(&view, None)?;
    let (own, settings) = (&branch.overrides, &run.config.settings);
    let named =
        |own: &Option<String>, other: &str| own.clone().map_or_else(|| (json!(other), false), |own| (json!(own), true));
    let (name, (value, is_own)) = match command {
        SettingCommand::Mode { .. } => ("mode", (json!(own.mode.unwrap_or(settings.mode)), own.mode.is_some())),
        SettingCommand::Model { .. } => ("model", named(&own.model, &settings.model)),
        SettingCommand::Profile { .. } => ("profile", named(&own.profile, &settings.profile)),
        SettingCommand::Policy { .. } => ("policy", named(&own.policy, &settings.policy)),
        SettingCommand::Budget { .. } => {
            ("budget", (json!(own.budget.unwrap_or(settings.budget)), own.budget.is_some()))
        }
        SettingCommand::Layout { .. } => ("layout", named(&own.layout, settings.layout.name())),
        SettingCommand::Personality { .. } => ("personality", named(&own.personality, &settings.personality)),
        SettingCommand::Summaries { .. } => return summaries::overview(run, branch),
        SettingCommand::Lane { .. } => return lanes::show(run, &view, branch),
        SettingCommand::Focus { .. } => {
            let shown = if own.focus.is_empty() { "none".to_owned() } else { own.focus.join(" ") };
            return run.io.either(&json!({ "focus": own.focus, "branch": branch.id }), &shown);
        }
    };
    let from = if is_own { "branch" } else { "settings" };
    let shown = match (&value, own.mode.unwrap_or(settings.mode)) {
        (_, mode) if name == "mode" => mode.title().to_owned(),
        (Value::String(text), _) if text.is_empty() => "none".to_owned(),
        (Value::String(text), _) => text.clone(),
        (value, _) => value.to_string(),
    };
    let mut shape = json!({ "from": from, "branch": branch.id });
    let unset = name == "model" && value == "";
    shape[name] = value;
    let used = if unset { model_in_use(run, &view) } else { None };
    run.io.either(&shape, &used.map_or_else(|| format!("{shown} ({from})"), |used| format!("{used} (no model is set)")))
}

/// Returns the model of the next request; `None` if that cannot be planned.
fn model_in_use(run: &mut Run<'_, '_>, view: &SessionView) -> Option<String> {
    match run.client.plan(view, Draft::default(), &mut run.io) {
        Ok(Planned::Plan { plan, .. }) => Some(plan.model.clone()),
        Ok(Planned::Blocked(_)) | Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::{done, execute, id};
    use crate::domain::base::ids::BranchId;
    use crate::domain::conversation::branch::Overrides;
    use crate::domain::planning::mode::Mode;
    use crate::engine::api::Request;

    #[test]
    fn settings_become_overrides() {
        let branch = BranchId(id(91));
        let overrides = |change: fn(&mut Overrides)| {
            let mut overrides = Overrides { budget: Some(7), ..Overrides::default() };
            change(&mut overrides);
            Request::Branch(BranchRequest::Override { branch, overrides })
        };
        let printed = execute(&["mode", "off"], done);
        assert_eq!(printed.seen.last(), Some(&overrides(|o| o.mode = Some(Mode::Off))));
        let printed = execute(&["lane", "billing"], done);
        assert_eq!(printed.seen.last(), Some(&overrides(|o| o.lane = Some("billing".into()))));
        let printed = execute(&["lane", "root"], done);
        assert_eq!(printed.seen.last(), Some(&overrides(|o| o.lane = Some(String::new()))));
        let printed = execute(&["lane", "none"], done);
        assert_eq!(printed.seen.last(), Some(&overrides(|_| {})));
        let printed = execute(&["context", "window", "4"], done);
        assert_eq!(printed.seen.last(), Some(&overrides(|o| o.window = Some(4))));
    }
}
