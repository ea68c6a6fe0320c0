//! Calls over real sockets: the request, how the answer is read, and how calls end when servers misbehave.

use crate::support::server::{Request, Server, Step, end, head, json, send, stream, words};
use pleach::domain::base::RunId;
use pleach::domain::call::provider::ProviderErrorKind as Kind;
use pleach::domain::call::{CallEnd, Delta, Outcome, Profile, Provider, Quirk, Wire};
use pleach::llm::models;
use pleach::llm::openai::{OpenAi, Timing};
use secrecy::SecretString;
use std::time::{Duration, Instant};
use uuid::Uuid;

const KEY: &str = "sk-canary-0123456789";

struct Call {
    text: String,
    thought: String,
    args: String,
    deltas: Vec<Delta>,
    outcome: Outcome,
}

fn profile(server: &Server) -> Profile {
    Profile { name: "test".into(), base_url: server.base_url(), model: "m".into(), ..Profile::default() }
}

fn timing() -> Timing {
    Timing {
        idle: Duration::from_secs(20),
        after_finish: Duration::from_millis(100),
        backoff: Duration::from_millis(4),
        ..Timing::default()
    }
}

fn wire() -> Wire {
    Wire::new(
        "{ \"model\" :\"m\",\n\t\"messages\":[{\"role\":\"user\",\"content\":\"hé 日\"}], \"stream\":true, \"stream_options\":{} }".into(),
    )
}

fn openai(server: &Server) -> OpenAi {
    OpenAi::new(&profile(server), Some(&SecretString::from(KEY))).unwrap().with_timing(timing())
}

fn collect(openai: &OpenAi, mut also: impl FnMut(&Delta) -> bool) -> Call {
    let (mut text, mut thought, mut args, mut deltas) = (String::new(), String::new(), String::new(), Vec::new());
    let outcome = openai.post(RunId(Uuid::from_u128(7)), &wire(), &mut |delta| {
        let on = also(&delta);
        match &delta {
            Delta::Text(piece) => text.push_str(piece),
            Delta::Reasoning(piece) => thought.push_str(piece),
            Delta::Call { args: piece, .. } => args.push_str(piece),
            _ => {}
        }
        if delta != Delta::Tick {
            deltas.push(delta);
        }
        on
    });
    Call { text, thought, args, deltas, outcome }
}

fn call(openai: &OpenAi) -> Call {
    collect(openai, |_| true)
}

/// A call to a server with scripted answers.
fn scripted(scripts: Vec<Vec<Step>>) -> (Call, Vec<Request>) {
    let server = Server::start(scripts);
    let call = call(&openai(&server));
    (call, server.requests())
}

fn kind(call: &Call) -> Option<Kind> {
    call.outcome.error.as_ref().map(|error| error.kind.clone())
}

#[test]
fn bytes_arrive_unchanged() {
    let (call, requests) = scripted(vec![vec![stream(), words("hi"), end()]]);
    assert_eq!((call.text.as_str(), call.outcome.end), ("hi", CallEnd::Complete));
    assert_eq!(requests.len(), 1);
    let request = &requests[0];
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/chat/completions"));
    assert_eq!(request.body, wire().bytes.to_vec());
    assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("accept"), Some("text/event-stream"));
    assert_eq!(request.header("idempotency-key"), Some(RunId(Uuid::from_u128(7)).to_string().as_str()));
    assert_eq!(call.outcome.attempts, 1);
    assert!(call.outcome.ttft_ms.is_some());
}

#[test]
fn without_a_key_no_authorization_is_sent() {
    let server = Server::start(vec![vec![stream(), words("hi"), end()]]);
    let mut profile = profile(&server);
    profile.headers.insert("x-title".into(), "pleach".into());
    let openai = OpenAi::new(&profile, None).unwrap();
    assert_eq!(call(&openai).outcome.end, CallEnd::Complete);
    assert_eq!(server.requests()[0].header("authorization"), None);
    assert_eq!(server.requests()[0].header("x-title"), Some("pleach"));
}

