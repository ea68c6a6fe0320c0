//! Finds the facts in a text that a summary must keep: paths, commands, names from code, numbers, addresses, errors,
//! quoted words.
//! Not for: checking whether a summary keeps them (`survive`).
//!
//! The rules are few and precise, because nobody reads a flooded list. In fenced code, only addresses, paths, errors,
//! and declared names count; single digits, ordinals, and everyday words are not facts.

use super::text::SentencePlace;
use crate::domain::summary::AnchorKind;
use AnchorKind as K;
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// A fact found in a sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Anchor {
    pub(crate) kind: AnchorKind,
    /// The exact characters.
    pub(crate) text: String,
}

struct Rule {
    kind: AnchorKind,
    regex: Option<Regex>,
    check: fn(&str) -> bool,
    code: bool,
}

const fn always(_: &str) -> bool {
    true
}

const TOOLS: &str = "cargo|rustc|rustup|git|gh|docker|docker-compose|podman|kubectl|helm|terraform|ansible|npm|npx|pnpm|yarn|node|deno|bun|pip|pip3|python|python3|pytest|poetry|uv|make|cmake|ninja|gcc|clang|go|curl|wget|ssh|scp|rsync|psql|mysql|sqlite3|redis-cli|systemctl|journalctl|apt|apt-get|brew|openssl|jq|sed|awk|grep|rg|perf|strace|gdb|tar|chmod|chown|sudo|nginx|aws|gcloud|az";

