//! A recording of what a program wrote to its terminal, in asciicast form (version 2): frames at a calm pace, marks where the
//! steps of a journey begin. The pace is made up, so that the same journey gives a recording of the same length.
//! Not for: playing it.

use std::fmt::Write as _;

/// The end of a frame, as the program writes it.
const END: &[u8] = b"\x1b[?2026l";
/// Seconds from frame to frame, and after a step so that it can be read.
const FRAME: f64 = 0.06;
const READ: f64 = 2.0;

/// A recording.
pub(crate) struct Cast {
    text: String,
    now: f64,
    /// Bytes that were taken in.
    taken: usize,
}

impl Cast {
    /// Of a terminal of this size.
    pub(crate) fn new((columns, rows): (u16, u16), title: &str) -> Self {
        let head = serde_json::json!({ "version": 2, "width": columns, "height": rows, "title": title });
        Self { text: format!("{head}\n"), now: 0.0, taken: 0 }
    }

    /// Takes in what was written since; a step with this name is over.
    pub(crate) fn step(&mut self, name: &str, raw: &[u8]) {
        let _ = writeln!(self.text, "{}", serde_json::json!([self.now, "m", name]));
        let mut rest = &raw[self.taken..];
        while !rest.is_empty() {
            let found = rest.windows(END.len()).position(|window| window == END);
            // What is no whole frame yet comes with the next step.
            let Some(at) = found else { break };
            let (frame, after) = rest.split_at(at + END.len());
            let event = serde_json::json!([self.now, "o", String::from_utf8_lossy(frame)]);
            let _ = writeln!(self.text, "{event}");
            (self.now, self.taken, rest) = (self.now + FRAME, self.taken + frame.len(), after);
        }
        self.now = ((self.now + READ) * 100.0).round() / 100.0;
    }

    /// The whole file.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}
