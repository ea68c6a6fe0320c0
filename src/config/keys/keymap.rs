//! Keys as data: chords, and the key table, which is read from TOML (first the built-in table, then the user's).
//! Not for: running an action (the workbench), or reading key events from a terminal.

pub use super::actions::{
    Action, BranchAction, CallAction, ContextAction, MessageAction, SessionAction, ToolAction, ViewAction,
};
pub use super::places::KeyPlace;
pub use super::strokes::Strokes;
use serde::Deserialize;
use std::fmt;
use std::str::FromStr;

/// The built-in key table.
pub const DEFAULT: &str = include_str!("../../../config/keymap.toml");

/// A key without its modifiers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Key {
    /// A character.
    Char(char),
    /// A function key.
    F(u8),
    /// The Return key.
    Enter,
    Tab,
    /// Shift+Tab.
    BackTab,
    /// The Escape key.
    Esc,
    /// The key that deletes to the left.
    Backspace,
    /// The key that deletes to the right.
    Delete,
    /// The up arrow.
    Up,
    /// The down arrow.
    Down,
    /// The left arrow.
    Left,
    /// The right arrow.
    Right,
    /// The key that goes to the start.
    Home,
    /// The key that goes to the end.
    End,
    /// The key that goes up by a page.
    PageUp,
    /// The key that goes down by a page.
    PageDown,
}

const NAMED: [(&str, Key); 15] = [
    ("enter", Key::Enter),
    ("tab", Key::Tab),
    ("backtab", Key::BackTab),
    ("esc", Key::Esc),
    ("backspace", Key::Backspace),
    ("delete", Key::Delete),
    ("up", Key::Up),
    ("down", Key::Down),
    ("left", Key::Left),
    ("right", Key::Right),
    ("home", Key::Home),
    ("end", Key::End),
    ("pageup", Key::PageUp),
    ("pagedown", Key::PageDown),
    ("space", Key::Char(' ')),
];

/// A key with its modifiers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Chord {
    pub key: Key,
    /// Control.
    pub ctrl: bool,
    /// Alt or Meta.
    pub alt: bool,
    /// Shift; never set for characters, whose case implies it.
    pub shift: bool,
}

impl Chord {
    /// Returns the chord of a key without modifiers.
    pub fn plain(key: Key) -> Self {
        Self { key, ctrl: false, alt: false, shift: false }
    }

    /// Returns the character that the chord types into a text, or None if it types none.
    pub fn typed(&self) -> Option<char> {
        match self.key {
            Key::Char(c) if !self.ctrl && !self.alt => Some(c),
            _ => None,
        }
    }

    /// Returns the name of the key that sends the same bytes as this chord on most terminals, or None if there is no
    /// such key.
    fn terminal_twin(&self) -> Option<&'static str> {
        let twins = [('m', "Enter"), ('i', "Tab"), ('h', "Backspace"), ('[', "Esc")];
        twins.into_iter().find(|(c, _)| self.ctrl && self.key == Key::Char(*c)).map(|(_, name)| name)
    }
}

impl FromStr for Chord {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut chord = Self::plain(Key::Esc);
        let mut rest = text;
        while let Some((modifier, key)) = rest.split_once('-').filter(|(_, key)| !key.is_empty()) {
            match modifier.to_ascii_lowercase().as_str() {
                "ctrl" => chord.ctrl = true,
                "alt" => chord.alt = true,
                "shift" => chord.shift = true,
                _ => break,
            }
            rest = key;
        }
        chord.key = key_from(rest).ok_or_else(|| format!("{text:?} is not a key"))?;
        if chord.shift && chord.key == Key::Tab {
            chord.key = Key::BackTab;
        }
        if matches!(chord.key, Key::Char(_) | Key::BackTab) {
            chord.shift = false;
        }
        Ok(chord)
    }
}

fn key_from(text: &str) -> Option<Key> {
    let mut chars = text.chars();
    if let (Some(c), None) = (chars.next(), chars.next()) {
        return Some(Key::Char(c));
    }
    let lower = text.to_ascii_lowercase();
    if let Some((_, key)) = NAMED.iter().find(|(name, _)| *name == lower) {
        return Some(*key);
    }
    let number: u8 = lower.strip_prefix('f')?.parse().ok()?;
    (1..=12).contains(&number).then_some(Key::F(number))
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let modifiers = [(self.ctrl, "Ctrl+"), (self.alt, "Alt+"), (self.shift, "Shift+")];
        let mut out: String = modifiers.into_iter().filter(|(on, _)| *on).map(|(_, name)| name).collect();
        match self.key {
            Key::Char(' ') => out.push_str("Space"),
            Key::Char(c) if self.ctrl || self.alt => out.extend(c.to_uppercase()),
            Key::Char(c) => out.push(c),
            Key::F(n) => out.extend(["F".to_owned(), n.to_string()]),
            Key::BackTab => out.push_str("Shift+Tab"),
            Key::PageUp => out.push_str("PgUp"),
            Key::PageDown => out.push_str("PgDn"),
            Key::Up => out.push('↑'),
            Key::Down => out.push('↓'),
            Key::Left => out.push('←'),
            Key::Right => out.push('→'),
            key => {
                let name = NAMED.iter().find(|(_, named)| *named == key).map_or("", |(name, _)| name);
                let mut chars = name.chars();
                out.extend(chars.next().map(|c| c.to_ascii_uppercase()));
                out.push_str(chars.as_str());
            }
        }
        f.pad(&out)
    }
}

