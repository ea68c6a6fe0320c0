//! Updates of the summaries: drafting one, deciding about a draft, and the list of summaries.
//! Not for: moving the cursor (`tui::update::travel`).

use super::model::{DraftScreen, Item, Part, SummaryList, SummaryPending};
use super::update_effect;
use crate::domain::base::{BranchId, Failure};
use crate::domain::summary::turns_in_words;
use crate::domain::summary::{SummaryAuthor, SummaryCard, SummaryDraft, SummaryKind, SummarySource, SummaryState};
use crate::engine::api::{Answer, Request, SummaryAct, SummaryAnswer};
use crate::tui::screens::question::model::{Act, Question};
use crate::tui::screens::reader::model::Reader;
use crate::tui::screens::text_editor::model::{Edited, Editor};
use crate::tui::update::effects::{show_answer, show_failure};
use crate::tui::update::prelude::*;
use std::sync::Arc;

/// Handles the answers to the requests of these screens.
pub(crate) fn answered(
    model: &mut Model,
    pending: SummaryPending,
    result: Result<Answer, Failure>,
    out: &mut Vec<Cmd>,
) {
    use SummaryPending as P;
    match (pending, result) {
        (P::Draft(branch), Err(failure)) => failed(model, branch, &failure),
        (P::Edit { branch, number, text }, Err(failure)) => {
            // The refused text opens again, so that it is not lost.
            edit(model, branch, number, &text);
            show_failure(model, &failure);
        }
        (P::List, Ok(Answer::Summary(SummaryAnswer::Summaries(cards)))) => fill_list(model, cards),
        (P::List, Err(failure)) => {
            fill_list(model, Vec::new());
            show_failure(model, &failure);
        }
        (P::Change(branch), Ok(answer)) => {
            if let Answer::Done(text) = answer {
                update_effect::changed(model, branch, text);
            }
            reload_list(model, out);
        }
        (P::Preview(key), result) => update_effect::previewed(model, key, &result),
        (P::Stop, _) => {}
        (P::Draft(_) | P::Edit { .. } | P::List | P::Change(_), result) => show_answer(model, result),
    }
}

/// Opens the draft that waits or is being written, or drafts a summary if there is none. Closes the screen if it is
/// open.
pub(crate) fn open(model: &mut Model, out: &mut Vec<Cmd>) {
    if model.layers.close::<DraftScreen>(|_| true) {
        return;
    }
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    if let Some(draft) = model.drafts.waiting.get(&branch) {
        let screen = DraftScreen::new(branch, Some(draft.clone()));
        model.layers.push(screen);
        if let Some(notice) = model.drafts.last_notice.take() {
            model.status.retract(&notice);
        }
    } else if model.drafts.making.contains_key(&branch) {
        model.layers.push(DraftScreen::new(branch, None));
    } else {
        compress(model, SummaryKind::Lane, None, SummaryAuthor::Extractive, out);
    }
}

/// Drafts a summary of the older turns up to a turn; None leaves out the newest ten messages.
pub(crate) fn compress(
    model: &mut Model,
    kind: SummaryKind,
    up_to: Option<u32>,
    by: SummaryAuthor,
    out: &mut Vec<Cmd>,
) {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    make(model, branch, SummaryAct::Draft { kind, up_to, by }, out);
}

/// Requests a draft and opens its screen.
fn make(model: &mut Model, branch: BranchId, act: SummaryAct, out: &mut Vec<Cmd>) {
    send(model, Request::Summary { branch, act }, SummaryPending::Draft(branch), out);
    if model.layers.all::<DraftScreen>().next().is_none() {
        let waiting = model.drafts.waiting.get(&branch).cloned();
        model.layers.push(DraftScreen::new(branch, waiting));
    }
}

/// A person's decision about a draft.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum DraftDecision {
    Accept,
    Reject,
    /// Toggles whether the draft keeps the fact under the cursor word for word.
    KeepItem,
    KeepAll,
    Edit,
}

pub(crate) fn decide(model: &mut Model, decision: DraftDecision, out: &mut Vec<Cmd>) {
    let Some(screen) = model.layers.top::<DraftScreen>() else {
        return model.status.say(Severity::Notice, "There is no draft here.", model.now);
    };
    let branch = screen.branch;
    let Some(draft) = screen.draft.clone() else {
        if decision == DraftDecision::Reject {
            ask(model, branch, SummaryAct::Reject, out);
        }
        return;
    };
    let number = draft.number;
    match decision {
        DraftDecision::Accept => change(model, branch, SummaryAct::Accept { draft: number }, out),
        DraftDecision::Reject if loss(&draft).is_some() => {
            confirm(model, &draft, "Discard this draft?", "yes, discard it", Act::RejectDraft(branch));
        }
        DraftDecision::Reject => reject(model, branch, out),
        DraftDecision::KeepAll => ask(model, branch, SummaryAct::KeepAll { draft: number }, out),
        DraftDecision::KeepItem => {
            let act = match screen.selected() {
                Some(Item::Dropped(at)) => SummaryAct::Keep { draft: number, items: vec![at] },
                Some(Item::Kept(item)) => SummaryAct::Unkeep { draft: number, item },
                None => return,
            };
            ask(model, branch, act, out);
        }
        DraftDecision::Edit => edit(model, branch, number, &draft.body),
    }
}

