//! `mode`, `model`, `budget`, and the other branch settings: shows and changes them.
//! Not for: parsing the values (`config::commands::setting`), or program settings (`system::program`).

use super::lanes;
use crate::cli::Run;
use crate::cli::context::summaries;
use crate::cli::pick;
use crate::cli::stop::Stop;
use crate::config::commands::setting::{LaneCommand, Setting, SettingCommand};
use crate::domain::call::tokens::counted;
use crate::domain::conversation::{Branch, Overrides};
use crate::domain::planning::Mode;
use crate::engine::api::{Answer, BranchRequest, Draft, Planned, ProgramAnswer, ProgramRequest, SessionView};
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
    run.change(BranchRequest::Override { branch: branch.id, overrides }, &shown)?;
    if let Setting::Model(Some(name)) = setting {
        warn_if_unlisted(run, &view, name);
    }
    Ok(())
}

/// Warns about a model that its profile does not list, if the profile lists any.
fn warn_if_unlisted(run: &mut Run<'_, '_>, view: &SessionView, name: &str) {
    let Some((profile, _)) = in_use(run, view) else { return };
    let request = ProgramRequest::Models { profile: Some(profile.clone()), unready: false };
    // Whoever sets a model while its server is not running needs no error about the server.
    let found = match run.call(request) {
        Ok(Answer::Program(ProgramAnswer::Models(found))) => found,
        Err(Stop::Failed(failure)) => return run.io.note(&failure.to_string()),
        Ok(_) | Err(_) => return,
    };
    let listed = found.into_iter().filter(|(of, _)| *of == profile).find_map(|(_, models)| models.ok());
    if listed.is_some_and(|models| !models.is_empty() && models.iter().all(|model| model.name != name)) {
        run.io.note(&format!(
            "Profile {profile} lists no model {name}. `pleach models --profile {profile}` lists its models; \
                `pleach model NAME` chooses one."
        ));
    }
}

fn show(run: &mut Run<'_, '_>, command: &SettingCommand) -> Result<(), Stop> {
    let view = run.open(false)?;
    let branch = pick::branch(&view, None)?;
    let (own, settings) = (&branch.overrides, &run.config.settings);
    let of = |is_own: bool| if is_own { Source::Branch } else { Source::Settings };
    let named = |own: &Option<String>, other: &str| (json!(own.as_deref().unwrap_or(other)), of(own.is_some()));
    let (name, (value, source)) = match command {
        SettingCommand::Mode { .. } => ("mode", (json!(own.mode.unwrap_or(settings.mode)), of(own.mode.is_some()))),
        SettingCommand::Model { .. } => ("model", named(&own.model, &settings.model)),
        SettingCommand::Profile { .. } => ("profile", named(&own.profile, &settings.profile)),
        SettingCommand::Policy { .. } => ("policy", named(&own.policy, &settings.policy)),
        SettingCommand::Budget { .. } => {
            ("budget", (json!(own.budget.unwrap_or(settings.budget)), of(own.budget.is_some())))
        }
        SettingCommand::Layout { .. } => ("layout", layout(run, own)),
        SettingCommand::Personality { .. } => ("personality", named(&own.personality, &settings.personality)),
        SettingCommand::Summaries { .. } => return summaries::overview(run, branch),
        SettingCommand::Lane { .. } => return lanes::show(run, &view, branch),
        SettingCommand::Focus { .. } => {
            return run.io.either(&json!({ "focus": own.focus, "branch": branch.id }), &focus(branch));
        }
    };
    let mut shape = json!({ "from": source.name(), "branch": branch.id });
    let used = if matches!(name, "model" | "profile") && value == "" { in_use(run, &view) } else { None };
    let text = match used {
        Some((profile, model)) => {
            let used = if name == "model" { model } else { profile };
            let change = change_of(name, false);
            format!("Branch {} uses the {name} {used}, because no {name} is set. {change}", branch.name)
        }
        None => sentence(&branch.name, name, &value, source),
    };
    shape[name] = value;
    run.io.either(&shape, &text)
}

/// Returns the layout of the branch's requests, and where it comes from.
fn layout(run: &Run<'_, '_>, own: &Overrides) -> (Value, Source) {
    let settings = &run.config.settings;
    let policy = run.config.policies.get(own.policy.as_ref().unwrap_or(&settings.policy));
    match (&own.layout, settings.layout.named()) {
        (Some(own), _) => (json!(own), Source::Branch),
        (None, Some(layout)) => (json!(layout.name()), Source::Settings),
        (None, None) => (json!(policy.map(|policy| policy.layout).unwrap_or_default().name()), Source::Policy),
    }
}