#[test]
fn socket_splits_change_nothing() {
    let body = "\u{feff}: hi\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"日本🙂\"}}]}\r\n\r\ndata:{\"choices\":[{\"delta\":{\"content\":\" é\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]";
    for size in [1, 2, 3, 7, 1000] {
        let (call, _) = scripted(vec![vec![stream(), Step::Split(body.as_bytes().to_vec(), size)]]);
        assert_eq!((call.text.as_str(), call.outcome.end), ("日本🙂 é", CallEnd::Complete), "{size}");
    }
}

struct Dialect {
    name: &'static str,
    body: &'static str,
    text: &'static str,
    thought: &'static str,
    prompt: Option<u32>,
}

const DIALECTS: [Dialect; 6] = [
    Dialect {
        name: "OpenAI",
        body: "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\",\"refusal\":null},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\ndata: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":null}],\"usage\":null}\n\ndata: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":null}\n\ndata: {\"id\":\"c\",\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1,\"prompt_tokens_details\":{\"cached_tokens\":0}},\"obfuscation\":\"x\"}\n\ndata: [DONE]\n\n",
        text: "Hi",
        thought: "",
        prompt: Some(9),
    },
    Dialect {
        name: "OpenRouter",
        body: ": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\ndata: {\"id\":\"g\",\"provider\":\"P\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\",\"reasoning\":\"think\",\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"think\"}]},\"finish_reason\":null}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\",\"reasoning\":null}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"finish_reason\":\"stop\",\"native_finish_reason\":\"end_turn\"}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":3,\"cost\":0.0001}}\n\ndata: [DONE]\n\n",
        text: "Hi",
        thought: "think",
        prompt: Some(12),
    },
    Dialect {
        name: "vLLM",
        body: "data: {\"id\":\"v\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"logprobs\":null,\"finish_reason\":null}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"think\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\",\"stop_reason\":null}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"total_tokens\":9,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n",
        text: "Hi",
        thought: "think",
        prompt: Some(7),
    },
    Dialect {
        name: "Ollama",
        body: "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"model\":\"l\",\"system_fingerprint\":\"fp_ollama\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\",\"reasoning\":\"think\"},\"finish_reason\":\"\"}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"finish_reason\":null}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
        text: "Hi",
        thought: "think",
        prompt: None,
    },
    Dialect {
        name: "LM Studio",
        body: "data: {\"id\":\"l\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"logprobs\":null,\"finish_reason\":null}],\"usage\":{}}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"logprobs\":null,\"finish_reason\":\"stop\"}]}\n\n",
        text: "Hi",
        thought: "",
        prompt: None,
    },
    Dialect {
        name: "Azure",
        body: "data: {\"choices\":[],\"created\":0,\"id\":\"\",\"model\":\"\",\"object\":\"\",\"prompt_filter_results\":[{\"prompt_index\":0,\"content_filter_results\":{}}]}\n\ndata: {\"choices\":[{\"content_filter_results\":{},\"delta\":{\"content\":\"Hi\"},\"finish_reason\":null,\"index\":0}]}\n\ndata: {\"choices\":[{\"content_filter_results\":{},\"delta\":{},\"finish_reason\":\"stop\",\"index\":0}]}\n\ndata: [DONE]\n\n",
        text: "Hi",
        thought: "",
        prompt: None,
    },
];

#[test]
fn every_dialect_is_read() {
    for dialect in DIALECTS {
        let (call, _) = scripted(vec![vec![stream(), Step::Split(dialect.body.as_bytes().to_vec(), 11)]]);
        let name = dialect.name;
        assert_eq!((call.text.as_str(), call.thought.as_str()), (dialect.text, dialect.thought), "{name}");
        assert_eq!(
            (call.outcome.end, call.outcome.finish_reason.as_deref()),
            (CallEnd::Complete, Some("stop")),
            "{name}"
        );
        assert_eq!(call.outcome.usage.prompt, dialect.prompt, "{name}");
        assert_eq!(call.outcome.error, None, "{name}");
    }
}

