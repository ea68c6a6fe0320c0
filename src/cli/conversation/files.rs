//! `import` and `export`.
//! Not for: the formats, which `main` passes in.

use crate::cli::Run;
use crate::cli::client::{expect_answer, unexpected};
use crate::cli::input::to_import;
use crate::cli::output::{escaped_lines, number};
use crate::cli::pick;
use crate::cli::stop::Stop;
use crate::config::commands::command::Format;
use crate::domain::base::{Failure, SessionId};
use crate::domain::call::tokens::counted;
use crate::domain::conversation::{ImportResult, MarkKind, Role};
use crate::engine::api::{Act, Answer, BranchRequest, ItemName, SessionAnswer, SessionRequest, SessionView};
use serde_json::json;
use std::io::{self, Write as _};
use std::path::Path;

/// `import FILE`.
pub(crate) fn import(run: &mut Run<'_, '_>, file: &Path, keep_instructions: bool) -> Result<(), Stop> {
    let name = file.display().to_string();
    let opened = to_import(run, file)?;
    let reading = (run.formats.read)(opened, &name)?;
    let answer = run.call(SessionRequest::Import { reading })?;
    let Answer::Session(SessionAnswer::Imported { format, sessions, skipped }) = answer else {
        return Err(unexpected(&answer));
    };
    for skip in skipped.iter().take(20) {
        run.io.note(&format!("problem in {}: {}", skip.place, skip.why));
    }
    if skipped.len() > 20 {
        run.io.note(&format!("… and {} more (--json lists all)", skipped.len() - 20));
    }
    let mut kept = 0;
    for session in sessions.iter().filter(|_| keep_instructions) {
        kept += self::keep_instructions(run, session.session)?;
    }
    if run.io.json {
        let mut value = json!({ "format": format, "sessions": sessions, "skipped": skipped });
        if keep_instructions {
            value["kept_instructions"] = kept.into();
        }
        return run.io.value(&value);
    }
    for session in &sessions {
        run.io.say(&sentence(session));
    }
    let opens = match sessions.as_slice() {
        [] => "No conversation found in the file.".to_owned(),
        [_] if run.io.joins => "`pleach` opens it.".to_owned(),
        [only] => format!("`pleach session switch {:?}` opens it.", only.title),
        _ => "`pleach session list` lists the conversations; `pleach session switch TITLE` opens one.".to_owned(),
    };
    let opens = run.io.as_typed(&opens).into_owned();
    run.io.say(&opens);
    if sessions.iter().any(|session| session.states > 0) {
        run.io.note(
            "an imported answer contains a state block, which is not in use yet; `pleach state show` prints it, \
            `pleach state adopt` adopts it",
        );
    }
    Ok(())
}

/// Returns what was imported: `Imported "Auth bug": 128 messages, 3 branches.`
fn sentence(session: &ImportResult) -> String {
    let branches = if session.branches == 1 { "1 branch".to_owned() } else { format!("{} branches", session.branches) };
    let messages = match (session.added, session.known) {
        (added, 0) => counted(added, "message"),
        (added, known) => format!("{} ({} already present)", counted(added, "new message"), number(known)),
    };
    format!("Imported {:?}: {messages}, {branches}.", session.title)
}

/// Pins the imported system prompts on the current branch of a session, so that they are sent as instructions. Returns
/// their number.
fn keep_instructions(run: &mut Run<'_, '_>, session: SessionId) -> Result<usize, Stop> {
    let view = run.client.open(&Some(session.to_string()), &None, false, &mut run.io)?;
    let tree = pick::tree(&view);
    let path = pick::path(&tree, pick::branch(&view, None)?).into_iter().map(|slot| tree.head(slot));
    let prompts = path.filter(|head| head.role == Role::System && head.imported && !head.hidden);
    let items: Vec<ItemName> = prompts.map(|head| ItemName::Message(head.id)).collect();
    let kept = items.len();
    if kept > 0 {
        let act = Act::Set { kind: MarkKind::Sticky, toggle: false };
        run.call(BranchRequest::Mark { branch: view.current, items, act })?;
    }
    Ok(kept)
}

