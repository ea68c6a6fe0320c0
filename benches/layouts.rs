//! How much of each request repeats the beginning of the previous one byte for byte, so that a server can cache it:
//! whole conversations go through the engine call by call, under each layout and several windows, with the state block
//! that a model would write, tool rounds, and retrieval. The cost follows from the model table.
//! `cargo bench --bench layouts [-- CONVERSATIONS.jsonl]`. The file has the import format; without one a long technical
//! conversation is generated. Every run of a conversation has the same messages and differs in one setting only.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, reason = "a bench, read by people")]
#![allow(clippy::print_stdout, reason = "its figures are printed")]

#[allow(dead_code, reason = "the tests use the rest of it")]
#[path = "../tests/it/support"]
mod support {
    pub(crate) mod bench;
    pub(crate) mod server;
}
#[path = "layouts/conversations.rs"]
mod conversations;
#[path = "layouts/prefix.rs"]
mod prefix;
#[allow(dead_code, reason = "other benches use the rest of it")]
#[path = "shared/setup.rs"]
mod shared;

use conversations::{Exchange, Talk};
use pleach::config::models::ModelTable;
use pleach::domain::call::{CountTokens, Encoding, Price};
use pleach::domain::planning::{Layout, Mode, PolicySpec};
use pleach::llm::counting::tokens::Tokenizers;
use prefix::{parts, same_tokens};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use support::bench::{Bench, Echo, Model, message};

/// Models with automatic prompt caching, for the price.
const PRICED: [&str; 2] = ["gpt-4.1-mini", "gpt-5-mini"];
/// OpenAI's servers cache prefixes of at least this many tokens, in steps of 128.
const LEAST: u32 = 1_024;
const STEP: u32 = 128;

/// A configuration.
#[derive(Clone)]
struct Configuration {
    name: String,
    policy: PolicySpec,
    layout: Layout,
    mode: Mode,
    budget: u32,
}

/// Totals over the requests of some runs.
#[derive(Default, Clone, Copy)]
struct Sums {
    calls: u64,
    bytes: u64,
    same_bytes: u64,
    tokens: u64,
    same_tokens: u64,
    cached: u64,
    micro: [u64; PRICED.len()],
}

impl Sums {
    fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.bytes += other.bytes;
        self.same_bytes += other.same_bytes;
        self.tokens += other.tokens;
        self.same_tokens += other.same_tokens;
        self.cached += other.cached;
        self.micro.iter_mut().zip(other.micro).for_each(|(sum, more)| *sum += more);
    }
}

fn share(part: u64, whole: u64) -> f64 {
    let number = |n: u64| f64::from(u32::try_from(n).expect("a small sum"));
    100.0 * number(part) / number(whole.max(1))
}

/// The requests of a whole conversation.
fn replay(talk: &Talk, way: &Configuration, counter: &Arc<Tokenizers>) -> Vec<Vec<u8>> {
    let answers =
        talk.exchanges.iter().enumerate().flat_map(|(at, one)| conversations::answers(&talk.exchanges, at, one));
    let model: Arc<Model> = Model::new(answers);
    let mut bench = Bench::new(&model);
    bench.tools = talk.tools.then(|| Arc::new(Echo) as _);
    let clock = Arc::new(AtomicI64::new(talk.exchanges.first().map_or(0, |one| one.at)));
    let now = clock.clone();
    let mut client = bench.start_with(|setup| {
        setup.settings.policies = [(way.policy.name.clone(), way.policy.clone())].into();
        setup.counter = counter.clone();
        setup.settings.prompts = shared::prompts();
        setup.settings.defaults.policy = Some(way.policy.name.clone());
        setup.settings.defaults.layout = Some(way.layout.name().into());
        setup.settings.defaults.mode = Some(way.mode);
        setup.settings.defaults.budget = Some(way.budget);
        setup.settings.models = shared::models(1_047_576);
        setup.now = Arc::new(move || now.fetch_add(1_000, Ordering::Relaxed));
    });
    let branch = client.session();
    for Exchange { asked, at, .. } in &talk.exchanges {
        clock.fetch_max(*at, Ordering::Relaxed);
        let closed = client.turn(branch, &message(asked));
        assert!(closed.failure.is_none(), "{:?}", closed.failure);
        client.seen.clear();
    }
    client.stop();
    model.bodies()
}

