//! Reading answers: streams in every dialect, bodies that are not streams, refusals with every status, usage under
//! every name, and retries.

use super::same;
use pleach::domain::base::RunId;
use pleach::domain::call::provider::ProviderErrorKind as Kind;
use pleach::domain::call::{Delta, ProviderError, Wire};
use pleach::llm::chunk::read_usage;
use pleach::llm::fault::{Fault, hint};
use pleach::llm::models::encoding_of;
use pleach::llm::retry;
use pleach::llm::sse::Decoder;
use pleach::llm::stream::AnswerReader;
use pleach::llm::surrogates::{Parsed, lossy};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::Duration;
use uuid::Uuid;

/// A request with every field that a server may refuse.
const FULL: &str = r#"{"max_tokens":1,"max_completion_tokens":1,"stream_options":{},"temperature":1,
    "tools":[{"type":"function","function":{"name":"read_file"}},{"type":"function","function":{"name":"lsls"}}],
    "messages":[{"role":"system"},{"role":"user"},{"role":"user"}]}"#;

fn run() -> RunId {
    RunId(Uuid::from_u128(7))
}

/// An event of a stream.
fn event(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn delta(value: &Value) -> String {
    event(&json!({"choices": [{"index": 0, "delta": value}]}))
}

fn finish(reason: &str) -> String {
    event(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}))
}

fn call(value: &Value) -> String {
    delta(&json!({"tool_calls": [value]}))
}

/// The result of reading a body: one line for each delta, and the outcome.
fn read(body: &[u8], encoding: Option<&str>, broken: bool) -> String {
    let wire = Wire::new(FULL.into());
    let mut reading = AnswerReader::new(run()).to(&wire).encoded(encoding);
    let mut out = String::new();
    for piece in body.chunks(7) {
        reading.feed(piece);
        if reading.is_over() {
            break;
        }
    }
    let (events, finished, over) = (reading.events(), reading.finished(), reading.is_over());
    reading.end(broken.then(|| ProviderError {
        kind: Kind::Connect,
        what: "it broke".into(),
        hint: "try".into(),
        status: None,
    }));
    for delta in reading.take() {
        let _ = writeln!(out, "    {}", shown(&delta));
    }
    let closed = reading.close();
    let _ = writeln!(out, "    {:?} any {} events {events} finished {finished} over {over}", closed.end, closed.any);
    if let Some(error) = closed.error {
        let _ = writeln!(out, "    {:?} {:?} {:?} {}", error.kind, error.status, error.what, error.hint);
    }
    if let Some(reason) = closed.finish {
        let _ = writeln!(out, "    finish {reason:?}");
    }
    out
}

fn shown(delta: &Delta) -> String {
    match delta {
        Delta::Text(text) => format!("+ {text:?}"),
        Delta::Reasoning(text) => format!("? {text:?}"),
        Delta::Call { index, id, name, args } => format!("call {index} {id:?} {name:?} {args:?}"),
        Delta::Usage(usage) => format!("usage {usage:?}"),
        other => format!("{other:?}"),
    }
}

/// Beginnings of an answer, by name.
fn beginnings() -> Vec<(&'static str, String)> {
    let hi = delta(&json!({"content": "hi"}));
    vec![
        ("nothing", String::new()),
        ("words", hi.clone()),
        ("a blank", delta(&json!({"content": " \n"}))),
        ("a thought", delta(&json!({"reasoning": "hm"}))),
        ("a call", call(&json!({"index": 0, "id": "a", "function": {"name": "lsls", "arguments": "{}"}}))),
        (
            "a call without a name",
            format!("{hi}{}", call(&json!({"index": 0, "id": "a", "function": {"arguments": "{}"}}))),
        ),
        ("usage", event(&json!({"choices": [], "usage": {"prompt_tokens": 3}}))),
    ]
}

