//! All sentences of the program, read from the sources: printed for review (`cargo test --test it words --
//! --nocapture`), and checked for terms that the vocabulary replaced.
//! Not for: whether a sentence is true (each module's own tests).

use std::path::Path;

/// Terms that the vocabulary replaced, in lowercase.
const BANNED: &[&str] = &[
    "what the next request holds",
    "foreign instructions",
    "tool schemas",
    "kept for the answer",
    "same as last call",
    "mark sleeps",
    "marks sleep",
    "waits for your word",
    "tok est",
    "summed up",
    "summing up",
    "waits in line",
    "can't simply be taken back",
    "stands in no call",
    "do it again by hand",
    "change it by hand",
    "said yes to",
    "said no to",
    "say yes",
    "mend the",
    "nobody could be asked",
    "somebody else is asking",
    "is still coming",
    "are still coming",
    "what had come",
    "that can't be asked",
    "is thrown away",
    "put away",
    "holds no branch",
    "only looks",
    "lines come",
    "looked through for this call",
    "brings its own ground",
    "it is so already",
    "it says so already",
    "known are:",
    "keeps to nothing",
    "takes the pin off",
    "takes the exclusion back",
    "takes back",
    "worked out",
    "failed inside pleach",
    "throw it away",
    "came of",
    "looked through",
    "goes on to",
    "called so",
    "prompt budget",
    "asked for it",
    "comes along",
    "breaks off",
    "are asked again",
    "names no format",
    "was ended by",
    "which has it already",
];

/// Terms that the command line's help and messages and the settings no longer use, in lowercase.
const REPLACED: &[&str] = &[
    "anybody",
    "as it was",
    "beside the old",
    "by itself",
    "by themselves",
    "calls that were made",
    "came to",
    "colour",
    "compaction",
    "do not ask",
    "goes with",
    "looking at code",
    "servers of tools",
    "settings are well",
    "stand on",
    "sum up",
    "take it back",
    "taken back",
    "takes it back",
    "unasked",
    "wait in line",
    "what came",
    "word for word",
];

/// The string literals of a file before its tests, each on one line.
fn sentences(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let (mut found, mut rest) = (Vec::new(), source);
    while let Some(at) = rest.find(['"', '/', '\'', 'r']) {
        let here = &rest[at..];
        let raw = here.strip_prefix('r').map(|after| after.len() - after.trim_start_matches('#').len());
        let skip = if here.starts_with("//") {
            here.find('\n').unwrap_or(here.len())
        } else if here.starts_with("'\"'") || here.starts_with("'\\\"'") {
            here[1..].find('\'').map_or(here.len(), |end| end + 2)
        } else if let Some(marks) = raw.filter(|marks| here[1 + marks..].starts_with('"')) {
            let end = format!("\"{}", "#".repeat(marks));
            here[2 + marks..].find(&end).map_or(here.len(), |length| 2 + marks + length + end.len())
        } else if let Some(literal) = here.strip_prefix('"') {
            let mut escaped = false;
            let end = literal.find(|c: char| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            let text = &here[1..=end.unwrap_or(here.len() - 2)];
            found.push(text.lines().map(|line| line.trim_start().trim_end_matches('\\')).collect::<String>());
            end.map_or(here.len(), |end| end + 2)
        } else {
            1
        };
        rest = &here[skip..];
    }
    found.retain(|words| words.trim().contains(' '));
    found
}

fn read(path: &Path, all: &mut Vec<(String, String)>) {
    if path.is_dir() {
        let mut inside: Vec<_> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        inside.sort();
        return inside.iter().for_each(|path| read(path, all));
    }
    let tests = path.components().any(|part| part.as_os_str() == "tests")
        || path.file_stem().is_some_and(|name| name == "tests" || name.to_string_lossy().ends_with("_tests"));
    if !tests {
        let text = std::fs::read_to_string(path).unwrap();
        all.extend(sentences(&text).into_iter().map(|words| (path.display().to_string(), words)));
    }
}

/// The help texts of a command and its subcommands.
fn help(command: &mut clap::Command, all: &mut Vec<(String, String)>) {
    all.push((format!("help of {}", command.get_name()), command.render_long_help().to_string()));
    command.get_subcommands_mut().for_each(|sub| help(sub, all));
}

#[test]
fn command_line_and_settings_use_standard_terms() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    for folder in ["cli", "config"] {
        read(&root.join("src").join(folder), &mut all);
    }
    help(&mut pleach::config::commands::args::Args::description(), &mut all);
    all.push(("default.toml".into(), std::fs::read_to_string(root.join("config/default.toml")).unwrap()));
    assert!(all.len() > 500, "{}", all.len());
    let replaced = |words: &str| REPLACED.iter().chain(BANNED).find(|term| words.to_lowercase().contains(**term));
    let faults: Vec<_> = all.iter().filter_map(|(place, words)| Some((place, replaced(words)?))).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn string_literals_are_found() {
    let source = "// \"no\"\nlet a = '\"'; say(\"one \\\n    two\", r#\"a \"raw\" one\"#, \"it \\\"quotes\\\" {x}\");";
    assert_eq!(sentences(source), ["one two", "it \\\"quotes\\\" {x}"]);
    assert!(sentences("a\n#[cfg(test)]\nmod tests { const A: &str = \"of a test\"; }").is_empty());
}

#[test]
fn screen_uses_the_vocabulary() {
    let mut all = Vec::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut all);
    assert!(all.len() > 2_000, "only {} sentences were found", all.len());
    for (_, words) in &all {
        println!("{words}");
    }
    let banned = |words: &str| BANNED.iter().find(|term| words.to_lowercase().contains(**term));
    let faults: Vec<_> = all.iter().filter_map(|(file, words)| Some((file, words, banned(words)?))).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

/// American English: `8%`.
#[test]
fn percent_signs_follow_the_number() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    read(&root.join("src"), &mut all);
    let mut texts = vec![root.join("README.md"), root.join("CHANGELOG.md"), root.join("assets/BENCHMARKS.md")];
    for folder in ["assets/guides", "assets/guides/policies"] {
        let inside = std::fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        texts.extend(inside.filter(|path| path.is_file()));
    }
    assert!(texts.len() > 10, "{texts:?}");
    all.extend(texts.iter().map(|path| (path.display().to_string(), std::fs::read_to_string(path).unwrap())));
    let is_apart = |text: &str| {
        let mut signs = text.match_indices(" %");
        signs.any(|(at, _)| text[..at].ends_with(|c: char| c.is_ascii_digit() || c == '}'))
    };
    assert!(is_apart("{share} % of 8") && is_apart("8 %") && !is_apart("8% of %APPDATA%"));
    let faults: Vec<_> = all.iter().filter(|(_, text)| is_apart(text)).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}
