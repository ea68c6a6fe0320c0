//! Draws the editor: kinds of items as tabs, the items of one kind, and the shown version with its differences.
//!
//! ```text
//! ┌ Editors ───────────────────────────────────────────────┐
//! │  State  Summaries  Memories [Policies] Rules  Skills    │
//! │ ● layered          │ layered: what it is for            │
//! │ ○ my-lean          │ version 3, now · h older  l newer  │
//! │                    │ + user_cap = 5000                  │   below 90 columns stacked
//! └ keys ──────────────────────────────────────────────────┘
//! ```
//! Not for: typing (`text_editor`).

use super::model::{EditorScreen, PolicyPreview, VersionComparison};
use crate::domain::base::money::money;
use crate::domain::planning::PlanFigures;
use crate::domain::summary::{Editability, Editable, EditableKind, Version};
use crate::tui::screens::summaries::model::PendingModuleSummary;
use crate::tui::screens::traces::view::AROUND;
use crate::tui::view::MAX_HINTS;
use crate::tui::view::prelude::*;
use similar::{Algorithm, ChangeTag, DiffOp, capture_diff_slices};

/// How many lines are compared at most; longer texts are shown as replaced entirely.
const COMPARED: usize = 2_000;

/// Draws the editor. Returns the number of rows of the text and the height of its view.
pub(crate) fn draw(view: &ViewContext<'_>, screen: &EditorScreen, area: Rect, buf: &mut Buffer) -> (usize, usize) {
    let keys = keys(view, screen, usize::from(area.width));
    let inside = view.full_screen(Line::of(Ink::Heading, "Editors"), keys, area, buf);
    let room = Rect { x: inside.x + 1, width: inside.width.saturating_sub(2), ..inside };
    tabs(view, screen, Rect { height: room.height.min(1), ..room }, buf);
    let body = Rect { y: room.y + 1, height: room.height.saturating_sub(1), ..room };
    if body.is_empty() {
        return (0, 0);
    }
    if screen.items.is_empty() {
        let words = if screen.loading.is_some() { "Loading.".to_owned() } else { none(view, screen.kind) };
        let width = usize::from(body.width).max(1);
        let mut rows = TextRows::plain(&words, width, Ink::Dim);
        rows.extend(progress(view));
        paint::lines(view.theme, &rows, body, buf);
        return (0, 0);
    }
    let (list, detail) = split(screen, body);
    items(view, screen, list, buf);
    item(view, screen, paint::divide(view.theme, body, detail, buf), buf)
}

fn split(screen: &EditorScreen, body: Rect) -> (Rect, Rect) {
    let wanted = u16::try_from(screen.items.len()).unwrap_or(u16::MAX);
    paint::split(body, 90, (body.width / 3).min(48), wanted.min(body.height / 3).max(1))
}

fn keys(view: &ViewContext<'_>, screen: &EditorScreen, width: usize) -> Line {
    if screen.items.is_empty() {
        let create = (screen.kind == EditableKind::Rules).then_some((Action::EditText, "create"));
        let rest = [(Action::NextPane, "next tab"), (Action::Leave, "close")];
        let words: Vec<_> = create.into_iter().chain(rest).collect();
        return view.keys_line(KeyPlace::Editors, &words, width);
    }
    let copies = screen.selected().is_some_and(|item| item.editing == Editability::Copy);
    let edit = (Action::EditText, if copies { "copy and edit" } else { "edit" });
    let mut own = match screen.kind {
        EditableKind::State | EditableKind::Summaries | EditableKind::Memories => vec![edit],
        EditableKind::Policies => vec![edit, (Action::UsePolicy, "use on this branch"), (Action::TryPolicy, "preview")],
        EditableKind::Rules => vec![(Action::ToggleRules, "exclude or include"), edit],
        EditableKind::Skills => {
            vec![(Action::UsePolicy, "add to the message"), (Action::ToggleRules, "exclude or include list")]
        }
        EditableKind::Modules => vec![(Action::RewriteModule, "rewrite"), edit],
    };
    if !matches!(screen.kind, EditableKind::Rules | EditableKind::Skills) {
        own.extend([
            (Action::OlderVersion, "older"),
            (Action::NewerVersion, "newer"),
            (Action::TurnView, "switch view"),
        ]);
    }
    let stops = screen.kind == EditableKind::Modules && summing(view).is_some_and(|part| !part.stopping);
    own.truncate(MAX_HINTS - 2);
    let undo = (own.len() + 2 < MAX_HINTS).then_some((Action::Undo, "undo"));
    let rest: Vec<_> = undo.into_iter().chain([(Action::NextPane, "next tab")]).collect();
    // The way out is named first, then the keys of the editor, then the others.
    let leave = view.keys_line(KeyPlace::Panel, &[(Action::Leave, if stops { "stop" } else { "close" })], width);
    let room = width.saturating_sub(leave.width() + 2);
    let own = view.keys_line(KeyPlace::Editors, &own, room);
    let rest = view.keys_line(KeyPlace::Panel, &rest, room.saturating_sub(own.width() + 2));
    let mut all = [own, rest, leave].into_iter().filter(|line| !line.pieces.is_empty());
    let first = all.next().unwrap_or_default();
    all.fold(first, |mut line, next| {
        line.push(Ink::Dim, "  ");
        line.and(next)
    })
}

