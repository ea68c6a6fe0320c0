//! A variant of a call: changed settings, parsed from text and written as text.
//! Not for: its result (`what_if`) or the branch's other overrides.

use super::mode::Mode;
use super::policy::Layout;
use crate::domain::call::tokens::grouped;
use crate::domain::conversation::branch::Overrides;

/// The reason why a text is not a valid variant.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum VariantError {
    /// A part of the text has no `=` or `:`.
    #[error("{0:?} is not a setting; write it as mode=off or mode:off")]
    Form(String),
    /// The setting does not exist, or cannot be changed for one call.
    #[error("{0:?} can't be changed for one call; mode, policy, layout, profile, model, budget, and window can")]
    Setting(String),
    /// The setting cannot have this value.
    #[error("{setting} can't be {value:?}; it takes {wants}")]
    Value {
        setting: String,
        /// The value as typed.
        value: String,
        /// The values it accepts.
        wants: &'static str,
    },
    /// The text names no setting.
    #[error("each branch of a race needs a setting, such as mode=off")]
    Empty,
}

/// Parses a variant such as `mode=off,model=NAME`; a colon may replace the first `=`. Sets only the named settings.
pub fn read(text: &str) -> Result<Overrides, VariantError> {
    let mut variant = Overrides::default();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (setting, value) = part.split_once(['=', ':']).ok_or_else(|| VariantError::Form(part.to_owned()))?;
        set(&mut variant, setting.trim(), value.trim())?;
    }
    if variant == Overrides::default() { Err(VariantError::Empty) } else { Ok(variant) }
}

fn set(variant: &mut Overrides, setting: &str, value: &str) -> Result<(), VariantError> {
    let invalid = |wants| VariantError::Value { setting: setting.to_owned(), value: value.to_owned(), wants };
    let number = || value.replace(['_', ','], "").parse::<u32>().map_err(|_| invalid("a number"));
    let name = || Some(value.to_owned()).filter(|value| !value.is_empty()).ok_or_else(|| invalid("a name"));
    match setting {
        "mode" => variant.mode = Some(Mode::from_name(value).ok_or_else(|| invalid("off, light, or heavy"))?),
        "policy" => variant.policy = Some(name()?),
        "layout" => {
            let known = Layout::from_name(value).ok_or_else(|| invalid("classic or cache_friendly"))?;
            variant.layout = Some(known.name().to_owned());
        }
        "profile" => variant.profile = Some(name()?),
        "model" => variant.model = Some(name()?),
        "budget" => variant.budget = Some(number()?),
        "window" => variant.window = Some(number()?),
        other => return Err(VariantError::Setting(other.to_owned())),
    }
    Ok(())
}

/// Returns a branch's overrides with the variant's values in place of its own. A model chosen for the branch's profile
/// is dropped if the variant has another profile.
pub fn merge(base: &Overrides, variant: &Overrides) -> Overrides {
    let changes_profile = variant.profile.is_some();
    Overrides {
        mode: variant.mode.or(base.mode),
        policy: variant.policy.clone().or_else(|| base.policy.clone()),
        layout: variant.layout.clone().or_else(|| base.layout.clone()),
        budget: variant.budget.or(base.budget),
        window: variant.window.or(base.window),
        profile: variant.profile.clone().or_else(|| base.profile.clone()),
        model: variant.model.clone().or_else(|| base.model.clone().filter(|_| !changes_profile)),
        ..base.clone()
    }
}

/// Returns the settings of `now` that differ from `before`, as a variant.
pub fn difference(before: &Overrides, now: &Overrides) -> Overrides {
    fn changed<T: Clone + PartialEq>(before: Option<&T>, now: Option<&T>) -> Option<T> {
        now.filter(|_| before != now).cloned()
    }
    Overrides {
        mode: changed(before.mode.as_ref(), now.mode.as_ref()),
        policy: changed(before.policy.as_ref(), now.policy.as_ref()),
        layout: changed(before.layout.as_ref(), now.layout.as_ref()),
        budget: changed(before.budget.as_ref(), now.budget.as_ref()),
        window: changed(before.window.as_ref(), now.window.as_ref()),
        profile: changed(before.profile.as_ref(), now.profile.as_ref()),
        model: changed(before.model.as_ref(), now.model.as_ref()),
        ..Overrides::default()
    }
}

/// Returns the variant as text, such as `mode Off, model gpt-4.1`.
pub fn title(variant: &Overrides) -> String {
    let text = |name: &str, value: &Option<String>| value.as_ref().map(|value| format!("{name} {value}"));
    let number = |name: &str, value: Option<u32>| value.map(|value| format!("{name} {}", grouped(value.into())));
    let window = match variant.window {
        Some(0) => Some("all turns".to_owned()),
        other => number("window", other),
    };
    let parts = [
        variant.mode.map(|mode| format!("mode {}", mode.title())),
        text("policy", &variant.policy),
        text("layout", &variant.layout),
        text("profile", &variant.profile),
        text("model", &variant.model),
        number("budget", variant.budget),
        window,
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips() {
        let variant = read("mode=off, model:llama3:8b").unwrap();
        assert_eq!((variant.mode, variant.model.as_deref()), (Some(Mode::Off), Some("llama3:8b")));
        assert_eq!(title(&variant), "mode Off, model llama3:8b");
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
        let merged = merge(&base, &read("mode=off").unwrap());
        assert_eq!(merged, Overrides { mode: Some(Mode::Off), ..base.clone() });
        let other_profile = merge(&base, &read("profile=local").unwrap());
        assert_eq!((other_profile.profile.as_deref(), other_profile.model), (Some("local"), None));
        let full = read("mode=off,policy=balanced,layout=classic,budget=9000,window=3,profile=local,model=b").unwrap();
        assert_eq!(merge(&full, &Overrides::default()), full);
        assert_eq!(merge(&base, &full), Overrides { personality: base.personality.clone(), ..full });
    }
}
