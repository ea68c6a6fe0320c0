//! Finds symbols by a part of their name, and extracts a symbol's source.
//! Not for: questions in words (`rank`).

use crate::code::index::records::{File, Index, SymbolId};
use crate::code::symbol::{Symbol, to_u32};
use crate::domain::code::{CodeRef, Kind, Language, NamedSymbol};
use std::path::Path;

/// Maximum characters of an offered name.
const MAX_NAME_CHARS: usize = 120;

/// How well a name matches; smaller is better. Orders by kind of match, then tests and text files last, then short
/// names first.
type Fit = (u8, bool, usize);

/// Returns the symbols that match the typed text, best first. `Type::name` and `Type.name` also match the type around
/// the symbol, or its file.
pub fn find(index: &Index, typed: &str, most: usize) -> Vec<NamedSymbol> {
    let typed = typed.rsplit('#').next().unwrap_or_default();
    let mut parts: Vec<&str> = typed.split([':', '.']).filter(|part| !part.is_empty()).collect();
    let ends = typed.ends_with([':', '.']);
    let last = if ends { "" } else { parts.pop().unwrap_or_default() };
    if last.is_empty() && parts.is_empty() {
        return Vec::new();
    }
    // Symbol ids depend on the order of reading. Ordering by file and position is the same on every machine.
    let mut found: Vec<(Fit, usize, SymbolId)> = Vec::new();
    for file in index.files() {
        for id in file.symbols() {
            let Some((symbol, _)) = index.symbol(id) else { continue };
            if is_offered(symbol)
                && let Some(fit) = fit(&symbol.name, last)
                && (parts.is_empty() || matches_qualifiers(index, id, symbol, file, &parts))
            {
                let is_later = symbol.test || file.test || file.is_text();
                found.push(((fit, is_later, symbol.name.len()), found.len(), id));
            }
        }
    }
    if found.len() > most {
        found.select_nth_unstable(most);
        found.truncate(most);
    }
    found.sort_unstable();
    found.into_iter().filter_map(|(.., id)| named(index, id)).collect()
}

/// Returns whether a name can be typed after an `@`. Names that are not words or are too long cannot.
fn is_offered(symbol: &Symbol) -> bool {
    let name = &symbol.name;
    !matches!(symbol.kind, Kind::File | Kind::Impl | Kind::Prototype) && name.len() <= MAX_NAME_CHARS && is_word(name)
}

/// Returns the kind of match: 0 equal, 1 equal ignoring case, 2 and 3 a prefix, 4 the initials of its words, 5 a
/// substring.
fn fit(name: &str, typed: &str) -> Option<u8> {
    let (name, typed) = (name.as_bytes(), typed.as_bytes());
    if typed.len() > name.len() {
        return None;
    }
    let (head, whole) = (&name[..typed.len()], name.len() == typed.len());
    if head == typed {
        return Some(if whole { 0 } else { 2 });
    }
    if head.eq_ignore_ascii_case(typed) {
        return Some(if whole { 1 } else { 3 });
    }
    if typed.len() > 1 && matches_initials(name, typed) {
        return Some(4);
    }
    let contains = typed.len() > 2 && name.windows(typed.len()).any(|part| part.eq_ignore_ascii_case(typed));
    contains.then_some(5)
}

/// Returns whether the typed letters are the initials of the name's words, starting with the first word.
fn matches_initials(name: &[u8], typed: &[u8]) -> bool {
    let starts = (0..name.len()).filter(|at| {
        let before = at.checked_sub(1).map(|left| name[left]);
        before.is_none_or(|left| left == b'_' || (name[*at].is_ascii_uppercase() && !left.is_ascii_uppercase()))
    });
    let mut initials = starts.map(|at| name[at]);
    typed.iter().all(|letter| initials.next().is_some_and(|first| first.eq_ignore_ascii_case(letter)))
}

/// Returns whether the qualifiers typed before the name match what encloses the symbol, from the inside out.
fn matches_qualifiers(index: &Index, id: SymbolId, symbol: &Symbol, file: &File, parts: &[&str]) -> bool {
    let Some(innermost) = parts.last() else { return true };
    let begins = |name: &str| name.get(..innermost.len()).is_some_and(|head| head.eq_ignore_ascii_case(innermost));
    let mut at = symbol.parent;
    while let Some(parent) = at {
        let Some((enclosing, _)) = index.symbol(file.first + parent) else { break };
        if enclosing.kind != Kind::File && begins(&enclosing.name) {
            return true;
        }
        at = enclosing.parent;
    }
    index.qualified(id).rsplit([':', '.', '>']).skip(1).any(|part| begins(part.trim()))
}

