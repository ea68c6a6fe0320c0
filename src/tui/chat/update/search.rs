//! Updates of the search of the conversation: opening it, typing, moving between matches, and ending it.
//! Not for: the search of all sessions (`screens::search`).

use crate::tui::chat::model::search::ConversationSearch;
use crate::tui::screens::conversation_search::model::ConversationSearchScreen;
use crate::tui::update::prelude::*;

/// Opens the search line.
pub(crate) fn open(model: &mut Model) {
    if !model.layers.is_empty() || model.session.is_none() {
        return;
    }
    end(model);
    model.focus = Focus::Conversation;
    let conversation = &mut model.conversation;
    conversation.search = Some(ConversationSearch::new(conversation.cursor, conversation.place));
    model.layers.push(ConversationSearchScreen::default());
}

/// Searches for the typed text.
pub(crate) fn typed(model: &mut Model) {
    let Some(screen) = model.layers.top::<ConversationSearchScreen>() else { return };
    let query = screen.text.clone();
    let conversation = &mut model.conversation;
    let Some(search) = &mut conversation.search else { return };
    search.search(&query, &conversation.path);
    if search.current().is_none() {
        (conversation.cursor, conversation.place) = search.began;
    }
    arrive(model);
}

/// Goes to the next or the previous match.
pub(crate) fn step(model: &mut Model, forward: bool) {
    let Some(search) = &mut model.conversation.search else {
        let key = model.keys.key_of(Action::Filter).unwrap_or_default();
        let text = format!("No search is active; {key} searches this conversation.");
        return model.status.say(Severity::Notice, text, model.now);
    };
    search.step(forward);
    arrive(model);
}

/// Selects the message of the current match.
fn arrive(model: &mut Model) {
    let conversation = &mut model.conversation;
    if let Some(found) = conversation.search.as_ref().and_then(ConversationSearch::current) {
        conversation.point_at(found.block);
    }
}

/// Handles Enter: closes the line and keeps the matches highlighted, or ends the search if there are none.
pub(crate) fn keep(model: &mut Model) {
    model.layers.pop();
    let found = model.conversation.search.as_ref().is_some_and(|search| search.position().1 > 0);
    if !found {
        cancel(model);
    }
}

/// Handles Esc while typing: ends the search and restores the former position.
pub(crate) fn cancel(model: &mut Model) {
    model.layers.close::<ConversationSearchScreen>(|_| true);
    let began = model.conversation.search.as_ref().map(|search| search.began);
    end(model);
    if let Some(began) = began {
        (model.conversation.cursor, model.conversation.place) = began;
    }
}

/// Ends the search at the current position. Returns false if there is none.
pub(crate) fn end(model: &mut Model) -> bool {
    model.conversation.search.take().is_some()
}
