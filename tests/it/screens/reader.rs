//! Full texts to read.
//! Not for: printed output of commands (`chat::commands`).

use super::fixture;
use pleach::engine::api::{Answer, PlanRequest, Request};
use pleach::tui::screens::reader::model::Reader;

#[test]
fn single_row_opens_its_full_text() {
    let mut stage = fixture::opened();
    stage.press("ctrl-o");
    stage.reply(
        |r| matches!(r, Request::Plan(PlanRequest::RowText { .. })),
        Answer::Text("You are a helpful assistant.\u{200b}".into()),
    );
    stage.press("enter");
    assert!(stage.model.layers.on::<Reader>());
    assert!(stage.screen(80, 24).contains("assistant.⟨U+200B⟩"));
}
