//! Groups the actions under the headings of the menus.
//! Not for: names and descriptions (`actions`), or keys (`keymap`).

use super::actions::Action;
use crate::domain::base::plain_text::first_clause;

/// A heading of the menus.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ActionGroup {
    /// The content of the next request.
    Context,
    /// Branches and the tree.
    Branch,
    /// Past calls and their usage.
    Calls,
    /// Tools, their servers, and their rules.
    Tools,
    /// Sessions, settings and the program.
    Session,
    /// Appearance and navigation.
    View,
    /// Writing and sending.
    Message,
}

impl ActionGroup {
    /// Returns the heading.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Message => "Message",
            Self::Context => "Context",
            Self::Branch => "Branch",
            Self::Calls => "Calls",
            Self::Tools => "Tools",
            Self::Session => "Session",
            Self::View => "View",
        }
    }
}

impl Action {
    /// Returns the action's group. The match is exhaustive, so that a new action without a group does not compile.
    #[rustfmt::skip]
    pub const fn group(self) -> ActionGroup {
        match self {
            Self::Send | Self::Newline | Self::ExpandPaste | Self::HistoryUp | Self::HistoryDown | Self::Complete
            | Self::Compose | Self::TakeQueued | Self::DeleteToStart | Self::UndoTyping | Self::RedoTyping | Self::SelectAll
            | Self::Interrupt | Self::Clear | Self::Edit | Self::Regenerate | Self::Continue | Self::Reply
            | Self::Copy | Self::CopyPart | Self::Label | Self::Favourite | Self::Labels | Self::Delete => {
                ActionGroup::Message
            }
            Self::CycleMode | Self::Context | Self::Pin | Self::Lease | Self::Exclude | Self::ExcludeOnce
            | Self::SearchAnyway | Self::IncludeOnce | Self::BudgetUp | Self::BudgetDown | Self::RawRequest
            | Self::EditRequest | Self::EditJson | Self::SendEdited | Self::TakeRow | Self::TakeAll | Self::Order
            | Self::Group | Self::Focus | Self::Undo | Self::Redo | Self::Dismiss | Self::Memories | Self::ShowState
            | Self::RebuildState | Self::AdoptState | Self::WhatIf | Self::Draft | Self::Capsules
            | Self::AcceptDraft | Self::RejectDraft | Self::EditDraft | Self::KeepItem | Self::KeepAll
            | Self::Redraft | Self::Policies | Self::CopyPolicy | Self::UsePolicy | Self::TryPolicy
            | Self::ItemHistory | Self::TakeBack => ActionGroup::Context,
            Self::Branches | Self::Tree | Self::Fork | Self::NextSibling | Self::PrevSibling | Self::Rename
            | Self::Archive | Self::ShowArchived | Self::StartRace | Self::Mattered | Self::Discard
            | Self::KeepAside | Self::TakeRange | Self::Compare | Self::TakeTurn | Self::PickOver
            | Self::BringBack => ActionGroup::Branch,
            Self::Calls | Self::Stats | Self::CallBefore | Self::CallAfter | Self::WholeSession | Self::Replay
            | Self::ChooseCall | Self::PlanDiff => ActionGroup::Calls,
            Self::Traces | Self::AnswerTool | Self::AllowTool | Self::RefuseTool | Self::RefuseWhy
            | Self::AllowAlways | Self::TakeHunk | Self::GroupFailures | Self::FollowLink | Self::RunAgain
            | Self::StopAgain | Self::AddResult | Self::CopyArguments | Self::ToMessage | Self::Rules | Self::Mcp
            | Self::ToggleTool | Self::RestartServer | Self::ApproveTool => ActionGroup::Tools,
            Self::Sessions | Self::NewSession | Self::RenameSession | Self::New | Self::Find | Self::Models
            | Self::UseOffline | Self::Doctor | Self::Save | Self::Trust | Self::FolderSettings | Self::Editors
            | Self::Project | Self::Skills | Self::Modules | Self::RenewThing | Self::SwitchThing
            | Self::EditThing | Self::OlderVersion | Self::NewerVersion | Self::Reload | Self::Quit
            | Self::QuitIfEmpty | Self::Suspend => ActionGroup::Session,
            Self::Help | Self::Tour | Self::Palette | Self::Back | Self::Fold | Self::Unfold | Self::NextPane | Self::PrevPane
            | Self::Leave | Self::Redraw | Self::ToggleMouse | Self::Themes | Self::NextLayout | Self::Zen
            | Self::HideBranches | Self::HideContext | Self::HideTools | Self::Narrower | Self::Wider
            | Self::EvenPanels | Self::ScrollUp | Self::ScrollDown | Self::Up | Self::Down | Self::Top
            | Self::Bottom | Self::Open | Self::FoldMessage | Self::Filter | Self::FoldAll | Self::NextHit
            | Self::PrevHit | Self::Details | Self::DetailDown | Self::DetailUp | Self::TurnView => ActionGroup::View,
        }
    }

    /// Whether the action changes the conversation, its branches, or a tool call, or replaces the composer's text.
    /// While the composer has text, the letter key of such an action takes effect only when it is pressed a second
    /// time.
    pub const fn changes_something(self) -> bool {
        matches!(
            self,
            Self::Pin
                | Self::Lease
                | Self::Exclude
                | Self::ExcludeOnce
                | Self::IncludeOnce
                | Self::SearchAnyway
                | Self::Dismiss
                | Self::Edit
                | Self::Regenerate
                | Self::Continue
                | Self::Reply
                | Self::NextSibling
                | Self::PrevSibling
                | Self::Fork
                | Self::Rename
                | Self::Archive
                | Self::Label
                | Self::Favourite
                | Self::Undo
                | Self::Redo
                | Self::Replay
                | Self::BudgetUp
                | Self::BudgetDown
                | Self::AllowTool
                | Self::AllowAlways
                | Self::RefuseTool
                | Self::RefuseWhy
                | Self::TakeHunk
                | Self::RunAgain
                | Self::AddResult
        )
    }

    /// Returns the description's first clause.
    pub fn short(self) -> &'static str {
        first_clause(self.sentence())
    }
}
