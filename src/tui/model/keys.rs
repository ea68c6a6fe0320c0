//! Names of actions and keys, from the table of keys.
//! Not for: which key means which action (`config::keys`).

use crate::config::commands::read::slashed;
pub use crate::config::keys::keymap::{Action, Chord, Key, Keymap, Step, When};

/// Phrases of the engine, which does not know the key table: a default key, its effect in words, and its action.
const PHRASES: [(&str, &str, Action, When); 8] = [
    ("u", "undoes it", Action::Undo, When::Panel),
    ("u", "restores the previous version", Action::Undo, When::Panel),
    ("U", "redoes it", Action::Redo, When::Panel),
    ("U", "restores", Action::Redo, When::Panel),
    ("c", "continues", Action::Continue, When::Conversation),
    ("R", "regenerates the answer", Action::Regenerate, When::Conversation),
    ("a", "adds it to the message", Action::UsePolicy, When::Editors),
    ("F5", "shows it", Action::Draft, When::Always),
];

/// Names the commands and the keys of the table in a sentence of the engine, as they are typed in the workbench.
pub(crate) fn with_bound_keys(keys: &Keymap, sentence: &str) -> String {
    let named = |text: String, (key, does, action, when): &(&str, &str, Action, When)| {
        let bound = keys.key_in(*action, *when);
        if bound == *key { text } else { text.replace(&format!("{key} {does}"), &format!("{bound} {does}")) }
    };
    let text = PHRASES.iter().fold(slashed(sentence), named);
    text.replace("`/doctor` tries", &format!("{} tries", keys.key(Action::Doctor)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_of_the_engine_name_the_bound_keys() {
        let built_in = Keymap::built_in();
        for (key, does, ..) in PHRASES {
            let sentence = format!("Done; {key} {does}.");
            assert_eq!(with_bound_keys(&built_in, &sentence), sentence, "the default key");
        }
        let own = "bind = [{ on = \"u\", run = \"none\", when = \"panel\" }, { on = \"ctrl-y\", run = \"undo\", \
            when = \"panel\" }]";
        let own = Keymap::load(Some(own));
        assert_eq!(with_bound_keys(&own, "Pinned. u undoes it."), "Pinned. Ctrl+Y undoes it.");
        assert_eq!(with_bound_keys(&own, "Undone. U redoes it."), "Undone. U redoes it.");
        let hint = "`pleach doctor` tries every profile; `pleach models` lists models.";
        assert_eq!(with_bound_keys(&own, hint), "Ctrl+X D tries every profile; `/models` lists models.");
        let unbound = Keymap::load(Some("bind = [{ on = \"ctrl-x D\", run = \"none\", when = \"always\" }]"));
        assert_eq!(with_bound_keys(&unbound, hint), "/doctor tries every profile; `/models` lists models.");
    }
}