/// Returns a reference to a symbol with the shortest unambiguous name.
pub fn named(index: &Index, id: SymbolId) -> Option<NamedSymbol> {
    let (symbol, file) = index.symbol(id)?;
    let with_type = |id: SymbolId| {
        let (symbol, file) = index.symbol(id)?;
        let separator = file.language.map_or("::", Language::separator);
        let word =
            |enclosing: &&Symbol| !matches!(enclosing.kind, Kind::File | Kind::Module) && is_word(&enclosing.name);
        Some(match index.enclosing(id).filter(word) {
            Some(enclosing) => format!("{}{separator}{}", enclosing.name, symbol.name),
            None => symbol.name.to_string(),
        })
    };
    // Names of code stay short regardless of what text files contain.
    let same = |id: &&SymbolId| index.symbol(**id).is_some_and(|(symbol, file)| is_offered(symbol) && !file.is_text());
    let others: Vec<SymbolId> = index.defined(&symbol.name).iter().filter(same).copied().filter(|o| *o != id).collect();
    // The index does not list definitions of short names, so they cannot be compared.
    let known = !index.defined(&symbol.name).is_empty();
    let short = match with_type(id)? {
        typed if !known || file.is_text() => format!("{}#{typed}", file.shown),
        _ if others.is_empty() => symbol.name.to_string(),
        typed if others.iter().all(|other| with_type(*other).as_ref() != Some(&typed)) => typed,
        typed => format!("{}#{typed}", file.shown),
    };
    Some(NamedSymbol {
        path: file.shown.to_string(),
        short,
        qualified: index.qualified(id),
        kind: symbol.kind,
        lines: symbol.lines,
    })
}

fn is_word(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$')
}

/// Returns the symbol of a file with a qualified name; if there are several, the symbol nearest to a line.
pub fn at(index: &Index, path: &str, qualified: &str, line: u32) -> Option<SymbolId> {
    let file = index.file_at(Path::new(path))?;
    let all = file.symbols().filter(|id| index.qualified(*id) == qualified);
    all.min_by_key(|id| index.symbol(*id).map_or(u32::MAX, |(symbol, _)| symbol.lines.0.abs_diff(line)))
}

/// Returns the stable reference of a symbol, for plan rows and marks.
pub fn reference(index: &Index, id: SymbolId) -> Option<CodeRef> {
    let (symbol, file) = index.symbol(id)?;
    let qualified = index.qualified(id);
    let same = (file.first..id).filter(|other| {
        index.symbol(*other).is_some_and(|(other, _)| other.kind == symbol.kind && other.name == symbol.name)
            && index.qualified(*other) == qualified
    });
    let (path, lines, nth) = (file.shown.to_string(), symbol.lines, to_u32(same.count()));
    Some(CodeRef { path, qualified, kind: symbol.kind, lines, nth, file: file.hash })
}

/// Returns the references of all symbols.
pub fn references(index: &Index) -> impl Iterator<Item = CodeRef> + '_ {
    index.files().flat_map(File::symbols).filter_map(|id| reference(index, id))
}

/// Returns whether a text identifies a symbol: the path of a file, a path with the symbol's first line or its lines
/// (`src/main.rs:10`, `src/main.rs:10-20`), its qualified name, or the end of that.
pub fn is_at(code: &CodeRef, text: &str) -> bool {
    if let Some(lines) = text.strip_prefix(code.path.as_str()) {
        let (first, last) = code.lines;
        return match lines.strip_prefix(':') {
            Some(lines) => {
                let is_first = code.kind != Kind::File && lines == first.to_string();
                is_first || lines == format!("{first}-{last}")
            }
            None => lines.is_empty() && code.kind == Kind::File,
        };
    }
    let is_name = code.kind != Kind::File && !text.is_empty();
    let before = code.qualified.strip_suffix(text).filter(|_| is_name);
    before.is_some_and(|before| before.is_empty() || before.ends_with([':', '.']))
}

/// Returns the current symbol of a reference.
pub fn resolve(index: &Index, wanted: &CodeRef) -> Option<SymbolId> {
    let file = index.file_at(Path::new(&wanted.path))?;
    let same = |id: &SymbolId| {
        index.symbol(*id).is_some_and(|(symbol, _)| symbol.kind == wanted.kind)
            && index.qualified(*id) == wanted.qualified
    };
    file.symbols().filter(same).nth(wanted.nth as usize)
}

/// Returns a range of lines of a text, numbered from 1, with their line ends.
pub fn lines(text: &[u8], (first, last): (u32, u32)) -> String {
    let wanted = text.split_inclusive(|byte| *byte == b'\n').skip(first.saturating_sub(1) as usize);
    let count = (last.saturating_sub(first) as usize).saturating_add(1);
    let bytes: Vec<u8> = wanted.take(count).flatten().copied().collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_by_prefix_initials_or_substring() {
        assert_eq!(fit("put_name", "put_name"), Some(0));
        assert_eq!(fit("PutName", "putname"), Some(1));
        assert_eq!(fit("put_name", "put"), Some(2));
        assert_eq!(fit("PutName", "put"), Some(3));
        assert_eq!(fit("put_name", "pn"), Some(4));
        assert_eq!(fit("PutSomeName", "PSN"), Some(4));
        assert_eq!(fit("put_name", "name"), Some(5));
        assert_eq!([fit("put_name", "xx"), fit("a", "ab"), fit("put_name", "me")], [None; 3]);
    }

    #[test]
    fn lines_are_extracted_unchanged() {
        let text = b"one\ntwo\r\nthree";
        assert_eq!(lines(text, (1, 2)), "one\ntwo\r\n");
        assert_eq!(lines(text, (3, 9)), "three");
        assert_eq!(lines(text, (4, 9)), "");
    }
}
