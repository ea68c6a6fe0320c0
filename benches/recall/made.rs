//! A generated technical conversation: short questions, long answers about invented parts of a program, and later
//! questions that paraphrase one paragraph of one answer.

use super::data::{Message, Question, Talk};
use crate::dice::Dice;
use pleach::domain::conversation::Role;

#[rustfmt::skip]
const PARTS: [&str; 24] = [
    "scheduler", "parser", "cache", "allocator", "router", "tokenizer", "journal", "compactor", "linker", "renderer",
    "resolver", "watcher", "batcher", "limiter", "decoder", "mixer", "sampler", "indexer", "planner", "notifier",
    "importer", "exporter", "validator", "dispatcher",
];
const AREAS: [&str; 12] = [
    "network", "storage", "audio", "layout", "search", "billing", "session", "image", "mail", "metrics", "login",
    "backup",
];
/// What a paragraph says about a part, and how a question paraphrases it.
const FACTS: [(&str, &str); 12] = [
    (
        "keeps its entries in a ring of {n} slots; once that many are waiting, the oldest is overwritten without a \
            word",
        "how many items fit before old ones get lost in the {p} of {a}?",
    ),
    (
        "retries {n} times with a delay that doubles, because the remote end drops connections when it is restarted",
        "how often does the {a} {p} try again after a failure?",
    ),
    (
        "takes its lock only around the swap of two pointers, which brought the pause down from {n} milliseconds",
        "what did we do about the long pauses of the {a} {p}?",
    ),
    (
        "reads {n} bytes at a time, since smaller reads made the system calls dominate the profile",
        "which buffer size did you choose for the {p} in {a}?",
    ),
    (
        "was written without recursion: a document nested {n} levels deep had overflowed the stack",
        "why is there no recursion in the {a} {p}?",
    ),
    (
        "stores times as whole seconds, so two events within one second keep the order of their arrival",
        "what is the resolution of timestamps for the {p} of the {a} part?",
    ),
    (
        "sends a heartbeat every {n} seconds and counts a peer as gone after three that are missing",
        "when is another machine considered dead by the {a} {p}?",
    ),
    (
        "compares checksums before it replaces a file, after {n} users had lost changes by a half-written copy",
        "what protects against partial writes in {a}, in the {p}?",
    ),
    (
        "falls back to a linear scan below {n} elements; the tree was slower there in every measurement",
        "for small inputs, what does the {p} for {a} use instead of a tree?",
    ),
    (
        "logs a warning at {n} percent of its quota and refuses new work at all of it",
        "at which fill level does the {a} {p} start to complain?",
    ),
    (
        "holds weak references to its listeners, otherwise closed windows were never freed",
        "how was the memory leak around the {a} {p} solved?",
    ),
    (
        "hashes names with a random seed, so that nobody can choose {n} names that collide",
        "is there a defence against crafted collisions in the {p}, {a} side?",
    ),
];
const PADDING: [&str; 14] = [
    "The interface stays the same for callers, who see neither the change nor the reason for it.",
    "There is a trade-off here between memory and latency, and it depends on the workload which side matters.",
    "You can verify this with a short test that runs the same input twice and compares the results.",
    "In the usual case nothing of this is visible, but under load the difference is easy to measure.",
    "It would also be possible to make this configurable; so far nobody has asked for it.",
    "Note that the order of initialization matters, since the registry has to exist before anything is registered.",
    "Error handling follows the pattern of the other modules: a small enum, with the source kept for the log.",
    "If you prefer, the same can be expressed with an iterator, which reads better but allocates once more.",
    "The documentation mentions this in passing, and the example in the repository shows the intended use.",
    "A second thread is not needed, because the work is short and happens between two frames.",
    "Keep an eye on the build time: generic code is instantiated once for every type that is used.",
    "For completeness, the older version behaved differently, and its tests were adapted when it was replaced.",
    "That part of the code has been stable for a long time and needs no attention now.",
    "This keeps the number of states small, so that each of them can be tested by itself.",
];

fn code(dice: &mut Dice, part: &str, area: &str) -> String {
    let name = format!("{area}_{part}");
    let size = dice.below(900) + 8;
    format!(
        "```rust\npub fn open_{name}(config: &Config) -> Result<Handle, Error> {{\n    let limit = \
            config.limit.unwrap_or({size});\n    let handle = Handle::with_capacity(limit)?;\n    \
            handle.register(\"{name}\")?;\n    Ok(handle)\n}}\n```"
    )
}

fn padding(dice: &mut Dice, sentences: u64) -> String {
    (0..sentences).map(|_| PADDING[dice.below(PADDING.len())]).collect::<Vec<_>>().join(" ")
}

/// An answer of about 800 tokens about a part of an area with three facts, and their indexes.
fn answer(dice: &mut Dice, part: &str, area: &str) -> (String, Vec<usize>) {
    let first = dice.below(FACTS.len());
    let facts = vec![first, (first + 5) % FACTS.len(), (first + 7) % FACTS.len()];
    let mut paragraphs = vec![format!("Here is how I would approach the {part} for {area}. {}", padding(dice, 4))];
    for fact in &facts {
        let number = (dice.below(60) + 2).to_string();
        let statement = FACTS[*fact].0.replace("{n}", &number);
        paragraphs.push(format!("{} The {area} {part} {statement}. {}", padding(dice, 2), padding(dice, 3)));
        paragraphs.push(padding(dice, 4));
    }
    paragraphs.insert(3, code(dice, part, area));
    (paragraphs.join("\n\n"), facts)
}

/// Two conversations of 140 questions and answers, and a question about every other answer.
pub fn technical() -> (Vec<Talk>, Vec<Question>) {
    let mut dice = Dice(2_026);
    let (mut talks, mut questions) = (Vec::new(), Vec::new());
    for session in ["made-1", "made-2"] {
        let mut messages = Vec::new();
        for turn in 0..140_usize {
            let (part, area) = (PARTS[dice.below(24)], AREAS[dice.below(12)]);
            let at = i64::try_from(turn).ok().map(|turn| 1_700_000_000 + turn * 400 + turn / 20 * 90_000);
            let ask = format!(
                "Let us look at the {part} of the {area} module now. {} What would you change, and why?",
                padding(&mut dice, 1)
            );
            let (text, facts) = answer(&mut dice, part, area);
            if turn % 2 == 0 {
                let (fact, kind) = (facts[turn % 3], ["first", "second", "third"][turn % 3]);
                let query = FACTS[fact].1.replace("{p}", part).replace("{a}", area);
                questions.push(Question {
                    session: session.into(),
                    query,
                    category: format!("{kind} paragraph"),
                    evidence: vec![messages.len() + 1],
                    line: 0,
                });
            }
            messages.push(Message { id: format!("{turn}q"), role: Role::User, name: None, at, text: ask, line: 0 });
            messages.push(Message {
                id: format!("{turn}a"),
                role: Role::Assistant,
                name: None,
                at: at.map(|at| at + 30),
                text,
                line: 0,
            });
        }
        talks.push(Talk::new(session.into(), messages));
    }
    (talks, questions)
}