/// The rules in order; a rule does not match characters that an earlier rule matched.
static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let rule = |kind, pattern: &str, check, code| Rule { kind, regex: Regex::new(pattern).ok(), check, code };
    vec![
        rule(K::Url, r#"\b(?:https?|wss?|postgres(?:ql)?|redis|mysql|amqp|ssh|s3)://[^\s<>"'`|]+"#, always, true),
        rule(K::Command, &format!(r"`(?:\$ )?((?:{TOOLS}) [^`\n]{{2,160}})`"), always, false),
        rule(K::Path, r"`((?:~/|\.{1,2}/|/)?[\w.@+-]+(?:/[\w.@+*-]+)+/?)`", is_path, false),
        rule(K::Identifier, r"`([^`\s]{2,60})`", is_name, false),
        rule(
            K::ErrorCode,
            r"(?i)\b(?:exit (?:code|status)|status(?: code)?|http(?: error)?|error(?: code)?|errno) ?:? ?-?\d{1,5}\b",
            always,
            true,
        ),
        rule(
            K::ErrorCode,
            r"\b(?:E\d{4}|E(?:NOENT|ACCES|PERM|EXIST|CONNREFUSED|CONNRESET|CONNABORTED|TIMEDOUT|ADDRINUSE|PIPE|INVAL|AGAIN|NOMEM|NOSPC|BUSY|ISDIR|NOTDIR|NOTEMPTY|MFILE|IO|INTR)|ERR_[A-Z_]+|SIG(?:KILL|TERM|SEGV|ABRT|INT|BUS|PIPE|HUP)|SQLITE_[A-Z]+|(?:CVE|RUSTSEC)-\d{4}-\d+|(?:ORA|TS|CS|SQLSTATE|PGRST)[- ]?\d{4,5}|0x[0-9A-Fa-f]{4,16})\b",
            always,
            true,
        ),
        rule(
            K::Command,
            &format!(r"(?:^|[\s(:])((?:{TOOLS}) [a-z][\w:.-]*(?: (?:-[\w=./:-]+|[\w@%+-]*[./:=_][\w@%+./:=-]*))*)"),
            is_command,
            false,
        ),
        rule(K::Path, r"(?:^|[\s(\[\x22'=:,])((?:~|\.{1,2})?/?(?:[\w.@+-]+/)+[\w.@+-]*)", is_path, true),
        rule(K::Path, r"(?:^|[\s(\[\x22'=:,`])(/(?:[\w.@+-]+/)*[\w.@+-]+)", is_path, true),
        rule(
            K::Path,
            r"\b[\w-]+(?:\.[\w-]+)*\.(?:rs|toml|lock|py|pyi|js|jsx|ts|tsx|mjs|cjs|go|java|kt|c|h|cc|cpp|hpp|cs|rb|php|swift|sql|sqlite|db|json|jsonl|yaml|yml|xml|html|css|md|txt|csv|log|conf|cfg|ini|env|sh|proto|tf|service|ipynb|parquet|pem|crt|key|gz|zip|wasm|so)\b",
            always,
            true,
        ),
        rule(K::Identifier, r"\b\w+(?:::\w+)+(?:!|\(\))?", always, false),
        rule(K::Identifier, r"\b[A-Za-z_]\w*(?:\.[a-z_]\w*)*\(\)", always, false),
        rule(K::Identifier, r"(?:^|[\s(])(--?[a-zA-Z][\w-]+(?:=[\w./:-]+)?)", |flag| flag.starts_with("--"), false),
        rule(K::Identifier, r"\b_?[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b", always, false),
        rule(K::Identifier, r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b", always, false),
        rule(K::Identifier, r"\b(?:[a-z]+[A-Z][A-Za-z0-9]*|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+)\b", is_no_brand, false),
        rule(
            K::Identifier,
            r"\b[A-Z]{2,8}-\d{2,6}\b",
            |text| !text.starts_with("UTF") && !text.starts_with("ISO"),
            false,
        ),
        rule(K::Identifier, r"\b[0-9a-f]{7,40}\b", is_commit, false),
        rule(K::Number, r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?Z?)?\b", always, false),
        rule(K::Number, r"\bv?\d{1,3}(?:\.\d+)+(?:-[a-z]+[\w.]*)?%?\b", always, false),
        rule(
            K::Number,
            r"[$€£]\d[\d,.]*\d|\b\d[\d,]*(?:\.\d+)?(?: ?(?:%|ms|µs|μs|us|ns|GB|MB|KB|kB|TB|GiB|MiB|KiB|Hz|kHz|MHz|GHz|px|rps|qps|req/s|[kKM]\b)| (?:tokens?|rows?|bytes|requests?|connections?|threads?|workers?|retries|seconds?|minutes?|hours?|days?|weeks?|months?|lines?|messages?|users?|cores?|times|percent)\b|(?:s|h|x|×|m)\b)",
            always,
            false,
        ),
        rule(K::Number, r"(?:^|[\s(\[=:~≈<>-])(\d{2,3}(?:,\d{3})+|\d{3,12})\b", always, false),
        rule(K::Quote, r#"["“]([^"“”\n]{4,90})["”]"#, is_quote, false),
    ]
});

static DECLARES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b(?:fn|def|class|struct|enum|trait|interface|const|static|type|func|function|CREATE TABLE|ALTER TABLE)\s+([A-Za-z_]\w{2,})").ok()
});

/// Returns the facts in a sentence, in order.
pub(crate) fn find(text: &str, place: SentencePlace) -> Vec<Anchor> {
    if place == SentencePlace::Shell {
        let line = text.trim_start_matches("$ ").trim();
        let command = (4..=200).contains(&line.len()) && !line.starts_with('#');
        return Vec::from_iter(command.then(|| Anchor { kind: AnchorKind::Command, text: line.to_owned() }));
    }
    let mut taken: Vec<(Range<usize>, Anchor)> = Vec::new();
    for rule in RULES.iter().filter(|rule| rule.code || place == SentencePlace::Prose) {
        let Some(regex) = &rule.regex else { continue };
        for found in regex.captures_iter(text) {
            let Some(hit) = found.get(1).or_else(|| found.get(0)) else { continue };
            let found_text = trimmed(hit.as_str(), rule.kind);
            let span = hit.start()..hit.start() + found_text.len();
            let free = taken.iter().all(|(other, _)| span.end <= other.start || other.end <= span.start);
            if free && (rule.check)(found_text) {
                taken.push((span, Anchor { kind: rule.kind, text: found_text.to_owned() }));
            }
        }
    }
    if place == SentencePlace::Code
        && let Some(regex) = DECLARES.as_ref()
    {
        for found in regex.captures_iter(text).filter_map(|found| found.get(1)) {
            let anchor = Anchor { kind: AnchorKind::Identifier, text: found.as_str().to_owned() };
            taken.push((found.range(), anchor));
        }
    }
    taken.sort_by_key(|(span, _)| span.start);
    taken.into_iter().map(|(_, anchor)| anchor).collect()
}

