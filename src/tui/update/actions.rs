//! The table of actions: one line for each.
//! Not for: the keys of actions (`config::keys`), or the details of an action (`chat`, `screens`).

use super::effects::send;
use super::{leave, open, panels, settings, shared, travel};
use crate::domain::conversation::MarkKind;
use crate::domain::summary::{EditableKind, SummaryAuthor};
use crate::engine::api::{RuleAct, SessionRequest, ToolRequest, TraceAct};
use crate::tui::chat::update::{
    acts, ask, branches, commands, completing, composing, copying, focus, folder, printed, questions, queueing, quit,
    search as search_chat, state, tags, typing,
};
use crate::tui::model::Model;
use crate::tui::model::focus::Focus;
use crate::tui::model::keys::{Action, Chord};
use crate::tui::model::panels::Shape;
use crate::tui::model::pending::{Pending, SessionPending};
use crate::tui::msg::{Cmd, FileCmd};
use crate::tui::screens;
use crate::tui::screens::calls::model::Calls;
use crate::tui::screens::compare::model::CompareView;
use crate::tui::screens::conversation_search::model::ConversationSearchScreen;
use crate::tui::screens::editor::model::EditorScreen;
use crate::tui::screens::help::model::HelpScreen;
use crate::tui::screens::race::model::RaceScreen;
use crate::tui::screens::raw_request::model::RawRequestScreen;
use crate::tui::screens::screen::{ListEdit, Screen, Stride};
use crate::tui::screens::tools::model::ToolsScreen;
use crate::tui::screens::tree::model::TreeScreen;

