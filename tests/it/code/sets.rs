//! Searches of the code as recorded sets, and what follow-ups without content keep of them: through the engine, the
//! store, and the real binary.

use crate::code::context::{FILES, QUESTION, bench, body, code, found, home, look_again, mark, set, start, symbol};
use crate::support::bench::{Bench, Client, Model, Say, message, text};
use pleach::context::explain::cause::{ChangesBetweenCalls, set_causes};
use pleach::domain::base::BranchId;
use pleach::domain::call::{CodeOutcome, CodeSet, Gate, PassReason, SkipReason};
use pleach::domain::conversation::MarkKind;
use pleach::domain::planning::row_matching::deltas;
use pleach::domain::planning::{CauseKind, ContextPlan, Mode, PolicySpec, Reason, Row, RowKind, SearchChoice, Section};
use pleach::domain::tool::{Rule, Verdict};
use pleach::engine::api::{
    Answer, BranchAnswer, BranchRequest, CallAnswer, CallRequest, Draft, ItemName, Planned, Request, SessionRequest,
};
use pleach::tools::{EffectOptions, Workspace};
use serde_json::{Value, json};
use std::sync::Arc;

/// Messages that ask for nothing new.
const FOLLOW_UPS: [&str; 10] = [
    "thanks, that works!",
    "ok continue",
    "yes please",
    "go on",
    "great",
    "do it",
    "next",
    "sounds good",
    "perfect, thank you",
    "and now?",
];

fn planned(client: &mut Client, branch: BranchId, draft: &Draft) -> (Arc<ContextPlan>, Arc<CodeSet>) {
    match client.plan(branch, draft) {
        Ok(Planned::Plan { plan, code_set: Some(set), .. }) => (plan, set),
        other => panic!("{other:?}"),
    }
}

/// The names of the symbols that a plan sends because they were found or kept.
fn sent(plan: &ContextPlan) -> Vec<&str> {
    let found = |row: &&Row| row.section() == Some(Section::Retrieved);
    code(plan).into_iter().filter(found).map(symbol).collect()
}

fn stored(bench: &Bench, set: &CodeSet) -> CodeSet {
    bench.store().code_set(set.id).unwrap().expect("the set is stored with the run")
}

#[test]
fn a_search_is_recorded_with_its_candidates() {
    let bench = bench(&Model::new([]));
    let mut client = start(&bench);
    let branch = client.session();
    set(&mut client, branch, |_| {});
    let (plan, set) = planned(&mut client, branch, &message(QUESTION));
    assert_eq!(plan.retrieval_set_ids, [set.id]);
    assert_eq!((set.gate, set.mode, set.query.as_str()), (Gate::Pass(PassReason::Named), Mode::Heavy, QUESTION));
    let best = &set.candidates[0];
    assert_eq!(
        (best.code.qualified.as_str(), best.rank, best.outcome),
        ("net::retry::retry_request", 1, CodeOutcome::Sent)
    );
    assert!(best.score > 0.0 && best.because.contains("the name ") && best.tokens > 0, "{best:?}");
    assert!((best.score - best.score_parts.sum()).abs() < 0.01);
    assert!(set.candidates.len() <= 60 && set.candidates.windows(2).all(|pair| pair[0].score >= pair[1].score));
    // A type and its impl block have the same name.
    let mut names: Vec<&str> = set.sent().map(|one| one.code.qualified.as_str()).collect();
    let mut rows = sent(&plan);
    names.sort_unstable();
    rows.sort_unstable();
    assert_eq!(names, rows, "exactly what the plan sends was sent");
    assert!(bench.store().code_set(set.id).unwrap().is_none(), "planning stores nothing");
    client.turn(branch, &message(QUESTION));
    assert_eq!(stored(&bench, &set), *set);
    assert!(bench.store().retrieval_set(set.id).unwrap().is_none(), "it is no set of older messages");
}

