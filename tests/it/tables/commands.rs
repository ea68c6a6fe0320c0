//! Shell commands and tool calls: which of them run other programs, which resolve a failure, and what rules decide.
//! Not for: running anything.

use super::same;
use pleach::domain::tool::consent::{chains, decide, matches};
use pleach::domain::tool::visibility::covers;
use pleach::domain::tool::{Command, FileVisibility, Rule, ToolEffect, Verdict, indirect_commands, shell};
use std::fmt::Write as _;

/// Command lines. Each one and each pair is checked.
const LINES: &[&str] = &[
    "cargo test",
    "cargo test a",
    "cargo test a::b",
    "cargo test a -- --nocapture",
    "cargo test --workspace",
    "cargo test -p one",
    "cargo test -p one a",
    "cargo test -q --color always -j4",
    "cargo test --no-run",
    "cargo +nightly test",
    "RUST_LOG=1 timeout 60 cargo test",
    "cargo clippy -- -D warnings",
    "cargo clippy -- -Dwarnings",
    "cargo clippy",
    "cargo build && cargo test",
    "cargo build; cargo test",
    "set -e\ncargo build\ncargo test",
    "set -o pipefail; cargo test | tail -5",
    "set -o pipefail; cargo test | tail -50 | cat",
    "cargo test | tail -5",
    "cargo test 2>&1 | tail -5",
    "cargo test |& tee log",
    "cargo test > log 2>&1",
    "cargo test &> log",
    "cargo test 12>log",
    "cargo test >>log; # done",
    "cd sub && cargo test",
    "cd sub; cd deep; cargo test",
    "cd sub/deep && cargo test",
    "cd /sub && cargo test",
    "cd ~/sub/ && cargo test",
    "cd .. && cargo test",
    "python -m pytest tests/a.py",
    "uv run pytest tests",
    "pytest tests/a.py::one",
    "pytest tests -k one",
    "pytest -vvv tests",
    "pytest --tb short",
    "pytest --tb=short tests/a.py tests/b.py",
    "npm run test",
    "npm run test -- a.js",
    "npm test",
    "npm install",
    "npm install left",
    "go test ./...",
    "go test ./pkg/...",
    "go test ./pkg -run One",
    "make",
    "make test",
    "make -j 4 test",
    "./run_tests.sh",
    "bash ./run_tests.sh a",
    "git commit -m 'one two'",
    "git commit -q -m \"one two\"",
    "git commit -m one\\ two",
    "git commit -m \"one $x\"",
    "git push --dry-run",
    "git push",
    "echo done",
    "echo start && ls",
    "ls",
    "ls a b",
    "ls -l a b",
    "ls --help",
    "sort < a",
    "sort <a",
    "cat <<X",
    "(cargo test)",
    "cargo test || true",
    "cargo test &",
    "if true; then ls; fi",
    "! ls",
    "ls 'open",
    "ls \"`date`\"",
    "ls \"$(date)\"",
    "ls \"a \\\" b\"",
    "export A=1 && ls",
    "A=1",
    "timeout 5",
    "env A=1 ls",
    "nice ls",
    "docker compose run test",
    "docker compose exec web ls",
    "tsc --strict",
    "tsc",
    "",
];

#[test]
fn command_pairs_that_resolve_failures() {
    let mut out = String::new();
    for (at, failed) in LINES.iter().enumerate() {
        let _ = writeln!(out, "{at} {failed:?}");
        let by = |test: &dyn Fn(&str) -> bool| -> String {
            let all: Vec<String> = (0..LINES.len()).filter(|at| test(LINES[*at])).map(|at| at.to_string()).collect();
            all.join(" ")
        };
        let _ = writeln!(out, "   shown by {}", by(&|later| shell::supersedes(("", later), ("", failed))));
        let _ = writeln!(out, "   in sub shown by {}", by(&|later| shell::supersedes(("", later), ("./sub/", failed))));
        let _ = writeln!(out, "   like {}", by(&|other| shell::same_program(failed, other)));
    }
    same("command_lines", &out);
}

