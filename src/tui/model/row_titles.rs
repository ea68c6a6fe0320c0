//! The titles of rows and messages as they are shown: without Markdown marks if the text is Markdown.
//! Not for: the titles of other lists (`domain::base::plain_text`).

use crate::domain::base::plain_text::line;
use crate::domain::conversation::Role;
use crate::domain::planning::{Item, Row, RowKind};
use std::borrow::Cow;

/// The title of a row.
pub(crate) fn row_title(row: &Row) -> Cow<'_, str> {
    title_of(row.kind, &row.title)
}

/// The title of a row of this kind.
pub(crate) fn title_of(kind: RowKind, title: &str) -> Cow<'_, str> {
    use RowKind as K;
    match kind {
        K::Text | K::Note | K::Preamble | K::Turn | K::Card | K::Summary | K::Quote | K::Message | K::Memory => {
            line(title)
        }
        K::Rules | K::Module | K::State | K::Range | K::Part | K::Search | K::Request | K::Skills | K::Code => {
            Cow::Borrowed(title)
        }
    }
}

/// The title of a message inside a row. The title of a tool's result stays as it is.
pub(crate) fn item_title(item: &Item) -> Cow<'_, str> {
    if item.role == Role::Tool { Cow::Borrowed(&item.title) } else { line(&item.title) }
}
