//! Files of the workspace for a message that is being written: completes their names, and reads one as an attachment.
//! Both require that the folder is trusted.
//! Not for: files that the model reads (the module `tools`).

use super::skills::PREFIX;
use super::state::MOST;
use crate::domain::base::{Failure, secrets};
use crate::domain::call::tokens::grouped;
use crate::domain::tool::RunTools;
use crate::engine::api::{Answer, CodeAct, FileList, Ticket, ToolAnswer};
use crate::engine::core::Core;
use crate::engine::startup::setup::Setup;
use crate::engine::tools::state::Tools;
use std::path::PathBuf;
use std::sync::Arc;

/// The maximum size of an attachment in bytes.
const LARGEST: u64 = 200_000;

impl Core {
    /// Completes a file name, on a separate thread.
    pub(crate) fn files(&self, ticket: Ticket, query: String, limit: usize) {
        let listed = self.tools.files.clone();
        let (tools, skills, denied) =
            (readable(&self.setup, &self.tools), self.tools.skill_names(&query), self.denied());
        self.jobs.answer("files", ticket, move |cancel| {
            let mut list = match tools {
                // Without trust in the folder, only the person's own skills can be named.
                Err(_) if !skills.is_empty() => FileList::default(),
                Err(why) => FileList { paths: Vec::new(), note: format!("{} {}", why.what, why.todo) },
                Ok(tools) => {
                    let (names, more) = listed.names(&*tools, &denied);
                    cancel.check()?;
                    let paths = best(&names, &query, limit.min(500));
                    let note = if more { format!("only the first {MOST} files are listed") } else { String::new() };
                    FileList { paths, note }
                }
            };
            let place = if query.starts_with(PREFIX) { 0 } else { list.paths.len().min(limit / 2) };
            list.paths.splice(place..place, skills);
            Ok(ToolAnswer::Files(list).into())
        });
    }

    /// Handles a request about code. Acts on the program's own workspace require its trust; without it, no names are
    /// returned, and the list of files contains the reason.
    pub(crate) fn ask_code(&self, ticket: Ticket, act: CodeAct, root: Option<PathBuf>) -> Result<(), Failure> {
        let branch = self.sessions.current().ok().map(|session| session.current);
        self.apply_denials(branch);
        let wanted = self.setup.settings.code.enabled || !act.is_names();
        let allowed = if act.is_own() { readable(&self.setup, &self.tools).map(drop) } else { Ok(()) };
        match allowed {
            Ok(()) if wanted => {
                self.workers.code.ask(ticket, act, root, crate::engine::startup::learned::encoding(&self.setup))
            }
            Ok(()) | Err(_) if act.is_names() => self.answer_now(ticket, Ok(ToolAnswer::Symbols(Vec::new()).into())),
            other => other,
        }
    }

    /// Reads a file or skill as an attachment, on a separate thread.
    pub(crate) fn attach(&self, ticket: Ticket, path: String) -> Result<(), Failure> {
        if let Some(name) = path.strip_prefix(PREFIX) {
            return self.answer_now(ticket, self.tools.skill_text(name));
        }
        let (tools, denied) = (readable(&self.setup, &self.tools)?, self.denied());
        self.jobs.answer("files", ticket, move |_| {
            let read = tools.text(&path, LARGEST, &denied).map(|text| {
                let (text, masked) = secrets::mask(&text);
                Answer::Tool(ToolAnswer::Attached { text: Arc::from(&*text), masked })
            });
            read.map_err(|why| Failure::user(why).todo(largest()))
        });
        Ok(())
    }
}

fn readable(setup: &Setup, tools: &Tools) -> Result<Arc<dyn RunTools>, Failure> {
    let readers = setup.settings.tools.clone();
    let readers = readers.ok_or_else(|| Failure::user("Files in this folder can't be read: tools are off."))?;
    let untrusted = || Failure::user("This folder is not trusted: no file is read.");
    Some(readers).filter(|_| tools.trusted).ok_or_else(|| untrusted().todo("/trust changes that."))
}

fn largest() -> String {
    format!("Only text files of at most {} bytes can be attached.", grouped(LARGEST))
}

/// Returns the names that match the typed text, best first; without typed text, the shortest paths.
fn best(names: &[String], query: &str, limit: usize) -> Vec<String> {
    let wanted: Vec<char> = query.to_lowercase().chars().collect();
    let mut found: Vec<(i64, usize)> =
        names.iter().enumerate().filter_map(|(at, name)| score(name, &wanted).map(|score| (-score, at))).collect();
    found.sort_unstable();
    found.into_iter().take(limit).map(|(_, at)| names[at].clone()).collect()
}

