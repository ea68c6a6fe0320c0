//! Sends links to the terminal (OSC 8) with the cells that belong to them, if the terminal supports links.
//! Not for: finding cells with links (`text::links`), or checking addresses (`text::rich`).

use crate::tui::text::links::Links;
use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use ratatui::style::Color;
use std::io::{self, Write};
use std::rc::Rc;

/// Cells of one frame with the same address, or without one.
type Run = (Option<Rc<str>>, Vec<(u16, u16, Cell)>);

/// A backend that draws cells with their links.
pub(crate) struct LinkingBackend<W: Write> {
    inner: CrosstermBackend<W>,
    links: Option<Links>,
}

impl<W: Write> LinkingBackend<W> {
    /// Creates the backend; without a table of links it sends none.
    pub(crate) fn new(out: W, links: Option<Links>) -> Self {
        Self { inner: CrosstermBackend::new(out), links }
    }
}

/// Whether the terminal is known to handle OSC 8, according to its environment. Multiplexers may not pass it on.
pub(crate) fn known(env: &dyn Fn(&str) -> Option<String>) -> bool {
    let value = |name: &str| env(name).unwrap_or_default();
    let term = value("TERM");
    if env("TMUX").is_some()
        || env("STY").is_some()
        || ["screen", "tmux", "dumb", "linux"].iter().any(|t| term.starts_with(t))
    {
        return false;
    }
    let programs = ["iTerm.app", "WezTerm", "ghostty", "vscode", "Hyper", "rio", "Tabby"];
    let terms = ["xterm-kitty", "xterm-ghostty", "foot", "alacritty", "wezterm", "contour"];
    programs.contains(&value("TERM_PROGRAM").as_str())
        || terms.iter().any(|known| term.starts_with(known))
        || ["KITTY_WINDOW_ID", "WT_SESSION", "KONSOLE_VERSION", "DOMTERM"].iter().any(|name| env(name).is_some())
        || value("VTE_VERSION").parse::<u32>().is_ok_and(|version| version >= 5_000)
}

/// Groups cells by address and removes the numbers that encode them.
fn runs<'a>(links: &Links, content: impl Iterator<Item = (u16, u16, &'a Cell)>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (x, y, cell) in content {
        let mut cell = cell.clone();
        let address = match cell.underline_color {
            Color::Rgb(a, b, c) => links.address([a, b, c]),
            _ => None,
        };
        cell.underline_color = Color::Reset;
        match runs.last_mut() {
            Some((last, cells)) if *last == address => cells.push((x, y, cell)),
            _ => runs.push((address, vec![(x, y, cell)])),
        }
    }
    runs
}

impl<W: Write> Backend for LinkingBackend<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut content = content.peekable();
        if content.peek().is_none() {
            return Ok(());
        }
        let Some(links) = self.links.clone() else { return self.inner.draw(content) };
        for (address, cells) in runs(&links, content) {
            let cells = cells.iter().map(|(x, y, cell)| (*x, *y, cell));
            match address {
                Some(address) => {
                    write!(self.inner, "\x1b]8;;{address}\x1b\\")?;
                    self.inner.draw(cells)?;
                    write!(self.inner, "\x1b]8;;\x1b\\")?;
                }
                None => self.inner.draw(cells)?,
            }
        }
        Ok(())
    }

    /// Does nothing: the cursor is hidden from entering the screen to leaving it (`terminal`).
    fn hide_cursor(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.inner.show_cursor()
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        self.inner.get_cursor_position()
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.inner.set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.inner.clear()
    }

    fn clear_region(&mut self, clear_type: ClearType) -> io::Result<()> {
        self.inner.clear_region(clear_type)
    }

    fn size(&self) -> io::Result<Size> {
        self.inner.size()
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        self.inner.window_size()
    }

    fn flush(&mut self) -> io::Result<()> {
        Backend::flush(&mut self.inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;

    #[test]
    fn linked_cells_are_written_between_their_escapes() {
        let links = Links::default();
        let [a, b, c] = links.number(&Rc::from("https://a.example")).unwrap();
        let mut buf = Buffer::empty(Rect::new(0, 0, 5, 1));
        buf.set_string(0, 0, "a bc", ratatui::style::Style::default());
        buf[(2, 0)].underline_color = Color::Rgb(a, b, c);
        let mut out = Vec::new();
        let cells = |buf: &Buffer| (0..4_u16).map(|x| (x, 0, buf[(x, 0)].clone())).collect::<Vec<_>>();
        let cells = cells(&buf);
        let mut backend = LinkingBackend::new(&mut out, Some(links));
        backend.draw(cells.iter().map(|(x, y, cell)| (*x, *y, cell))).unwrap();
        let written = String::from_utf8(out).unwrap();
        let start = written.find("\x1b]8;;https://a.example\x1b\\").unwrap();
        let end = written.find("\x1b]8;;\x1b\\").unwrap();
        assert!(written[start..end].contains('b') && !written[..start].contains('b'), "{written:?}");
        assert!(written[end..].contains('c'));
        assert!(!written.contains("58;2") && !written.contains("58:2"), "the number is not a color: {written:?}");
    }

    #[test]
    fn only_known_terminals_get_links() {
        let env = |pairs: &[(&str, &str)]| {
            let pairs: Vec<(String, String)> = pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
            known(&move |name: &str| pairs.iter().find(|(k, _)| k == name).map(|(_, v)| v.clone()))
        };
        assert!(env(&[("TERM", "xterm-kitty")]) && env(&[("VTE_VERSION", "7600"), ("TERM", "xterm-256color")]));
        assert!(!env(&[("TERM", "xterm-256color")]) && !env(&[]));
        assert!(!env(&[("TERM", "tmux-256color"), ("VTE_VERSION", "7600")]));
        assert!(!env(&[("TERM", "xterm-kitty"), ("TMUX", "/tmp/x")]));
    }
}
