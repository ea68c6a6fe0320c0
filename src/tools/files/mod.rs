//! Tools that read, list, search, and change files of the workspace, and the rules about which files they may show.
//! Not for: commands (`command`), or options of the tools (`effects`).

pub(super) mod attach;
pub(super) mod change;
pub(super) mod diff;
pub(super) mod edit;
pub(super) mod ignore_rules;
pub(super) mod list;
pub(super) mod place;
pub(super) mod read;
pub(super) mod search;
pub(super) mod visible;
pub(super) mod walk;
