//! Bundles and pages with the real binary: export, check, damage, check again, import, and replay.
//! Not for: the other formats (`exchange`).

use crate::support::binary::{CommandOutput, Home};
use proptest::prelude::*;
use serde_json::Value;
use std::sync::LazyLock;

/// A secret that the first message contains, in its arguments behind an escape.
fn secret() -> String {
    format!("ghp_{}", "a1B2c3".repeat(6))
}

/// A session with two branches, a tool call, an exclusion, and a message with a secret.
fn talk() -> Home {
    let home = Home::new("state_block = \"off\"\n");
    std::fs::write(home.workspace().join("notes.md"), "The port is 8001.\n").unwrap();
    home.ok(&["trust", "--yes"]);
    home.ok(&["session", "new", "Ports & <keys>"]);
    home.ok(&["ask", "call read_file {\"path\": \"notes.md\"}"]);
    home.ok(&["ask", "Which port is it?"]);
    home.ok(&["exclude", "2"]);
    home.ok(&["branch", "fork", "side"]);
    home.ok(&["ask", &format!("My key is\n{}", secret())]);
    home.ok(&["-b", "main", "ask", "And on main?"]);
    home
}

static TALK: LazyLock<(Home, String)> = LazyLock::new(|| {
    let home = talk();
    let file = home.path("talk.bundle").display().to_string();
    let output = home.run(&["export", "--all", &file]);
    assert_eq!(output.code, 0, "{}", output.err);
    (home, file)
});

fn bundle() -> String {
    std::fs::read_to_string(&TALK.1).unwrap()
}

fn lines() -> Vec<String> {
    bundle().split_inclusive('\n').map(str::to_owned).collect()
}

fn kind(line: &str) -> String {
    serde_json::from_str::<Value>(line).unwrap()["bundle"].as_str().unwrap().to_owned()
}

/// Checks a bundle with these lines.
fn verify(home: &Home, name: &str, lines: &[String]) -> CommandOutput {
    let file = home.path(name);
    std::fs::write(&file, lines.concat()).unwrap();
    home.run(&["verify", file.to_str().unwrap()])
}

#[test]
fn a_bundle_contains_the_calls_and_no_secret() {
    let (home, file) = &*TALK;
    let text = bundle();
    assert!(!text.contains(&secret()[4..]) && text.contains("[masked:github]"), "{text}");
    let values: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| values.iter().filter(|value| value["bundle"] == kind).collect::<Vec<_>>();
    assert_eq!((of("branch").len(), of("tool_call").len()), (2, 1), "{text}");
    let calls = of("call");
    assert_eq!(calls.len(), home.json(&["plans", "list"]).as_array().unwrap().len());
    let asked = |call: &&&Value| call["request_left_out"].is_null();
    assert_eq!(calls.iter().filter(asked).count(), calls.len() - 1, "only one request contains the secret: {text}");
    for call in &calls {
        assert!(of("plan").iter().any(|plan| plan["id"] == call["plan_id"]));
        assert!(of("message").iter().any(|message| message["id"] == call["answer"]));
    }
    let excluded = |plan: &&&Value| plan["rows"].to_string().contains("\"exclude\"");
    assert!(of("plan").iter().any(|plan| excluded(&plan)), "{text}");
    let verified = home.json(&["verify", file]);
    assert_eq!((&verified["unchanged"], &verified["problems"]), (&true.into(), &Value::Array(Vec::new())));
    assert_eq!((&verified["requests_left_out"], verified["calls"].as_u64()), (&1.into(), Some(calls.len() as u64)));
    let again = home.path("again.bundle").display().to_string();
    let output = home.run(&["export", "--all", &again]);
    assert_eq!(std::fs::read_to_string(&again).unwrap(), text, "the same state gives the same bundle");
    assert!(output.err.contains(verified["digest"].as_str().unwrap()), "{}", output.err);
    assert!(home.ok(&["verify", file]).contains("is as pleach 0.1.0 exported it: all "));
}