/// Removes trailing punctuation that belongs to the sentence.
fn trimmed(text: &str, kind: AnchorKind) -> &str {
    match kind {
        AnchorKind::Url | AnchorKind::Path | AnchorKind::Command => {
            let text = text.trim_end_matches(['.', ',', ';', ':', '!', '?', '*']);
            if text.contains('(') { text } else { text.trim_end_matches([')', ']', '}']) }
        }
        _ => text.trim(),
    }
}

const FOLDERS: &str = "app apps assets benches bin build cmd config configs crates deploy dist docs etc examples home \
    include infra internal lib migrations opt packages pkg public scripts server src static target test tests tmp \
    tools usr var";

/// Rejects "and/or", "read/write", "12/05": a path is anchored, has an extension, is deep, or begins in a common
/// folder.
fn is_path(text: &str) -> bool {
    let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty()).collect();
    let letters = text.chars().any(char::is_alphabetic);
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return false };
    let file = last.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && (1..=6).contains(&end.len()));
    let anchored = text.starts_with(['.', '~']) || (text.starts_with('/') && text.len() > 3);
    let odd = parts.len() >= 2 && parts.iter().any(|part| part.contains(['_', '.']));
    let deep = parts.len() >= 4 || (parts.len() >= 2 && FOLDERS.split(' ').any(|folder| folder == *first));
    letters && (anchored || file || odd || deep)
}

/// Words that show that the tool name before them is an ordinary word.
const PLAIN: &str = "is and or was has to the a an in on for with will can does should but as from not that this also \
    already by if at it which when uses needs are so then through back ahead over into sure up down out wrong server \
    version project repo repository history file files image images container containers script scripts code of we you \
    i would could";

/// In prose a tool's name is often an ordinary word, so the rest must look like a command.
fn is_command(text: &str) -> bool {
    let mut words = text.split(' ').skip(1);
    let first = words.next().unwrap_or_default();
    let tool = text.split(' ').next().unwrap_or_default();
    let common = ["go", "make", "node", "uv", "az", "tar", "ninja", "perf"].contains(&tool);
    !PLAIN.split(' ').any(|plain| plain == first)
        && (!common || words.next().is_some() || first.contains(['-', '.', '_', ':']))
}

/// Accepts text in backticks, which is literal, unless it is a plain short word.
fn is_name(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric) && (text.len() > 3 || text.chars().any(|c| !c.is_alphanumeric()))
}

fn is_no_brand(text: &str) -> bool {
    let brands = "GitHub GitLab JavaScript TypeScript OpenAI ChatGPT YouTube LinkedIn macOS iOS iPhone PostgreSQL \
                  MySQL SQLite DevOps McDonald eBay PhD LoRA WhatsApp FaceTime PlayStation OAuth GraphQL JetBrains \
                  BitBucket";
    !brands.split(' ').any(|brand| brand == text)
}

fn is_commit(text: &str) -> bool {
    text.bytes().any(|b| b.is_ascii_digit()) && text.bytes().any(|b| b.is_ascii_alphabetic())
}

