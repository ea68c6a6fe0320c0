//! The table of actions that keys, the palette, and commands can run, each with a name and a description.
//! Not for: keys (`keymap`), or running an action (the workbench).

macro_rules! actions {
    ($($variant:ident $name:literal $sentence:literal),* $(,)?) => {
        /// An action that a key, the palette, or a command can run.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Action {
            $(#[doc = $sentence] $variant,)*
        }

        impl Action {
            /// All actions, in the order of the palette.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The action's name in the key table.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The action's description: one sentence that starts with a verb; menus show the first words.
            #[must_use]
            pub fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence,)* }
            }
        }
    };
}

actions! {
    Send "send" "Send the message as planned.",
    Newline "newline" "Insert a line break.",
    ExpandPaste "expand-paste" "Expand or fold a paste.",
    HistoryUp "history-up" "Move up or recall history: on the first line, the previous message.",
    HistoryDown "history-down" "Move down or recall history: on the last line, the next message.",
    Complete "complete" "Complete a command or name, or go to the next pane.",
    Compose "compose" "Write in an external editor ($VISUAL or $EDITOR).",
    TakeQueued "take-queued" "Edit the queued message: move the text back into the composer.",
    DeleteToStart "delete-to-start" "Delete to the start of the line.",
    UndoTyping "undo-typing" "Undo typing in the composer.",
    RedoTyping "redo-typing" "Redo typing in the composer.",
    SelectAll "select-all" "Select the whole message; typing replaces the selection.",
    CycleMode "cycle-mode" "Cycle the context mode: Off, Light, Heavy.",
    Context "context" "Show the next request: items included and left out, with reasons; on a past message, \
    the request of its call.",
    Traces "traces" "Show tool calls: results, fixes of failures, and reruns.",
    Branches "branches" "Go to the branches.",
    Palette "palette" "Search all actions.",
    Sessions "sessions" "Open or manage sessions: create, rename, delete.",
    Find "find" "Search all messages: every session, by words and filters.",
    Back "back" "Return to the previous location.",
    Tree "tree" "Show the session tree.",
    Fold "fold" "Fold the subtree, or go to the parent.",
    Unfold "unfold" "Unfold the subtree, or go to the first child.",
    Label "label-message" "Label the message, to find it later.",
    Favourite "favourite" "Star or unstar the message.",
    Labels "labels" "List labeled and starred messages.",
    Models "models" "Choose a model.",
    Tour "tour" "Take the tour: nine steps on a bundled conversation, offline; nothing is saved.",
    Help "help" "Show all keys.",
    NextPane "next-pane" "Go to the next pane.",
    PrevPane "prev-pane" "Go to the previous pane.",
    Leave "leave" "Close the current view, then stop the answer.",
    Interrupt "interrupt" "Stop the answer; the text received so far is kept.",
    Clear "clear" "Clear the message; an answer that is arriving stops first. Press twice to quit.",
    Quit "quit" "Quit pleach.",
    QuitIfEmpty "quit-if-empty" "Quit if nothing is typed.",
    Redraw "redraw" "Redraw the screen.",
    Suspend "suspend" "Suspend to the shell.",
    ToggleMouse "mouse" "Toggle mouse capture: clicks, scrolling, and dragging of borders.",
    Themes "theme" "Choose a color theme: with a live preview; Esc restores the current theme.",
    NextLayout "next-layout" "Cycle the screen layout: wide, narrow, zen.",
    Zen "zen" "Toggle the zen layout: conversation and composer only.",
    HideBranches "hide-branches" "Show or hide the branches.",
    HideContext "hide-context" "Show or hide the request panel.",
    HideTools "hide-tools" "Show or hide the tool calls.",
    Narrower "narrower" "Narrow the focused panel.",
    Wider "wider" "Widen the focused panel.",
    EvenPanels "even-panels" "Reset the panels: default widths, all panels shown.",
    Reload "reload" "Reload settings, keys, and themes.",
    StartRace "start-race" "Start a race: send the message on several branches at once with /race.",
    Focus "focus" "Set the code focus: of this branch, by files, folders, and symbols; empty clears the focus.",
    ScrollUp "scroll-up" "Scroll one page up.",
    ScrollDown "scroll-down" "Scroll one page down.",
    Up "up" "Move up.",
    Down "down" "Move down.",
    Top "top" "Go to the top.",
    Bottom "bottom" "Go to the bottom.",
    Open "open" "Open, fold, or switch to the selection.",
    Pin "pin" "Pin or unpin the item: every request includes pinned items.",
    Lease "lease" "Lease the item: pin for a limited number of turns.",
    Exclude "exclude" "Exclude the item from all requests, or allow the item again.",
    ExcludeOnce "exclude-once" "Exclude the item once: from the next request only.",
    SearchAnyway "search-anyway" "Override retrieval for this request: always search, never search, or follow the \
    mode.",
    IncludeOnce "include-once" "Include the item once: in the next request only.",
    Fork "fork" "Fork a branch here; an unsent message comes along.",
    Edit "edit" "Edit your message as a new version; the old version stays.",
    Regenerate "regenerate" "Regenerate the answer; the old answer stays.",
    Continue "continue" "Continue a truncated answer.",
    Reply "reply" "Reply with a quote.",
    NextSibling "next-sibling" "Show the next version.",
    PrevSibling "prev-sibling" "Show the previous version.",
    Copy "copy" "Copy the selection.",
    CopyPart "copy-part" "Choose a part to copy: code block, message, turn, or the whole branch as Markdown.",
    FoldMessage "fold-message" "Expand or fold the message.",
    Filter "filter" "Search the conversation, or filter the list.",
    BudgetUp "budget-up" "Raise the prompt budget.",
    BudgetDown "budget-down" "Lower the prompt budget.",
    RawRequest "raw-request" "Show the exact request.",
    EditRequest "edit-request" "Edit the request once, message by message, and send the edited request.",
    EditJson "edit-json" "Edit the request as JSON, once.",
    SendEdited "send-edited" "Send the edited request unchanged.",
    FoldAll "fold-all" "Fold or unfold all parts.",
    NextHit "next-hit" "Go to the next match.",
    PrevHit "prev-hit" "Go to the previous match.",
    TakeRow "take-row" "Select or deselect the row, to act on several rows at once.",
    TakeAll "take-all" "Select or deselect all rows.",
    Details "details" "Show or hide item details: history, scores, and hashes.",
    Order "order" "Change the sort order: as planned, by tokens, by score, by age.",
    Group "group" "Change the grouping: section, kind, reason, or none; in the exact request, sections.",
    DetailDown "detail-down" "Scroll the details down.",
    DetailUp "detail-up" "Scroll the details up.",
    Undo "undo" "Undo the session's last change.",
    Redo "redo" "Redo the last undone change.",
    NewSession "new-session" "Start a new session.",
    RenameSession "rename-session" "Rename this session.",
    Rename "rename" "Rename the branch or session.",
    Archive "archive" "Archive or restore the branch.",
    ShowArchived "show-archived" "Show or hide archived branches.",
    Delete "delete" "Delete the selected item.",
    Dismiss "dismiss" "Dismiss the suggestion for good: a pin or a memory.",
    Memories "memories" "Manage memories: confirm, edit, dismiss, delete.",
    New "new" "Add a list item.",
    ShowState "show-state" "Show the state block: of this branch, to read and edit.",
    RebuildState "rebuild-state" "Restore the state block from the newest answer that has one.",
    AdoptState "adopt-state" "Adopt the imported state block on this branch.",
    Trust "trust-folder" "Trust or distrust this folder: the model may use tools in trusted folders.",
    FolderSettings "folder-settings" "Review this folder's settings (.pleach.toml), then approve or decline the \
    changes.",
    UseOffline "use-offline" "Use the offline model on this branch.",
    Doctor "doctor" "Check the setup: store, settings, and model servers.",
    Save "save" "Save the edited text.",
    WhatIf "what-if" "Compare alternatives: the next request under other modes, policies, models, and budgets.",
    Replay "replay" "Replay the selected call on a scratch branch: unchanged, with another model, or without an item.",
    Mattered "mattered" "Suggest the omitted item as a pin: the answer changed without the item.",
    Discard "discard" "Archive the selected race or replay branch.",
    KeepAside "keep-aside" "Save the side question as a branch, with the answer.",
    TakeRange "take-range" "Select a range of turns, from the last selected turn to the current turn.",
    Draft "draft" "Review the summary draft, or draft a summary of the older turns.",
    Capsules "capsules" "Manage summaries of this branch: read, undo, rewrite.",
    AcceptDraft "accept-draft" "Accept the draft: requests use the summary in place of its turns.",
    RejectDraft "reject-draft" "Reject or stop the draft; its turns are not summarized automatically again.",
    EditDraft "edit-draft" "Edit the draft text.",
    KeepItem "keep-item" "Keep the selected words verbatim in the summary, or drop them again.",
    KeepAll "keep-all" "Keep important words verbatim, as far as they fit.",
    Redraft "redraft" "Rewrite the draft or summary; a draft switches between model and extractive.",
    Calls "calls" "Show the call history, and compare two calls.",
    Stats "stats" "Show usage: tokens, cost, cached share, and estimate errors, as charts.",
    CallBefore "call-before" "Go to the previous call.",
    CallAfter "call-after" "Go to the next call.",
    WholeSession "whole-session" "Switch the scope: whole session or this branch.",
    Editors "editors" "Open the editors: state, summaries, memories, and policies, with versions to compare and undo.",
    Policies "policies" "Manage policies: copy, edit, compare, preview, use.",
    Project "project" "Manage project rules (AGENTS.md): read, edit, exclude.",
    Skills "skills" "List skills, and insert a skill into the message.",
    Modules "modules" "Manage module summaries: edit, compare, rewrite, undo.",
    RenewThing "renew-thing" "Rewrite the module summary from its files.",
    SwitchThing "switch-thing" "Exclude or include the rules (or the skill list) on this branch.",
    EditThing "edit-thing" "Edit the selected text; a built-in policy is copied under a new name first.",
    CopyPolicy "copy-policy" "Copy the selected policy under a new name.",
    UsePolicy "use-policy" "Use this policy or skill: the policy on this branch, the skill in the message.",
    TryPolicy "try-policy" "Preview the request under the selected policy.",
    OlderVersion "older-version" "Go to the previous version.",
    NewerVersion "newer-version" "Go to the next version.",
    TurnView "turn-view" "Cycle the view: changes since the previous version, changes since the first, whole text.",
    ChooseCall "choose-call" "Select or deselect the call for comparison.",
    PlanDiff "plan-diff" "Compare with the last call: changes to the request and their causes.",
    ItemHistory "item-history" "Show the item's history: calls, forms, reasons, and changes with their authors.",
    Compare "compare" "Compare two branches: the selected one and the current one.",
    TakeTurn "take-turn" "Select or deselect the turn, to pick several turns together.",
    PickOver "pick-over" "Pick onto the other branch as a pinned text that links to its source.",
    BringBack "bring-back" "Bring this branch's result back to the other branch, as a card that links to its sources.",
    AnswerTool "answer-tool" "Review the pending tool call.",
    AllowTool "allow-tool" "Approve the call; for files, the selected changes.",
    RefuseTool "refuse-tool" "Deny the call; the model is told that nothing was done.",
    RefuseWhy "refuse-why" "Deny with a message to the model.",
    AllowAlways "allow-always" "Approve and add a rule for similar calls in this session or folder.",
    TakeHunk "take-hunk" "Select or deselect the change.",
    GroupFailures "group-failures" "Group or ungroup failures by tool and kind of error.",
    FollowLink "follow-link" "Jump between failure and fix.",
    RunAgain "run-again" "Rerun the selected tool call outside the conversation, and compare the results.",
    StopAgain "stop-again" "Stop the rerun.",
    AddResult "add-result" "Insert the rerun's result into the message.",
    CopyArguments "copy-arguments" "Copy the call's arguments.",
    ToMessage "to-message" "Go to the result's message.",
    Rules "rules" "List and remove approval rules.",
    Mcp "mcp" "Manage tools and MCP servers: cost, state, on and off, restart.",
    ToggleTool "toggle-tool" "Enable or disable the tool, or all tools of the server, on this branch.",
    RestartServer "restart-server" "Restart the MCP server.",
    ApproveTool "approve-tool" "Approve tool descriptions as they are now; for the folder's file, review the file.",
    TakeBack "take-back" "Undo a summary: requests use the previous summary again, or the turns themselves.",
}

impl Action {
    /// Finds an action by its name in the key table.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|action| action.name() == name)
    }
}
