//! Relations between tool calls: failures of the same kind, the target of a call, and the later call that resolved a
//! failure.
//! Not for: running tools, or quoting an earlier error for the model (`engine::plans::sources::error_pairs`).

use super::shell;
use super::trace::{ToolStatus, ToolTrace};
use serde_json::{Map, Value};

/// Names of arguments that contain the target of a call, most specific first.
const SUBJECTS: [&str; 9] = ["line", "command", "cmd", "path", "file", "file_path", "url", "query", "pattern"];
/// Words that indicate a line that explains a failure.
const FAULTS: &str = "error|failed|panicked|exception|fatal|cannot|can't|not found|no such|undefined|denied";
/// Maximum characters of a line that explains a failure.
const MAX_LINE_CHARS: usize = 200;

/// How a successful call relates to an earlier failure.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LinkKind {
    /// The same call with the same arguments.
    Same,
    /// The same tool on the same target: the same file, or the same command or a wider run of it.
    Subject,
    /// The same tool on another target; for commands, the same program.
    Tool,
}

/// Returns how a later call relates to an earlier failure. `None` if the later call did not succeed, is of another
/// tool, or runs another program.
pub fn resolves(failure: &ToolTrace, later: &ToolTrace) -> Option<LinkKind> {
    if !failed(failure) || later.status != Some(ToolStatus::Ok) || later.name != failure.name {
        return None;
    }
    if later.args == failure.args {
        return Some(LinkKind::Same);
    }
    let (then, now) = (object(&failure.args), object(&later.args));
    let subject = match (line(&then), line(&now)) {
        (Some(then), Some(now)) if shell::supersedes(now, then) => true,
        (Some((_, then)), Some((_, now))) if !shell::same_program(now, then) => return None,
        (None, None) => (then.is_object() && then == now) || (path(&then).is_some() && path(&then) == path(&now)),
        _ => false,
    };
    Some(if subject { LinkKind::Subject } else { LinkKind::Tool })
}

/// Returns whether the tool reported a failure.
pub fn failed(trace: &ToolTrace) -> bool {
    trace.status == Some(ToolStatus::Failed)
}

/// A failure and the call that resolved it, by their indices in the list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// The failure.
    pub failed: usize,
    /// The first later call that succeeded on the same target.
    pub fixed: usize,
    /// Files changed by calls in between, in order and without duplicates.
    pub between: Vec<String>,
}

/// Returns each resolved failure with the first later call that succeeded and was the same call or had the same target.
/// `traces` are in the order of the calls; `after` returns whether its second argument is on a path below its first.
/// Reruns resolve nothing and are not resolved, since they are outside the conversation.
pub fn links(traces: &[&ToolTrace], after: impl Fn(&ToolTrace, &ToolTrace) -> bool) -> Vec<Link> {
    let mut found = Vec::new();
    let in_conversation = |trace: &ToolTrace| trace.more.again.is_none();
    for (at, failure) in traces.iter().enumerate().filter(|(_, trace)| failed(trace) && in_conversation(trace)) {
        let later = || traces.iter().enumerate().skip(at + 1);
        let near = |how: Option<LinkKind>| matches!(how, Some(LinkKind::Same | LinkKind::Subject));
        let fixed = later()
            .find(|(_, trace)| in_conversation(trace) && near(resolves(failure, trace)) && after(failure, trace));
        let Some((fixed, last)) = fixed else { continue };
        let mut between: Vec<String> = Vec::new();
        for trace in traces[at + 1..fixed].iter().filter(|trace| after(failure, trace) && after(trace, last)) {
            for path in &trace.changed {
                if !between.contains(path) {
                    between.push(path.clone());
                }
            }
        }
        found.push(Link { failed: at, fixed, between });
    }
    found
}

/// Failures of the same tool and kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    pub tool: String,
    /// The kind of error: the line that explains it, without numbers, paths, and quotations.
    pub kind: String,
    /// Indices of its calls, newest first.
    pub calls: Vec<usize>,
}