/// Each decision not to search is recorded with its reason.
#[test]
fn a_decision_not_to_search_is_recorded() {
    let bench = bench(&Model::new([]));
    let mut client = start(&bench);
    let branch = client.session();
    let mut gate = |mode: Mode, draft: &Draft| {
        set(&mut client, branch, |o| o.mode = Some(mode));
        let (plan, set) = planned(&mut client, branch, draft);
        assert!(sent(&plan).is_empty() && set.candidates.is_empty() && plan.retrieval_set_ids == [set.id]);
        (plan, set.gate)
    };
    let (off, mode_off) = gate(Mode::Off, &message(QUESTION));
    assert_eq!(mode_off, Gate::Skipped(SkipReason::ModeOff));
    let row = off.rows.iter().find(|row| row.kind == RowKind::Search && row.title.contains("code")).unwrap();
    assert_eq!((row.included(), &row.reason), (false, &Reason::ModeOff));
    let skipped = |why| Gate::Skipped(why);
    assert_eq!(gate(Mode::Light, &message("How does it wait?")).1, skipped(SkipReason::NotNamed));
    assert_eq!(gate(Mode::Heavy, &message("ok continue")).1, skipped(SkipReason::NoContent), "nothing came before");
    assert_eq!(gate(Mode::Heavy, &message("Who painted giraffes?")).1, skipped(SkipReason::Unknown));
    for mode in [Mode::Light, Mode::Heavy] {
        let (plan, why) = gate(mode, &message("Explain net/client.py"));
        assert_eq!(why, skipped(SkipReason::NoFile), "the words \"net\" and \"client\" are not searched");
        let row = plan.rows.iter().find(|row| matches!(row.reason, Reason::NoCode { .. })).unwrap();
        let sentence = "No code search: the message names a file that does not exist in this folder.";
        assert_eq!(row.reason.sentence(), sentence);
    }
    let never = Draft { search: SearchChoice::Never, ..message(QUESTION) };
    assert_eq!(gate(Mode::Heavy, &never).1, skipped(SkipReason::NotWanted));
    assert!(matches!(client.plan(branch, &message("")), Ok(Planned::Plan { code_set: None, .. })), "no message yet");
}

/// Under a policy without automatic search, the reason is the policy, in every mode that would search.
#[test]
fn a_policy_that_searches_nothing_is_named_as_the_reason() {
    let bench = bench(&Model::new([]));
    let policy = PolicySpec { retrieval: false, ..crate::engine::activation::spec() };
    let mut client = bench.start_with(|setup| {
        setup.patient = true;
        setup.settings.policies.insert(policy.name.clone(), policy.clone());
    });
    let branch = client.session();
    for (mode, why, sentence) in [
        (Mode::Heavy, SkipReason::PolicyOff, "No code search: the policy turns code search off."),
        (Mode::Light, SkipReason::PolicyOff, "No code search: the policy turns code search off."),
        (Mode::Off, SkipReason::ModeOff, "The context mode is Off; no automatic search."),
    ] {
        set(&mut client, branch, |o| o.mode = Some(mode));
        let (plan, set) = planned(&mut client, branch, &message(QUESTION));
        assert_eq!(set.gate, Gate::Skipped(why), "{mode:?}");
        let row = plan.rows.iter().find(|row| row.kind == RowKind::Search && row.title.contains("code")).unwrap();
        assert_eq!((row.included(), row.reason.sentence().as_str()), (false, sentence), "{mode:?}");
    }
}

/// The budget decides what is sent, but not whether to search: whatever does not fit has a row with its reason, and a
/// comparison with a larger budget names the budget.
#[test]
fn a_search_happens_in_every_budget() {
    let bench = bench(&Model::new([]));
    let mut client = start(&bench);
    let branch = client.session();
    let mut solve = |mode, budget: u32| {
        set(&mut client, branch, |o| (o.mode, o.budget) = (Some(mode), Some(budget)));
        match client.plan(branch, &message(QUESTION)) {
            Ok(Planned::Plan { plan, code_set: Some(set), .. }) => Some((plan, set)),
            Ok(Planned::Plan { code_set: None, .. }) => panic!("no search with {budget} tokens"),
            _ => None,
        }
    };
    for mode in [Mode::Light, Mode::Heavy] {
        let (large, _) = solve(mode, 8_000).expect("it fits");
        assert!(!sent(&large).is_empty(), "{mode:?}");
        let mut without = 0;
        for budget in (100..2_000).step_by(25) {
            let Some((plan, set)) = solve(mode, budget) else { continue };
            assert_eq!(set.gate, Gate::Pass(PassReason::Named), "{mode:?}, {budget}");
            if !sent(&plan).is_empty() {
                continue;
            }
            without += 1;
            let is_cut = |row: &&Row| matches!(row.reason, Reason::Allowance { .. } | Reason::Budget { .. });
            let cut: Vec<RowKind> = plan.excluded().filter(is_cut).map(|row| row.kind).collect();
            assert!(cut.contains(&RowKind::Code) && cut.contains(&RowKind::Search), "{mode:?}, {budget}: {cut:?}");
            let (mut found, _) = deltas(&large, &plan, &|_, _| false);
            let between = ChangesBetweenCalls { steps: &[], ops: &[], on_path: &|_| true, name: "main" };
            set_causes(&mut found, &large, &plan, &between);
            for delta in found.iter().filter(|delta| matches!(delta.row, RowKind::Code | RowKind::Search)) {
                assert_eq!(delta.causes[0].by, CauseKind::Budget, "{mode:?}, {budget}: {delta:#?}");
            }
        }
        assert!(without > 2, "{mode:?}: some budgets are too small");
    }
}