/// Returns whether quotation marks enclose somebody's words rather than irony around one word.
fn is_quote(text: &str) -> bool {
    let words = text.split_whitespace().count();
    (2..=14).contains(&words) && text.chars().next().is_some_and(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(K, String)> {
        find(text, SentencePlace::Prose).into_iter().map(|a| (a.kind, a.text)).collect()
    }

    #[test]
    fn each_kind_is_found() {
        for (text, kind, wanted) in [
            ("See https://docs.rs/regex/1.10 for it.", K::Url, "https://docs.rs/regex/1.10"),
            ("Run `cargo test --lib store` first.", K::Command, "cargo test --lib store"),
            ("then run cargo build --release before pushing", K::Command, "cargo build --release"),
            ("It is in src/store/writer.rs, I think.", K::Path, "src/store/writer.rs"),
            ("Look at /etc/nginx/nginx.conf now", K::Path, "/etc/nginx/nginx.conf"),
            ("Look at `~/.config/pleach/config.toml`.", K::Path, "~/.config/pleach/config.toml"),
            ("We changed Cargo.toml too.", K::Path, "Cargo.toml"),
            ("The call of retry_with_backoff fails.", K::Identifier, "retry_with_backoff"),
            ("So TokenBucket is wrong", K::Identifier, "TokenBucket"),
            ("use std::sync::Mutex there", K::Identifier, "std::sync::Mutex"),
            ("set MAX_RETRIES for it", K::Identifier, "MAX_RETRIES"),
            ("bisecting ended at 4f2a9c1 today", K::Identifier, "4f2a9c1"),
            ("pass --no-verify to it", K::Identifier, "--no-verify"),
            ("It took 4,210 ms in all", K::Number, "4,210 ms"),
            ("listen on port 8443 only", K::Number, "8443"),
            ("since version 1.82.0 it works", K::Number, "1.82.0"),
            ("on 2026-03-14 it broke", K::Number, "2026-03-14"),
            ("about 37% of it", K::Number, "37%"),
            ("it ended with exit code 137", K::ErrorCode, "exit code 137"),
            ("connect says ECONNREFUSED again", K::ErrorCode, "ECONNREFUSED"),
            ("rustc says E0382 here", K::ErrorCode, "E0382"),
            ("the log says \"too many open files\" often", K::Quote, "too many open files"),
        ] {
            assert!(kinds(text).contains(&(kind, wanted.to_owned())), "{text}: {:?}", kinds(text));
        }
    }

    #[test]
    fn everyday_text_has_no_facts() {
        for text in [
            "This is read/write and/or client/server, 1 or 2 of 3.",
            "I/O and TCP/IP on 12/05, e.g. the third one.",
            "Make sure to go on; node is fine and git was easy.",
            "We could use \"smart\" ways here, couldn't we?",
            "GitHub and JavaScript are well known.",
            "The facade was defaced, its colors effaced.",
            "First, let us think about it. Second, do it.",
        ] {
            assert_eq!(kinds(text), Vec::new(), "{text}");
        }
    }

    #[test]
    fn short_plain_words_in_backticks_are_no_names() {
        let found = ["abc", "abcd", "a.b", "a1", "{}"].map(is_name);
        assert_eq!(found, [false, true, true, false, false]);
    }

    #[test]
    fn code_gives_only_declarations() {
        let names: Vec<String> =
            find("fn take_lock(path: &Path) {", SentencePlace::Code).into_iter().map(|a| a.text).collect();
        assert_eq!(names, ["take_lock"]);
        assert!(find("let some_value = other_value.call();", SentencePlace::Code).is_empty());
        for (line, command) in [("cargo run -- ask", true), ("make", true), ("top", false), ("# a comment", false)] {
            let found: Vec<String> =
                find(&format!("$ {line}"), SentencePlace::Shell).into_iter().map(|anchor| anchor.text).collect();
            assert_eq!(found, command.then(|| line.to_owned()).into_iter().collect::<Vec<_>>());
        }
        let long = |length: usize| find(&"x".repeat(length), SentencePlace::Shell).len();
        assert_eq!((long(200), long(201)), (1, 0));
    }
}
