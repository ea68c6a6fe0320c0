//! Words of a command line that make a program run another one, or read settings that do. A pattern with a star that
//! names only the program does not allow them.
//! Not for: lines of several commands (`crate::domain::tool::consent::chains`), whether a command is allowed
//! (`crate::domain::tool::consent::decide`), or the commands of a script of sed (`sed_scripts`).

use super::sed_scripts;
use std::collections::BTreeSet;

/// A program, with the words that make it run another program. All lists are separated by spaces.
struct Program {
    names: &'static str,
    /// Options with a value that count before the first plain word.
    before: &'static str,
    /// Options that count anywhere. A single letter is also found among other letters after one dash.
    options: &'static str,
    /// First plain words (subcommands) that count.
    words: &'static str,
}

const fn program(names: &'static str, before: &'static str, options: &'static str, words: &'static str) -> Program {
    Program { names, before, options, words }
}

/// Programs that run the command in their arguments.
const RUNNERS: &str = "env xargs nohup nice ionice chrt taskset time timeout stdbuf setsid setarch unshare nsenter \
                       chroot sudo doas exec command builtin eval watch flock strace ltrace gdb valgrind parallel entr \
                       npx bunx uvx busybox toybox systemd-run trap source .";

const PROGRAMS: &[Program] = &[
    program(
        "git",
        "-c -C --exec-path --config-env --git-dir --work-tree --namespace --attr-source --super-prefix",
        "--upload-pack --receive-pack --exec --extcmd --open-files-in-pager -O --template --config --sendmail-cmd \
         --smtp-server --separate-git-dir",
        "config filter-branch difftool mergetool merge-index bisect hook daemon remote-ext instaweb send-email \
         for-each-repo",
    ),
    program("hg", "", "--config -e --ssh --remotecmd -R --repository --cwd", "bisect"),
    program("svn", "", "--config-option --config-dir --editor-cmd --diff-cmd --diff3-cmd", ""),
    program("find", "", "-exec -execdir -ok -okdir -delete -fprint -fprintf -fprint0 -fls", ""),
    program("fd fdfind", "", "-x -X --exec --exec-batch", ""),
    program("rg", "", "--pre --hostname-bin", ""),
    program("ack ag", "", "--pager", ""),
    program("sh bash dash zsh ksh ash fish", "", "-c -C -s --rcfile --init-file --command --init-command", ""),
    program("python", "", "-c", ""),
    program("perl", "", "-e -E -M -m", ""),
    program("ruby", "", "-e -r", ""),
    program("php", "", "-r -d -B -R -E --run --process-code --process-begin --process-end --define", ""),
    program("lua osascript", "", "-e", ""),
    program("node bun deno", "", "-e -p -r --eval --print --require --import --loader --experimental-loader", "eval"),
    program("npm pnpm yarn", "", "--script-shell --node-options --prefix --call", "exec x dlx config set"),
    program("cargo rustup", "", "--config", ""),
    program("go", "", "-exec -toolexec -overlay -vettool", "generate"),
    program("gcc g++ cc clang", "", "-wrapper -B -fplugin -specs", ""),
    program("make gmake", "", "-f -C -E -I --file --makefile --directory --eval", ""),
    program("ninja just task", "", "-f -C --justfile --taskfile --shell", ""),
    program("cmake", "", "-P -E", ""),
    program(
        "tar gtar bsdtar",
        "",
        "-I -F --to-command --checkpoint-action --use-compress-program --rsh-command --rmt-command --info-script \
         --new-volume-script",
        "",
    ),
    program("zip", "", "--unzip-command", ""),
    program("rsync", "", "-e --rsh --rsync-path", ""),
    program("ssh scp sftp", "", "-o -F -S -D", ""),
    program("sort", "", "--compress-program", ""),
    program("split", "", "--filter", ""),
    program("sed gsed", "", "-f --file", ""),
    program("awk gawk mawk nawk", "", "-f -E -i -l --file --exec --include --load", ""),
    program("curl", "", "-K --config", ""),
    program("wget", "", "-e --execute --use-askpass --config", ""),
    program("man", "", "-P -H --pager --html", ""),
    program("vim vi nvim view ex emacs", "", "-c -S --cmd --eval -f -l --load", ""),
    program("su runuser script", "", "-c --command", ""),
    program("psql sqlite3 mysql", "", "-c -e -cmd --command --execute", ""),
    program("pip", "", "--config-settings --build-option --global-option", ""),
];

fn lists(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|listed| listed == word)
}

