//! Cuts a JSON array into its elements without understanding them, so that one broken element does not spoil the rest.
//! Not for: reading the elements.

/// The elements of the array at the start of a text, in order; a cut-off last one comes as far as it goes.
pub(super) struct Elements<'a> {
    rest: &'a str,
}

impl<'a> Elements<'a> {
    /// For a text that begins with `[`.
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text.strip_prefix('[').unwrap_or(text) }
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        loop {
            self.rest = self.rest.trim_start();
            if self.rest.is_empty() || self.rest.starts_with(']') {
                return None;
            }
            let end = element_end(self.rest.as_bytes());
            let (element, rest) = self.rest.split_at(end);
            self.rest = rest.strip_prefix(',').unwrap_or(rest);
            let element = element.trim_end();
            if !element.is_empty() {
                return Some(element);
            }
        }
    }
}

/// Where the element at the start ends: at a comma or the array's end on its own level. All marks are ASCII, so the
/// place is always a character's border.
fn element_end(bytes: &[u8]) -> usize {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, byte) in bytes.iter().enumerate() {
        if quoted {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => quoted = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => quoted = true,
            b'{' | b'[' => depth += 1,
            b']' | b',' if depth == 0 => return at,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::Elements;

    #[test]
    fn cuts_at_the_right_commas() {
        let text = r#"[ {"a":"],\"{"}, [1,[2]] ,3,, {"cut": "off"#;
        let found: Vec<&str> = Elements::new(text).collect();
        assert_eq!(found, [r#"{"a":"],\"{"}"#, "[1,[2]]", "3", r#"{"cut": "off"#]);
        assert_eq!(Elements::new("[]").count(), 0);
        assert_eq!(Elements::new("[1] trailing").count(), 1);
    }
}