/// Groups the failures among calls by tool and kind of error, most frequent first, then newest.
pub fn groups(traces: &[&ToolTrace]) -> Vec<Group> {
    let mut found: Vec<Group> = Vec::new();
    for (at, trace) in traces.iter().enumerate().rev().filter(|(_, trace)| failed(trace)) {
        let kind = kind(trace);
        match found.iter_mut().find(|group| group.tool == trace.name && group.kind == kind) {
            Some(group) => group.calls.push(at),
            None => found.push(Group { tool: trace.name.clone(), kind, calls: vec![at] }),
        }
    }
    found.sort_by_key(|group| std::cmp::Reverse(group.calls.len()));
    found
}

/// Returns the identity of a failure: the tool, and the line that explains it in lower case and without numbers.
pub fn signature(trace: &ToolTrace) -> (String, String) {
    (trace.name.clone(), normal(report(trace)))
}

/// Returns the line that explains a failure: the line stored with it, otherwise the first line of its result.
pub fn report(trace: &ToolTrace) -> &str {
    trace.more.error.as_deref().unwrap_or(&trace.preview)
}

/// Returns the kind of error: the line that explains it in lower case, without numbers, paths, and quotations.
pub fn kind(trace: &ToolTrace) -> String {
    let mut without_quotes = String::new();
    let mut quote = None;
    for c in report(trace).chars() {
        match quote {
            Some(end) if c == end => {
                quote = None;
                without_quotes.push('…');
            }
            Some(_) => {}
            None if matches!(c, '"' | '`') => quote = Some(c),
            None => without_quotes.push(c),
        }
    }
    let is_path = |word: &str| {
        let word = word.trim_matches(|c: char| matches!(c, '(' | ')' | ',' | ':' | ';' | '.'));
        let dotted = word.rsplit_once('.').is_some_and(|(name, end)| {
            !name.is_empty() && (1..=5).contains(&end.len()) && end.chars().all(|c| c.is_ascii_alphanumeric())
        });
        word.len() > 2 && (word.contains('/') || dotted)
    };
    let words: Vec<&str> =
        without_quotes.split_whitespace().map(|word| if is_path(word) { "…" } else { word }).collect();
    normal(&words.join(" "))
}

/// Returns a text in lower case, with `#` for runs of digits and single spaces.
fn normal(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.to_lowercase().chars() {
        match c {
            c if c.is_ascii_digit() => {
                if !line.ends_with('#') {
                    line.push('#');
                }
            }
            c if c.is_whitespace() => {
                if !line.ends_with(' ') {
                    line.push(' ');
                }
            }
            c => line.push(c),
        }
    }
    line.trim().to_owned()
}

/// Returns the line of a result that explains a failure, at most 200 characters: the first line after the status line
/// that contains a fault word, otherwise the last one. If the result has no status line, its first line. `None` if that
/// is empty.
pub fn fault(body: &str) -> Option<String> {
    let (first, rest) = body.split_once('\n').unwrap_or((body, ""));
    let ended = first.starts_with('[') && first.trim_end().ends_with(']');
    let has_fault_word = |line: &&str| {
        let lower = line.to_lowercase();
        FAULTS.split('|').any(|word| lower.contains(word)) && !lower.contains("0 failed")
    };
    let lines = || rest.lines().map(str::trim).filter(|line| !line.is_empty());
    let explaining = if ended { lines().find(has_fault_word).or_else(|| lines().next_back()) } else { None };
    let line = explaining.unwrap_or(first).trim();
    let line = line.strip_prefix("Failed: ").unwrap_or(line);
    (!line.is_empty()).then(|| line.chars().take(MAX_LINE_CHARS).collect())
}

/// Returns the target of a call for display: the argument that names it, otherwise all arguments. Arguments that no
/// tool can parse are returned as they were sent, marked as unreadable.
pub fn argument(args: &str) -> String {
    let map = match read(args) {
        Ok(map) => map,
        Err(sentence) => return sentence,
    };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let named = |names: &[&str]| names.iter().find_map(|name| map.get(*name)).map(text);
    match (map.get("pattern").map(text), named(&["path"])) {
        (Some(pattern), Some(path)) if !path.is_empty() => format!("{pattern} in {path}"),
        _ => named(&SUBJECTS).unwrap_or_else(|| map.values().map(text).collect::<Vec<_>>().join(" ")),
    }
}

