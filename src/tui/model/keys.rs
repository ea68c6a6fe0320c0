//! Names of actions and keys, from the table of keys.
//! Not for: which key means which action (`config::keys`).

use crate::config::commands::read::slashed;
pub(crate) use crate::config::keys::groups::in_menu_room;
pub use crate::config::keys::keymap::{
    Action, BranchAction, CallAction, Chord, ContextAction, Key, Keymap, MessageAction, SessionAction, Step,
    ToolAction, ViewAction, When,
};

/// Phrases of the engine, which does not know the key table: a default key, its effect in words, and its action.
const PHRASES: [(&str, &str, Action, When); 10] = [
    ("u", "undoes it", Action::Undo, When::Panel),
    ("u", "returns to", Action::Undo, When::Panel),
    ("u", "restores the previous version", Action::Undo, When::Panel),
    ("U", "redoes it", Action::Redo, When::Panel),
    ("U", "restores", Action::Redo, When::Panel),
    ("h", "in the messages shows the earlier version", Action::PrevSibling, When::Conversation),
    ("c", "continues", Action::Continue, When::Conversation),
    ("R", "regenerates", Action::Regenerate, When::Conversation),
    ("a", "adds it to the message", Action::UsePolicy, When::Editors),
    ("F5", "shows it", Action::Draft, When::Always),
];

/// The places whose keys work while the conversation has the focus.
pub(crate) const IN_CONVERSATION: &[When] = &[When::Conversation, When::Panel, When::Always];

/// Names the commands and the keys in a sentence of the engine or the command line, as they are typed in the
/// workbench: a key that works in `places`, or else the slash command.
pub(crate) fn with_bound_keys(keys: &Keymap, places: &[When], sentence: &str) -> String {
    let named = |text: String, (key, does, action, when): &(&str, &str, Action, When)| {
        let text = text.replace(&format!("`/{}` {does}", action.name()), &format!("{key} {does}"));
        let here = match when {
            _ if does.starts_with("in the messages") => keys.key_in(*action, *when),
            When::Panel | When::Conversation => key_at(keys, places, *action),
            _ => keys.key_in(*action, *when),
        };
        if here == *key { text } else { text.replace(&format!("{key} {does}"), &format!("{here} {does}")) }
    };
    let text = PHRASES.iter().fold(slashed(sentence), named);
    text.replace("`/doctor` checks", &format!("{} checks", keys.key(Action::Doctor)))
}

/// The key of an action that works in these places, which are the most specific first, or else its slash command.
fn key_at(keys: &Keymap, places: &[When], action: Action) -> String {
    let bound = |place: &When| keys.best(|binding| binding.run == action && binding.when == *place);
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
            let places = [IN_CONVERSATION, &[When::Editors]].concat();
            assert_eq!(with_bound_keys(&built_in, &places, &sentence), sentence, "the default key");
        }
        let own = "bind = [{ on = \"u\", run = \"none\", when = \"panel\" }, { on = \"ctrl-y\", run = \"undo\", \
            when = \"panel\" }]";
        let own = Keymap::load(Some(own));
        let here = |sentence| with_bound_keys(&own, IN_CONVERSATION, sentence);
        assert_eq!(here("Pinned. u undoes it."), "Pinned. Ctrl+Y undoes it.");
        assert_eq!(here("Renamed. `pleach undo` undoes it."), "Renamed. Ctrl+Y undoes it.");
        assert_eq!(here("Undone. U redoes it."), "Undone. U redoes it.");
        let typing = |sentence| with_bound_keys(&built_in, &[When::Composer, When::Always], sentence);
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
