//! The meter: a bar whose filled cells are the used share of the budget, distributed among the sections of the request,
//! and a legend that names each part by its color and sign. A part that is too small for a cell has one all the same if
//! there are enough cells; otherwise it appears only in the legend. The budget's safety margin and the tokens that do not fit are separate parts.
//!
//! ```text
//! █████████████▌░░░░░░░░░░░░  65%
//! █ Instructions            210
//! █ Pins 2                  340
//! ```
//! Not for: the rest of the panel (`next_request`).

use crate::domain::base::chart::{filled, shares};
use crate::domain::planning::{Blocked, Budget, Reason};
use crate::domain::planning::{ContextPlan, Row, Section};
use crate::tui::view::prelude::*;

/// A part of the bar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    Section(Section),
    /// The message overhead.
    Framing,
    /// The tool definitions.
    Tools,
    /// Tokens that do not fit the budget.
    Over,
    /// The free part of the budget.
    Free,
    /// The budget's safety margin, which no request may use.
    Margin,
}

/// The appearance of a part. Any two parts may be adjacent. With colors, every used part is solid and has an ink of its
/// own; only free space has a texture. Without colors, and in ASCII, each part has its own sign.
struct PartStyle {
    name: &'static str,
    ink: Ink,
    /// The sign without colors.
    plain: &'static str,
    /// The sign in ASCII.
    ascii: &'static str,
}

