//! Reads the headings of Markdown: `#` lines, underlined lines, and HTML headings on one line; none in code blocks or
//! in the settings at the top of a file.
//! Not for: settings (`toml`, `yaml`).

use super::{Line, Outline, lines};
use crate::domain::code::Kind;

/// Reads a document.
pub(super) fn read(outline: &mut Outline<'_>, text: &[u8]) {
    let mut lines = lines(text).peekable();
    if lines.peek().is_some_and(|line| line.text.trim_end() == "---") {
        skip_front_matter(outline, &mut lines);
    }
    let mut fence: Option<(char, usize)> = None;
    while let Some(line) = lines.next() {
        if let Some((mark, length)) = fence_of(&line.text) {
            let closes = fence.is_none_or(|(open, least)| {
                open == mark && length >= least && line.text.trim().chars().all(|c| c == mark)
            });
            if closes {
                fence = if fence.is_some() { None } else { Some((mark, length)) };
            }
            outline.body(&line);
            continue;
        }
        let level = || heading(&line.text).or_else(|| html_heading(&line.text));
        let found = if fence.is_some() { None } else { level() };
        let underline = || lines.peek().and_then(|next| underline(&line.text, &next.text));
        match found.or_else(|| fence.is_none().then(underline).flatten().map(|level| (level, line.text.trim().into())))
        {
            Some((level, title)) => {
                let title = plain(&title);
                outline.begin((Kind::Section, level), &title, &line, "");
                if heading(&line.text).is_none() && lines.peek().is_some_and(|next| is_rule(&next.text)) {
                    lines.next();
                }
            }
            None => outline.body(&line),
        }
    }
}

/// Adds the settings at the top of a file to the file.
fn skip_front_matter<'a>(outline: &mut Outline<'_>, lines: &mut impl Iterator<Item = Line<'a>>) {
    lines.next();
    for line in lines {
        if matches!(line.text.trim_end(), "---" | "...") {
            return;
        }
        outline.body(&line);
    }
}

/// Returns the mark and length of a line that opens or closes a block of code.
fn fence_of(line: &str) -> Option<(char, usize)> {
    let bare = line.trim_start();
    let mark = bare.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let length = bare.chars().take_while(|c| *c == mark).count();
    let is_inline = mark == '`' && bare[length..].contains('`');
    (length >= 3 && !is_inline).then_some((mark, length))
}

/// Returns the level and the title of a `#` line.
fn heading(line: &str) -> Option<(usize, String)> {
    let bare = line.trim_start_matches(' ');
    let level = bare.bytes().take_while(|byte| *byte == b'#').count();
    let rest = &bare[level..];
    let is_heading = (1..=6).contains(&level) && line.len() - bare.len() < 4 && rest.starts_with([' ', '\t']);
    is_heading.then(|| (level, rest.trim().trim_end_matches('#').trim_end().to_owned()))
}

/// Returns the level and the title of an HTML heading.
fn html_heading(line: &str) -> Option<(usize, String)> {
    let bare = line.trim();
    let level = bare.strip_prefix("<h").or_else(|| bare.strip_prefix("<H"))?.chars().next()?.to_digit(10)?;
    let is_heading = (1..=6).contains(&level) && bare.contains("</");
    is_heading.then(|| (level as usize, bare.to_owned()))
}

/// Returns the level of a line that the next line underlines.
fn underline(line: &str, next: &str) -> Option<usize> {
    let bare = line.trim();
    let is_text = bare.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '`' | '[' | '_' | '('))
        && !line.starts_with(['\t', ' '])
        && !bare.contains('|');
    let level = if next.starts_with('=') { 1 } else { 2 };
    (is_text && is_rule(next)).then_some(level)
}

/// Returns whether a line underlines the previous line.
fn is_rule(line: &str) -> bool {
    let bare = line.trim_end();
    bare.len() > 1 && (bare.bytes().all(|byte| byte == b'=') || bare.bytes().all(|byte| byte == b'-'))
}

/// Returns a title without its markup.
fn plain(title: &str) -> String {
    let mut out = String::new();
    let mut until: Option<char> = None;
    let mut chars = title.chars().peekable();
    while let Some(c) = chars.next() {
        match until {
            Some(end) if c == end => until = None,
            Some(_) => {}
            None => match c {
                '<' => until = Some('>'),
                '{' if chars.peek() == Some(&'#') => until = Some('}'),
                ']' if chars.peek() == Some(&'(') => until = Some(')'),
                '[' | ']' | '`' | '*' => {}
                '!' if chars.peek() == Some(&'[') => {}
                _ => out.push(c),
            },
        }
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}
