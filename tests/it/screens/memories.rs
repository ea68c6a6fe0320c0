//! The list of memories: requests.
//! Not for: versions of a memory (`editor`).

use super::{Stage, fixture};
use pleach::domain::base::ids::MemoryId;
use pleach::domain::conversation::memory::Origin;
use pleach::domain::conversation::{Actor, Memory, MemoryKind, MemoryStatus, Scope};
use pleach::engine::api::{Answer, MemoryAct, MemoryAnswer, MemoryRequest, MemoryScope, Request};
use uuid::Uuid;

fn memory(n: u128, text: &str, status: MemoryStatus) -> Memory {
    Memory {
        id: MemoryId(Uuid::from_u128(n)),
        kind: MemoryKind::Fact,
        text: text.into(),
        scope: Scope::All,
        lane: String::new(),
        source: Origin { session: None, node: None, by: Actor::Model },
        status,
        version: 1,
        created_at: 0,
        updated_at: 0,
    }
}

fn acts(stage: &Stage) -> Vec<(String, MemoryAct)> {
    let of = |request: &Request| match request {
        Request::Memory(MemoryRequest::Change { id, act }) => Some((id.clone(), act.clone())),
        _ => None,
    };
    stage.sent.iter().filter_map(|(_, request)| of(request)).collect()
}

pub(super) fn listed(stage: &mut Stage) {
    let all = vec![
        memory(1, "The gate is green", MemoryStatus::Confirmed),
        memory(2, "The port is 48213\u{202e}", MemoryStatus::Suggested),
    ];
    stage.reply(|request| matches!(request, Request::Memory(MemoryRequest::List { .. })), MemoryAnswer::Memories(all));
}

#[test]
fn an_empty_list_says_everything_on_a_narrow_screen() {
    let mut stage = fixture::opened();
    stage.type_text("/memories").press("enter");
    let none = MemoryAnswer::Memories(Vec::new());
    stage.reply(|request| matches!(request, Request::Memory(MemoryRequest::List { .. })), none);
    let screen = stage.screen(60, 20);
    assert!(screen.contains("No memories yet") && screen.contains("adds a memory."), "{screen}");
}

#[test]
fn keys_in_the_list_decide() {
    let mut stage = fixture::opened();
    stage.type_text("/memories").press("enter");
    listed(&mut stage);
    let screen = stage.screen(120, 30);
    assert!(screen.contains("The gate is green") && screen.contains("suggested"), "{screen}");
    assert!(!screen.contains('\u{202e}'), "outside text never controls the terminal");
    let place = |words: &str| screen.find(words).unwrap();
    assert!(place("The port is") < place("The gate is"), "undecided memories come first");
    stage.press("enter alt-x alt-d");
    let second = Uuid::from_u128(2).to_string();
    let wanted = [MemoryAct::Confirm(None), MemoryAct::Dismiss, MemoryAct::Delete].map(|act| (second.clone(), act));
    assert_eq!(acts(&stage), wanted);
    stage.press("alt-r");
    stage.type_text("!").press("enter");
    let edited = MemoryAct::Edit(Some("The port is 48213\u{202e}!".into()), None);
    assert_eq!(acts(&stage).last(), Some(&(second, edited)));
    stage.reply(
        |request| matches!(request, Request::Memory(MemoryRequest::Change { .. })),
        Answer::Done("Edited a memory.".into()),
    );
    let asked =
        stage.sent.iter().filter(|(_, request)| matches!(request, Request::Memory(MemoryRequest::List { .. }))).count();
    assert_eq!(asked, 2, "the list is requested again");
}

#[test]
fn command_adds_a_memory() {
    let mut stage = fixture::opened();
    for (typed, kind, text, scope) in [
        ("/remember preference: short answers", MemoryKind::Preference, "short answers", MemoryScope::All),
        ("/remember note: the gate", MemoryKind::Fact, "note: the gate", MemoryScope::Session),
    ] {
        stage.type_text(typed).press("enter");
        assert_eq!(*stage.last(), Request::Memory(MemoryRequest::Remember { kind, text: text.into(), scope }));
    }
}