/// `export [FILE]`. `to` is FILE, and the file of `--output`.
pub(crate) fn export(
    run: &mut Run<'_, '_>,
    format: Option<Format>,
    all: bool,
    mask: bool,
    to: (Option<&Path>, Option<&Path>),
) -> Result<(), Stop> {
    let output = to.0.or(to.1);
    let format = format.or_else(|| output.and_then(Format::of_file));
    if let (Some(file), None) = (to.0, format) {
        let text = format!("The extension of {} names no export format.", file.display());
        return Err(Failure::user(text).todo("Use .md, .html, .json, .jsonl, or .bundle, or give --format.").into());
    }
    let view = run.open(false)?;
    match format.unwrap_or(Format::Jsonl) {
        Format::Bundle => export_bundle(run, &view, all, output),
        format => export_messages(run, &view, (format, all, mask), output),
    }
}

/// Exports messages in a format other than a bundle.
fn export_messages(
    run: &mut Run<'_, '_>,
    view: &SessionView,
    (format, all, mask): (Format, bool, bool),
    output: Option<&Path>,
) -> Result<(), Stop> {
    // A page lists the other answers of the path, so it needs the whole tree.
    let whole = all || format == Format::Html;
    let (session, branch) = (Some(view.card.id.to_string()), (!whole).then_some(view.current));
    let mut transcript =
        expect_answer!(run, Session(SessionAnswer::Transcript), SessionRequest::Transcript { session, branch });
    let mut count = transcript.records.len();
    if format == Format::Html {
        let branch = pick::branch(view, None)?;
        let head = branch.head.and_then(|id| view.nodes.iter().find(|head| head.id == id));
        transcript.current = head.map(|head| head.external_id.clone().unwrap_or_else(|| head.id.to_string()));
        transcript.branches.iter_mut().for_each(|other| other.current = other.name == branch.name);
        if !all {
            count = pick::path(&pick::tree(view), branch).len();
        }
    }
    let write = |mask| match format {
        Format::Jsonl | Format::Bundle => (run.formats.jsonl)(&transcript, mask),
        Format::Markdown => (run.formats.markdown)(&transcript, mask),
        Format::Html => (run.formats.html)(&transcript, mask, all),
    };
    let text = write(mask);
    if !mask && write(true) != text {
        run.io.note("warning: the export contains text that looks like a secret; --mask masks it");
    }
    let text = if format == Format::Jsonl { escaped_lines(&text) } else { text };
    let Some(file) = output else {
        if format == Format::Markdown {
            run.io.words(&text);
        } else {
            run.io.data(&text);
        }
        return Ok(());
    };
    save(run, file, &text, &counted(count as u64, "message"))
}

/// Exports a bundle, and prints its digest.
fn export_bundle(run: &mut Run<'_, '_>, view: &SessionView, all: bool, output: Option<&Path>) -> Result<(), Stop> {
    let (session, branch) = (Some(view.card.id.to_string()), (!all).then_some(view.current));
    let bundle = expect_answer!(run, Session(SessionAnswer::Bundle), SessionRequest::Bundle { session, branch });
    let written = (run.formats.bundles.write)(&bundle);
    let masked = match written.masked {
        0 => String::new(),
        count => format!(", {} masked", counted(count as u64, "secret")),
    };
    let messages = counted(bundle.transcript.records.len() as u64, "message");
    let contents = format!("{messages} and {}{masked}", counted(bundle.calls.len() as u64, "call"));
    match output {
        Some(file) => save(run, file, &written.text, &contents)?,
        None => run.io.data(&written.text),
    }
    run.io.note(&format!("digest of the bundle: {}", written.digest));
    Ok(())
}

/// Saves an export and says what it contains.
fn save(run: &mut Run<'_, '_>, file: &Path, text: &str, contents: &str) -> Result<(), Stop> {
    write_new(file, text).map_err(|error| {
        let failure = Failure::user(format!("{} can't be written: {error}.", file.display()));
        let exists = error.kind() == io::ErrorKind::AlreadyExists;
        if exists { failure.todo("Choose another name, or delete the file first.") } else { failure }
    })?;
    run.io.note(&format!("{contents} written to {}", file.display()));
    Ok(())
}

