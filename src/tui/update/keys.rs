//! Keys: to an action by the key table, or into whatever text is being typed.
//! Not for: what the bigger actions do (`acts`, `ask`, `branches`, `screens::picker::update`, `open`).

use super::{comfort, open, send};
use crate::domain::conversation::mark::MarkKind;
use crate::engine::api::Request;
use crate::tui::chat::update::{acts, ask, branches, completing, composing, queueing, quit};
use crate::tui::model::layer::Layer;
use crate::tui::model::status::Weight;
use crate::tui::model::{Action, Chord, Focus, Key, Model, Pending};
use crate::tui::msg::Cmd;
use crate::tui::screens;
use tui_textarea::{CursorMove, Input, Key as AreaKey};

/// Two presses within this time belong together, in milliseconds.
const TWICE: u64 = 1_500;

pub(super) fn key(model: &mut Model, chord: Chord, out: &mut Vec<Cmd>) {
    model.sync_tree();
    model.sync_traces();
    let typing = takes_text(model);
    let begins = model.leading.0.is_empty();
    if !(begins && typing && chord.typed().is_some()) && comfort::lead(model, chord, out) {
        return;
    }
    let help = model.layers.is_empty() && model.composer.is_empty() && chord == Chord::plain(Key::Char('?'));
    if typing && chord.typed().is_some() && !(help && model.focus == Focus::Composer) {
        type_in(model, chord, out);
        return;
    }
    match model.keys.find(chord, &model.places()) {
        Some(run) => action(model, run, Some(chord), out),
        None if help && model.focus == Focus::Composer => action(model, Action::Help, None, out),
        None => type_in(model, chord, out),
    }
}

fn takes_text(model: &Model) -> bool {
    model.layers.last().map_or(model.focus == Focus::Composer, Layer::types)
}

pub(super) fn paste(model: &mut Model, text: &str, out: &mut Vec<Cmd>) {
    model.leading.0.clear();
    let line = || {
        let all = text.lines().next().unwrap_or_default();
        all.chars().filter(|c| !c.is_control()).take(500).collect::<String>()
    };
    match model.layers.last_mut() {
        Some(Layer::Editor(editor)) => {
            let clean = crate::tui::chat::model::composer::line_ends(text);
            editor.area.insert_str(clean.chars().filter(|c| !c.is_control() || *c == '\n').collect::<String>());
        }
        Some(Layer::Prompt(prompt)) => prompt.text.push_str(&line()),
        Some(Layer::Picker(picker)) => {
            picker.filter.push_str(&line());
            picker.sift();
        }
        Some(Layer::Find(finder)) => {
            finder.line.push_str(&line());
            screens::search::update::changed(model, out);
        }
        Some(Layer::Raw(raw)) if raw.searching => {
            raw.search.push_str(&line());
            raw.look();
        }
        Some(Layer::Traces(screen)) if screen.filtering => screen.filter.push_str(&line()),
        Some(Layer::Overlay(overlay)) if overlay.filtering => {
            overlay.filter.push_str(&line());
            overlay.list();
            overlay.land(1);
        }
        Some(_) => {}
        None => {
            model.focus = Focus::Composer;
            model.composer.paste(text);
            model.plan.touch(model.now);
        }
    }
}

fn type_in(model: &mut Model, chord: Chord, out: &mut Vec<Cmd>) {
    match model.layers.last_mut() {
        None if model.focus == Focus::Composer => {
            model.composer.edit().input(input(chord));
            model.plan.touch(model.now);
        }
        Some(Layer::Editor(editor)) => drop(editor.area.input(input(chord))),
        Some(Layer::Prompt(prompt)) => type_line(&mut prompt.text, chord),
        Some(Layer::Overlay(overlay)) if overlay.filtering => {
            type_line(&mut overlay.filter, chord);
            overlay.list();
            overlay.land(1);
        }
        Some(Layer::Picker(picker)) => {
            let before = picker.filter.clone();
            type_line(&mut picker.filter, chord);
            if picker.filter != before {
                picker.cursor = 0;
                picker.sift();
                screens::picker::update::filter_changed(model, out);
            }
        }
        Some(Layer::Find(finder)) => {
            let before = finder.line.clone();
            type_line(&mut finder.line, chord);
            if finder.line != before {
                screens::search::update::changed(model, out);
            }
        }
        Some(Layer::Raw(raw)) if raw.searching => {
            type_line(&mut raw.search, chord);
            raw.look();
        }
        Some(Layer::Traces(screen)) if screen.filtering => type_line(&mut screen.filter, chord),
        Some(Layer::Tree(grove)) if grove.filtering => {
            type_line(&mut grove.filter, chord);
            screens::tree::update::filtered(model);
        }
        Some(Layer::Question(question)) => {
            let wanted = chord.typed().map(|c| c.to_ascii_lowercase());
            let found = question.choices.iter().position(|(key, ..)| Some(*key) == wanted);
            if let Some(at) = found {
                question.cursor = at;
                open::choose(model, out);
            }
        }
        _ => {}
    }
}

