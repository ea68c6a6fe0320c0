//! Cuts sources into chunks that fit a model, and joins its answers heading by heading without duplicates.
//! Not for: asking the model (`engine`).

use super::extract::Part;
use crate::domain::conversation::memory::one_line;
use crate::domain::summary::SourceTurn;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

/// Splits turns into ranges of at most `room` tokens each; a larger turn is a separate range.
pub fn chunks(sources: &[SourceTurn], room: u32, count: &dyn Fn(&str) -> u32) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut used = 0;
    for (at, turn) in sources.iter().enumerate() {
        let tokens = count(&to_prompt_text(std::slice::from_ref(turn), usize::MAX));
        match runs.last_mut() {
            Some(run) if used + tokens <= room => run.end = at + 1,
            _ => {
                runs.push(at..at + 1);
                used = 0;
            }
        }
        used += tokens;
    }
    runs
}

/// Returns turns as text for a model; the middle of each message longer than `most` characters is cut out.
pub fn to_prompt_text(sources: &[SourceTurn], most: usize) -> String {
    let mut text = String::new();
    for turn in sources {
        for message in turn.messages.iter().filter(|message| !message.text.trim().is_empty()) {
            let _ = writeln!(text, "[turn {}, {}]", turn.number, message.role.name());
            text.push_str(&cut_middle(message.text.trim(), most));
            text.push_str("\n\n");
        }
    }
    text.trim_end().to_owned()
}

fn cut_middle(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let half = most / 2;
    let start: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(length - half).collect();
    format!("{start}\n[… {} characters left out …]\n{end}", length - 2 * half)
}

/// Merges several answers under one set of headings, without duplicate lines. Text before a heading comes first;
/// unknown headings are put under the facts.
pub fn merge_answers(answers: &[String]) -> String {
    if let [only] = answers {
        return only.trim().to_owned();
    }
    let mut parts: BTreeMap<Option<Part>, Vec<&str>> = BTreeMap::new();
    for answer in answers {
        let mut part = None;
        for line in answer.lines().filter(|line| !line.trim().is_empty()) {
            if line.trim_start().starts_with('#') {
                part = Some(part_of_heading(line));
                continue;
            }
            let lines = parts.entry(part).or_default();
            if !lines.iter().any(|old| one_line(old) == one_line(line)) {
                lines.push(line.trim_end());
            }
        }
    }
    let sections: Vec<String> = parts
        .into_iter()
        .map(|(part, lines)| match part {
            Some(part) => format!("{}\n{}", part.heading(), lines.join("\n")),
            None => lines.join("\n"),
        })
        .collect();
    sections.join("\n\n")
}

fn part_of_heading(line: &str) -> Part {
    let line = line.to_lowercase();
    let named = [
        (Part::Goals, ["goal", "open question"]),
        (Part::Decisions, ["decision", "decided"]),
        (Part::Outcomes, ["outcome", "tried"]),
        (Part::Pending, ["pending", "to do"]),
    ];
    named
        .into_iter()
        .find(|(_, names)| names.iter().any(|name| line.contains(name)))
        .map_or(Part::Facts, |(part, _)| part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::summary::tests::{message, turn};
    use crate::domain::call::tokens::approximate;
    use crate::domain::conversation::message::Role;

    #[test]
    fn chunks_hold_every_turn_once() {
        let sources: Vec<SourceTurn> =
            (1..20).map(|n| turn(n, &[message(Role::User, &"word ".repeat(n as usize * 7))])).collect();
        let runs = chunks(&sources, 200, &approximate);
        assert!(runs.len() > 2);
        assert!(runs.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!((runs[0].start, runs.last().unwrap().end), (0, sources.len()));
        assert!(
            runs.iter().all(|run| run.len() == 1 || approximate(&to_prompt_text(&sources[run.clone()], 9_999)) <= 220)
        );
    }

    #[test]
    fn answers_join_under_one_set_of_headings() {
        let one = "### Decisions\n- A\n### Pending\n- B".to_owned();
        let two = "## Decisions made\n- A\n- C\n### Goals\n- D".to_owned();
        assert_eq!(
            merge_answers(&[one.clone(), two]),
            "### Goals and open questions\n- D\n\n### Decisions\n- A\n- C\n\n### Pending\n- B"
        );
        assert_eq!(merge_answers(std::slice::from_ref(&one)), one);
    }
}