#[test]
fn a_changed_bundle_is_found_at_its_line() {
    let home = Home::new("");
    let whole = lines();
    let at = whole.iter().position(|line| line.contains("Which port is it?")).unwrap();
    let failed = |output: &CommandOutput, words: &str| {
        assert_eq!(output.code, 1, "{}{}", output.out, output.err);
        assert!(output.err.contains(words), "{words}: {}", output.err);
        assert!(output.err.contains("was changed after its export"), "{}", output.err);
    };
    assert_eq!(verify(&home, "a.bundle", &whole).code, 0);
    let mut changed = whole.clone();
    changed[at] = changed[at].replace("Which port", "Which host");
    failed(&verify(&home, "changed.bundle", &changed), &format!("line {}: the record was changed", at + 1));
    let mut missing = whole.clone();
    missing.remove(at);
    failed(&verify(&home, "missing.bundle", &missing), &format!("record {} is missing before this line", at + 1));
    let mut moved = whole.clone();
    moved.swap(at, at + 1);
    failed(&verify(&home, "moved.bundle", &moved), &format!("record {} is not in its place", at + 1));
    failed(&verify(&home, "cut.bundle", &whole[..whole.len() - 1]), "the bundle is cut off");
    let mut half = whole.clone();
    let middle = half[at].floor_char_boundary(half[at].len() / 2);
    half[at].truncate(middle);
    failed(&verify(&home, "half.bundle", &half[..=at]), &format!("line {}: this is not a whole record", at + 1));
    let mut more = whole.clone();
    more.push("{}\n".into());
    failed(&verify(&home, "more.bundle", &more), "this is not a whole record");
    let output = home.run(&["verify", "--json", home.path("changed.bundle").to_str().unwrap()]);
    let value: Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!((output.code, &value["unchanged"], value["problems"].as_array().unwrap().len()), (1, &false.into(), 1));
    assert!(!home.store().exists(), "a check needs no store");
}

#[test]
fn a_file_that_is_no_bundle_is_refused() {
    let home = Home::new("");
    for text in ["", "hello\n", "{\"role\":\"user\",\"content\":\"x\"}\n"] {
        let output = verify(&home, "x.jsonl", &[text.to_owned()]);
        assert_eq!(output.code, 1);
        assert!(
            output.err.contains("is not a pleach bundle") && output.err.contains("pleach import"),
            "{}",
            output.err
        );
    }
    let output = home.run(&["verify", "/no/such/file"]);
    assert!(output.code == 1 && output.err.contains("can't be read"), "{}", output.err);
    let newer = lines()[0].replace("\"version\":1", "\"version\":9");
    let output = verify(&home, "newer.bundle", &[newer]);
    assert!(output.code == 1 && output.err.contains("Update pleach"), "{}", output.err);
}

#[test]
fn an_imported_bundle_gives_the_same_tree() {
    let (from, file) = &*TALK;
    let home = Home::new("");
    let first = home.json(&["import", file]);
    assert_eq!((&first["format"], first["skipped"].as_array().unwrap().len()), (&"bundle".into(), 0), "{first}");
    let again = home.json(&["import", file]);
    assert_eq!(again["sessions"][0]["added"], 0, "{again}");
    let exported = |home: &Home, flags: &[&str]| -> Vec<Value> {
        let out = home.ok(&[&["export", "--all", "--format", "jsonl"], flags].concat());
        let mut values: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for value in &mut values {
            value.as_object_mut().unwrap().remove("current");
        }
        values
    };
    assert_eq!(exported(&home, &[]), exported(from, &["--mask"]));
    let own = from.json(&["import", file]);
    assert_eq!(own["sessions"][0]["added"], 0, "its own bundle adds nothing: {own}");
    home.assert_sound();
}