/// Ends of an answer.
fn ends() -> Vec<(&'static str, String)> {
    vec![
        ("nothing", String::new()),
        ("[DONE]", "data: [DONE]\n\n".into()),
        ("[DONE] with a blank and without an end", "data:  [DONE] ".into()),
        ("stop", finish("stop")),
        ("stop, usage, [DONE]", format!("{}{}data: [DONE]\n\n", finish("stop"), event(&json!({"choices": [], "usage": {"completion_tokens": 2}})))),
        ("length", finish("length")),
        ("MAX_TOKENS", finish("MAX_TOKENS")),
        ("content_filter", finish("content_filter")),
        ("Recitation", finish("Recitation")),
        ("error", finish("error")),
        ("an error", event(&json!({"error": {"message": "boom", "code": 502}}))),
        ("an error by name", "event: error\ndata: {\"message\":\"slow down\",\"code\":429}\n\n".into()),
        ("an error in a choice", event(&json!({"choices": [{"error": {"message": "no"}, "delta": {"content": "x"}}]}))),
        ("garbage", "data: garb{age\n\ndata: [DONE]\n\n".into()),
        ("stop, garbage", format!("{}data: garb{{age\n\n", finish("stop"))),
        ("ping", "event: ping\ndata: x\n\ndata: Keep-Alive\n\ndata: [DONE]\n\n".into()),
        ("two objects in one event", "data: {\"choices\":[{\"delta\":{\"content\":\"1\"}}]}\ndata: {\"choices\":[{\"delta\":{\"content\":\"2\"}}]}\ndata: [DONE]\n\n".into()),
        ("an object and garbage in one event", "data: {\"choices\":[{\"delta\":{\"content\":\"1\"}}]}\ndata: garbage\ndata: [DONE]\n\n".into()),
    ]
}

#[test]
fn every_beginning_and_end_of_an_answer() {
    let mut out = String::new();
    for (begins, beginning) in beginnings() {
        for (ends, end) in ends() {
            for broken in [false, true] {
                let result = read(format!("{beginning}{end}").as_bytes(), None, broken);
                let how = if broken { ", broken" } else { "" };
                if broken && result == read(format!("{beginning}{end}").as_bytes(), None, false) {
                    continue;
                }
                let _ = write!(out, "{begins} .. {ends}{how}\n{result}");
            }
        }
    }
    same("llm_ends", &out);
}

/// Events of dialects with different field names and structures.
#[allow(clippy::too_many_lines, reason = "a list")]
fn dialects() -> Vec<String> {
    let piece = |index: Option<u64>, id: &str, name: &str, args: &str| {
        let mut value = json!({"function": {"arguments": args}});
        if let Some(index) = index {
            value["index"] = json!(index);
        }
        if !id.is_empty() {
            value["id"] = json!(id);
        }
        if !name.is_empty() {
            value["function"]["name"] = json!(name);
        }
        call(&value)
    };
    let all = |pieces: &[String]| pieces.concat();
    vec![
        delta(&json!({"role": "assistant", "content": null, "refusal": "I will not."})),
        delta(&json!({"content": [{"type": "text", "text": "a"}, "b", {"text": ["c", {"text": "d"}]}, {"type": "image_url"}, 7]})),
        delta(&json!({"content": [{"thinking": "t"}, {"thinking": [{"text": "u"}, {"text": "v"}, {}]}, {"thinking": 7, "text": "no"}, {"text": "w"}]})),
        delta(&json!({"reasoning_content": "", "reasoning": "r", "content": "c"})),
        delta(&json!({"reasoning_content": "r", "reasoning": "s"})),
        event(&json!({"choices": [{"text": "t", "delta": {"content": "d"}, "message": {"content": "m"}, "finish_reason": "stop"}]})),
        event(&json!({"choices": [{"text": "", "finish_reason": ""}, {"index": 0, "text": "second"}]})),
        event(&json!({"choices": [{"index": 1, "text": "other"}, {"index": 0, "text": "first"}]})),
        event(&json!({"choices": [{"delta": {}, "finish_reason": "x".repeat(120)}]})),
        event(&json!({"choices": [{"delta": {"content": "a"}, "usage": {"prompt_tokens": 5}}], "x_groq": {"usage": {"completion_tokens": 6}}, "usage": {"prompt_tokens": 4}})),
        event(&json!({"choices": "none", "error": {}})),
        all(&[piece(Some(0), "a", "read", ""), piece(Some(0), "", "_file", "{"), piece(Some(0), "", "", "}")]),
        all(&[piece(Some(0), "a", "read_file", "{"), piece(Some(0), "a", "read_file", "}")]),
        all(&[piece(Some(0), "a", "ls", ""), piece(Some(0), "a", "ls", "{}")]),
        all(&[piece(Some(0), "a", "f", "1"), piece(Some(0), "b", "g", "2"), piece(Some(0), "a", "f", "3"), piece(Some(0), "b", "", "4"), piece(Some(0), "", "", "5")]),
        all(&[piece(Some(0), "", "f", "1"), piece(Some(0), "b", "g", "2"), piece(Some(0), "b", "", "3")]),
        all(&[piece(Some(3), "a", "f", "1"), piece(Some(1), "b", "g", "2"), piece(Some(3), "", "", "3"), piece(Some(1), "", "", "4")]),
        all(&[piece(None, "a", "f", "1"), piece(None, "b", "g", "2"), piece(None, "a", "", "3"), piece(None, "", "", "4")]),
        all(&[piece(None, "", "f", "1"), piece(None, "", "", "2"), piece(None, "c", "f", "3")]),
        all(&[piece(None, "a", "", ""), piece(None, "a", "f", "")]),
        call(&json!({"index": 0, "name": "flat", "arguments": {"x": 1}})),
        call(&json!({"index": 0, "function": {"name": "list", "arguments": [1, 2]}})),
        call(&json!({"index": 0, "function": {"name": "none", "arguments": 7}})),
        all(&[delta(&json!({"function_call": {"name": "old", "arguments": "{"}})), delta(&json!({"function_call": {"arguments": "}"}})), delta(&json!({"function_call": "x"}))]),
        all(&[piece(Some(0), "a", "f", ""), delta(&json!({"function_call": {"arguments": "{}"}}))]),
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\\ud83d\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"\\ude00b\"}}]}\n\n".into(),
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\\ud83d\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"reasoning\":\"\\ud83d\",\"content\":\"b\"}}]}\n\n".into(),
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"a\\ud83d\",\"function\":{\"name\":\"n\\ude00\",\"arguments\":\"\\ud83d\"}}]},\"finish_reason\":\"s\\ud83d\"}]}\n\n".into(),
    ]
}

