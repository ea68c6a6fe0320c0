//! Names of settings and of their values in earlier versions: they still work, and a note gives the present ones.
//! Not for: earlier names of commands (`commands::table`).

use toml::{Table, Value};

/// The present and the earlier name of the setting of automatic summaries, and of its table in policies.
const SUMMARIES: (&str, &str) = ("summaries", "compaction");

/// The present and the earlier names of its values.
const ACCEPTANCE: [(&str, &str); 2] = [("draft", "ask"), ("auto", "self")];

/// Replaces earlier names in a file of settings, so that tables of several files can be merged. Returns a note about
/// them.
pub(super) fn update_settings(origin: &str, table: &mut Table) -> Option<String> {
    let (now, was) = SUMMARIES;
    let mut value = table.remove(was)?;
    let renamed = value.as_str().and_then(|text| ACCEPTANCE.into_iter().find(|(_, was)| *was == text));
    if let Some((now, _)) = renamed {
        value = Value::String(now.to_owned());
    }
    let note = format!("{origin}: {was} is now {now} = {value}. The earlier name still works.");
    table.insert(now.to_owned(), value);
    Some(note)
}

/// Returns a note about earlier names in a policy's file.
pub(super) fn policy_note(origin: &str, table: &Table) -> Option<String> {
    let (now, was) = SUMMARIES;
    let accept = table.get(was)?.get("accept").and_then(Value::as_str);
    let renamed = accept.and_then(|text| ACCEPTANCE.into_iter().find(|(_, was)| *was == text));
    let value = renamed.map_or_else(String::new, |(now, was)| format!(", and accept = {was:?} is accept = {now:?}"));
    Some(format!("{origin}: [{was}] is now [{now}]{value}. The earlier names still work."))
}

/// Adds the earlier names, with their earlier values, beside the present ones in settings that programs read.
pub fn add_earlier_names(settings: &mut serde_json::Value) {
    let (now, was) = SUMMARIES;
    let value = settings[now].as_str().unwrap_or_default();
    let value = ACCEPTANCE.into_iter().find(|(now, _)| *now == value).map_or(value, |(_, was)| was);
    settings[was] = value.into();
    if let Some(origin) = settings["origins"].get(now).cloned() {
        settings["origins"][was] = origin;
    }
}

/// Whether a name is an earlier one that need not be suggested: the present one is also accepted.
pub(super) fn is_earlier(name: &str, accepted: &[String]) -> bool {
    let pairs = || ACCEPTANCE.into_iter().chain([SUMMARIES]);
    pairs().any(|(now, was)| was == name && accepted.iter().any(|one| one == now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_read_settings_under_earlier_names_too() {
        let mut settings = serde_json::json!({ "summaries": "auto", "origins": { "summaries": "a file" } });
        add_earlier_names(&mut settings);
        assert_eq!((&settings["compaction"], &settings["origins"]["compaction"]), (&"self".into(), &"a file".into()));
    }
}
