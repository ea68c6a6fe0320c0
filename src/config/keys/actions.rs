//! The table of actions that keys, the palette, and commands can run. Each has a family, a mark whether its letter key
//! is guarded while the composer has text, a name, and a description.
//! Not for: keys (`keymap`), or running an action (the workbench).

use super::groups::ActionGroup;

macro_rules! actions {
    (@guarded guarded) => { true };
    (@guarded free) => { false };
    ($(
        $(#[$family_doc:meta])*
        $family:ident($kind:ident) { $($variant:ident $guarded:ident $name:literal $sentence:literal),* $(,)? }
    )*) => {
        /// An action that a key, the palette, or a command can run. The families are the groups of the menus; each is
        /// matched exhaustively where its actions run.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Action {
            $($(#[$family_doc])* $family($kind),)*
        }

        $(
            $(#[$family_doc])*
            #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
            pub enum $kind {
                $(#[doc = $sentence] $variant,)*
            }
        )*

        // A second name for each variant, made from the same line. It stays because `Action::Fork` is read where the
        // family says nothing (hints, rows of tables, patterns): there, `Action::Branch(BranchAction::Fork)` is long, and
        // the variants' own names (`Send`, `Copy`, `Open`) would hide others if they were imported. Code that runs
        // actions matches the families.
        /// The actions by their own names, for keys and hints, where the family does not matter.
        #[expect(non_upper_case_globals, reason = "named like the variants of the families")]
        impl Action {
            $($(#[doc = $sentence] pub const $variant: Self = Self::$family($kind::$variant);)*)*
        }

        impl Action {
            /// All actions, in the order of the table.
            pub const ALL: &'static [Self] = &[$($(Self::$variant,)*)*];

            /// The action's name in the key table, whether its letter is guarded, and its description.
            const fn line(self) -> (&'static str, bool, &'static str) {
                match self {
                    $($(Self::$family($kind::$variant) => ($name, actions!(@guarded $guarded), $sentence),)*)*
                }
            }

            /// The action's group in the menus.
            pub const fn group(self) -> ActionGroup {
                match self { $(Self::$family(_) => ActionGroup::$family,)* }
            }
        }
    };
}

actions! {
    /// Writing, sending, and answering.
    Message(MessageAction) {
        Send free "send" "Send the message as planned.",
        Newline free "newline" "Insert a line break.",
        ExpandPaste free "expand-paste" "Expand or fold a paste.",
        HistoryUp free "history-up" "Move up or recall history: on the first line, the previous message.",
        HistoryDown free "history-down" "Move down or recall history: on the last line, the next message.",
        Complete free "complete" "Complete a command or name, or go to the next pane.",
        Compose free "compose" "Write in an external editor ($VISUAL or $EDITOR).",
        TakeQueued free "take-queued" "Edit the queued message: move the text back into the composer.",
        SendQueued free "send-queued" "Send the queued messages that wait after a failed or stopped answer.",
        DeleteToStart free "delete-to-start" "Delete to the start of the line.",
        UndoTyping free "undo-typing" "Undo typing in the composer.",
        RedoTyping free "redo-typing" "Redo typing in the composer.",
        SelectAll free "select-all" "Select the whole message; typing replaces the selection.",
        Label guarded "label-message" "Label the message, to find it later.",
        Favorite guarded "favorite" "Add the message to the favorites, or remove it.",
        Labels free "labels" "List labeled messages and favorites.",
        Interrupt free "interrupt" "Stop the answer; the text received so far is kept.",
        Clear free "clear-message" "Clear the message; an answer that is arriving stops first. Press twice to quit.",
        Edit guarded "edit" "Edit your message as a new version; the old version stays.",
        Regenerate guarded "regenerate" "Regenerate the answer; the old answer stays.",
        Continue guarded "continue" "Continue a truncated answer.",
        Reply guarded "reply" "Reply with a quote.",
        Copy free "copy" "Copy the selection.",
        CopyPart free "copy-part" "Choose a part to copy: code block, message, turn, or the whole branch as Markdown.",
        Delete free "delete" "Delete the selected item.",
    }
    /// The content of the next request.
    Context(ContextAction) {
        CycleMode free "cycle-mode" "Cycle the context mode: Off, Light, Heavy.",
        NextRequest free "context" "Show the next request: items included and left out, with reasons; on a past \
        message, the request of its call.",
        Focus free "focus" "Set the code focus: files, folders, and symbols for this branch; empty clears the focus.",
        Pin guarded "pin" "Pin or unpin the item: every request includes pinned items.",
        Lease guarded "lease" "Lease the item: pin for a limited number of turns.",
        Exclude guarded "exclude" "Exclude the item from all requests, or remove the exclusion.",
        ExcludeOnce guarded "exclude-once" "Exclude the item once: from the next request only.",
        SearchAnyway guarded "search-anyway" "Override retrieval for this request: always search, never search, or \
        follow the mode.",
        IncludeOnce guarded "include-once" "Include the item once: in the next request only.",
        BudgetUp guarded "budget-up" "Raise the budget.",
        BudgetDown guarded "budget-down" "Lower the budget.",
        RawRequest free "raw-request" "Show the exact request.",
        EditRequest free "edit-request" "Edit the request once, message by message, and send the edited request.",
        EditJson free "edit-json" "Edit the request as JSON, once.",
        SendEdited free "send-edited" "Send the edited request unchanged.",
        TakeRow free "take-row" "Select or deselect the row, to act on several rows at once.",
        TakeAll free "take-all" "Select or deselect all rows.",
        Order free "order" "Change the sort order: as planned, by tokens, by score, by age.",
        Group free "group" "Change the grouping: section, kind, reason, or none; in the exact request, sections.",
        Undo guarded "undo" "Undo the session's last change.",
        Redo guarded "redo" "Redo the last undone change.",
        Dismiss guarded "dismiss" "Dismiss the suggestion for good: a pin or a memory.",
        Memories free "memories" "Manage memories: confirm, edit, dismiss, delete.",
        ShowState free "show-state" "Show the state block: read and edit the state of this branch.",
        RebuildState free "rebuild-state" "Rebuild the state block from the newest answer that has one.",
        AdoptState free "adopt-state" "Adopt the imported state block on this branch.",
        WhatIf free "what-if" "Compare alternatives: the next request under other modes, policies, models, and \
        budgets.",
        Draft free "draft" "Review the summary draft, or draft a summary of the older turns.",
        SummaryList free "summary-list" "Manage summaries of this branch: read, undo, rewrite.",
        AcceptDraft free "accept-draft" "Accept the draft: requests use the summary in place of its turns.",
        RejectDraft free "reject-draft" "Discard or stop the draft; its turns are not summarized automatically again.",
        EditDraft free "edit-draft" "Edit the draft text.",
        KeepItem free "keep-item" "Keep the selected item verbatim in the summary, or drop it again.",
        KeepAll free "keep-all" "Keep important items verbatim, as many as fit.",
        Redraft free "redraft" "Rewrite the draft or summary; for a draft, switch between model-written and \
        extractive.",
        Policies free "policies" "Manage policies: copy, edit, compare, preview, use.",
        CopyPolicy free "copy-policy" "Copy the selected policy under a new name.",
        UsePolicy free "use-policy" "Use this policy or skill: the policy on this branch, the skill in the message.",
        TryPolicy free "try-policy" "Preview the request under the selected policy.",
        ItemHistory free "item-history" "Show the item's history: calls, forms, reasons, and changes with their \
        authors.",
        TakeBack free "take-back" "Undo a summary: requests use the previous summary again, or the turns themselves.",
    }
    /// Branches and the tree.
    Branch(BranchAction) {
        Branches free "branches" "Go to the branches.",
        Tree free "tree" "Show the session tree.",
        StartRace free "start-race" "Start a race: send the message to several models at once, each on its own branch.",
        Fork guarded "fork" "Fork a branch here; an unsent message moves to the fork.",
        NextSibling guarded "next-sibling" "Show the next version.",
        PrevSibling guarded "prev-sibling" "Show the previous version.",
        Rename guarded "rename" "Rename the branch or session.",
        Archive guarded "archive" "Archive or restore the branch.",
        ShowArchived free "show-archived" "Show or hide archived branches.",
        Mattered free "mattered" "Suggest the left-out item as a pin: the answer changed without the item.",
        Discard free "discard" "Archive the race or replay.",
        KeepAside free "keep-aside" "Save the side question as a branch, with the answer.",
        TakeRange free "take-range" "Select a range of turns, from the last selected turn to the current turn.",
        Compare free "compare" "Compare two branches: the selected one and the current one.",
        TakeTurn free "take-turn" "Select or deselect the turn, to pick several turns together.",
        PickOver free "pick-over" "Pick turns onto the other branch as a pinned text that links to its source.",
        BringBack free "bring-back" "Bring this branch's result back to the other branch, as a card that links to its \
        sources.",
    }
    /// Appearance and navigation.
    View(ViewAction) {
        Palette free "palette" "Search all actions.",
        Back free "back" "Return to the previous location.",
        Fold free "fold" "Fold the subtree, or go to the parent.",
        Unfold free "unfold" "Unfold the subtree, or go to the first child.",
        Tour free "tour" "Take the tour: nine steps on a bundled conversation, offline; nothing is saved.",
        Help free "help" "Show all keys.",
        NextPane free "next-pane" "Go to the next pane.",
        PrevPane free "prev-pane" "Go to the previous pane.",
        Leave free "leave" "Close the current view, then stop the answer.",
        Redraw free "redraw" "Redraw the screen.",
        ToggleMouse free "mouse" "Toggle mouse capture: clicks, scrolling, and dragging of borders.",
        Themes free "theme" "Choose a color theme: live preview; Esc restores the current theme.",
        NextLayout free "next-layout" "Cycle the screen layout: wide, narrow, zen.",
        Zen free "zen" "Toggle the zen layout: conversation and composer only.",
        HideBranches free "hide-branches" "Toggle the branches panel.",
        HideContext free "hide-context" "Toggle the request panel.",
        HideTools free "hide-tools" "Toggle the tools panel.",
        Narrower free "narrower" "Narrow the focused panel.",
        Wider free "wider" "Widen the focused panel.",
        EvenPanels free "even-panels" "Reset the panels: default widths, all panels shown.",
        ScrollUp free "scroll-up" "Scroll one page up.",
        ScrollDown free "scroll-down" "Scroll one page down.",
        Up free "up" "Move up.",
        Down free "down" "Move down.",
        Top free "top" "Go to the top.",
        Bottom free "bottom" "Go to the bottom.",
        Open free "open" "Open, fold, or switch to the selection.",
        FoldMessage free "fold-message" "Expand or fold the message.",
        Filter free "filter" "Search the conversation, or filter the list.",
        FoldAll free "fold-all" "Fold or unfold all parts.",
        NextHit free "next-hit" "Go to the next match.",
        PrevHit free "prev-hit" "Go to the previous match.",
        Details free "details" "Show or hide item details: history, scores, and hashes.",
        DetailDown free "detail-down" "Scroll the details down.",
        DetailUp free "detail-up" "Scroll the details up.",
        TurnView free "turn-view" "Cycle the view: changes since the previous version, changes since the first, whole \
        text.",
    }
    /// Sessions, settings, and the program.
    Session(SessionAction) {
        Sessions free "sessions" "Open or manage sessions: create, rename, delete.",
        Find free "find" "Search all messages: every session, by words and filters.",
        Models free "models" "Choose a model.",
        Quit free "quit" "Quit pleach.",
        QuitIfEmpty free "quit-if-empty" "Quit if nothing is typed.",
        Suspend free "suspend" "Suspend to the shell.",
        Reload free "reload" "Reload settings, keys, and themes.",
        NewSession free "new-session" "Start a new session.",
        RenameSession free "rename-session" "Rename this session.",
        New free "new" "Add a list item.",
        Trust free "trust-folder" "Trust or distrust this folder: the model may use tools in trusted folders.",
        FolderSettings free "folder-settings" "Review this folder's settings (.pleach.toml), then approve or deny the \
        changes.",
        UseOffline free "use-offline" "Use the offline model on this branch.",
        Doctor free "doctor" "Check the setup: store, settings, and model servers.",
        Save free "save" "Save the edited text.",
        Editors free "editors" "Open the editors: state, summaries, memories, and policies, with versions to compare \
        and undo.",
        Project free "project" "Manage project rules (AGENTS.md): read, edit, exclude.",
        Skills free "skills" "List skills, and insert a skill into the message.",
        Modules free "modules" "Manage module summaries: edit, compare, rewrite, undo.",
        RewriteModule free "rewrite-module" "Rewrite the module summary from its files.",
        ToggleRules free "toggle-rules" "Exclude or include the rules (or the skill list) on this branch.",
        EditText free "edit-text" "Edit the selected text; a built-in policy is copied under a new name first.",
        OlderVersion free "older-version" "Go to the previous version.",
        NewerVersion free "newer-version" "Go to the next version.",
    }
    /// Past calls and their usage.
    Call(CallAction) {
        Replay guarded "replay" "Replay the selected call on a scratch branch: unchanged, with another model, or \
        without an item.",
        Calls free "calls" "Show the call history, and compare two calls.",
        Stats free "stats" "Show usage: tokens, cost, cached share, and estimate errors, as charts.",
        CallBefore free "call-before" "Go to the previous call.",
        CallAfter free "call-after" "Go to the next call.",
        WholeSession free "whole-session" "Switch the scope: whole session or this branch.",
        ChooseCall free "choose-call" "Mark or unmark the call for comparison.",
        PlanDiff free "plan-diff" "Compare with the last call: changes to the request and their causes.",
    }
    /// Tools, their servers, and their rules.
    Tool(ToolAction) {
        Traces free "traces" "Show tool calls: results, fixes of failures, and reruns.",
        AnswerTool free "answer-tool" "Review the pending tool call, or an imported system prompt.",
        AllowTool guarded "allow-tool" "Approve the call; for files, the selected changes.",
        RefuseTool guarded "refuse-tool" "Deny the call; the model is told that nothing was done.",
        RefuseWhy guarded "refuse-why" "Deny with a message to the model.",
        AllowAlways guarded "allow-always" "Approve and add a rule for similar calls in this session or folder.",
        TakeHunk guarded "take-hunk" "Select or deselect the change.",
        GroupFailures free "group-failures" "Group or ungroup failures by tool and kind of error.",
        FollowLink free "follow-link" "Jump between failure and fix.",
        RunAgain guarded "run-again" "Rerun the selected tool call outside the conversation, and compare the results.",
        StopAgain free "stop-again" "Stop the rerun.",
        AddResult guarded "add-result" "Insert the rerun's result into the message.",
        CopyArguments free "copy-arguments" "Copy the call's arguments.",
        ToMessage free "to-message" "Go to the message of the result or row.",
        Rules free "rules" "List and remove approval rules.",
        Mcp free "mcp" "Manage tools and MCP servers: cost, state, on and off, restart.",
        ToggleTool free "toggle-tool" "Enable or disable the tool, or all tools of the server, on this branch.",
        RestartServer free "restart-server" "Restart the MCP server.",
        ApproveTool free "approve-tool" "Approve the current tool descriptions; for the folder's .mcp.json, review the \
        file.",
    }
}

/// The names of actions in earlier versions, which still work.
const EARLIER_NAMES: &[(&str, Action)] = &[
    ("capsules", Action::SummaryList),
    ("clear", Action::Clear),
    ("edit-thing", Action::EditText),
    ("favourite", Action::Favorite),
    ("renew-thing", Action::RewriteModule),
    ("switch-thing", Action::ToggleRules),
];

impl Action {
    /// The action's name in the key table.
    pub const fn name(self) -> &'static str {
        self.line().0
    }

    /// Whether the action changes the conversation, its branches, or a tool call, or replaces the composer's text. While
    /// the composer has text, the letter key of such an action takes effect only when it is pressed a second time.
    pub const fn changes_something(self) -> bool {
        self.line().1
    }

    /// The action's description: one sentence that starts with a verb; menus show the first words.
    pub const fn sentence(self) -> &'static str {
        self.line().2
    }

    /// Finds an action by its name in the key table, or by its name in an earlier version.
    pub fn from_name(name: &str) -> Option<Self> {
        let named = Self::ALL.iter().copied().find(|action| action.name() == name);
        named.or_else(|| EARLIER_NAMES.iter().find(|(was, _)| *was == name).map(|(_, action)| *action))
    }
}