fn tabs(view: &ViewContext<'_>, screen: &EditorScreen, area: Rect, buf: &mut Buffer) {
    let mut line = Line::new();
    let all = EditableKind::ALL.iter().map(|kind| kind.title().len() + 3).sum::<usize>();
    let here = EditableKind::ALL.iter().position(|kind| *kind == screen.kind).unwrap_or(0);
    // If the tabs do not fit, the tabs before the open one scroll out of view.
    let from = if all > usize::from(area.width) { here.saturating_sub(1) } else { 0 };
    if from > 0 {
        line.push(Ink::Dim, view.theme.glyphs.ellipsis);
    }
    for kind in EditableKind::ALL.into_iter().skip(from) {
        if kind == screen.kind {
            line.push(Ink::Accent, &format!("[{}] ", kind.title()));
        } else {
            line.push(Ink::Dim, &format!(" {}  ", kind.title()));
        }
    }
    paint::line(view.theme, &line, area, buf);
}

fn none(view: &ViewContext<'_>, kind: EditableKind) -> String {
    match kind {
        EditableKind::State => {
            "No state block yet. Once an answer contains a state block, the block appears here with its \
                versions."
                .to_owned()
        }
        EditableKind::Summaries => {
            let key = view.key(Action::Draft);
            format!(
                "No summaries are in use on this branch. {key} drafts a summary; once you accept the draft, the \
                summary appears here."
            )
        }
        EditableKind::Memories => "No memories yet. /remember TEXT adds a memory.".to_owned(),
        EditableKind::Policies => "There are no policies.".to_owned(),
        EditableKind::Rules => {
            "There is no AGENTS.md (or CLAUDE.md) in this folder, in a folder above it up to the repository's \
                root, or beside your settings. Once a folder is trusted, its AGENTS.md is sent with every \
                request. "
                .to_owned()
                + &format!("{} creates an AGENTS.md here.", view.key_in(Action::EditText, KeyPlace::Editors))
        }
        EditableKind::Modules => {
            "No module summaries yet. /module-summary PATH summarizes a folder or file from its own documentation; \
                mode \
                Heavy sends such summaries with requests."
                .to_owned()
        }
        EditableKind::Skills => "There are no skills. A skill is a folder with a SKILL.md in .claude/skills, \
            .agents/skills, \
            or .pleach/skills, here (in a trusted folder) or in your home folder."
            .to_owned(),
    }
}

fn items(view: &ViewContext<'_>, screen: &EditorScreen, area: Rect, buf: &mut Buffer) {
    let page = usize::from(area.height);
    let from = paint::first_row(screen.cursor, screen.items.len(), page);
    for ((at, item), row) in screen.items.iter().enumerate().skip(from).zip(area.rows()) {
        let glyphs = &view.theme.glyphs;
        let (sign, ink) = if item.in_use { (glyphs.branch, Ink::Text) } else { (glyphs.other, Ink::Dim) };
        let note = match (item.kind, item.editing) {
            (EditableKind::Policies, Editability::Copy) => "built in".to_owned(),
            (EditableKind::Policies, _) => "yours".to_owned(),
            (EditableKind::Rules | EditableKind::Modules, _) => {
                item.note.split(';').next().unwrap_or_default().to_owned()
            }
            (EditableKind::Skills, _) => String::new(),
            (EditableKind::State | EditableKind::Summaries | EditableKind::Memories, _) => match item.versions.len() {
                0 => "empty".to_owned(),
                versions => text::counted(versions as u64, "version"),
            },
        };
        let room = usize::from(row.width).saturating_sub(text::width(&note) + 4);
        let label = Line::of(ink, &format!("{sign} ")).with(ink, &text::fit(&item.title, room, glyphs.ellipsis));
        paint::pair(view.theme, &label, &Line::of(Ink::Dim, &format!("{note} ")), row, buf);
        view.entry(row, at, at == screen.cursor, buf);
    }
    paint::thumb(view.theme, from, screen.items.len(), page, area, buf);
}

