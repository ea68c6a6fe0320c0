//! The meter: a bar whose parts are the sections of the request and the free budget, and a legend that names each part
//! by its color, or by its sign without colors. Tokens over the budget have a part of their own.
//!
//! ```text
//! █████████████▌░░░░░░░░░░░░  65 %
//! █ Instructions            210
//! █ Pins 2                  340
//! ```
//! Not for: the rest of the panel (`next_request`).

use crate::domain::base::chart::shares;
use crate::domain::planning::plan::{Blocked, ContextPlan, Row};
use crate::domain::planning::policy::Section;
use crate::tui::view::prelude::*;

/// A part of the bar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// A section.
    Section(Section),
    /// The message overhead.
    Framing,
    /// The tool definitions.
    Tools,
    /// Tokens over the budget.
    Over,
    /// The free part of the budget.
    Free,
}

impl Part {
    /// The part's name, its sign among the Unicode signs and among the ASCII signs, and its ink.
    fn look(self) -> (&'static str, &'static str, &'static str, Ink) {
        use Section as S;
        match self {
            Self::Section(S::System) => ("Instructions", "█", "S", Ink::Model),
            Self::Section(S::Personality) => ("Personality", "▜", "P", Ink::Model),
            Self::Section(S::Guidelines) => ("Guidelines", "▓", "G", Ink::Model),
            Self::Section(S::State) => ("State block", "▞", "s", Ink::Tool),
            Self::Section(S::StickyPins) => ("Pins", "◆", "#", Ink::Pinned),
            Self::Section(S::SessionSummary) => ("Summaries", "▙", "E", Ink::Code),
            Self::Section(S::LaneSummary) => ("Lane summary", "▟", "L", Ink::Code),
            Self::Section(S::Orientation) => ("Code map", "▛", "O", Ink::Code),
            Self::Section(S::Retrieved) => ("Found", "▒", "r", Ink::Tool),
            Self::Section(S::LeasedPins) => ("Leases", "◇", "~", Ink::Leased),
            Self::Section(S::Recent) => ("Recent turns", "▆", "t", Ink::MeterLow),
            Self::Section(S::QuotedReply) => ("Quoted reply", "▌", "q", Ink::Tool),
            Self::Section(S::UserMessage) => ("Your message", "▐", "y", Ink::You),
            Self::Section(S::DuringTurn) => ("Added this turn", "▗", "d", Ink::Tool),
            Self::Framing => ("Message overhead", "▖", ",", Ink::Dim),
            Self::Tools => ("Tool definitions", "▚", "T", Ink::Dim),
            Self::Over => ("Over budget", "!", "!", Ink::Danger),
            Self::Free => ("Free", "░", ".", Ink::MeterFree),
        }
    }