fn measured(bodies: &[Vec<u8>], prices: &[Price], counter: &Tokenizers) -> Sums {
    let count = |text: &str| counter.count(Encoding::O200kBase, text);
    let mut sums = Sums::default();
    let mut before: (Vec<String>, &[u8]) = (Vec::new(), &[]);
    for body in bodies {
        let now = parts(body);
        let tokens: u32 = now.iter().map(|text| count(text)).sum();
        let same = same_tokens(&before.0, &now, &count);
        let cached = if same < LEAST { 0 } else { same / STEP * STEP };
        let bytes = before.1.iter().zip(body).take_while(|(a, b)| a == b).count();
        let mut one = Sums {
            calls: 1,
            bytes: body.len() as u64,
            same_bytes: bytes as u64,
            tokens: tokens.into(),
            same_tokens: same.into(),
            cached: cached.into(),
            micro: [0; PRICED.len()],
        };
        one.micro.iter_mut().zip(prices).for_each(|(sum, price)| *sum = price.micro(tokens, cached, 0));
        sums.add(&one);
        before = (now, body);
    }
    sums
}

fn configurations(presets: &BTreeMap<String, PolicySpec>) -> Vec<Configuration> {
    let mut configurations = Vec::new();
    let mut way = |name: String, policy: PolicySpec, layout: Layout, mode: Mode, budget: u32| {
        configurations.push(Configuration { name, policy, layout, mode, budget });
    };
    for budget in [8_000, 32_000] {
        for name in ["layered", "window"] {
            for layout in [Layout::Classic, Layout::CacheFriendly] {
                way(name.into(), presets[name].clone(), layout, Mode::Light, budget);
            }
        }
        for refill in [50, 60, 80, 90] {
            let policy = PolicySpec { refill_percent: refill, ..presets["layered"].clone() };
            way(format!("layered, refill {refill}%"), policy, Layout::CacheFriendly, Mode::Light, budget);
        }
    }
    for mode in [Mode::Off, Mode::Heavy] {
        for layout in [Layout::Classic, Layout::CacheFriendly] {
            way(format!("layered, {}", mode.title()), presets["layered"].clone(), layout, mode, 8_000);
        }
    }
    for name in ["lanes", "adaptive", "levels"] {
        for layout in [Layout::Classic, Layout::CacheFriendly] {
            way(name.into(), presets[name].clone(), layout, Mode::Light, 8_000);
        }
    }
    configurations
}

fn main() {
    let talks = conversations::talks();
    let presets = shared::presets();
    let table = ModelTable::new(BTreeMap::new());
    let prices: Vec<Price> =
        PRICED.iter().map(|name| table.info(name, None).price.expect("the model is in the table")).collect();
    let counter = Arc::new(Tokenizers::new());
    let exchanges: usize = talks.iter().map(|talk| talk.exchanges.len()).sum();
    println!("{} conversations, {exchanges} turns; Light retrieval, a state block in every answer", talks.len());
    println!("same: tokens that stand as in the call before; cached: by the rule of at least 1,024 in steps of 128");
    println!("$: the prompts of a thousand calls, without answers\n");
    print!(
        "{:26} {:14} {:>7} {:>6} {:>8} {:>8} {:>8} {:>8}",
        "policy", "layout", "budget", "calls", "tok/call", "bytes", "same", "cached"
    );
    for name in PRICED {
        print!(" {name:>13}");
    }
    println!();
    for way in configurations(&presets) {
        let mut sums = Sums::default();
        for talk in &talks {
            sums.add(&measured(&replay(talk, &way, &counter), &prices, &counter));
        }
        let Configuration { name, layout, budget, .. } = &way;
        let (bytes, same) = (share(sums.same_bytes, sums.bytes), share(sums.same_tokens, sums.tokens));
        let cached = share(sums.cached, sums.tokens);
        let each = sums.tokens / sums.calls;
        print!(
            "{name:26} {:14} {budget:>7} {:>6} {each:>8} {bytes:>6.1}% {same:>6.1}% {cached:>6.1}%",
            layout.name(),
            sums.calls
        );
        sums.micro.iter().for_each(|micro| print!(" {:>13.2}", share(*micro, sums.calls) / 100.0 / 1_000.0));
        println!();
    }
}
