//! Splits terminal output into tokens as a terminal reads them.
//! Not for: drawing.

/// A token of terminal output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Token {
    /// A printed character.
    Text(char),
    /// A control character: C0, C1, or DEL.
    Control(u32),
    /// The body of `ESC [ …`.
    Csi(String),
    /// The body of `ESC ] …`, without its terminator.
    Osc(String),
    /// A control string: DCS, SOS, PM, or APC.
    Device(u8),
    /// Another escape sequence, by its last byte.
    Escape(String),
    /// A byte that is not UTF-8.
    Broken(u8),
}

/// The first token and its length, or `None` when it is incomplete.
pub(crate) fn lex(bytes: &[u8]) -> Option<(Token, usize)> {
    let first = *bytes.first()?;
    if first != 0x1b {
        return text(bytes);
    }
    match *bytes.get(1)? {
        b'[' => {
            let length = bytes[2..].iter().position(|byte| (0x40..=0x7e).contains(byte))?;
            let body = String::from_utf8_lossy(&bytes[2..=2 + length]).into_owned();
            Some((Token::Csi(body), 3 + length))
        }
        kind @ (b']' | b'P' | b'X' | b'^' | b'_') => {
            let (length, end) = string_end(&bytes[2..])?;
            let body = String::from_utf8_lossy(&bytes[2..2 + length]).into_owned();
            Some((if kind == b']' { Token::Osc(body) } else { Token::Device(kind) }, 2 + length + end))
        }
        _ => {
            let length = bytes[1..].iter().position(|byte| !(0x20..=0x2f).contains(byte))?;
            Some((Token::Escape(String::from_utf8_lossy(&bytes[1..=1 + length]).into_owned()), 2 + length))
        }
    }
}

fn string_end(bytes: &[u8]) -> Option<(usize, usize)> {
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            0x07 => return Some((at, 1)),
            0x1b => return bytes.get(at + 1).map(|_| (at, 2)),
            _ => {}
        }
    }
    None
}

fn text(bytes: &[u8]) -> Option<(Token, usize)> {
    let width = match bytes[0] {
        0..0x80 => 1,
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        other => return Some((Token::Broken(other), 1)),
    };
    if bytes.len() < width {
        return None;
    }
    let Some(c) = std::str::from_utf8(&bytes[..width]).ok().and_then(|text| text.chars().next()) else {
        return Some((Token::Broken(bytes[0]), 1));
    };
    Some((if c.is_control() { Token::Control(u32::from(c)) } else { Token::Text(c) }, width))
}

/// All tokens of a complete output.
pub(crate) fn all(mut bytes: &[u8]) -> Vec<Token> {
    let mut tokens = Vec::new();
    while let Some((token, length)) = lex(bytes) {
        tokens.push(token);
        bytes = &bytes[length..];
    }
    if !bytes.is_empty() {
        tokens.push(Token::Escape(format!("unfinished {bytes:?}")));
    }
    tokens
}

/// The tokens that this program has no reason to print. Only cursor movement, colors, clearing, the program's own
/// modes, and text are allowed.
pub(crate) fn foreign(raw: &[u8]) -> Vec<Token> {
    all(raw).into_iter().filter(|token| !known(token)).collect()
}

/// Like [`foreign`] with links enabled: exactly these addresses are allowed too.
pub(crate) fn foreign_except(raw: &[u8], addresses: &[&str]) -> Vec<Token> {
    let given = |token: &Token| match token {
        Token::Osc(body) => body.strip_prefix("8;;").is_some_and(|body| body.is_empty() || addresses.contains(&body)),
        _ => false,
    };
    foreign(raw).into_iter().filter(|token| !given(token)).collect()
}

const MODES: [&str; 15] = [
    "?1049h", "?1049l", "?2004h", "?2004l", "?2026h", "?2026l", "?1004h", "?1004l", "?25h", "?25l", ">1u", "<1u", "2J",
    "22;2t", "23;2t",
];

fn known(token: &Token) -> bool {
    match token {
        Token::Text(c) => !invisible(*c),
        // The query for the background color, and a title with our prefix and no hidden characters.
        Token::Osc(body) => {
            let ours = body.strip_prefix("2;").is_some_and(|title| title.is_empty() || title.starts_with("pleach"));
            body == "11;?" || (ours && body.chars().all(|c| !c.is_control() && !invisible(c)))
        }
        Token::Csi(body) => {
            let numbers = |end: char| {
                body.strip_suffix(end).is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || ";:".contains(c)))
            };
            MODES.contains(&body.as_str()) || numbers('H') || numbers('m')
        }
        _ => false,
    }
}

/// Tags, bidirectional overrides, and other characters that a terminal does not show.
fn invisible(c: char) -> bool {
    matches!(c, '\u{e0000}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}')
}