/// Returns the words of a line that run something other than its first program. `None` if that cannot be decided,
/// because the shell computes a part of the line.
pub fn indirect(line: &str) -> Option<Vec<String>> {
    let words = words(line)?;
    let mut found = Vec::new();
    let mut rest = words.as_slice();
    loop {
        while let Some((word, after)) = rest.split_first().filter(|(word, _)| is_assignment(word)) {
            found.push(word.clone());
            rest = after;
        }
        let Some((first, args)) = rest.split_first() else { break };
        let name = first.rsplit('/').next().unwrap_or_default();
        if !lists(RUNNERS, name) {
            found.extend(args_that_run(name, args));
            break;
        }
        // The program to run follows after options, numbers, and variables.
        let plain = |word: &String| !word.starts_with(['-', '+']) && !word.starts_with(|c: char| c.is_ascii_digit());
        let at = args.iter().position(|word| plain(word) && !is_assignment(word));
        found.extend(
            args[..at.unwrap_or(args.len())]
                .iter()
                .filter(|word| is_assignment(word) || word.starts_with('-'))
                .cloned(),
        );
        let Some(at) = at else { break };
        found.push(args[at].clone());
        rest = &args[at..];
    }
    Some(found)
}

/// Returns whether a pattern contains all words of a line that [`indirect`] returns, each as often as the line does.
pub fn spells(pattern: &str, line: &str) -> bool {
    let Some(found) = indirect(line) else { return false };
    let Some(mut own) = words(pattern) else { return found.is_empty() };
    found.iter().all(|word| {
        let same =
            |own: &String| own == word || (word.starts_with("--") && word.split('=').next() == Some(own.as_str()));
        own.iter().position(same).map(|at| own.remove(at)).is_some()
    })
}

/// Returns the arguments that make a program run another one.
fn args_that_run(name: &str, args: &[String]) -> Vec<String> {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let known = |program: &&Program| lists(program.names, name) || lists(program.names, bare);
    let Some(program) = PROGRAMS.iter().find(known) else { return Vec::new() };
    // If it is not known which options take a value, a word after any option can be its value.
    let takes_value = |word: &str| match program.before {
        "" => word.starts_with('-') && !word.contains('='),
        before => lists(before, word),
    };
    let valued = |at: usize| at > 0 && takes_value(&args[at - 1]);
    let plain = |(at, word): (usize, &String)| !word.starts_with('-') && !valued(at);
    let first = args.iter().enumerate().position(plain).unwrap_or(args.len());
    let sed = if matches!(name, "sed" | "gsed") { sed_scripts::words_that_run(args) } else { BTreeSet::new() };
    let runs = |at: usize, word: &String| {
        let gives = |options: &str| {
            options.split_whitespace().any(|option| {
                // Compilers do not combine letters.
                if matches!(bare, "gcc" | "g++" | "cc" | "clang" | "cmake") && option.len() == 2 {
                    word.starts_with(option)
                } else {
                    names(option, word)
                }
            })
        };
        gives(program.options)
            || (at <= first && (gives(program.before) || lists(program.words, word)))
            || match name {
                // Also letters without a dash, and variables such as SHELL=.
                "tar" | "gtar" | "bsdtar" => at == 0 && !word.starts_with('-') && word.contains(['I', 'F']),
                "make" | "gmake" => is_assignment(word),
                "git" => match args.get(first).map_or("", String::as_str) {
                    "clone" => names("-c", word) || names("-u", word),
                    "rebase" => names("-x", word),
                    "submodule" => word == "foreach",
                    _ => false,
                },
                "sed" | "gsed" => sed.contains(&at),
                "zip" => letters(word).is_some_and(|letters| letters.contains("TT")),
                "vim" | "vi" | "nvim" | "view" | "ex" => word.starts_with('+'),
                _ if name.ends_with("awk") => awk_runs(word),
                _ => false,
            }
    };
    args.iter().enumerate().filter(|(at, word)| runs(*at, word)).map(|(_, word)| word.clone()).collect()
}

/// Returns whether a word gives an option: exactly, with a value, abbreviated, or as a letter among others. Two dashes
/// before a long option count as one.
pub(super) fn names(option: &str, word: &str) -> bool {
    let own = word.split('=').next().unwrap_or_default();
    if let Some(long) = option.strip_prefix("--") {
        return own.strip_prefix("--").is_some_and(|own| !own.is_empty() && long.starts_with(own));
    }
    if let Some(letter) = option.strip_prefix('-').filter(|letter| letter.chars().count() == 1) {
        return letters(word).is_some_and(|word| word.contains(letter));
    }
    own == option || own.strip_prefix('-') == Some(option)
}

/// Returns the letters of a word that combines short options, with any value after them; `None` for other words.
pub(super) fn letters(word: &str) -> Option<&str> {
    word.strip_prefix('-').filter(|rest| !rest.starts_with('-'))
}

/// Returns whether a script of awk contains a word or sign that runs a program.
fn awk_runs(script: &str) -> bool {
    let piped = || {
        let printed = script.find("print").map(|at| script[at..].replace("||", ""));
        printed.is_some_and(|printed| printed.contains('|'))
    };
    script.contains("system") || script.contains('@') || script.contains("getline") || piped()
}

