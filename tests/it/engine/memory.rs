//! Memories and suggested pins, on the real binary and through the engine: suggested by an answer, decided by a person,
//! sent where they fit, removed with their source, and never containing a secret.

use crate::support::bench::{Bench, Model, message, text};
use crate::support::binary::Home;
use crate::support::server::{Server, end, stream, words};
use pleach::domain::base::secrets;
use pleach::domain::conversation::{ItemState, MarkKind, Memory, MemoryKind, MemoryStatus, Scope, Subject};
use pleach::domain::planning::Reason;
use pleach::domain::planning::{ContextPlan, RowKind, Section};
use pleach::engine::api::{
    Act, Answer, BranchAnswer, BranchRequest, ItemName, MemoryAct, MemoryAnswer, MemoryRequest, MemoryScope,
    PlanRequest, Request, SessionRequest,
};
use proptest::prelude::*;
use serde_json::Value;

const KEY: &str = "sk-proj-T3BlbkFJq8Zr5nVx2Lw7Kd9Mh4Yc6Ub1Ea0Sg3Pf";

fn answer(text: &str, asks: &str) -> String {
    format!("{text}\n\n---STATE---\nGoal: set the proxy up\n{asks}\n---END STATE---\n")
}

fn first_answer() -> String {
    let asks = format!(
        "Remember: fact: The staging proxy listens on port 48213\nRemember: preference: Short answers\n\
         Remember: outcome: The API key is {KEY}\nRemember: fact: the staging proxy listens on port 48213!\n\
         Suggest pins: \"behind haproxy in Lisbon\""
    );
    answer("Good: the proxy stands behind haproxy in Lisbon.", &asks)
}

fn home() -> (Server, Home) {
    let scripts = vec![vec![stream(), words(&first_answer()), end()], vec![stream(), words("Noted."), end()]];
    let server = Server::start_posts(scripts);
    let home = Home::asking(&server.base_url());
    (server, home)
}

fn rows<'a>(plan: &'a Value, list: &str, wanted: impl Fn(&Value) -> bool) -> Vec<&'a Value> {
    plan[list].as_array().unwrap().iter().filter(|row| wanted(row)).collect()
}