/// A line of the key table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Binding {
    /// The key, or a sequence of keys.
    pub on: Strokes,
    pub run: Action,
    /// The place where the binding is active.
    pub when: KeyPlace,
}

/// The effect of the keys pressed so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The keys are bound to an action.
    Run(Action),
    /// A bound sequence starts with the keys.
    More,
    /// The keys are not bound.
    Nothing,
}

/// The key table, with the problems found while it was read.
#[derive(Clone, Debug, Default)]
pub struct Keymap {
    bindings: Vec<Binding>,
    problems: Vec<String>,
    leader: Option<Chord>,
    avoided: Option<Chord>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// The first key of sequences. A different leader moves all sequences that start with the built-in leader.
    leader: Option<String>,
    #[serde(default)]
    bind: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    on: String,
    run: String,
    when: KeyPlace,
    /// A note for readers of the file; the screen shows the action's own description.
    #[serde(default, rename = "desc")]
    _desc: String,
}

impl Keymap {
    /// The built-in table.
    pub fn built_in() -> Self {
        Self::load(None)
    }

    /// Reads the built-in table and, over it, the user's table. Never fails: bindings that cannot be used are skipped
    /// and reported in [`Keymap::problems`]. In the user's file, `run = "none"` frees a key.
    pub fn load(own: Option<&str>) -> Self {
        let mut map = Self::default();
        map.read(DEFAULT, "the built-in key table", false);
        if let Some(text) = own {
            map.read(text, "your keymap.toml", true);
        }
        map
    }

    /// Sentences about bindings that were skipped, or that hide one another.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// All bindings.
    pub fn bindings(&self) -> &[Binding] {
        &self.bindings
    }

    /// Returns the action of a chord in the first of `places` that binds the chord.
    pub fn find(&self, on: Chord, places: &[KeyPlace]) -> Option<Action> {
        if let Step::Run(action) = self.step(&[on], places) { Some(action) } else { None }
    }

    /// Returns the effect of a key sequence in the first of `places` that binds the sequence or a longer one.
    pub fn step(&self, typed: &[Chord], places: &[KeyPlace]) -> Step {
        for place in places {
            for binding in self.bindings.iter().filter(|b| b.when == *place) {
                if binding.on.is(typed) {
                    return Step::Run(binding.run);
                }
                if binding.on.continues(typed) {
                    return Step::More;
                }
            }
        }
        Step::Nothing
    }

    /// Returns the bindings that continue after these keys, each with its next key, in the order of the table. Each key
    /// occurs once.
    pub fn continuations(&self, typed: &[Chord], places: &[KeyPlace]) -> Vec<(Chord, &Binding)> {
        let mut found: Vec<(Chord, &Binding)> = Vec::new();
        for place in places {
            for binding in self.bindings.iter().filter(|b| b.when == *place && b.on.continues(typed)) {
                if let Some(next) = binding.on.after(typed.len()).filter(|next| found.iter().all(|(on, _)| on != next))
                {
                    found.push((next, binding));
                }
            }
        }
        found
    }

    /// Returns the key of an action for display: single keys before sequences, then the first binding of the table.
    pub fn key_of(&self, action: Action) -> Option<String> {
        self.best(|binding| binding.run == action).map(|binding| binding.on.to_string())
    }

    /// Makes [`Keymap::best`] prefer another key over this one, because something outside the program intercepts it, as
    /// tmux intercepts Ctrl+B. The key itself still works.
    pub fn avoid(&mut self, chord: Chord) {
        self.avoided = Some(chord);
    }

    /// Returns the matching binding to display: single keys before sequences, an avoided key last, then
    /// the first of the table.
    pub fn best(&self, wanted: impl Fn(&Binding) -> bool) -> Option<&Binding> {
        let avoided = |b: &Binding| self.avoided.is_some_and(|chord| b.on.is(&[chord]));
        self.bindings.iter().filter(|b| wanted(b)).min_by_key(|b| (b.on.count() > 1, avoided(b)))
    }

    /// Returns the key of an action for a sentence, or its command if it has no key.
    pub fn key(&self, action: Action) -> String {
        self.key_of(action).unwrap_or_else(|| format!("/{}", action.name()))
    }