impl Part {
    fn look(self) -> PartStyle {
        use Section as S;
        let look = |name, ink, [plain, ascii]: [&'static str; 2]| PartStyle { name, ink, plain, ascii };
        match self {
            Self::Section(S::System) => look("Instructions", Ink::MeterInstructions, ["█", "I"]),
            Self::Section(S::Personality) => look("Personality", Ink::MeterPersonality, ["▜", "P"]),
            Self::Section(S::Guidelines) => look("Guidelines", Ink::MeterGuidelines, ["▓", "G"]),
            Self::Section(S::State) => look("State block", Ink::MeterState, ["▞", "S"]),
            Self::Section(S::StickyPins) => look("Pins", Ink::Pinned, ["◆", "#"]),
            Self::Section(S::SessionSummary) => look("Summaries", Ink::MeterSummaries, ["▙", "M"]),
            Self::Section(S::LaneSummary) => look("Lane summary", Ink::MeterSummary, ["▟", "L"]),
            Self::Section(S::Orientation) => look("Rules, code map", Ink::MeterMap, ["▛", "C"]),
            Self::Section(S::Retrieved) => look("Found", Ink::MeterFound, ["▒", "F"]),
            Self::Section(S::LeasedPins) => look("Leases", Ink::Leased, ["◇", "~"]),
            Self::Section(S::Recent) => look("Recent turns", Ink::MeterLow, ["▆", "R"]),
            Self::Section(S::QuotedReply) => look("Quoted reply", Ink::MeterReply, ["▌", "Q"]),
            Self::Section(S::UserMessage) => look("Your message", Ink::You, ["▐", "Y"]),
            Self::Section(S::DuringTurn) => look("Added this turn", Ink::MeterAdded, ["▗", "A"]),
            Self::Framing => look("Message overhead", Ink::Dim, ["▖", ","]),
            Self::Tools => look("Tool definitions", Ink::MeterTools, ["▚", "T"]),
            Self::Over => look("Does not fit", Ink::Danger, ["!", "!"]),
            Self::Free => look("Free", Ink::MeterFree, ["░", "."]),
            Self::Margin => look("Safety margin", Ink::MeterFree, ["╱", "/"]),
        }
    }

    /// The part's sign in the current glyphs and theme.
    pub(crate) fn sign(self, view: &ViewContext<'_>) -> &'static str {
        let look = self.look();
        if view.theme.glyphs.ascii {
            return look.ascii;
        }
        let is_used = matches!(self, Self::Section(_) | Self::Framing | Self::Tools);
        if view.theme.has_colors() && is_used { view.theme.glyphs.full } else { look.plain }
    }

    /// The part's ink.
    pub(crate) fn ink(self) -> Ink {
        self.look().ink
    }
}

/// The ink of a meter with `used` tokens: a warning from 90% of what fits, red if the request does not fit.
pub(crate) fn ink(used: u32, budget: &Budget) -> Ink {
    let most = budget.prompt;
    if used > most {
        return Ink::MeterHigh;
    }
    if u64::from(used) * 10 >= u64::from(most) * 9 && used > 0 { Ink::MeterMid } else { Ink::MeterLow }
}

/// The parts of a plan's bar in order, with their tokens.
pub(crate) fn parts(plan: &ContextPlan) -> Vec<(Part, u32)> {
    let mut parts: Vec<(Part, u32)> =
        plan.sections().into_iter().map(|(section, tokens)| (Part::Section(section), tokens)).collect();
    parts.extend([(Part::Framing, plan.framing), (Part::Tools, plan.tools)]);
    parts.retain(|(_, tokens)| *tokens > 0);
    let budget = &plan.budget;
    parts.extend([(Part::Free, budget.prompt.saturating_sub(plan.est_total)), (Part::Margin, budget.safety)]);
    parts
}

/// The parts of a blocked request: its required sections, overhead, and tools, then the tokens that do not fit.
pub(crate) fn over(blocked: &Blocked) -> Vec<(Part, u32)> {
    let mut parts: Vec<(Part, u32)> = Vec::new();
    for (section, tokens) in blocked.rows.iter().filter_map(|row: &Row| Some((row.section()?, row.tokens))) {
        match parts.iter_mut().find(|(part, _)| *part == Part::Section(section)) {
            Some((_, sum)) => *sum += tokens,
            None => parts.push((Part::Section(section), tokens)),
        }
    }
    parts.extend([(Part::Framing, blocked.framing()), (Part::Tools, blocked.tools())]);
    parts.retain(|(_, tokens)| *tokens > 0);
    parts.push((Part::Over, blocked.needed.saturating_sub(blocked.budget.prompt)));
    parts
}

/// The tokens of each part as drawn. The tokens that do not fit replace the end of the other parts.
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

/// The cells of each part of a request of `used` tokens with a budget of `of`. If the request does not fit, the bar is as
/// long as the request.
fn cells(parts: &[(Part, u32)], (used, of): (u32, u32), width: usize) -> Vec<usize> {
    let drawn = drawn_tokens(parts);
    let over = drawn.iter().find(|(part, _)| *part == Part::Over).map(|(_, tokens)| *tokens);
    let beyond = over.map_or(0, |over| filled(over, used.into(), width));
    let taken = if over.is_some() { width - beyond } else { filled(used.into(), of.into(), width) };
    let size =
        |part: Part, tokens: u64| if matches!(part, Part::Over | Part::Free | Part::Margin) { 0 } else { tokens };
    let sizes: Vec<u64> = drawn.iter().map(|(part, tokens)| size(*part, *tokens)).collect();
    let mut cells = with_small_parts(&sizes, shares(&sizes, taken));
    let [free, margin] = unused_cells(&drawn, width - taken);
    for ((part, _), cells) in drawn.iter().zip(&mut cells) {
        match part {
            Part::Over => *cells = beyond,
            Part::Free => *cells = free,
            Part::Margin => *cells = margin,
            Part::Section(_) | Part::Framing | Part::Tools => {}
        }
    }
    cells
}

/// Gives each part without a cell one cell of the widest part, as long as that keeps more than one.
fn with_small_parts(sizes: &[u64], mut cells: Vec<usize>) -> Vec<usize> {
    for at in 0..cells.len() {
        let widest = (0..cells.len()).max_by_key(|at| cells[*at]).filter(|widest| cells[*widest] > 1);
        if let Some(widest) = widest.filter(|_| sizes[at] > 0 && cells[at] == 0) {
            cells[widest] -= 1;
            cells[at] = 1;
        }
    }
    cells
}

/// Distributes the unused cells between the free tokens and the safety margin. Free tokens are always visible.
fn unused_cells(drawn: &[(Part, u64)], width: usize) -> [usize; 2] {
    let of = |wanted: Part| drawn.iter().find(|(part, _)| *part == wanted).map_or(0, |(_, tokens)| *tokens);
    let (free, margin) = (of(Part::Free), of(Part::Margin));
    let shown = if margin == 0 { width } else { filled(free, free + margin, width) };
    [shown, width - shown]
}

/// Draws the bar of a request of `used` tokens with a budget of `of`.
pub(crate) fn bar(view: &ViewContext<'_>, parts: &[(Part, u32)], (used, of): (u32, u32), area: Rect, buf: &mut Buffer) {
    let mut line = Line::new();
    for ((part, _), cells) in parts.iter().zip(cells(parts, (used, of), usize::from(area.width))) {
        line.push_safe(part.ink(), &part.sign(view).repeat(cells));
    }
    paint::line(view.theme, &line, area, buf);
}

/// A line of the legend: the part's sign and name, and its tokens.
pub(crate) fn line(view: &ViewContext<'_>, (part, tokens): (Part, u32), count: usize, rows: &[Row]) -> (Line, Line) {
    let name = name(view, part, rows);
    let label = if count > 0 { format!(" {name} {count}") } else { format!(" {name}") };
    let ink = match part {
        Part::Section(_) => Ink::Text,
        Part::Over => Ink::Danger,
        Part::Framing | Part::Tools | Part::Free | Part::Margin => Ink::Dim,
    };
    let line = Line::of(part.ink(), part.sign(view)).with(ink, &label);
    (line, Line::of(ink, &text::short(u64::from(tokens))))
}

/// The part's name, as shown everywhere. Where the conversation has no lanes, the summary of the path is no lane's; items
/// that are included once are in the section of the leases.
pub(crate) fn name(view: &ViewContext<'_>, part: Part, rows: &[Row]) -> &'static str {
    if part == Part::Section(Section::LaneSummary) && !has_lanes(view) {
        return "Summary";
    }
    let own: Vec<&Row> =
        rows.iter().filter(|row| row.included() && row.section() == Some(Section::LeasedPins)).collect();
    let once = own.iter().filter(|row| row.reason == Reason::IncludedOnce).count();
    match once {
        1.. if part == Part::Section(Section::LeasedPins) && once == own.len() => "Included once",
        1.. if part == Part::Section(Section::LeasedPins) => "Leases, included once",
        _ => part.look().name,
    }
}

/// Whether a message of the path belongs to a lane.
fn has_lanes(view: &ViewContext<'_>) -> bool {
    let Some(session) = &view.model.session else { return false };
    view.model.conversation.path.iter().any(|slot| !session.tree.head(*slot).lane.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::theme::Theme;
    use proptest::prelude::*;
    use ratatui::style::Modifier;
    use std::collections::BTreeSet;

    fn all() -> Vec<Part> {
        let sections = crate::domain::planning::policy::Layout::Classic.sections();
        let mut all: Vec<Part> = sections.iter().map(|section| Part::Section(*section)).collect();
        all.extend([Part::Framing, Part::Tools, Part::Over, Part::Free, Part::Margin]);
        all
    }

    #[test]
    fn every_part_has_its_own_sign() {
        let all = all();
        let plain: BTreeSet<_> = all.iter().map(|part| part.look().plain).collect();
        let ascii: BTreeSet<_> = all.iter().map(|part| part.look().ascii).collect();
        assert_eq!((plain.len(), ascii.len()), (all.len(), all.len()));
        assert!(ascii.iter().all(|sign| sign.len() == 1 && sign.is_ascii()));
        let letters: BTreeSet<_> = ascii.iter().map(|sign| sign.to_lowercase()).collect();
        assert_eq!(letters.len(), all.len(), "no two signs are the same letter");
        assert!(plain.into_iter().all(|sign| text::width(sign) == 1), "each takes one column");
    }

    #[test]
    fn with_colors_every_used_part_is_solid_and_has_its_own_color() {
        let used = || all().into_iter().filter(|part| !matches!(part, Part::Over | Part::Free | Part::Margin));
        for name in ["dark", "light", "contrast", "sepia", "terminal"] {
            let theme = Theme::built_in(name, false);
            let model = crate::tui::model::Model::default();
            let view = ViewContext { theme: &theme, model: &model };
            assert!(used().all(|part| part.sign(&view) == "█"), "{name}");
            let colors = |theme: &Theme| -> Vec<String> {
                let styles = used().map(|part| theme.style(part.ink()));
                styles.map(|style| format!("{:?} {}", style.fg, style.add_modifier.contains(Modifier::DIM))).collect()
            };
            let all = colors(&theme);
            assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "{name}: {all:?}");
            if name != "terminal" {
                let alarms = [Ink::Warn, Ink::Danger].map(|ink| format!("{:?} false", theme.style(ink).fg));
                assert!(all.iter().all(|color| !alarms.contains(color)), "{name}: {all:?}");
            }
            let few = colors(&theme.in_256_colors());
            assert_eq!(few.iter().collect::<BTreeSet<_>>().len(), few.len(), "{name}: {few:?}");
        }
    }

    #[test]
    fn the_ink_warns_from_90_percent_of_what_fits_and_alarms_beyond() {
        let fits = |prompt| Budget { prompt, safety: 100, ..Budget::compute(8_000, None, None, None) };
        for used in [0, 899] {
            assert_eq!(ink(used, &fits(1_000)), Ink::MeterLow, "{used}");
        }
        for used in [900, 1_000] {
            assert_eq!(ink(used, &fits(1_000)), Ink::MeterMid, "{used}");
        }
        let inks = [(1_001, 1_000), (1, 0), (0, 0)].map(|(used, most)| ink(used, &fits(most)));
        assert_eq!(inks, [Ink::MeterHigh, Ink::MeterHigh, Ink::MeterLow]);
    }

    proptest! {
        /// The bar is as wide as its place, filled in proportion to the budget, and never looks full before it is.
        #[test]
        fn the_bar_is_proportional(
            tokens in prop::collection::vec(0_u32..20_000, 16),
            free in 0_u32..200_000,
            margin in 0_u32..20_000,
            width in 2_usize..120,
        ) {
            let mut parts: Vec<(Part, u32)> = all().into_iter().zip(tokens).collect();
            parts.extend([(Part::Free, free), (Part::Margin, margin)]);
            let used: u32 = parts[..16].iter().map(|(_, tokens)| *tokens).sum();
            let (cells, used) = (cells(&parts, (used, used + free + margin), width), u64::from(used));
            let whole = used + u64::from(free) + u64::from(margin);
            let taken: usize = cells[..16].iter().sum();
            prop_assert_eq!(taken + cells[16] + cells[17], width);
            prop_assert!((taken as u64 * whole).abs_diff(used * width as u64) <= whole, "{taken} of {width}");
            prop_assert_eq!(taken == 0, used == 0);
            prop_assert_eq!(cells[16] == 0, free == 0 && used + u64::from(margin) > 0, "free tokens are visible");
            prop_assert!(margin > 0 || cells[17] == 0);
            let some = parts[..16].iter().filter(|(_, tokens)| *tokens > 0).count();
            for ((_, tokens), cells) in parts[..16].iter().zip(&cells) {
                let exact = u64::from(*tokens) * taken as u64;
                prop_assert!(*cells as u64 * used < exact + used.max(1), "{tokens}: {cells} of {taken}");
                prop_assert!(some > taken || (*cells > 0) == (*tokens > 0), "{tokens}: {cells} of {taken}");
            }
        }

        #[test]
        fn tokens_over_the_budget_are_always_visible(needed in 2_u32..100_000, over in 1_u32..50_000, width in 2_usize..60) {
            let over = over.min(needed - 1);
            let parts = [(Part::Section(Section::Recent), needed), (Part::Over, over)];
            let cells = cells(&parts, (needed, needed - over), width);
            prop_assert_eq!(cells.iter().sum::<usize>(), width);
            prop_assert!(cells[1] > 0 && cells[0] > 0);
        }
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
