//! Terminal sizes: many changes in a row, very small, and very large.

use crate::support::pty::{Home, Pty, Start};
use std::time::{Duration, Instant};

#[test]
fn many_size_changes() {
    let home = Home::offline();
    let pty = Pty::open(&home);
    pty.see("Type a message");
    let (frames, began) = (pty.frames(), Instant::now());
    for round in 0_u16..200 {
        pty.resize(40 + round % 97, 8 + round % 41);
        // The pace is under test: two hundred changes in a second.
        std::thread::sleep(Duration::from_millis(5));
    }
    pty.resize(90, 25);
    pty.keys("calm again");
    let screen = pty.until("the last frame", |screen| {
        let rows: Vec<&str> = screen.lines().collect();
        rows.len() == 25 && rows[23].contains("calm again") && rows[24].contains("^F mode")
    });
    let drawn = pty.frames() - frames;
    let most = 80 * (began.elapsed().as_millis() / 1_000 + 1);
    assert!(u128::try_from(drawn).unwrap() <= most, "{drawn} frames in {:?}", began.elapsed());
    assert!(screen.lines().all(|row| row.chars().count() <= 90), "{screen}");
    pty.keys("\x03\x04");
    let ended = pty.ended();
    assert_eq!((ended.code, ended.ledger.balanced()), (0, true));
}

#[test]
fn tiny_and_huge_sizes() {
    let home = Home::offline();
    let pty = Start::new(&home).size(1, 1).run();
    pty.until_bytes("a first frame", |_, ledger| ledger.entered && ledger.hidden);
    for (columns, rows) in [(60, 16), (250, 80), (2, 2), (500, 200), (60, 16)] {
        pty.resize(columns, rows);
        if columns >= 60 {
            pty.until(&format!("a frame of {columns}×{rows}"), |screen| {
                let lines: Vec<&str> = screen.lines().collect();
                lines.len() == usize::from(rows)
                    && lines.iter().all(|line| line.chars().count() <= usize::from(columns))
                    && lines.last().is_some_and(|line| line.contains("^F mode"))
            });
        }
    }
    pty.keys("Hello\r");
    pty.see("I am the offline model");
    pty.resize(1, 1);
    pty.keys("\x04");
    let ended = pty.ended();
    assert_eq!((ended.code, ended.ledger.balanced()), (0, true));
}
