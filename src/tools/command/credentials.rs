//! Copies of git and Cargo settings for commands, without credentials.
//! Not for: which files a command may read (`sandbox`), or environment variables (`environment`).

use super::environment::is_secret;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Sections of git settings that commands may read. Sections about servers, keys, and credential helpers are left out
/// on purpose.
const SECTIONS: &[&str] = &[
    "advice",
    "alias",
    "apply",
    "blame",
    "branch",
    "color",
    "column",
    "commit",
    "core",
    "diff",
    "difftool",
    "feature",
    "fetch",
    "filter",
    "format",
    "gc",
    "grep",
    "gui",
    "help",
    "i18n",
    "index",
    "init",
    "interactive",
    "log",
    "merge",
    "mergetool",
    "notes",
    "pack",
    "pager",
    "pull",
    "push",
    "rebase",
    "receive",
    "rerere",
    "safe",
    "sequence",
    "stash",
    "status",
    "submodule",
    "tag",
    "user",
    "versionsort",
    "worktree",
];

/// The maximum size of a settings file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Returns this user's git settings without credentials.
pub(crate) fn of_git() -> String {
    git_files().iter().filter_map(|path| text_of(path)).map(|text| git(&text)).collect()
}

/// Returns the settings files that may contain credentials, each with its text without credentials.
pub(crate) fn copies() -> Vec<(PathBuf, String)> {
    let usual = home().map(|home| home.join(".cargo"));
    let named = std::env::var_os("CARGO_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let folders = usual.into_iter().chain(named);
    let of_cargo = folders.flat_map(|folder| ["config.toml", "config"].map(|name| folder.join(name)));
    let of_cargo = of_cargo.filter_map(|path| Some((cargo(&text_of(&path)?)?, path)));
    let of_git = git_files().into_iter().filter_map(|path| {
        let text = text_of(&path)?;
        let clean = git(&text);
        (clean != text).then_some((clean, path))
    });
    let all = of_cargo.chain(of_git).filter_map(|(text, path)| Some((path.canonicalize().ok()?, text)));
    all.collect::<BTreeMap<_, _>>().into_iter().collect()
}

fn git_files() -> Vec<PathBuf> {
    let home = home();
    let more = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let more = more.into_iter().chain(home.iter().map(|home| home.join(".config")));
    more.map(|folder| folder.join("git/config")).chain(home.iter().map(|home| home.join(".gitconfig"))).collect()
}

fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}

/// Reads a settings file. Returns an empty text if the file is too large or not UTF-8, and `None` if there is no such
/// file.
fn text_of(path: &Path) -> Option<String> {
    let meta = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let text = (meta.len() <= MAX_BYTES).then(|| fs::read_to_string(path).ok()).flatten();
    Some(text.map_or_else(String::new, |text| if text.ends_with('\n') { text } else { text + "\n" }))
}

/// Returns git settings without credentials and without includes.
fn git(text: &str) -> String {
    let (mut clean, mut in_section) = (String::new(), false);
    for line in logical(text) {
        let start = line.trim_start();
        if let Some(header) = start.strip_prefix('[') {
            let name: String =
                header.chars().take_while(|one| one.is_alphanumeric() || matches!(one, '-' | '.')).collect();
            let name = name.to_ascii_lowercase();
            in_section = SECTIONS.contains(&name.split('.').next().unwrap_or_default());
        }
        if in_section && !may_contain_credential(line) {
            clean.push_str(line);
        }
    }
    clean
}

/// Splits a text into lines. A line that ends with a backslash continues in the next line.
fn logical(text: &str) -> Vec<&str> {
    let (mut lines, mut start, mut end) = (Vec::new(), 0, 0);
    for line in text.split_inclusive('\n') {
        end += line.len();
        let bare = line.trim_end_matches(['\n', '\r']);
        let backslashes = bare.len() - bare.trim_end_matches('\\').len();
        if backslashes % 2 == 0 {
            lines.extend(text.get(start..end));
            start = end;
        }
    }
    lines.extend(text.get(start..).filter(|rest| !rest.is_empty()));
    lines
}

/// Whether a text may contain a credential: a URL with a user name, or a word such as `token`.
fn may_contain_credential(text: &str) -> bool {
    let small = text.to_ascii_lowercase();
    let words = ["token", "secret", "passw", "passphrase", "credential", "authorization", "extraheader", "bearer"];
    has_user(text) || words.iter().any(|word| small.contains(word))
}

/// Whether a text contains a URL with a user name.
fn has_user(text: &str) -> bool {
    text.split("://").skip(1).any(|rest| {
        let host = rest.split(['/', '"', '\'', ' ', '\t', '\n']).next().unwrap_or_default();
        host.contains('@')
    })
}

/// Returns Cargo settings without credentials, `None` if they contain none, or an empty text if they cannot be parsed.
fn cargo(text: &str) -> Option<String> {
    let Ok(mut table) = text.parse::<Table>() else { return Some(String::new()) };
    let before = table.clone();
    clean(&mut table, false);
    (table != before).then(|| table.to_string())
}

fn clean(table: &mut Table, environment: bool) {
    table.retain(|name, value| {
        let small = name.to_ascii_lowercase();
        let named = ["token", "password", "secret", "secret-key"].iter().any(|end| small.ends_with(end));
        !(named || environment && is_secret(name) || contains_user(value))
    });
    for (name, value) in table.iter_mut() {
        if let Value::Table(inner) = value {
            clean(inner, environment || name == "env");
        }
    }
}

