//! The README's picture, from a real run. `PLEACH_PICTURE=FILE` writes it:
//! `PLEACH_PICTURE=$PWD/assets/screen.svg cargo test --test it -- readme_picture`.

use crate::support::picture::svg;
use crate::support::pty::{Home, Start};

const SIZE: (u16, u16) = (120, 35);

#[test]
fn readme_picture() {
    let mut home = Home::offline();
    home.set("COLORTERM", "truecolor");
    home.config("[screen]\ntheme = \"dark\"\n");
    let pty = Start::new(&home).args(&["--demo"]).size(SIZE.0, SIZE.1).run();
    pty.see("demo, nothing is saved");
    // Pin the turn before the last one, and write a draft.
    pty.keys("/pin 6");
    pty.see("/pin 6");
    pty.keys("\r");
    pty.see("◆ Both pass now");
    pty.keys("And how do we roll back if the flag misbehaves?");
    pty.until("the plan of the draft", |screen| screen.contains("misbehaves?") && screen.contains("◆ Both pass now"));
    let picture = svg(&pty.raw(), SIZE, ("#d3d7de", "#12151a"));
    assert!(picture.len() < 200_000 && picture.contains("Next request"), "{} bytes", picture.len());
    if let Some(file) = std::env::var_os("PLEACH_PICTURE") {
        std::fs::write(file, picture).unwrap();
    }
    pty.keys("\x03\x04");
    pty.ended();
}
