//! Model lists in the formats of many servers, and errors of servers that misbehave.

use super::same;
use crate::support::server::{Request, Server, Step, end, head, json as answer, send, stream, words};
use pleach::domain::base::RunId;
use pleach::domain::call::{Delta, Outcome, Profile, Provider, Wire};
use pleach::llm::models;
use pleach::llm::openai::{OpenAi, Timing};
use secrecy::SecretString;
use serde_json::json;
use std::fmt::Write as _;
use std::time::Duration;
use uuid::Uuid;

const PATIENCE: Duration = Duration::from_secs(20);

fn profile(base_url: &str) -> Profile {
    Profile { name: "test".into(), base_url: base_url.into(), model: "m".into(), ..Profile::default() }
}

/// Model lists as servers write them.
fn lists() -> Vec<String> {
    let priced = |prompt: serde_json::Value, more: serde_json::Value| {
        let mut pricing = json!({"prompt": prompt, "completion": "0.000002"});
        pricing.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"id": "p", "pricing": pricing})
    };
    vec![
        json!({"object": "list", "data": [{"id": "gpt-4"}, {"id": "o3", "context_window": 200_000, "max_output_tokens": 100_000}]}),
        json!({"data": [{"id": "a", "max_model_len": 4_096, "owned_by": "vllm"}]}),
        json!({"models": [{"name": "n", "model": "m"}, {"model": "only"}, "bare", "", {"object": "model"}, {"id": ""}, 7]}),
        json!([{"id": "x", "max_context_length": 9, "max_completion_tokens": 3}, {"id": "y", "max_context_window_tokens": 8}]),
        json!({"data": [
            {"id": "z", "context_length": 0, "top_provider": {"context_length": 5, "max_completion_tokens": 4}},
            {"id": "i", "max_input_tokens": 70}, {"id": "j", "context_length": 100, "model_info": {"max_input_tokens": 60}},
            {"id": "k", "max_prompt_tokens": 50, "context_length": -3}, {"id": "big", "context_length": 5_000_000_000_u64},
            {"id": "meta", "meta": {"n_ctx": 2_048}}, {"id": "text", "context_length": "4096"}
        ]}),
        json!({"data": [
            priced(json!("0.000001"), json!({})),
            priced(json!(0.000_001), json!({"input_cache_read": "0.0000005", "input_cache_write": 0.000_003, "internal_reasoning": "0.000004"})),
            priced(json!("0"), json!({"internal_reasoning": "0", "input_cache_read": "0"})),
            priced(json!("-1"), json!({})), priced(json!("NaN"), json!({})), priced(json!("free"), json!({})), priced(json!(null), json!({})),
            priced(json!("1"), json!({"internal_reasoning": "-1", "input_cache_read": "x"}))
        ]}),
        json!({"data": null}),
        json!({"error": "none"}),
        json!("words"),
    ]
    .into_iter()
    .map(|list| list.to_string())
    .chain(["not json".to_owned()])
    .collect()
}

#[test]
fn lists_of_models_in_every_form() {
    let mut out = String::new();
    for list in lists() {
        let server = Server::start(vec![answer(200, &[], &list)]);
        let _ = writeln!(out, "{list}");
        for window in [0, 77] {
            let of = Profile { context_window: window, ..profile(&server.base_url()) };
            match models::list(&of, None, PATIENCE) {
                Ok(all) => all.iter().for_each(|model| {
                    let _ = writeln!(out, "    {window}: {model:?}");
                }),
                Err(error) => {
                    let _ = writeln!(out, "    {window}: {:?} {}", error.kind, error.what);
                }
            }
        }
        let _ = writeln!(
            out,
            "    probe {:?}",
            models::probe(&profile(&server.base_url()), None, PATIENCE).map_err(|e| e.kind)
        );
        let paths: Vec<String> = server.requests().into_iter().map(|request| request.path).collect();
        let _ = writeln!(out, "    asked {}", paths.join(" "));
    }
    same("llm_models", &out);
}

/// llama.cpp reports the window at another address.
#[test]
fn windows_at_other_addresses() {
    let mut out = String::new();
    let lists = [
        json!({"data": [{"id": "a"}]}),
        json!({"data": [{"id": "a", "context_length": 5}]}),
        json!({"data": [{"id": "a"}, {"id": "b"}]}),
        json!({"data": [{"id": "a", "owned_by": "llamacpp"}, {"id": "b", "context_length": 5}]}),
    ];
    let props = [
        (200, json!({"default_generation_settings": {"n_ctx": 4_096}, "n_ctx": 1})),
        (200, json!({"n_ctx": 8_192})),
        (200, json!({"n_ctx": 0})),
        (404, json!({"n_ctx": 8_192})),
    ];
    for list in lists {
        for (status, props) in &props {
            let (list, props, status) = (list.to_string(), props.to_string(), *status);
            let _ = writeln!(out, "{list} {status} {props}");
            let server = Server::answering(move |request: &Request| {
                if request.path.starts_with("/v1/models") {
                    answer(200, &[], &list)
                } else {
                    answer(status, &[], &props)
                }
            });
            for base in [server.base_url(), format!("{}/?key=q", server.base_url())] {
                let found = models::list(&profile(&base), None, PATIENCE).unwrap();
                let found: Vec<_> =
                    found.iter().map(|model| (&model.name, model.context_window, &model.source)).collect();
                let _ = writeln!(out, "    {found:?}");
            }
            let paths: Vec<String> = server.requests().into_iter().map(|request| request.path).collect();
            let _ = writeln!(out, "    asked {}", paths.join(" "));
        }
    }
    same("llm_windows", &out);
}

