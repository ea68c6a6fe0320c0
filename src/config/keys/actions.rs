//! The table of actions that keys, the palette, and commands can run. Each has a group, a name, a description, and a
//! mark whether its letter key is guarded while the composer has text.
//! Not for: keys (`keymap`), or running an action (the workbench).

use super::groups::ActionGroup;

macro_rules! actions {
    (@guarded guarded) => { true };
    (@guarded free) => { false };
    ($($variant:ident $group:ident $guarded:ident $name:literal $sentence:literal),* $(,)?) => {
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

            /// Whether the action changes the conversation, its branches, or a tool call, or replaces the composer's
            /// text. While the composer has text, the letter key of such an action takes effect only when it is pressed
            /// a second time.
            pub const fn changes_something(self) -> bool {
                match self { $(Self::$variant => actions!(@guarded $guarded),)* }
            }

            /// The action's description: one sentence that starts with a verb; menus show the first words.
            pub fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence,)* }
            }
        }
    };
}

actions! {
    Send Message free "send" "Send the message as planned.",
    Newline Message free "newline" "Insert a line break.",
    ExpandPaste Message free "expand-paste" "Expand or fold a paste.",
    HistoryUp Message free "history-up" "Move up or recall history: on the first line, the previous message.",
    HistoryDown Message free "history-down" "Move down or recall history: on the last line, the next message.",
    Complete Message free "complete" "Complete a command or name, or go to the next pane.",
    Compose Message free "compose" "Write in an external editor ($VISUAL or $EDITOR).",
    TakeQueued Message free "take-queued" "Edit the queued message: move the text back into the composer.",
    SendQueued Message free "send-queued" "Send the queued messages that wait after a failed or stopped answer.",
    DeleteToStart Message free "delete-to-start" "Delete to the start of the line.",
    UndoTyping Message free "undo-typing" "Undo typing in the composer.",
    RedoTyping Message free "redo-typing" "Redo typing in the composer.",
    SelectAll Message free "select-all" "Select the whole message; typing replaces the selection.",
    CycleMode Context free "cycle-mode" "Cycle the context mode: Off, Light, Heavy.",
    Context Context free "context" "Show the next request: items included and left out, with reasons; on a past \
    message, the request of its call.",
    Traces Tools free "traces" "Show tool calls: results, fixes of failures, and reruns.",
    Branches Branch free "branches" "Go to the branches.",
    Palette View free "palette" "Search all actions.",
    Sessions Session free "sessions" "Open or manage sessions: create, rename, delete.",
    Find Session free "find" "Search all messages: every session, by words and filters.",
    Back View free "back" "Return to the previous location.",
    Tree Branch free "tree" "Show the session tree.",
    Fold View free "fold" "Fold the subtree, or go to the parent.",
    Unfold View free "unfold" "Unfold the subtree, or go to the first child.",
    Label Message guarded "label-message" "Label the message, to find it later.",
    Favourite Message guarded "favorite" "Star or unstar the message.",
    Labels Message free "labels" "List labeled and starred messages.",
    Models Session free "models" "Choose a model.",
    Tour View free "tour" "Take the tour: nine steps on a bundled conversation, offline; nothing is saved.",
    Help View free "help" "Show all keys.",
    NextPane View free "next-pane" "Go to the next pane.",
    PrevPane View free "prev-pane" "Go to the previous pane.",
    Leave View free "leave" "Close the current view, then stop the answer.",
    Interrupt Message free "interrupt" "Stop the answer; the text received so far is kept.",
    Clear Message free "clear" "Clear the message; an answer that is arriving stops first. Press twice to quit.",
    Quit Session free "quit" "Quit pleach.",
    QuitIfEmpty Session free "quit-if-empty" "Quit if nothing is typed.",
    Redraw View free "redraw" "Redraw the screen.",
    Suspend Session free "suspend" "Suspend to the shell.",
    ToggleMouse View free "mouse" "Toggle mouse capture: clicks, scrolling, and dragging of borders.",
    Themes View free "theme" "Choose a color theme: live preview; Esc restores the current theme.",
    NextLayout View free "next-layout" "Cycle the screen layout: wide, narrow, zen.",
    Zen View free "zen" "Toggle the zen layout: conversation and composer only.",
    HideBranches View free "hide-branches" "Toggle the branches panel.",
    HideContext View free "hide-context" "Toggle the request panel.",
    HideTools View free "hide-tools" "Toggle the tools panel.",
    Narrower View free "narrower" "Narrow the focused panel.",
    Wider View free "wider" "Widen the focused panel.",
    EvenPanels View free "even-panels" "Reset the panels: default widths, all panels shown.",
    Reload Session free "reload" "Reload settings, keys, and themes.",
    StartRace Branch free "start-race" "Start a race: send the message on several branches at once with /race.",
    Focus Context free "focus" "Set the code focus: files, folders, and symbols for this branch; empty clears the \
    focus.",
    ScrollUp View free "scroll-up" "Scroll one page up.",
    ScrollDown View free "scroll-down" "Scroll one page down.",
    Up View free "up" "Move up.",
    Down View free "down" "Move down.",
    Top View free "top" "Go to the top.",
    Bottom View free "bottom" "Go to the bottom.",
    Open View free "open" "Open, fold, or switch to the selection.",
    Pin Context guarded "pin" "Pin or unpin the item: every request includes pinned items.",
    Lease Context guarded "lease" "Lease the item: pin for a limited number of turns.",
    Exclude Context guarded "exclude" "Exclude the item from all requests, or remove the exclusion.",
    ExcludeOnce Context guarded "exclude-once" "Exclude the item once: from the next request only.",
    SearchAnyway Context guarded "search-anyway" "Override retrieval for this request: always search, never search, or \
    follow the mode.",
    IncludeOnce Context guarded "include-once" "Include the item once: in the next request only.",
    Fork Branch guarded "fork" "Fork a branch here; an unsent message comes along.",
    Edit Message guarded "edit" "Edit your message as a new version; the old version stays.",
    Regenerate Message guarded "regenerate" "Regenerate the answer; the old answer stays.",
    Continue Message guarded "continue" "Continue a truncated answer.",
    Reply Message guarded "reply" "Reply with a quote.",
    NextSibling Branch guarded "next-sibling" "Show the next version.",
    PrevSibling Branch guarded "prev-sibling" "Show the previous version.",
    Copy Message free "copy" "Copy the selection.",
    CopyPart Message free "copy-part" "Choose a part to copy: code block, message, turn, or the whole branch as \
    Markdown.",
    FoldMessage View free "fold-message" "Expand or fold the message.",
    Filter View free "filter" "Search the conversation, or filter the list.",
    BudgetUp Context guarded "budget-up" "Raise the prompt budget.",
    BudgetDown Context guarded "budget-down" "Lower the prompt budget.",
    RawRequest Context free "raw-request" "Show the exact request.",
    EditRequest Context free "edit-request" "Edit the request once, message by message, and send the edited request.",
    EditJson Context free "edit-json" "Edit the request as JSON, once.",
    SendEdited Context free "send-edited" "Send the edited request unchanged.",
    FoldAll View free "fold-all" "Fold or unfold all parts.",
    NextHit View free "next-hit" "Go to the next match.",
    PrevHit View free "prev-hit" "Go to the previous match.",
    TakeRow Context free "take-row" "Select or deselect the row, to act on several rows at once.",
    TakeAll Context free "take-all" "Select or deselect all rows.",
    Details View free "details" "Show or hide item details: history, scores, and hashes.",
    Order Context free "order" "Change the sort order: as planned, by tokens, by score, by age.",
    Group Context free "group" "Change the grouping: section, kind, reason, or none; in the exact request, sections.",
    DetailDown View free "detail-down" "Scroll the details down.",
    DetailUp View free "detail-up" "Scroll the details up.",
    Undo Context guarded "undo" "Undo the session's last change.",
    Redo Context guarded "redo" "Redo the last undone change.",
    NewSession Session free "new-session" "Start a new session.",
    RenameSession Session free "rename-session" "Rename this session.",
    Rename Branch guarded "rename" "Rename the branch or session.",
    Archive Branch guarded "archive" "Archive or restore the branch.",
    ShowArchived Branch free "show-archived" "Show or hide archived branches.",
    Delete Message free "delete" "Delete the selected item.",
    Dismiss Context guarded "dismiss" "Dismiss the suggestion for good: a pin or a memory.",
    Memories Context free "memories" "Manage memories: confirm, edit, dismiss, delete.",
    New Session free "new" "Add a list item.",
    ShowState Context free "show-state" "Show the state block: read and edit the state of this branch.",
    RebuildState Context free "rebuild-state" "Restore the state block from the newest answer that has one.",
    AdoptState Context free "adopt-state" "Adopt the imported state block on this branch.",
    Trust Session free "trust-folder" "Trust or distrust this folder: the model may use tools in trusted folders.",
    FolderSettings Session free "folder-settings" "Review this folder's settings (.pleach.toml), then approve or \
    deny the changes.",
    UseOffline Session free "use-offline" "Use the offline model on this branch.",
    Doctor Session free "doctor" "Check the setup: store, settings, and model servers.",
    Save Session free "save" "Save the edited text.",
    WhatIf Context free "what-if" "Compare alternatives: the next request under other modes, policies, models, and \
    budgets.",
    Replay Calls guarded "replay" "Replay the selected call on a scratch branch: unchanged, with another model, or \
    without an item.",
    Mattered Branch free "mattered" "Suggest the left-out item as a pin: the answer changed without the item.",
    Discard Branch free "discard" "Archive the race or replay.",
    KeepAside Branch free "keep-aside" "Save the side question as a branch, with the answer.",
    TakeRange Branch free "take-range" "Select a range of turns, from the last selected turn to the current turn.",
    Draft Context free "draft" "Review the summary draft, or draft a summary of the older turns.",
    SummaryList Context free "summary-list" "Manage summaries of this branch: read, undo, rewrite.",
    AcceptDraft Context free "accept-draft" "Accept the draft: requests use the summary in place of its turns.",
    RejectDraft Context free "reject-draft" "Discard or stop the draft; its turns are not summarized automatically \
    again.",
    EditDraft Context free "edit-draft" "Edit the draft text.",
    KeepItem Context free "keep-item" "Keep the selected item verbatim in the summary, or drop it again.",
    KeepAll Context free "keep-all" "Keep important items verbatim, as many as fit.",
    Redraft Context free "redraft" "Rewrite the draft or summary; for a draft, switch between model-written and \
    extractive.",
    Calls Calls free "calls" "Show the call history, and compare two calls.",
    Stats Calls free "stats" "Show usage: tokens, cost, cached share, and estimate errors, as charts.",
    CallBefore Calls free "call-before" "Go to the previous call.",
    CallAfter Calls free "call-after" "Go to the next call.",
    WholeSession Calls free "whole-session" "Switch the scope: whole session or this branch.",
    Editors Session free "editors" "Open the editors: state, summaries, memories, and policies, with versions to \
    compare and undo.",
    Policies Context free "policies" "Manage policies: copy, edit, compare, preview, use.",
    Project Session free "project" "Manage project rules (AGENTS.md): read, edit, exclude.",
    Skills Session free "skills" "List skills, and insert a skill into the message.",
    Modules Session free "modules" "Manage module summaries: edit, compare, rewrite, undo.",
    RewriteModule Session free "rewrite-module" "Rewrite the module summary from its files.",
    ToggleRules Session free "toggle-rules" "Exclude or include the rules (or the skill list) on this branch.",
    EditText Session free "edit-text" "Edit the selected text; a built-in policy is copied under a new name first.",
    CopyPolicy Context free "copy-policy" "Copy the selected policy under a new name.",
    UsePolicy Context free "use-policy" "Use this policy or skill: the policy on this branch, the skill in the \
    message.",
    TryPolicy Context free "try-policy" "Preview the request under the selected policy.",
    OlderVersion Session free "older-version" "Go to the previous version.",
    NewerVersion Session free "newer-version" "Go to the next version.",
    TurnView View free "turn-view" "Cycle the view: changes since the previous version, changes since the first, whole \
    text.",
    ChooseCall Calls free "choose-call" "Mark or unmark the call for comparison.",
    PlanDiff Calls free "plan-diff" "Compare with the last call: changes to the request and their causes.",
    ItemHistory Context free "item-history" "Show the item's history: calls, forms, reasons, and changes with their \
    authors.",
    Compare Branch free "compare" "Compare two branches: the selected one and the current one.",
    TakeTurn Branch free "take-turn" "Select or deselect the turn, to pick several turns together.",
    PickOver Branch free "pick-over" "Pick turns onto the other branch as a pinned text that links to its source.",
    BringBack Branch free "bring-back" "Bring this branch's result back to the other branch, as a card that links to \
    its sources.",
    AnswerTool Tools free "answer-tool" "Review the pending tool call, or an imported system prompt.",
    AllowTool Tools guarded "allow-tool" "Approve the call; for files, the selected changes.",
    RefuseTool Tools guarded "refuse-tool" "Deny the call; the model is told that nothing was done.",
    RefuseWhy Tools guarded "refuse-why" "Deny with a message to the model.",
    AllowAlways Tools guarded "allow-always" "Approve and add a rule for similar calls in this session or folder.",
    TakeHunk Tools guarded "take-hunk" "Select or deselect the change.",
    GroupFailures Tools free "group-failures" "Group or ungroup failures by tool and kind of error.",
    FollowLink Tools free "follow-link" "Jump between failure and fix.",
    RunAgain Tools guarded "run-again" "Rerun the selected tool call outside the conversation, and compare the \
    results.",
    StopAgain Tools free "stop-again" "Stop the rerun.",
    AddResult Tools guarded "add-result" "Insert the rerun's result into the message.",
    CopyArguments Tools free "copy-arguments" "Copy the call's arguments.",
    ToMessage Tools free "to-message" "Go to the message of the result or row.",
    Rules Tools free "rules" "List and remove approval rules.",
    Mcp Tools free "mcp" "Manage tools and MCP servers: cost, state, on and off, restart.",
    ToggleTool Tools free "toggle-tool" "Enable or disable the tool, or all tools of the server, on this branch.",
    RestartServer Tools free "restart-server" "Restart the MCP server.",
    ApproveTool Tools free "approve-tool" "Approve the current tool descriptions; for the folder's .mcp.json, \
        review the file.",
    TakeBack Context free "take-back" "Undo a summary: requests use the previous summary again, or the turns \
    themselves.",
}

/// The names of actions in earlier versions, which still work.
const EARLIER_NAMES: &[(&str, Action)] = &[
    ("capsules", Action::SummaryList),
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