/// Returns how well a name matches letters that occur in it in this order; `None` if they do not. Consecutive letters
/// score higher, beginnings of words higher still, and matches in the file's own name higher than in its folders; short
/// names precede long ones.
fn score(name: &str, wanted: &[char]) -> Option<i64> {
    let depth = i64::try_from(name.matches('/').count()).unwrap_or(i64::MAX / 4);
    let length = i64::try_from(name.len()).unwrap_or(i64::MAX / 4);
    let letters: Vec<char> = name.to_lowercase().chars().collect();
    let own = letters.iter().rposition(|c| *c == '/').map_or(0, |at| at + 1);
    let in_own = fit(&letters, own, wanted).map(|score| score + 40);
    let best = in_own.max(fit(&letters, 0, wanted))?;
    Some(best * 8 - length - depth * 4)
}

fn fit(letters: &[char], from: usize, wanted: &[char]) -> Option<i64> {
    let (mut score, mut at, mut run) = (0, from, false);
    for (nth, want) in wanted.iter().enumerate() {
        let found = at + letters[at..].iter().position(|c| c == want)?;
        let starts = found == from || "/_-. ".contains(letters[found - 1]);
        score += 2 + if starts { 6 } else { 0 } + if run && found == at { 5 } else { 0 };
        score += if nth == 0 && found == from { 8 } else { 0 };
        (at, run) = (found + 1, true);
    }
    Some(score)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_match_comes_first() {
        let names: Vec<String> = [
            "src/tui/views/composer.rs",
            "src/compose/mod.rs",
            "src/tui/model/composer.rs",
            "src/tui/view/composer.rs",
            "Cargo.toml",
            "docs/core.md",
            "src/main.rs",
        ]
        .map(str::to_owned)
        .to_vec();
        let first = |query: &str| best(&names, query, 3).first().cloned().unwrap_or_default();
        assert_eq!(first("main"), "src/main.rs");
        assert_eq!(first("CARGO"), "Cargo.toml");
        assert_eq!(first("view/com"), "src/tui/view/composer.rs");
        assert_eq!(
            best(&names, "composer", 3),
            ["src/tui/view/composer.rs", "src/tui/views/composer.rs", "src/tui/model/composer.rs"],
            "of equal matches, the shortest path"
        );
        assert_eq!(first("mocom"), "src/tui/model/composer.rs");
        let own = ["lib/run.rs", "src/grab.rs"].map(str::to_owned);
        assert_eq!(best(&own, "b", 1), ["src/grab.rs"], "the file's own name counts more than its folders");
        assert_eq!(best(&names, "zzz", 3), [""; 0]);
        assert_eq!(best(&names, "", 1), ["Cargo.toml"]);
    }

    /// The points of a name: two per letter, six more at the beginning of a word, five more after the previous letter,
    /// eight more at the very beginning, forty for a match in the file's own name; times eight, less the length and
    /// four per folder.
    #[test]
    fn the_score_of_a_name_depends_on_the_positions_of_the_letters() {
        let points = |name: &str, typed: &str| score(name, &typed.chars().collect::<Vec<_>>());
        let sum = |own: i64, letters: &[i64], name: &str| {
            let folders = i64::try_from(name.matches('/').count()).unwrap();
            let length = i64::try_from(name.len()).unwrap();
            Some((own + letters.iter().sum::<i64>()) * 8 - length - folders * 4)
        };
        for (name, typed, own, letters) in [
            ("run.rs", "", 40, &[][..]),
            ("a/b/run.rs", "", 40, &[]),
            ("run.rs", "r", 40, &[16]),
            ("run.rs", "ru", 40, &[16, 7]),
            ("run.rs", "rn", 40, &[16, 2]),
            ("run.rs", "u", 40, &[2]),
            ("run.rs", "rr", 40, &[16, 8]),
            ("run.rs", ".r", 40, &[2, 13]),
            ("lib/run.rs", "r", 40, &[16]),
            ("lib/run.rs", "l", 0, &[16]),
            ("lib/run.rs", "lr", 0, &[16, 8]),
            ("lib/run.rs", "i/r", 0, &[2, 2, 13]),
            ("my_long-name here.rs", "lnh", 40, &[8, 2, 8]),
            ("my_long-name here.rs", "h", 40, &[8]),
            ("RUN.RS", "run", 40, &[16, 7, 7]),
        ] {
            assert_eq!(points(name, typed), sum(own, letters, name), "{typed} in {name}");
        }
        for (name, typed) in [("run.rs", "rur"), ("run.rs", "x"), ("", "x")] {
            assert_eq!(points(name, typed).is_some(), typed == "rur", "{typed} in {name}");
        }
    }
}
