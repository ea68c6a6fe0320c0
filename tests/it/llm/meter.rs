//! The meter and the usage that servers report: what it learns and displays, what raises an alarm, and costs.

use crate::support::bench::{Bench, message};
use crate::support::binary::Home;
use crate::support::server::{Server, Step, send, stream, words};
use pleach::domain::call::Calibration;
use pleach::engine::api::{Answer, BranchAnswer, BranchRequest, Draft, Planned, Request, TurnRequest};
use serde_json::{Value, json};

/// A one-word answer whose server reports this usage.
fn reporting(usage: &Value) -> Vec<Step> {
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let usage_event = json!({"choices": [], "usage": usage});
    vec![stream(), words("yes"), send(&format!("data: {end}\n\ndata: {usage_event}\n\ndata: [DONE]\n\n"))]
}

fn home(server: &Server) -> Home {
    Home::new(&format!(
        "profile = \"own\"\nstate_block = \"off\"\n[profiles.own]\nbase_url = \"{}\"\nmodel = \"m\"\nattempts = 1\n\
         [models.m]\ncontext_window = 100000\nencoding = \"approximate\"\n\
         price = {{ input = 2.0, output = 8.0, cached = 0.5, reasoning = 10.0 }}\n",
        server.base_url()
    ))
}

fn value(home: &Home, args: &[&str]) -> Value {
    let output = home.run(args);
    assert_eq!(output.code, 0, "{args:?}\n{}", output.err);
    serde_json::from_str(&output.out).unwrap()
}

#[test]
fn factor_is_learned_over_sessions() {
    let answers = [140, 150, 320].map(|prompt| reporting(&json!({"prompt_tokens": prompt, "completion_tokens": 2})));
    let server = Server::start_posts(answers.to_vec());
    let home = home(&server);
    let before = value(&home, &["plan", "--json", "one"]);
    assert_eq!(before["calibration"], Value::Null, "nothing is known yet");
    assert_eq!(before["certainty"], "estimated");
    let mut quotients: Vec<f64> = Vec::new();
    for words in ["one", "two", "three"] {
        value(&home, &["session", "new", "--json", words]);
        let run = &value(&home, &["ask", "--json", words])["runs"][0];
        quotients.push(run["usage"]["prompt"].as_f64().unwrap() / run["est_total"].as_f64().unwrap());
    }
    quotients.sort_by(f64::total_cmp);
    let plan = value(&home, &["plan", "--json", "one"]);
    let known = &plan["calibration"];
    assert!((known["factor"].as_f64().unwrap() - quotients[1]).abs() < 1e-9, "{known} {quotients:?}");
    assert_eq!(known["samples"], 3);
    assert!(known["error_pct"].as_f64().unwrap() > 0.0);
    let est = plan["est_total"].as_u64().unwrap();
    let factor = known["factor"].as_f64().unwrap();
    let learned = Calibration { factor, offset: 0, error_pct: None, samples: 3 };
    assert_eq!(known["calibrated_total"], learned.apply(u32::try_from(est).unwrap()));
    let text = home.run(&["plan", "one"]).out;
    assert!(text.contains("times the estimate ±") && text.contains("(from 3 calls)"), "{text}");
    let models = value(&home, &["models", "--json"]);
    assert!(models.is_array());
    let doctor = home.run(&["doctor"]).out;
    assert!(
        doctor.contains("token count own/m") && doctor.contains("(from 3 calls), estimated with approximate"),
        "{doctor}"
    );
}

#[test]
fn truncated_prompt_raises_an_alarm() {
    let server = Server::start_posts(vec![reporting(&json!({"prompt_tokens": 512, "completion_tokens": 2}))]);
    let home = home(&server);
    let long = "a word after another ".repeat(400);
    let output = home.run(&["ask", &long]);
    assert_eq!(output.code, 0, "{}", output.err);
    assert!(
        output.err.contains("it may have cut the prompt") && output.err.contains("context_window"),
        "{}",
        output.err
    );
    let runs = value(&home, &["plans", "list", "--json"]);
    assert_eq!(runs[0]["short_read"]["read"], 512);
    assert_eq!(runs[0]["short_read"]["expected"], runs[0]["est_total"]);
    let list = home.run(&["plans", "list"]).out;
    assert!(list.contains("512 in · 2 out") && list.contains("The server counted 512 of about"), "{list}");
    let shown = home.run(&["plans", "show", runs[0]["run_id"].as_str().unwrap()]).out;
    assert!(shown.contains("it may have cut the prompt") && shown.contains("tokens (estimated)"), "{shown}");
    assert_eq!(value(&home, &["plan", "--json", "on"])["calibration"], Value::Null);
}

#[test]
fn separately_reported_cached_tokens_raise_no_alarm() {
    let long = "a word after another ".repeat(400);
    let usage = json!({"input_tokens": 100, "cache_read_input_tokens": 2_100, "output_tokens": 2});
    let server = Server::start_posts(vec![reporting(&usage)]);
    let home = home(&server);
    let run = &value(&home, &["ask", "--json", &long])["runs"][0];
    assert_eq!(run["short_read"], Value::Null, "{run}");
    assert!(value(&home, &["plan", "--json", "on"])["calibration"]["factor"].as_f64().unwrap() > 0.8);
}