#[test]
fn a_broken_bundle_is_reported_record_by_record_and_the_rest_goes_in() {
    let home = Home::new("");
    let mut broken = lines();
    let messages = broken.iter().filter(|line| kind(line) == "message").count();
    let at = broken.iter().position(|line| line.contains("Which port is it?")).unwrap();
    broken[at] = broken[at].replace("Which port", "Which host");
    let last = broken.iter().rposition(|line| kind(line) == "message").unwrap();
    broken[last] = "garbage\n".into();
    broken.pop();
    let file = home.path("broken.bundle");
    std::fs::write(&file, broken.concat()).unwrap();
    let output = home.run(&["import", file.to_str().unwrap()]);
    assert_eq!(output.code, 0, "{}", output.err);
    for words in [
        &format!("line {}: the record was changed", at + 1),
        &format!("line {}: not readable as JSON", last + 1),
        "cut off",
    ] {
        assert!(output.err.contains(words), "{words}: {}", output.err);
    }
    let all = home.ok(&["export", "--all", "--format", "jsonl"]);
    assert!(all.lines().filter(|line| line.contains("\"role\"")).count() >= messages - 1, "{all}");
    assert!(all.contains("And on main?") && !all.contains("bundle_hash"), "{all}");
}

#[test]
fn a_call_of_a_bundle_is_replayed_offline() {
    let (_, file) = &*TALK;
    let home = Home::new("");
    let printed = home.ok(&["replay", "2", "--bundle", file]);
    assert!(
        printed.contains("Request: the same bytes as were sent, ") && printed.contains("nothing was sent"),
        "{printed}"
    );
    let value = home.json(&["replay", "2", "--bundle", file]);
    assert_eq!((&value["same"], &value["bundle_unchanged"]), (&true.into(), &true.into()));
    assert_eq!(value["sent_digest"], value["request_digest"]);
    assert!(!value["answer"].as_str().unwrap().is_empty());
    let body = home.ok(&["replay", "2", "--bundle", file, "--dry-run", "--request"]);
    assert!(body.contains("Which port is it?"), "{body}");
    assert_eq!(blake3_of(&body), value["sent_digest"].as_str().unwrap());
    let secret = home.run(&["replay", "3", "--bundle", file]);
    assert!(secret.out.contains("Request: "), "{}{}", secret.out, secret.err);
    let none = home.run(&["replay", "99", "--bundle", file]);
    assert!(none.code == 1 && none.err.contains("contains no call"), "{}", none.err);
    assert!(!home.store().exists(), "it needs no store");
}

fn blake3_of(text: &str) -> String {
    pleach::domain::base::Hash::of(text.as_bytes()).to_string()
}

#[test]
fn a_page_is_one_file_that_loads_and_runs_nothing() {
    let (home, _) = &*TALK;
    for (name, all) in [("path.html", false), ("tree.html", true)] {
        let file = home.path(name).display().to_string();
        let flags: &[&str] =
            if all { &["export", "--mask", "--all", &file] } else { &["export", "--mask", "-b", "main", &file] };
        let output = home.run(flags);
        assert_eq!(output.code, 0, "{}", output.err);
        let page = std::fs::read_to_string(&file).unwrap();
        assert!(page.contains("<title>Ports &amp; &lt;keys&gt;</title>"), "{page}");
        assert!(!page.contains("<script") && !page.contains("src=") && !page.contains(&secret()), "{page}");
        assert_eq!(page.contains("end of side"), all, "{page}");
        assert!(page.contains("My key is"), "the other branch is listed or contained: {page}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_changed_byte_is_found(at in any::<prop::sample::Index>(), xor in 1..=255_u8) {
        let mut bytes = bundle().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] ^= xor;
        let checked = pleach::import::verify(&mut &bytes[..], "x.bundle");
        prop_assert!(checked.is_err() || checked.is_ok_and(|report| !report.problems.is_empty()), "byte {at}");
    }
}
