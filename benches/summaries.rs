//! What survives repeated summaries. Twenty successive summaries of a long technical conversation through the whole
//! engine: every pinned turn and every kept sentence must be in the request verbatim; and how many of the sources'
//! paths, commands, numbers, and names are still mentioned, compared with plain summarizing in the same space.
//! `cargo bench --bench summaries [-- FILE.jsonl]`. The file contains one message in each line: `{"role": …,
//! "content": …}`.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, reason = "a bench, read by people")]
#![allow(clippy::print_stdout, reason = "its figures are printed")]

#[allow(dead_code, reason = "the tests use the rest of it")]
#[path = "../tests/it/support"]
mod support {
    pub(crate) mod bench;
    pub(crate) mod server;
}

use pleach::context::summary::survive::{RequiredFacts, Survival};
use pleach::context::summary::{Size, extract};
use pleach::domain::base::{BranchId, NodeId};
use pleach::domain::call::ModelInfo;
use pleach::domain::call::tokens::approximate;
use pleach::domain::conversation::{MarkKind, Role};
use pleach::domain::summary::draft::SALIENT;
use pleach::domain::summary::{AnchorKind, SourceTurn, SummaryAuthor, SummaryDraft, SummaryKind};
use pleach::engine::api::{
    Act, Answer, BranchAnswer, BranchRequest, ItemName, PlanRequest, Request, SummaryAct, SummaryAnswer,
};
use std::sync::Arc;
use support::bench::{Bench, Client, Model, message, model_of};

const SUMMARIES: usize = 20;
const TURNS_EACH: usize = 8;

fn act(client: &mut Client, branch: BranchId, act: SummaryAct) -> Answer {
    client.must(Request::Summary { branch, act })
}

fn drafted(client: &mut Client, branch: BranchId, draft_act: SummaryAct) -> Arc<SummaryDraft> {
    match act(client, branch, draft_act) {
        Answer::Summary(SummaryAnswer::Draft(Some(draft))) => draft,
        other => panic!("{other:?}"),
    }
}

/// A question and an answer about a service with typical content: paths, commands, numbers, names, errors.
fn turn(n: usize) -> (String, String) {
    let crate_name = ["auth", "billing", "search", "ingest", "cache", "export", "mailer", "gateway"][n % 8];
    let verb = ["rotate", "load", "merge", "flush", "retry", "parse", "split", "verify"][n * 5 % 8];
    let (port, ms, size) = (8_000 + n * 13 % 900, 40 + n * 37 % 950, 64 << (n % 5));
    let file = format!("crates/{crate_name}/src/{verb}_{}.rs", n % 11);
    let asked = match n % 4 {
        0 => format!(
            "We decided that {crate_name} must listen on port {port} and never above {size} connections. How should {verb}_{crate_name} handle that?"
        ),
        1 => format!(
            "`cargo test -p {crate_name} --test {verb}` fails with exit code {} in {file}. What is the cause?",
            100 + n % 40
        ),
        2 => format!(
            "I want the {crate_name} service to {verb} its state within {ms} ms. The deadline is 2026-{:02}-{:02}.",
            1 + n % 12,
            1 + n % 28
        ),
        _ => format!(
            "Please look at {file} again; the log says \"{verb} of {crate_name} timed out after {ms} ms\". Can we avoid it?"
        ),
    };
    let answered = format!(
        "The type `{}{}Guard` in {file} holds the lock while it calls `{verb}_{crate_name}_batch`, so every request waits for the slowest one. \
         Set MAX_{}_{} to {size} and keep the default of {ms} ms for the rest.\n\n\
         There are a few ways to think about this. One can argue that the present design is fine for small loads, and that is \
         true as far as it goes; but once many callers come at the same time, the queue grows faster than it is worked off. \
         It helps to look at it from the side of the caller, who only sees that nothing happens for a while.\n\n\
         ```sh\ncargo run -p {crate_name} -- --{verb} --limit {size}\n```\n\n\
         ```rust\nfn {verb}_{crate_name}_batch(limit: usize) -> usize {{\n    let kept = limit.min({size});\n    kept + 1\n}}\n```\n\n\
         I measured it: version 1.{}.{} took {ms} ms before and {} ms after. In general, shorter critical sections are easier to \
         reason about, and they leave more room for the scheduler. {}",
        title(crate_name),
        title(verb),
        crate_name.to_uppercase(),
        verb.to_uppercase(),
        n % 9,
        n % 7,
        ms / 3,
        if n.is_multiple_of(5) {
            "We still need to change the retry policy later."
        } else {
            "That should be enough for now."
        }
    );
    (asked, answered)
}