#[test]
fn removing_a_message_empties_the_words_of_its_search() {
    let bench = bench(&Model::new([]));
    let mut client = start(&bench);
    let branch = client.session();
    set(&mut client, branch, |_| {});
    let (_, set) = planned(&mut client, branch, &message(QUESTION));
    client.turn(branch, &message(QUESTION));
    let before = stored(&bench, &set);
    assert!(!before.query.is_empty() && before.candidates.iter().any(|one| !one.matched.is_empty()));
    let item = ItemName::TurnOf(client.open().nodes[0].id);
    client.must(Request::Branch(BranchRequest::RemoveMessage { branch, item }));
    let after = stored(&bench, &set);
    assert_eq!(after.query, "");
    assert!(after.candidates.iter().all(|one| one.matched.is_empty() && one.because.is_empty()));
    assert_eq!(after.sent().count(), before.sent().count());
}

/// A long message is stored once, as a message. The set keeps its beginning, the same one in the plan, in the store, and
/// on the command line, and the first 200 characters of a short message are all of it.
#[test]
fn a_long_message_is_not_stored_again_with_its_search() {
    let bench = bench(&Model::new([]));
    let mut client = start(&bench);
    let branch = client.session();
    set(&mut client, branch, |_| {});
    let marker = "the-end-of-the-paste";
    let paste = format!("{QUESTION} {} {marker}", "Ünd die Zeile geht weiter. ".repeat(200));
    let (plan, set) = planned(&mut client, branch, &message(&paste));
    assert_eq!(set.query.chars().count(), 200);
    assert!(paste.starts_with(set.query.trim_end_matches('…')), "{}", set.query);
    assert!(found(&plan, "retry_request").is_some(), "the whole message is searched for");
    client.turn(branch, &message(&paste));
    assert_eq!(stored(&bench, &set), *set);
    assert_eq!(plan.retrieval_set_ids, [set.id]);
    let store = rusqlite::Connection::open(bench.store_path()).unwrap();
    let sets = "SELECT count(*), max(length(body ->> '$.query')) FROM retrieval_set WHERE body ->> '$.kind' = 'code'";
    let found: (i64, i64) = store.query_row(sets, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    assert_eq!(found, (1, 200));
    let whole = "x".repeat(200);
    let (_, set) = planned(&mut client, branch, &message(&whole));
    assert_eq!(set.query, whole);
}

/// A set that an earlier version stored with the whole message shows it as before.
#[test]
fn a_stored_long_query_is_shown_as_before() {
    let bench = bench(&Model::new([]));
    let mut client = start(&bench);
    let branch = client.session();
    set(&mut client, branch, |_| {});
    let (_, set) = planned(&mut client, branch, &message(QUESTION));
    client.turn(branch, &message(QUESTION));
    let run = client.runs().pop().unwrap().id.to_string();
    client.stop();
    let long = format!("{QUESTION} {}", "and more of it, ".repeat(100));
    let update = format!("UPDATE retrieval_set SET body = json_set(body, '$.query', '{long}')");
    crate::support::bench::run_sql(&bench.store_path(), &update);
    let mut client = start(&bench);
    client.open();
    let Answer::Call(CallAnswer::StoredPlan { code_set: Some(shown), .. }) =
        client.must(Request::Call(CallRequest::StoredPlan { id: run }))
    else {
        panic!("no set")
    };
    assert_eq!((shown.id, shown.query.as_str()), (set.id, long.as_str()));
    let (plan, _) = planned(&mut client, branch, &message("ok continue"));
    assert!(sent(&plan).iter().any(|name| name.ends_with("retry_request")), "its symbols are kept");
}

/// Six questions bring code. After each, follow-ups without content search nothing and keep exactly that code.
#[test]
fn follow_ups_keep_the_code_of_the_question_before() {
    let bench = bench(&Model::new([]));
    let mut client = start(&bench);
    let branch = client.session();
    set(&mut client, branch, |_| {});
    let questions = [
        (QUESTION, "retry_request"),
        ("where is backoff computed?", "backoff"),
        ("How does Client.send work?", "send"),
        ("what does sync_all of the Disk do?", "sync_all"),
        ("where is the temperature of ModelOptions validated?", "validate"),
        ("which function draws a graph of points?", "draw_graph"),
    ];
    let mut follow_ups = FOLLOW_UPS.iter().cycle();
    for (question, name) in questions {
        let (plan, set) = planned(&mut client, branch, &message(question));
        assert!(set.gate.is_open() && sent(&plan).iter().any(|sent| sent.ends_with(name)), "{question}: {set:?}");
        let mut wanted: Vec<String> = sent(&plan).into_iter().map(str::to_owned).collect();
        client.say(branch, question);
        wanted.sort_unstable();
        for words in follow_ups.by_ref().take(FOLLOW_UPS.len() / 2) {
            let (plan, set) = planned(&mut client, branch, &message(words));
            assert_eq!(set.gate, Gate::Inherited(SkipReason::NoContent), "{words}");
            let mut kept = sent(&plan);
            kept.sort_unstable();
            assert_eq!(kept, wanted, "{words}");
            let why = |row: &&Row| row.section() == Some(Section::Retrieved) && row.source.code.is_some();
            for row in plan.rows.iter().filter(why) {
                assert!(matches!(row.reason, Reason::KeptCode { .. }), "{row:?}");
                assert!(row.reason.sentence().to_lowercase().contains("kept from the previous question"));
            }
            client.say(branch, words);
        }
    }
}

#[test]
fn follow_ups_keep_code_only_of_their_path_and_subject() {
    let bench = bench(&Model::new([]));
    let mut client = start(&bench);
    let branch = client.session();
    set(&mut client, branch, |_| {});
    client.say(branch, QUESTION);
    let keeps = |client: &mut Client, branch| {
        let (plan, _) = planned(client, branch, &message("ok continue"));
        sent(&plan).iter().any(|name| name.ends_with("retry_request"))
    };
    assert!(keeps(&mut client, branch));
    let answered = client.open().branches[0].head;
    client.say(branch, "Who painted giraffes and elephants?");
    assert!(!keeps(&mut client, branch), "the last question was about something else");
    let fork = BranchRequest::Fork { branch, at: answered, name: None, switch: false };
    let Answer::Branch(BranchAnswer::Branch(fork)) = client.must(Request::Branch(fork)) else { panic!() };
    let branch = fork.id;
    assert!(keeps(&mut client, branch), "the fork's path ends with the question about code");
    set(&mut client, branch, |o| o.mode = Some(Mode::Off));
    assert!(!keeps(&mut client, branch), "Off brings nothing");
    set(&mut client, branch, |o| o.focus = vec!["src/disk.rs".into()]);
    assert!(!keeps(&mut client, branch), "the focus changed");
    set(&mut client, branch, |_| {});
    let (plan, _) = planned(&mut client, branch, &message("ok continue"));
    let row = found(&plan, "retry_request").unwrap().atom;
    mark(&mut client, branch, row, MarkKind::Exclude);
    assert!(!keeps(&mut client, branch), "a person excluded it");
    client.must(Request::Session(SessionRequest::Undo));
    assert!(keeps(&mut client, branch));
    std::fs::write(bench.workspace.join("src/net/retry.rs"), "fn other() {}\n").unwrap();
    look_again(&mut client);
    assert!(!keeps(&mut client, branch), "the symbol no longer exists");
}

/// A message that only continues the subject and finds nothing keeps the code and does not end its subject, and neither
/// does one that was sent in the mode Off.
#[test]
fn a_continuation_that_finds_nothing_keeps_the_code() {
    let bench = bench(&Model::new([]));
    let mut client = start(&bench);
    let branch = client.session();
    set(&mut client, branch, |_| {});
    client.say(branch, QUESTION);
    let keeps = |client: &mut Client, words: &str| {
        let (plan, set) = planned(client, branch, &message(words));
        (sent(&plan).iter().any(|name| name.ends_with("retry_request")), set.gate)
    };
    let unknown = Gate::Inherited(SkipReason::Unknown);
    assert_eq!(keeps(&mut client, "and its giraffes?"), (true, unknown));
    set(&mut client, branch, |o| o.mode = Some(Mode::Off));
    client.say(branch, "thanks");
    client.say(branch, "and its giraffes?");
    set(&mut client, branch, |_| {});
    assert_eq!(keeps(&mut client, "go on"), (true, Gate::Inherited(SkipReason::NoContent)));
    client.say(branch, "and its giraffes?");
    assert!(keeps(&mut client, "go on").0);
    client.say(branch, "Who painted giraffes and elephants?");
    assert!(!keeps(&mut client, "and their colors?").0 && !keeps(&mut client, "go on").0, "another subject");
}

/// In Light, what the last question named is kept as a short card.
#[test]
fn light_keeps_what_the_question_named() {
    let bench = bench(&Model::new([]));
    let mut client = start(&bench);
    let branch = client.session();
    set(&mut client, branch, |o| o.mode = Some(Mode::Light));
    client.say(branch, QUESTION);
    let (plan, set) = planned(&mut client, branch, &message("ok continue"));
    assert_eq!(set.gate, Gate::Inherited(SkipReason::NoContent));
    assert!(found(&plan, "retry_request").is_some_and(|row| row.included() && row.tokens <= 120));
}

#[test]
fn the_command_line_shows_the_set() {
    let home = home("");
    let plan = home.json(&["plan", QUESTION, "--mode", "heavy"]);
    let rows = plan["included"].as_array().unwrap();
    let heading = rows.iter().find(|row| row["reason"] == "code_searched").unwrap();
    let touchpoint = rows.iter().find(|row| row["reason"] == "touchpoint").unwrap();
    assert_eq!((&touchpoint["priority"], &touchpoint["ttl"]), (&json!("retrieved"), &Value::Null));
    assert_eq!(touchpoint["companions"], json!([heading["id"]]), "without its heading it is not sent");
    assert!(heading["companions"].as_array().unwrap().contains(&touchpoint["id"]));
    assert!(rows.iter().filter(|row| row["kind"] == "text").all(|row| row["priority"] == "required"));
    let set = &plan["code_set"];
    assert_eq!(set["gate"], json!({ "gate": "pass", "why": "named" }));
    assert!(set["gate_text"].as_str().unwrap().starts_with("Searched "), "{set}");
    let best = &set["candidates"][0];
    assert_eq!((best["symbol"].as_str(), best["outcome"].as_str()), (Some("net::retry::retry_request"), Some("sent")));
    assert!(best["score"].as_f64().unwrap() > 0.0 && best["why"].as_str().unwrap().contains("the name "), "{best}");
    let row = plan["included"].as_array().unwrap().iter().find(|row| row["id"] == best["id"]);
    assert_eq!(row.unwrap()["source"]["symbol"], "net::retry::retry_request");
    assert_eq!(plan["retrieval_set_ids"], json!([set["id"]]));
    assert!(home.ok(&["plan", QUESTION, "--mode", "heavy"]).contains("Searched "));
    let answer = home.json(&["ask", QUESTION, "--mode", "heavy"]);
    let shown = home.json(&["plans", "show", answer["run_id"].as_str().unwrap()]);
    assert_eq!(shown["code_set"], *set);
    home.ok(&["lease", touchpoint["id"].as_str().unwrap()]);
    let leased = home.json(&["plan", QUESTION, "--mode", "heavy"]);
    let row = leased["included"].as_array().unwrap().iter().find(|row| row["id"] == touchpoint["id"]).unwrap();
    assert_eq!((&row["priority"], row["pin"].as_str()), (&json!("lease"), Some("leased")), "{row}");
    assert!(row["ttl"].as_u64().unwrap() > 0 && row["companions"] == json!([]), "{row}");
    home.ok(&["undo"]);
    let off = home.json(&["plan", QUESTION, "--mode", "off"]);
    assert_eq!(off["code_set"]["gate"], json!({ "gate": "skipped", "why": "mode_off" }));
    let out: Vec<&Value> = [&plan, &off].into_iter().flat_map(|plan| plan["excluded"].as_array().unwrap()).collect();
    let keys = |row: &&Value| ["priority", "ttl", "companions"].iter().all(|key| row.get(key).is_some());
    assert!(!out.is_empty() && out.iter().all(keys), "rows that are left out say it too: {out:#?}");
    // Another process keeps the code of the question before.
    let next = home.json(&["plan", "thanks, that works!", "--mode", "heavy"]);
    let kept: Vec<&Value> =
        next["included"].as_array().unwrap().iter().filter(|row| row["reason"] == "kept_code").collect();
    assert!(kept.iter().any(|row| row["source"]["symbol"] == "net::retry::retry_request"), "{next:#}");
    assert_eq!(next["code_set"]["gate"], json!({ "gate": "inherited", "why": "no_content" }));
}

/// The messages of a request.
fn messages(body: &[u8]) -> Vec<Value> {
    let body: Value = serde_json::from_slice(body).unwrap();
    body["messages"].as_array().unwrap().clone()
}

/// Tool calls that read, search, and change the code, in rounds of one turn. They change a file whose symbols were sent,
/// remove one, and add one.
fn rounds() -> Vec<Vec<Say>> {
    let call = |name: &str, args: Value| Say::Call(name.into(), args.to_string());
    let changed = FILES[0].1.replace("> 0", "> 41");
    vec![
        vec![call("read_file", json!({ "path": "src/net/retry.rs" }))],
        vec![call("write_file", json!({ "path": "src/net/retry.rs", "text": changed }))],
        vec![call("request_code_context", json!({ "query": "retry a request", "budget": 400 }))],
        vec![
            call("write_file", json!({ "path": "src/extra/more.rs", "text": "pub fn retry_request_more() {}\n" })),
            call("write_file", json!({ "path": "src/disk.rs", "text": "// empty\n" })),
        ],
        vec![call("expand", json!({ "symbol": "backoff" }))],
        vec![Say::Text("Done with retry_request.".into())],
    ]
}

fn assert_each_extends_the_last(bodies: &[Vec<u8>], place: &str) {
    for pair in bodies.windows(2) {
        let (before, after) = (messages(&pair[0]), messages(&pair[1]));
        assert!(after.len() > before.len(), "{place}");
        for (at, (old, new)) in before.iter().zip(&after).enumerate() {
            assert_eq!(old, new, "message {at} under {place}");
        }
    }
}

/// Within a turn, each request begins with the messages of the request before: the code that was chosen for the first
/// round stays in the same bytes, whatever the tools change.
#[test]
fn each_round_of_a_turn_begins_with_the_round_before() {
    for (layout, mode) in [
        ("cache_friendly", Mode::Heavy),
        ("classic", Mode::Heavy),
        ("cache_friendly", Mode::Light),
        ("cache_friendly", Mode::Off),
    ] {
        let model = Model::new([]);
        let mut bench = bench(&model);
        let space = Workspace::open_with_effects(&bench.workspace, 20_000, EffectOptions::default()).unwrap();
        bench.tools = Some(Arc::new(space));
        let rule = |tool: &str| Rule { tool: tool.into(), on: None, verdict: Verdict::Allow };
        let mut client = bench.start_with(|setup| {
            setup.patient = true;
            setup.settings.rounds = 10;
            setup.settings.tool_rules = vec![rule("write_file")];
        });
        let branch = client.session();
        set(&mut client, branch, |o| (o.mode, o.layout) = (Some(Mode::Heavy), Some(layout.into())));
        let plan = client.whole_plan(branch, &message("what does sync_all of the Disk do?"));
        let pinned = found(&plan, "sync_all").unwrap().atom;
        mark(&mut client, branch, pinned, MarkKind::Sticky);
        set(&mut client, branch, |o| (o.mode, o.layout) = (Some(mode), Some(layout.into())));
        let (plan, first) = planned(&mut client, branch, &message(QUESTION));
        assert_eq!(found(&plan, "retry_request").is_some(), mode != Mode::Off);
        for round in rounds() {
            model.then(round);
        }
        let closed = client.turn(branch, &message(QUESTION));
        assert!(closed.failure.is_none(), "{closed:?}");
        let bodies = model.bodies();
        assert_eq!(bodies.len(), rounds().len());
        assert_each_extends_the_last(&bodies, &format!("{layout}, {mode:?}"));
        let runs = client.runs();
        let plans: Vec<Arc<ContextPlan>> = runs
            .iter()
            .map(|run| match client.must(Request::Call(CallRequest::StoredPlan { id: run.id.to_string() })) {
                Answer::Call(CallAnswer::StoredPlan { plan, code_set, .. }) => {
                    assert_eq!(code_set.as_deref(), Some(&*first), "the set of the first round");
                    plan
                }
                other => panic!("{other:?}"),
            })
            .collect();
        for plan in &plans[1..] {
            let kept: Vec<(&str, bool)> = code(plan).into_iter().map(|row| (symbol(row), row.included())).collect();
            assert_eq!(kept, code(&plans[0]).into_iter().map(|row| (symbol(row), row.included())).collect::<Vec<_>>());
        }
        let last = plans.last().unwrap();
        let changed = |row: &Row| row.title.contains("its file has changed since it was sent");
        assert!(found(last, "sync_all").is_some_and(|row| row.included() && changed(row)), "{last:#?}");
        assert!(!found(&plans[0], "sync_all").is_some_and(changed));
        if mode != Mode::Off {
            assert!(found(last, "retry_request").is_some_and(|row| row.included() && changed(row)));
        }
        for run in &runs {
            assert_eq!(client.replay(run).unwrap(), run.request_digest);
        }
    }
}

/// A client under the policy of the tests of activation, on a folder of code.
fn leasing(model: &Arc<Model>) -> (Bench, Client, BranchId) {
    let bench = bench(model);
    let policy = PolicySpec { retrieval: true, lease_turns: 4, ..crate::engine::activation::spec() };
    let mut client = bench.start_with(|setup| {
        setup.patient = true;
        setup.settings.policies.insert(policy.name.clone(), policy.clone());
    });
    let branch = client.session();
    set(&mut client, branch, |_| {});
    (bench, client, branch)
}

const SPEAKS: &str = "It depends on `backoff`, which doubles.";

fn lease_of<'a>(plan: &'a ContextPlan, name: &str) -> Option<&'a Row> {
    code(plan).into_iter().find(|row| symbol(row).ends_with(name) && row.section() == Some(Section::LeasedPins))
}

