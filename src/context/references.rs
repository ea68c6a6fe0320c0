//! Finds the references in a text: turns by number, messages by id, quoted words, and the paths and symbols it names.
//! Not for: resolving references (`engine`) or deciding their effect (`activation`).

use std::collections::BTreeSet;

/// Maximum names read from one text.
const MAX_NAMES: usize = 8;
/// Maximum symbols read from one text.
const MAX_SYMBOLS: usize = 400;
/// Minimum and maximum characters of a quotation; shorter ones would match everywhere.
const QUOTATION_CHARS: (usize, usize) = (20, 300);
const MIN_QUOTATION_WORDS: usize = 4;
const MIN_SYMBOL_CHARS: usize = 4;
/// A name that this many items of a call contain identifies none of them.
pub const SHARED: usize = 3;

/// Returns the references in a text, in order and without repetitions: `turn 7`, ids such as `#1a2b3c4d` (without the
/// `#`), and quoted words. Ignores code blocks. At most eight references are returned.
pub fn find_references(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            numbers(line, &mut found);
            ids(line, &mut found);
            quotations(line, &mut found);
        }
    }
    let mut seen = BTreeSet::new();
    found.retain(|name| seen.insert(name.clone()));
    found.truncate(MAX_NAMES);
    found
}

fn numbers(line: &str, found: &mut Vec<String>) {
    let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    for pair in words.windows(2) {
        let number = pair[1].parse::<u32>().ok().filter(|number| *number > 0);
        if let Some(number) = number.filter(|_| pair[0].eq_ignore_ascii_case("turn")) {
            found.push(format!("turn {number}"));
        }
    }
}

fn ids(line: &str, found: &mut Vec<String>) {
    let words = line.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '#')));
    for word in words {
        let id = word.trim_start_matches('#');
        let hex = id.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
        let digits = id.chars().filter(char::is_ascii_digit).count();
        if hex && id.len() >= 8 && digits > 0 && digits < id.len() {
            found.push(id.to_owned());
        }
    }
}

fn quotations(line: &str, found: &mut Vec<String>) {
    let mut add = |text: &str| {
        let text = text.trim();
        let has_length = (QUOTATION_CHARS.0..=QUOTATION_CHARS.1).contains(&text.chars().count());
        if has_length && text.split_whitespace().count() >= MIN_QUOTATION_WORDS {
            found.push(text.to_owned());
        }
    };
    if let Some(quoted) = line.trim_start().strip_prefix('>') {
        add(quoted);
        return;
    }
    let pieces: Vec<&str> = line.split(['"', '“', '”']).collect();
    pieces.iter().enumerate().filter(|(at, _)| at % 2 == 1 && at + 1 < pieces.len()).for_each(|(_, piece)| add(piece));
}

/// Returns the paths and symbols in a text: whole tokens of four characters or more that contain `_`, `/`, `::`, a dot,
/// or an inner capital letter, or mix letters and digits.
pub fn symbols(text: &str) -> BTreeSet<String> {
    all_symbols(text).take(MAX_SYMBOLS).map(str::to_owned).collect()
}

/// Returns all paths and symbols in the order of the text, with repetitions.
pub fn all_symbols(text: &str) -> impl Iterator<Item = &str> {
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '/' | '\\' | '.' | ':' | '-');
    let tokens = text.split(move |c: char| !inside(c)).map(|token| token.trim_matches(['.', ':', '-', '/']));
    tokens.filter(|token| token.chars().count() >= MIN_SYMBOL_CHARS && is_symbol(token))
}

/// Returns the items whose texts contain one of these names, ignoring names that [`SHARED`] or more items contain.
pub fn holders<T: Ord>(texts: &[(usize, BTreeSet<T>)], names: &BTreeSet<T>) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    for name in names {
        let of: BTreeSet<usize> = texts.iter().filter(|(_, own)| own.contains(name)).map(|(item, _)| *item).collect();
        if of.len() < SHARED {
            found.extend(of);
        }
    }
    found
}

fn is_symbol(token: &str) -> bool {
    if token.contains("://") || !token.chars().any(char::is_alphabetic) {
        return false;
    }
    let marked = token.contains(['_', '/', '\\']) || token.contains("::");
    let dotted = token.split('.').count() > 1 && token.split('.').all(|part| part.chars().any(char::is_alphanumeric));
    let lower = token.chars().any(char::is_lowercase);
    let capital = token.chars().skip(1).any(char::is_uppercase) && lower && !token.contains('-');
    let mixed = token.starts_with(char::is_alphabetic) && token.chars().any(|c| c.is_ascii_digit());
    marked || dotted || capital || mixed
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_ids_and_quotations_are_references() {
        let text = "As in turn 7 (and Turn #12), see #1a2b3c4d.\n> the words that were said before\nHe wrote \"a b c\" and \
                    “these are the words that I mean”.\n```\nturn 9\n```\nin return 5, a deadbeef and 12345678";
        let wanted =
            ["turn 7", "turn 12", "1a2b3c4d", "the words that were said before", "these are the words that I mean"];
        assert_eq!(find_references(text), wanted);
        assert!(find_references("turn 0, turning 5, my turn, \"unfinished quotation of many words").is_empty());
    }

    #[test]
    fn symbols_are_distinguished_from_words() {
        let text = "Call `parse_header(x)` of src/wire.rs, then Foo::bar_2, readFile, utf8, main.py; not e.g. this, \
                    https://example.org or A-Team, 3.14, end.";
        let found: Vec<String> = symbols(text).into_iter().collect();
        assert_eq!(found, ["Foo::bar_2", "main.py", "parse_header", "readFile", "src/wire.rs", "utf8"]);
    }

    #[test]
    fn a_common_symbol_identifies_no_item() {
        let set = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<BTreeSet<_>>();
        let texts = [(0, set(&["a_b", "main.rs"])), (1, set(&["main.rs"])), (4, set(&["main.rs", "c_d"]))];
        assert_eq!(holders(&texts, &set(&["main.rs"])), BTreeSet::new());
        assert_eq!(holders(&texts, &set(&["a_b", "c_d", "e_f"])), [0, 4].into());
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC{0,200}") {
            prop_assert!(find_references(&text).len() <= MAX_NAMES);
            prop_assert!(symbols(&text).iter().all(|symbol| text.contains(symbol.as_str())));
        }
    }
}