fn item(view: &ViewContext<'_>, screen: &EditorScreen, area: Rect, buf: &mut Buffer) -> (usize, usize) {
    let Some(item) = screen.selected() else { return (0, 0) };
    let width = usize::from(area.width).max(1);
    let mut head: Vec<Line> = Vec::new();
    if area.height >= 8 {
        // Module summaries need a third row, which says why a summary is stale.
        let rows = if item.kind == EditableKind::Modules { 3 } else { 2 };
        head.extend(TextRows::plain(&heading(item), width, Ink::Heading).into_iter().take(rows));
        // The row stays empty while no summary is written, so that the text does not move.
        head.push(progress(view).unwrap_or_default());
    } else {
        head.extend(progress(view));
    }
    let most = if area.height >= 8 { 2 } else { 1 };
    head.extend(TextRows::plain(&versions(view, screen, item), width, Ink::Dim).into_iter().take(most));
    let mut below = preview(view, screen, item, width);
    below.truncate(usize::from(area.height) / 3);
    paint::lines(view.theme, &head, area, buf);
    let used = u16::try_from(head.len()).unwrap_or(area.height).min(area.height);
    let footer = u16::try_from(below.len()).unwrap_or(0);
    let room = Rect { y: area.y + used, height: area.height.saturating_sub(used + footer), ..area };
    let rows = body(screen, item, width.saturating_sub(1).max(1));
    paint::lines(view.theme, &below, Rect { y: room.bottom(), height: footer, ..area }, buf);
    view.scrolled(&rows, screen.scroll.top, room, buf)
}

/// The module summary that is being written on this branch.
fn summing<'a>(view: &ViewContext<'a>) -> Option<&'a PendingModuleSummary> {
    let branch = view.model.branch()?.id;
    view.model.drafts.parts.values().find(|part| part.branch == branch)
}

/// The progress of a module summary.
fn progress(view: &ViewContext<'_>) -> Option<Line> {
    summing(view).map(|part| Line::of(Ink::Accent, &part.sentence()))
}

fn heading(item: &Editable) -> String {
    // The list shows the short form; here, the full form is enough.
    let full = |note: &str| match note.split_once("; ") {
        Some((short, rest)) if rest.starts_with(short) => rest.to_owned(),
        _ => note.to_owned(),
    };
    let note = if item.note.is_empty() { String::new() } else { format!(": {}", full(&item.note)) };
    let goes = if item.kind == EditableKind::Policies && item.in_use { " (this branch's policy)" } else { "" };
    format!("{}{goes}{note}", item.title)
}

/// Describes the shown version: `version 3 of 4, now · 12:03 · beside version 2: 2 lines gone, 3 new`
fn versions(view: &ViewContext<'_>, screen: &EditorScreen, item: &Editable) -> String {
    let dot = format!(" {} ", view.theme.glyphs.dot);
    let Some(shown) = screen.shown() else {
        let words = match item.editing {
            Editability::Not(why) => why,
            Editability::Here | Editability::Copy => "There are no versions yet.",
        };
        return words.to_owned();
    };
    let mut parts = vec![shown.what.clone()];
    if shown.current && item.versions.len() > 1 {
        parts.push("now".to_owned());
    }
    parts.extend(shown.at.map(|at| view.date_time(at)));
    parts.push(match screen.other() {
        Some(other) => {
            let lines = diff_lines(&other.text, &shown.text);
            let count = |wanted| lines.iter().filter(|(tag, _)| *tag == wanted).count();
            let (gone, new) = (count(ChangeTag::Delete), count(ChangeTag::Insert));
            format!("compared with {}: {gone} removed, {new} added", other.what)
        }
        None if screen.comparison == VersionComparison::Nothing => "whole text".to_owned(),
        None if item.versions.len() > 1 => "the first".to_owned(),
        None => "whole text".to_owned(),
    });
    parts.join(&dot)
}

fn body(screen: &EditorScreen, item: &Editable, width: usize) -> Vec<Line> {
    let Some(shown) = screen.shown() else { return Vec::new() };
    match screen.other() {
        Some(other) => diff_rows(other, shown, width),
        None if matches!(item.kind, EditableKind::Policies | EditableKind::Rules | EditableKind::Skills) => {
            TextRows::exact(&shown.text, width, Ink::Text)
        }
        None => TextRows::all(&shown.text, width, Ink::Text),
    }
}

