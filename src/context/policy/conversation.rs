//! Recognizes the content of a message and the subject of a conversation from whole words, taking negation into
//! account.
//! Not for: meaning. These are cheap hints that only shift weights, and each is shown with the score it contributed.

use crate::domain::conversation::Role;
use crate::domain::planning::{Adaptive, Flag, Task};

/// Words that negate an error word that follows them.
const NEGATIONS: &[&str] = &["no", "not", "without", "zero", "0", "never", "none", "nothing", "cannot"];
/// Words that report a solution.
const SOLVED: &[&str] = &["fixed", "solved", "resolved", "works", "passes", "solution", "fix"];

/// Signs of a task: words that suffice alone (`strong`), and words that need a second one (`weak`).
struct TaskSignals {
    task: Task,
    strong: &'static [&'static str],
    weak: &'static [&'static str],
}

/// In order of precedence for equal counts: an error in code counts as debugging.
const SIGNS: &[TaskSignals] = &[
    TaskSignals {
        task: Task::Debugging,
        strong: &["bug", "debug", "debugging", "traceback", "stacktrace", "segfault", "crash", "crashes", "panics"],
        weak: &["fix", "broken", "fails", "failing", "wrong", "why"],
    },
    TaskSignals {
        task: Task::Coding,
        strong: &["code", "function", "refactor", "compile", "implement", "struct", "method", "def"],
        weak: &["class", "import", "return", "write", "test", "type", "module"],
    },
    TaskSignals {
        task: Task::ComplexAnalysis,
        strong: &["tradeoff", "tradeoffs", "trade-off", "trade-offs"],
        weak: &["analyze", "analyse", "compare", "evaluate", "design", "strategy", "pros", "cons", "implications"],
    },
    TaskSignals {
        task: Task::Research,
        strong: &["research", "study"],
        weak: &["find", "search", "learn", "explain", "sources"],
    },
];

/// Returns the words of a text, as written: letters, digits, and `_`, with apostrophes and hyphens inside a word.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '\'' | '’' | '-');
    text.split(move |c: char| !inside(c))
        .map(|word| word.trim_matches(['\'', '’', '-']))
        .filter(|word| !word.is_empty())
}

/// Returns whether a text has a code block: three or more backticks at the start of a line.
fn has_code(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with("```"))
}

/// Returns whether a text reports an error: an error word (singular or plural) or a name such as `TypeError`, not
/// negated up to two words before it and not followed by a zero. "No errors", "terror" and `error_count` do not count.
fn reports_error(text: &str, error_words: &[String]) -> bool {
    let words: Vec<&str> = words(text).collect();
    words.iter().enumerate().any(|(at, word)| {
        let before = &words[at.saturating_sub(2)..at];
        let negated = before.iter().any(|word| negates(word)) || words.get(at + 1).is_some_and(|next| *next == "0");
        error_word(word, error_words) && !negated
    })
}

fn negates(word: &str) -> bool {
    NEGATIONS.iter().any(|no| word.eq_ignore_ascii_case(no)) || word.ends_with("n't") || word.ends_with("n’t")
}

fn error_word(word: &str, error_words: &[String]) -> bool {
    let named = ["Error", "Exception"].iter().any(|end| word.len() > end.len() && word.ends_with(end));
    named || error_words.iter().any(|known| is_word(word, known))
}

/// Returns whether a word is `known` or its plural, ignoring case.
fn is_word(word: &str, known: &str) -> bool {
    let word = word.to_lowercase();
    word == *known || word.strip_suffix('s') == Some(known)
}

/// Returns whether a text asks a question: a question mark at the end of a word, outside code blocks, addresses, and
/// patterns.
pub fn is_question(text: &str) -> bool {
    let mut fenced = false;
    text.lines().any(|line| {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        !fenced
            && line.split_whitespace().any(|word| word.trim_end_matches(['"', '\'', ')', '*', '!', '”']).ends_with('?'))
    })
}

/// Returns whether a text says, without negation, that something was solved.
fn reports_solution(text: &str) -> bool {
    let words: Vec<&str> = words(text).collect();
    words.iter().enumerate().any(|(at, word)| {
        let negated = words[at.saturating_sub(2)..at].iter().any(|word| negates(word));
        !negated && SOLVED.iter().any(|known| word.eq_ignore_ascii_case(known))
    })
}