const INDIRECT: &[&str] = &[
    "ls -l",
    "env -i A=1 nice -n 5 git status",
    "A=1 B+=2 sudo -u me ls",
    "xargs -n 2 rm -r",
    "time -p timeout -k 5 60s make all",
    "sudo",
    "sudo -i",
    "/usr/bin/env python3.11 -c 'x'",
    "git -c a=b -p log -c",
    "git -C dir log",
    "git log --exec-path",
    "git --exec-path=x log",
    "git clone -c a=b url",
    "git clone --config a=b -u x url",
    "git fetch -u x",
    "git rebase -x 'make' main",
    "git rebase -i main",
    "git submodule foreach ls",
    "git submodule update",
    "git config core.pager x",
    "git log config",
    "git -C config log",
    "git difftool --extcmd=x",
    "git fetch --upload-pack x",
    "git fetch --upl x",
    "git grep -O less a",
    "git grep -On a",
    "hg --config a=b log",
    "find . -name a -exec rm {} +",
    "find . -delete -fprint x",
    "fd -x rm",
    "fd -Hx rm",
    "rg --pre x y",
    "rg --pre=x y",
    "rg --pr x",
    "sh -c 'ls'",
    "bash -lc ls",
    "bash script.sh",
    "python3 -c 1",
    "python2.7 a.py -c",
    "perl -ne 'x'",
    "perl -abcdefgne x",
    "node --eval x",
    "node -pe x",
    "deno eval x",
    "deno run eval",
    "npm exec x",
    "npm run exec",
    "npm --prefix d x",
    "cargo --config a test",
    "go generate ./...",
    "go test -exec x",
    "gcc -wrapper a -B. x.c",
    "make -C d SHELL=x all",
    "make A:=1 -j4",
    "cmake -P x",
    "tar xIf a b",
    "tar -xf a F",
    "tar xf a",
    "tar --to-command=x -xf a",
    "zip -TT x a",
    "rsync -e ssh a b",
    "ssh -o A=b host",
    "sort --compress-program=x",
    "split --filter x",
    "sed -n 5p a",
    "sed 's/a/b/e' f",
    "sed -e 's/a/b/' -e '1,5w out' f",
    "sed --expression=e f",
    "sed -ne 's/a/b/w x' f",
    "sed '/a/I w x' f",
    "sed '/a/!s|b|c|gw x' f",
    "sed 's/e/w/g' f",
    "sed -f script f",
    "sed -i 'p;e ls' f",
    "awk 'system(1)' f",
    "awk '{print $1}' f",
    "gawk -f x @include",
    "mawk '\"x\" | getline' f",
    "curl -K x",
    "curl -sK x",
    "wget --execute=a",
    "vim -c x",
    "psql -c x",
    "psql --command x",
    "pip install --config-settings a",
    "su -c x me",
    "man -P less ls",
    "watch -n1 ls -l",
    "exec ls",
    ". ./x",
    "busybox sh -c x",
    "echo $HOME",
    "echo `x`",
    "echo (x)",
    "echo {a,b}",
    "echo {1..3}",
    "echo {}",
    "echo 'a b' \"c d\" e\\ f",
    "echo 'open",
    "echo \"a\\\"b\"",
    "echo \"$x\"",
    "echo '$x'",
    "a:=1 ls",
    "a-b=1 ls",
    "=1 ls",
    "",
];

#[test]
fn indirect_commands() {
    let mut out = String::new();
    for line in INDIRECT {
        let found = indirect_commands::indirect(line).map_or("cannot be told".into(), |words| format!("{words:?}"));
        let first = line.split(' ').next().unwrap_or_default();
        let patterns =
            ["*".to_owned(), format!("{first} *"), (*line).to_owned(), format!("{line} *"), "git -c a=b *".into()];
        let spelled: String =
            patterns.iter().map(|pattern| if indirect_commands::spells(pattern, line) { 'y' } else { '-' }).collect();
        let _ = writeln!(out, "{line:?}: {found} {spelled}{}", if chains(line) { " chains" } else { "" });
    }
    same("indirect_commands", &out);
}

fn rule(tool: &str, on: Option<&str>, verdict: Verdict) -> Rule {
    Rule { tool: tool.into(), on: on.map(str::to_owned), verdict }
}

fn rules() -> Vec<Rule> {
    use Verdict::{Allow, Ask, Deny};
    vec![
        rule("run", Some("cargo test*"), Allow),
        rule("run", Some("git push*"), Deny),
        rule("run", Some("ls; pwd"), Allow),
        rule("run", Some("rm *"), Ask),
        rule("edit_file", Some("src/*"), Allow),
        rule("edit_file", Some("src/secret*"), Deny),
        rule("write_*", Some("*.md"), Allow),
        rule("read_file", Some(".env*"), Deny),
        rule("*", Some("private/"), Ask),
        rule("mcp__docs__*", None, Allow),
        rule("mcp__*", Some("delete*"), Deny),
        rule("list_dir", None, Ask),
    ]
}

fn change(paths: &[&str]) -> ToolEffect {
    let one = |path: &&str| pleach::domain::tool::consent::FileChange {
        path: (*path).into(),
        before: None,
        after: Some("x\n".into()),
        hunks: Vec::new(),
    };
    ToolEffect::Change(paths.iter().map(one).collect())
}