fn type_line(text: &mut String, chord: Chord) {
    match (chord.key, chord.typed()) {
        (_, Some(c)) if !c.is_control() && text.len() < 2_000 => text.push(c),
        (Key::Backspace, _) => drop(text.pop()),
        (Key::Char('u'), _) if chord.ctrl => text.clear(),
        _ => {}
    }
}

fn input(chord: Chord) -> Input {
    let key = match chord.key {
        Key::Char(c) => AreaKey::Char(c),
        Key::F(n) => AreaKey::F(n),
        Key::Enter => AreaKey::Enter,
        Key::Tab => AreaKey::Tab,
        Key::BackTab => AreaKey::Null,
        Key::Esc => AreaKey::Esc,
        Key::Backspace => AreaKey::Backspace,
        Key::Delete => AreaKey::Delete,
        Key::Up => AreaKey::Up,
        Key::Down => AreaKey::Down,
        Key::Left => AreaKey::Left,
        Key::Right => AreaKey::Right,
        Key::Home => AreaKey::Home,
        Key::End => AreaKey::End,
        Key::PageUp => AreaKey::PageUp,
        Key::PageDown => AreaKey::PageDown,
    };
    Input { key, ctrl: chord.ctrl, alt: chord.alt, shift: chord.shift }
}

/// Runs an action, whether by its key, the palette or a command.
pub(crate) fn action(model: &mut Model, run: Action, chord: Option<Chord>, out: &mut Vec<Cmd>) {
    if run != Action::Clear {
        model.clear_at = None;
    }
    match run {
        Action::Send => ask::enter(model, out),
        Action::Compose => composing::to_editor(model, out),
        Action::HistoryUp | Action::HistoryDown if completing::step(model, run == Action::HistoryUp) => {}
        Action::Complete if completing::take(model, out) => {}
        Action::TakeQueued => queueing::take(model),
        Action::UndoTyping | Action::RedoTyping | Action::SelectAll => edit(model, run),
        Action::HistoryUp if model.composer.is_empty() && composing::ask_for_earlier(model, out) => {}
        Action::Newline | Action::ExpandPaste | Action::HistoryUp | Action::HistoryDown | Action::Complete => {
            composing(model, run, chord, out);
        }
        Action::Up | Action::Down | Action::Top | Action::Bottom | Action::ScrollUp | Action::ScrollDown => {
            screens::picker::update::travel(model, run, out);
        }
        Action::Leave => leave(model, out),
        Action::Interrupt => interrupt(model, out),
        Action::Clear if screens::aside::update::leave(model, out) => {}
        Action::Clear => clear(model),
        Action::Quit => quit::quit(model),
        Action::QuitIfEmpty if model.composer.is_empty() => quit::quit(model),
        Action::QuitIfEmpty => {}
        Action::Redraw => out.push(Cmd::Redraw),
        Action::Suspend => out.push(Cmd::Suspend),
        Action::ToggleMouse => {
            model.facts.mouse = !model.facts.mouse;
            out.push(Cmd::Mouse(model.facts.mouse));
            let key = model.keys.key_of(Action::ToggleMouse).unwrap_or_default();
            let text = if model.facts.mouse {
                format!("The mouse clicks, scrolls and drags borders here; {key} leaves it to the terminal again.")
            } else {
                "The mouse is the terminal's own again: it selects words.".to_owned()
            };
            model.status.report("mouse", text, model.now);
        }
        Action::NextPane => pane(model, 1, out),
        Action::PrevPane => pane(model, -1, out),
        Action::Branches => {
            model.layers.clear();
            model.focus = Focus::Branches;
        }
        Action::Undo | Action::Redo if screens::editor::update::undo(model, run == Action::Redo, out) => {}
        Action::Undo => drop(send(model, Request::Undo, Pending::Act, out)),
        Action::Redo => drop(send(model, Request::Redo, Pending::Act, out)),
        _ => act(model, run, out),
    }
}

