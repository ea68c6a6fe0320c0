//! Renders terminal output as an SVG picture.
//! Not for: recordings (`cast`).

use std::fmt::Write as _;
use std::num::NonZero;
use vt100::{Cell, Color, Parser};

/// The width and height of a cell.
const CELL: (f64, f64) = (8.4, 18.0);
/// The margin around the screen.
const EDGE: f64 = 12.0;

/// The common style of a run of cells: both colors, bold, italic, underlined.
type Look = (String, Option<String>, bool, bool, bool);

/// The picture of a screen with a number of columns and rows, and default colors for text and background.
pub(crate) fn svg(raw: &[u8], (columns, rows): (u16, u16), (text, ground): (&str, &str)) -> String {
    let cells = |n: u16| NonZero::new(n).expect("a screen has cells");
    let mut parser = Parser::new(cells(rows), cells(columns), 0);
    parser.process(raw);
    let (width, height) = (f64::from(columns) * CELL.0 + 2.0 * EDGE, f64::from(rows) * CELL.1 + 2.0 * EDGE);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" font-size=\"14\" \
         font-family=\"'DejaVu Sans Mono',Menlo,Consolas,monospace\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{ground}\"/>\n"
    );
    for row in 0..rows {
        let mut runs: Vec<(u16, String, Look)> = Vec::new();
        for column in 0..columns {
            let Some(cell) = parser.screen().cell(row, column).filter(|cell| !cell.is_wide_continuation()) else {
                continue;
            };
            let look = look(cell, text, ground);
            let words = if cell.has_contents() { cell.contents() } else { " " };
            match runs.last_mut() {
                Some((_, run, last)) if *last == look => run.push_str(words),
                _ => runs.push((column, words.to_owned(), look)),
            }
        }
        for run in &runs {
            put(&mut out, row, run);
        }
    }
    out + "</svg>\n"
}

fn put(out: &mut String, row: u16, (column, words, (ink, behind, bold, italic, under)): &(u16, String, Look)) {
    let (x, y) = (EDGE + f64::from(*column) * CELL.0, EDGE + f64::from(row) * CELL.1);
    let wide = f64::from(u32::try_from(words.chars().count()).unwrap()) * CELL.0;
    if let Some(behind) = behind {
        let _ = writeln!(
            out,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{}\" fill=\"{behind}\"/>",
            CELL.1
        );
    }
    if words.trim().is_empty() {
        return;
    }
    let mut style = String::new();
    for (on, words) in
        [(bold, " font-weight=\"bold\""), (italic, " font-style=\"italic\""), (under, " text-decoration=\"underline\"")]
    {
        if *on {
            style.push_str(words);
        }
    }
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{:.1}\" fill=\"{ink}\" textLength=\"{wide:.1}\" xml:space=\"preserve\"{style}>{words}</text>",
        y + 13.5
    );
}

fn look(cell: &Cell, text: &str, ground: &str) -> Look {
    let named = |color: Color| match color {
        Color::Rgb(r, g, b) => Some(format!("#{r:02x}{g:02x}{b:02x}")),
        Color::Default | Color::Idx(_) => None,
    };
    let (mut ink, mut behind) = (named(cell.fgcolor()).unwrap_or_else(|| text.to_owned()), named(cell.bgcolor()));
    if cell.inverse() {
        (ink, behind) = (behind.unwrap_or_else(|| ground.to_owned()), Some(ink));
    }
    let behind = behind.filter(|behind| behind != ground);
    (ink, behind, cell.bold(), cell.italic(), cell.underline())
}
