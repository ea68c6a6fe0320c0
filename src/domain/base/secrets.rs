//! Finds secrets in text with a few precise patterns, counts them, and replaces them with `[masked:KIND]`.
//! Not for: deciding when to mask (exports and summaries do), or storing the program's own keys.

use regex::{Regex, RegexSet, RegexSetBuilder};
use std::borrow::Cow;
use std::sync::LazyLock;

/// A rule: the kind of secret, its pattern (group 1, if there is one, is the secret), and a check of the match.
struct Rule {
    kind: &'static str,
    pattern: &'static str,
    check: fn(&str) -> bool,
}

const fn rule(kind: &'static str, pattern: &'static str) -> Rule {
    Rule { kind, pattern, check: always }
}

const fn checked(kind: &'static str, pattern: &'static str, check: fn(&str) -> bool) -> Rule {
    Rule { kind, pattern, check }
}

/// More specific rules come first, because later rules do not see text that an earlier rule masked.
const RULES: &[Rule] = &[
    rule(
        "private-key",
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*-----|\z)",
    ),
    rule("anthropic", r"\bsk-ant-[A-Za-z0-9_-]{24,}"),
    rule("openrouter", r"\bsk-or-v1-[0-9a-f]{32,}"),
    checked("openai", r"\bsk-(?:proj-|svcacct-|admin-|None-)?[A-Za-z0-9_-]{32,}", is_random),
    rule("aws-key-id", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    rule("aws-secret", r#"(?i)\baws_?secret_?(?:access_?)?key["']?\s{0,3}[:=]\s{0,3}["']?([a-z0-9/+=]{40})"#),
    rule("github", r"\bgh[pousr]_[A-Za-z0-9]{36,255}\b"),
    rule("github", r"\bgithub_pat_[A-Za-z0-9_]{60,255}"),
    rule("gitlab", r"\bglpat-[A-Za-z0-9_-]{20,}"),
    rule("slack", r"\bxox[abeoprs]-[0-9A-Za-z-]{20,}"),
    rule("slack", r"\bxapp-[0-9]-[A-Z0-9]+-[0-9]+-[a-z0-9]{32,}"),
    rule("slack", r"https://hooks\.slack\.com/services/(T[A-Z0-9]{7,}/B[A-Z0-9]{7,}/[A-Za-z0-9]{20,})"),
    checked("google", r"\bAIza[0-9A-Za-z_-]{35}\b", is_random),
    checked("google", r"\bya29\.[0-9A-Za-z_-]{30,}", is_random),
    rule("google", r"\bGOCSPX-[0-9A-Za-z_-]{28}\b"),
    rule("stripe", r"\b[rs]k_(?:live|test)_[0-9A-Za-z]{20,}"),
    rule("stripe", r"\bwhsec_[0-9A-Za-z+/=]{24,}"),
    rule("twilio", r"\bSK[0-9a-f]{32}\b"),
    rule("sendgrid", r"\bSG\.[0-9A-Za-z_-]{22}\.[0-9A-Za-z_-]{43}\b"),
    rule("npm", r"\bnpm_[0-9A-Za-z]{36}\b"),
    rule("pypi", r"\bpypi-AgEIcHlwaS[0-9A-Za-z_-]{50,}"),
    checked("hugging-face", r"\bhf_[0-9A-Za-z]{34,}\b", is_mixed),
    checked("groq", r"\bgsk_[0-9A-Za-z]{40,}\b", is_mixed),
    rule("digitalocean", r"\bdo[opr]_v1_[0-9a-f]{64}\b"),
    rule("telegram-bot", r"\b[0-9]{8,10}:AA[0-9A-Za-z_-]{33}\b"),
    rule("shopify", r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b"),
    rule("azure-storage", r"\bAccountKey=([0-9A-Za-z+/]{86}==)"),
    rule("jwt", r"\beyJ[0-9A-Za-z_-]{8,}\.eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}"),
    checked("bearer", r"(?i)\bbearer\s{1,3}([a-z0-9._~+/=-]{20,})", is_random),
    checked("basic-auth", r"(?i)\bauthorization:\s{0,3}basic\s{1,3}([a-z0-9+/]{12,}={0,2})", is_mixed),
    checked(
        "url-password",
        r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@'\x22<>{}$]{1,64}:([^\s/:@'\x22<>{}$\[]{4,128})@",
        is_password,
    ),
    checked(
        "assignment",
        r#"(?i)(?:secret|token|passw(?:or)?d|passphrase|api_?-?key|access_?-?key|auth_?-?key|private_?-?key|client_?-?secret)["']?\s{0,3}(?::|=>?)\s{0,3}["'`]?([a-z0-9_+/.~=-]{16,200})"#,
        is_random,
    ),
    checked(
        "password",
        r#"(?i)(?:passw(?:or)?d|passphrase|(?:\b|_)pwd)["']?\s{0,3}(?::|=>?)\s{0,3}["'`]?([a-z0-9_!@#%^&*+~?-]{6,64})(?:["'`\s,;]|\z)"#,
        is_short_password,
    ),
];

/// The beginning of a mask.
const MASK_START: &str = "[masked:";

struct Compiled {
    any: RegexSet,
    each: Vec<Option<Regex>>,
}

static COMPILED: LazyLock<Compiled> = LazyLock::new(|| Compiled {
    any: RegexSetBuilder::new(RULES.iter().map(|rule| ascii(rule.pattern)))
        .dfa_size_limit(16 << 20)
        .build()
        .unwrap_or_else(|_| RegexSet::empty()),
    each: RULES.iter().map(|rule| Regex::new(&ascii(rule.pattern)).ok()).collect(),
});

/// Makes word classes ASCII, so that the automata stay small and fast. Keys have no other letters.
fn ascii(pattern: &str) -> String {
    pattern.replace(r"\b", r"(?-u:\b)").replace(r"\s", r"[ \t\r\n]")
}

/// Returns the text with every secret replaced by `[masked:KIND]`, and their number. The time is linear in the length
/// of the text.
pub fn mask(text: &str) -> (Cow<'_, str>, usize) {
    let compiled = &*COMPILED;
    let (mut text, mut found) = (Cow::Borrowed(text), 0);
    for index in compiled.any.matches(&text) {
        let Some(regex) = compiled.each.get(index).and_then(Option::as_ref) else { continue };
        if let Some((masked, count)) = mask_one(&text, regex, &RULES[index]) {
            text = Cow::Owned(masked);
            found += count;
        }
    }
    (text, found)
}

/// Whether a text contains a mask in place of a secret.
pub fn was_masked(text: &str) -> bool {
    text.contains(MASK_START)
}

/// Returns the number of secrets in a text.
pub fn count(text: &str) -> usize {
    mask(text).1
}

fn mask_one(text: &str, regex: &Regex, rule: &Rule) -> Option<(String, usize)> {
    let (mut out, mut from, mut count) = (String::new(), 0, 0);
    for found in regex.captures_iter(text) {
        let Some(secret) = found.get(1).or_else(|| found.get(0)) else { continue };
        if !(rule.check)(secret.as_str()) {
            continue;
        }
        out.push_str(&text[from..secret.start()]);
        out.push_str(MASK_START);
        out.push_str(rule.kind);
        out.push(']');
        from = secret.end();
        count += 1;
    }
    out.push_str(&text[from..]);
    (count > 0).then_some((out, count))
}

fn always(_: &str) -> bool {
    true
}

fn is_mixed(text: &str) -> bool {
    text.bytes().any(|b| b.is_ascii_digit()) && text.bytes().any(|b| b.is_ascii_alphabetic())
}

/// Whether a match is more than a placeholder.
fn is_password(text: &str) -> bool {
    let plain = text.to_ascii_lowercase();
    let placeholders = ["password", "passwd", "pass", "secret", "user", "token", "example", "changeme", "xxxx", "****"];
    !placeholders.contains(&plain.as_str()) && !plain.bytes().all(|b| matches!(b, b'x' | b'*' | b'.' | b'-'))
}

/// Algorithms and encodings, which often follow the word password.
const ALGORITHMS: [&str; 14] = [
    "argon2", "argon2i", "argon2id", "base64", "bcrypt2", "ed25519", "md5sum", "oauth2", "pbkdf2", "scram256",
    "sha224", "sha256", "sha384", "sha512",
];

/// Whether a value beside the word password is one, although it is short: it has letters and digits, and is no
/// placeholder, identifier, or algorithm.
fn is_short_password(text: &str) -> bool {
    let is_identifier = text.contains('_') && text.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric());
    let is_name = ALGORITHMS.contains(&text.to_ascii_lowercase().as_str());
    is_mixed(text) && is_password(text) && !is_identifier && !is_name && !is_uuid(text)
}