#[test]
fn tool_calls_are_assembled() {
    let body = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"read\",\"arguments\":\"\"}}]}}]}\n\ndata: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"p\\\":\\\"日\"}}]}}]}\n\ndata: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\"}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n";
    let (call, _) = scripted(vec![vec![stream(), Step::Split(body.as_bytes().to_vec(), 5)]]);
    assert_eq!((call.args.as_str(), call.outcome.any, call.outcome.end), ("{\"p\":\"日\"}", true, CallEnd::Complete));
}

#[test]
fn stream_without_an_end_is_truncated() {
    let (call, requests) = scripted(vec![vec![stream(), words("half")]]);
    assert_eq!((call.text.as_str(), call.outcome.end, requests.len()), ("half", CallEnd::Truncated, 1));
    assert!(call.outcome.error.is_some(), "one line gives the reason");
    let (call, requests) = scripted(vec![vec![stream()]]);
    assert_eq!((call.outcome.end, call.outcome.any, requests.len()), (CallEnd::Errored, false, 1));
}

#[test]
fn open_connection_after_the_finish_reason_is_closed() {
    let finish = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\n";
    let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5}}\n\n";
    let (call, _) = scripted(vec![vec![stream(), send(finish), send(usage), Step::Hang]]);
    assert_eq!((call.outcome.end, call.outcome.usage.prompt), (CallEnd::Complete, Some(5)));
    assert!(call.outcome.total_ms < 5_000);
}

