//! The fault table for servers, row by row, from outside: exit code, output, what is stored, and how often the program
//! posted. `fault_table` names the tests for each row, here or closer to the fault.

use crate::support::binary::{Home, profile};
use crate::support::server::{Request, Server, Step, end, head, json, send, stream, words};
use serde_json::Value;

/// The start of a gzip body.
const GZIP: &[u8] = b"\x1F\x8B\x08\0\0\0\0\0\0\x03KI,I\xB4R";

struct Row {
    name: &'static str,
    answer: Vec<Step>,
    code: i32,
    /// On standard output.
    out: &'static str,
    /// On standard error.
    says: &'static [&'static str],
    /// The status of the run and, if stored, of the answer.
    status: (&'static str, Option<&'static str>),
    /// What the run's diagnostics quote.
    raw: &'static [&'static str],
}

fn event(choice: &str) -> Step {
    send(&format!("data: {{\"choices\":[{{{choice}}}]}}\n\n"))
}

fn finish(reason: &str) -> Step {
    event(&format!("\"delta\":{{}},\"finish_reason\":\"{reason}\""))
}

fn content(escaped: &str) -> Step {
    event(&format!("\"delta\":{{\"content\":\"{escaped}\"}}"))
}

fn row(name: &'static str, answer: Vec<Step>, code: i32, says: &'static [&'static str]) -> Row {
    Row { name, answer, code, out: "", says, status: ("errored", None), raw: &[] }
}

fn streamed(steps: Vec<Step>) -> Vec<Step> {
    [vec![stream()], steps].concat()
}

/// Rows 9 to 12 of the table, concerning lost or incomplete text.
fn texts() -> Vec<Row> {
    let cut = Step::Send(b"data: {\"choices\":[{\"delta\":{\"content\":\"not \n\n".to_vec());
    let whole = "{\"choices\":[{\"message\":{\"content\":\"hi \\ud83d\"},\"finish_reason\":\"stop\"}]}";
    let complete = |name, answer, out| Row { out, status: ("complete", Some("complete")), ..row(name, answer, 0, &[]) };
    vec![
        complete("9 two halves", streamed(vec![content("hi \\ud83d"), content("\\ude00!"), end()]), "hi 😀!"),
        Row {
            says: &["Half of a surrogate pair"],
            raw: &["\\ud83d"],
            ..complete(
                "9 one half",
                streamed(vec![content("hi \\ud83d"), content(" there"), end()]),
                "hi \u{fffd} there",
            )
        },
        Row {
            says: &["Half of a surrogate pair"],
            ..complete("9 one half in one body", json(200, &[], whole), "hi \u{fffd}")
        },
        Row {
            says: &["not UTF-8"],
            raw: &["\\xF0\\x9F"],
            ..complete(
                "9 bytes that are no text",
                streamed(vec![
                    Step::Send(b"data: {\"choices\":[{\"delta\":{\"content\":\"a\xF0\x9F\"}}]}\n\n".to_vec()),
                    end(),
                ]),
                "a\u{fffd}",
            )
        },
        complete(
            "10 objects of no known shape",
            streamed(vec![send("data: {}\n\n"), words("hi"), send("data: {\"type\":\"ping\"}\n\n"), end()]),
            "hi",
        ),
        Row {
            out: "The answer is ",
            status: ("truncated", Some("truncated")),
            raw: &["{\"choices\":[{\"delta\":{\"content\":\"not"],
            ..row(
                "12 an unreadable piece",
                streamed(vec![words("The answer is "), cut, words("42"), end()]),
                4,
                &["can't be read", "is kept", "pleach plans show"],
            )
        },
        Row {
            out: "half of ",
            status: ("truncated", Some("truncated")),
            ..row(
                "12 a content filter after text",
                streamed(vec![words("half of "), finish("content_filter")]),
                4,
                &["content filter"],
            )
        },
    ]
}

/// Row 12, concerning answers that stop early.
fn ends() -> Vec<Row> {
    vec![
        Row {
            out: "half",
            status: ("truncated", Some("truncated")),
            ..row("12 no end mark", streamed(vec![words("half")]), 4, &["stopped before the end of the answer"])
        },
        Row {
            out: "half",
            status: ("errored", Some("errored")),
            ..row(
                "12 an error in the middle",
                streamed(vec![words("half"), send("data: {\"error\":{\"message\":\"overloaded\",\"code\":503}}\n\n")]),
                4,
                &["overloaded"],
            )
        },
    ]
}

/// Rows 11 and 12, concerning responses that are not answers.
fn no_answers() -> Vec<Row> {
    let nameless =
        "\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"arguments\":\"{\\\"p\\\":1}\"}}]}";
    let packed = |status, headers: &[(&str, &str)]| vec![head(status, headers), Step::Send(GZIP.to_vec())];
    vec![
        Row {
            out: "I look",
            status: ("errored", Some("errored")),
            raw: &["{\"p\":1}"],
            ..row(
                "11 a call without a name",
                streamed(vec![words("I look"), event(nameless), finish("tool_calls")]),
                4,
                &["without a name"],
            )
        },
        row("12 an empty answer", streamed(vec![end()]), 4, &["empty", "The conversation is unchanged"]),
        Row {
            status: ("errored", Some("errored")),
            ..row("12 a blank answer", streamed(vec![content(" \\n"), end()]), 4, &["neither text"])
        },
        Row {
            status: ("errored", Some("errored")),
            ..row(
                "12 thoughts alone",
                streamed(vec![event("\"delta\":{\"reasoning\":\"hm\"}"), end()]),
                4,
                &["neither text"],
            )
        },
        row(
            "12 a gzip body",
            packed(200, &[("content-encoding", "gzip")]),
            4,
            &["gzip-compressed", "The conversation is unchanged", "compression off"],
        ),
        row(
            "12 a gzip body without a header",
            packed(200, &[("content-type", "text/event-stream")]),
            4,
            &["gzip-compressed"],
        ),
        row("12 a refusal in gzip", packed(400, &[("content-encoding", "gzip")]), 4, &["(400)", "gzip-compressed"]),
        row(
            "12 plain text",
            vec![head(200, &[("content-type", "text/plain")]), send("the model sleeps")],
            4,
            &["plain text", "the model sleeps"],
        ),
        row(
            "12 a page",
            vec![head(200, &[("content-type", "text/html")]), send("<html>Sign in</html>")],
            4,
            &["web page", "Sign in"],
        ),
    ]
}

#[test]
fn every_row_of_the_fault_table() {
    for row in texts().into_iter().chain(ends()).chain(no_answers()) {
        let server = Server::start_posts(vec![row.answer.clone()]);
        let home = Home::approximate(&server.base_url());
        let output = home.run(&["ask", "hi"]);
        let name = row.name;
        assert_eq!((output.code, output.out.trim_end()), (row.code, row.out.trim_end()), "{name}: {}", output.err);
        for part in row.says {
            assert!(output.err.contains(part), "{name}: {part:?} in {}", output.err);
        }
        assert_eq!(server.requests().iter().filter(|request| request.method == "POST").count(), 1, "{name}");
        let plans = home.json(&["plans", "list"]);
        assert_eq!((plans.as_array().unwrap().len(), &plans[0]["status"]), (1, &Value::from(row.status.0)), "{name}");
        let raws: Vec<&str> = plans[0]["diagnostics"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|diagnostic| diagnostic["raw"].as_str())
            .collect();
        for part in row.raw {
            assert!(raws.iter().any(|raw| raw.contains(part)), "{name}: {part:?} in {raws:?}");
            let run = plans[0]["run_id"].as_str().unwrap();
            assert!(home.ok(&["plans", "show", run]).contains(part), "{name}");
        }
        let list = home.json(&["message", "list"]);
        let kept: Vec<&str> =
            list.as_array().unwrap().iter().filter_map(|message| message["status"].as_str()).collect();
        let expected: Vec<&str> = row.status.1.map(|status| vec!["complete", status]).unwrap_or_default();
        assert_eq!(kept, expected, "{name}");
    }
}

#[test]
fn diagnostics_are_bounded_masked_and_removed_with_their_message() {
    let key = "sk-canary-0123456789";
    let piece = format!("{{\"xyzzyplugh\":\"{key}{}", "x".repeat(9_000));
    let server = Server::start_posts(vec![streamed(vec![words("Half"), send(&format!("data: {piece}\n\n"))])]);
    let home = Home::asking(&server.base_url());
    assert_eq!(home.with(&[("TEST_KEY", key)], &["ask", "hi"]).code, 4);
    let plans = home.json(&["plans", "list"]);
    let raw = plans[0]["diagnostics"][0]["raw"].as_str().unwrap();
    assert!(raw.contains("xyzzyplugh\":\"[redacted]xxx") && raw.chars().count() <= 2_000, "{raw}");
    assert!(home.files_containing(key).is_empty() && !home.files_containing("xyzzyplugh").is_empty());
    let id = home.json(&["message", "list"])[1]["id"].as_str().unwrap().to_owned();
    home.ok(&["message", "remove", &id, "--yes"]);
    assert_eq!(home.files_containing("xyzzyplugh"), Vec::<String>::new());
    assert!(home.json(&["plans", "list"])[0]["diagnostics"][0]["what"].as_str().unwrap().contains("can't be read"));
}

/// A call whose arguments cannot be parsed is not run. It gets a result, which the model reads, and is shown as
/// received.
#[test]
fn unreadable_arguments_are_answered_and_not_run() {
    for (args, read) in [
        ("touch made", "not valid JSON"),
        ("{\"line\":\"touch made\"", "not valid JSON"),
        ("{\"line\":\"touch made\"}{\"line\":\"touch made\"}", "not valid JSON"),
        ("[\"touch made\"]", "must be a JSON object"),
    ] {
        let call = serde_json::json!({"index": 0, "id": "a", "function": {"name": "run", "arguments": args}});
        let asks = streamed(vec![event(&format!("\"delta\":{{\"tool_calls\":[{call}]}}")), finish("tool_calls")]);
        let server = Server::start_posts(vec![asks, streamed(vec![words("Done."), end()])]);
        let home = Home::asking(&server.base_url());
        home.ok(&["trust", "--yes"]);
        let output = home.run(&["ask", "hi", "--allow", "run"]);
        assert_eq!((output.code, output.out.as_str()), (0, "Done.\n"), "{args}: {}", output.err);
        let shown = format!("unreadable arguments: {args}");
        assert!(output.err.contains(&format!("run {shown}: failed")), "{}", output.err);
        let requests = server.requests();
        let posts: Vec<&Request> = requests.iter().filter(|request| request.method == "POST").collect();
        let body: Value = serde_json::from_slice(&posts[1].body).unwrap();
        let result = body["messages"].as_array().unwrap().last().unwrap();
        assert_eq!((posts.len(), &result["tool_call_id"]), (2, &Value::from("a")), "{args}");
        assert!(result["content"].as_str().unwrap().contains(read), "{result}");
        let traces = home.json(&["traces"]);
        assert_eq!((&traces[0]["status"], &traces[0]["args"]), (&"failed".into(), &args.into()));
        assert_eq!(traces[0]["argument"], shown);
        assert!(!home.workspace().join("made").exists(), "{args}");
    }
}

#[test]
fn unreachable_server_is_named_and_nothing_stored() {
    let plain = Server::start_posts(vec![streamed(vec![words("hi"), end()])]);
    let no_tls = plain.base_url().replace("http:", "https:");
    for (url, place) in [("http://nobody.invalid/v1", "nobody.invalid"), (no_tls.as_str(), "127.0.0.1")] {
        let home = Home::asking(url);
        let output = home.run(&["ask", "hi"]);
        let named = output.err.contains("No connection to ") && output.err.contains(place);
        assert!(output.code == 4 && named && output.err.contains("The conversation is unchanged"), "{}", output.err);
        assert_eq!(home.json(&["message", "list"]), serde_json::json!([]));
        let plans = home.json(&["plans", "list"]);
        assert_eq!((plans.as_array().unwrap().len(), &plans[0]["status"]), (1, &"errored".into()), "{url}");
    }
    assert!(plain.requests().is_empty());
}

#[test]
fn absurd_cached_tokens_are_bounded_and_reported() {
    for (cached, warning) in [("4000000", "4,000,000 cached tokens"), ("999999999999", "999,999,999,999 cached tokens")]
    {
        let usage = format!(
            "data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":50,\"completion_tokens\":3,\
             \"prompt_tokens_details\":{{\"cached_tokens\":{cached}}}}}}}\n\n"
        );
        let server = Server::start_posts(vec![streamed(vec![words("hi"), send(&usage), end()])]);
        let home = Home::asking(&server.base_url());
        let output = home.run(&["ask", "hi"]);
        assert!(output.code == 0 && output.err.contains(warning), "{cached}: {}", output.err);
        assert_eq!(output.err.matches("cached tokens").count(), 1, "{}", output.err);
        let usage = home.json(&["plans", "list"])[0]["usage"].clone();
        assert_eq!((&usage["prompt"], &usage["cached_read"]), (&Value::from(50), &Value::from(50)), "{cached}");
    }
}

/// A server whose model `picky` does not accept a temperature and whose model `tools` does not accept tools.
fn picky(request: &Request) -> Vec<Step> {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    if request.method != "POST" {
        return json(200, &[], "{\"data\":[]}");
    }
    let refuse = |what: &str| {
        json(400, &[], &format!("{{\"error\":{{\"message\":\"{what} is not supported by this model\"}}}}"))
    };
    match body["model"].as_str() {
        Some("picky") if body.get("temperature").is_some() => refuse("temperature"),
        Some("tools") => refuse("Calling tools"),
        _ => vec![stream(), words("fine"), end()],
    }
}

#[test]
fn quirks_are_learned_for_each_model_shown_and_forgotten() {
    let server = Server::answering(picky);
    let home = Home::new(&profile(&server.base_url()).replace("attempts = 1", "attempts = 1\ntemperature = 0.5"));
    let posts = || -> Vec<Value> {
        let all = server.requests().into_iter().filter(|request| request.method == "POST");
        all.map(|request| serde_json::from_slice(&request.body).unwrap()).collect()
    };
    let quirks = || -> Vec<String> {
        let report = home.json(&["doctor"]);
        let all = report
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|finding| finding["quirks"].as_str().map(|names| (finding, names)));
        all.map(|(finding, names)| format!("{} {names}", finding["subject"].as_str().unwrap())).collect()
    };
    let output = home.run(&["--model", "picky", "ask", "one"]);
    assert!(output.code == 0 && output.err.contains("temperature"), "{}", output.err);
    assert_eq!(posts().len(), 2);
    assert_ne!(posts()[0], posts()[1], "the same bytes are never sent twice");
    home.ok(&["--model", "other", "ask", "two"]);
    assert!(posts()[2].get("temperature").is_some(), "another model of the profile is asked as before");
    home.ok(&["--model", "picky", "ask", "three"]);
    assert_eq!((posts().len(), posts()[3].get("temperature")), (4, None));
    assert_eq!(quirks(), ["quirks test/picky no_temperature"]);

    let refused = home.run(&["--model", "tools", "ask", "four"]);
    assert!(refused.code == 4 && refused.err.contains("Calling tools is not supported"), "{}", refused.err);
    assert_eq!((posts().len(), quirks().len()), (5, 1), "a request without tools teaches nothing about tools");

    let wrong = home.run(&["doctor", "--forget", "no_temperature", "--model", "other"]);
    assert!(wrong.code == 1 && wrong.err.contains("no_temperature of test/picky"), "{}", wrong.err);
    assert_eq!(home.run(&["doctor", "--forget", "nonsense"]).code, 2);
    assert!(home.ok(&["doctor", "--forget", "no_temperature"]).contains("test/picky"));
    assert_eq!(quirks(), Vec::<String>::new());
    home.ok(&["--model", "picky", "ask", "five"]);
    assert_eq!(posts().len(), 7, "refused and learned again");
    home.ok(&["doctor", "--forget", "all", "--profile", "test"]);
    assert_eq!(quirks(), Vec::<String>::new());
}