fn act(model: &mut Model, run: Action, out: &mut Vec<Cmd>) {
    match run {
        Action::Pin => acts::mark(model, MarkKind::Sticky, out),
        Action::Lease => acts::lease(model, out),
        Action::Exclude => acts::mark(model, MarkKind::Exclude, out),
        Action::ExcludeOnce => acts::mark(model, MarkKind::ExcludeOnce, out),
        Action::SearchAnyway => acts::search(model),
        Action::IncludeOnce => acts::mark(model, MarkKind::IncludeOnce, out),
        Action::Reply => acts::reply(model, out),
        Action::Fork => acts::fork(model, out),
        Action::Edit => acts::edit(model, out),
        Action::Regenerate => acts::regenerate(model, out),
        Action::Continue => acts::go_on(model, out),
        Action::NextSibling => acts::sibling(model, 1, out),
        Action::PrevSibling => acts::sibling(model, -1, out),
        Action::Copy => acts::copy(model, out),
        Action::CopyPart => crate::tui::chat::update::copying::menu(model, out),
        Action::FoldMessage => open::fold(model),
        Action::CycleMode => branches::cycle_mode(model, out),
        Action::BudgetUp => branches::step_budget(model, true, out),
        Action::BudgetDown => branches::step_budget(model, false, out),
        Action::UseOffline => branches::use_offline(model, out),
        Action::Archive => branches::archive(model, out),
        Action::RenameSession => branches::title_prompt(model),
        Action::Sessions => screens::picker::update::sessions(model, String::new(), out),
        Action::Find => screens::search::update::open(model, String::new(), out),
        Action::Back => screens::search::update::back(model, out),
        Action::Tree => screens::tree::update::open(model),
        Action::Fold | Action::Unfold => screens::tree::update::action(model, run),
        Action::Label | Action::Favourite | Action::Labels => crate::tui::chat::update::tags::action(model, run, out),
        Action::KeepAside => screens::aside::update::keep(model, out),
        Action::Models => screens::picker::update::models(model, out),
        Action::Memories => screens::memories::update::open(model, out),
        Action::Themes => comfort::themes(model),
        Action::StartRace => comfort::start_race(model),
        Action::Focus => crate::tui::chat::update::focus::prompt(model),
        Action::Reload => out.push(Cmd::Reload(true)),
        Action::NextLayout
        | Action::Zen
        | Action::HideBranches
        | Action::HideContext
        | Action::HideTools
        | Action::Narrower
        | Action::Wider
        | Action::EvenPanels => super::panes::action(model, run, out),
        Action::Dismiss => screens::memories::update::dismiss(model, out),
        _ => on_screen(model, run, out),
    }
}

/// The actions of one screen each.
fn on_screen(model: &mut Model, run: Action, out: &mut Vec<Cmd>) {
    if screens::traces::update::action(model, run, out) {
        return;
    }
    match run {
        Action::Compare | Action::TakeTurn | Action::TakeRange | Action::PickOver | Action::BringBack => {
            screens::compare::update::action(model, run, out);
        }
        Action::TakeRow | Action::TakeAll | Action::Order | Action::Group => {
            screens::request::update::action(model, run)
        }
        Action::RawRequest
        | Action::EditRequest
        | Action::EditJson
        | Action::SendEdited
        | Action::FoldAll
        | Action::NextHit
        | Action::PrevHit => screens::raw_request::update::action(model, run, out),
        Action::AnswerTool
        | Action::AllowTool
        | Action::RefuseTool
        | Action::RefuseWhy
        | Action::AllowAlways
        | Action::TakeHunk
        | Action::Rules => screens::approval::update::action(model, run, out),
        Action::Calls | Action::ChooseCall | Action::PlanDiff | Action::ItemHistory => {
            screens::calls::update::action(model, run, out)
        }
        _ if screens::editor::update::owns(run) => screens::editor::update::action(model, run, out),
        Action::Stats | Action::CallBefore | Action::CallAfter | Action::WholeSession => {
            screens::usage::update::action(model, run, out);
        }
        _ => open::action(model, run, out),
    }
}

/// What a text area does beside typing.
fn edit(model: &mut Model, run: Action) {
    if model.focus != Focus::Composer || !model.layers.is_empty() {
        return;
    }
    let area = model.composer.edit();
    match run {
        Action::UndoTyping => drop(area.undo()),
        Action::RedoTyping => drop(area.redo()),
        _ => area.select_all(),
    }
    model.plan.touch(model.now);
}

fn composing(model: &mut Model, run: Action, chord: Option<Chord>, out: &mut Vec<Cmd>) {
    let up = run == Action::HistoryUp;
    match run {
        Action::Newline => model.composer.edit().insert_newline(),
        Action::ExpandPaste => {
            open::expand_paste(model);
            return;
        }
        Action::Complete => {
            if !ask::complete(model) {
                pane(model, 1, out);
            }
            return;
        }
        _ if model.composer.commanding() => {
            let count = crate::tui::chat::model::slash::completions(model.composer.first_line()).len();
            let at = model.composer.choice;
            model.composer.choice = if up { at.saturating_sub(1) } else { (at + 1).min(count.saturating_sub(1)) };
            return;
        }
        _ => {
            if model.composer.recalling() && model.composer.recall(if up { -1 } else { 1 }) {
                model.plan.touch(model.now);
            } else if let Some(chord) = chord {
                model.composer.move_cursor(if up { CursorMove::Up } else { CursorMove::Down });
                let _ = chord;
            }
            return;
        }
    }
    model.plan.touch(model.now);
}