/// Whether letters and digits alternate more often than in identifiers. A bare UUID is an identifier, not a secret.
fn is_random(text: &str) -> bool {
    let bytes = text.as_bytes();
    let turns = bytes.windows(2).filter(|two| two[0].is_ascii_digit() != two[1].is_ascii_digit()).count();
    turns >= 4 && entropy(bytes) >= 3.2 && !is_uuid(text)
}

/// Only the form with hyphens has 36 characters.
fn is_uuid(text: &str) -> bool {
    text.len() == 36 && text.parse::<uuid::Uuid>().is_ok()
}

/// Returns the Shannon entropy in bits per byte.
fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    let all = bytes.len() as f64;
    counts.iter().filter(|n| **n > 0).map(|n| f64::from(*n) / all).map(|share| -share * share.log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The samples are assembled at run time, so that no scanner reports this file as a leak.
    fn samples() -> Vec<(&'static str, String)> {
        let r = "4fT9xQ2mZ7bK1wL8pR3vN6cJ5hG0sD4yA2eU7iO9tX1qW8rE3kM6nB5vC0zH2jL7fP4gS9dY1aQ6uI8oT3xK5m";
        let hex = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
        let up = "Q3EGRZ7HPL2MKX4TWNBD";
        vec![
            ("private-key", format!("-----BEGIN RSA {} KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----", "PRIVATE")),
            ("anthropic", format!("sk-ant-api03-{}", &r[..60])),
            ("openrouter", format!("sk-or-v1-{hex}")),
            ("openai", format!("sk-proj-{}", &r[..60])),
            ("aws-key-id", format!("AKIA{}", &up[..16])),
            ("aws-secret", format!("aws_secret_access_key = {}", &r[..40])),
            ("github", format!("ghp_{}", &r[..36])),
            ("github", format!("github_pat_{}", &r[..70])),
            ("gitlab", format!("glpat-{}", &r[..20])),
            ("slack", format!("xoxb-123456789012-123456789012-{}", &r[..24])),
            ("slack", format!("xapp-1-A012ABCDEFG-1234567890123-{}", &hex[..40])),
            ("slack", format!("https://hooks.slack.com/services/T{}/B{}/{}", &up[..9], &up[..9], &r[..24])),
            ("google", format!("AIza{}", &r[..35])),
            ("google", format!("ya29.{}", &r[..60])),
            ("google", format!("GOCSPX-{}", &r[..28])),
            ("stripe", format!("sk_live_{}", &r[..24])),
            ("stripe", format!("whsec_{}", &r[..32])),
            ("twilio", format!("SK{}", &hex[..32])),
            ("sendgrid", format!("SG.{}.{}", &r[..22], &r[..43])),
            ("npm", format!("npm_{}", &r[..36])),
            ("pypi", format!("pypi-AgEIcHlwaS5vcmc{}", &r[..60])),
            ("hugging-face", format!("hf_{}", &r[..34])),
            ("groq", format!("gsk_{}", &r[..52])),
            ("digitalocean", format!("dop_v1_{hex}")),
            ("telegram-bot", format!("123456789:AA{}", &r[..33])),
            ("shopify", format!("shpat_{}", &hex[..32])),
            ("azure-storage", format!("AccountKey={}==;", &r[..86])),
            ("jwt", format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{}", &r[..43])),
            ("bearer", format!("Authorization: Bearer {}", &r[..40])),
            ("basic-auth", format!("Authorization: Basic dXNlcjpo{}=", &r[..16])),
            ("url-password", format!("postgres://app:{}@db.internal/app", &r[..12])),
            ("assignment", format!("DB_PASSWORD=\"{}\"", &r[..24])),
            ("password", format!("password: hunter{}", 2)),
        ]
    }

    /// Texts that are similar to a rule's pattern but contain no secret.
    const HARMLESS: &[&str] = &[
        "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
        "sk-ant-short",
        "sk-or-v1-",
        "sk-learn-is-a-library-with-very-long-kebab-case-names",
        "AKIA is how they begin; AKIAshort1",
        "aws_secret_access_key = os.environ['AWS_SECRET_ACCESS_KEY']",
        "ghp_short and github_pat_soon",
        "glpat-… goes here",
        "xoxb-your-token",
        "https://hooks.slack.com/services/T000/B000/XXX",
        "AIzaTooShort",
        "ya29.short",
        "sk_live_ is the prefix of live keys",
        "SKeleton keys and SK1234",
        "npm_config_registry and npm_lifecycle_event",
        "pypi-AgEIcHlwaS",
        "hf_hub_download(repo_id, filename)",
        "gsk_parser_get_next_token",
        "12:30:45 AAPL 123456789:AAshort",
        "AccountKey=…;",
        "eyJhbGciOiJIUzI1NiJ9 alone",
        "Authorization: Bearer <token>, Bearer ${ACCESS_TOKEN}",
        "the bearer of-this-very-long-hyphenated-sentence",
        "https://user:password@example.com and http://localhost:8080/a@b",
        "token = getRefreshTokenFromStoreOrThrow()",
        "password_hash = sha256_of_password_with_salt",
        "secret: your-secret-goes-right-here",
        "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "id 0195c7a2-5d3e-7a10-8c4f-1b2a3c4d5e6f",
        "client_secret=0195c7a2-5d3e-7a10-8c4f-1b2a3c4d5e6f",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==",
        "max_tokens: 4096, token_count=1024",
        "the password: field is the second input",
        "Password: required, passwords: 3rd-party ones too",
        "pwd=/home/user1/project, PWD: ~/project2",
        "password = hash2sum(salt1)",
        "password = user1.password",
        "password: argon2_default, passwd: sha256, password=${DB_PASSWORD1}",
        "password=<your-password1>, password: 123456",
    ];

    #[test]
    fn every_rule_has_a_sample_and_masks_it() {
        let samples = samples();
        assert_eq!(samples.len(), RULES.len());
        for ((kind, sample), rule) in samples.iter().zip(RULES) {
            assert_eq!(*kind, rule.kind);
            assert!(Regex::new(&ascii(rule.pattern)).is_ok(), "{kind}");
            let text = format!("before {sample} after");
            let (masked, found) = mask(&text);
            assert_eq!(found, 1, "{kind}: {sample} -> {masked}");
            assert!(masked.contains(&format!("[masked:{kind}]")), "{kind}: {masked}");
            assert!(
                masked.starts_with("before ") && (masked.ends_with(" after") || *kind == "private-key"),
                "{masked}"
            );
            assert_eq!(mask(&masked).1, 0, "masking twice changes nothing: {masked}");
        }
    }

    #[test]
    fn harmless_text_is_unchanged() {
        for text in HARMLESS {
            let (masked, found) = mask(text);
            assert_eq!((masked.as_ref(), found), (*text, 0), "{text}");
        }
        assert_eq!(count(include_str!("../../import/message.rs")), 0);
        assert_eq!(count(include_str!("../conversation/record.rs")), 0);
    }

    #[test]
    fn cut_private_key_is_masked_to_the_end() {
        let text = format!("x -----BEGIN {} KEY-----\nMIIEowIBAAKCAQ", "PRIVATE");
        assert_eq!(mask(&text).0, "x [masked:private-key]");
    }

    #[test]
    fn many_and_multibyte() {
        let key = &samples()[6].1;
        let text = format!("ü{key}é ").repeat(500);
        let (masked, found) = mask(&text);
        assert_eq!(found, 500);
        assert!(masked.starts_with("ü[masked:github]é "));
    }

    #[test]
    fn short_passwords_are_masked_beside_the_word() {
        let value = format!("hunter{}", 2);
        for (before, after) in [
            ("password: ", ""),
            ("Resolved: the passwd=", "; port 5432"),
            ("DB_PWD='", "'"),
            ("{\"password\": \"", "\"}"),
            ("dbPassword => ", "\n"),
            ("passphrase: ", "!"),
        ] {
            let text = format!("{before}{value}{after}");
            let (masked, found) = mask(&text);
            assert!(!masked.contains(&value) && masked.contains("[masked:password]"), "{before}: {masked}");
            assert_eq!(found, 1, "{masked}");
        }
    }
}