/// Whether a string, or a string in an array at any depth, contains a URL with a user name.
fn contains_user(value: &Value) -> bool {
    match value {
        Value::String(text) => has_user(text),
        Value::Array(values) => values.iter().any(|one| match one {
            Value::Table(table) => table.values().any(contains_user),
            other => contains_user(other),
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_settings_lose_credentials_and_servers() {
        let text = "[user]\n\tname = Ann\n\temail = ann@example.org\n[credential]\n\thelper = store\n\
            [url \"https://ann:ghp_1@github.com/\"]\n\tinsteadOf = https://github.com/\n\
            [http \"https://x\"]\n\textraheader = AUTHORIZATION: basic abc\n[github]\n\ttoken = ghp_2\n\
            [alias]\n\tst = status \\\n  --short\n\tme = \"!curl https://ann:ghp_3@x/\"\n\tyou = !TOKEN=ghp_4 \\\n go\n\
            [include]\n\tpath = ~/.ghp_5\n[INIT] defaultBranch = main\n[core]\n\tsshCommand = ssh -i k\n";
        let clean = git(text);
        assert_eq!(
            clean,
            "[user]\n\tname = Ann\n\temail = ann@example.org\n[alias]\n\tst = status \\\n  --short\n\
             [INIT] defaultBranch = main\n[core]\n\tsshCommand = ssh -i k\n"
        );
        assert_eq!(git(&clean), clean);
        assert_eq!(git(""), "");
    }

    #[test]
    fn cargo_settings_lose_tokens() {
        let text = "[build]\njobs = 2\n[registry]\ntoken = \"t1\"\ndefault = \"own\"\n[registries.own]\n\
            index = \"https://me:t2@x/\"\ntoken = \"t3\"\nsecret-key = \"t4\"\n[http]\nproxy = \"http://a:t5@p\"\n\
            [env]\nA_KEY = \"t6\"\nFORCED = { value = \"1\" }\nB_TOKEN = { value = \"t7\", force = true }\n\
            [target.x]\nrunner = [\"run\", \"https://t8@x\"]\n";
        let clean = cargo(text).unwrap();
        assert!(!clean.contains('t') || (1..9).all(|one| !clean.contains(&format!("t{one}"))), "{clean}");
        assert!(clean.contains("jobs = 2") && clean.contains("FORCED") && clean.contains("own"), "{clean}");
        assert_eq!(cargo(&clean), None);
        assert_eq!(cargo("[build]\njobs = 2\n[net]\ngit-fetch-with-cli = true\n"), None);
        assert_eq!(cargo("[registry\ntoken = 1"), Some(String::new()));
    }

    #[test]
    fn backslash_continues_a_line() {
        for (text, lines) in [
            ("", &[][..]),
            ("a", &["a"]),
            ("a\nb\n", &["a\n", "b\n"]),
            ("a\\\nb\nc", &["a\\\nb\n", "c"]),
            ("a\\\\\nb\n", &["a\\\\\n", "b\n"]),
            ("a\\\\\\\r\nb\n", &["a\\\\\\\r\nb\n"]),
            ("a\\\n", &["a\\\n"]),
        ] {
            assert_eq!(logical(text), lines, "{text:?}");
        }
    }

    #[test]
    fn credentials_are_recognized_by_url_and_by_word() {
        for (text, user, credential) in [
            ("https://x/y@z", false, false),
            ("https://me@x/y", true, true),
            ("https://x https://me:you@y", true, true),
            ("me@example.org", false, false),
            ("a = \"git://x\" me@y", false, false),
            ("a = 'git://me@x'", true, true),
            ("My TOKEN", false, true),
            ("passwd = 1", false, true),
            ("Bearer x", false, true),
            ("plain", false, false),
        ] {
            assert_eq!((has_user(text), may_contain_credential(text)), (user, credential), "{text}");
        }
        let values: Table = "a = \"https://me@x\"\nb = [\"x\", {c = \"https://me@x\"}]\nc = [[\"https://me@x\"]]\nd = [1, \"https://x\"]\ne = 7"
            .parse()
            .unwrap();
        let found: Vec<&str> =
            values.iter().filter(|(_, value)| contains_user(value)).map(|(name, _)| name.as_str()).collect();
        assert_eq!(found, ["a", "b", "c"]);
    }

    #[test]
    fn settings_files_are_read_only_as_bounded_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        assert_eq!(text_of(&path), None, "no file");
        assert_eq!(text_of(folder.path()), None, "a folder is not a file");
        for (bytes, text) in [(&b"a"[..], "a\n"), (b"a\n", "a\n"), (b"", "\n"), (b"\xFF", "")] {
            fs::write(&path, bytes).unwrap();
            assert_eq!(text_of(&path).as_deref(), Some(text), "{bytes:?}");
        }
        let longest = usize::try_from(MAX_BYTES).unwrap();
        fs::write(&path, "x".repeat(longest)).unwrap();
        assert_eq!(text_of(&path).map(|text| text.len()), Some(longest + 1));
        fs::write(&path, "x".repeat(longest + 1)).unwrap();
        assert_eq!(text_of(&path).as_deref(), Some(""));
    }
}
