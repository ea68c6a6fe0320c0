//! Appends missing facts to a summary verbatim, and joins the two parts.
//! Not for: finding missing facts (`survive`).

use super::survive::RequiredFacts;
use crate::domain::summary::draft::kept_line;
use crate::domain::summary::{AnchorKind, KeptSentence, MissingFact};
use std::collections::HashSet;

/// The heading of the part that is kept verbatim.
pub const KEPT: &str = "### Kept word for word";

/// Returns a summary's text: its body, then the kept sentences, oldest first.
pub fn joined(body: &str, kept: &[KeptSentence]) -> String {
    let body = body.trim();
    if kept.is_empty() {
        return body.to_owned();
    }
    let lines: Vec<String> = kept.iter().map(kept_line).collect();
    format!("{body}\n\n{KEPT}\n{}", lines.join("\n")).trim_start().to_owned()
}

/// Returns the sentence of a missing fact as a kept sentence.
pub fn keep(item: &MissingFact) -> KeptSentence {
    KeptSentence {
        text: item.sentence.clone(),
        node: item.node,
        turn: item.turn,
        who: item.role.name().to_owned(),
        auto: false,
    }
}

/// Adds sentences that are not kept yet, in the order of the conversation.
pub fn add(kept: &mut Vec<KeptSentence>, more: impl IntoIterator<Item = KeptSentence>) {
    for new in more {
        if let Some(old) = kept.iter_mut().find(|old| old.text == new.text) {
            old.auto &= new.auto;
        } else {
            let at = kept.partition_point(|old| old.turn <= new.turn);
            kept.insert(at, new);
        }
    }
}

/// Keeps as many missing facts as fit in `room` tokens: first sentences, up to three fifths of the room; then bare
/// names (paths, commands, addresses, errors, names from code), which say where to look; then sentences again.
pub fn fill(wanted: &RequiredFacts, text: &str, room: u32, count: &dyn Fn(&str) -> u32) -> Vec<KeptSentence> {
    let mut kept = Vec::new();
    let used = |kept: &[KeptSentence]| kept.iter().map(|kept| line_cost(kept, count)).sum::<u32>();
    let so_far = |kept: &[KeptSentence]| joined(text, kept);
    let first = sentences(wanted.dropped(text), room / 5 * 3, count);
    add(&mut kept, first);
    let named = names(&wanted.dropped(&so_far(&kept)), room.saturating_sub(used(&kept)), count);
    add(&mut kept, named);
    let rest = sentences(wanted.dropped(&so_far(&kept)), room.saturating_sub(used(&kept)), count);
    add(&mut kept, rest);
    kept
}

fn line_cost(kept: &KeptSentence, count: &dyn Fn(&str) -> u32) -> u32 {
    count(&format!("{}\n", kept_line(kept))).max(1)
}

/// Returns one line per kind that names missing facts, highest weight first.
fn names(missing: &[MissingFact], room: u32, count: &dyn Fn(&str) -> u32) -> Vec<KeptSentence> {
    let kinds = [AnchorKind::Path, AnchorKind::Command, AnchorKind::Url, AnchorKind::ErrorCode, AnchorKind::Identifier];
    let mut left = room;
    let mut lines: Vec<(AnchorKind, KeptSentence)> = Vec::new();
    for item in missing.iter().filter(|item| kinds.contains(&item.kind)) {
        let named = format!("`{}`", item.text);
        let at = lines.iter().position(|(kind, _)| *kind == item.kind);
        let start = KeptSentence {
            text: format!("also named: {named}"),
            who: item.kind.name().into(),
            auto: true,
            ..keep(item)
        };
        let cost = match at {
            Some(_) => count(&named) + 2,
            None => line_cost(&start, count),
        };
        if cost > left || item.text.contains('`') {
            continue;
        }
        left -= cost;
        match at {
            Some(at) => {
                let line = &mut lines[at].1;
                line.text = format!("{}, {named}", line.text);
                line.turn = line.turn.max(item.turn);
            }
            None => lines.push((item.kind, start)),
        }
    }
    lines.into_iter().map(|(_, line)| line).collect()
}