/// Returns arguments that no tool can parse, marked as unreadable, so that a bare `ls` does not look like a command
/// that was understood. `None` if they can be parsed.
pub fn unreadable(args: &str) -> Option<String> {
    read(args).err()
}

/// Returns the arguments by name.
///
/// # Errors
/// The marked arguments, if they are not an object.
fn read(args: &str) -> Result<Map<String, Value>, String> {
    let sent = match serde_json::from_str(args) {
        // Some models send the object as a string, and tools accept that.
        Ok(Value::String(inner)) => serde_json::from_str(&inner),
        sent => sent,
    };
    match sent {
        Ok(Value::Object(map)) => Ok(map),
        Ok(Value::Null) => Ok(Map::new()),
        _ if args.trim().is_empty() => Ok(Map::new()),
        _ => Err(format!("unreadable arguments: {}", args.trim())),
    }
}

/// Returns the files that a call's arguments name, and the files that its trace lists as changed.
pub fn files(trace: &ToolTrace) -> Vec<String> {
    let args = object(&trace.args);
    let named = ["path", "file", "file_path"].into_iter().filter_map(|name| args.get(name)?.as_str());
    named.map(str::to_owned).chain(trace.changed.iter().cloned()).collect()
}

/// Returns the arguments as an object; null if no tool can parse them.
fn object(args: &str) -> Value {
    read(args).map_or(Value::Null, Value::Object)
}

/// Returns the folder and the command line in a call's arguments; `None` if it runs no command.
fn line(args: &Value) -> Option<(&str, &str)> {
    let line = ["line", "command", "cmd"].into_iter().find_map(|name| args.get(name)?.as_str())?;
    let folder = ["folder", "cwd"].into_iter().find_map(|name| args.get(name)?.as_str());
    Some((folder.unwrap_or_default(), line))
}

/// Returns the file in a call's arguments; `None` if there is none, and for searches in files.
fn path(args: &Value) -> Option<&str> {
    let path = ["path", "file", "file_path"].into_iter().find_map(|name| args.get(name)?.as_str())?;
    args.get("pattern").is_none().then(|| path.trim_start_matches("./").trim_end_matches('/'))
}

/// A parsed filter of traces: words in the tool, the arguments, the error, or the first line of the result; and
/// `tool:`, `state:`, `file:`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceFilter {
    words: Vec<String>,
    tools: Vec<String>,
    states: Vec<String>,
    files: Vec<String>,
}

impl TraceFilter {
    /// Parses a line. Several values of the same filter widen the selection; words and different filters narrow it.
    pub fn read(line: &str) -> Self {
        let mut filter = Self::default();
        for word in line.split_whitespace() {
            let lower = word.to_lowercase();
            match lower.split_once(':') {
                Some(("tool", name)) => filter.tools.push(name.to_owned()),
                Some(("state", name)) => filter.states.push(name.to_owned()),
                Some(("file", name)) => filter.files.push(name.to_owned()),
                _ => filter.words.push(lower),
            }
        }
        filter
    }

    /// Returns whether a call matches; `fixed` is whether a later call resolved it.
    pub fn matches(&self, trace: &ToolTrace, fixed: bool) -> bool {
        let any =
            |wanted: &[String], of: &dyn Fn(&str) -> bool| wanted.is_empty() || wanted.iter().any(|word| of(word));
        let state = |word: &str| {
            let name = state(trace);
            name.starts_with(word)
                || (failed(trace) && (fixed && "fixed".starts_with(word) || !fixed && "unfixed".starts_with(word)))
        };
        let file = |word: &str| {
            let args = object(&trace.args);
            let paths = trace.changed.iter().map(String::as_str).chain(path(&args));
            paths.into_iter().any(|path| path.to_lowercase().contains(word))
        };
        let contains = |text: &str, word: &str| text.to_lowercase().contains(word);
        any(&self.tools, &|word| {
            [&trace.name, &*trace.title()].iter().any(|name| name.to_lowercase().starts_with(word))
        }) && any(&self.states, &state)
            && any(&self.files, &file)
            && self.words.iter().all(|word| {
                contains(&trace.name, word)
                    || contains(&trace.title(), word)
                    || contains(&trace.args, word)
                    || contains(report(trace), word)
                    || contains(&trace.preview, word)
            })
    }
}