/// Runs an action. It may come from a key, the list of actions or a command.
#[expect(clippy::too_many_lines, reason = "a table")]
pub(crate) fn run(model: &mut Model, action: Action, chord: Option<Chord>, out: &mut Vec<Cmd>) {
    use Action as A;
    use approval::update::ToolDecision;
    use screens::{approval, calls, compare, editor, memories, picker, race, raw_request, request, search, summaries};
    use screens::{tools, traces, tree, usage, what_if};
    use summaries::update::DraftDecision;
    use tui_textarea::TextArea;
    if action != A::Clear {
        model.input.clear_at = None;
    }
    if request::update_sent::refuses(model, action) {
        return;
    }
    let trigger = (action, chord);
    match action {
        // The message being written.
        A::Send => {
            if let Some(line) = ask::enter(model, out) {
                model.composer.sent(&line.full.as_str().into());
                commands::run(model, &line, out);
            }
        }
        A::Compose => composing::to_editor(model, out),
        A::HistoryUp | A::HistoryDown if completing::step(model, action == A::HistoryUp) => {}
        A::HistoryUp | A::HistoryDown => typing::recall(model, action == A::HistoryUp, chord, out),
        A::Complete if completing::take(model, out) || ask::complete(model) => {}
        A::Complete => run(model, A::NextPane, chord, out),
        A::NextPane => travel::pane(model, 1, out),
        A::PrevPane => travel::pane(model, -1, out),
        A::Newline => {
            model.composer.edit().insert_newline();
            model.plan.touch(model.now);
        }
        A::ExpandPaste => open::expand_paste(model),
        A::TakeQueued => queueing::take(model),
        A::SendQueued => queueing::send_held(model, out),
        A::DeleteToStart => typing::edit(model, TextArea::delete_line_by_head),
        A::UndoTyping => typing::edit(model, TextArea::undo),
        A::RedoTyping => typing::edit(model, TextArea::redo),
        A::SelectAll => typing::edit(model, TextArea::select_all),
        A::StartRace => race::update::start(model),
        A::Reply => acts::reply(model, out),
        A::Edit => acts::edit(model, out),
        A::SearchAnyway => acts::search(model),

        // Moving and leaving.
        A::Up | A::Down if model.layers.on::<ConversationSearchScreen>() => search_chat::step(model, action == A::Down),
        A::Up => travel::travel(model, Stride::Row, -1),
        A::Down => travel::travel(model, Stride::Row, 1),
        A::ScrollUp => travel::travel(model, Stride::Page, -1),
        A::ScrollDown => travel::travel(model, Stride::Page, 1),
        A::Top => travel::travel(model, Stride::End, -1),
        A::Bottom => travel::travel(model, Stride::End, 1),
        A::DetailDown | A::DetailUp => {
            if let Some(screen) = model.layers.last_mut() {
                screen.detail(if action == A::DetailDown { 1 } else { -1 });
            }
        }
        A::Open => open::open(model, out),
        A::Filter => filter(model, out),
        A::NextHit | A::PrevHit if model.layers.is_empty() => search_chat::step(model, action == A::NextHit),
        A::NextHit => shared::offer(model, trigger, |screen| screen.step_hit(1), out),
        A::PrevHit => shared::offer(model, trigger, |screen| screen.step_hit(-1), out),
        A::New => shared::offer(model, trigger, |screen| screen.edit_list(ListEdit::New), out),
        A::Rename if model.layers.is_empty() => branches::rename_selected(model),
        A::Rename => shared::offer(model, trigger, |screen| screen.edit_list(ListEdit::Rename), out),
        A::Delete => shared::offer(model, trigger, |screen| screen.edit_list(ListEdit::Delete), out),
        A::Save => screens::text_editor::update::save(model, out),
        A::Leave => leave::leave(model, out),
        A::Interrupt => leave::interrupt(model, out),
        A::Clear => leave::clear(model, out),
        A::Quit => quit::quit(model),
        A::QuitIfEmpty if model.composer.is_empty() => quit::quit(model),
        A::QuitIfEmpty => {}
        A::Undo | A::Redo if shared::taken(model, |screen| screen.undo(action == A::Redo), out) => {}
        A::Undo => drop(send(model, SessionRequest::Undo, Pending::Act, out)),
        A::Redo => drop(send(model, SessionRequest::Redo, Pending::Act, out)),

        // The terminal, the panels, settings.
        A::Redraw => out.push(Cmd::Redraw),
        A::Suspend => out.push(Cmd::Suspend),
        A::Reload => out.push(Cmd::File(FileCmd::Reload(true))),
        A::ToggleMouse => settings::toggle_mouse(model, out),
        A::Themes => settings::themes(model),
        A::NextLayout => panels::next_shape(model, out),
        A::Zen if model.arrangement().layout == Shape::Zen => panels::shape(model, Shape::Wide, out),
        A::Zen => panels::shape(model, Shape::Zen, out),
        A::HideBranches => panels::hide(model, Focus::Branches, out),
        A::HideContext => panels::hide(model, Focus::Context, out),
        A::HideTools => panels::hide(model, Focus::Tools, out),
        A::Narrower => panels::resize(model, false, out),
        A::Wider => panels::resize(model, true, out),
        A::EvenPanels => panels::even(model, out),
        A::Palette => picker::update::palette(model),
        A::Tour => screens::tour::update::open(model, out),
        A::Help => model.layers.push(HelpScreen::default()),
        A::Doctor => printed::line(model, "/doctor", out),
        A::Trust => questions::trust(model),
        A::FolderSettings => folder::open(model, out),
        A::Focus => focus::prompt(model),

        // The selected message, item or branch.
        A::Pin => acts::mark(model, MarkKind::Sticky, out),
        A::Lease => acts::lease(model, out),
        A::Exclude => acts::mark(model, MarkKind::Exclude, out),
        A::ExcludeOnce => acts::mark(model, MarkKind::ExcludeOnce, out),
        A::IncludeOnce => acts::mark(model, MarkKind::IncludeOnce, out),
        A::Dismiss => shared::offer(model, trigger, Screen::dismiss, out),
        A::Fork => acts::fork(model, out),
        A::Regenerate => acts::regenerate(model, out),
        A::Continue => acts::continue_answer(model, out),
        A::NextSibling => acts::sibling(model, 1, out),
        A::PrevSibling => acts::sibling(model, -1, out),
        A::Copy => acts::copy(model, out),
        A::CopyPart => copying::menu(model, out),
        A::FoldMessage => open::fold(model),
        A::Labels => tags::list(model),
        A::Label => tags::prompt(model),
        A::Favourite => tags::favourite(model, out),
        A::CycleMode => branches::cycle_mode(model, out),
        A::BudgetUp => branches::step_budget(model, true, out),
        A::BudgetDown => branches::step_budget(model, false, out),
        A::UseOffline => branches::use_offline(model, out),
        A::Archive => branches::archive(model, out),
        A::ShowArchived => {
            model.panel.archived = !model.panel.archived;
            model.refresh();
        }
        A::Branches => {
            model.layers.clear();
            model.focus = Focus::Branches;
        }
        A::ShowState => state::edit(model),
        A::RebuildState => state::rebuild(model, SummaryAuthor::Extractive, out),
        A::AdoptState => state::adopt(model, out),

        // Sessions, models, search, tree.
        A::Sessions => picker::update::sessions(model, String::new(), out),
        A::NewSession => drop(send(model, SessionRequest::New { title: String::new() }, SessionPending::New, out)),
        A::RenameSession => branches::title_prompt(model),
        A::Models => picker::update::models(model, out),
        A::Memories => memories::update::open(model, out),
        A::Find => search::update::open(model, String::new(), out),
        A::Back => search::update::back(model, out),
        A::Tree => tree::update::open(model),
        A::Fold => tree::update::change(model, TreeScreen::fold),
        A::Unfold => tree::update::change(model, TreeScreen::unfold),

        // The next request.
        A::Context if request::update_sent::of_message(model, out) => {}
        A::Context => request::update::open(model),
        A::TakeRow => request::update::toggle_row(model),
        A::TakeAll => request::update::toggle_all(model),
        A::Details => shared::offer(model, trigger, Screen::details, out),
        A::Order => request::update::order(model),
        A::Group => shared::offer(model, trigger, Screen::group, out),
        A::WhatIf => what_if::update::open(model, out),
        A::RawRequest if shared::taken(model, Screen::exact_request, out) => {}
        A::RawRequest => raw_request::update::open(model, out),
        A::EditRequest => raw_request::update::edit(model, false, out),
        A::EditJson => raw_request::update::edit(model, true, out),
        A::SendEdited => raw_request::update::send_edited(model, out),
        A::FoldAll => shared::on(model, trigger, RawRequestScreen::fold_all),

        // Past calls.
        A::Calls => calls::update::open(model, out),
        A::ChooseCall => shared::on(model, trigger, Calls::choose),
        A::CallBefore => shared::offer(model, trigger, |screen| screen.step_call(-1), out),
        A::CallAfter => shared::offer(model, trigger, |screen| screen.step_call(1), out),
        A::PlanDiff if shared::taken(model, Screen::compare_plans, out) => {}
        A::PlanDiff => calls::update::against_last(model, out),
        A::ItemHistory if model.layers.is_empty() => calls::update::history(model, out),
        A::ItemHistory => shared::offer(model, trigger, Screen::item_history, out),
        A::Stats => usage::update::open(model, out),
        A::WholeSession => shared::offer(model, trigger, Screen::whole_session, out),
        A::Replay if model.layers.is_empty() => race::update::ask_how(model),
        A::Replay => shared::offer(model, trigger, Screen::replay, out),
        A::Mattered => shared::only::<RaceScreen>(model, trigger, race::update::mattered, out),
        A::Discard => shared::only::<RaceScreen>(model, trigger, race::update::discard, out),
        A::KeepAside => screens::aside::update::keep(model, out),
        A::Compare => compare::update::selected(model, out),
        A::TakeTurn => shared::on(model, trigger, CompareView::take),
        A::TakeRange => shared::on(model, trigger, CompareView::take_range),
        A::PickOver => shared::only::<CompareView>(model, trigger, compare::update::pick, out),
        A::BringBack => shared::only::<CompareView>(model, trigger, compare::update::return_result, out),

        // Summaries and items with versions.
        A::Draft => summaries::update::open(model, out),
        A::SummaryList => summaries::update::open_list(model, out),
        A::TakeBack => summaries::update::undo_summary(model, out),
        A::Redraft => summaries::update::ask_to_redraft(model, out),
        A::AcceptDraft => summaries::update::decide(model, DraftDecision::Accept, out),
        A::RejectDraft => summaries::update::decide(model, DraftDecision::Reject, out),
        A::KeepItem => summaries::update::decide(model, DraftDecision::KeepItem, out),
        A::KeepAll => summaries::update::decide(model, DraftDecision::KeepAll, out),
        A::EditDraft => summaries::update::decide(model, DraftDecision::Edit, out),
        A::Editors => editor::update::open(model, EditableKind::State, out),
        A::Policies => editor::update::open(model, EditableKind::Policies, out),
        A::Project => editor::update::open(model, EditableKind::Rules, out),
        A::Skills => editor::update::open(model, EditableKind::Skills, out),
        A::Modules => editor::update::open(model, EditableKind::Modules, out),
        A::OlderVersion => shared::on(model, trigger, |editor: &mut EditorScreen| editor.step_version(1)),
        A::NewerVersion => shared::on(model, trigger, |editor: &mut EditorScreen| editor.step_version(-1)),
        A::TurnView => shared::on(model, trigger, EditorScreen::next_comparison),
        A::EditText => editor::update::edit(model),
        A::CopyPolicy => editor::update::copy(model),
        A::UsePolicy => shared::only::<EditorScreen>(model, trigger, editor::update::take, out),
        A::TryPolicy => shared::only::<EditorScreen>(model, trigger, editor::update::try_out, out),
        A::RewriteModule => shared::only::<EditorScreen>(model, trigger, editor::update::write_again, out),
        A::ToggleRules => shared::only::<EditorScreen>(model, trigger, editor::update::switch, out),

        // Tools.
        A::Traces => traces::update::open(model),
        A::GroupFailures => traces::update::group_failures(model),
        A::FollowLink => traces::update::follow_link(model),
        A::RunAgain => traces::update::rerun(model, out),
        A::StopAgain => drop(send(model, ToolRequest::Traces(TraceAct::Stop), Pending::Act, out)),
        A::AddResult => traces::update::insert_result(model),
        A::CopyArguments => traces::update::copy_arguments(model, out),
        A::ToMessage if model.on_next_request() => request::update_sent::to_message(model, out),
        A::ToMessage if model.layers.is_empty() => traces::update::to_message(model, out),
        A::ToMessage => shared::offer(model, trigger, Screen::to_message, out),
        A::AnswerTool => approval::update::open(model),
        A::AllowTool => approval::update::decide(model, ToolDecision::Allow, out),
        A::AllowAlways => approval::update::decide(model, ToolDecision::AllowAlways, out),
        A::RefuseTool => approval::update::decide(model, ToolDecision::Deny, out),
        A::RefuseWhy => approval::update::decide(model, ToolDecision::DenyWithReason, out),
        A::TakeHunk => approval::update::decide(model, ToolDecision::ToggleHunk, out),
        A::Rules => drop(send(model, ToolRequest::Rule(RuleAct::List), Pending::Rules, out)),
        A::Mcp => tools::update::open(model, out),
        A::ToggleTool => shared::only::<ToolsScreen>(model, trigger, tools::update::toggle, out),
        A::RestartServer => shared::only::<ToolsScreen>(model, trigger, tools::update::restart, out),
        A::ApproveTool => shared::only::<ToolsScreen>(model, trigger, tools::update::approve, out),
    }
}

/// Searches the conversation, or opens the list of the focused panel with its filter.
fn filter(model: &mut Model, out: &mut Vec<Cmd>) {
    if let Some(screen) = model.layers.last_mut() {
        return screen.filter();
    }
    let list = match model.focus {
        Focus::Composer | Focus::Conversation => return search_chat::open(model),
        Focus::Branches => Action::Tree,
        Focus::Tools => Action::Traces,
        Focus::Context => Action::Context,
    };
    run(model, list, None, out);
    run(model, Action::Filter, None, out);
}
