//! The real engine on a real store, with the real screen.

use crate::dice::Dice;
use crate::fill::{self, LONG, question};
use crate::support::live::Live;
use pleach::engine::api::{Answer, Request, SessionAnswer, SessionRequest};
use pleach::store::Store;
use std::path::Path;
use std::time::{Duration, Instant};

/// Questions that are typed into the search.
const QUESTIONS: u64 = 20;

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

fn report(name: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |share: usize| milliseconds(times[(times.len() - 1) * share / 100]);
    println!("{name:<52} {:>8.1} {:>8.1} {:>8.1}", at(50), at(95), at(100));
}

/// Whether the displayed plan belongs to the current draft.
fn is_planned(model: &pleach::tui::model::Model) -> bool {
    let shown = model.plan.shown.as_ref().map(|shown| shown.generation);
    model.plan.due.is_none() && shown == Some(model.plan.generation)
}

/// Opens a session of 10,000 messages and 50 MB repeatedly, and types in it.
pub(crate) fn session(size: (u16, u16)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data").join("pleach.db");
    fill::store_of(&path, (10_000, 1_800), 2);
    println!("\na stored session of 10,000 messages, {} MB, ms:", std::fs::metadata(&path).unwrap().len() / 1_000_000);
    println!("{:<52} {:>8} {:>8} {:>8}", "", "p50", "p95", "most");
    let reads = Store::reads_of_this_thread();
    let (mut opened, mut planned) = (Vec::new(), Vec::new());
    for round in 0..6 {
        let (bench, client) = fill::start(&path);
        let since = Instant::now();
        let mut live = Live::open(client, LONG, size);
        opened.push(since.elapsed());
        live.types("Where does the ");
        let since = Instant::now();
        live.until(is_planned);
        if round == 0 {
            let took = milliseconds(since.elapsed());
            println!("{:<52} {took:>8.1}   (indexed beside it: {:.1} s)", "its very first plan", indexed(&mut live));
        } else {
            planned.push(since.elapsed());
        }
        live.client.stop();
        drop(bench);
    }
    report("to open it and draw it", opened);
    report("to the first plan after a start", planned);
    let (_bench, client) = fill::start(&path);
    let mut live = Live::open(client, LONG, size);
    live.types("Where does the token ");
    live.until(is_planned);
    let mut each = Vec::new();
    for word in ["refresh ", "go ", "and ", "what ", "did ", "qbacafo ", "say ", "about ", "it "] {
        live.types(word);
        let since = Instant::now();
        live.until(is_planned);
        each.push(since.elapsed().saturating_sub(Duration::from_millis(pleach::tui::chat::model::plan::PLAN_DELAY_MS)));
    }
    report("from the last key to the plan, the rest left out", each);
    println!("SQL statements that the screen's thread ran: {}", Store::reads_of_this_thread() - reads);
}

/// Seconds until older messages can be searched.
fn indexed(live: &mut Live) -> f64 {
    let since = Instant::now();
    live.until(|model| model.engine.indexing.is_none_or(|(done, total)| done == total));
    since.elapsed().as_secs_f64()
}

/// Searches `messages` stored messages while the query is typed.
///
/// `kept`: a folder where the store is kept between runs.
pub(crate) fn search(messages: usize, kept: Option<&Path>) {
    let folder = tempfile::tempdir().unwrap();
    let path = kept.unwrap_or(folder.path()).join("data").join("pleach.db");
    if !path.exists() {
        fill::store(&path, messages, 1_000);
    }
    println!("\nthe search over {messages} stored messages, ms from a key to its results:");
    println!("{:<52} {:>8} {:>8} {:>8}", "", "p50", "p95", "most");
    let (_bench, mut client) = fill::start(&path);
    let (mut each, mut last) = (Vec::new(), Vec::new());
    for seed in 0..QUESTIONS {
        let line = question(&mut Dice(seed + 7), seed % 2 == 0);
        let line: String = line.split(' ').take(3).collect::<Vec<_>>().join(" ");
        let ends: Vec<usize> = line.char_indices().map(|(at, c)| at + c.len_utf8()).skip(1).collect();
        let find = |end: usize| Request::Session(SessionRequest::Find { line: line[..end].to_owned(), limit: 100 });
        for end in &ends {
            let since = Instant::now();
            match client.must(find(*end)) {
                Answer::Session(SessionAnswer::Found(_)) => each.push(since.elapsed()),
                other => panic!("{other:?}"),
            }
        }
        let tickets: Vec<_> = ends.iter().map(|end| client.post(find(*end))).collect();
        let since = Instant::now();
        client.answer(tickets[tickets.len() - 1]).expect("the newest is answered");
        last.push(since.elapsed());
    }
    report("every key waited for", each);
    report("typed at once: to the results of the last key", last);
}