fn memories(plan: &Value) -> Vec<String> {
    let found = rows(plan, "included", |row| row["kind"] == "memory");
    found.iter().map(|row| row["title"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn memory_is_suggested_confirmed_sent_and_removed() {
    let (server, home) = home();
    home.ok(&["ask", "The proxy is behind what, and where?"]);
    let listed = home.json(&["memory", "list"]);
    let listed = listed.as_array().unwrap();
    let description = |memory: &Value| {
        ["status", "kind", "scope", "text"].map(|field| memory[field].as_str().unwrap().to_owned()).join(" ")
    };
    let all: Vec<String> = listed.iter().map(description).collect();
    assert_eq!(
        all,
        ["suggested fact session The staging proxy listens on port 48213", "suggested preference all Short answers"]
    );
    assert_eq!(listed[0]["source"]["by"], "model");
    assert!(listed[0]["source"]["message"].is_string());
    let question = "Which port does the staging proxy use?";
    assert_eq!(memories(&home.json(&["plan", question])), Vec::<String>::new(), "only confirmed memories are sent");
    for memory in listed {
        home.ok(&["memory", "confirm", memory["short"].as_str().unwrap()]);
    }
    let plan = home.json(&["plan", question]);
    assert_eq!(memories(&plan), ["preference: Short answers", "fact: The staging proxy listens on port 48213"]);
    let row = rows(&plan, "included", |row| row["title"] == "fact: The staging proxy listens on port 48213")[0];
    assert_eq!((&row["reason"], &row["section"]), (&"memory".into(), &"retrieved".into()));
    assert!(row["score"].as_f64().unwrap() > 0.2, "{row}");
    assert_eq!(memories(&home.json(&["plan", "Tell me of the history of tea."])), ["preference: Short answers"]);
    let off = home.json(&["plan", question, "--mode", "off"]);
    assert_eq!(memories(&off), Vec::<String>::new());
    assert_eq!(rows(&off, "excluded", |row| row["kind"] == "memory" && row["reason"] == "mode_off").len(), 2);
    let body = home.ok(&["plan", question, "--request"]);
    assert!(body.contains("Remembered fact, confirmed by the user"), "{body}");
    let asked = home.json(&["ask", question]);
    assert_eq!(String::from_utf8_lossy(&server.requests().last().unwrap().body), body, "sent as displayed");
    let again = home.json(&["replay", asked["run_id"].as_str().unwrap(), "--dry-run"]);
    assert_eq!(again["same"], true);
    let id = listed[0]["id"].as_str().unwrap();
    home.ok(&["memory", "dismiss", id]);
    assert_eq!(memories(&home.json(&["plan", question])), ["preference: Short answers"]);
    home.ok(&["undo"]);
    assert_eq!(memories(&home.json(&["plan", question])).len(), 2);
    home.ok(&["memory", "edit", id, "The staging proxy listens on port 50000"]);
    assert!(memories(&home.json(&["plan", question]))[1].contains("50000"));
    home.ok(&["undo"]);
    assert!(memories(&home.json(&["plan", question]))[1].contains("48213"));
    home.ok(&["memory", "delete", id]);
    assert_eq!(home.json(&["memory", "list"]).as_array().unwrap().len(), 1);
    home.ok(&["undo"]);
    let found = home.json(&["memory", "search", "staging port"]);
    assert_eq!(description(&found[0]), "confirmed fact session The staging proxy listens on port 48213");
    home.ok(&["redo"]);
    assert_eq!(home.json(&["memory", "list"]).as_array().unwrap().len(), 1);
    home.assert_sound();
}

#[test]
fn sessions_share_only_global_memories() {
    let home = Home::scripted("");
    home.ok(&["session", "new", "one"]);
    home.ok(&["memory", "add", "fact", "The garden gate is green"]);
    home.ok(&["memory", "add", "event", "The garden was sold", "--all"]);
    home.ok(&["session", "new", "two"]);
    let listed = home.json(&["memory", "list"]);
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(memories(&home.json(&["plan", "What of the garden?"])), ["event: The garden was sold"]);
    assert_eq!(home.json(&["memory", "list", "-s", "one"]).as_array().unwrap().len(), 2);
    assert_eq!(home.json(&["memory", "list", "-s", "one", "--here"]).as_array().unwrap().len(), 1);
    home.ok(&["session", "delete", "one", "--yes"]);
    assert_eq!(home.json(&["memory", "list"])[0]["source"]["session"], Value::Null);
    home.assert_sound();
}

#[test]
fn forbidden_memories_are_refused() {
    let home = Home::scripted("");
    let long = "word ".repeat(80);
    for text in [KEY, long.as_str(), "   "] {
        let output = home.run(&["memory", "add", "fact", text]);
        assert_eq!(output.code, 1, "{text}: {}", output.err);
    }
    assert_eq!(home.run(&["memory", "add", "rumour", "x"]).code, 2);
    home.ok(&["memory", "add", "fact", "Tea is hot"]);
    let twice = home.run(&["memory", "add", "fact", "tea is HOT."]);
    assert!(twice.code == 1 && twice.err.contains("already exists"), "{}", twice.err);
    assert!(!twice.err.contains("Confirm"), "a memory written by a person is confirmed at once: {}", twice.err);
    let id = home.json(&["memory", "list"])[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(home.run(&["memory", "edit", &id, KEY]).code, 1);
    assert_eq!(home.json(&["memory", "list"])[0]["text"], "Tea is hot");
    let store = std::fs::read(home.store()).unwrap();
    assert!(!store.windows(KEY.len()).any(|window| window == KEY.as_bytes()));
}

#[test]
fn confirmed_memory_is_listed_when_its_message_is_removed() {
    let (_server, home) = home();
    home.ok(&["ask", "The proxy is behind what, and where?"]);
    let listed = home.json(&["memory", "list"]);
    home.ok(&["memory", "confirm", listed[0]["short"].as_str().unwrap()]);
    let first = home.json(&["message", "list"])[0]["id"].as_str().unwrap().to_owned();
    let output = home.ok(&["message", "remove", &first, "--yes"]);
    assert!(
        output.contains("1 memory from the deleted text is kept: The staging proxy listens on port 48213"),
        "{output}"
    );
    let left = home.json(&["memory", "list"]);
    assert_eq!(left.as_array().unwrap().len(), 1, "the unconfirmed one was removed too: {left}");
    let store = std::fs::read(home.store()).unwrap();
    let contains = |needle: &[u8]| store.windows(needle.len()).any(|window| window == needle);
    assert!(!contains(b"Short answers") && !contains(KEY.as_bytes()));
}

fn listed(client: &mut crate::support::bench::Client) -> Vec<Memory> {
    match client.must(Request::Memory(MemoryRequest::List { session: None, words: None, scope: None })) {
        Answer::Memory(MemoryAnswer::Memories(all)) => all,
        other => panic!("{other:?}"),
    }
}

fn of(plan: &ContextPlan, kind: RowKind) -> Vec<&pleach::domain::planning::plan::Row> {
    plan.rows.iter().filter(|row| row.kind == kind).collect()
}

#[test]
fn memories_are_rows_that_accept_marks() {
    let bench = Bench::new(&Model::new([]));
    let mut client = bench.start();
    let branch = client.session();
    let kind = MemoryKind::Fact;
    client.must(Request::Memory(MemoryRequest::Remember {
        kind,
        text: "The garden gate is green".into(),
        scope: MemoryScope::Session,
    }));
    let item = ItemName::Atom(listed(&mut client)[0].atom());
    let draft = message("What colour is the garden gate?");
    let plan = client.whole_plan(branch, &draft);
    assert!(of(&plan, RowKind::Memory)[0].included());
    let mut mark = |kind| {
        let act = Act::Set { kind, toggle: true };
        client.must(Request::Branch(BranchRequest::Mark { branch, items: vec![item.clone()], act }));
        let plan = client.whole_plan(branch, &draft);
        let row = of(&plan, RowKind::Memory)[0].clone();
        (row.section(), row.reason)
    };
    assert_eq!(mark(MarkKind::Exclude), (None, Reason::UserExcluded { once: false }));
    assert_eq!(mark(MarkKind::Exclude), (Some(Section::Retrieved), Reason::Memory { always: false }));
    assert_eq!(mark(MarkKind::Sticky), (Some(Section::StickyPins), Reason::Sticky));
    let tea = client.whole_plan(branch, &message("And tea?"));
    assert!(of(&tea, RowKind::Memory)[0].included(), "a pinned memory is always included");
    client.say(branch, "And tea?");
    let run = client.runs().pop().unwrap();
    let digest = client.replay(&run).unwrap();
    assert_eq!(Some(digest), Some(run.request_digest));
    client.must(Request::Session(SessionRequest::Undo));
    let tea = client.whole_plan(branch, &message("And tea?"));
    assert!(of(&tea, RowKind::Memory).is_empty());
}

#[test]
fn undo_and_redo_appear_in_the_memory_history() {
    let bench = Bench::new(&Model::new([]));
    let mut client = bench.start();
    client.session();
    let (kind, scope) = (MemoryKind::Fact, MemoryScope::Session);
    client.must(Request::Memory(MemoryRequest::Remember { kind, text: "The gate is green".into(), scope }));
    client.must(Request::Session(SessionRequest::Undo));
    client.must(Request::Session(SessionRequest::Redo));
    let session = client.open().card.id;
    let steps = bench.store().transitions(session).unwrap();
    let changes: Vec<_> = steps.iter().map(|step| (step.from, step.to)).collect();
    let (none, confirmed) = (ItemState::None, ItemState::Confirmed);
    assert_eq!(changes, [(none, confirmed), (confirmed, none), (none, confirmed)]);
}

#[test]
fn secrets_in_the_state_are_masked_in_requests() {
    let bench = Bench::new(&Model::new([text("An answer.")]));
    let mut client = bench.start();
    let branch = client.session();
    client.say(branch, "A question.");
    let text = "Goal: rotate ghp_abcdefghijklmnopqrstuvwxyz0123456789 today".to_owned();
    client.must(Request::Branch(BranchRequest::EditState { branch, text }));
    let plan = client.whole_plan(branch, &message("next"));
    let state = plan.rows.iter().find(|row| row.kind == RowKind::State).unwrap();
    assert!(state.title.ends_with("edited by you, secrets masked"), "{}", state.title);
    let Answer::Text(sent) = client.must(Request::Plan(PlanRequest::RowText { branch, atom: state.atom })) else {
        panic!()
    };
    assert!(sent.contains("Goal: rotate") && !sent.contains("ghp_a") && sent.contains("today"), "{sent}");
}

#[test]
fn suggested_pins_are_accepted_or_dismissed() {
    let model = Model::new([
        text("The number of the vault is one hundred and seven."),
        text(&answer("Noted.", "Suggest pins: \"number of the vault\", turn 3")),
        text(&answer("Again.", "Suggest pins: \"number of the vault\", \"words that nobody said\", turn 2")),
    ]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    for words in ["What is it?", "And a second question of mine?"] {
        client.say(branch, words);
    }
    let suggested = |plan: &ContextPlan| plan.suggested().map(|row| row.atom).collect::<Vec<_>>();
    let plan = client.whole_plan(branch, &message("next"));
    let waiting = suggested(&plan);
    assert_eq!(waiting.len(), 1, "there was no turn 3: {waiting:?}");
    assert!(plan.suggested().all(|row| row.reason == Reason::SuggestedByModel && row.source.turn == Some(1)));
    let state = plan.rows.iter().find(|row| row.kind == RowKind::State).unwrap();
    let Answer::Text(sent) = client.must(Request::Plan(PlanRequest::RowText { branch, atom: state.atom })) else {
        panic!()
    };
    assert!(sent.contains("Goal") && !sent.contains("Suggest"), "{sent}");
    client.must(Request::Branch(BranchRequest::Dismiss { branch, item: ItemName::Atom(waiting[0]) }));
    assert!(suggested(&client.whole_plan(branch, &message("next"))).is_empty());
    client.must(Request::Session(SessionRequest::Undo));
    assert_eq!(suggested(&client.whole_plan(branch, &message("next"))), waiting);
    client.must(Request::Session(SessionRequest::Redo));
    client.say(branch, "A third one.");
    let plan = client.whole_plan(branch, &message("next"));
    let later = suggested(&plan);
    assert_eq!(later.len(), 1, "dismissed suggestions never return: {later:?}");
    assert_ne!(later, waiting);
    let act = Act::Set { kind: MarkKind::Sticky, toggle: true };
    client.must(Request::Branch(BranchRequest::Mark { branch, items: vec![ItemName::Atom(later[0])], act }));
    assert!(suggested(&client.whole_plan(branch, &message("next"))).is_empty());
    let Answer::Branch(BranchAnswer::Branch(fork)) =
        client.must(Request::Branch(BranchRequest::Fork { branch, at: None, name: None, switch: false }))
    else {
        panic!()
    };
    assert!(suggested(&client.whole_plan(fork.id, &message("next"))).is_empty(), "forks do not copy suggestions");
    let session = client.open().card.id;
    let steps = bench.store().transitions(session).unwrap();
    let changes: Vec<(ItemState, ItemState)> = steps.iter().map(|step| (step.from, step.to)).collect();
    let (none, suggested) = (ItemState::None, ItemState::Suggested);
    let dismissed = ItemState::Dismissed;
    let wanted = [
        (none, suggested),
        (suggested, dismissed),
        (dismissed, suggested),
        (suggested, dismissed),
        (none, suggested),
        (suggested, ItemState::Sticky),
    ];
    assert_eq!(changes, wanted);
    assert!(steps.iter().all(|step| matches!(step.item, Subject::Item(_)) && step.turn.is_some()));
}

#[test]
fn session_memory_is_shared_by_its_branches_only() {
    let bench = Bench::new(&Model::new([]));
    let mut client = bench.start();
    let branch = client.session();
    client.say(branch, "hello");
    let Answer::Branch(BranchAnswer::Branch(fork)) =
        client.must(Request::Branch(BranchRequest::Fork { branch, at: None, name: None, switch: true }))
    else {
        panic!()
    };
    let draft = message("What colour is the garden gate?");
    let before = client.whole_plan(branch, &draft);
    let kind = MemoryKind::Fact;
    client.must(Request::Memory(MemoryRequest::Remember {
        kind,
        text: "The garden gate is green".into(),
        scope: MemoryScope::Session,
    }));
    let after = client.whole_plan(branch, &draft);
    let others = |plan: &ContextPlan| {
        plan.rows.iter().filter(|row| row.kind != RowKind::Memory).map(|row| row.atom).collect::<Vec<_>>()
    };
    assert_eq!(others(&before), others(&after), "a memory is the only thing that reaches another branch");
    assert_eq!(of(&after, RowKind::Memory).len(), 1);
    let item = ItemName::Atom(listed(&mut client)[0].atom());
    let act = Act::Set { kind: MarkKind::Exclude, toggle: true };
    client.must(Request::Branch(BranchRequest::Mark { branch: fork.id, items: vec![item], act }));
    assert!(!of(&client.whole_plan(fork.id, &draft), RowKind::Memory)[0].included());
    assert!(of(&client.whole_plan(branch, &draft), RowKind::Memory)[0].included(), "marks stay on their branch");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]
    #[test]
    fn text_that_looks_like_a_secret_is_never_stored(
        before in "[a-z ]{0,20}",
        tail in "[A-Za-z0-9]{40}",
        after in "[a-z ]{0,20}",
        which in 0..3_usize,
    ) {
        let secret = [format!("sk-proj-{tail}"), format!("ghp_{}", &tail[..36]), format!("password = \
            {tail}")][which].clone();
        let note = format!("{before} {secret} {after}");
        prop_assume!(secrets::count(&note) > 0);
        let model = Model::new([text(&answer("Well.", &format!("Remember: fact: {note}\nRemember: fact: tea is \
            hot")))]);
        let bench = Bench::new(&model);
        let mut client = bench.start();
        let branch = client.session();
        client.say(branch, "hello");
        let kind = MemoryKind::Event;
        let refused = client.ask(Request::Memory(MemoryRequest::Remember { kind, text: note.clone(), scope: MemoryScope::All }));
        prop_assert!(refused.is_err());
        let all = listed(&mut client);
        prop_assert_eq!(all.len(), 1);
        let edit = MemoryAct::Edit(Some(note.clone()), None);
        let refused = client.ask(Request::Memory(MemoryRequest::Change { id: all[0].id.to_string(), act: edit }));
        prop_assert!(refused.is_err());
        let session = client.open().card.id;
        let stored = bench.store().memories(Some(session)).unwrap();
        prop_assert!(stored.iter().all(|memory| secrets::count(&memory.text) == 0));
        prop_assert_eq!(&stored[0].text, "tea is hot");
        prop_assert_eq!((stored[0].status, stored[0].scope), (MemoryStatus::Suggested, Scope::Session(session)));
        let ops = bench.store().ops(session).unwrap();
        prop_assert!(!serde_json::to_string(&ops).unwrap().contains(&tail));
    }
}