/// The loss if the draft is discarded; None if it can be made again at no cost.
fn loss(draft: &SummaryDraft) -> Option<&'static str> {
    match draft.summary.source {
        SummarySource::User => Some("You edited this draft; your text can't be restored."),
        SummarySource::Llm => Some("A model wrote this draft; a rewrite costs another call."),
        SummarySource::Extractive if draft.summary.kept.is_empty() => None,
        SummarySource::Extractive => Some("Your selection of kept items will be lost."),
    }
}

/// Asks before discarding a draft that would be a loss.
fn confirm(model: &mut Model, draft: &SummaryDraft, title: &str, yes: &str, act: Act) {
    let words = loss(draft).map(str::to_owned).into_iter().collect();
    let choices = vec![('n', "no, keep it".to_owned(), Act::Close), ('y', yes.to_owned(), act)];
    model.layers.push(Question::new(title, words, choices));
}

/// Discards the draft.
pub(crate) fn reject(model: &mut Model, branch: BranchId, out: &mut Vec<Cmd>) {
    ask(model, branch, SummaryAct::Reject, out);
}

/// Replaces the shown draft with a new one, after asking if a person edited it.
pub(crate) fn ask_to_redraft(model: &mut Model, out: &mut Vec<Cmd>) {
    let draft = model.layers.top::<DraftScreen>().and_then(|screen| screen.draft.clone());
    match draft.filter(|draft| draft.summary.source == SummarySource::User) {
        Some(draft) => {
            confirm(model, &draft, "Rewrite the draft?", "yes, replace it with a new draft", Act::Redraft);
        }
        None => redraft(model, out),
    }
}

fn ask(model: &mut Model, branch: BranchId, act: SummaryAct, out: &mut Vec<Cmd>) {
    send(model, Request::Summary { branch, act }, Pending::Act, out);
}

/// Changes the summaries in use; a notice says the effect on the next request.
fn change(model: &mut Model, branch: BranchId, act: SummaryAct, out: &mut Vec<Cmd>) {
    send(model, Request::Summary { branch, act }, SummaryPending::Change(branch), out);
}

/// Opens the draft's text for editing; the sentences kept word for word are added to it again afterward.
fn edit(model: &mut Model, branch: BranchId, number: u64, text: &str) {
    let title = "Text of the draft (items kept verbatim are added automatically)";
    model.layers.push(Editor::new(title, text, Edited::Draft { branch, number }));
}

/// Sends the edited text to the engine.
pub(crate) fn save(model: &mut Model, branch: BranchId, number: u64, text: String, out: &mut Vec<Cmd>) {
    let act = SummaryAct::Edit { draft: number, text: text.clone() };
    send(model, Request::Summary { branch, act }, SummaryPending::Edit { branch, number, text }, out);
}

/// Reports that a draft failed. If a person stopped it, that was reported already.
fn failed(model: &mut Model, branch: BranchId, failure: &Failure) {
    let making = model.drafts.making.remove(&branch).is_some();
    let open = model.layers.all::<DraftScreen>().any(|screen| screen.branch == branch);
    model.layers.close::<DraftScreen>(|screen| screen.branch == branch && screen.draft.is_none());
    if making || open {
        show_failure(model, failure);
    }
}

/// Handles a draft that arrived or changed, or None if it was removed.
pub(crate) fn arrived(model: &mut Model, branch: BranchId, draft: Option<Arc<SummaryDraft>>) {
    model.drafts.making.remove(&branch);
    let known = match &draft {
        Some(draft) => model.drafts.waiting.insert(branch, draft.clone()),
        None => model.drafts.waiting.remove(&branch),
    };
    let here = |screen: &DraftScreen| screen.branch == branch;
    let Some(draft) = draft else {
        model.layers.close(here);
        if let Some(notice) = model.drafts.last_notice.take() {
            model.status.retract(&notice);
        }
        return;
    };
    if known.is_none() && !model.layers.all().any(here) {
        announce(model, &draft);
    }
    for screen in model.layers.all_mut::<DraftScreen>() {
        if screen.branch == branch {
            screen.show(draft.clone());
        }
    }
}

