//! Draws the composer: facts about the message, its text, the keys, and the completions above it.
//! Not for: editing (`chat::model::composer`), or the notice (`notice`).

use crate::domain::code::NamedSymbol;
use crate::domain::planning::{DraftKind, Verdict};
use crate::tui::chat::model::complete::CompletionPopup;
use crate::tui::chat::model::slash::{self, CommandRow};
use crate::tui::model::Model;
use crate::tui::model::focus::Focus;
use crate::tui::model::keys::in_menu_room;
use crate::tui::screens::request::model::fixed;
use crate::tui::text::wrap;
use crate::tui::view::MAX_HINTS;
use crate::tui::view::prelude::*;
use ratatui::widgets::Widget;

/// The maximum number of rows of the list of commands.
const MENU_ROWS: u16 = 10;

/// The height that the text would use: at least one row, at most a third of the screen.
pub(crate) fn rows(model: &Model, area: Rect) -> u16 {
    let most = (area.height / 3).max(1);
    let room = usize::from(area.width.saturating_sub(5).max(1));
    let mut rows = 0_u16;
    for line in model.composer.area().lines() {
        let needed = if line.len() < room { 1 } else { wrap::rows(line, room, 0).len() };
        rows = rows.saturating_add(u16::try_from(needed).unwrap_or(u16::MAX));
        if rows >= most {
            return most;
        }
    }
    rows.max(1)
}

/// Draws a rule with facts about the message, `notice` empty rows for a notice, the text, and the keys.
pub(crate) fn draw(view: &ViewContext<'_>, area: Rect, notice: u16, buf: &mut Buffer) {
    let focus = view.focused(Focus::Composer);
    let mut inside = area;
    if area.height >= 3 && area.width >= 3 {
        paint::rule(view.theme, area, buf);
        paint::caption(view.theme, title(view, area), Rect { height: 1, ..area }, buf);
        let keys = Rect { x: area.x + 1, y: area.bottom() - 1, width: area.width - 1, height: 1 };
        paint::line(view.theme, &hints(view, usize::from(keys.width)), keys, buf);
        let height = area.height.saturating_sub(2 + notice);
        inside = Rect { x: area.x + 1, y: area.y + 1 + notice, width: area.width - 2, height };
    }
    if inside.is_empty() {
        return;
    }
    let lead = if inside.width > 4 { 2 } else { 0 };
    if lead > 0 {
        paint::line(view.theme, &Line::of(if focus { Ink::Accent } else { Ink::Dim }, ">"), inside, buf);
    }
    let room = Rect { x: inside.x + lead, width: inside.width - lead, ..inside };
    view.model.composer.area().render(room, buf);
    if !focus {
        hide_cursor(view, room, buf);
    }
    if view.model.composer.is_empty() {
        let key = view.key(Action::Leave);
        let text = if focus {
            " Type a message, / for commands, @ for files".to_owned()
        } else if view.model.layers.is_empty() {
            format!(" {key} to type")
        } else {
            // The key closes the screen, and the screen itself says so.
            String::new()
        };
        let place = Rect { x: room.x + 1, width: room.width.saturating_sub(1), ..room };
        paint::line(view.theme, &paint::cut(view.theme, Ink::Dim, &text, usize::from(place.width)), place, buf);
    }
}

/// Draws the completions of a command or a name above the composer. Called last, so that nothing is drawn over them.
pub(crate) fn popup(view: &ViewContext<'_>, area: Rect, buf: &mut Buffer) {
    let focus = view.focused(Focus::Composer);
    if focus && view.model.composer.listing() {
        completions(view, area, buf);
    } else if let Some(popup) = view.model.popup.as_ref().filter(|popup| focus && popup.seen()) {
        names(view, popup, area, buf);
    }
}

/// Hides the text cursor while the composer does not have the focus.
fn hide_cursor(view: &ViewContext<'_>, room: Rect, buf: &mut Buffer) {
    let style = view.theme.style(Ink::Text).remove_modifier(ratatui::style::Modifier::REVERSED);
    buf.set_style(room.intersection(buf.area), style);
}