/// Returns sentences in the order of recovered weight per token (the greedy rule for budgeted coverage).
fn sentences(mut missing: Vec<MissingFact>, room: u32, count: &dyn Fn(&str) -> u32) -> Vec<KeptSentence> {
    let mut seen = HashSet::new();
    let mut lines: Vec<(KeptSentence, Vec<usize>, u32)> = Vec::new();
    for (index, item) in missing.iter().enumerate() {
        if seen.insert(item.sentence.clone()) {
            let kept = KeptSentence { auto: true, ..keep(item) };
            let cost = line_cost(&kept, count);
            lines.push((kept, vec![index], cost));
        } else if let Some((_, items, _)) = lines.iter_mut().find(|(kept, _, _)| kept.text == item.sentence) {
            items.push(index);
        }
    }
    let mut left = room;
    let mut kept = Vec::new();
    loop {
        let gain = |items: &[usize]| -> u64 { items.iter().map(|item| u64::from(missing[*item].weight)).sum() };
        let fits = lines.iter().enumerate().filter(|(_, (_, items, cost))| *cost <= left && gain(items) > 0);
        let best = fits
            .max_by_key(|(at, (_, items, cost))| (gain(items) * 1_000_000 / u64::from(*cost), std::cmp::Reverse(*at)));
        let Some((at, _)) = best else { return kept };
        let (line, items, cost) = lines.swap_remove(at);
        for item in items {
            missing[item].weight = 0;
        }
        left -= cost;
        add(&mut kept, [line]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::summary::tests::{message, turn};
    use crate::domain::base::hash::Hash;
    use crate::domain::call::tokens::approximate;
    use crate::domain::conversation::message::Role;

    #[test]
    fn kept_sentences_are_verbatim_and_unique() {
        let sources = [turn(3, &[message(Role::User, "The port must be 8443 and the path /srv/app.sock here.")])];
        let wanted = RequiredFacts::of(&sources);
        let kept = fill(&wanted, "nothing", 1_000, &approximate);
        assert_eq!(kept.len(), 1, "one sentence holds both");
        let text = joined("Body.", &kept);
        assert_eq!(
            text,
            format!("Body.\n\n{KEPT}\n- [turn 3, user] The port must be 8443 and the path /srv/app.sock here.")
        );
        assert!(wanted.dropped(&text).is_empty());
        assert!(fill(&wanted, "nothing", 3, &approximate).is_empty(), "no room, nothing kept");
        let mut twice = kept.clone();
        add(&mut twice, kept.clone());
        assert_eq!(twice, kept);
    }

    #[test]
    fn room_is_filled_with_sentences_then_names() {
        let places = ["oak", "elm", "ash", "fir", "yew", "bay", "fig", "box", "gum", "sal"];
        let text =
            places.map(|name| format!("The worker writes what it has found of the long night into out/{name}.txt."));
        let wanted = RequiredFacts::of(&[turn(3, &[message(Role::User, &text.join(" "))])]);
        let kept = fill(&wanted, "nothing", 130, &approximate);
        let whole = kept.iter().filter(|kept| !kept.text.starts_with("also named")).count();
        assert!((2..=4).contains(&whole), "{kept:?}");
        assert!(wanted.dropped(&joined("", &kept)).is_empty(), "all are kept: {kept:?}");
        assert!(kept.iter().map(|kept| line_cost(kept, &approximate)).sum::<u32>() <= 130);
    }

    /// Sentences that recover the most weight per token are kept first, counting all facts of a sentence.
    #[test]
    fn sentences_go_by_their_weight_per_token() {
        let item = |sentence: &str, weight: u32| MissingFact {
            kind: AnchorKind::Path,
            text: "a".into(),
            sentence: sentence.into(),
            node: Hash::default(),
            turn: 1,
            role: Role::User,
            times: 1,
            weight,
        };
        let count = |text: &str| u32::try_from(text.matches('x').count()).unwrap();
        let kept = |gone: &[(&str, u32)], room: u32| -> Vec<String> {
            let gone = gone.iter().map(|(sentence, weight)| item(sentence, *weight)).collect();
            sentences(gone, room, &count).into_iter().map(|kept| kept.text).collect()
        };
        assert_eq!(kept(&[("xxxx", 5), ("xx", 3)], 4), ["xx"], "five for four is less than three for two");
        assert_eq!(kept(&[("xx", 3), ("xxxx", 4), ("xxxx", 3)], 4), ["xxxx"], "a sentence that says both");
        assert_eq!(kept(&[("xx", 3), ("yxx", 3)], 2), ["xx"], "the first of equals");
        assert_eq!(kept(&[("xx", 3), ("x", 0), ("xxx", 1)], 9), ["xx", "xxx"], "nothing without weight");
        assert!(kept(&[("xx", 3)], 1).is_empty());
    }
}
