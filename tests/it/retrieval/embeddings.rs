//! Semantic search on the real binary with an embeddings server on loopback: vectors are made once and shared, lexical
//! search remains without a server, and removal deletes vectors.

use crate::code::context;
use crate::support::bench::{Bench, Model, message};
use crate::support::binary::{Home, profile};
use crate::support::embeddings::{Embeddings, RecordingEmbedder};
use pleach::domain::base::FailureKind;
use pleach::domain::call::Purpose;
use pleach::engine::api::{Answer, PlanAnswer, PlanRequest, Planned, Request, TurnRequest};
use pleach::tools::Workspace;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;

/// A conversation in which one message paraphrases the later question.
fn talk(home: &Home, session: &str) {
    let topics = ["the quarterly budget", "holiday plans", "the office plants", "a new logo", "parking", "lunch menus"];
    let mut lines = Vec::new();
    for turn in 0..30 {
        let parent = (turn > 0).then(|| format!("a{}", turn - 1));
        let topic = topics[turn % topics.len()];
        let text =
            if turn == 4 { "The tabby had a fever on Monday.".into() } else { format!("About {topic}, {turn}.") };
        let answered = format!("Plenty could be said of {topic}; remark {turn}. {}", "It goes on. ".repeat(20));
        for (id, parent, role, content) in [
            (format!("u{turn}"), parent, "user", text),
            (format!("a{turn}"), Some(format!("u{turn}")), "assistant", answered),
        ] {
            let line = json!({"id": id, "parent": parent, "role": role, "content": content, "session": session});
            lines.push(line.to_string());
        }
    }
    let file = home.path("talk.jsonl");
    std::fs::write(&file, lines.join("\n")).unwrap();
    home.ok(&["import", &file.display().to_string()]);
}

fn settings(base_url: &str) -> String {
    let chat = profile("http://127.0.0.1:9/v1");
    format!(
        "{chat}[profiles.vectors]\nbase_url = \"{base_url}\"\n[embedder]\nkind = \"server\"\nprofile = \"vectors\"\n\
         model = \"m\"\n"
    )
}

const QUESTION: &str = "Which feline was unwell?";

fn retrieve(home: &Home, query: &str) -> Value {
    home.json(&["retrieve", query, "--anyway", "--budget", "120"])
}

fn found(value: &Value) -> Vec<&str> {
    value["items"].as_array().unwrap().iter().filter_map(|item| item["external_ids"][0].as_str()).collect()
}

fn stored_vectors(home: &Home) -> HashSet<Vec<u8>> {
    let store = rusqlite::Connection::open(home.store()).unwrap();
    let mut query = store.prepare("SELECT key FROM embedding").unwrap();
    query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn vectors_are_made_once_and_shared() {
    let server = Embeddings::start();
    let home = Home::new(&settings(&server.base_url()));
    talk(&home, "one");
    let first = retrieve(&home, QUESTION);
    assert!(found(&first).contains(&"u4"), "{first}");
    assert!(first["embedder"].as_str().unwrap().ends_with(" m"), "{first}");
    let cos = |item: &Value| item["score_parts"]["cos"].as_f64().unwrap_or_default() != 0.0;
    assert!(first["items"].as_array().unwrap().iter().any(cos), "{first}");
    let texts = server.texts();
    let (passages, asked) = (texts.iter().filter(|text| *text != QUESTION).count(), texts.len());
    let distinct: HashSet<&String> = texts.iter().collect();
    assert_eq!(distinct.len(), asked, "a text was embedded twice");
    assert_eq!((passages, stored_vectors(&home).len()), (asked - 1, passages));
    let again = retrieve(&home, QUESTION);
    assert_eq!((found(&again), &again["retrieval_set_id"]), (found(&first), &first["retrieval_set_id"]));
    talk(&home, "two");
    assert!(found(&retrieve(&home, QUESTION)).contains(&"u4"));
    let later = server.texts().split_off(asked);
    assert_eq!(later, [QUESTION, QUESTION], "only questions are embedded again");
}

#[test]
fn plan_uses_existing_vectors() {
    let server = Embeddings::start();
    let home = Home::new(&settings(&server.base_url()));
    talk(&home, "one");
    retrieve(&home, QUESTION);
    let asked = server.texts().len();
    let plan = home.json(&["plan", "When did the tabby have a fever on Monday?", "--budget", "2600"]);
    let rows = plan["included"].as_array().unwrap();
    let card = rows.iter().find(|row| row["source"]["external_id"] == "u4" && row["kind"] == "card");
    let card = card.unwrap_or_else(|| panic!("{plan}"));
    assert!(card["score_parts"]["cos"].as_f64().unwrap() > 0.0, "{card}");
    assert_eq!(server.texts().len(), asked + 1);
}

/// With vectors, a question belongs to the subject of an earlier one without a common word.
#[test]
fn subjects_are_compared_by_vectors() {
    let server = Embeddings::start();
    let home = Home::new(&settings(&server.base_url()));
    talk(&home, "one");
    retrieve(&home, QUESTION);
    let plan = home.json(&["plan", QUESTION, "--budget", "2600", "--mode", "heavy"]);
    let titles = plan["included"].as_array().unwrap().iter().map(|row| row["title"].to_string());
    let heading = titles.collect::<Vec<_>>().join("\n");
    assert!(heading.contains("subject of turn 5"), "{heading}");
}

#[test]
fn unreachable_server_leaves_lexical_search() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let home = Home::new(&settings(&format!("http://{gone}/v1")));
    talk(&home, "one");
    let output = home.run(&["retrieve", "What about the tabby's fever?", "--anyway", "--budget", "120", "--json"]);
    assert_eq!(output.code, 0, "{}", output.err);
    let value: Value = serde_json::from_str(&output.out).unwrap();
    assert!(found(&value).contains(&"u4"), "{value}");
    assert!(value["embedder"].is_null(), "{value}");
    assert_eq!(output.err.matches("by words only").count(), 1, "{}", output.err);
    assert!(stored_vectors(&home).is_empty());
    let doctor = home.run(&["doctor"]);
    assert!(doctor.out.contains("embedder") && doctor.out.contains("[embedder]"), "{}", doctor.out);
}