/// Reports that a draft waits, and the key that opens it.
fn announce(model: &mut Model, draft: &SummaryDraft) {
    let key = model.keys.key(Action::Draft);
    let text = format!("{} {key} opens it. It is not used until you accept it.", draft.waiting_sentence());
    model.status.say(Severity::Notice, text.clone(), model.now);
    model.drafts.last_notice = Some(text);
}

/// Handles Esc on a draft: stops a draft that is being written, and keeps a draft that waits.
pub(crate) fn leave(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(screen) = model.layers.take_top::<DraftScreen>() else { return };
    if model.drafts.making.remove(&screen.branch).is_some() {
        ask(model, screen.branch, SummaryAct::Stop, out);
    } else if screen.draft.is_some() {
        let key = model.keys.key(Action::Draft);
        model.status.say(Severity::Notice, format!("The draft is kept; {key} opens it again."), model.now);
    }
}

/// Whether a draft waits on the branch or is being written.
pub(crate) fn has_draft(model: &Model) -> bool {
    let drafts = &model.drafts;
    model.branch().is_some_and(|on| drafts.waiting.contains_key(&on.id) || drafts.making.contains_key(&on.id))
}

/// Opens the list of summaries.
pub(crate) fn open_list(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    model.layers.close::<SummaryList>(|_| true);
    model.layers.push(SummaryList::new(branch));
    reload_list(model, out);
}

/// Loads the list again if it is open.
pub(crate) fn reload_list(model: &mut Model, out: &mut Vec<Cmd>) {
    let branch = model.layers.all::<SummaryList>().next().map(|list| list.branch);
    if let Some(branch) = branch {
        send(model, Request::Summary { branch, act: SummaryAct::List }, SummaryPending::List, out);
    }
}

fn fill_list(model: &mut Model, cards: Vec<SummaryCard>) {
    if let Some(list) = model.layers.all_mut::<SummaryList>().next() {
        list.fill(cards);
    }
}

/// Undoes the selected summary, or the newest summary of the shown draft's kind.
pub(crate) fn undo_summary(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(current) = model.branch().map(|branch| branch.id) else { return };
    let (branch, act) = if let Some(list) = model.layers.top::<SummaryList>() {
        let Some(card) = list.selected() else { return };
        (list.branch, SummaryAct::TakeBack { summary: card.summary.id })
    } else if let Some(screen) = model.layers.top::<DraftScreen>() {
        let kind = screen.draft.as_ref().map_or(SummaryKind::Lane, |draft| draft.summary.kind);
        (screen.branch, SummaryAct::UndoNewest { kind })
    } else {
        (current, SummaryAct::UndoNewest { kind: SummaryKind::Lane })
    };
    change(model, branch, act, out);
}

/// Writes a summary again: a draft by the other author, a summary of the list by its own author.
pub(crate) fn redraft(model: &mut Model, out: &mut Vec<Cmd>) {
    let found = if let Some(screen) = model.layers.top::<DraftScreen>() {
        screen.draft.as_ref().map(|draft| {
            let by = match draft.summary.source {
                SummarySource::Llm => SummaryAuthor::Extractive,
                SummarySource::Extractive | SummarySource::User => SummaryAuthor::Model,
            };
            let act = SummaryAct::Draft { kind: draft.summary.kind, up_to: Some(draft.summary.turns.1), by };
            (screen.branch, act)
        })
    } else {
        let list = model.layers.top::<SummaryList>();
        list.and_then(|list| Some((list.branch, list.selected()?))).map(|(branch, card)| {
            let by = match card.summary.source {
                SummarySource::Llm => SummaryAuthor::Model,
                SummarySource::Extractive | SummarySource::User => SummaryAuthor::Extractive,
            };
            let up_to = Some(card.summary.turns.1).filter(|_| card.state != SummaryState::StaleLag);
            (branch, SummaryAct::Draft { kind: card.summary.kind, up_to, by })
        })
    };
    if let Some((branch, act)) = found {
        make(model, branch, act, out);
    }
}

/// Handles Enter on a draft: shows the fact under the cursor in the sources, or returns to the facts.
pub(crate) fn toggle_sources(screen: &mut DraftScreen) {
    screen.focus_part(if screen.part == Part::Sources { Part::Items } else { Part::Sources });
    screen.follow |= screen.part == Part::Sources && screen.dropped().is_some();
}

/// Handles Enter in the list: shows the whole text of the selected summary.
pub(crate) fn read(model: &mut Model, _out: &mut Vec<Cmd>) {
    let Some(card) = model.layers.top::<SummaryList>().and_then(SummaryList::selected) else { return };
    let turns = turns_in_words(card.summary.turns);
    let gone = "The text was deleted with a message.";
    let text = card.summary.text.clone().unwrap_or_else(|| gone.to_owned());
    model.layers.push(Reader::new(format!("Summary of {turns}"), text, false));
}
