//! Names of keys in sentences: keys can be bound otherwise, so sentences take their names from the key table.
//! Not for: the key table itself.

/// Files whose strings may name these keys, because the keys are fixed or replaced by those of the table.
const ALLOWED: &[(&str, &[&str])] = &[
    // The keys of the text area.
    ("tui/screens/help/view.rs", &["Ctrl+", "Alt+", "Shift"]),
    // The prefix that footers shorten.
    ("tui/chat/view/composer.rs", &["Ctrl+"]),
    // The phrases in which the workbench names the bound key.
    ("tui/model/keys.rs", &["F5"]),
    ("engine/summaries/automatic.rs", &["F5"]),
];

/// The string literals of a file before its tests.
fn strings(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = lines.collect::<Vec<_>>().join("\n").replace("'\"'", "").replace("\\\"", "'");
    let mut parts = code.split('"');
    while let (Some(_), Some(string)) = (parts.next(), parts.next()) {
        found.push(string.to_owned());
    }
    found
}

/// The names of keys in a string.
fn keys(string: &str) -> Vec<&str> {
    let words = string.split(|c: char| !c.is_alphanumeric() && c != '+' && c != '_');
    let function = |word: &str| word.strip_prefix('F').and_then(|n| n.parse::<u8>().ok()).is_some_and(|n| n <= 12);
    let key = |word: &&str| {
        ["Ctrl+", "Alt+", "Shift+"].iter().any(|prefix| word.starts_with(prefix))
            || ["Esc", "Enter"].contains(word)
            || function(word)
    };
    words.filter(key).collect()
}

/// The fixed keys in the strings of a file.
pub(crate) fn fixed_keys(file: &str, text: &str) -> Vec<String> {
    let room = file.split('/').next().unwrap_or_default();
    if !["tui", "engine", "domain", "context"].contains(&room) {
        return Vec::new();
    }
    let allowed = ALLOWED.iter().find(|(name, _)| *name == file).map_or(&[][..], |(_, keys)| keys);
    let strings = strings(text);
    let named = strings.iter().flat_map(|string| keys(string).into_iter().map(move |key| (key, string)));
    let fixed = named.filter(|(key, _)| !allowed.iter().any(|prefix| key.starts_with(prefix)));
    fixed.map(|(key, string)| format!("{file} names the key {key}: {string:?}")).collect()
}