/// Returns the code focus of a branch, and how to change it.
fn focus(branch: &Branch) -> String {
    let Branch { name, overrides, .. } = branch;
    if overrides.focus.is_empty() {
        return format!("Branch {name} has no code focus. `pleach focus PATH` sets it.");
    }
    let names = overrides.focus.join(", ");
    format!(
        "The code focus of branch {name} is {names}. `pleach focus PATH` changes it; `pleach focus none` removes it."
    )
}

/// Where the value of a branch setting comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Branch,
    Settings,
    Policy,
}

impl Source {
    fn name(self) -> &'static str {
        match self {
            Self::Branch => "branch",
            Self::Settings => "settings",
            Self::Policy => "policy",
        }
    }
}

/// Returns what a setting of a branch is, where it comes from, and how to change it.
fn sentence(branch: &str, name: &str, value: &Value, source: Source) -> String {
    let text = value.as_str().unwrap_or_default();
    let what = match name {
        "mode" => format!("Branch {branch} is in mode {}", Mode::from_name(text).unwrap_or_default().title()),
        "budget" => match value.as_u64() {
            None | Some(0) => {
                format!("Branch {branch} has no budget set: the policy and the model's context window determine it")
            }
            Some(tokens) => format!("The budget of branch {branch} is {}", counted(tokens, "token")),
        },
        "personality" if text.is_empty() => format!("Branch {branch} has no personality"),
        "personality" => format!("The personality of branch {branch} is {text:?}"),
        _ if text.is_empty() => format!("Branch {branch} has no {name}"),
        _ => format!("Branch {branch} uses the {name} {text}"),
    };
    let from = match source {
        Source::Branch => "set for this branch",
        Source::Settings => "from the settings",
        Source::Policy => "from the policy",
    };
    format!("{what} ({from}). {}", change_of(name, source == Source::Branch))
}

/// Returns how to change a setting of a branch, and if it is the branch's own, how to restore the one from the settings.
fn change_of(name: &str, is_own: bool) -> String {
    let (values, restored) = match name {
        "mode" => ("off|light|heavy", None),
        "budget" => ("TOKENS", Some("0")),
        "layout" => ("classic|cache_friendly", Some("none")),
        "personality" => ("TEXT", Some("none")),
        _ => ("NAME", Some("none")),
    };
    let restore =
        restored.filter(|_| is_own).map(|word| format!("; `pleach {name} {word}` restores the one from the settings"));
    format!("`pleach {name} {values}` changes it{}.", restore.unwrap_or_default())
}

/// Returns the profile and the model of the next request; `None` if that cannot be planned.
fn in_use(run: &mut Run<'_, '_>, view: &SessionView) -> Option<(String, String)> {
    match run.client.plan(view, Draft::default(), &mut run.io) {
        Ok(Planned::Plan { plan, .. }) => Some((plan.profile.clone(), plan.model.clone())),
        Ok(Planned::Blocked(_)) | Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::{done, execute, id};
    use crate::domain::base::ids::BranchId;
    use crate::engine::api::Request;

    #[test]
    fn a_setting_is_shown_as_a_sentence_with_its_source() {
        assert_eq!(
            sentence("main", "budget", &json!(9_000), Source::Branch),
            "The budget of branch main is 9,000 tokens (set for this branch). `pleach budget TOKENS` changes it; \
                `pleach budget 0` restores the one from the settings."
        );
        assert_eq!(
            sentence("main", "budget", &json!(0), Source::Settings),
            "Branch main has no budget set: the policy and the model's context window determine it (from the settings). `pleach budget \
                TOKENS` changes it."
        );
        assert_eq!(
            sentence("alt", "mode", &json!(Mode::Light), Source::Settings),
            "Branch alt is in mode Light (from the settings). `pleach mode off|light|heavy` changes it."
        );
        assert_eq!(
            sentence("alt", "policy", &json!("window"), Source::Branch),
            "Branch alt uses the policy window (set for this branch). `pleach policy NAME` changes it; `pleach policy \
                none` restores the one from the settings."
        );
    }

    #[test]
    fn a_setting_without_a_value_names_what_is_in_effect_and_how_to_change_it() {
        for (command, wanted) in [
            (
                "layout",
                "Branch main uses the layout cache_friendly (from the policy). `pleach layout classic|cache_friendly`",
            ),
            ("focus", "Branch main has no code focus. `pleach focus PATH` sets it."),
            ("lane", "The next message of branch main goes into the root lane"),
            ("lane", "`pleach lane NAME` changes it."),
        ] {
            let printed = execute(&[command], done);
            assert!(printed.out.contains(wanted), "{command}: {}{}", printed.out, printed.err);
        }
        let layout = execute(&["layout", "--json"], done).json();
        assert_eq!((layout["layout"].as_str(), layout["from"].as_str()), (Some("cache_friendly"), Some("policy")));
    }

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
