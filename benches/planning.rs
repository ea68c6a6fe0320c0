//! Planning time by length of the path, and the cacheable share of each request by policy and layout. `cargo bench
//! --bench planning` prints both.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, reason = "a bench, read by people")]
#![allow(clippy::print_stdout, reason = "its figures are printed")]

#[allow(dead_code, reason = "the tests use the rest of it")]
#[path = "../tests/it/support"]
mod support {
    mod look;
    pub(crate) mod talk;
}

use pleach::context::render::{self, Outline};
use pleach::domain::call::Encoding;
use pleach::domain::conversation::Role;
use pleach::domain::planning::{Layout, PolicySpec, Section};
use std::time::{Duration, Instant};
use support::talk::{self, OwnText, Quarter, Talk, TalkMessage};

/// Turns of the conversation whose requests are compared.
const STEPS: usize = 120;

fn policy(name: &str) -> PolicySpec {
    let layered = name == "layered";
    PolicySpec { name: name.into(), anchored: layered, shorten_tools: layered, ..PolicySpec::default() }
}

/// A turn of a few hundred tokens. Every third calls a tool.
fn turn(number: usize) -> Vec<TalkMessage> {
    let words = |count: usize| format!("{number} {}", "word ".repeat(count));
    let mut messages = vec![TalkMessage::new(Role::User, words(15 + number * 7 % 60))];
    if number.is_multiple_of(3) {
        messages.push(TalkMessage::calling(words(5), &["a"]));
        messages.push(TalkMessage::result("a", words(60 + number * 13 % 500)));
    }
    messages.push(TalkMessage::new(Role::Assistant, words(40 + number * 11 % 150)));
    messages
}

/// The share of all prompt tokens that were at the same place in the previous request.
fn share(name: &str, layout: Layout) -> f64 {
    let mut talk = Talk { policy: policy(name), layout, budget: 8_000, ..Talk::default() };
    let (mut reused, mut sent) = (0_u64, 0_u64);
    let mut before: Option<Outline> = None;
    for number in 0..STEPS {
        let messages = turn(number);
        talk.open = vec![messages[0].clone()];
        let state =
            OwnText { section: Section::State, text: format!("Goal: step {number}. {}", "known fact ".repeat(40)) };
        talk.own = vec![OwnText { section: Section::System, text: "Instructions. ".repeat(40) }, state];
        let (input, bag) = talk::build_input(&talk, Encoding::Approximate, &Quarter);
        let plan = pleach::context::plan(&input).expect("the plan is not blocked");
        let (_, outline) = render::render(&plan, &input.shape, &bag).expect("all texts exist");
        if let Some(before) = &before {
            reused += u64::from(render::same_prefix(before, &outline));
            sent += u64::from(plan.est_total);
        }
        talk.anchor.clone_from(&plan.anchor);
        before = Some(outline);
        talk.turns.push(messages);
    }
    f64::from(u32::try_from(reused).unwrap()) / f64::from(u32::try_from(sent).unwrap())
}

/// The median planning time, with the input built in advance.
fn time(name: &str, turns: usize) -> Duration {
    let talk = Talk {
        policy: policy(name),
        budget: 32_000,
        turns: (0..turns).map(turn).collect(),
        open: turn(7)[..1].to_vec(),
        ..Talk::default()
    };
    let (input, _) = talk::build_input(&talk, Encoding::Approximate, &Quarter);
    let mut times: Vec<Duration> = (0..15)
        .map(|_| {
            let start = Instant::now();
            std::hint::black_box(pleach::context::plan(&input).is_ok());
            start.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

fn main() {
    for name in ["window", "layered"] {
        for layout in [Layout::Classic, Layout::CacheFriendly] {
            println!("same prefix  {name:8} {:15} {:5.1}%", layout.name(), share(name, layout) * 100.0);
        }
    }
    for name in ["window", "layered"] {
        let base = time(name, 200);
        for turns in [200, 2_000, 10_000] {
            let took = time(name, turns);
            let ratio = took.as_secs_f64() / base.as_secs_f64();
            println!("planning     {name:8} {turns:6} turns  {took:10.1?}  {ratio:5.1} x");
        }
    }
}
