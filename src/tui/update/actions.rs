//! The table of actions: one line for each, in one function for each family.
//! Not for: the keys of actions (`config::keys`), or the details of an action (`chat`, `screens`).

use super::effects::send;
use super::shared::{self, Trigger};
use super::{leave, open, panels, settings, travel};
use crate::domain::conversation::MarkKind;
use crate::domain::summary::{EditableKind, SummaryAuthor};
use crate::engine::api::{RuleAct, SessionRequest, ToolRequest, TraceAct};
use crate::tui::chat::update::{
    acts, ask, branches, commands, completing, composing, copying, focus, folder, printed, questions, queueing, quit,
    search as search_chat, state, tags, typing,
};
use crate::tui::model::Model;
use crate::tui::model::focus::Focus;
use crate::tui::model::keys::{
    Action, BranchAction, CallAction, Chord, ContextAction, MessageAction, SessionAction, ToolAction, ViewAction,
};
use crate::tui::model::panels::Shape;
use crate::tui::model::pending::{Pending, SessionPending};
use crate::tui::msg::{Cmd, FileCmd};
use crate::tui::screens::approval::update::ToolDecision;
use crate::tui::screens::calls::model::Calls;
use crate::tui::screens::compare::model::CompareView;
use crate::tui::screens::conversation_search::model::ConversationSearchScreen;
use crate::tui::screens::editor::model::EditorScreen;
use crate::tui::screens::help::model::HelpScreen;
use crate::tui::screens::race::model::RaceScreen;
use crate::tui::screens::raw_request::model::RawRequestScreen;
use crate::tui::screens::screen::{ListEdit, Screen, Stride};
use crate::tui::screens::summaries::update::DraftDecision;
use crate::tui::screens::tools::model::ToolsScreen;
use crate::tui::screens::tree::model::TreeScreen;
use crate::tui::screens::{
    approval, aside, calls, compare, editor, memories, picker, race, raw_request, request, search, summaries,
    text_editor, tools, tour, traces, tree, usage, what_if,
};
use tui_textarea::TextArea;

/// Runs an action. It may come from a key, the list of actions or a command.
pub(crate) fn run(model: &mut Model, action: Action, chord: Option<Chord>, out: &mut Vec<Cmd>) {
    if action != Action::Clear {
        model.input.clear_at = None;
    }
    if request::update_sent::refuses(model, action) {
        return;
    }
    let trigger = (action, chord);
    // Without a key, an action of another screen may do nothing.
    let is_far = chord.is_none() && !model.keys.elsewhere(action, model.places()).is_empty();
    let before = is_far.then(|| shared::visible(model, out));
    match action {
        Action::Message(action) => message(model, action, trigger, out),
        Action::Context(action) => context(model, action, trigger, out),
        Action::Branch(action) => branch(model, action, trigger, out),
        Action::View(action) => view(model, action, trigger, out),
        Action::Session(action) => session(model, action, trigger, out),
        Action::Call(action) => call(model, action, trigger, out),
        Action::Tool(action) => tool(model, action, trigger, out),
    }
    if before.is_some_and(|before| before == shared::visible(model, out)) {
        shared::elsewhere(model, trigger);
    }
}

/// Runs an action about writing, sending, and answering.
fn message(model: &mut Model, action: MessageAction, trigger: Trigger, out: &mut Vec<Cmd>) {
    use MessageAction as A;
    match action {
        A::Send => {
            if let Some(line) = ask::enter(model, out) {
                model.composer.sent(&line.full.as_str().into());
                commands::run(model, &line, out);
            }
        }
        A::Compose => composing::to_editor(model, out),
        A::HistoryUp | A::HistoryDown if completing::step(model, action == A::HistoryUp) => {}
        A::HistoryUp | A::HistoryDown => typing::recall(model, action == A::HistoryUp, trigger.1, out),
        A::Complete if completing::take(model, out) || ask::complete(model) => {}
        A::Complete => travel::pane(model, 1, out),
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
        A::Reply => acts::reply(model, out),
        A::Edit => acts::edit(model, out),
        A::Delete => shared::offer(model, trigger, |screen| screen.edit_list(ListEdit::Delete), out),
        A::Interrupt => leave::interrupt(model, out),
        A::Clear => leave::clear(model, out),
        A::Regenerate => acts::regenerate(model, out),
        A::Continue => acts::continue_answer(model, out),
        A::Copy => acts::copy(model, out),
        A::CopyPart => copying::menu(model, out),
        A::Labels => tags::list(model),
        A::Label => tags::prompt(model),
        A::Favorite => tags::favorite(model, out),
    }
}

