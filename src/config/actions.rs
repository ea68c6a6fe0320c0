//! The one table of actions: what a key, the palette or a command can do, each with its name and sentence.
//! Not for: keys (`keymap`) or what an action does (the workbench).

macro_rules! actions {
    ($($variant:ident $name:literal $sentence:literal),* $(,)?) => {
        /// What a key can do.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Action {
            $(#[doc = $sentence] $variant,)*
        }

        impl Action {
            /// All of them, in the order of the palette.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its name in the key table.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What it does, in one sentence.
            #[must_use]
            pub fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence,)* }
            }
        }
    };
}

actions! {
    Send "send" "Send the message: exactly the plan that is shown.",
    Newline "newline" "Start a new line in the message.",
    ExpandPaste "expand-paste" "Open a folded paste in the message, or fold it again.",
    HistoryUp "history-up" "Move up; on the first line, the message sent before.",
    HistoryDown "history-down" "Move down; on the last line, the message sent after.",
    Complete "complete" "Complete the command or the name behind an @, or go to the next pane.",
    Compose "compose" "Write it in your own editor ($VISUAL or $EDITOR).",
    TakeQueued "take-queued" "Take the message that waits in line back into the composer.",
    UndoTyping "undo-typing" "Undo what was last typed in the message.",
    RedoTyping "redo-typing" "Type again what was undone.",
    SelectAll "select-all" "Select the whole message; typing then replaces it.",
    CycleMode "cycle-mode" "Cycle the context mode: Off, Light, Heavy.",
    Context "context" "Open what the next call will hold, and why.",
    Traces "traces" "Open the tool calls of this branch: all of each, what fixed a failure, run one again.",
    Branches "branches" "Go to the branches.",
    Palette "palette" "Find any action by its words.",
    Sessions "sessions" "Open, make, rename or delete a session.",
    Find "find" "Find messages of all sessions by words and filters.",
    Back "back" "Go back to where you were before the last jump.",
    Tree "tree" "Open the whole tree of this session; Esc twice does it too.",
    Fold "fold" "Fold what is below, or go up.",
    Unfold "unfold" "Unfold what is below, or go into it.",
    Label "label-message" "Give the message a name, by which it is found again.",
    Favourite "favourite" "Make the message a favourite, or no longer.",
    Labels "labels" "List the messages that have a name or a star, and go to one.",
    Models "models" "Choose the model that is asked.",
    Help "help" "Show all keys.",
    NextPane "next-pane" "Go to the next pane.",
    PrevPane "prev-pane" "Go to the pane before.",
    Leave "leave" "Leave what is open, then stop what is coming.",
    Interrupt "interrupt" "Stop the answer that is coming on this branch; what came is kept.",
    Clear "clear" "Clear the message; twice to quit.",
    Quit "quit" "Quit.",
    QuitIfEmpty "quit-if-empty" "Quit when nothing is typed.",
    Redraw "redraw" "Draw the whole screen again.",
    Suspend "suspend" "Put the program into the background of the shell.",
    ToggleMouse "mouse" "Let the mouse click, scroll and drag borders here, or leave it to the terminal.",
    Themes "theme" "Choose the colours; what is selected is shown at once, Esc keeps what was.",
    NextLayout "next-layout" "Go to the next layout: wide, narrow, zen.",
    Zen "zen" "The conversation and the composer alone, or all panels again.",
    HideBranches "hide-branches" "Hide the branches, or show them again.",
    HideContext "hide-context" "Hide the context panel, or show it again.",
    HideTools "hide-tools" "Hide the tool calls, or show them again.",
    Narrower "narrower" "Make the panel with the focus narrower.",
    Wider "wider" "Make the panel with the focus wider.",
    EvenPanels "even-panels" "Give the panels of this screen size their own widths again, and show them all.",
    Reload "reload" "Read the settings, the key table and the themes again.",
    StartRace "start-race" "Begin a race: the message is put behind /race, to be asked on several branches at once.",
    Focus "focus" "Say which files, folders and symbols looking at code keeps to on this branch; empty for all.",
    ScrollUp "scroll-up" "Scroll a page up.",
    ScrollDown "scroll-down" "Scroll a page down.",
    Up "up" "Move up.",
    Down "down" "Move down.",
    Top "top" "Go to the start.",
    Bottom "bottom" "Go to the end.",
    Open "open" "Open or fold what is selected, or stand on the branch.",
    Pin "pin" "Pin it, or take the pin off: pinned items go with every call.",
    Lease "lease" "Lease it: a pin that ends by itself after some turns.",
    Exclude "exclude" "Leave it out until taken back, or take it back.",
    ExcludeOnce "exclude-once" "Leave it out of this call only.",
    SearchAnyway "search-anyway" "Look through older messages for this call anyway, not at all, or as the mode says.",
    IncludeOnce "include-once" "Put it into this call only.",
    Fork "fork" "Fork a branch here.",
    Edit "edit" "Edit your message: a new version beside the old one.",
    Regenerate "regenerate" "Ask for another answer beside this one.",
    Continue "continue" "Go on where the answer was cut.",
    Reply "reply" "Reply to it: the next message quotes it.",
    NextSibling "next-sibling" "Show the next version.",
    PrevSibling "prev-sibling" "Show the version before.",
    Copy "copy" "Copy it.",
    CopyPart "copy-part" "Choose what to copy: a block of code, the message, the turn, the whole branch as Markdown.",
    FoldMessage "fold-message" "Show all of the selected message, or fold its long parts again.",
    Filter "filter" "Filter the list.",
    BudgetUp "budget-up" "Raise the prompt budget.",
    BudgetDown "budget-down" "Lower the prompt budget.",
    RawRequest "raw-request" "Show the exact request that would be sent.",
    EditRequest "edit-request" "Edit the exact request once, message by message, and send that.",
    EditJson "edit-json" "Edit the exact request once, as JSON.",
    SendEdited "send-edited" "Send the request that was edited by hand, exactly as it stands.",
    FoldAll "fold-all" "Fold all parts, or open all.",
    NextHit "next-hit" "Go to the next place that was found.",
    PrevHit "prev-hit" "Go to the place before that was found.",
    TakeRow "take-row" "Take this line to act on several at once, or let it go.",
    TakeAll "take-all" "Take all listed lines that can be acted on, or let them go.",
    Order "order" "Order the list: as planned, by tokens, by score, by age.",
    Group "group" "Group the list by section, kind, reason or not at all; part the exact request by section.",
    DetailDown "detail-down" "Scroll the text beside the list down.",
    DetailUp "detail-up" "Scroll the text beside the list up.",
    Undo "undo" "Undo the last change of the session.",
    Redo "redo" "Do the undone change again.",
    NewSession "new-session" "Make a new session.",
    RenameSession "rename-session" "Rename this session.",
    Rename "rename" "Rename the selected branch or session.",
    Archive "archive" "Put the branch away, or take it back.",
    ShowArchived "show-archived" "Show or hide the branches that were put away.",
    Delete "delete" "Delete what is selected in this list.",
    Dismiss "dismiss" "Turn the suggested pin or memory down, for good.",
    Memories "memories" "Look at what is remembered: confirm, edit, dismiss, delete.",
    New "new" "Make a new one in this list.",
    ShowState "show-state" "Show and edit the state block of this branch.",
    RebuildState "rebuild-state" "Rebuild the state from the messages in the window.",
    Trust "trust-folder" "Trust this folder, so that the model may use tools in it; or stop trusting it.",
    UseOffline "use-offline" "Use the built-in offline model on this branch.",
    Doctor "doctor" "Look for model servers and report.",
    Save "save" "Save what was edited.",
    WhatIf "what-if" "See the next call under other modes, policies, models and budgets side by side, and take one.",
    Replay "replay" "Make the selected call again on a scratch branch: the same bytes, another model, or without an item.",
    Mattered "mattered" "The item that was left out mattered: suggest it as a pin.",
    Discard "discard" "Put the selected branch of a replay or race away.",
    KeepAside "keep-aside" "Keep the side question and its answer as a branch.",
    TakeRange "take-range" "Take all turns from the last one taken up to this one.",
    Draft "draft" "Open the draft of a summary that waits; without one, have one made of the older turns.",
    Capsules "capsules" "Look at the summaries in use on this branch: read, take back, make anew.",
    AcceptDraft "accept-draft" "Accept the draft: it goes in place of its turns from now on.",
    RejectDraft "reject-draft" "Throw the draft away, or stop it; its turns are not summed up by themselves again.",
    EditDraft "edit-draft" "Edit the draft's text.",
    KeepItem "keep-item" "Keep the selected words in the summary word for word, or no longer.",
    KeepAll "keep-all" "Keep word for word what matters most and fits.",
    Redraft "redraft" "Have it written anew: a draft by the other writer (model or sentences), a summary by its own.",
    Calls "calls" "Look at the calls that were made, and compare two of them.",
    Stats "stats" "See what the calls came to: tokens, cost, cached share and how far estimates were off, as charts.",
    CallBefore "call-before" "Go to the call before.",
    CallAfter "call-after" "Go to the call after.",
    WholeSession "whole-session" "Show the calls of the whole session, or of this branch again.",
    Editors "editors" "Look at state, summaries, memories and policies with their versions: edit, compare, undo.",
    Policies "policies" "Look at the policies: copy, edit, compare, try, take one for this branch.",
    Project "project" "Look at the rules of this project (AGENTS.md) and what of them goes: take out, read, edit.",
    Skills "skills" "Look at the skills that can be loaded, and put one into the message.",
    Modules "modules" "Look at the summaries of parts of the program: edit, compare, make anew, undo.",
    RenewThing "renew-thing" "Make the selected summary of a part of the program anew from its files.",
    SwitchThing "switch-thing" "Leave the selected rules (or the list of skills) out of this branch's calls, or take them back.",
    EditThing "edit-thing" "Edit it; a built-in policy is copied under a name of your own first.",
    CopyPolicy "copy-policy" "Copy the selected policy under another name.",
    UsePolicy "use-policy" "Take the selected policy for this branch, or put the selected skill into the message.",
    TryPolicy "try-policy" "Tell what the next call would be under the selected policy.",
    OlderVersion "older-version" "Go to the version before.",
    NewerVersion "newer-version" "Go to the next newer version.",
    TurnView "turn-view" "Show what changed since the version before, since the first, or the whole text.",
    ChooseCall "choose-call" "Take this call to be compared with another, or no longer.",
    PlanDiff "plan-diff" "Compare the next call with the last one of this branch: what changed, and by whose act.",
    ItemHistory "item-history" "Tell in which calls it went, how and why, and who changed it when.",
    Compare "compare" "Look at the selected branch beside the one you stand on.",
    TakeTurn "take-turn" "Take this turn to be picked together with others, or no longer.",
    PickOver "pick-over" "Pick it onto the other branch, as a pinned text that knows where it came from.",
    BringBack "bring-back" "Bring what this branch came to onto the other one, as a card that links to its sources.",
    AnswerTool "answer-tool" "Look at the call to a tool that waits for your word.",
    AllowTool "allow-tool" "Let it be done: of files, the changes that are chosen.",
    RefuseTool "refuse-tool" "Refuse it; the model is told that nothing was done.",
    RefuseWhy "refuse-why" "Refuse it, and tell the model why.",
    AllowAlways "allow-always" "Let it be done, and the like of it from now on, in this session or folder.",
    TakeHunk "take-hunk" "Take the selected change, or leave it out.",
    GroupFailures "group-failures" "Group failures by tool and kind of error, or list all calls again.",
    FollowLink "follow-link" "Go from a failed call to the one that fixed it, or back.",
    RunAgain "run-again" "Run the selected call again, beside the conversation: its result stands beside the one of then.",
    StopAgain "stop-again" "Stop the call that is run again.",
    AddResult "add-result" "Put the result of what was run again into the message being written.",
    CopyArguments "copy-arguments" "Copy the arguments of the selected call.",
    ToMessage "to-message" "Go to the message that holds the result.",
    Rules "rules" "List the rules about calls to tools, and take them off.",
    Mcp "mcp" "Look at tools and servers of tools: what each costs, on and off, state, restart.",
    ToggleTool "toggle-tool" "Switch the tool, or all of the server's, on or off on this branch.",
    RestartServer "restart-server" "Start the server again.",
    ApproveTool "approve-tool" "Approve tools as they are described now; of the folder's file, be asked about it.",
    TakeBack "take-back" "Take a summary back: the level before it goes again, or the turns themselves.",
}

impl Action {
    /// Finds an action by its name in the key table.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|action| action.name() == name)
    }
}