#[test]
fn removal_deletes_vectors() {
    let server = Embeddings::start();
    let home = Home::new(&settings(&server.base_url()));
    talk(&home, "one");
    retrieve(&home, QUESTION);
    let before = stored_vectors(&home);
    let text = pleach::domain::base::hash::Hash::of(b"The tabby had a fever on Monday.");
    assert!(before.contains(text.0.as_slice()));
    home.ok(&["message", "remove", "u4", "--yes"]);
    let after = stored_vectors(&home);
    assert!(!after.contains(text.0.as_slice()) && after.len() < before.len());
    assert!(!found(&retrieve(&home, QUESTION)).contains(&"u4"));
    assert!(!stored_vectors(&home).contains(text.0.as_slice()));
    home.ok(&["session", "delete", "one", "--yes"]);
    assert!(stored_vectors(&home).is_empty());
}

#[test]
fn doctor_reports_the_embedder() {
    let server = Embeddings::start();
    let doctor = |config: &str| Home::new(config).run(&["doctor"]).out;
    let output = doctor(&settings(&server.base_url()));
    assert!(output.contains("m of profile vectors computes vectors of 256 dimensions (on this machine)"), "{output}");
    assert!(doctor("").contains("searched by words only"));
}

#[test]
fn remote_embedder_is_called_when_a_message_is_sent() {
    let model = Model::new([]);
    let bench = Bench::new(&model);
    let embedder = Arc::new(RecordingEmbedder::default());
    let mut client = bench.start_with(|setup| setup.embedder = Some(embedder.setup()));
    let branch = client.session();
    client.say(branch, "The staging proxy listens on port 48213 since the tabby fell ill.");
    for turn in 0..24 {
        client.say(branch, &format!("Remark {turn}. {}", "Nothing of note happened today. ".repeat(30)));
    }
    let query = "Where does it listen?".to_owned();
    let answer = client.must(Request::Plan(PlanRequest::Retrieve {
        session: None,
        branch: None,
        query,
        at: None,
        budget: None,
        anyway: true,
    }));
    let Answer::Plan(PlanAnswer::Retrieved(found)) = answer else { panic!("{answer:?}") };
    assert_eq!(found.set.embedder.as_deref(), Some("elsewhere"));
    let before = embedder.texts(Purpose::Query);
    let draft = message("Which port did the staging proxy use, and was the feline sick?");
    let (typed, _) = client.drawn(branch, &draft).unwrap();
    assert_eq!(embedder.texts(Purpose::Query), before, "nothing is embedded while a person types");
    let ask = |plan| Request::Turn(TurnRequest::Ask { branch, draft: draft.clone(), plan: Some(plan) });
    let from = client.seen.len();
    let first = client.ask(ask(typed));
    assert_eq!(embedder.texts(Purpose::Query)[before.len()..], [draft.text.to_string()]);
    if let Err(failure) = first {
        assert_eq!(failure.kind, FailureKind::Stale);
        let (shown, _) = client.drawn(branch, &draft).unwrap();
        assert_ne!(shown, typed);
        client.ask(ask(shown)).unwrap();
    }
    client.closed(from, branch);
    assert_eq!(embedder.texts(Purpose::Query).len(), before.len() + 1, "each question is embedded once");
}

/// Symbols that match equally many words are ordered by meaning. Code is not sent to an embedder on another machine.
#[test]
fn symbols_are_compared_by_vectors_on_this_machine() {
    let leads = [true, false].map(|local| {
        let mut bench = context::bench(&Model::new([]));
        let text = "/// Gives the budgie some food.\npub fn food_one() {}\n/// Gives the tabby some food.\npub fn food_two() \
                    {}\n";
        std::fs::write(bench.workspace.join("src/food.rs"), text).unwrap();
        bench.tools = Some(Arc::new(Workspace::open(&bench.workspace, 10_000).unwrap()));
        let embedder = Arc::new(RecordingEmbedder { local, ..RecordingEmbedder::default() });
        let mut client = bench.start_with(|setup| {
            setup.patient = true;
            setup.embedder = Some(embedder.setup());
        });
        let branch = client.session();
        context::set(&mut client, branch, |_| {});
        let planned = client.plan(branch, &message("Which function in src/food.rs gives the feline some food?"));
        let Ok(Planned::Plan { code_set: Some(set), .. }) = planned else { panic!("{planned:?}") };
        assert_eq!(set.embedder.is_some(), local);
        let of = |name: &str| set.candidates.iter().find(|one| one.code.qualified.ends_with(name)).unwrap();
        let (one, two) = (of("food_one"), of("food_two"));
        let passages = embedder.texts(Purpose::Passage).join("\n");
        if local {
            assert!(two.score_parts.meaning > one.score_parts.meaning, "{set:?}");
            assert!(passages.contains("pub fn food_two()") && passages.contains("Gives the tabby some food."));
        } else {
            assert!(two.score_parts.meaning == 0.0 && one.score_parts.meaning == 0.0, "{set:?}");
            assert_eq!(passages, "");
        }
        two.score - one.score
    });
    assert!(leads[0] > leads[1] + 0.02, "the meaning raises the score: {leads:?}");
}