/// The lines of two texts with their change.
fn diff_lines<'a>(before: &'a str, after: &'a str) -> Vec<(ChangeTag, &'a str)> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let (old_len, new_len) = (old.len(), new.len());
    let steps = if old_len.max(new_len) > COMPARED && old != new {
        vec![DiffOp::Replace { old_index: 0, old_len, new_index: 0, new_len }]
    } else {
        capture_diff_slices(Algorithm::Myers, &old, &new)
    };
    let changes = steps.iter().flat_map(|step| step.iter_changes(&old[..], &new[..]));
    changes.map(|change| (change.tag(), change.value())).collect()
}

/// Changed lines with some unchanged ones around them, and the number of unchanged lines between.
fn diff_rows(other: &Version, shown: &Version, width: usize) -> Vec<Line> {
    let all = diff_lines(&other.text, &shown.text);
    let changes: Vec<usize> =
        all.iter().enumerate().filter(|(_, (tag, _))| *tag != ChangeTag::Equal).map(|(at, _)| at).collect();
    if changes.is_empty() {
        return TextRows::plain("No differences.", width, Ink::Dim);
    }
    let mut rows = Vec::new();
    let mut skipped = 0;
    let mut next = 0;
    for (at, (tag, text)) in all.iter().enumerate() {
        while next < changes.len() && changes[next] + AROUND < at {
            next += 1;
        }
        let near = changes.get(next).is_some_and(|change| change.abs_diff(at) <= AROUND);
        if !near {
            skipped += 1;
            continue;
        }
        push_unchanged(&mut rows, &mut skipped, width);
        let (sign, ink) = match tag {
            ChangeTag::Equal => (' ', Ink::Dim),
            ChangeTag::Delete => ('-', Ink::Excluded),
            ChangeTag::Insert => ('+', Ink::Good),
        };
        rows.extend(TextRows::exact(&format!("{sign} {text}"), width, ink));
    }
    push_unchanged(&mut rows, &mut skipped, width);
    rows
}

fn push_unchanged(rows: &mut Vec<Line>, skipped: &mut usize, width: usize) {
    if *skipped > 0 {
        let lines = text::counted(*skipped as u64, "line");
        rows.extend(TextRows::plain(&format!("  ({lines} unchanged)"), width, Ink::Border));
    }
    *skipped = 0;
}

/// The preview of the next request under the policy.
fn preview(view: &ViewContext<'_>, screen: &EditorScreen, item: &Editable, width: usize) -> Vec<Line> {
    let Some(PolicyPreview { result, .. }) = screen.preview.as_ref().filter(|preview| preview.policy == item.id) else {
        return Vec::new();
    };
    let mut rows = vec![Line::of(Ink::Border, &view.theme.glyphs.rule.repeat(width))];
    let words = match result {
        None => "Previewing the next request under this policy".to_owned(),
        Some(Err(why)) => why.clone(),
        Some(Ok(found)) => match (found.alternatives.first().map(|way| &way.result), &found.present) {
            (Some(Ok(made)), Ok(now)) => describe_preview(view, made, now),
            (Some(Err(why)), _) | (_, Err(why)) => why.to_string(),
            (None, Ok(_)) => "The next request stays the same.".to_owned(),
        },
    };
    rows.extend(TextRows::plain(&words, width, Ink::Text));
    rows
}

/// `The next request with this policy: 4,980 of 8,000 tokens (estimated) instead of 5,213, cached 80%, $0.0009; adds 2
/// items, removes 4.`
fn describe_preview(view: &ViewContext<'_>, made: &PlanFigures, now: &PlanFigures) -> String {
    let number = |n: u32| text::number(u64::from(n));
    let (est, room, label) = (number(made.est), number(made.budget.total()), made.certainty.in_words());
    let same = made.plan == now.plan;
    let before = if same { String::new() } else { format!(" instead of {}", number(now.est)) };
    let about = view.theme.glyphs.about;
    let cost = made.cost.map_or_else(String::new, |cost| format!(", {about} {}", money(cost.micro)));
    let [(gained, more), (lost, less)] = made.sums;
    let side = |count: u32, tokens: u32| match count {
        0 => "nothing".to_owned(),
        _ => format!("{} ({} tokens)", text::counted(count.into(), "item"), number(tokens)),
    };
    let items = match (gained + lost, same) {
        (0, true) => "the request is the same".to_owned(),
        (0, false) => "the same items are included".to_owned(),
        _ => format!("adds {}, removes {}", side(gained, more), side(lost, less)),
    };
    let cached = made.same_text();
    format!(
        "The next request with this policy: {est} of {room} tokens ({label}){before}, cached {cached}{cost}; {items}."
    )
}
