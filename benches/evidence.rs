//! Does the whole request contain the messages that answer a question? The share of the evidence in a request's turns
//! and cards together, for every policy in Light and Heavy.
//!
//! `cargo bench --bench evidence -- CONVERSATIONS.jsonl QUESTIONS.jsonl [--every=N] [--budget=N] [--policies=A,B]`, with
//! files as for `recall`. `--every=8` asks every eighth question. Each question is planned on the end of its
//! conversation, as the next message there; nothing is sent. `--others` also asks every question of the next
//! conversation, which cannot answer it, and prints the tokens of retrieved messages as a share of those that a
//! conversation's own questions retrieve.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, reason = "a bench, read by people")]
#![allow(clippy::print_stdout, reason = "its figures are printed")]

#[allow(dead_code, reason = "other benches use the rest of it")]
#[path = "shared/setup.rs"]
mod shared;
#[allow(dead_code, reason = "the tests use the rest of it")]
#[path = "../tests/it/support"]
mod support {
    pub(crate) mod bench;
    pub(crate) mod server;
}

use pleach::domain::base::{BranchId, NodeId};
use pleach::domain::call::CountTokens;
use pleach::domain::planning::{Mode, Planned, PolicySpec, Row, Section};
use pleach::engine::api::{Answer, Request, SessionAnswer, SessionRequest};
use pleach::llm::counting::tokens::Tokenizers;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex};
use support::bench::{Bench, Client, Model, message};

const POLICIES: [&str; 5] = ["layered", "lanes", "adaptive", "levels", "window"];

struct Question {
    query: String,
    category: String,
    evidence: Vec<String>,
}

struct Arguments {
    conversations: String,
    questions: Vec<Question>,
    budget: u32,
    policies: Vec<String>,
    others: bool,
}

/// The figures of one policy in one mode.
#[derive(Default)]
struct Figures {
    /// Sum of the shares of evidence, and number of questions, by category.
    shares: BTreeMap<String, (f64, u32)>,
    /// Tokens of retrieved messages for a conversation's own questions, and for those of another.
    retrieved: (u64, u64),
    /// Tokens of the requests.
    total: u64,
    missed: Vec<String>,
}

fn read(arguments: &[String]) -> Arguments {
    let flag = |name: &str| arguments.iter().find_map(|argument| argument.strip_prefix(name));
    let files: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    let [conversations, questions] = files[..] else { panic!("two files are needed: conversations and questions") };
    let text = |file: &str| std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{file}: {error}"));
    let every = flag("--every=").map_or(1, |every| every.parse().expect("a number"));
    let question = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line).expect("a JSON line");
        let ids = value["evidence"].as_array().expect("evidence").iter();
        Question {
            query: value["query"].as_str().expect("a query").to_owned(),
            category: value["category"].as_str().unwrap_or_default().to_owned(),
            evidence: ids.map(|id| id.as_str().expect("an id").to_owned()).collect(),
        }
    };
    Arguments {
        conversations: text(conversations),
        questions: text(questions).lines().step_by(every).map(question).collect(),
        budget: flag("--budget=").map_or(8_000, |budget| budget.parse().expect("a number of tokens")),
        policies: flag("--policies=").map_or_else(
            || POLICIES.map(str::to_owned).to_vec(),
            |names| names.split(',').map(str::to_owned).collect(),
        ),
        others: arguments.iter().any(|argument| argument == "--others"),
    }
}

fn started(policy: &PolicySpec, mode: Mode, budget: u32, counter: &Arc<Tokenizers>) -> Client {
    let mut bench = Bench::new(&Model::new([]));
    bench.back = Arc::new(shared::OneServer(Model::new([])));
    bench.start_with(|setup| {
        setup.patient = true;
        setup.settings.policies = [(policy.name.clone(), policy.clone())].into();
        setup.counter = Arc::clone(counter) as Arc<dyn CountTokens>;
        setup.settings.prompts = shared::prompts();
        setup.settings.defaults.policy = Some(policy.name.clone());
        setup.settings.defaults.mode = Some(mode);
        setup.settings.defaults.budget = Some(budget);
        setup.settings.models = shared::models(128_000);
    })
}

