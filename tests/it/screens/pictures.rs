//! Takes snapshots of a screen at five sizes.
//! Not for: what a screen shows, which the file with the screen's name checks.

use super::Stage;

/// From the smallest usable size to a very large one.
const SIZES: [(u16, u16); 5] = [(40, 12), (80, 24), (120, 35), (200, 50), (250, 80)];

/// Snapshots of the screen at five sizes.
pub(crate) fn pictures(name: &str, stage: &mut Stage) {
    for size in SIZES {
        picture(name, size, stage);
    }
}

/// A snapshot of the screen at one size.
pub(crate) fn picture(name: &str, (width, height): (u16, u16), stage: &mut Stage) {
    let screen = stage.screen(width, height);
    insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "../snapshots" }, {
        insta::assert_snapshot!(format!("{name}_{width}x{height}"), screen);
    });
}