fn effects() -> Vec<(&'static str, ToolEffect)> {
    let run = |line: &str| {
        ToolEffect::Run(Command {
            line: line.into(),
            folder: String::new(),
            seconds: 9,
            protection: Vec::new(),
            mechanisms: None,
        })
    };
    let look = |what: &str| ToolEffect::Read { what: what.into() };
    let foreign = |tool: &str, looks| ToolEffect::Foreign { server: "docs".into(), tool: tool.into(), looks };
    let mut all: Vec<(&str, ToolEffect)> = [
        "cargo test",
        "cargo test a",
        "cargo test; ls",
        "cargo test | cat",
        "cargo test $(ls)",
        "cargo test -c",
        "cargo",
        "git push",
        "git push -f",
        "echo; git push",
        "git -c a=b push",
        "ls; pwd",
        "ls",
        "rm a",
        "rm a; ls",
        "GIT PUSH",
    ]
    .into_iter()
    .map(|line| ("run", run(line)))
    .collect();
    all.extend(
        [&["src/a.rs"][..], &["src/a.rs", "b.rs"], &["src/secret.rs"], &["a.rs", "src/secret.rs"], &["private/a"], &[]]
            .map(|paths| ("edit_file", change(paths))),
    );
    all.extend(
        [&["a.md"][..], &["a.md", "b.txt"], &["AGENTS.md"], &[".mcp.json"]].map(|paths| ("write_file", change(paths))),
    );
    all.extend(["a", ".env", "x/.env.local", "private/a", "private", ""].map(|path| ("read_file", look(path))));
    all.extend(["a", ".env", "private/a"].map(|path| ("list_dir", look(path))));
    for tool in ["find", "delete", "delete_all"] {
        all.extend([
            ("mcp__docs__x", foreign(tool, true)),
            ("mcp__other__x", foreign(tool, false)),
            ("mcp__other__x", foreign(tool, true)),
        ]);
    }
    all
}

#[test]
fn rule_decisions() {
    let rules = rules();
    let mut out: String = rules.iter().fold(String::new(), |out, rule| out + &rule.to_text() + "\n");
    for (tool, effect) in effects() {
        let (verdict, by) = decide(rules.iter(), tool, &effect);
        let (free, _) = decide([].iter(), tool, &effect);
        let fits: Vec<String> = rules
            .iter()
            .enumerate()
            .filter(|(_, rule)| rule.applies_to(tool, &effect))
            .map(|(at, _)| at.to_string())
            .collect();
        let _ = writeln!(
            out,
            "{tool} {:?}: {verdict:?} by {:?}, without rules {free:?}, fit {}; steers {:?}",
            effect.targets(),
            by.map(Rule::to_text),
            fits.join(" "),
            effect.config_change()
        );
    }
    let visible = FileVisibility::new(rules.clone());
    let shown = FileVisibility::denying(rules);
    for path in ["a", ".env", "x/.env", "private", "private/a/b", "src/secret.rs", ""] {
        for tool in ["read_file", "list_dir", "search"] {
            let after = visible.answered(tool, &ToolEffect::Read { what: path.into() });
            let _ = writeln!(
                out,
                "{tool} {path:?}: shown {}, denied {:?}, answered {}, to the person {}",
                visible.shows(tool, path),
                visible.denies(tool, path).map(Rule::to_text),
                after.shows(tool, path),
                shown.shows(tool, path)
            );
        }
    }
    let _ = writeln!(out, "denied {:?}, open {} {}", visible.denied(), visible.is_open(), shown.is_open());
    same("rules", &out);
}

#[test]
fn pattern_matches() {
    let patterns =
        ["", "*", "a", "a*", "*a", "a*b", "a**b", "*a*", "a/b", "a/*", "/a", "./a", "**/a", "a/", "A", "a*b*c", "/"];
    let texts =
        ["", "a", "b", "ab", "ba", "aab", "a/b", "a/b/c", "b/a", "b/a/c", "./a", "/a", "abc", "aXbYc", "A/B", "a//b"];
    let mut out = String::new();
    for pattern in patterns {
        let line = |fits: &dyn Fn(&str) -> bool| -> Vec<&str> { texts.into_iter().filter(|text| fits(text)).collect() };
        let _ = writeln!(out, "{pattern:?} matches {:?}", line(&|text| matches(pattern, text)));
        let _ = writeln!(out, "{pattern:?} covers {:?}", line(&|text| covers(pattern, text)));
    }
    same("patterns", &out);
}
