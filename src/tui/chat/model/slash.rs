//! Commands typed after a slash: a few with words behind them, and every action by its name.
//! Not for: carrying them out (`update`).

use crate::tui::model::Action;
use crate::tui::model::fuzzy::Fuzzy;

/// A command with words behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Worded {
    /// Its name.
    pub name: &'static str,
    /// What stands behind it.
    pub words: &'static str,
    /// What it does.
    pub sentence: &'static str,
}

/// The commands with words.
pub const WORDED: &[Worded] = &[
    Worded { name: "mode", words: "off|light|heavy", sentence: "Set the context mode of this branch." },
    Worded { name: "model", words: "NAME", sentence: "Ask this model on this branch; without a name, choose one." },
    Worded { name: "profile", words: "NAME", sentence: "Ask the server of this profile on this branch." },
    Worded { name: "budget", words: "N", sentence: "Cap the whole prompt at N tokens; 0 takes the cap off." },
    Worded { name: "window", words: "N", sentence: "Keep the last N turns, for policies that count turns; 0 is all." },
    Worded { name: "policy", words: "NAME", sentence: "Choose by which rules the context is made." },
    Worded {
        name: "layout",
        words: "wide|narrow|zen",
        sentence: "Arrange the screen; classic or cache_friendly choose the order of the prompt's sections.",
    },
    Worded {
        name: "lane",
        words: "NAME|root",
        sentence: "Put your next messages into this lane; without a name, say which it is.",
    },
    Worded {
        name: "focus",
        words: "PATH|SYMBOL …|none",
        sentence: "Keep to these files, folders and symbols where code is looked at; without words, say which.",
    },
    Worded {
        name: "task",
        words: "NAME|done [OUTCOME]",
        sentence: "Begin a task on this branch, or end it; without words, say which is running.",
    },
    Worded { name: "rename", words: "NAME", sentence: "Rename this branch." },
    Worded { name: "title", words: "TEXT", sentence: "Rename this session." },
    Worded { name: "retitle", words: "", sentence: "Have the model give this session a title." },
    Worded { name: "fork", words: "NAME", sentence: "Fork this branch at its end and stand on the fork." },
    Worded {
        name: "compare",
        words: "BRANCH",
        sentence: "Look at a branch beside this one: text, plans, cost, tools; pick from it.",
    },
    Worded { name: "new", words: "TITLE", sentence: "Make a new session and open it." },
    Worded {
        name: "personality",
        words: "TEXT",
        sentence: "How the model should be, on this branch; empty takes it off.",
    },
    Worded { name: "note", words: "TEXT", sentence: "Pin a note of your own: it goes with every call." },
    Worded {
        name: "remember",
        words: "[KIND:] TEXT",
        sentence: "Keep a fact, preference, outcome or event to be known later.",
    },
    Worded {
        name: "compress",
        words: "[TURN] [model] [session]",
        sentence: "Draft a summary of the older turns; model has it written by the model.",
    },
    Worded {
        name: "compaction",
        words: "off|ask|self|policy",
        sentence: "Whether summaries are made by themselves on this branch, and used unasked.",
    },
    Worded {
        name: "race",
        words: "mode:off model:NAME [tokens:N cost:USD time:S] … TEXT",
        sentence: "Ask this on several new branches at once, each with settings of its own, within limits, side by side.",
    },
    Worded {
        name: "aside",
        words: "TEXT",
        sentence: "Ask this in the present context without a trace: the answer comes beside the chat and is dropped.",
    },
    Worded {
        name: "label",
        words: "NAME",
        sentence: "Name the selected message, else the last one; without a name, take it off.",
    },
    Worded {
        name: "search",
        words: "WORDS",
        sentence: "Find messages of all sessions; filters as role:user or after:2026-01-01.",
    },
    Worded { name: "theme", words: "NAME", sentence: "Take these colours; without a name, choose them by looking." },
    Worded {
        name: "capsule",
        words: "PATH [by model]",
        sentence: "Sum up a folder or file of the program; without a path, look at the summaries.",
    },
    Worded {
        name: "skill",
        words: "NAME",
        sentence: "Put the text of a skill into the message; without a name, choose one.",
    },
    Worded {
        name: "forget",
        words: "QUIRK|all",
        sentence: "Forget what was learned from servers' refusals; doctor lists it.",
    },
    Worded { name: "state", words: "", sentence: "Show and edit the state block." },
];

/// What was typed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Typed<'a> {
    /// A command with its words.
    Worded(&'static str, &'a str),
    /// An action.
    Action(Action),
    /// Neither.
    Unknown(&'a str),
}

/// Reads a line that begins with a slash.
#[must_use]
pub fn read(line: &str) -> Typed<'_> {
    let line = line.trim_start_matches('/').trim();
    let (name, words) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if let Some(command) = WORDED.iter().find(|command| command.name == name) {
        return Typed::Worded(command.name, words.trim());
    }
    Action::from_name(name).map_or(Typed::Unknown(name), Typed::Action)
}

/// What the line may become: name, words, sentence.
#[must_use]
pub fn completions(line: &str) -> Vec<Worded> {
    let Some(start) = line.strip_prefix('/').filter(|start| !start.contains(char::is_whitespace)) else {
        return Vec::new();
    };
    let worded = |action: &&Action| WORDED.iter().any(|command| command.name == action.name());
    let actions = Action::ALL.iter().filter(|action| !worded(action)).map(|a| Worded {
        name: a.name(),
        words: "",
        sentence: a.sentence(),
    });
    let mut all: Vec<Worded> = WORDED.iter().copied().chain(actions).collect();
    if start.is_empty() {
        return all;
    }
    let mut fuzzy = Fuzzy::new(start);
    let mut found: Vec<_> = all.drain(..).filter_map(|c| fuzzy.find(c.name).map(|(score, _)| (score, c))).collect();
    found.sort_by_key(|(score, c)| (!c.name.starts_with(start), std::cmp::Reverse(*score), c.name.len()));
    found.into_iter().map(|(_, command)| command).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_completes() {
        assert_eq!(read("/budget 8000"), Typed::Worded("budget", "8000"));
        assert_eq!(read("/quit"), Typed::Action(Action::Quit));
        assert_eq!(read("/fly me"), Typed::Unknown("fly"));
        assert_eq!(completions("/bud")[0].name, "budget");
        assert_eq!(completions("/q")[0].name, "quit");
        assert!(completions("/budget 1").is_empty());
        assert!(completions("/").len() > Action::ALL.len());
        assert_eq!(completions("/")[0].name, WORDED[0].name, "what a newcomer may want stands first");
    }
}