fn title(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    format!("{}{rest}", first.to_uppercase())
}

/// The conversation as pairs, from a file or generated.
fn talk() -> Vec<(String, String)> {
    let file = std::env::args().skip(1).find(|arg| std::path::Path::new(arg).extension().is_some_and(|e| e == "jsonl"));
    let Some(file) = file else { return (0..SUMMARIES * TURNS_EACH + 8).map(turn).collect() };
    let mut pairs: Vec<(String, String)> = Vec::new();
    for line in std::fs::read_to_string(file).unwrap().lines() {
        let Ok(value) = serde_json::from_str::<serde_json::Value>(line) else { continue };
        let (Some(role), Some(content)) = (value["role"].as_str(), value["content"].as_str()) else { continue };
        match (role, pairs.last_mut()) {
            ("user", _) => pairs.push((content.to_owned(), String::new())),
            ("assistant", Some((_, answer))) if answer.is_empty() => content.clone_into(answer),
            _ => {}
        }
    }
    pairs.retain(|(asked, answered)| !asked.trim().is_empty() && !answered.trim().is_empty());
    pairs
}

fn add(client: &mut Client, branch: BranchId, role: Role, text: &str) -> NodeId {
    match client.must(Request::Branch(BranchRequest::AddMessage {
        branch,
        role,
        text: text.to_owned(),
        priority: None,
    })) {
        Answer::Branch(BranchAnswer::Added(head)) => head.id,
        other => panic!("{other:?}"),
    }
}