    /// The part's sign in the current glyphs: a block if colors distinguish the parts.
    pub(crate) fn sign(self, view: &ViewContext<'_>) -> &'static str {
        let (_, all, ascii, _) = self.look();
        match (view.theme.glyphs.ascii, self) {
            (true, _) => ascii,
            (false, Self::Over | Self::Free) => all,
            (false, _) if view.theme.has_colors() => "█",
            (false, _) => all,
        }
    }

    /// The part's ink.
    pub(crate) fn ink(self) -> Ink {
        self.look().3
    }
}

/// The ink of a meter with `used` of `of` tokens.
pub(crate) fn ink(used: u32, of: u32) -> Ink {
    match u64::from(used) * 100 / u64::from(of.max(1)) {
        0..80 => Ink::MeterLow,
        80..95 => Ink::MeterMid,
        _ => Ink::MeterHigh,
    }
}

/// The parts of a plan's bar in order, with their tokens.
pub(crate) fn parts(plan: &ContextPlan) -> Vec<(Part, u32)> {
    let mut parts: Vec<(Part, u32)> =
        plan.sections().into_iter().map(|(section, tokens)| (Part::Section(section), tokens)).collect();
    parts.extend([(Part::Framing, plan.framing), (Part::Tools, plan.tools)].into_iter().filter(|(_, n)| *n > 0));
    let budget = &plan.budget;
    parts.push((Part::Free, budget.prompt.saturating_sub(plan.est_total)));
    parts
}

/// The parts of a blocked request: its required sections, then the tokens over the budget.
pub(crate) fn over(blocked: &Blocked) -> Vec<(Part, u32)> {
    let mut parts: Vec<(Part, u32)> = Vec::new();
    for (section, tokens) in blocked.rows.iter().filter_map(|row: &Row| Some((row.section()?, row.tokens))) {
        match parts.iter_mut().find(|(part, _)| *part == Part::Section(section)) {
            Some((_, sum)) => *sum += tokens,
            None => parts.push((Part::Section(section), tokens)),
        }
    }
    let named: u32 = parts.iter().map(|(_, tokens)| *tokens).sum();
    parts.push((Part::Framing, blocked.needed.saturating_sub(named)));
    parts.retain(|(_, tokens)| *tokens > 0);
    parts.push((Part::Over, blocked.needed.saturating_sub(blocked.budget.prompt)));
    parts
}

/// The tokens of each part as drawn. The tokens over the budget replace the end of the other parts.
fn drawn_tokens(parts: &[(Part, u32)]) -> Vec<(Part, u64)> {
    let mut left = parts.iter().find(|(part, _)| *part == Part::Over).map_or(0, |(_, tokens)| u64::from(*tokens));
    let mut drawn: Vec<(Part, u64)> = parts.iter().map(|(part, tokens)| (*part, u64::from(*tokens))).collect();
    for (_, tokens) in drawn.iter_mut().rev().filter(|(part, _)| *part != Part::Over) {
        let cut = left.min(*tokens);
        *tokens -= cut;
        left -= cut;
    }
    drawn
}

/// Draws the bar.
pub(crate) fn bar(view: &ViewContext<'_>, parts: &[(Part, u32)], area: Rect, buf: &mut Buffer) {
    let drawn = drawn_tokens(parts);
    let sizes: Vec<u64> = drawn.iter().map(|(_, tokens)| *tokens).collect();
    let mut line = Line::new();
    for ((part, _), cells) in drawn.iter().zip(shares(&sizes, usize::from(area.width))) {
        line.push_safe(part.ink(), &part.sign(view).repeat(cells));
    }
    paint::line(view.theme, &line, area, buf);
}

/// A line of the legend: the part's sign and name, and its tokens.
pub(crate) fn line(view: &ViewContext<'_>, part: Part, count: usize, tokens: u32) -> (Line, Line) {
    let name = name(part);
    let label = if count > 0 { format!(" {name} {count}") } else { format!(" {name}") };
    let ink = match part {
        Part::Section(_) => Ink::Text,
        Part::Over => Ink::Danger,
        Part::Framing | Part::Tools | Part::Free => Ink::Dim,
    };
    let line = Line::of(part.ink(), part.sign(view)).with(ink, &label);
    (line, Line::of(ink, &text::short(u64::from(tokens))))
}

/// The part's name, wherever it is shown.
pub(crate) fn name(part: Part) -> &'static str {
    part.look().0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_part_has_its_own_sign() {
        let mut all: Vec<Part> = crate::domain::planning::policy::Layout::Classic
            .sections()
            .iter()
            .map(|section| Part::Section(*section))
            .collect();
        all.extend([Part::Framing, Part::Tools, Part::Over, Part::Free]);
        let signs: BTreeSet<_> = all.iter().map(|part| part.look().1).collect();
        let ascii: BTreeSet<_> = all.iter().map(|part| part.look().2).collect();
        assert_eq!((signs.len(), ascii.len()), (all.len(), all.len()));
        assert!(ascii.iter().all(|sign| sign.len() == 1 && sign.is_ascii()));
        assert!(signs.iter().all(|sign| text::width(sign) == 1), "each takes one column");
    }

    #[test]
    fn tokens_over_budget_replace_the_end_of_the_bar() {
        let parts = [(Part::Section(Section::System), 100), (Part::Section(Section::Recent), 300), (Part::Over, 350)];
        let drawn: Vec<u64> = drawn_tokens(&parts).into_iter().map(|(_, tokens)| tokens).collect();
        assert_eq!(drawn, [50, 0, 350], "the bar is as long as what must go");
        let fits = [(Part::Section(Section::System), 100), (Part::Free, 20)];
        assert_eq!(drawn_tokens(&fits).into_iter().map(|(_, tokens)| tokens).collect::<Vec<_>>(), [100, 20]);
    }
}