    /// Returns the key of an action in a place, or else [`Keymap::key`].
    pub fn key_in(&self, action: Action, when: KeyPlace) -> String {
        // Every screen names the same key for leaving, although a panel may have one more.
        let bound = self.best(|b| b.run == action && b.when == when && action != Action::Leave);
        bound.map_or_else(|| self.key(action), |binding| binding.on.to_string())
    }

    /// Returns the places where an action works if all of them are on screens and none is in `here`.
    pub fn elsewhere(&self, action: Action, here: &[KeyPlace]) -> Vec<KeyPlace> {
        let mut places: Vec<KeyPlace> = self.bindings.iter().filter(|b| b.run == action).map(|b| b.when).collect();
        places.dedup();
        if places.iter().any(|place| !place.is_on_screen() || here.contains(place)) {
            places.clear();
        }
        places
    }

    /// Returns the key of the action with this name, or the name itself if the action has no key.
    pub fn key_named(&self, name: &str) -> String {
        Action::from_name(name).and_then(|action| self.key_of(action)).unwrap_or_else(|| name.to_owned())
    }

    fn read(&mut self, text: &str, source: &str, over: bool) {
        let file: File = match toml::from_str(text) {
            Ok(file) => file,
            Err(why) => {
                self.problems.push(format!("Ignored {source}: {}", why.to_string().trim_end()));
                return;
            }
        };
        if let Some(leader) = &file.leader {
            self.set_leader(leader, source);
        }
        let mut fresh: Vec<Binding> = Vec::new();
        for entry in file.bind {
            match self.entry(&entry, source, over) {
                Ok(Some(binding)) => self.add(binding, &mut fresh, source),
                Ok(None) => {}
                Err(problem) => self.problems.push(problem),
            }
        }
        self.bindings.splice(0..0, fresh);
    }

    /// Changes the first key of all sequences that start with the built-in leader.
    fn set_leader(&mut self, leader: &str, source: &str) {
        let new = match leader.parse::<Chord>() {
            Ok(new) if new.terminal_twin().is_none() && new.typed().is_none() => new,
            _ => {
                self.problems.push(format!("{source}: {leader:?} can't be the leader key. The setting was ignored."));
                return;
            }
        };
        if let Some(old) = self.leader.replace(new) {
            self.bindings.iter_mut().for_each(|binding| binding.on.replace_leader(old, new));
            let lone = |b: &Binding| b.on.is(&[new]) && b.when == KeyPlace::Always;
            self.bindings.retain(|b| !lone(b));
        }
    }

    fn entry(&mut self, entry: &Entry, source: &str, over: bool) -> Result<Option<Binding>, String> {
        let on: Strokes = entry.on.parse().map_err(|why| format!("{source}: {why}. The binding was skipped."))?;
        if let Some(twin) = on.chords().find_map(|chord| chord.terminal_twin()) {
            return Err(format!("{source}: {on} can't be bound, because terminals send {twin} for it."));
        }
        if over {
            self.bindings.retain(|b| !(b.on.is_prefix_of_either(on) && b.when == entry.when));
        }
        if entry.run == "none" {
            return Ok(None);
        }
        let unknown = || format!("{source}: unknown action {:?}. The binding of {on} was skipped.", entry.run);
        let run = Action::from_name(&entry.run).ok_or_else(unknown)?;
        if run.name() != entry.run {
            let now = run.name();
            self.problems.push(format!("{source}: {:?} is now {now:?}. The earlier name still works.", entry.run));
        }
        Ok(Some(Binding { on, run, when: entry.when }))
    }