/// Runs an action about the content of the next request.
fn context(model: &mut Model, action: ContextAction, trigger: Trigger, out: &mut Vec<Cmd>) {
    use ContextAction as A;
    match action {
        A::SearchAnyway => acts::search(model),
        A::Undo | A::Redo if shared::taken(model, |screen| screen.undo(action == A::Redo), out) => {}
        A::Undo => drop(send(model, SessionRequest::Undo, Pending::Act, out)),
        A::Redo => drop(send(model, SessionRequest::Redo, Pending::Act, out)),
        A::Focus => focus::prompt(model),
        A::Pin => acts::mark(model, MarkKind::Sticky, out),
        A::Lease => acts::lease(model, out),
        A::Exclude => acts::mark(model, MarkKind::Exclude, out),
        A::ExcludeOnce => acts::mark(model, MarkKind::ExcludeOnce, out),
        A::IncludeOnce => acts::mark(model, MarkKind::IncludeOnce, out),
        A::Dismiss if model.on_next_request() => request::update::dismiss(model, out),
        A::Dismiss => shared::offer(model, trigger, Screen::dismiss, out),
        A::CycleMode => branches::cycle_mode(model, out),
        A::BudgetUp => branches::step_budget(model, true, out),
        A::BudgetDown => branches::step_budget(model, false, out),
        A::ShowState => state::edit(model),
        A::RebuildState => state::rebuild(model, SummaryAuthor::Extractive, out),
        A::AdoptState => state::adopt(model, out),
        A::Memories => memories::update::open(model, out),
        A::NextRequest if request::update_sent::of_message(model, out) => {}
        A::NextRequest => request::update::open(model),
        A::TakeRow => request::update::toggle_row(model),
        A::TakeAll => request::update::toggle_all(model),
        A::Order => request::update::order(model),
        A::Group => shared::offer(model, trigger, Screen::group, out),
        A::WhatIf => what_if::update::open(model, out),
        A::RawRequest if shared::taken(model, Screen::exact_request, out) => {}
        A::RawRequest => raw_request::update::open(model, out),
        A::EditRequest => raw_request::update::edit(model, false, out),
        A::EditJson => raw_request::update::edit(model, true, out),
        A::SendEdited => raw_request::update::send_edited(model, out),
        A::ItemHistory if model.layers.is_empty() => calls::update::history(model, out),
        A::ItemHistory => shared::offer(model, trigger, Screen::item_history, out),
        A::Draft => summaries::update::open(model, out),
        A::SummaryList => summaries::update::open_list(model, out),
        A::TakeBack => summaries::update::undo_summary(model, out),
        A::Redraft => summaries::update::ask_to_redraft(model, out),
        A::AcceptDraft => summaries::update::decide(model, DraftDecision::Accept, out),
        A::RejectDraft => summaries::update::decide(model, DraftDecision::Reject, out),
        A::KeepItem => summaries::update::decide(model, DraftDecision::KeepItem, out),
        A::KeepAll => summaries::update::decide(model, DraftDecision::KeepAll, out),
        A::EditDraft => summaries::update::decide(model, DraftDecision::Edit, out),
        A::Policies => editor::update::open(model, EditableKind::Policies, out),
        A::CopyPolicy => editor::update::copy(model),
        A::UsePolicy => shared::only::<EditorScreen>(model, trigger, editor::update::take, out),
        A::TryPolicy => shared::only::<EditorScreen>(model, trigger, editor::update::try_out, out),
    }
}

/// Runs an action about branches and the tree.
fn branch(model: &mut Model, action: BranchAction, trigger: Trigger, out: &mut Vec<Cmd>) {
    use BranchAction as A;
    match action {
        A::StartRace => race::update_models::start(model, out),
        A::Rename if model.layers.is_empty() => branches::rename_selected(model),
        A::Rename => shared::offer(model, trigger, |screen| screen.edit_list(ListEdit::Rename), out),
        A::Fork => acts::fork(model, out),
        A::NextSibling => acts::sibling(model, 1, out),
        A::PrevSibling => acts::sibling(model, -1, out),
        A::Archive => branches::archive(model, out),
        A::ShowArchived => {
            model.panel.archived = !model.panel.archived;
            model.refresh();
        }
        A::Branches => {
            model.layers.clear();
            model.focus = Focus::Branches;
        }
        A::Tree => tree::update::open(model),
        A::Mattered => shared::only::<RaceScreen>(model, trigger, race::update::suggest_pin, out),
        A::Discard => shared::only::<RaceScreen>(model, trigger, race::update::discard, out),
        A::KeepAside => aside::update::keep(model, out),
        A::Compare => compare::update::selected(model, out),
        A::TakeTurn => shared::on(model, trigger, CompareView::take),
        A::TakeRange => shared::on(model, trigger, CompareView::take_range),
        A::PickOver => shared::only::<CompareView>(model, trigger, compare::update::pick, out),
        A::BringBack => shared::only::<CompareView>(model, trigger, compare::update::return_result, out),
    }
}

