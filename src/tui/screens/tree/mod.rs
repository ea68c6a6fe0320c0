//! The screen of a session's whole tree.
//! Not for: the panel of branches beside the chat (`chat`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;

use crate::domain::base::RunId;
use crate::tui::chat::model::conversation::Conversation;
use crate::tui::chat::update::acts;
use crate::tui::model::session::Session;
use crate::tui::screens::screen::prelude::*;
use model::TreeScreen;

impl Screen for TreeScreen {
    fn places(&self) -> &'static [KeyPlace] {
        if self.filtering { TYPING } else { &[KeyPlace::Tree, KeyPlace::Panel, KeyPlace::Always] }
    }

    fn view(&mut self, view: &ViewContext<'_>, _cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        let (page, missing) = view::draw(view, self, area, buf);
        self.page = page;
        missing
    }

    fn page(&self) -> Option<usize> {
        Some(self.page)
    }

    fn list_cursor(&mut self) -> Option<ListCursor<'_>> {
        Some(ListCursor::new(&mut self.cursor, self.shown.len()))
    }

    fn copy(&mut self) -> Copied {
        Copied::Then(acts::copy_message)
    }

    fn edit_list(&mut self, edit: ListEdit) -> Outcome {
        match edit {
            ListEdit::Rename => Outcome::Then(|model, _| update::rename(model)),
            ListEdit::New | ListEdit::Delete => Outcome::Pass,
        }
    }

    fn line(&mut self) -> Option<&mut TypedLine> {
        self.filtering.then_some(&mut self.filter)
    }

    fn line_changed(&mut self) -> Outcome {
        Outcome::Then(|model, _| update::change(model, TreeScreen::refilter))
    }

    fn open(&mut self) -> Outcome {
        Outcome::Then(update::choose)
    }

    fn leave(&mut self) -> Outcome {
        if !self.filtering && self.filter.is_empty() {
            return Outcome::Pass;
        }
        Outcome::Then(|model, _| update::change(model, TreeScreen::leave_filter))
    }

    fn filter(&mut self) {
        self.filtering = true;
    }

    fn sync(&mut self, session: &mut Session, _conversation: &Conversation, _live: Option<RunId>) {
        let selected = self.message(session);
        session.sync_tree_rows();
        Self::sync(self, session, selected);
    }

    fn due(&self, now: u64) -> Option<u64> {
        self.looking().then_some(now)
    }
}