/// A symbol that answers speak of is kept as a short card: for one turn, then by a lease that is renewed, and then a pin
/// is suggested, by whose row the symbol is pinned.
#[test]
fn symbols_that_answers_speak_of_are_kept_and_leased() {
    let model = Model::new([]);
    let (_bench, mut client, branch) = leasing(&model);
    let draft = message("Tell me of tea.");
    let say = |client: &mut Client, answer: &str| {
        model.then(text(answer));
        client.say(branch, "Tell me of tea.");
        client.whole_plan(branch, &draft)
    };
    assert!(lease_of(&client.whole_plan(branch, &draft), "backoff").is_none());
    let plan = say(&mut client, SPEAKS);
    let row = lease_of(&plan, "backoff").unwrap_or_else(|| panic!("{:#?}", code(&plan)));
    assert_eq!((row.pin, &row.reason), (Some(MarkKind::Ephemeral), &Reason::Ephemeral));
    assert!(row.tokens <= 120, "{row:?}");
    let sent = body(&mut client, branch);
    assert!(sent.contains("net::retry::backoff\\nfn backoff(n: u32) -> u32") && !sent.contains("let twice"), "{sent}");
    let plan = say(&mut client, SPEAKS);
    let row = lease_of(&plan, "backoff").unwrap();
    let Some(MarkKind::Leased { turns }) = row.pin else { panic!("{row:?}") };
    assert_eq!(row.reason, Reason::Leased { left: turns.into(), engine: true });
    let plan = say(&mut client, "Tea is green.");
    let left = |plan: &ContextPlan| match lease_of(plan, "backoff").unwrap().pin {
        Some(MarkKind::Leased { turns }) => u32::from(turns),
        other => panic!("{other:?}"),
    };
    assert_eq!(left(&plan) + 1, u32::from(turns), "each turn counts down");
    set(&mut client, branch, |o| o.mode = Some(Mode::Off));
    let off = client.whole_plan(branch, &draft);
    let row = found(&off, "backoff").unwrap();
    assert_eq!((row.included(), &row.reason), (false, &Reason::ModeOff), "Off sends only pinned symbols");
    set(&mut client, branch, |_| {});
    let suggested =
        |plan: &ContextPlan| plan.suggested().find(|row| symbol(row).ends_with("backoff")).map(|row| row.atom);
    let mut plan = plan;
    for _ in 0..3 {
        assert_eq!(suggested(&plan), None);
        plan = say(&mut client, SPEAKS);
    }
    let atom = suggested(&plan).expect("renewed three times");
    let own = lease_of(&plan, "backoff").unwrap().atom;
    assert_ne!(atom, own, "the symbol keeps its row");
    let dismiss = BranchRequest::Dismiss { branch, item: ItemName::Atom(atom) };
    client.must(Request::Branch(dismiss));
    assert_eq!(suggested(&client.whole_plan(branch, &draft)), None);
    client.must(Request::Session(SessionRequest::Undo));
    mark(&mut client, branch, atom, MarkKind::Sticky);
    let plan = client.whole_plan(branch, &draft);
    let row = found(&plan, "backoff").unwrap();
    assert_eq!((row.atom, row.pin, row.section()), (own, Some(MarkKind::Sticky), Some(Section::StickyPins)));
    assert!(body(&mut client, branch).contains("let twice"), "a pin sends the source");
}