/// Returns the name of a call's state; `running` while it runs.
pub fn state(trace: &ToolTrace) -> &'static str {
    trace.status.map_or("running", ToolStatus::name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::tool::trace::sample as trace;
    use proptest::prelude::*;

    fn run(line: &str, status: ToolStatus) -> ToolTrace {
        trace("run", &serde_json::json!({ "line": line }).to_string(), status, "[exit 101]")
    }

    #[test]
    fn a_failure_is_linked_to_the_first_success_on_its_target() {
        use ToolStatus::{Failed, Ok, Refused};
        let mut edit = trace("edit_file", r#"{"path":"src/a.rs"}"#, Ok, "");
        edit.changed = vec!["src/a.rs".into()];
        let all = [
            run("cargo test --offline", Failed),
            run("ls -la", Ok),
            run("cargo test", Refused),
            edit,
            run("cargo test a", Ok),
            run("cd sub && cargo test", Ok),
            run("RUST_BACKTRACE=1 cargo test", Ok),
        ];
        let every: Vec<&ToolTrace> = all.iter().collect();
        let found = links(&every, |_, _| true);
        assert_eq!(found, [Link { failed: 0, fixed: 6, between: vec!["src/a.rs".into()] }]);
        assert!(links(&every, |_, _| false).is_empty(), "what is on no path below resolves nothing");
        // Changes on a fork from the failure, and on a path that ends before the successful call, do not belong to this
        // resolution.
        let edited = |trace: &ToolTrace| trace.name == "edit_file";
        for away in [&(|_: &ToolTrace, later: &ToolTrace| !edited(later)) as &dyn Fn(&_, &_) -> bool, &|earlier, _| {
            !edited(earlier)
        }] {
            assert_eq!(links(&every, away), [Link { failed: 0, fixed: 6, between: Vec::new() }]);
        }
        let mut rerun = run("cargo test", Ok);
        rerun.more.again = Some("c".into());
        assert!(links(&[&all[0], &rerun], |_, _| true).is_empty(), "nor does what was run again beside it");
        assert_eq!(resolves(&all[0], &all[1]), None, "another program");
        assert_eq!(resolves(&all[0], &all[4]), Some(LinkKind::Tool));
        assert_eq!(resolves(&all[1], &all[4]), None, "nothing had failed");
    }

    #[test]
    fn failures_are_grouped_by_kind_and_frequency() {
        use ToolStatus::Failed;
        let all = [
            trace("read_file", "a", Failed, "src/a.rs does not exist in the workspace."),
            trace("run", "b", Failed, "error[E0308]: mismatched types"),
            trace("read_file", "c", Failed, "lib/deep/b.py does not exist in the workspace."),
            trace("search", "d", ToolStatus::Ok, "error"),
        ];
        let every: Vec<&ToolTrace> = all.iter().collect();
        let found = groups(&every);
        assert_eq!(found.len(), 2);
        assert_eq!(
            (found[0].calls.as_slice(), found[0].kind.as_str()),
            (&[2, 0][..], "… does not exist in the workspace.")
        );
        assert_ne!(signature(&all[0]), signature(&all[2]), "a failure on another file is another failure");
    }

    proptest! {
        #[test]
        fn any_text_has_a_kind_and_a_fault(text in "\\PC{0,80}") {
            let one = trace("t", &text, ToolStatus::Failed, &text);
            prop_assert!(!kind(&one).chars().any(|c| c.is_ascii_digit()));
            prop_assert!(fault(&text).is_none_or(|line| line.chars().count() <= MAX_LINE_CHARS));
        }
    }

    #[test]
    fn the_argument_that_names_the_target() {
        for (args, shown) in [
            (r#"{"pattern":"fn main","path":"src"}"#, "fn main in src"),
            (r#"{"path":"a","line":"b"}"#, "b"),
            (r#"{"pattern":"p","query":"q"}"#, "q"),
            (r#"{"pattern":"p","path":""}"#, ""),
            (r#"{"pattern":"p"}"#, "p"),
            (r#"{"path":"a"}"#, "a"),
            (r#"{"x":1,"y":[true]}"#, "1 [true]"),
            (r#"{"path":5}"#, "5"),
            ("{}", ""),
            ("", ""),
            (" ", ""),
            ("null", ""),
            (r#""{\"line\":\"ls\"}""#, "ls"),
            ("7", "unreadable arguments: 7"),
            ("ls ", "unreadable arguments: ls"),
            ("\"ls\"", "unreadable arguments: \"ls\""),
            ("[1]", "unreadable arguments: [1]"),
            (r#"{"line":"ls""#, r#"unreadable arguments: {"line":"ls""#),
            (r#"{"line":"ls"}{"line":"ls"}"#, r#"unreadable arguments: {"line":"ls"}{"line":"ls"}"#),
        ] {
            assert_eq!(argument(args), shown, "{args}");
            assert_eq!(unreadable(args).as_deref(), shown.starts_with("unreadable").then_some(shown), "{args}");
        }
    }

    #[test]
    fn targets_are_compared_by_arguments() {
        let how = |then: &str, now: &str| {
            resolves(&trace("t", then, ToolStatus::Failed, ""), &trace("t", now, ToolStatus::Ok, ""))
        };
        let (subject, tool) = (Some(LinkKind::Subject), Some(LinkKind::Tool));
        for (then, now, link) in [
            (r#"{"path":"a/"}"#, r#"{"path":"./a"}"#, subject),
            (r#"{"file":"a"}"#, r#"{"path":"a","x":1}"#, subject),
            (r#"{"file_path":"a","y":2}"#, r#"{"path":"a","x":1}"#, subject),
            (r#"{"a":1,"b":2}"#, r#"{"b":2, "a":1}"#, subject),
            (r#"{"a":1}"#, r#"{"a":2}"#, tool),
            (r#"{"path":"a"}"#, r#"{"path":"b"}"#, tool),
            (r#""{\"path\":\"a\",\"x\":1}""#, r#"{"path":"a"}"#, subject),
            ("ls", "{}", tool),
            ("ls", "ls -l", tool),
            ("[1]", "[1] ", tool),
            ("[1]", "[2]", tool),
            ("{}", "{ }", subject),
            (r#"{"path":"a","pattern":"x"}"#, r#"{"path":"a"}"#, tool),
            (r#"{"path":"a","pattern":"x"}"#, r#"{"path":"a","pattern":"y"}"#, tool),
            (r#"{"line":"make x"}"#, r#"{"path":"a"}"#, tool),
            (r#"{"path":"a"}"#, r#"{"line":"make x"}"#, tool),
            (r#"{"cmd":"make x"}"#, r#"{"command":"make x","cwd":""}"#, subject),
            (r#"{"cmd":"make x","cwd":"a"}"#, r#"{"line":"make x","folder":"a"}"#, subject),
            (r#"{"line":"make x","folder":"a"}"#, r#"{"line":"make x","folder":"b"}"#, tool),
            (r#"{"line":"make x","seconds":1}"#, r#"{"line":"make x","seconds":9}"#, subject),
            (r#"{"line":"make x"}"#, r#"{"line":"make y"}"#, tool),
            (r#"{"line":"make x"}"#, r#"{"line":"ls"}"#, None),
        ] {
            assert_eq!(how(then, now), link, "{then} {now}");
        }
        let same = |then: ToolStatus, now: ToolStatus, name: &str| {
            resolves(&trace("t", "a", then, ""), &trace(name, "a", now, ""))
        };
        assert_eq!(same(ToolStatus::Failed, ToolStatus::Ok, "t"), Some(LinkKind::Same));
        assert_eq!(same(ToolStatus::Failed, ToolStatus::Failed, "t"), None);
        assert_eq!(same(ToolStatus::Ok, ToolStatus::Ok, "t"), None);
        assert_eq!(same(ToolStatus::Failed, ToolStatus::Ok, "u"), None);
        let mut one = trace("t", r#"{"file_path":"c","path":"a","file":"b","x":"d"}"#, ToolStatus::Ok, "");
        one.changed = vec!["e".into(), "a".into()];
        assert_eq!(files(&one), ["a", "b", "c", "e", "a"]);
    }

    #[test]
    fn explaining_lines_and_their_kinds() {
        for (body, line) in [
            ("[exit 1]\nfine\nError: x\nerror: y", Some("Error: x")),
            ("[exit 1]\n 3 passed, 0 failed \n\n", Some("3 passed, 0 failed")),
            ("[exit 1]\n0 failed\n1 failed", Some("1 failed")),
            ("[exit 1] \nno such file\nz", Some("no such file")),
            ("[exit 1\nerror", Some("[exit 1")),
            ("exit 1]\nerror", Some("exit 1]")),
            ("one\nerror", Some("one")),
            ("Failed: \nx", Some("Failed:")),
            ("  Failed: y", Some("y")),
            ("[exit 1; no output]\n", Some("[exit 1; no output]")),
            ("\nx", None),
            (" ", None),
            ("", None),
        ] {
            assert_eq!(fault(body).as_deref(), line, "{body:?}");
        }
        assert_eq!(fault(&"é".repeat(300)).map(|line| line.chars().count()), Some(200));
        for (report, of) in [
            ("Cannot find `a name` in \"the list\" at src/a.rs:12", "cannot find … in … at …"),
            ("a\t b  12 c3d4", "a b # c#d#"),
            ("Src/a", "…"),
            ("a/ /b /", "a/ /b /"),
            ("x.rs, (y.toml): z.abcdef .rs a. b.r", "… … z.abcdef .rs a. …"),
            ("v1.2.3 e.g. 3.14", "… … …"),
            ("\"open `x\" `y", "…"),
            ("`a \"b` c", "… c"),
            ("a.b-c a.b_c", "a.b-c a.b_c"),
        ] {
            let found = kind(&trace("t", "", ToolStatus::Failed, report));
            assert_eq!(found, of, "{report:?}");
        }
    }

    #[test]
    fn different_filters_narrow_and_values_of_one_widen() {
        let mut one = trace("edit_file", r#"{"path":"./Src/A.rs"}"#, ToolStatus::Failed, "Preview words");
        one.changed = vec!["Lib/B.rs".into()];
        one.more.error = Some("Other Fault".into());
        for (line, through) in [
            ("", true),
            ("tool:edit", true),
            ("tool:EDIT_FILE", true),
            ("tool:file", false),
            ("tool:x tool:edit", true),
            ("file:src/a", true),
            ("file:lib/b", true),
            ("file:zz", false),
            ("file:zz file:b", true),
            ("state:fail", true),
            ("state:unf", true),
            ("state:ok", false),
            ("state:ok state:failed", true),
            ("state:fixed", false),
            ("EDIT src/a FAULT preview", true),
            ("edit nowhere", false),
            ("tool:edit file:zz", false),
            ("tool:edit state:failed file:a fault", true),
            ("other:fault", false),
        ] {
            assert_eq!(TraceFilter::read(line).matches(&one, false), through, "{line}");
        }
        let when_fixed = |line: &str| TraceFilter::read(line).matches(&one, true);
        assert!(when_fixed("state:fixed") && when_fixed("state:failed state:ok") && !when_fixed("state:unfixed"));
        one.status = Some(ToolStatus::Ok);
        assert!(
            !TraceFilter::read("state:fixed").matches(&one, true)
                && !TraceFilter::read("state:unfixed").matches(&one, false)
        );
        one.status = None;
        assert!(TraceFilter::read("state:run").matches(&one, false) && state(&one) == "running");
    }
}