fn title(view: &ViewContext<'_>, area: Rect) -> Line {
    let model = view.model;
    let Some(session) = &model.session else { return Line::new() };
    let rule = format!(" {} ", view.theme.glyphs.rule);
    let mut parts: Vec<(Ink, String)> = Vec::new();
    if model.conversation.search.is_some() {
        parts.push((Ink::Accent, format!("search{}", super::conversation::search_count(view, true))));
    }
    if let DraftKind::Edit(node) = model.composer.kind() {
        let key = view.key(Action::Leave);
        let text = if model.conversation.later_than(&session.tree, node) == 0 {
            format!("editing your message; {key} restores the draft")
        } else {
            let kept = 1 + model.conversation.after(&session.tree, node);
            let kept = text::counted(kept as u64, "message");
            format!("editing an earlier message; {kept} kept as another version; {key} restores the draft")
        };
        parts.push((Ink::Warn, text));
    }
    if session.branch().is_some_and(|branch| branch.reply.is_some()) {
        parts.push((Ink::Warn, "reply".into()));
    }
    if let Some(settings) = session.settings() {
        parts.push((Ink::Accent, format!("CTX: {}", settings.mode.title())));
        if area.width >= 100 {
            parts.push((Ink::Text, format!("policy {}", settings.policy)));
        }
    }
    parts.extend(queued(view));
    parts.extend(files(view));
    parts.extend(summary(view));
    let blocked = session.branch().is_some_and(|branch| model.plan.blocked(branch.id).is_some());
    parts.extend(blocked.then(|| (Ink::Danger, "the request does not fit".to_owned())));
    parts.extend(super::next_request::mark_warnings(view).map(|text| (Ink::Warn, text)));
    let mut line = Line::new();
    for (at, (ink, text)) in parts.iter().enumerate() {
        if at > 0 {
            line.push(Ink::Border, &rule);
        }
        let room = usize::from(area.width).saturating_sub(line.width() + 4);
        line.push(*ink, &text::fit(text, room, view.theme.glyphs.ellipsis));
    }
    line
}

/// The number of queued messages, whether they wait for the person, and the keys for them.
fn queued(view: &ViewContext<'_>) -> Option<(Ink, String)> {
    let branch = view.model.branch()?.id;
    let waiting = Some(view.model.queue.of(branch).len()).filter(|waiting| *waiting > 0)?;
    let held = view.model.queue.held(branch);
    let send = held.map_or_else(String::new, |_| format!(" and not sent, {} sends", view.key(Action::SendQueued)));
    Some((Ink::Warn, format!("{waiting} queued{send}, {} edits the last", view.key(Action::TakeQueued))))
}

/// The attached files.
fn files(view: &ViewContext<'_>) -> Option<(Ink, String)> {
    let bytes = |text: &std::sync::Arc<str>| text::number(u64::try_from(text.len()).unwrap_or(0));
    let files: Vec<String> =
        view.model.composer.files().map(|(path, text)| format!("{path} {} bytes", bytes(text))).collect();
    match files.as_slice() {
        [] => None,
        [one] => Some((Ink::Accent, format!("with {one}"))),
        all => Some((Ink::Accent, format!("with {} files", all.len()))),
    }
}

/// A summary that is being written, or a draft that waits.
fn summary(view: &ViewContext<'_>) -> Option<(Ink, String)> {
    let branch = view.model.branch()?.id;
    let drafts = &view.model.drafts;
    if let Some(part) = drafts.parts.values().find(|part| part.branch == branch) {
        let how = if part.stopping { String::new() } else { format!(", {} stops", view.key(Action::Leave)) };
        return Some((Ink::Dim, format!("{}{how}", part.sentence())));
    }
    if drafts.making.contains_key(&branch) {
        return Some((Ink::Dim, "summarizing".into()));
    }
    drafts.waiting.get(&branch).map(|_| (Ink::Accent, format!("summary drafted, {}", view.key(Action::Draft))))
}