#[test]
fn reset_keeps_the_received_text() {
    let server = Server::start(vec![vec![stream(), words("half"), Step::Stall, Step::Reset]]);
    let call = collect(&openai(&server), |delta| {
        if matches!(delta, Delta::Text(_)) {
            server.release();
        }
        true
    });
    assert_eq!((call.text.as_str(), call.outcome.end, kind(&call)), ("half", CallEnd::Truncated, Some(Kind::Connect)));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn broken_connection_after_the_post_is_not_retried() {
    for step in [Step::Reset, Step::Close] {
        let (call, requests) = scripted(vec![vec![step]]);
        assert_eq!((call.outcome.end, kind(&call)), (CallEnd::Errored, Some(Kind::Connect)));
        assert_eq!((requests.len(), call.outcome.attempts), (1, 1), "the server may have received it");
    }
}

#[test]
fn cut_chunked_body_is_truncated() {
    let head = head(200, &[("content-type", "text/event-stream"), ("transfer-encoding", "chunked")]);
    let event = "data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\n";
    let body = format!("{:x}\r\n{event}\r\n", event.len());
    let (call, requests) = scripted(vec![vec![head, send(&body), Step::Close]]);
    assert_eq!((call.text.as_str(), call.outcome.end, requests.len()), ("half", CallEnd::Truncated, 1));
}

#[test]
fn error_during_a_stream_is_not_retried() {
    for error in [
        "{\"error\":{\"message\":\"overloaded\",\"code\":503}}",
        "{\"object\":\"error\",\"message\":\"boom\",\"code\":500}",
    ] {
        let (call, requests) =
            scripted(vec![vec![stream(), words("half"), send(&format!("data: {error}\n\n")), Step::Hang]]);
        assert_eq!((call.text.as_str(), call.outcome.end), ("half", CallEnd::Errored));
        assert_eq!((kind(&call), call.outcome.any, requests.len()), (Some(Kind::Server), true, 1));
    }
}

#[test]
fn unexpected_body_is_described() {
    let page = "<html><head><title>Sign in to the wifi</title></head></html>";
    let (call, _) = scripted(vec![vec![head(200, &[("content-type", "text/html")]), send(page)]]);
    assert_eq!((call.outcome.end, kind(&call)), (CallEnd::Errored, Some(Kind::Protocol)));
    assert!(call.outcome.error.unwrap().what.contains("Sign in to the wifi"));
    let whole = "{\"object\":\"chat.completion\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"whole\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":2}}";
    let (call, _) = scripted(vec![json(200, &[], whole)]);
    assert_eq!(
        (call.text.as_str(), call.outcome.end, call.outcome.usage.prompt),
        ("whole", CallEnd::Complete, Some(2))
    );
    let (call, _) =
        scripted(vec![json(200, &[], "{\"error\":{\"message\":\"no such model\",\"code\":\"model_not_found\"}}")]);
    assert_eq!((call.outcome.end, kind(&call)), (CallEnd::Errored, Some(Kind::Model)));
}

fn retries(call: &Call) -> Vec<(u32, u64)> {
    let retries = call.deltas.iter().filter_map(|delta| match delta {
        Delta::Retry { attempt, wait_ms, .. } => Some((*attempt, *wait_ms)),
        _ => None,
    });
    retries.collect()
}

#[test]
fn rate_limit_is_waited_out() {
    let limited = json(
        429,
        &[("retry-after-ms", "17")],
        "{\"error\":{\"message\":\"slow down\",\"code\":\"rate_limit_exceeded\"}}",
    );
    let (call, requests) = scripted(vec![limited, vec![stream(), words("hi"), end()]]);
    assert_eq!((call.text.as_str(), call.outcome.end, call.outcome.attempts), ("hi", CallEnd::Complete, 2));
    assert_eq!((retries(&call), requests.len()), (vec![(2, 17)], 2));
    assert_eq!(requests[0].header("idempotency-key"), requests[1].header("idempotency-key"));
    assert_eq!(requests[0].body, requests[1].body);
}

#[test]
fn long_retry_after_is_reported_and_not_waited_for() {
    let limited = json(429, &[("retry-after", "3600")], "{\"error\":{\"message\":\"slow down\"}}");
    let (call, requests) = scripted(vec![limited]);
    assert_eq!((kind(&call), requests.len()), (Some(Kind::RateLimit), 1));
    assert!(call.outcome.error.unwrap().hint.contains("3600"));
}

#[test]
fn retries_follow_the_profile() {
    for (status, expected) in [(503, Kind::Server), (408, Kind::Refused)] {
        let (call, requests) = scripted(vec![json(status, &[], "{\"error\":{\"message\":\"later\"}}")]);
        assert_eq!((call.outcome.end, kind(&call), requests.len()), (CallEnd::Errored, Some(expected), 4));
        assert_eq!(retries(&call).iter().map(|retry| retry.0).collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!(call.outcome.attempts, 4);
    }
}

#[test]
fn permanent_errors_are_not_retried() {
    let cases = [
        (
            429,
            "{\"error\":{\"message\":\"You exceeded your current quota\",\"code\":\"insufficient_quota\"}}",
            Kind::Quota,
        ),
        (401, "{\"error\":{\"message\":\"Incorrect API key provided\"}}", Kind::Auth),
        (
            400,
            "{\"error\":{\"message\":\"maximum context length is 8192\",\"code\":\"context_length_exceeded\"}}",
            Kind::TooLong,
        ),
        (
            400,
            "{\"error\":{\"message\":\"Unknown parameter: 'stream_options'\",\"param\":\"stream_options\"}}",
            Kind::Body(Quirk::NoStreamOptions),
        ),
        (400, "{\"error\":{\"message\":\"temperature is not supported\",\"param\":\"temperature\"}}", Kind::Refused),
        (400, "{\"error\":{\"message\":\"tools are not supported\"}}", Kind::Refused),
        (404, "{\"error\":{\"message\":\"model x not found\"}}", Kind::Model),
    ];
    for (status, body, expected) in cases {
        let (call, requests) = scripted(vec![json(status, &[("retry-after-ms", "1")], body)]);
        assert_eq!((call.outcome.end, kind(&call), requests.len()), (CallEnd::Errored, Some(expected), 1), "{body}");
        assert_eq!(call.outcome.error.unwrap().status, Some(status));
    }
}

#[test]
fn retry_wait_can_be_stopped() {
    let server = Server::start(vec![json(429, &[("retry-after", "50")], "{\"error\":{\"message\":\"slow down\"}}")]);
    let mut stopped_at = None;
    let call = collect(&openai(&server), |delta| {
        if matches!(delta, Delta::Retry { .. }) {
            stopped_at = Some(Instant::now());
        }
        stopped_at.is_none() || *delta != Delta::Tick
    });
    assert_eq!((call.outcome.end, server.requests().len()), (CallEnd::Cancelled, 1));
    assert!(stopped_at.unwrap().elapsed() < Duration::from_secs(5));
}

#[test]
fn refused_connection_is_tried_twice() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let profile = Profile { base_url: format!("http://{address}/v1"), ..Profile::default() };
    let call = call(&OpenAi::new(&profile, None).unwrap().with_timing(timing()));
    assert_eq!((call.outcome.end, kind(&call), call.outcome.attempts), (CallEnd::Errored, Some(Kind::Connect), 2));
    assert_eq!(retries(&call).len(), 1);
}

#[test]
fn silent_server_times_out() {
    for before in [vec![], vec![stream()], vec![stream(), words("half")]] {
        let server = Server::start(vec![[before.clone(), vec![Step::Hang]].concat()]);
        let idle = Timing { idle: Duration::from_millis(300), ..timing() };
        let mut ticks = 0;
        let call = collect(&openai(&server).with_timing(idle), |delta| {
            ticks += u32::from(*delta == Delta::Tick);
            true
        });
        assert_eq!((call.outcome.end, kind(&call)), (CallEnd::Errored, Some(Kind::Idle)), "{before:?}");
        assert!(ticks >= 3, "{ticks}");
        assert!(call.outcome.total_ms >= 295, "{}", call.outcome.total_ms);
        assert_eq!(call.outcome.any, before.len() == 2);
        assert!(server.saw_client_leave());
        assert_eq!(server.requests().len(), 1);
    }
}

#[test]
fn stopping_closes_the_socket_quickly() {
    for before in [vec![], vec![stream()], vec![stream(), words("half")]] {
        let server = Server::start(vec![[before.clone(), vec![Step::Hang]].concat()]);
        let (mut news, mut stopped) = (0, None);
        let call = collect(&openai(&server), |delta| {
            news += usize::from(*delta != Delta::Tick);
            let stop = *delta == Delta::Tick && news == before.len() && server.requests().len() == 1;
            if stop {
                stopped = Some(Instant::now());
            }
            !stop
        });
        let took = stopped.unwrap().elapsed();
        assert_eq!((call.outcome.end, call.outcome.error), (CallEnd::Cancelled, None), "{before:?}");
        assert_eq!(call.outcome.any, before.len() == 2, "{before:?}");
        assert!(took < Duration::from_millis(100), "{took:?}");
        assert!(server.saw_client_leave());
        assert_eq!(server.requests().len(), 1);
    }
}

#[test]
fn stream_of_comments_can_be_stopped() {
    let comments = Step::Split(b": wait\n\n".repeat(20_000), 8);
    let server = Server::start(vec![vec![stream(), comments, Step::Hang]]);
    let mut ticks = 0;
    let call = collect(&openai(&server), |delta| {
        ticks += u32::from(*delta == Delta::Tick);
        ticks < 3
    });
    assert_eq!((call.outcome.end, call.outcome.any), (CallEnd::Cancelled, false));
}

#[test]
fn redirects_never_carry_the_key() {
    let other = Server::start(vec![vec![stream(), words("stolen"), end()]]);
    let to = format!("{}/chat/completions", other.base_url());
    for status in [301, 302, 307, 308] {
        let (call, requests) = scripted(vec![vec![head(status, &[("location", &to)])]]);
        assert_eq!((call.outcome.end, call.outcome.any, requests.len()), (CallEnd::Errored, false, 1));
        assert!(call.outcome.error.unwrap().what.contains(&to));
    }
    assert!(other.requests().is_empty());
}

#[test]
fn errors_never_show_the_key() {
    let echo = format!("{{\"error\":{{\"message\":\"bad key {KEY} in Bearer {KEY}\",\"code\":\"invalid_api_key\"}}}}");
    let scripts = [
        json(401, &[], &echo),
        json(200, &[], &echo),
        vec![stream(), send(&format!("data: {echo}\n\n"))],
        vec![head(200, &[]), send(&format!("<p>{}{KEY}", "x".repeat(355)))],
        vec![stream(), send(&format!("data: oops {KEY}\n\n"))],
        vec![head(302, &[("location", &format!("http://h/?key={KEY}"))])],
    ];
    for script in scripts {
        let (call, _) = scripted(vec![script]);
        let shown = format!("{:?}", call.outcome);
        assert!(call.outcome.error.is_some() && !shown.contains("sk-c"), "{shown}");
        assert!(shown.contains("[red"), "{shown}");
    }
    let retried = json(503, &[("retry-after-ms", "1")], &echo.replace("invalid_api_key", "x"));
    let (call, _) = scripted(vec![retried]);
    assert!(!format!("{:?}", call.deltas).contains("sk-canary"));
}

#[test]
fn models_are_listed_with_windows() {
    let list = "{\"object\":\"list\",\"data\":[{\"id\":\"gpt-4o\"},{\"id\":\"big\",\"max_model_len\":32768},{\"id\":\"lite\",\"max_input_tokens\":9000}]}";
    let server = Server::start(vec![json(200, &[], list)]);
    let key = SecretString::from(KEY);
    let found = models::list(&profile(&server), Some(&key), Duration::from_secs(10)).unwrap();
    let windows: Vec<(&str, u32)> = found.iter().map(|model| (model.name.as_str(), model.context_window)).collect();
    assert_eq!(windows, [("gpt-4o", 0), ("big", 32_768), ("lite", 9_000)]);
    assert!(found[0].exact_encoding && !found[1].exact_encoding);
    assert_eq!(models::probe(&profile(&server), Some(&key), Duration::from_secs(10)), Ok(3));
    let requests = server.requests();
    assert_eq!((requests.len(), requests[0].method.as_str(), requests[0].path.as_str()), (2, "GET", "/v1/models"));
    assert_eq!(requests[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
}

#[test]
fn llama_cpp_window_is_read() {
    let list = json(
        200,
        &[],
        "{\"data\":[{\"id\":\"tiny.gguf\",\"owned_by\":\"llamacpp\",\"meta\":{\"n_ctx_train\":131072}}]}",
    );
    let props = json(200, &[], "{\"default_generation_settings\":{\"n_ctx\":4096}}");
    let server = Server::start(vec![list, props]);
    let found = models::list(&profile(&server), None, Duration::from_secs(10)).unwrap();
    assert_eq!((found[0].context_window, found[0].source.as_str()), (4096, "server"));
    assert_eq!(server.requests()[1].path, "/props");
    assert_eq!(server.requests()[0].header("authorization"), None);
}

#[test]
fn failed_model_list_is_not_requested_again() {
    for (status, body, expected) in [
        (401, format!("{{\"error\":{{\"message\":\"bad key {KEY}\"}}}}"), Kind::Auth),
        (429, "{\"error\":{\"message\":\"slow\",\"code\":429}}".to_owned(), Kind::RateLimit),
        (500, "broken".to_owned(), Kind::Server),
        (200, "<html>".to_owned(), Kind::Protocol),
    ] {
        let server = Server::start(vec![json(status, &[], &body)]);
        let key = SecretString::from(KEY);
        let error = models::list(&profile(&server), Some(&key), Duration::from_secs(10)).unwrap_err();
        assert_eq!((error.kind.clone(), server.requests().len()), (expected, 1), "{error:?}");
        assert!(!error.what.contains("sk-canary"), "{error:?}");
    }
    let server = Server::start(vec![vec![Step::Hang]]);
    let error = models::probe(&profile(&server), None, Duration::from_millis(100)).unwrap_err();
    assert_eq!(error.kind, Kind::Connect);
}