/// What a person decided about a symbol stays: undo takes the program's lease back, and an excluded symbol is not leased.
#[test]
fn leases_of_symbols_are_undone_and_respect_exclusions() {
    let model = Model::new([]);
    let (_bench, mut client, branch) = leasing(&model);
    let draft = message("Tell me of tea.");
    let say = |client: &mut Client, branch| {
        model.then(text(SPEAKS));
        client.say(branch, "Tell me of tea.");
        client.whole_plan(branch, &draft)
    };
    say(&mut client, branch);
    let plan = say(&mut client, branch);
    let row = lease_of(&plan, "backoff").unwrap();
    assert!(matches!(row.pin, Some(MarkKind::Leased { .. })), "{row:?}");
    let atom = row.atom;
    let fork = BranchRequest::Fork { branch, at: None, name: None, switch: false };
    let Answer::Branch(BranchAnswer::Branch(fork)) = client.must(Request::Branch(fork)) else { panic!() };
    assert!(lease_of(&client.whole_plan(fork.id, &draft), "backoff").is_some(), "a fork inherits it");
    client.must(Request::Session(SessionRequest::Undo));
    client.must(Request::Session(SessionRequest::Undo));
    let row = lease_of(&client.whole_plan(branch, &draft), "backoff").map(|row| row.pin);
    assert!(!matches!(row, Some(Some(MarkKind::Leased { .. }))), "{row:?}");
    mark(&mut client, branch, atom, MarkKind::Exclude);
    for _ in 0..2 {
        let plan = say(&mut client, branch);
        let row = found(&plan, "backoff").unwrap();
        assert_eq!((row.included(), &row.reason), (false, &Reason::UserExcluded { once: false }));
    }
    mark(&mut client, branch, atom, MarkKind::Exclude);
    assert!(lease_of(&say(&mut client, branch), "backoff").is_none(), "a person released it");
}

