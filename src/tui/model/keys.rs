//! Names of actions and keys, from the table of keys.
//! Not for: which key means which action (`config::keys`).

use crate::config::commands::read::slashed;
pub(crate) use crate::config::keys::groups::in_menu_room;
pub use crate::config::keys::keymap::{
    Action, BranchAction, CallAction, Chord, ContextAction, Key, KeyPlace, Keymap, MessageAction, SessionAction, Step,
    ToolAction, ViewAction,
};

/// Phrases of the engine, which does not know the key table: a default key, its effect in words, and its action.
const PHRASES: [(&str, &str, Action, KeyPlace); 10] = [
    ("u", "undoes it", Action::Undo, KeyPlace::Panel),
    ("u", "returns to", Action::Undo, KeyPlace::Panel),
    ("u", "restores the previous version", Action::Undo, KeyPlace::Panel),
    ("U", "redoes it", Action::Redo, KeyPlace::Panel),
    ("U", "restores", Action::Redo, KeyPlace::Panel),
    ("h", "in the messages shows the earlier version", Action::PrevSibling, KeyPlace::Conversation),
    ("c", "continues", Action::Continue, KeyPlace::Conversation),
    ("R", "regenerates", Action::Regenerate, KeyPlace::Conversation),
    ("a", "adds it to the message", Action::UsePolicy, KeyPlace::Editors),
    ("F5", "shows it", Action::Draft, KeyPlace::Always),
];

/// The places whose keys work while the conversation has the focus.
pub(crate) const IN_CONVERSATION: &[KeyPlace] = &[KeyPlace::Conversation, KeyPlace::Panel, KeyPlace::Always];

/// Names the commands and the keys in a sentence of the engine or the command line, as they are typed in the
/// workbench: a key that works in `places`, or else the slash command.
pub(crate) fn with_bound_keys(keys: &Keymap, places: &[KeyPlace], sentence: &str) -> String {
    let named = |text: String, (key, does, action, when): &(&str, &str, Action, KeyPlace)| {
        let text = text.replace(&format!("`/{}` {does}", action.name()), &format!("{key} {does}"));
        let here = match when {
            _ if does.starts_with("in the messages") => keys.key_in(*action, *when),
            KeyPlace::Panel | KeyPlace::Conversation => key_at(keys, places, *action),
            _ => keys.key_in(*action, *when),
        };
        if here == *key { text } else { text.replace(&format!("{key} {does}"), &format!("{here} {does}")) }
    };
    let text = PHRASES.iter().fold(slashed(sentence), named);
    text.replace("`/doctor` checks", &format!("{} checks", keys.key(Action::Doctor)))
}

/// The key of an action that works in these places, which are the most specific first, or else its slash command.
fn key_at(keys: &Keymap, places: &[KeyPlace], action: Action) -> String {
    let bound = |place: &KeyPlace| keys.best(|binding| binding.run == action && binding.when == *place);
    places.iter().find_map(bound).map_or_else(|| format!("/{}", action.name()), |binding| binding.on.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_of_the_engine_name_the_bound_keys() {
        let built_in = Keymap::built_in();
        for (key, does, ..) in PHRASES {
            let sentence = format!("Done; {key} {does}.");
            let places = [IN_CONVERSATION, &[KeyPlace::Editors]].concat();
            assert_eq!(with_bound_keys(&built_in, &places, &sentence), sentence, "the default key");
        }
        let own = "bind = [{ on = \"u\", run = \"none\", when = \"panel\" }, { on = \"ctrl-y\", run = \"undo\", \
            when = \"panel\" }]";
        let own = Keymap::load(Some(own));
        let here = |sentence| with_bound_keys(&own, IN_CONVERSATION, sentence);
        assert_eq!(here("Pinned. u undoes it."), "Pinned. Ctrl+Y undoes it.");
        assert_eq!(here("Renamed. `pleach undo` undoes it."), "Renamed. Ctrl+Y undoes it.");
        assert_eq!(here("Undone. U redoes it."), "Undone. U redoes it.");
        let typing = |sentence| with_bound_keys(&built_in, &[KeyPlace::Composer, KeyPlace::Always], sentence);
        assert_eq!(typing("Pinned. u undoes it."), "Pinned. Ctrl+X u undoes it.");
        assert_eq!(typing("R regenerates the answer."), "/regenerate regenerates the answer.");
        let hint = "`pleach doctor` checks every profile; `pleach models` lists models.";
        assert_eq!(here(hint), "Ctrl+X D checks every profile; `/models` lists models.");
        let unbound = Keymap::load(Some("bind = [{ on = \"ctrl-x D\", run = \"none\", when = \"always\" }]"));
        assert_eq!(
            with_bound_keys(&unbound, IN_CONVERSATION, hint),
            "/doctor checks every profile; `/models` lists models."
        );
    }
}