/// Writes a new file that only its owner can read. Fails if the file exists.
fn write_new(file: &Path, text: &str) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::{Harness, answer, done, execute, id};
    use crate::domain::conversation::record::Skipped;
    use crate::engine::api::Request;

    fn imported(session: SessionId) -> ImportResult {
        let title = "Auth bug".to_owned();
        ImportResult { states: 1, session, title, added: 2, known: 0, branches: 1, head: None }
    }

    #[test]
    fn an_import_names_the_conversation_and_how_to_open_it() {
        let import = |sessions: Vec<ImportResult>| {
            let harness = Harness { input: "{}", ..Harness::default() };
            let printed = harness.execute(&["import", "-"], move |ticket, _| {
                let (format, skipped, sessions) = ("jsonl".into(), Vec::new(), sessions.clone());
                vec![answer(ticket, SessionAnswer::Imported { format, sessions, skipped })]
            });
            assert_eq!(printed.code, 0, "{}", printed.err);
            printed.out
        };
        let first = imported(SessionId(id(90)));
        assert_eq!(import(vec![first.clone()]), "Imported \"Auth bug\": 2 messages, 1 branch.\n`pleach` opens it.\n");
        let again = ImportResult { added: 1, known: 1_200, branches: 3, ..first.clone() };
        let text = import(vec![first, again]);
        assert!(text.contains("Imported \"Auth bug\": 1 new message (1,200 already present), 3 branches.\n"), "{text}");
        assert!(text.ends_with("`pleach session switch TITLE` opens one.\n"), "{text}");
    }

    #[test]
    fn imports_and_exports() {
        let harness = Harness { input: "{}", ..Harness::default() };
        let printed = harness.execute(&["import", "-", "--json"], |ticket, _| {
            let session = SessionId(id(90));
            let sessions = vec![imported(session)];
            let skipped = vec![Skipped { place: "line 3".into(), why: "no role".into() }];
            vec![answer(ticket, SessionAnswer::Imported { format: "jsonl".into(), sessions, skipped })]
        });
        let json = printed.json();
        assert_eq!((json["sessions"][0]["added"].as_u64(), json["format"].as_str()), (Some(2), Some("jsonl")));
        assert!(printed.err.contains("line 3: no role"));
        assert_eq!(Harness { input: "bad", ..Harness::default() }.execute(&["import", "-"], done).code, 1);
        assert_eq!(execute(&["import", "/no/such/file"], done).code, 1);
        let transcript = |ticket, _: &Request| vec![answer(ticket, SessionAnswer::Transcript(Box::default()))];
        let printed = execute(&["export"], transcript);
        assert_eq!(printed.out, "sk-secret\\u001b\n");
        assert!(printed.err.contains("looks like a secret"));
        assert_eq!(execute(&["export", "--mask"], transcript).out, "masked\n");
        let folder = tempfile::tempdir().unwrap();
        for (name, markdown) in [("talk.md", true), ("talk.JSONL", false), ("talk.json", false)] {
            for flag in [&[][..], &["--output"]] {
                let file = folder.path().join(format!("{}{name}", flag.len()));
                let path = file.to_str().unwrap();
                let printed = execute(&[&["export"], flag, &[path]].concat(), transcript);
                assert!(printed.code == 0 && printed.out.is_empty(), "{}", printed.err);
                let json = std::fs::read_to_string(&file).unwrap().contains("\\u001b");
                assert_eq!(json, !markdown, "{path}");
            }
        }
        let page = |all: &[&str]| execute(&[&["export", "--format", "html"], all].concat(), transcript);
        assert_eq!((page(&[]).out, page(&["--all"]).out), ("<p>path\n".into(), "<p>whole\n".into()));
        assert!(matches!(
            page(&[]).seen.last(),
            Some(Request::Session(SessionRequest::Transcript { branch: None, .. }))
        ));
        let bundle = |ticket, _: &Request| vec![answer(ticket, SessionAnswer::Bundle(Box::default()))];
        let printed = execute(&["export", "--format", "bundle"], bundle);
        assert_eq!(printed.out, "{}\n");
        assert!(printed.err.contains("digest of the bundle: "), "{}", printed.err);
        let file = folder.path().join("talk.bundle");
        let printed = execute(&["export", file.to_str().unwrap()], bundle);
        assert!(printed.err.contains("0 messages and 0 calls, 2 secrets masked written to"), "{}", printed.err);
        let printed = execute(&["export", "talk.txt"], transcript);
        assert!(printed.code == 1 && printed.err.contains("names no export format"), "{}", printed.err);
        let printed = execute(&["export", "--all", "--format", "markdown"], transcript);
        assert!(matches!(
            printed.seen.last(),
            Some(Request::Session(SessionRequest::Transcript { branch: None, session: Some(_) }))
        ));
    }
}