/// Bodies that are not streams, with the compression in their header.
fn bodies() -> Vec<(Vec<u8>, Option<&'static str>)> {
    let text = |text: &str| (text.as_bytes().to_vec(), None);
    let whole = r#"{"choices":[{"message":{"content":"hi","tool_calls":[{"id":"a","function":{"name":"lsls","arguments":"{}"}}]},"finish_reason":"stop"}],"usage":{"completion_tokens":1}}"#;
    let long = format!("<html>{}", "x".repeat(5_000));
    vec![
        text(whole),
        text(&format!("\u{feff} \n{whole}")),
        text(&format!("[{whole},{}]", whole.replace("hi", "ho"))),
        text(&format!("{whole}\n\n{}\n", whole.replace("hi", "ho"))),
        text(&format!("{whole}\nnothing")),
        text(r#"{"choices":[]}"#),
        text(r#"{"choices":[{"message":{"content":"no end"}}]}"#),
        text(r#"{"error":{"message":"x","code":"invalid_api_key"}}"#),
        text(r#"[{"error":{"message":"no such model","type":"model_not_found"}}]"#),
        text(r#"{"object":"error","message":"max_tokens is not supported","code":400}"#),
        text(r#"{"status":"ok"}"#),
        text("[]"),
        text("{\"choices\":[{\"mess"),
        (b"{\"choices\":[{\"message\":{\"content\":\"a\xF0\x9Fb\"},\"finish_reason\":\"stop\"}]}".to_vec(), None),
        (b"data: {\"choices\":[{\"delta\":{\"content\":\"a\xFFb\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"c\xFEd\"}}]}\n\ndata: [DONE]\n\n".to_vec(), None),
        (b"data: a\xFFb\n\n".to_vec(), None),
        text("<!doctype html><p>hello"),
        text(&format!("{}…", &long[..300])),
        text(": a comment\n\n: another\n\n"),
        text("id: 7\nretry: 9\n\n"),
        text("data\n\n"),
        text("upstream is asleep"),
        text("Error: database is down\n"),
        text("\u{feff}event: x\n\n"),
        (b"upstream is asleep".to_vec(), Some("gzip")),
        (b"\x1F\x8B\x08\0".to_vec(), None),
        (b"\x28\xB5\x2F\xFD\0".to_vec(), Some("br")),
        (b"\x28\xB5\x2F".to_vec(), None),
        (b"\x0B\x02\x80".to_vec(), Some(" br ")),
        (b"\x0B\x02\x80".to_vec(), Some("Identity")),
        (b"\x0B\x02\x80\xC3".to_vec(), Some("")),
        (b"caf\xC3".to_vec(), None),
        (b"\x1B[31mred".to_vec(), None),
        (vec![b' '; 4_095], None),
        (vec![b' '; 4_097], None),
    ]
}

#[test]
fn answers_in_every_dialect() {
    let mut out = String::new();
    for body in dialects() {
        let _ = write!(out, "{}\n{}", body.trim().replace("\n\n", " | "), read(body.as_bytes(), None, false));
    }
    for (body, encoding) in bodies() {
        let name: String = String::from_utf8_lossy(&body).escape_debug().take(160).collect();
        let _ = write!(out, "{name} {encoding:?}\n{}", read(&body, encoding, false));
    }
    same("llm_dialects", &out);
}

#[test]
fn every_split_reads_the_same() {
    for (body, encoding) in dialects().into_iter().map(|body| (body.into_bytes(), None)).chain(bodies()) {
        let expected = read(&body, encoding, false);
        let mut reading = AnswerReader::new(run()).to(&Wire::new(FULL.into())).encoded(encoding);
        reading.feed(&body);
        reading.end(None);
        let lines: Vec<String> = reading.take().iter().map(|delta| format!("    {}\n", shown(delta))).collect();
        let lines = lines.concat();
        assert!(expected.starts_with(&lines), "{}\n{expected}\n{lines}", String::from_utf8_lossy(&body));
    }
}

/// Refusals: message, type, code, parameter.
const COMPLAINTS: &[(&str, &str, &str, &str)] = &[
    ("", "", "", ""),
    ("no", "", "402", ""),
    ("no", "", "400", ""),
    ("no", "", "600", ""),
    ("no", "", "399", ""),
    ("You exceeded your current quota", "", "", ""),
    ("x", "", "insufficient_quota", ""),
    ("Request too large: tokens per minute (TPM)", "", "", ""),
    ("Limit of requests per minute", "", "", ""),
    ("This model's maximum context length is 8192 tokens.", "", "", "messages"),
    ("the prompt is too long", "", "", ""),
    ("Incorrect API key provided", "", "", ""),
    ("Key disabled", "", "", ""),
    ("Your input was flagged", "", "", ""),
    ("Not in your country", "", "", ""),
    ("unknown model x", "", "", ""),
    ("The model `x` is missing", "", "", ""),
    ("Rate limit reached", "", "", ""),
    ("x", "throttling_error", "", ""),
    ("boom", "server_error", "", ""),
    ("We are overloaded", "", "", ""),
    ("Conversation roles must alternate user/assistant", "", "", ""),
    ("They must alternate", "", "", ""),
    ("two consecutive messages", "", "", ""),
    ("Unknown parameter: 'stream_options'.", "", "", ""),
    ("Unknown parameter.", "", "", "stream_options"),
    ("stream_options is required", "", "", ""),
    ("'max_tokens' is not supported. Use 'max_completion_tokens' instead.", "", "", ""),
    ("'max_completion_tokens' is not supported. Use 'max_tokens' instead.", "", "", ""),
    ("max_completion_tokens: extra inputs are not permitted", "", "", ""),
    ("max_tokens is too large", "", "", ""),
    ("That is unsupported.", "", "", "max_tokens"),
    ("That is unsupported.", "", "", "max_completion_tokens"),
    ("temperature: only the default is fine", "", "", ""),
    ("temperature is not allowed", "", "", ""),
    ("temperature must be below 2", "", "", ""),
    ("Unsupported value.", "", "", "temperature"),
    ("does not support tools", "", "", ""),
    ("tools are too many", "", "", ""),
    ("function call is unsupported", "", "", ""),
    ("System role not supported", "", "", ""),
    ("role 'system' is not supported", "", "", ""),
    ("role 'system' is not supported, use 'developer'", "", "", ""),
    ("role 'system' is not supported, send developer instead", "", "", ""),
    ("'developer' is not one of the roles", "", "", ""),
    ("'developer' is not supported", "", "", ""),
    ("the system is not supported", "", "", ""),
    ("Provider returned error", "", "", ""),
];

const STATUSES: [Option<u16>; 19] = [
    None,
    Some(200),
    Some(400),
    Some(401),
    Some(402),
    Some(403),
    Some(404),
    Some(405),
    Some(408),
    Some(409),
    Some(413),
    Some(422),
    Some(429),
    Some(499),
    Some(500),
    Some(501),
    Some(503),
    Some(505),
    Some(529),
];

#[test]
fn refusals_of_every_kind_and_status() {
    let mut out = String::new();
    for (message, kind, code, param) in COMPLAINTS {
        let fault =
            Fault { message: (*message).into(), kind: (*kind).into(), code: (*code).into(), param: (*param).into() };
        let _ = writeln!(out, "{message:?} {kind:?} {code:?} {param:?}");
        let mut kinds: Vec<(String, Vec<String>)> = Vec::new();
        for status in STATUSES {
            for (request, held) in [(FULL.as_bytes(), ""), (&b"{}"[..], " bare")] {
                let error = fault.sort_for(status, request);
                assert!(error.hint == hint(&error.kind) || error.hint == hint(&Kind::Protocol));
                let again = retry::is_retryable(error.status.unwrap_or_default(), &error.kind);
                let lost = if error.hint == hint(&error.kind) { "" } else { ", hints at the address" };
                let again = if again { ", again" } else { "" };
                let outcome = format!("{:?}{lost}{again}", error.kind);
                let at = format!("{}{held}", status.map_or_else(|| "-".into(), |status| status.to_string()));
                match kinds.iter_mut().find(|(known, _)| *known == outcome) {
                    Some((_, all)) => all.push(at),
                    None => kinds.push((outcome, vec![at])),
                }
            }
        }
        for (kind, at) in kinds {
            let _ = writeln!(out, "    {kind}: {}", at.join(" "));
        }
        let _ = writeln!(out, "    {} / {}", fault.sort(None).what, fault.sort(Some(418)).what);
    }
    same("llm_refusals", &out);
}

#[test]
fn refusals_in_every_shape() {
    let mut out = String::new();
    for body in [
        r#"{"error":"words"}"#,
        r#"{"error":""}"#,
        r#"{"error":{}}"#,
        r#"{"error":{"message":"m","type":"t","code":7,"param":"p"}}"#,
        r#"{"error":{"code":"c"}}"#,
        r#"{"error":{"message":7,"type":["t"],"code":true,"param":null}}"#,
        r#"{"error":{"message":"m","metadata":{"raw":"{\"error\":{\"message\":\"inner\"}}"}}}"#,
        r#"{"error":{"message":"m","metadata":{"raw":""}}}"#,
        r#"{"error":7,"object":"error","message":"o"}"#,
        r#"{"object":"error","message":"o","code":400}"#,
        r#"{"object":"list","message":"o"}"#,
        r#"{"detail":"d"}"#,
        r#"{"detail":[{"loc":["body","x",3],"msg":"bad"},{"msg":"second"}]}"#,
        r#"{"detail":[{"msg":"alone"}]}"#,
        r#"{"detail":[{"loc":["a"]}]}"#,
        r#"{"detail":[]}"#,
        r#"{"detail":7,"message":"m"}"#,
        r#"{"message":"m"}"#,
        r#"{"nothing":1}"#,
        r#"[{"error":"first"},{"error":"second"}]"#,
        "[]",
        "7",
        "  plain words \n",
        "<html><head><TITLE> 502 Bad Gateway </TITLE></head>",
        "  <html><title></title><p>long",
        "<html><title>open",
    ] {
        let fault = Fault::in_body(body);
        let streamed = serde_json::from_str::<Value>(body).ok().and_then(|value| Fault::in_stream(&value));
        let same = streamed.as_ref() == Some(&fault);
        let streamed = if same { "the same".to_owned() } else { format!("{streamed:?}") };
        let _ = writeln!(out, "{body}\n    {fault:?}\n    in a stream {streamed}");
    }
    same("llm_complaints", &out);
}

#[test]
#[allow(clippy::too_many_lines, reason = "a list")]
fn usage_events_names_and_waits() {
    let mut out = String::new();
    for value in [
        json!({}),
        json!({"prompt_tokens": 10, "completion_tokens": 4, "reasoning_tokens": 2}),
        json!({"input_tokens": 10, "output_tokens": 4, "output_tokens_details": {"reasoning_tokens": 3}, "input_tokens_details": {"cached_tokens": 5}}),
        json!({"input_tokens": 10, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 5}),
        json!({"input_tokens": 4_294_967_290_u64, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 5}),
        json!({"prompt_tokens": null, "input_tokens": 10, "cache_read_input_tokens": 7}),
        json!({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 5_000_000_000_u64, "cache_write_tokens": 5_000_000_000_u64}}),
        json!({"prompt_tokens": 5_000_000_000_u64, "completion_tokens": 3.9}),
        json!({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": null}, "prompt_cache_hit_tokens": 6}),
        json!({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 1, "cache_creation_tokens": 2}, "cache_creation_input_tokens": 3}),
        json!({"prompt_tokens": -1, "completion_tokens": "7", "completion_tokens_details": {"reasoning_tokens": 4e9}}),
        json!({"prompt_tokens": 0.5, "completion_tokens": 3_999_999_999.5}),
    ] {
        let _ = writeln!(out, "{value}\n    {:?}", read_usage(&value));
    }
    for bytes in [
        &b"\xEF\xBB\xBFdata: a\r\n\r\ndata:b\n\ndata: c\r\rdata: d"[..],
        b": c\nevent: x\nid: 1\ndata: 1\ndata:  2\ndata\nevent: y\n\ndata: z\n\n",
        b"event: only\n\ndata:\n\ndata: \xEF\xBB\xBFq\n\n",
        b"data: a\xFFb\ndata: \xFE\n\ndata: fine\n\n",
        b"\n\n\r\n\r\rdatax: 1\n data: 2\ndata : 3\n\n",
        b"",
    ] {
        for size in [1, 3, 1_000] {
            let mut decoder = Decoder::default();
            let mut events: Vec<_> = bytes.chunks(size).flat_map(|piece| decoder.feed(piece)).collect();
            let before = events.len();
            events.extend(decoder.finish());
            let _ = writeln!(out, "{} by {size}: {before} of {events:?}", bytes.escape_ascii());
        }
    }
    for text in [r#"{"a":"\ud83d"}"#, r#"["\ude00x","\ud83d\ude00","\ufdd0\ud83d"]"#, r#""\\ud83d""#, r#"{"\ud83d":1}"#]
    {
        let parsed = Parsed::read(text);
        let usage = parsed
            .as_ref()
            .map(|parsed| (parsed.marked(), parsed.plain().to_string(), lossy(&parsed.value().to_string())));
        let elements = parsed.map(|parsed| parsed.elements().len());
        let _ = writeln!(out, "{text} {usage:?} {elements:?}");
    }
    for name in [
        "gpt-4o",
        "GPT-4o-mini",
        "gpt-4",
        "gpt-4-turbo",
        "gpt-4.1",
        "gpt-4.5-preview",
        "gpt-5",
        "gpt-3.5-turbo",
        "gpt-35-turbo",
        "o1",
        "o1-mini",
        "o1mini",
        "o2",
        "o3",
        "o4-mini",
        "o5",
        "chatgpt-4o-latest",
        "openai/gpt-oss-120b",
        "ft:gpt-4o:me",
        "ft:o3-mini:me",
        "x/ft:gpt-4",
        "text-embedding-3-large",
        "text-embedding-ada-002",
        "claude",
        "a/o1/b",
        "",
    ] {
        let _ = writeln!(out, "{name:?} {:?}", encoding_of(name));
    }
    waits(&mut out);
    same("llm_parts", &out);
}

fn waits(out: &mut String) {
    let date = "Wed, 21 Oct 2015 07:28:00 GMT";
    let now = 1_445_412_470_000;
    for headers in [
        &[][..],
        &[("retry-after", "7")],
        &[("retry-after", " 1.5 ")],
        &[("retry-after", date)],
        &[("retry-after", "soon")],
        &[("retry-after", "-1")],
        &[("retry-after", "1e30")],
        &[("retry-after-ms", "250"), ("retry-after", "7")],
        &[("retry-after-ms", "x"), ("retry-after", "7")],
        &[("retry-after-ms", "-250")],
        &[("llm_provider-retry-after", "3")],
        &[("retry-after", "soon"), ("llm_provider-retry-after", "3")],
    ] {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let _ = writeln!(
            out,
            "{headers:?} {:?} {:?}",
            retry::requested_wait(&map, now),
            retry::requested_wait(&map, 2 * now)
        );
    }
    for (base, next) in
        [(500, 1), (500, 2), (500, 3), (500, 4), (500, 8), (500, 9), (500, 40), (4, 2), (90_000, 2), (0, 5)]
    {
        let waits: Vec<u128> = (0..4)
            .map(|run| retry::backoff(RunId(Uuid::from_u128(run)), next, Duration::from_millis(base)).as_micros())
            .collect();
        let _ = writeln!(out, "{base} ms, attempt {next}: {waits:?} µs");
    }
}