/// All texts of the next request.
fn request(client: &mut Client, branch: BranchId) -> String {
    let plan = client.whole_plan(branch, &message("and now?"));
    assert!(plan.est_total <= plan.budget.prompt);
    let Answer::Text(body) = client.must(Request::Plan(PlanRequest::WireText { branch })) else { panic!("no text") };
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    let texts = body["messages"].as_array().unwrap().iter().filter_map(|m| m["content"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// The newest turns that fit in `room` tokens, which a window alone would send.
fn newest(sources: &[SourceTurn], room: u32) -> String {
    let mut left = room;
    let mut text = Vec::new();
    for turn in sources.iter().rev() {
        let text_of_turn: Vec<&str> = turn.messages.iter().map(|m| m.text.as_str()).collect();
        let text_of_turn = text_of_turn.join("\n");
        let Some(rest) = left.checked_sub(approximate(&text_of_turn)) else { break };
        left = rest;
        text.push(text_of_turn);
    }
    text.join("\n")
}

struct Row {
    number: usize,
    original: u32,
    tokens: u32,
    ways: [Survival; 4],
    salient: (usize, usize),
}

fn percent(survival: &Survival, kind: Option<AnchorKind>) -> String {
    let (all, kept) = match kind {
        None => survival.sum(),
        Some(kind) => survival.kinds.iter().find(|(k, ..)| *k == kind).map_or((0, 0), |(_, all, kept)| (*all, *kept)),
    };
    if all == 0 { "–".into() } else { format!("{:.1}%", f64::from(kept) * 100.0 / f64::from(all)) }
}

const WAYS: [&str; 4] = ["newest only", "extract 20%", "extract, same room", "with the checker"];

#[allow(clippy::too_many_lines, reason = "one sequence of steps")]
fn main() {
    let pairs = talk();
    let bench = Bench::new(&Model::new([]));
    let mut client = bench.start_with(|setup| {
        setup.settings.models = Arc::new(|name, _| ModelInfo { context_window: 48_000, ..model_of(name) });
    });
    let branch = client.session();
    let each = ((pairs.len().saturating_sub(8)) / SUMMARIES).max(1);
    let (mut pinned, mut kept): (Vec<(String, String)>, Vec<String>) = (Vec::new(), Vec::new());
    let (mut rows, mut lost) = (Vec::new(), 0);
    let mut done = 0;
    for (index, (asked, answered)) in pairs.iter().enumerate() {
        let user = add(&mut client, branch, Role::User, asked);
        add(&mut client, branch, Role::Assistant, answered);
        if index % (each * 2) == each / 2 && pinned.len() < 8 {
            let act = Act::Set { kind: MarkKind::Sticky, toggle: false };
            client.must(Request::Branch(BranchRequest::Mark { branch, items: vec![ItemName::TurnOf(user)], act }));
            pinned.push((asked.clone(), answered.clone()));
        }
        if index < 8 || (index - 8) % each != each - 1 || done == SUMMARIES {
            continue;
        }
        done += 1;
        let draft_act = SummaryAct::Draft { kind: SummaryKind::Lane, up_to: None, by: SummaryAuthor::Extractive };
        let plain = drafted(&mut client, branch, draft_act);
        let mut draft = plain.clone();
        let new = draft.dropped.iter().position(|item| item.weight >= SALIENT && !kept.contains(&item.sentence));
        if let Some(item) = new {
            kept.push(draft.dropped[item].sentence.clone());
            draft = drafted(&mut client, branch, SummaryAct::Keep { draft: draft.number, items: vec![item] });
        }
        draft = drafted(&mut client, branch, SummaryAct::KeepAll { draft: draft.number });
        act(&mut client, branch, SummaryAct::Accept { draft: draft.number });
        let request_text = request(&mut client, branch);
        let gone = |text: &String| !request_text.contains(text.trim());
        lost += pinned.iter().filter(|(asked, answered)| gone(asked) || gone(answered)).count();
        lost += kept.iter().filter(|text| gone(text)).count();
        let wanted = RequiredFacts::of(&draft.sources);
        let room = draft.summary.tokens;
        let default = Size::default().target(draft.summary.original_tokens);
        let ways = [
            newest(&draft.sources, room),
            extract::extract(&draft.sources, default, &approximate),
            extract::extract(&draft.sources, room, &approximate),
            draft.summary.text.clone().unwrap(),
        ];
        let salient = |draft: &SummaryDraft| draft.dropped.iter().filter(|item| item.weight >= SALIENT).count();
        rows.push(Row {
            number: done,
            original: draft.summary.original_tokens,
            tokens: room,
            ways: ways.map(|text| wanted.survival(&text)),
            salient: (salient(&plain), salient(&draft)),
        });
    }
    println!(
        "{} messages, {done} summaries, {} pinned turns, {} kept sentences",
        pairs.len() * 2,
        pinned.len(),
        kept.len()
    );
    println!("pinned or kept, and not word for word in the request after any summary: {lost}\n");
    print_rows(&rows);
    assert_eq!(lost, 0, "pinned turns and kept sentences stay verbatim");
}

fn print_rows(rows: &[Row]) {
    print!("{:>3} {:>9} {:>7} {:>6}", "n", "sources", "tokens", "ratio");
    for way in WAYS {
        print!(" {way:>19}");
    }
    println!("  items to look at: draft, kept all");
    for row in rows.iter().filter(|row| [1, 2, 5, 10, 15, rows.len()].contains(&row.number)) {
        let ratio = f64::from(row.original) / f64::from(row.tokens);
        print!("{:>3} {:>9} {:>7} {ratio:>5.1}x", row.number, row.original, row.tokens);
        for way in &row.ways {
            print!(" {:>19}", percent(way, None));
        }
        println!("  {:>5} {:>5}", row.salient.0, row.salient.1);
    }
    let Some(newest) = rows.last() else { return println!("the conversation is too short") };
    println!("\nby kind, after {}:", newest.number);
    for kind in AnchorKind::ALL {
        print!("{:>28}", kind.name());
        for way in &newest.ways {
            print!(" {:>19}", percent(way, Some(kind)));
        }
        println!();
    }
}