/// Runs an action about appearance and navigation.
fn view(model: &mut Model, action: ViewAction, trigger: Trigger, out: &mut Vec<Cmd>) {
    use ViewAction as A;
    match action {
        A::NextPane => travel::pane(model, 1, out),
        A::PrevPane => travel::pane(model, -1, out),
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
        A::Leave => leave::leave(model, out),
        A::Redraw => out.push(Cmd::Redraw),
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
        A::Tour => tour::update::open(model, out),
        A::Help => model.layers.push(HelpScreen::default()),
        A::FoldMessage => open::fold(model),
        A::Back => search::update::back(model, out),
        A::Fold => tree::update::change(model, TreeScreen::fold),
        A::Unfold => tree::update::change(model, TreeScreen::unfold),
        A::Details => shared::offer(model, trigger, Screen::details, out),
        A::FoldAll => shared::on(model, trigger, RawRequestScreen::fold_all),
        A::TurnView => shared::on(model, trigger, EditorScreen::next_comparison),
    }
}

/// Runs an action about sessions, settings, and the program.
fn session(model: &mut Model, action: SessionAction, trigger: Trigger, out: &mut Vec<Cmd>) {
    use SessionAction as A;
    match action {
        A::New => shared::offer(model, trigger, |screen| screen.edit_list(ListEdit::New), out),
        A::Save => text_editor::update::save(model, out),
        A::Quit => quit::quit(model),
        A::QuitIfEmpty if model.composer.is_empty() => quit::quit(model),
        A::QuitIfEmpty => {}
        A::Suspend => out.push(Cmd::Suspend),
        A::Reload => out.push(Cmd::File(FileCmd::Reload(true))),
        A::Doctor => printed::line(model, "/doctor", out),
        A::Trust => questions::trust(model),
        A::FolderSettings => folder::open(model, out),
        A::UseOffline => branches::use_offline(model, out),
        A::Sessions => picker::update::sessions(model, String::new(), out),
        A::NewSession => drop(send(model, SessionRequest::New { title: String::new() }, SessionPending::New, out)),
        A::RenameSession => branches::title_prompt(model),
        A::Models => picker::update::models(model, out),
        A::Find => search::update::open(model, String::new(), out),
        A::Editors => editor::update::open(model, EditableKind::State, out),
        A::Project => editor::update::open(model, EditableKind::Rules, out),
        A::Skills => editor::update::open(model, EditableKind::Skills, out),
        A::Modules => editor::update::open(model, EditableKind::Modules, out),
        A::OlderVersion => shared::on(model, trigger, |editor: &mut EditorScreen| editor.step_version(1)),
        A::NewerVersion => shared::on(model, trigger, |editor: &mut EditorScreen| editor.step_version(-1)),
        A::EditText => editor::update::edit(model),
        A::RewriteModule => shared::only::<EditorScreen>(model, trigger, editor::update::write_again, out),
        A::ToggleRules => shared::only::<EditorScreen>(model, trigger, editor::update::switch, out),
    }
}

/// Runs an action about past calls and their usage.
fn call(model: &mut Model, action: CallAction, trigger: Trigger, out: &mut Vec<Cmd>) {
    use CallAction as A;
    match action {
        A::Calls => calls::update::open(model, out),
        A::ChooseCall => shared::on(model, trigger, Calls::choose),
        A::CallBefore => shared::offer(model, trigger, |screen| screen.step_call(-1), out),
        A::CallAfter => shared::offer(model, trigger, |screen| screen.step_call(1), out),
        A::PlanDiff if shared::taken(model, Screen::compare_plans, out) => {}
        A::PlanDiff => calls::update::against_last(model, out),
        A::Stats => usage::update::open(model, out),
        A::WholeSession => shared::offer(model, trigger, Screen::whole_session, out),
        A::Replay if model.layers.is_empty() => race::update::ask_how(model),
        A::Replay => shared::offer(model, trigger, Screen::replay, out),
    }
}

/// Runs an action about tools, their servers, and their rules.
fn tool(model: &mut Model, action: ToolAction, trigger: Trigger, out: &mut Vec<Cmd>) {
    use ToolAction as A;
    match action {
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
        Focus::Context => Action::NextRequest,
    };
    run(model, list, None, out);
    run(model, Action::Filter, None, out);
}