/// The outcome of a call, without the port and times.
fn outcome_text(base: &str, deltas: &[Delta], outcome: Outcome) -> String {
    let mut out = String::new();
    for delta in deltas.iter().filter(|delta| **delta != Delta::Tick) {
        let _ = writeln!(out, "    {delta:?}");
    }
    let Outcome { end, any, finish_reason, usage, error, attempts, ttft_ms, .. } = outcome;
    let first = ttft_ms.is_some();
    let _ =
        writeln!(out, "    {end:?} any {any} {finish_reason:?} {:?} attempts {attempts} first {first}", usage.prompt);
    if let Some(error) = error {
        let _ = writeln!(out, "    {:?} {:?} {} / {}", error.kind, error.status, error.what, error.hint);
    }
    let place = base.trim_start_matches("http://").split('/').next().unwrap_or_default();
    out.replace(place, "HOST")
}

fn asked(scripts: Vec<Vec<Step>>, change: impl Fn(&mut Profile)) -> String {
    let server = Server::start(scripts);
    let mut profile = profile(&server.base_url());
    change(&mut profile);
    let key = SecretString::from("sk-canary-0123456789");
    let openai = OpenAi::new(&profile, Some(&key)).unwrap();
    let timing =
        Timing { after_finish: Duration::from_millis(80), backoff: Duration::from_millis(4), ..openai.timing() };
    let openai = openai.with_timing(timing);
    let mut deltas = Vec::new();
    let wire = Wire::new(br#"{"model":"m","messages":[{"role":"user","content":"x"}],"tools":[]}"#.to_vec());
    let outcome = openai.post(RunId(Uuid::from_u128(7)), &wire, &mut |delta| {
        deltas.push(delta);
        true
    });
    let mut out = outcome_text(&server.base_url(), &deltas, outcome);
    for request in server.requests() {
        let more: Vec<String> = ["content-type", "accept", "idempotency-key", "authorization", "x-own"]
            .iter()
            .filter_map(|name| Some(format!("{name}: {}", request.header(name)?)))
            .collect();
        let _ = writeln!(out, "    {} {} {}", request.method, request.path, more.join("; "));
    }
    out
}

#[test]
#[allow(clippy::too_many_lines, reason = "a list")]
fn calls_to_servers_that_misbehave() {
    let fine = || vec![stream(), words("hi"), end()];
    let status = |code: u16, headers: &[(&str, &str)], body: &str| answer(code, headers, body);
    let cases: Vec<(&str, Vec<Vec<Step>>)> = vec![
        ("fine", vec![fine()]),
        ("later", vec![status(503, &[], "down"), fine()]),
        ("later as asked", vec![status(429, &[("retry-after-ms", "5")], "{\"error\":\"slow\"}"), fine()]),
        (
            "never",
            vec![status(500, &[], "{\"error\":{\"message\":\"boom sk-canary-0123456789\",\"type\":\"server_error\"}}")],
        ),
        ("much later", vec![status(429, &[("retry-after", "61")], "{\"error\":\"slow\"}"), fine()]),
        ("in a minute", vec![status(429, &[("retry-after", "3600")], "x")]),
        ("not implemented", vec![status(501, &[], "no")]),
        ("refused", vec![status(400, &[], "{\"error\":{\"message\":\"bad\"}}"), fine()]),
        ("tools", vec![status(400, &[], "{\"error\":{\"message\":\"tools are not supported\"}}"), fine()]),
        ("packed", vec![status(400, &[("content-encoding", "br")], "\u{b}\u{2}"), fine()]),
        ("packed text", vec![status(404, &[("content-encoding", "gzip")], "plain"), fine()]),
        ("elsewhere", vec![vec![head(307, &[("location", "http://other/")])], fine()]),
        ("elsewhere, unnamed", vec![vec![head(301, &[])], fine()]),
        ("closed at once", vec![vec![Step::Close], fine()]),
        ("closed after words", vec![vec![stream(), words("hi"), Step::Close], fine()]),
        ("reset after words", vec![vec![head(200, &[("content-length", "900")]), words("hi")], fine()]),
        (
            "open after the end",
            vec![vec![
                stream(),
                words("hi"),
                send("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"),
                Step::Hang,
            ]],
        ),
        ("comments", vec![vec![stream(), send(": hello\n\n"), words("hi"), end()]]),
        ("nothing", vec![vec![stream()]]),
        ("a page", vec![vec![head(200, &[]), send("<html><title>x</title>")]]),
        ("two answers", vec![vec![stream(), words("hi"), end(), words("more")]]),
    ];
    let mut out = String::new();
    for (name, scripts) in cases {
        let _ = write!(out, "{name}\n{}", asked(scripts, |_| ()));
    }
    let _ =
        write!(out, "one attempt\n{}", asked(vec![status(503, &[], "down"), fine()], |profile| profile.attempts = 1));
    let _ =
        write!(out, "no attempt\n{}", asked(vec![status(503, &[], "down"), fine()], |profile| profile.attempts = 0));
    let minute = || vec![status(429, &[("retry-after", "60")], "slow"), fine()];
    let _ = write!(out, "a minute, once\n{}", asked(minute(), |profile| profile.attempts = 1));
    let _ = write!(
        out,
        "own headers\n{}",
        asked(vec![fine()], |profile| {
            profile.headers.insert("x-own".into(), "value of mine".into());
            profile.base_url.push_str("/chat/completions?key=0123456789");
        })
    );
    let _ = write!(
        out,
        "own secrets\n{}",
        asked(vec![status(400, &[], "value of mine, short, 0123456789, pass-word")], |profile| {
            profile.headers.insert("x-own".into(), "value of mine".into());
            profile.headers.insert("x-short".into(), "short".into());
            profile.base_url = profile.base_url.replace("http://", "http://me:pass-word@") + "?key=0123456789&k=short";
        })
    );
    same("llm_calls", &out);
}