/// Moves the focus round the panes.
fn pane(model: &mut Model, step: i64, out: &mut Vec<Cmd>) {
    if let Some(Layer::Workshop(_)) = model.layers.last() {
        return screens::editor::update::turn(model, step, out);
    }
    if let Some(Layer::Draft(desk)) = model.layers.last_mut() {
        return desk.turn(step);
    }
    if let Some(Layer::Arena(arena)) = model.layers.last_mut() {
        return arena.turn(step);
    }
    if let Some(Layer::Compare(view)) = model.layers.last_mut() {
        return view.turn();
    }
    if !model.layers.is_empty() {
        return;
    }
    let ring: Vec<Focus> =
        Focus::RING.into_iter().filter(|pane| *pane == model.focus || !model.hidden(*pane)).collect();
    let here = ring.iter().position(|focus| *focus == model.focus).unwrap_or(0);
    let next = if step > 0 { here + 1 } else { here + ring.len() - 1 };
    model.focus = ring[next % ring.len()];
    if model.focus == Focus::Conversation {
        model.conversation.reveal = true;
    }
}

/// Esc: leaves what is open, then stops the answer, then (twice, with nothing typed) opens the tree.
fn leave(model: &mut Model, out: &mut Vec<Cmd>) {
    if screens::request::update::leave(model) {
        return;
    }
    if screens::raw_request::update::leave_editor(model) {
        return;
    }
    if matches!(model.layers.last(), Some(Layer::Raw(_))) {
        return screens::raw_request::update::leave(model);
    }
    if screens::tree::update::leave_filter(model) || screens::traces::update::leave(model) {
        return;
    }
    if matches!(model.layers.last(), Some(Layer::Draft(_))) {
        return screens::summaries::update::leave(model, out);
    }
    if screens::aside::update::leave(model, out) || screens::editor::update::stops(model, out) {
        return;
    }
    if screens::editor::update::keeps_text(model) || open::asks_to_save(model) || model.layers.pop().is_some() {
        return;
    }
    if model.focus != Focus::Composer {
        model.focus = Focus::Composer;
        model.conversation.follow();
        return;
    }
    if completing::close(model) {
        return;
    }
    if model.composer.commanding() {
        model.composer.clear();
        return;
    }
    if take_back(model, out) || queueing::take_back(model) {
        return;
    }
    if model.composer.end_edit() {
        model.plan.touch(model.now);
        return;
    }
    if let Some(branch) = model.branch().map(|branch| branch.id) {
        if model.live.contains_key(&branch) {
            interrupt(model, out);
            return;
        }
        if crate::tui::screens::summaries::update_modules::stop(model, out) {
            return;
        }
        if model.status.dismiss() || model.conversation.failed.remove(&branch).is_some() {
            return;
        }
    }
    let again = model.esc_at.is_some_and(|at| model.now.saturating_sub(at) <= TWICE);
    if again && model.composer.is_empty() {
        model.esc_at = None;
        screens::tree::update::open(model);
    } else {
        model.esc_at = Some(model.now);
    }
}

/// Takes back a call that waits for its plan. Its answer says so.
fn take_back(model: &mut Model, out: &mut Vec<Cmd>) -> bool {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return false };
    let asks = |pending: &Pending| matches!(pending, Pending::Ask { branch: on, .. } if *on == branch);
    let waits = !model.live.contains_key(&branch) && model.pending.values().any(asks);
    if waits {
        send(model, Request::Cancel { branch }, Pending::Act, out);
    }
    waits
}

fn interrupt(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    if let Some(live) = model.live.get_mut(&branch) {
        live.stopping = true;
        send(model, Request::Cancel { branch }, Pending::Act, out);
    }
}

fn clear(model: &mut Model) {
    if screens::raw_request::update::leave_editor(model) {
        return;
    }
    if matches!(model.layers.last(), Some(Layer::Raw(_))) {
        return screens::raw_request::update::leave(model);
    }
    if screens::editor::update::keeps_text(model) || open::asks_to_save(model) || model.layers.pop().is_some() {
        return;
    }
    if !model.composer.is_empty() {
        if !model.composer.end_edit() {
            model.composer.put_by();
            model.composer.clear();
        }
        model.plan.touch(model.now);
        return;
    }
    if model.clear_at.is_some_and(|at| model.now.saturating_sub(at) <= TWICE) {
        return quit::quit(model);
    }
    model.clear_at = Some(model.now);
    let key = model.keys.key_of(Action::Clear).unwrap_or_default();
    model.status.say(Weight::Notice, format!("{key} once more quits."), model.now);
}
