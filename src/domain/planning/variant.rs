//! A variant of a call: changed settings, parsed from text and written as text.
//! Not for: its result (`what_if`) or the branch's other overrides.

use super::mode::Mode;
use super::policy::Layout;
use crate::domain::call::tokens::grouped;
use crate::domain::conversation::branch::Overrides;

/// Why a text is no variant.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum VariantError {
    /// It has no `=` or `:`.
    #[error("{0:?} is not a setting; write it as mode=off or model:NAME")]
    Form(String),
    /// There is no such setting.
    #[error("{0:?} can't be changed for one call; mode, policy, layout, profile, model, budget and window can")]
    Setting(String),
    /// The setting cannot have this value.
    #[error("{setting} can't be {value:?}; it takes {wants}")]
    Value {
        /// The setting.
        setting: String,
        /// The value as typed.
        value: String,
        /// The values it accepts.
        wants: &'static str,
    },
    /// The text is empty.
    #[error("each branch of a race needs a setting, such as mode=off")]
    Empty,
}

/// Parses `mode=off,model=NAME` (or with a colon in place of the first `=`). Only the named settings are set.
///
/// # Errors
/// An unknown setting, or a value it cannot have.
pub fn read(words: &str) -> Result<Overrides, VariantError> {
    let mut arm = Overrides::default();
    for part in words.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (setting, value) = part.split_once(['=', ':']).ok_or_else(|| VariantError::Form(part.to_owned()))?;
        set(&mut arm, setting.trim(), value.trim())?;
    }
    if arm == Overrides::default() { Err(VariantError::Empty) } else { Ok(arm) }
}

fn set(arm: &mut Overrides, setting: &str, value: &str) -> Result<(), VariantError> {
    let bad = |wants| VariantError::Value { setting: setting.to_owned(), value: value.to_owned(), wants };
    let number = || value.replace(['_', ','], "").parse::<u32>().map_err(|_| bad("a number"));
    let name = || Some(value.to_owned()).filter(|value| !value.is_empty()).ok_or_else(|| bad("a name"));
    match setting {
        "mode" => arm.mode = Some(Mode::from_name(value).ok_or_else(|| bad("off, light or heavy"))?),
        "policy" => arm.policy = Some(name()?),
        "layout" => {
            let known = Layout::from_name(value).ok_or_else(|| bad("classic or cache_friendly"))?;
            arm.layout = Some(known.name().to_owned());
        }
        "profile" => arm.profile = Some(name()?),
        "model" => arm.model = Some(name()?),
        "budget" => arm.budget = Some(number()?),
        "window" => arm.window = Some(number()?),
        other => return Err(VariantError::Setting(other.to_owned())),
    }
    Ok(())
}

/// A branch's overrides, replaced by the variant's. A model chosen for one profile is dropped with another profile.
#[must_use]
pub fn merge(base: &Overrides, arm: &Overrides) -> Overrides {
    let moves = arm.profile.is_some();
    Overrides {
        mode: arm.mode.or(base.mode),
        policy: arm.policy.clone().or_else(|| base.policy.clone()),
        layout: arm.layout.clone().or_else(|| base.layout.clone()),
        budget: arm.budget.or(base.budget),
        window: arm.window.or(base.window),
        profile: arm.profile.clone().or_else(|| base.profile.clone()),
        model: arm.model.clone().or_else(|| base.model.clone().filter(|_| !moves)),
        ..base.clone()
    }
}

/// `mode Off, model gpt-4.1`
#[must_use]
pub fn title(arm: &Overrides) -> String {
    let text = |name: &str, value: &Option<String>| value.as_ref().map(|value| format!("{name} {value}"));
    let number = |name: &str, value: Option<u32>| value.map(|value| format!("{name} {}", grouped(value.into())));
    let window = match arm.window {
        Some(0) => Some("all turns".to_owned()),
        other => number("window", other),
    };
    let parts = [
        arm.mode.map(|mode| format!("mode {}", mode.title())),
        text("policy", &arm.policy),
        text("layout", &arm.layout),
        text("profile", &arm.profile),
        text("model", &arm.model),
        number("budget", arm.budget),
        window,
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips() {
        let arm = read("mode=off, model:llama3:8b").unwrap();
        assert_eq!((arm.mode, arm.model.as_deref()), (Some(Mode::Off), Some("llama3:8b")));
        assert_eq!(title(&arm), "mode Off, model llama3:8b");
        assert_eq!(
            title(&read("budget=12_000,window=0,layout=classic").unwrap()),
            "layout classic, budget 12,000, all turns"
        );
        for (words, part) in [("", "needs a setting"), ("off", "not a setting"), ("tone=kind", "can't be changed")] {
            assert!(read(words).unwrap_err().to_string().contains(part), "{words}");
        }
        for words in ["mode=loud", "budget=many", "layout=x", "model="] {
            assert!(matches!(read(words), Err(VariantError::Value { .. })), "{words}");
        }
    }

    #[test]
    fn a_variant_replaces_only_its_own_settings() {
        let base = Overrides {
            mode: Some(Mode::Heavy),
            model: Some("a".into()),
            personality: Some("kind".into()),
            ..Overrides::default()
        };
        let made = merge(&base, &read("mode=off").unwrap());
        assert_eq!(made, Overrides { mode: Some(Mode::Off), ..base.clone() });
        let elsewhere = merge(&base, &read("profile=local").unwrap());
        assert_eq!((elsewhere.profile.as_deref(), elsewhere.model), (Some("local"), None));
        let way = read("mode=off,policy=balanced,layout=classic,budget=9000,window=3,profile=local,model=b").unwrap();
        assert_eq!(merge(&way, &Overrides::default()), way);
        assert_eq!(merge(&base, &way), Overrides { personality: base.personality.clone(), ..way });
    }
}