/// The conversations of a store: the branch of each, and the external ids of its messages.
fn imported(client: &mut Client, conversations: &str) -> Vec<(BranchId, HashMap<String, NodeId>)> {
    let reading = pleach::import::read(conversations.as_bytes(), "x.jsonl").unwrap().incoming();
    let import = Request::Session(SessionRequest::Import { reading });
    let Answer::Session(SessionAnswer::Imported { sessions, .. }) = client.must(import) else {
        panic!("nothing was imported")
    };
    let mut found = Vec::new();
    for session in sessions {
        let open = SessionRequest::Open { session: Some(session.session.to_string()), branch: None, create: false };
        let Answer::Session(SessionAnswer::Opened(view)) = client.must(Request::Session(open)) else {
            panic!("no session")
        };
        let ids = view.nodes.iter().filter_map(|head| Some((head.external_id.clone()?, head.id)));
        found.push((view.current, ids.collect()));
    }
    found
}

/// The messages of a row: a turn's, or the one that a card is from.
fn messages(row: &Row) -> impl Iterator<Item = NodeId> + '_ {
    row.items.iter().filter_map(|item| item.node).chain(row.source.message)
}

fn measured(policy: &PolicySpec, mode: Mode, arguments: &Arguments, counter: &Arc<Tokenizers>) -> Figures {
    let mut client = started(policy, mode, arguments.budget, counter);
    let sessions = imported(&mut client, &arguments.conversations);
    let mut figures = Figures::default();
    for question in &arguments.questions {
        let home = sessions.iter().position(|(_, ids)| ids.contains_key(&question.evidence[0])).expect("its session");
        let (branch, ids) = &sessions[home];
        let mut tokens = |branch| {
            let planned = client.plan(branch, &message(&question.query));
            client.seen.clear();
            let Ok(Planned::Plan { plan, .. }) = planned else { panic!("{}: {planned:?}", question.query) };
            let cards = plan
                .included()
                .filter(|row| row.section() == Some(Section::Retrieved))
                .map(|row| u64::from(row.tokens))
                .sum();
            (plan, cards)
        };
        let (plan, cards): (_, u64) = tokens(*branch);
        figures.retrieved.0 += cards;
        figures.total += u64::from(plan.est_total);
        if arguments.others {
            figures.retrieved.1 += tokens(sessions[(home + 1) % sessions.len()].0).1;
        }
        let sent: HashSet<NodeId> = plan.included().flat_map(messages).collect();
        let found = question.evidence.iter().filter(|id| ids.get(*id).is_some_and(|id| sent.contains(id))).count();
        let share = found as f64 / question.evidence.len() as f64;
        if share < 1.0 {
            figures.missed.push(format!("{share:.2} {cards:>5} {}", question.query));
        }
        for category in [question.category.as_str(), ""] {
            let sums = figures.shares.entry(category.to_owned()).or_default();
            *sums = (sums.0 + share, sums.1 + 1);
        }
    }
    client.stop();
    figures
}

fn main() {
    let all: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let arguments = read(&all);
    let presets = shared::presets();
    let counter = Arc::new(Tokenizers::new());
    let names = arguments.policies.iter();
    let mut jobs: Vec<(&str, Mode)> =
        names.flat_map(|name| [Mode::Light, Mode::Heavy].map(|mode| (name.as_str(), mode))).collect();
    jobs.reverse();
    let (jobs, found) = (Mutex::new(jobs), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let Some((name, mode)) = jobs.lock().unwrap().pop() else { break };
                    let figures = measured(&presets[name], mode, &arguments, &counter);
                    found.lock().unwrap().insert((name, mode), figures);
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    println!("{} questions, a budget of {} tokens\n", arguments.questions.len(), arguments.budget);
    println!("| policy | mode | evidence | by category | tokens | retrieved | of another conversation |");
    println!("|---|---|---|---|---|---|---|");
    for ((name, mode), figures) in &found {
        let percent = |(sum, count): &(f64, u32)| format!("{:.1}", 100.0 * sum / f64::from((*count).max(1)));
        let categories = figures.shares.iter().filter(|(category, _)| !category.is_empty());
        let categories: Vec<String> = categories.map(|(name, sums)| format!("{name} {}", percent(sums))).collect();
        let (own, other) = figures.retrieved;
        let count = arguments.questions.len() as u64;
        println!(
            "| {name} | {} | {} | {} | {} | {} | {:.1}% |",
            mode.title(),
            percent(&figures.shares[""]),
            categories.join(", "),
            figures.total / count,
            own / count,
            100.0 * other as f64 / own.max(1) as f64,
        );
    }
    if all.iter().any(|argument| argument == "--missed") {
        for ((name, mode), figures) in &found {
            println!("\n{name}, {}: share of the evidence, tokens retrieved, question", mode.title());
            figures.missed.iter().for_each(|line| println!("{line}"));
        }
    }
}