/// Returns the flags of a message. Only answers can report a solution.
pub fn flags(role: Role, text: &str, spec: &Adaptive) -> Vec<Flag> {
    let technical = || words(text).any(|word| spec.technical_words.iter().any(|known| is_word(word, known)));
    let long = || text.chars().nth(spec.long_characters as usize).is_some();
    let found = [
        (Flag::Error, reports_error(text, &spec.error_words)),
        (Flag::Code, has_code(text)),
        (Flag::Question, is_question(text)),
        (Flag::Solution, role == Role::Assistant && reports_solution(text)),
        (Flag::Long, long()),
        (Flag::Technical, technical()),
    ];
    found.into_iter().filter(|(_, applies)| *applies).map(|(flag, _)| flag).collect()
}

/// Returns the task after a user's message. A message without signs ("go on") leaves the task unchanged.
pub fn task(text: &str, spec: &Adaptive, before: Task) -> Task {
    let lower_words: Vec<String> = words(text).map(str::to_lowercase).collect();
    let error = reports_error(text, &spec.error_words);
    let code = has_code(text);
    let mut best = (0_usize, before);
    for signs in SIGNS {
        let count = |list: &[&str]| lower_words.iter().filter(|word| list.contains(&word.as_str())).count();
        let own = match signs.task {
            Task::Debugging => 2 * usize::from(error),
            Task::Coding => 2 * usize::from(code),
            Task::General | Task::Research | Task::ComplexAnalysis => 0,
        };
        let points = 2 * count(signs.strong) + count(signs.weak) + own;
        if points >= 2 && points > best.0 {
            best = (points, signs.task);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> Adaptive {
        Adaptive::default()
    }

    fn errs(text: &str) -> bool {
        reports_error(text, &spec().error_words)
    }

    /// "error" inside a longer word does not count.
    #[test]
    fn errors_are_words_without_negation() {
        for text in [
            "error[E0308]: mismatched types",
            "ValueError: bad",
            "It failed again",
            "Two ERRORS remain.",
            "the build failed with exceptions",
            "{\"level\":\"error\"}",
        ] {
            assert!(errs(text), "{text}");
        }
        for text in [
            "no errors",
            "There were no build errors.",
            "It finished without any error",
            "0 errors, 3 warnings",
            "errors: 0",
            "a terror of a film",
            "error_count is a metric",
            "It hasn't failed",
            "The terrorist exceptional unfailed",
        ] {
            assert!(!errs(text), "{text}");
        }
    }

    /// Whole words decide, faults come before code, and only the user's messages count.
    #[test]
    fn tasks_are_recognized_by_the_users_whole_words() {
        let classified = |text: &str| task(text, &spec(), Task::General);
        assert_eq!(classified("This is an important classic."), Task::General);
        assert_eq!(classified("I sat in first class"), Task::General, "one weak word is none");
        assert_eq!(classified("Please import the class for me"), Task::Coding);
        assert_eq!(classified("Write a function that sorts"), Task::Coding);
        assert_eq!(classified("Debug this function"), Task::Debugging, "the fault before the code");
        assert_eq!(classified("I get an error when it starts"), Task::Debugging);
        assert_eq!(classified("there are no errors"), Task::General);
        assert_eq!(classified("```rust\nfn main() {}\n```"), Task::Coding);
        assert_eq!(classified("research the history of tea"), Task::Research);
        assert_eq!(classified("compare the pros and cons"), Task::ComplexAnalysis);
        assert_eq!(task("go on", &spec(), Task::Debugging), Task::Debugging);
    }

    #[test]
    fn questions_and_code_are_recognized_by_position() {
        assert!(is_question("Why does it fail?") && is_question("(really?)") && is_question("what?!"));
        assert!(!is_question("see http://a.b/c?d=1 for more") && !is_question("```\nwhy?\n```"));
        assert!(has_code("Look:\n```rust\nx\n```") && !has_code("use ``` inline"));
        assert!(
            reports_solution("I fixed it.")
                && !reports_solution("It is not fixed yet")
                && !reports_solution("a prefix")
        );
    }

    #[test]
    fn flags_come_once_and_in_order() {
        let text = format!("The database API failed?\n```\nx\n```\n{}", "long ".repeat(120));
        assert_eq!(
            flags(Role::User, &text, &spec()),
            [Flag::Error, Flag::Code, Flag::Question, Flag::Long, Flag::Technical]
        );
        assert_eq!(flags(Role::Assistant, "The fix works.", &spec()), [Flag::Solution]);
        assert!(flags(Role::User, "apish databased", &spec()).is_empty());
    }
}
