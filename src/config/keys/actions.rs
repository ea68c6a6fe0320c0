//! The table of actions that keys, the palette, and commands can run, each with a group, a name, and a description.
//! Not for: keys (`keymap`), or running an action (the workbench).

use super::groups::ActionGroup;

macro_rules! actions {
    ($($variant:ident $group:ident $name:literal $sentence:literal),* $(,)?) => {
        /// An action that a key, the palette, or a command can run.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Action {
            $(#[doc = $sentence] $variant,)*
        }

        impl Action {
            /// All actions, in the order of the palette.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The action's name in the key table.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The action's group in the menus.
            pub const fn group(self) -> ActionGroup {
                match self { $(Self::$variant => ActionGroup::$group,)* }
            }

            /// The action's description: one sentence that starts with a verb; menus show the first words.
            pub fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence,)* }
            }
        }
    };
}

actions! {
    Send Message "send" "Send the message as planned.",
    Newline Message "newline" "Insert a line break.",
    ExpandPaste Message "expand-paste" "Expand or fold a paste.",
    HistoryUp Message "history-up" "Move up or recall history: on the first line, the previous message.",
    HistoryDown Message "history-down" "Move down or recall history: on the last line, the next message.",
    Complete Message "complete" "Complete a command or name, or go to the next pane.",
    Compose Message "compose" "Write in an external editor ($VISUAL or $EDITOR).",
    TakeQueued Message "take-queued" "Edit the queued message: move the text back into the composer.",
    DeleteToStart Message "delete-to-start" "Delete to the start of the line.",
    UndoTyping Message "undo-typing" "Undo typing in the composer.",
    RedoTyping Message "redo-typing" "Redo typing in the composer.",
    SelectAll Message "select-all" "Select the whole message; typing replaces the selection.",
    CycleMode Context "cycle-mode" "Cycle the context mode: Off, Light, Heavy.",
    Context Context "context" "Show the next request: items included and left out, with reasons; on a past message, \
    the request of its call.",
    Traces Tools "traces" "Show tool calls: results, fixes of failures, and reruns.",
    Branches Branch "branches" "Go to the branches.",
    Palette View "palette" "Search all actions.",
    Sessions Session "sessions" "Open or manage sessions: create, rename, delete.",
    Find Session "find" "Search all messages: every session, by words and filters.",
    Back View "back" "Return to the previous location.",
    Tree Branch "tree" "Show the session tree.",
    Fold View "fold" "Fold the subtree, or go to the parent.",
    Unfold View "unfold" "Unfold the subtree, or go to the first child.",
    Label Message "label-message" "Label the message, to find it later.",
    Favourite Message "favorite" "Star or unstar the message.",
    Labels Message "labels" "List labeled and starred messages.",
    Models Session "models" "Choose a model.",
    Tour View "tour" "Take the tour: nine steps on a bundled conversation, offline; nothing is saved.",
    Help View "help" "Show all keys.",
    NextPane View "next-pane" "Go to the next pane.",
    PrevPane View "prev-pane" "Go to the previous pane.",
    Leave View "leave" "Close the current view, then stop the answer.",
    Interrupt Message "interrupt" "Stop the answer; the text received so far is kept.",
    Clear Message "clear" "Clear the message; an answer that is arriving stops first. Press twice to quit.",
    Quit Session "quit" "Quit pleach.",
    QuitIfEmpty Session "quit-if-empty" "Quit if nothing is typed.",
    Redraw View "redraw" "Redraw the screen.",
    Suspend Session "suspend" "Suspend to the shell.",
    ToggleMouse View "mouse" "Toggle mouse capture: clicks, scrolling, and dragging of borders.",
    Themes View "theme" "Choose a color theme: live preview; Esc restores the current theme.",
    NextLayout View "next-layout" "Cycle the screen layout: wide, narrow, zen.",
    Zen View "zen" "Toggle the zen layout: conversation and composer only.",
    HideBranches View "hide-branches" "Toggle the branches panel.",
    HideContext View "hide-context" "Toggle the request panel.",
    HideTools View "hide-tools" "Toggle the tools panel.",
    Narrower View "narrower" "Narrow the focused panel.",
    Wider View "wider" "Widen the focused panel.",
    EvenPanels View "even-panels" "Reset the panels: default widths, all panels shown.",
    Reload Session "reload" "Reload settings, keys, and themes.",
    StartRace Branch "start-race" "Start a race: send the message on several branches at once with /race.",
    Focus Context "focus" "Set the code focus: files, folders, and symbols for this branch; empty clears the focus.",
    ScrollUp View "scroll-up" "Scroll one page up.",
    ScrollDown View "scroll-down" "Scroll one page down.",
    Up View "up" "Move up.",
    Down View "down" "Move down.",
    Top View "top" "Go to the top.",
    Bottom View "bottom" "Go to the bottom.",
    Open View "open" "Open, fold, or switch to the selection.",
    Pin Context "pin" "Pin or unpin the item: every request includes pinned items.",
    Lease Context "lease" "Lease the item: pin for a limited number of turns.",
    Exclude Context "exclude" "Exclude the item from all requests, or remove the exclusion.",
    ExcludeOnce Context "exclude-once" "Exclude the item once: from the next request only.",
    SearchAnyway Context "search-anyway" "Override retrieval for this request: always search, never search, or follow \
    the mode.",
    IncludeOnce Context "include-once" "Include the item once: in the next request only.",
    Fork Branch "fork" "Fork a branch here; an unsent message comes along.",
    Edit Message "edit" "Edit your message as a new version; the old version stays.",
    Regenerate Message "regenerate" "Regenerate the answer; the old answer stays.",
    Continue Message "continue" "Continue a truncated answer.",
    Reply Message "reply" "Reply with a quote.",
    NextSibling Branch "next-sibling" "Show the next version.",
    PrevSibling Branch "prev-sibling" "Show the previous version.",
    Copy Message "copy" "Copy the selection.",
    CopyPart Message "copy-part" "Choose a part to copy: code block, message, turn, or the whole branch as Markdown.",
    FoldMessage View "fold-message" "Expand or fold the message.",
    Filter View "filter" "Search the conversation, or filter the list.",
    BudgetUp Context "budget-up" "Raise the prompt budget.",
    BudgetDown Context "budget-down" "Lower the prompt budget.",
    RawRequest Context "raw-request" "Show the exact request.",
    EditRequest Context "edit-request" "Edit the request once, message by message, and send the edited request.",
    EditJson Context "edit-json" "Edit the request as JSON, once.",
    SendEdited Context "send-edited" "Send the edited request unchanged.",
    FoldAll View "fold-all" "Fold or unfold all parts.",
    NextHit View "next-hit" "Go to the next match.",
    PrevHit View "prev-hit" "Go to the previous match.",
    TakeRow Context "take-row" "Select or deselect the row, to act on several rows at once.",
    TakeAll Context "take-all" "Select or deselect all rows.",
    Details View "details" "Show or hide item details: history, scores, and hashes.",
    Order Context "order" "Change the sort order: as planned, by tokens, by score, by age.",
    Group Context "group" "Change the grouping: section, kind, reason, or none; in the exact request, sections.",
    DetailDown View "detail-down" "Scroll the details down.",
    DetailUp View "detail-up" "Scroll the details up.",
    Undo Context "undo" "Undo the session's last change.",
    Redo Context "redo" "Redo the last undone change.",
    NewSession Session "new-session" "Start a new session.",
    RenameSession Session "rename-session" "Rename this session.",
    Rename Branch "rename" "Rename the branch or session.",
    Archive Branch "archive" "Archive or restore the branch.",
    ShowArchived Branch "show-archived" "Show or hide archived branches.",
    Delete Message "delete" "Delete the selected item.",
    Dismiss Context "dismiss" "Dismiss the suggestion for good: a pin or a memory.",
    Memories Context "memories" "Manage memories: confirm, edit, dismiss, delete.",
    New Session "new" "Add a list item.",
    ShowState Context "show-state" "Show the state block: read and edit the state of this branch.",
    RebuildState Context "rebuild-state" "Restore the state block from the newest answer that has one.",
    AdoptState Context "adopt-state" "Adopt the imported state block on this branch.",
    Trust Session "trust-folder" "Trust or distrust this folder: the model may use tools in trusted folders.",
    FolderSettings Session "folder-settings" "Review this folder's settings (.pleach.toml), then approve or decline \
    the changes.",
    UseOffline Session "use-offline" "Use the offline model on this branch.",
    Doctor Session "doctor" "Check the setup: store, settings, and model servers.",
    Save Session "save" "Save the edited text.",
    WhatIf Context "what-if" "Compare alternatives: the next request under other modes, policies, models, and budgets.",
    Replay Calls "replay" "Replay the selected call on a scratch branch: unchanged, with another model, or without an \
    item.",
    Mattered Branch "mattered" "Suggest the left-out item as a pin: the answer changed without the item.",
    Discard Branch "discard" "Archive the race or replay.",
    KeepAside Branch "keep-aside" "Save the side question as a branch, with the answer.",
    TakeRange Branch "take-range" "Select a range of turns, from the last selected turn to the current turn.",
    Draft Context "draft" "Review the summary draft, or draft a summary of the older turns.",
    Capsules Context "capsules" "Manage summaries of this branch: read, undo, rewrite.",
    AcceptDraft Context "accept-draft" "Accept the draft: requests use the summary in place of its turns.",
    RejectDraft Context "reject-draft" "Discard or stop the draft; its turns are not summarized automatically again.",
    EditDraft Context "edit-draft" "Edit the draft text.",
    KeepItem Context "keep-item" "Keep the selected item verbatim in the summary, or drop it again.",
    KeepAll Context "keep-all" "Keep important items verbatim, as far as they fit.",
    Redraft Context "redraft" "Rewrite the draft or summary; for a draft, switch between model-written and extractive.",
    Calls Calls "calls" "Show the call history, and compare two calls.",
    Stats Calls "stats" "Show usage: tokens, cost, cached share, and estimate errors, as charts.",
    CallBefore Calls "call-before" "Go to the previous call.",
    CallAfter Calls "call-after" "Go to the next call.",
    WholeSession Calls "whole-session" "Switch the scope: whole session or this branch.",
    Editors Session "editors" "Open the editors: state, summaries, memories, and policies, with versions to compare \
    and undo.",
    Policies Context "policies" "Manage policies: copy, edit, compare, preview, use.",
    Project Session "project" "Manage project rules (AGENTS.md): read, edit, exclude.",
    Skills Session "skills" "List skills, and insert a skill into the message.",
    Modules Session "modules" "Manage module summaries: edit, compare, rewrite, undo.",
    RewriteModule Session "rewrite-module" "Rewrite the module summary from its files.",
    ToggleRules Session "toggle-rules" "Exclude or include the rules (or the skill list) on this branch.",
    EditText Session "edit-text" "Edit the selected text; a built-in policy is copied under a new name first.",
    CopyPolicy Context "copy-policy" "Copy the selected policy under a new name.",
    UsePolicy Context "use-policy" "Use this policy or skill: the policy on this branch, the skill in the message.",
    TryPolicy Context "try-policy" "Preview the request under the selected policy.",
    OlderVersion Session "older-version" "Go to the previous version.",
    NewerVersion Session "newer-version" "Go to the next version.",
    TurnView View "turn-view" "Cycle the view: changes since the previous version, changes since the first, whole \
    text.",
    ChooseCall Calls "choose-call" "Select or deselect the call for comparison.",
    PlanDiff Calls "plan-diff" "Compare with the last call: changes to the request and their causes.",
    ItemHistory Context "item-history" "Show the item's history: calls, forms, reasons, and changes with their \
    authors.",
    Compare Branch "compare" "Compare two branches: the selected one and the current one.",
    TakeTurn Branch "take-turn" "Select or deselect the turn, to pick several turns together.",
    PickOver Branch "pick-over" "Pick onto the other branch as a pinned text that links to its source.",
    BringBack Branch "bring-back" "Bring this branch's result back to the other branch, as a card that links to its \
    sources.",
    AnswerTool Tools "answer-tool" "Review the pending tool call.",
    AllowTool Tools "allow-tool" "Approve the call; for files, the selected changes.",
    RefuseTool Tools "refuse-tool" "Deny the call; the model is told that nothing was done.",
    RefuseWhy Tools "refuse-why" "Deny with a message to the model.",
    AllowAlways Tools "allow-always" "Approve and add a rule for similar calls in this session or folder.",
    TakeHunk Tools "take-hunk" "Select or deselect the change.",
    GroupFailures Tools "group-failures" "Group or ungroup failures by tool and kind of error.",
    FollowLink Tools "follow-link" "Jump between failure and fix.",
    RunAgain Tools "run-again" "Rerun the selected tool call outside the conversation, and compare the results.",
    StopAgain Tools "stop-again" "Stop the rerun.",
    AddResult Tools "add-result" "Insert the rerun's result into the message.",
    CopyArguments Tools "copy-arguments" "Copy the call's arguments.",
    ToMessage Tools "to-message" "Go to the message of the result or row.",
    Rules Tools "rules" "List and remove approval rules.",
    Mcp Tools "mcp" "Manage tools and MCP servers: cost, state, on and off, restart.",
    ToggleTool Tools "toggle-tool" "Enable or disable the tool, or all tools of the server, on this branch.",
    RestartServer Tools "restart-server" "Restart the MCP server.",
    ApproveTool Tools "approve-tool" "Approve tool descriptions as they are now; for the folder's file, review the \
    file.",
    TakeBack Context "take-back" "Undo a summary: requests use the previous summary again, or the turns themselves.",
}

/// The names of actions in earlier versions, which still work.
const EARLIER_NAMES: &[(&str, Action)] = &[
    ("edit-thing", Action::EditText),
    ("favourite", Action::Favourite),
    ("renew-thing", Action::RewriteModule),
    ("switch-thing", Action::ToggleRules),
];

impl Action {
    /// Finds an action by its name in the key table, or by its name in an earlier version.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let named = Self::ALL.iter().copied().find(|action| action.name() == name);
        named.or_else(|| EARLIER_NAMES.iter().find(|(was, _)| *was == name).map(|(_, action)| *action))
    }
}
