//! The editor of one text.
//! Not for: texts with versions (`editor`) or a request edited by hand (`raw_request`).

use super::fixture;
use pleach::engine::api::{BranchRequest, Request};

#[test]
fn state_is_shown_and_edited() {
    let mut stage = fixture::opened();
    stage.press("tab s").type_text("Now: ").press("ctrl-d");
    let edited = stage.sent.iter().find_map(|(_, r)| match r {
        Request::Branch(BranchRequest::EditState { text, .. }) => Some(text.clone()),
        _ => None,
    });
    assert_eq!(edited.as_deref(), Some("Now: Goal: fix login"));
    assert!(!stage.screen(100, 40).contains("---STATE"), "the block is not in the answer");
}