/// Returns whether a word assigns a variable.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.trim_end_matches([':', '+', '?']);
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Returns a line's words without quotes. `None` if a quote is not closed, or the shell would substitute something.
fn words(line: &str) -> Option<Vec<String>> {
    let (mut found, mut word, mut chars): (Vec<String>, Option<String>, _) = (Vec::new(), None, line.chars());
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => quoted(c, &mut chars, word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(chars.next()?),
            '$' | '`' | '(' | ')' => return None,
            c if c.is_whitespace() => found.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    found.extend(word);
    let braces = |word: &String| word.contains('{') && (word.contains(',') || word.contains(".."));
    if found.iter().any(braces) { None } else { Some(found) }
}

/// Adds the text up to the closing quote to `word`. `None` if there is none, or the shell would substitute something.
fn quoted(quote: char, chars: &mut std::str::Chars<'_>, word: &mut String) -> Option<()> {
    loop {
        match chars.next()? {
            c if c == quote => return Some(()),
            '$' | '`' if quote == '"' => return None,
            '\\' if quote == '"' => word.push(chars.next()?),
            c => word.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::too_many_lines, reason = "a table: one line for each command")]
    fn indirect_commands_are_found() {
        for line in [
            "git -c core.sshCommand=x fetch",
            "git -c alias.x=!sh x",
            "git -p -c core.pager=x log",
            "git --exec-path=/tmp/x status",
            "git --exec=x push",
            "git --config-env=core.pager=X log",
            "git -C sub status",
            "/usr/bin/git \"-c\" core.pager=x log",
            "git '-'c core.pager=x log",
            "git \\-c core.pager=x log",
            "git fetch --upload-pack=x .",
            "git fetch --upload-p x .",
            "git push --receive-pack x .",
            "git rebase -x make HEAD~1",
            "git clone -u x . y",
            "git clone -c core.pager=x . y",
            "git config core.pager x",
            "git submodule foreach x",
            "GIT_SSH_COMMAND=x git fetch",
            "git fetch $X",
            "git \"$X\"",
            "git {-c,core.pager=x} log",
            "git 'open",
            "find . -exec rm x +",
            "find . -execdir rm x +",
            "find . -delete",
            "env git -c a=b log",
            "env ls",
            "xargs rm",
            "timeout 5 rm x",
            "nice -n 5 rm x",
            "sh -c x",
            "bash -lc x",
            "python3.12 -c x",
            "perl -e x",
            "ssh -o ProxyCommand=x host",
            "ssh -oProxyCommand=x host",
            "tar -xf a --to-command=x",
            "tar xf a --checkpoint-action=exec=x",
            "tar -xIx -f a",
            "tar xIf x a",
            "rsync -ave x a b",
            "rsync --rsh=x a b",
            "sed 1e a",
            "sed -e s/a/b/e a",
            "sed 's/a/b/w out' a",
            "awk 'BEGIN{system(\"x\")}'",
            "make -f x",
            "make SHELL=x all",
            "cargo --config x build",
            "cargo build --config=x",
            "npm run x --script-shell=y",
            "node -e x",
            "sort --compress-program=x a",
            "rg --pre x y",
            "git rebase -x'touch PWNED' HEAD~1",
            "git rebase -qx 'touch PWNED' HEAD~1",
            "git clone -cprotocol.ext.allow=always 'ext::touch PWNED' x",
            "git clone -qc protocol.ext.allow=always 'ext::touch PWNED' x",
            "git clone -nqc protocol.ext.allow=always 'ext::touch PWNED' x",
            "git clone -u'touch PWNED' . x",
            "git clone -qu 'touch PWNED' . x",
            "git --namespace x config core.pager y",
            "git --attr-source x clone -qu y . z",
            "git merge-index 'touch PWNED' -a",
            "git instaweb --httpd=x",
            "git send-email x",
            "git for-each-repo --config=x y",
            "git grep -iiiiiii'Otouch PWNED' x",
            "sh -eeeeeeec 'touch PWNED'",
            "tar -cvvvvvvI ./e -f a.tar x",
            "python3 -IIIIIIIc 'touch'",
            "rsync -vvvvvvve x a b",
            "fd -HHHHHHHx x",
            "sed '/o/,/o/e cmd' a",
            "sed --expr='1e cmd' a",
            "sed --expr '1e cmd' a",
            "sed -ne'1e cmd' a",
            "sed -l 5 '1e cmd' a",
            "sed 's,a;b,c,e' a",
            "sed --fi=x a",
            "awk '{ print | \"sh\" }' a",
            "awk --fi x a",
            "go test --exec=x ./...",
            "go test --toolexec x ./...",
            "go -C d generate",
            "npm --loglevel silent exec x",
            "npm -s exec x",
            "perl '-mstrict;system(1)' x",
            "php -B 'x' a",
            "fish --comm x",
            "make -E x",
            "zip -qTT x a b",
            "gcc -B./x a.c",
            "cmake -P a.cmake",
            "vim -es '+!touch x'",
        ] {
            assert!(indirect(line).is_none_or(|found| !found.is_empty()), "{line}");
        }
    }

    #[test]
    fn ordinary_arguments_are_not_indirect() {
        for line in [
            "git status",
            "git commit -m 'a; -c $x'",
            "git log --oneline -5 --stat",
            "grep 'cost: $5 `x` \\' a",
            "git switch -c new",
            "git show HEAD@{1}",
            "git diff --cached -- src/a.rs",
            "git rebase --onto main dev",
            "git push -u origin main",
            "git add config",
            "git clean -xfd",
            "git commit -am wip",
            "cargo test --lib x -- --nocapture",
            "cargo test -p one",
            "make all -j4",
            "find . -name '*.rs' -type f",
            "ls -la",
            "npm run build",
            "tar -czf a.tgz src",
            "tar xzf a.tgz",
            "sed -n 1,5p a",
            "sed 's/one/two/g' a",
            "sed -e 's/one/two/' error.txt",
            "sed -i 's/[^/]*$//' a",
            "sed --expression='s/one/two/' words",
            "awk '/a|b/ { print }' a",
            "npm run exec",
            "gcc -DB -Wall -Ilib/Base a.c",
            "cmake -DCMAKE_BUILD_TYPE=Release .",
            "npm -s run build",
            "git --no-pager log",
            "rsync -av a b",
            "python3 a.py",
            "sh a.sh",
            "grep -re x src",
            "ssh host uptime",
            "",
        ] {
            assert_eq!(indirect(line).as_deref(), Some(&[][..]), "{line}");
        }
    }

    #[test]
    fn a_pattern_may_spell_out_indirect_words() {
        for (pattern, line, spelled) in [
            ("git *", "git status", true),
            ("git *", "git -c a=b log", false),
            ("git -c *", "git -c a=b log", true),
            ("git -c a=b *", "git -c a=b log", true),
            ("git -c a=b *", "git -c a=b -c c=d log", false),
            ("git * --upload-pack=x *", "git fetch --upload-pack=x .", true),
            ("git * --upload-pack *", "git fetch --upload-pack=x .", true),
            ("git * --upload-pack=x *", "git fetch --upload-pack=y --upload-pack=x .", false),
            ("find * -delete", "find . -delete", true),
            ("find *", "find . -delete", false),
            ("find *-exec*", "find . -exec rm x +", false),
            ("timeout * make *", "timeout 5 make all", true),
            ("timeout *", "timeout 5 make all", false),
            ("X=1 make *", "X=1 make all", true),
            ("*make *", "X=1 make all", false),
            ("git * $X", "git log $X", false),
        ] {
            assert_eq!(spells(pattern, line), spelled, "{pattern} {line}");
        }
    }

    #[test]
    fn all_indirect_words_are_listed() {
        for (line, found) in [
            ("ls", ""),
            ("env -i A=1 B ls", "-i A=1 B"),
            ("env -i A=1", "-i A=1"),
            ("find . -name system", ""),
            ("find . -name '@getline'", ""),
            ("gawk 'BEGIN { system(1) }'", "BEGIN { system(1) }"),
            ("awk '{ print }' a", ""),
            ("awk '{ getline x }' a", "{ getline x }"),
            ("mawk @load a", "@load"),
        ] {
            assert_eq!(indirect(line).map(|words| words.join(" ")).as_deref(), Some(found), "{line}");
        }
    }

    #[test]
    fn variables_and_options_are_read() {
        for (word, value) in [
            ("A=1", true),
            ("a_b2=", true),
            ("=1", false),
            ("A", false),
            ("a-b=1", false),
            ("A:=1", true),
            ("A+=1", true),
            ("A?=1", true),
            (":=", false),
        ] {
            assert_eq!(is_assignment(word), value, "{word}");
        }
        for (option, word, is) in [
            ("--exec", "--exec=x", true),
            ("--exec", "--ex", true),
            ("--exec", "--", false),
            ("--exec", "--execs", false),
            ("-c", "-c", true),
            ("-c", "-ac", true),
            ("-c", "--c", false),
            ("-exec", "-exec", true),
            ("-exec", "-e", false),
            ("-exec", "--exec=x", true),
            ("-exec", "--exe", false),
            ("-c", "-aaaaaaaaac", true),
        ] {
            assert_eq!(names(option, word), is, "{option} {word}");
        }
    }
}
