//! Call history and usage, on the command line and through the engine: sums match the calls, unknown stays unknown, and
//! the last request is known again after a restart.

use crate::support::bench::{Bench, Client, Model, message};
use crate::support::binary::Home;
use crate::support::server::{Server, Step, send, stream, words};
use pleach::domain::call::Ledger;
use pleach::engine::api::{Answer, CallAnswer, CallRequest, Event, PlanAnswer, PlanRequest, Planned, Request};
use serde_json::{Value, json};

fn reporting(usage: &Value) -> Vec<Step> {
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let usage_event = json!({"choices": [], "usage": usage});
    vec![stream(), words("yes"), send(&format!("data: {end}\n\ndata: {usage_event}\n\ndata: [DONE]\n\n"))]
}

fn value(home: &Home, args: &[&str]) -> Value {
    let output = home.run(args);
    assert_eq!(output.code, 0, "{args:?}\n{}", output.err);
    serde_json::from_str(&output.out).unwrap()
}

fn sum(runs: &Value, of: impl Fn(&Value) -> Option<u64>) -> u64 {
    runs.as_array().unwrap().iter().filter_map(of).sum()
}

#[test]
fn figures_match_the_calls() {
    let full = json!({"prompt_tokens": 1_000, "completion_tokens": 100,
        "prompt_tokens_details": {"cached_tokens": 600}});
    let some = json!({"prompt_tokens": 1_200, "completion_tokens": 50});
    let server =
        Server::start_posts(vec![reporting(&full), reporting(&some), reporting(&Value::Null), reporting(&some)]);
    let home = Home::new(&format!(
        "profile = \"own\"\nstate_block = \"off\"\n[profiles.own]\nbase_url = \"{}\"\nmodel = \"m\"\nattempts = 1\n\
         [models.m]\ncontext_window = 100000\nencoding = \"approximate\"\n\
         price = {{ input = 2.0, output = 8.0, cached = 0.5 }}\n",
        server.base_url()
    ));
    value(&home, &["session", "new", "--json", "figures"]);
    let empty = value(&home, &["stats", "--json"]);
    assert_eq!((&empty["calls"]["count"], &empty["calls"]["tokens_in"]["total"]), (&json!(0), &Value::Null));
    assert!(home.run(&["stats"]).out.contains("calls          none on this branch yet"));
    assert!(!home.run(&["stats"]).out.contains("permanent"), "only the policy with levels names them");
    assert!(home.run(&["stats", "--policy", "levels"]).out.contains("permanent    "));
    for words in ["one ", "two ", "three "] {
        value(&home, &["ask", "--json", &words.repeat(300)]);
    }
    value(&home, &["branch", "fork", "other", "--json"]);
    value(&home, &["ask", "--json", "four"]);
    let stats = value(&home, &["stats", "--whole-session", "--json"]);
    let runs = value(&home, &["plans", "list", "--json"]);
    for key in [
        "total_used",
        "total_budget",
        "percent",
        "messages_stored",
        "summaries",
        "average_compression_ratio",
        "levels",
        "last_compression",
        "retrieved",
    ] {
        assert!(stats.get(key).is_some(), "{key} stays");
    }
    let calls = &stats["calls"];
    assert_eq!(calls["count"], 4);
    assert_eq!(calls["tokens_in"]["total"], sum(&runs, |run| run["usage"]["prompt"].as_u64()));
    assert_eq!(calls["tokens_out"]["total"], sum(&runs, |run| run["usage"]["completion"].as_u64()));
    assert_eq!(calls["est_total"], sum(&runs, |run| run["est_total"].as_u64()));
    let cost: f64 = runs.as_array().unwrap().iter().filter_map(|run| run["cost"].as_f64()).sum();
    assert!((calls["cost"]["total"].as_f64().unwrap() - cost).abs() < 1e-9, "{calls}");
    assert_eq!((&calls["tokens_in"]["known"], &calls["cached"]["known"]), (&json!(3), &json!(1)));
    assert_eq!(calls["cached"]["share"], 0.6, "of the only call that reports it");
    let unknown = &calls["runs"][2];
    for key in ["tokens_in", "tokens_out", "cached_tokens", "cached_share", "cost", "estimate_error"] {
        assert_eq!(unknown[key], Value::Null, "{key} is unknown, never 0");
    }
    let of = |stats: &Value| stats["calls"]["count"].clone();
    assert_eq!(of(&value(&home, &["stats", "--json"])), 4, "the fork's path contains the earlier calls");
    assert_eq!(of(&value(&home, &["stats", "--json", "-b", "main"])), 3);
    let text = home.run(&["stats", "--whole-session"]).out;
    assert!(text.contains("tokens in") && text.contains('?') && text.contains("1 unknown"), "{text}");
    assert!(text.contains("cached         ▄???  60.0% of the input  3 unknown"), "{text}");
}

fn ledger(client: &mut Client, branch: pleach::domain::base::ids::BranchId, whole: bool) -> Box<Ledger> {
    match client.must(Request::Call(CallRequest::Ledger { branch, whole })) {
        Answer::Call(CallAnswer::Ledger(found)) => found,
        other => panic!("{other:?}"),
    }
}

#[test]
fn turns_are_counted_along_the_path() {
    let model = Model::new([]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    assert_eq!(ledger(&mut client, branch, false).totals.calls, 0);
    for words in ["one", "two", "three"] {
        client.say(branch, words);
    }
    let found = ledger(&mut client, branch, false);
    let turns: Vec<Option<u32>> = found.calls.iter().map(|call| call.turn).collect();
    assert_eq!(turns, [Some(1), Some(2), Some(3)]);
    assert_eq!(found.calls[1].title, "two");
    assert_eq!((found.totals.input.known(), found.totals.cost.mean()), (None, None), "nothing was reported");
}

#[test]
fn last_request_is_known_after_a_restart() {
    let model = Model::new([]);
    let bench = Bench::new(&model);
    let mut client = bench.start();
    let branch = client.session();
    for n in 0..4 {
        client.say(branch, &format!("Question {n}: {}", "the grace of a token is 1500 ms. ".repeat(8)));
    }
    let same = |planned: Planned| match planned {
        Planned::Plan { same_prefix, .. } => same_prefix,
        Planned::Blocked(blocked) => panic!("{}", blocked.sentence()),
    };
    let before = same(client.plan(branch, &message("And now?")).unwrap());
    assert!(before > Some(0), "{before:?}");
    client.stop();
    let mut client = bench.start();
    client.open();
    // The last request is read in the background. Until then it is unknown, not zero, and an event reports it.
    let first = same(client.plan(branch, &message("And now?")).unwrap());
    assert!(first.is_none() || first == before, "{first:?}");
    let reports_usage = |event: &Event| {
        let Event::Planned { planned: Planned::Plan { same_prefix, .. }, .. } = event else { return false };
        same_prefix.is_some() && *same_prefix == before
    };
    client.wait(0, reports_usage);
    let request = Request::Plan(PlanRequest::WhatIf { branch, draft: message("And now?"), variants: Vec::new() });
    let Answer::Plan(PlanAnswer::WhatIf(found)) = client.must(request) else { panic!() };
    assert_eq!(found.present.as_ref().unwrap().same, before);
    client.stop();
    let mut patient = bench.start_with(|setup| setup.patient = true);
    patient.open();
    assert_eq!(same(patient.plan(branch, &message("And now?")).unwrap()), before, "a single command waits for it");
}