#[test]
fn cost_is_shown_before_and_after_a_call() {
    let usage = json!({"prompt_tokens": 1_000, "completion_tokens": 100,
        "prompt_tokens_details": {"cached_tokens": 600}, "completion_tokens_details": {"reasoning_tokens": 40}});
    let server = Server::start_posts(vec![reporting(&usage), reporting(&json!(null))]);
    let home = home(&server);
    let long = "a word after another ".repeat(200);
    let plan = value(&home, &["plan", "--json", &long]);
    let est = plan["est_total"].as_f64().unwrap();
    assert!((plan["cost"]["prompt"].as_f64().unwrap() - est * 2.0 / 1e6).abs() < 1e-9, "{}", plan["cost"]);
    assert_eq!(plan["cost"]["prompt"], plan["cost"]["prompt_uncached"]);
    assert_eq!(plan["cost"]["cached_tokens"], 0);
    let answer = plan["budget"]["reserved_output"].as_f64().unwrap() * 8.0 / 1e6;
    assert!((plan["cost"]["answer_at_most"].as_f64().unwrap() - answer).abs() < 1e-9);
    let asked = value(&home, &["ask", "--json", &long]);
    let bill = (400.0 * 2.0 + 600.0 * 0.5 + 60.0 * 8.0 + 40.0 * 10.0) / 1e6;
    assert!((asked["cost"].as_f64().unwrap() - bill).abs() < 1e-9, "{}", asked["cost"]);
    let silent = value(&home, &["ask", "--json", "again"]);
    assert_eq!((&silent["cost"], &silent["usage"]["prompt"]), (&Value::Null, &Value::Null), "never invented");
    let list = home.run(&["plans", "list"]).out;
    assert!(list.contains("1,000 in (600 cached) · 100 out (40 reasoning) · $0.0019"), "{list}");
    let est = silent["est_total"].as_u64().unwrap();
    assert!(list.contains(&format!("{est} in (estimated)")) || est >= 1_000, "{list}");
}

#[test]
fn only_a_server_that_reported_cached_tokens_makes_a_prefix_cheaper() {
    let call = |cached: u32| {
        reporting(
            &json!({"prompt_tokens": 900, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": cached}}),
        )
    };
    let server = Server::start_posts(vec![call(0), call(600)]);
    let home = home(&server);
    for cached in [false, true] {
        value(&home, &["ask", "--json", "one more"]);
        let cost = value(&home, &["plan", "--json", "and now?"])["cost"].clone();
        assert_eq!(cost["prompt"] != cost["prompt_uncached"], cached, "{cost}");
        assert_eq!(cost["cached_tokens"].as_u64().unwrap() > 0, cached, "{cost}");
    }
}

#[test]
fn changed_factor_keeps_displayed_plans_valid() {
    let server = Server::start_posts(vec![reporting(&json!({"prompt_tokens": 900, "completion_tokens": 2}))]);
    let bench = Bench::http(&server);
    let mut client = bench.start();
    let branch = client.session();
    client.say(branch, "hello");
    let drawn = message("what was drawn");
    let Ok(Planned::Plan { plan, request_digest, calibration, .. }) = client.plan(branch, &drawn) else { panic!() };
    assert_eq!(calibration.map(|known| known.samples), Some(1));
    let Answer::Branch(BranchAnswer::Branch(other)) =
        client.must(Request::Branch(BranchRequest::Fork { branch, at: None, name: None, switch: false }))
    else {
        panic!()
    };
    client.say(other.id, "meanwhile, on another branch");
    let Ok(Planned::Plan { calibration, .. }) = client.plan(other.id, &Draft::default()) else { panic!() };
    assert_eq!(calibration.map(|known| known.samples), Some(2), "the factor changed");
    let from = client.seen.len();
    client
        .ask(Request::Turn(TurnRequest::Ask { branch, draft: drawn, plan: Some(plan.id) }))
        .expect("the displayed plan is sent");
    client.closed(from, branch);
    let sent = server.requests();
    let last = sent.iter().rev().find(|request| request.method == "POST").unwrap();
    assert_eq!(pleach::domain::base::hash::Hash::of(&last.body), request_digest);
}

#[test]
fn a_refused_call_leaves_no_cached_prefix() {
    let refusal = vec![send("HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")];
    let answer = reporting(&json!({"prompt_tokens": 900, "completion_tokens": 2}));
    let server = Server::start_posts(vec![refusal, answer]);
    let bench = Bench::http(&server);
    let mut client = bench.start();
    let branch = client.session();
    let mut same = |failed: bool| {
        assert_eq!(client.say(branch, "hello").failure.is_some(), failed);
        match client.plan(branch, &message("hello again")) {
            Ok(Planned::Plan { same_prefix, .. }) => same_prefix,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(same(true), None, "the server read nothing");
    assert!(same(false) > Some(0), "the server read the request");
}
