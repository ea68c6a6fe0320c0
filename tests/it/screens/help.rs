//! The help screen.
//! Not for: whether help names every key and command (`discoverability`).

use super::fixture;
use super::pictures::pictures;

#[test]
fn help() {
    let mut stage = fixture::opened();
    stage.press("?");
    pictures("help", &mut stage);
}