/// The actions hinted for the focused pane.
fn hint_words(view: &ViewContext<'_>) -> &'static [(Action, &'static str)] {
    use Action as A;
    match (view.model.focus, view.model.live_here().is_some()) {
        (Focus::Composer, _) if view.model.popup.as_ref().is_some_and(|popup| popup.selected().is_some()) => {
            &[(A::Send, "accept"), (A::Leave, "close the list"), (A::Help, "help")]
        }
        (Focus::Composer, _) if view.model.composer.listing() && !listed(view).is_empty() => list_hints(view),
        (Focus::Composer, true) => {
            &[(A::Leave, "stop"), (A::CycleMode, "mode"), (A::NextRequest, "request"), (A::Help, "help")]
        }
        (Focus::Composer, false) => composer_hints(view),
        (Focus::Conversation, _) if view.model.conversation.search.is_some() => &[
            (A::NextHit, "next match"),
            (A::PrevHit, "previous match"),
            (A::Filter, "new search"),
            (A::Pin, "pin"),
            (A::Exclude, "leave out"),
            (A::Leave, "end the search"),
        ],
        (Focus::Conversation, _) if view.model.conversation.path.is_empty() => &[(A::Help, "help"), (A::Leave, "type")],
        (Focus::Conversation, _) => &[
            (A::Pin, "pin"),
            (A::Exclude, "leave out"),
            (A::Fork, "fork"),
            (A::Edit, "edit"),
            (A::Regenerate, "regenerate"),
            (A::Undo, "undo"),
            (A::Leave, "type"),
        ],
        // The end of a path without a branch.
        (Focus::Branches, _) if view.model.panel.cursor >= view.model.panel.rows.len() => {
            &[(A::Open, "create a branch here"), (A::Leave, "type")]
        }
        (Focus::Branches, _) => &[
            (A::Open, "switch to"),
            (A::Fork, "fork"),
            (A::Compare, "compare"),
            (A::Rename, "rename"),
            (A::Archive, "archive"),
            (A::Undo, "undo"),
            (A::Leave, "type"),
        ],
        (Focus::Context, _) if view.model.panel_row().is_some_and(|row| row.verdict == Verdict::Suggested) => {
            &[(A::Pin, "pin"), (A::Dismiss, "dismiss"), (A::Fork, "fork"), (A::Open, "open"), (A::Leave, "type")]
        }
        (Focus::Context, _) if view.model.panel_row().is_some_and(|row| fixed(row).is_none()) => &[
            (A::Pin, "pin"),
            (A::Exclude, "leave out"),
            (A::IncludeOnce, "include once"),
            (A::Lease, "lease"),
            (A::Fork, "fork"),
            (A::Open, "open"),
            (A::Leave, "type"),
        ],
        (Focus::Tools | Focus::Context, _) => &[(A::Open, "open"), (A::NextPane, "next pane"), (A::Leave, "type")],
    }
}

/// The actions hinted while completions are listed. Enter completes a command that has arguments, and runs any other.
fn list_hints(view: &ViewContext<'_>) -> &'static [(Action, &'static str)] {
    use Action as A;
    let composer = &view.model.composer;
    match slash::taken(composer.first_line(), composer.choice, &view.model.input.recent_commands) {
        Some(row) if !row.words.is_empty() => &[(A::Send, "complete"), (A::Leave, "close the list"), (A::Help, "help")],
        _ => &[(A::Send, "run"), (A::Complete, "complete"), (A::Leave, "close the list"), (A::Help, "help")],
    }
}

/// The actions hinted for the composer while no answer arrives and no list is open.
fn composer_hints(view: &ViewContext<'_>) -> &'static [(Action, &'static str)] {
    use Action as A;
    if view.model.composer.commanding() {
        return &[(A::Send, "run"), (A::Complete, "complete"), (A::Help, "help")];
    }
    if view.model.branch().is_some_and(|branch| view.model.queue.held(branch.id).is_some()) {
        return &[
            (A::SendQueued, "send queued"),
            (A::TakeQueued, "edit queued"),
            (A::Send, "send"),
            (A::CycleMode, "mode"),
            (A::NextRequest, "request"),
            (A::Help, "help"),
        ];
    }
    &[
        (A::Send, "send"),
        (A::CycleMode, "mode"),
        (A::NextRequest, "request"),
        (A::Complete, "messages"),
        (A::Palette, "actions"),
        (A::Help, "help"),
        (A::Branches, "branches"),
    ]
}

/// The keys of the focused pane; none while a screen is open, which names its own keys.
fn hints(view: &ViewContext<'_>, width: usize) -> Line {
    let mut line = Line::new();
    if !view.model.layers.is_empty() {
        return line;
    }
    let waits = view.model.live.values().any(|live| live.asks.is_some());
    let first = waits.then_some(&(Action::AnswerTool, "approve or deny"));
    for (action, word) in first.into_iter().chain(hint_words(view)).take(MAX_HINTS) {
        let Some(key) = hint_key(view, *action) else { continue };
        let sep = if line.pieces.is_empty() { "" } else { "  " };
        if line.width() + sep.len() + text::width(&key) + word.len() + 6 > width {
            break;
        }
        line.push_safe(Ink::Dim, sep);
        line.push(Ink::Accent, &key);
        line.push(Ink::Dim, &format!(" {word}"));
    }
    line
}

/// The key of an action in the focused pane, in its short form such as `^F`.
fn hint_key(view: &ViewContext<'_>, action: Action) -> Option<String> {
    if action == Action::Leave {
        return view.model.keys.best(|b| b.run == action && b.when == KeyPlace::Always).map(|b| b.on.to_string());
    }
    let here = |place: &KeyPlace| view.model.keys.best(|b| b.run == action && b.when == *place && b.on.count() == 1);
    let key = view.model.places().iter().find_map(here)?.on.to_string();
    Some(match key.strip_prefix("Ctrl+").filter(|rest| !rest.contains(' ')) {
        Some(rest) => format!("^{}", rest.to_uppercase()),
        None => key,
    })
}

/// A row of the list of commands.
enum Listed {
    Heading(&'static str),
    /// A command, with its index among the choices.
    Command(usize, &'static CommandRow),
}

/// The rows of the list of commands: after a single slash, with the headings of the groups.
fn listed(view: &ViewContext<'_>) -> Vec<Listed> {
    let (line, recent) = (view.model.composer.first_line(), &view.model.input.recent_commands);
    if line != "/" {
        let choices = slash::choices(line, recent).into_iter().enumerate();
        return choices.map(|(at, row)| Listed::Command(at, row)).collect();
    }
    let mut rows = Vec::new();
    let mut last = "";
    for (at, (heading, row)) in slash::menu(recent).into_iter().enumerate() {
        if heading != last {
            rows.push(Listed::Heading(heading));
            last = heading;
        }
        rows.push(Listed::Command(at, row));
    }
    rows
}

/// Draws the commands that complete the line, or the usage of the command whose arguments are being typed.
fn completions(view: &ViewContext<'_>, below: Rect, buf: &mut Buffer) {
    let mut list = listed(view);
    // A refusal is shown there instead, since it contains the usage.
    let quiet = list.is_empty() && view.model.status.shown().is_none();
    let usage = if quiet { slash::hint(view.model.composer.first_line()) } else { None };
    list.extend(usage.map(|row| Listed::Command(0, row)));
    let rows = u16::try_from(list.len()).unwrap_or(u16::MAX).min(MENU_ROWS).min(below.y);
    if rows == 0 {
        return;
    }
    let (line, recent) = (view.model.composer.first_line(), &view.model.input.recent_commands);
    let cursor = view.model.composer.choice.or_else(|| slash::continued(line, recent));
    let chosen = list.iter().position(|row| matches!(row, Listed::Command(at, _) if Some(*at) == cursor)).unwrap_or(0);
    let from = (chosen + 1).saturating_sub(usize::from(rows));
    let until = list.len().min(from + usize::from(rows));
    // A heading without its commands is left out.
    let bare = usize::from(matches!(list[until - 1], Listed::Heading(_)));
    let shown = &list[from..until - bare];
    let rows = u16::try_from(shown.len()).unwrap_or(rows);
    let title = u16::from(usage.is_none() && below.y > rows);
    let area = Rect { x: below.x, y: below.y - rows - title, width: below.width, height: rows + title };
    paint::clear(area, buf);
    let commands = |rows: &[Listed]| rows.iter().filter(|row| matches!(row, Listed::Command(..))).count();
    if title > 0 {
        paint::rule(view.theme, area, buf);
        let count = format!(" Commands {} {} of {} ", view.theme.glyphs.dot, commands(shown), commands(&list));
        let place = Rect { x: area.x + 1, width: area.width - 1, ..area };
        paint::line(view.theme, &Line::of(Ink::Heading, &count), place, buf);
    }
    let width = |row: &Listed| match row {
        Listed::Command(_, row) => text::width(format!("/{} {}", row.name, arguments(view, row)).trim_end()) + 1,
        Listed::Heading(_) => 0,
    };
    let widest = shown.iter().map(width).max().unwrap_or(0).min(usize::from(area.width) / 3);
    for (listed, place) in shown.iter().zip(area.rows().skip(usize::from(title))) {
        let place = Rect { x: place.x + 1, width: place.width.saturating_sub(2), ..place };
        let (at, row) = match listed {
            Listed::Heading(heading) => {
                paint::line(view.theme, &Line::of(Ink::Heading, heading), place, buf);
                continue;
            }
            Listed::Command(at, row) => (*at, *row),
        };
        paint::line(view.theme, &command(view, row, (widest, usize::from(place.width)), usage.is_some()), place, buf);
        if Some(at) == cursor && usage.is_none() {
            paint::select(view.theme, place, buf);
        }
    }
}

/// The arguments of a command, as they are typed.
fn arguments(view: &ViewContext<'_>, row: &CommandRow) -> String {
    row.typed_words().replace('…', view.theme.glyphs.ellipsis)
}

/// A row of the list of commands: its usage in at most `widest` columns, then its description, in full if `whole`.
fn command(view: &ViewContext<'_>, row: &CommandRow, (widest, width): (usize, usize), whole: bool) -> Line {
    let ellipsis = view.theme.glyphs.ellipsis;
    let name = format!("/{} ", row.name);
    let text = text::fit(&arguments(view, row), widest.saturating_sub(text::width(&name)), ellipsis);
    let mut line = Line::of(Ink::Accent, &name).with(Ink::Text, &text);
    let pad = (widest + 2).saturating_sub(line.width()).max(2);
    let room = width.saturating_sub(line.width() + pad);
    let does = if whole { row.sentence.as_str() } else { in_menu_room(&row.sentence, room) };
    line.push(Ink::Dim, &format!("{}{}", " ".repeat(pad), text::fit(does, room, ellipsis)));
    line
}

/// Kind and place of a symbol: `function  src/a.rs:12`
fn place_of(named: &NamedSymbol) -> String {
    format!("{}  {}:{}", named.kind.name(), named.path, named.lines.0)
}

/// Draws the list of names that complete a mention, above the composer.
fn names(view: &ViewContext<'_>, popup: &CompletionPopup, below: Rect, buf: &mut Buffer) {
    let note = u16::from(!popup.note.is_empty());
    let rows = (u16::try_from(popup.items.len()).unwrap_or(u16::MAX).min(8) + note).min(below.y);
    if rows == 0 {
        return;
    }
    let area = Rect { x: below.x + 1, y: below.y - rows, width: below.width.saturating_sub(2), height: rows };
    paint::clear(area, buf);
    let page = usize::from(rows - note.min(rows));
    let from = (popup.cursor + 1).saturating_sub(page);
    let mut places = area.rows();
    for ((at, item), place) in popup.items.iter().enumerate().skip(from).take(page).zip(&mut places) {
        let symbol = item.symbol.as_deref();
        let (folder, own) = match symbol {
            Some(named) => (place_of(named), item.name.rsplit('#').next().unwrap_or_default()),
            None => item.name.rsplit_once('/').map_or((String::new(), item.name.as_str()), |(f, own)| (f.into(), own)),
        };
        let room = usize::from(place.width).saturating_sub(text::width(own) + 4);
        let mut line = Line::of(Ink::Accent, &format!("@{}", text::fit(own, usize::from(place.width) - 1, "")));
        line.push(Ink::Dim, &format!("  {}", text::fit(&folder, room, view.theme.glyphs.ellipsis)));
        let key = |action| view.key_in(action, KeyPlace::Composer);
        let accepts = || format!("{} or {} accepts", key(Action::Complete), key(Action::Send));
        let text = if at == popup.cursor { accepts() } else { String::new() };
        paint::pair(view.theme, &line, &Line::of(Ink::Dim, &text), place, buf);
        if at == popup.cursor {
            paint::select(view.theme, place, buf);
        }
    }
    if let Some(place) = places.next().filter(|_| note > 0) {
        paint::line(view.theme, &paint::cut(view.theme, Ink::Warn, &popup.note, usize::from(place.width)), place, buf);
    }
}
