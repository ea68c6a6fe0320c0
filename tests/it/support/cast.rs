//! A recording of terminal output in asciicast format (version 2): frames at an even pace, with markers at the steps of
//! a journey. The pace is artificial, so that the same journey always gives a recording of the same length.
//! Not for: playing it.

use std::fmt::Write as _;

/// The end of a frame in the program's output.
const END: &[u8] = b"\x1b[?2026l";
/// Seconds between frames, and after a step, so that it can be read.
const FRAME: f64 = 0.06;
const READ: f64 = 2.0;

/// A recording.
pub(crate) struct Cast {
    text: String,
    now: f64,
    /// The number of bytes processed.
    taken: usize,
}

impl Cast {
    /// A recording of a terminal with a size.
    pub(crate) fn new((columns, rows): (u16, u16), title: &str) -> Self {
        let head = serde_json::json!({ "version": 2, "width": columns, "height": rows, "title": title });
        Self { text: format!("{head}\n"), now: 0.0, taken: 0 }
    }

    /// Adds the output since the last step, and ends a step.
    pub(crate) fn step(&mut self, name: &str, raw: &[u8]) {
        let _ = writeln!(self.text, "{}", serde_json::json!([self.now, "m", name]));
        let mut rest = &raw[self.taken..];
        while !rest.is_empty() {
            let found = rest.windows(END.len()).position(|window| window == END);
            // An incomplete frame is added with the next step.
            let Some(at) = found else { break };
            let (frame, after) = rest.split_at(at + END.len());
            let event = serde_json::json!([self.now, "o", String::from_utf8_lossy(frame)]);
            let _ = writeln!(self.text, "{event}");
            (self.now, self.taken, rest) = (self.now + FRAME, self.taken + frame.len(), after);
        }
        self.now = ((self.now + READ) * 100.0).round() / 100.0;
    }

    /// The complete file.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}
