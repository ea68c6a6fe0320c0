//! The exact request: its parts, search in it, and editing it once. Snapshots and requests.
//! Not for: the rows of the request (`request`).

use super::pictures::pictures;
use super::{Stage, fixture};
use pleach::domain::base::{Failure, FailureKind, Hash, RunId};
use pleach::engine::api::{Answer, BodyCount, Event, Exact, PlanAnswer, PlanRequest, RawPart, RawRequest, Request};
use pleach::tui::msg::{Done, Msg};
use pleach::tui::screens::request::model::RequestScreen;
use pleach::tui::screens::text_editor::model::Editor;
use uuid::Uuid;

const BODY: &str = "{\"model\":\"gpt-4.1-mini\",\"messages\":[{\"role\":\"system\",\"content\":\"You are a helpful assistant.\\n\\nGoal: fix login\"},{\"role\":\"user\",\"content\":\"Why does login\u{a0}fail?  \\nAfter the refresh\u{200b}\"},{\"role\":\"assistant\",\"content\":\"The token is rotated.\"},{\"role\":\"user\",\"content\":\"And with two tabs?\"}],\"stream\":true}";

#[allow(clippy::unnecessary_box_returns, reason = "the answer holds it so")]
pub(crate) fn raw() -> Box<RawRequest> {
    let part = |message, bytes, title: &str, tokens| RawPart { message, bytes, title: title.into(), tokens };
    let parts = vec![
        part(0, 32, "system", 210),
        part(0, 15, "state", 88),
        part(1, 60, "recent turns, turn 2", 40),
        part(2, 21, "recent turns, turn 2", 12),
        part(3, 18, "your message", 9),
    ];
    Box::new(RawRequest { body: BODY.into(), digest: Hash::of(BODY.as_bytes()), parts, tokens: 5_213, budget: 8_000 })
}

fn shown() -> Stage {
    let mut stage = fixture::opened();
    stage.press("ctrl-o w");
    stage.reply(|r| matches!(r, Request::Plan(PlanRequest::Exact { act: Exact::Show, .. })), PlanAnswer::Raw(raw()));
    stage
}

#[test]
fn exact_request_is_read_by_parts() {
    let mut stage = shown();
    pictures("raw", &mut stage);
    let screen = stage.screen(120, 35);
    assert!(screen.contains("login⟨U+00A0⟩fail?··\\n") && screen.contains("refresh⟨U+200B⟩"), "{screen}");
    stage.press("t");
    assert!(stage.screen(120, 35).contains("1 state"), "parted by section");
    stage.press("z");
    assert_eq!(stage.screen(120, 35).matches("helpful").count(), 0, "all folded");
    stage.press("/").type_text("ROTATED").press("enter");
    let screen = stage.screen(120, 35);
    assert!(screen.contains("1 of 1") && screen.contains("The token is rotated."), "a hit opens its part: {screen}");
    stage.press("esc z z g j enter y");
    assert_eq!(stage.copied, [BODY], "the exact bytes");
    stage.press("w");
    assert!(stage.model.layers.on::<RequestScreen>(), "the same key closes it");
}

fn editor_text(stage: &Stage) -> String {
    stage.model.layers.top::<Editor>().unwrap().text()
}

fn exact(stage: &Stage) -> &Exact {
    match stage.last() {
        Request::Plan(PlanRequest::Exact { act, .. }) => act,
        other => panic!("{other:?}"),
    }
}

#[test]
fn request_is_edited_reviewed_and_sent() {
    let mut stage = shown();
    stage.press("E");
    assert!(editor_text(&stage).contains("=== 2 user\nWhy does login\u{a0}fail?  \nAfter the refresh⟨U+200B⟩"));
    pictures("edit_request", &mut stage);
    stage.press("ctrl-g");
    assert!(stage.composed[0].contains("refresh\u{200b}"), "another editor receives the exact characters");
    let edited = stage.composed[0].replace("rotated", "kept\ttwice\u{7}");
    stage.msg(Msg::Done(Done::Edited(Ok(edited))));
    assert!(editor_text(&stage).contains("kept\ttwice⟨U+0007⟩"));
    stage.press("ctrl-d");
    let body = BODY.replace("rotated", "kept\\ttwice\\u0007");
    let Exact::Weigh { body: weighed, .. } = exact(&stage) else { panic!() };
    assert_eq!(**weighed, *body, "only the changed message differs");
    let digest = Hash::of(body.as_bytes());
    let found = BodyCount { digest, tokens: 5_300, budget: 8_000, room: 7_000, changed: 1 };
    stage.reply(
        |r| matches!(r, Request::Plan(PlanRequest::Exact { act: Exact::Weigh { .. }, .. })),
        PlanAnswer::Weighed(found),
    );
    pictures("edited", &mut stage);
    stage.press("esc");
    stage.press("E");
    stage.reply(|r| matches!(r, Request::Plan(PlanRequest::Exact { act: Exact::Show, .. })), PlanAnswer::Raw(raw()));
    assert!(stage.screen(120, 35).contains("restored"), "edited text is not lost");
    stage.press("S");
    let Exact::Send { body: sent, .. } = exact(&stage) else { panic!() };
    assert_eq!(**sent, *body, "the displayed body is sent");
    let sent = stage.sent.len();
    stage.press("S");
    assert_eq!(stage.sent.len(), sent, "one act is one call");
    let ticket = stage.sent.last().unwrap().0;
    let over = Failure::new(FailureKind::Blocked, "The edited request needs 9,000 tokens (estimated).");
    stage.event(Event::Answer { ticket, result: Err(over) });
    assert!(stage.screen(120, 35).contains("needs 9,000"), "refused, and still in the editor");
    stage.press("S");
    stage.reply(
        |r| matches!(r, Request::Plan(PlanRequest::Exact { act: Exact::Send { .. }, .. })),
        Answer::Asked { run: RunId(Uuid::from_u128(5)) },
    );
    assert!(stage.model.layers.is_empty());
}

#[test]
fn invalid_request_stays_in_the_editor() {
    let mut stage = shown();
    stage.press("e");
    assert_eq!(editor_text(&stage), BODY.replace('\u{200b}', "⟨U+200B⟩"));
    let before = stage.sent.len();
    stage.msg(Msg::Done(Done::Edited(Ok("{\n \"model\": x\n}".into())))).press("ctrl-d");
    assert!(stage.screen(120, 35).contains("Line 2, column 11"), "{}", stage.screen(120, 35));
    let Some(editor) = stage.model.layers.top::<Editor>() else { panic!() };
    assert_eq!(editor.area.cursor(), (1, 10));
    assert_eq!(editor_text(&stage), "{\n \"model\": x\n}", "the text is kept");
    assert_eq!(stage.sent.len(), before, "nothing was sent");
    stage.press("esc");
    assert!(stage.screen(120, 35).contains("Your text is kept; e opens it again"));
    stage.press("e");
    assert_eq!(editor_text(&stage), "{\n \"model\": x\n}", "unchanged");
    stage.press("esc E");
    stage.msg(Msg::Done(Done::Edited(Ok("=== 7 user\nx".into())))).press("ctrl-d");
    assert!(stage.screen(120, 35).contains("there is no message 7"));
}