    fn add(&mut self, binding: Binding, fresh: &mut Vec<Binding>, source: &str) {
        let clash = |b: &&Binding| {
            b.on.is_prefix_of_either(binding.on)
                && (b.run != binding.run || b.on != binding.on)
                && (b.when == binding.when || b.when == KeyPlace::Always || binding.when == KeyPlace::Always)
        };
        if let Some(other) = fresh.iter().chain(&self.bindings).find(clash) {
            let does = |b: &Binding| format!("{} ({})", b.run.name(), b.when.title());
            let (one, two) = (does(other), does(&binding));
            self.problems.push(if other.on == binding.on {
                format!("{source}: {} is bound to both {one} and {two}. The second binding was skipped.", binding.on)
            } else {
                format!(
                    "{source}: {}, {two}, and {}, {one}, start with the same keys. The first binding was skipped.",
                    binding.on, other.on
                )
            });
            return;
        }
        fresh.push(binding);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_names_of_actions_and_places_still_work() {
        let map = Keymap::load(Some(r#"bind = [{ on = "K", run = "edit-thing", when = "workshop" }]"#));
        assert!(
            map.bindings()
                .iter()
                .any(|b| b.run == Action::EditText && b.when == KeyPlace::Editors && b.on.to_string() == "K")
        );
        let notice = r#"your keymap.toml: "edit-thing" is now "edit-text". The earlier name still works."#;
        assert_eq!(map.problems(), [notice]);
    }

    #[test]
    fn the_built_in_table_is_clean() {
        let map = Keymap::built_in();
        assert_eq!(map.problems(), &[] as &[String]);
        assert!(map.bindings().len() > 60);
        assert!(!DEFAULT.contains("desc"), "the sentences stand with the actions");
        assert_eq!(map.key_of(Action::CycleMode).as_deref(), Some("Ctrl+F"));
        assert_eq!(map.key_named("no-such-thing"), "no-such-thing");
    }

    #[test]
    fn conflicts_and_terminal_twins_are_reported() {
        let map = Keymap::load(Some(
            "[[bind]]\non = \"ctrl-m\"\nrun = \"send\"\nwhen = \"composer\"\n\
             [[bind]]\non = \"alt-f12\"\nrun = \"pin\"\nwhen = \"panel\"\n\
             [[bind]]\non = \"alt-f12\"\nrun = \"help\"\nwhen = \"always\"\n\
             [[bind]]\non = \"f8\"\nrun = \"fly\"\nwhen = \"always\"\n",
        ));
        assert_eq!(map.problems().len(), 3, "{:?}", map.problems());
        assert!(map.problems()[0].contains("Enter"));
        assert!(map.problems()[1].contains("bound to both pin"));
        assert!(map.problems()[2].contains("fly"));
    }

    #[test]
    fn conflicting_key_sequences_are_reported() {
        let bind = |on: &str, run: &str| format!("[[bind]]\non = \"{on}\"\nrun = \"{run}\"\nwhen = \"panel\"\n");
        let map = Keymap::load(Some(&(bind("alt-f11 a", "pin") + &bind("alt-f11", "help") + &bind("ctrl-x", "copy"))));
        assert_eq!(map.problems().len(), 2, "{:?}", map.problems());
        assert!(
            map.problems()[0].contains("F11") && map.problems()[0].contains("start with the same keys"),
            "{:?}",
            map.problems()
        );
        assert!(map.problems()[1].contains("Ctrl+X"), "a place does not hide the leader everywhere");
    }

    #[test]
    fn key_sequences_are_matched_key_by_key() {
        let map = Keymap::built_in();
        let chord = |text: &str| text.parse::<Chord>().unwrap();
        let (x, t) = (chord("ctrl-x"), chord("T"));
        let here = [KeyPlace::Composer, KeyPlace::Always];
        assert_eq!(map.step(&[x], &here), Step::More);
        assert_eq!(map.step(&[x, t], &here), Step::Run(Action::Themes));
        assert_eq!(map.step(&[x, chord("f12")], &here), Step::Nothing);
        let next = map.continuations(&[x], &here);
        assert!(next.len() > 15 && next.iter().any(|(on, b)| *on == t && b.run == Action::Themes));
        let moved = Keymap::load(Some("leader = \"ctrl-k\""));
        assert_eq!(moved.problems(), &[] as &[String]);
        assert_eq!(moved.step(&[chord("ctrl-k"), t], &here), Step::Run(Action::Themes));
        assert_eq!(moved.step(&[x], &here), Step::Nothing);
        assert_eq!(Keymap::load(Some("leader = \"a\"")).problems().len(), 1);
    }

    #[test]
    fn a_users_key_table_overrides_the_built_in_one() {
        let own = "[[bind]]\non = \"p\"\nrun = \"exclude\"\nwhen = \"overlay\"\n\
                   [[bind]]\non = \"alt-c\"\nrun = \"none\"\nwhen = \"always\"\n";
        let map = Keymap::load(Some(own));
        let p = Chord::plain(Key::Char('p'));
        assert_eq!(map.find(p, &[KeyPlace::Overlay, KeyPlace::Panel]), Some(Action::Exclude));
        assert_eq!(map.find(p, &[KeyPlace::Conversation, KeyPlace::Panel]), Some(Action::Pin));
        assert_eq!(map.find("alt-c".parse().unwrap(), &[KeyPlace::Always]), None);
        let broken = Keymap::load(Some("[[bind]\non = 3"));
        assert!(broken.problems()[0].contains("line 1"), "{:?}", broken.problems());
        assert!(broken.bindings().len() > 60);
    }

    #[test]
    fn chords_read_and_show() {
        for (text, shown) in [("ctrl-f", "Ctrl+F"), ("shift-tab", "Shift+Tab"), ("G", "G"), ("f12", "F12")] {
            assert_eq!(text.parse::<Chord>().unwrap().to_string(), shown);
        }
        assert!("f13".parse::<Chord>().is_err());
        assert!("ctrl-".parse::<Chord>().is_err());
    }
}