/// A question about a leased symbol brings its lines in place of the short card.
#[test]
fn a_question_about_a_leased_symbol_brings_its_lines() {
    let model = Model::new([]);
    let (_bench, mut client, branch) = leasing(&model);
    for _ in 0..2 {
        model.then(text(SPEAKS));
        client.say(branch, "Tell me of tea.");
    }
    let plan = client.whole_plan(branch, &message("where is backoff computed?"));
    let rows: Vec<&Row> = code(&plan).into_iter().filter(|row| symbol(row).ends_with("backoff")).collect();
    let [row] = rows[..] else { panic!("{rows:#?}") };
    assert_eq!(row.section(), Some(Section::Retrieved));
    assert!(body(&mut client, branch).contains("let twice"));
}

/// A state block may suggest to pin a symbol. The row waits until a person pins the symbol by it or dismisses it.
#[test]
fn the_model_suggests_to_pin_a_symbol() {
    let answer = "Fine.\n\n---STATE---\nGoal: retries\nSuggest pins: `backoff`, nowhere_at_all\n---END STATE---";
    let model = Model::new([text(answer)]);
    let (_bench, mut client, branch) = leasing(&model);
    client.say(branch, "Tell me of tea.");
    let draft = message("Tell me of coffee.");
    let plan = client.whole_plan(branch, &draft);
    let rows: Vec<&Row> = plan.suggested().collect();
    let [row] = rows[..] else { panic!("{rows:#?}") };
    assert_eq!((symbol(row), &row.reason), ("net::retry::backoff", &Reason::SuggestedByModel));
    let atom = row.atom;
    client.must(Request::Branch(BranchRequest::Dismiss { branch, item: ItemName::Atom(atom) }));
    assert_eq!(client.whole_plan(branch, &draft).suggested().count(), 0);
    client.must(Request::Session(SessionRequest::Undo));
    mark(&mut client, branch, atom, MarkKind::Sticky);
    let plan = client.whole_plan(branch, &draft);
    assert_eq!(plan.suggested().count(), 0);
    let row = found(&plan, "backoff").unwrap();
    assert_eq!((row.section(), row.pin), (Some(Section::StickyPins), Some(MarkKind::Sticky)));
    mark(&mut client, branch, row.atom, MarkKind::Sticky);
    let plan = client.whole_plan(branch, &draft);
    assert!(found(&plan, "backoff").is_none_or(|row| !row.included()), "it is unpinned by its own row");
}

/// Short cards stay through the rounds of a turn as well, even if a tool shows the same lines.
#[test]
fn short_cards_stay_through_the_rounds_of_a_turn() {
    let read = json!({ "path": "src/net/retry.rs" }).to_string();
    let model = Model::new([text(SPEAKS)]);
    let (_bench, mut client, branch) = leasing(&model);
    client.say(branch, "Tell me of tea.");
    assert!(lease_of(&client.whole_plan(branch, &message("Tell me of coffee.")), "backoff").is_some());
    model.then(vec![Say::Call("read_file".into(), read)]);
    model.then(text("It is black."));
    client.say(branch, "Tell me of coffee.");
    let bodies = model.bodies();
    let [_, first, second] = &bodies[..] else { panic!("{}", bodies.len()) };
    let (first, second) = (messages(first), messages(second));
    assert!(first.iter().any(|message| message.to_string().contains("Code mentioned before")));
    assert_eq!(first[..], second[..first.len()]);
}
