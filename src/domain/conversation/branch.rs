//! Branches and sessions: names, heads, and the settings that a branch overrides.
//! Not for: marks (`mark`) or messages (`tree`).

use super::lane::Lane;
use super::mark::{Atom, Mark};
use super::state_suggestions::SuggestedPin;
use super::task::TaskSpan;
use super::tree::{Slot, Tree};
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::{BranchId, NodeId, SessionId};
use crate::domain::call::tokens::grouped;
use crate::domain::planning::Anchor;
use crate::domain::planning::mode::Mode;
use crate::domain::summary::draft::AutoSummaryOverride;
use serde::{Deserialize, Serialize};

/// A session as lists show it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SessionCard {
    pub id: SessionId,
    /// The title, unsanitized.
    pub title: String,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// Milliseconds since 1970 of the last change.
    pub updated_at: i64,
    pub messages: u64,
    /// Number of branches that are not archived.
    pub branches: u32,
}

/// The settings that a branch overrides; `None` falls back to the configuration.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Overrides {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// Cap on the whole prompt, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<u32>,
    /// Maximum turns in the window, for policies that count turns; 0 means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether summaries are made automatically; stored under its first name.
    #[serde(default, rename = "compaction", skip_serializing_if = "Option::is_none")]
    pub auto_summaries: Option<AutoSummaryOverride>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub personality: Option<String>,
    /// The lane of new messages ([`crate::domain::conversation::lane::Lane`]'s stored text; empty is the root); `None`
    /// continues in the branch's current lane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// Files, folders, and symbols that the code search is limited to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub focus: Vec<String>,
    /// Suggested pins that were dismissed and are not suggested again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dismissed: Vec<Atom>,
    /// Items whose omission from a repeated call changed the answer, in a person's judgment. They are suggested as
    /// pins.
    #[serde(rename = "mattered", default, skip_serializing_if = "Vec::is_empty")]
    pub important: Vec<Atom>,
    /// Tools that are switched off: tools of servers by their [switch](crate::domain::tool::mcp::switch), the program's
    /// own tools by their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools_off: Vec<String>,
    /// The branch's tasks, oldest first; only the last one can be running.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskSpan>,
}

/// The name of the setting whose values are described in words.
const SUMMARIES: &str = "automatic summaries";
/// The name of the items that a person marked as missing from a replay.
const IMPORTANT: &str = "suggested pins";

impl Overrides {
    /// Returns these settings from the command line with what a branch's overrides changed from `then` to `now`, while
    /// the program ran: a later choice takes precedence. A model from the command line does not apply to another
    /// profile.
    #[must_use]
    pub fn updated(&self, then: &Self, now: &Self) -> Self {
        #[allow(clippy::ref_option, reason = "called with fields")]
        fn newest<T: Clone + PartialEq>(given: &Option<T>, then: &Option<T>, now: &Option<T>) -> Option<T> {
            if then == now { given.clone() } else { now.clone() }
        }
        let model = if then.profile == now.profile { &self.model } else { &None };
        Self {
            mode: newest(&self.mode, &then.mode, &now.mode),
            policy: newest(&self.policy, &then.policy, &now.policy),
            layout: newest(&self.layout, &then.layout, &now.layout),
            budget: newest(&self.budget, &then.budget, &now.budget),
            profile: newest(&self.profile, &then.profile, &now.profile),
            model: newest(model, &then.model, &now.model),
            ..self.clone()
        }
    }

    /// Returns these overrides without the settings that `chosen` sets, so that [`Overrides::updated`] takes those
    /// settings for changed.
    #[must_use]
    pub fn without(&self, chosen: &Self) -> Self {
        fn unless<T: Clone, U>(chosen: Option<&U>, own: Option<&T>) -> Option<T> {
            own.filter(|_| chosen.is_none()).cloned()
        }
        Self {
            mode: unless(chosen.mode.as_ref(), self.mode.as_ref()),
            policy: unless(chosen.policy.as_ref(), self.policy.as_ref()),
            layout: unless(chosen.layout.as_ref(), self.layout.as_ref()),
            budget: unless(chosen.budget.as_ref(), self.budget.as_ref()),
            profile: unless(chosen.profile.as_ref(), self.profile.as_ref()),
            model: unless(chosen.model.as_ref(), self.model.as_ref()),
            ..self.clone()
        }
    }

    /// Returns the change to `after` as an act on the branch named `branch`, such as `set the mode of main to Heavy`.
    /// `None` if nothing changed, several settings changed, or the change is not one that a person would call a
    /// setting.
    pub fn act(&self, after: &Self, branch: &str) -> Option<String> {
        let number = |value: Option<u32>| value.map(|n| grouped(n.into()));
        let words = (!after.focus.is_empty()).then(|| after.focus.join(", "));
        let lane = |text: &String| Lane::read(text).word();
        let settings: [(&str, bool, Option<String>); 12] = [
            ("mode", self.mode != after.mode, after.mode.map(|mode| mode.title().into())),
            ("policy", self.policy != after.policy, after.policy.clone()),
            ("order of sections", self.layout != after.layout, after.layout.clone()),
            ("budget", self.budget != after.budget, number(after.budget)),
            ("window", self.window != after.window, number(after.window)),
            // A change of the model names the model; its profile changes with it.
            ("profile", self.profile != after.profile && self.model == after.model, after.profile.clone()),
            ("model", self.model != after.model, after.model.clone()),
            (SUMMARIES, self.auto_summaries != after.auto_summaries, after.auto_summaries.map(|own| own.name().into())),
            // The text of a personality is too long to be named.
            ("personality", self.personality != after.personality, after.personality.as_ref().map(|_| String::new())),
            ("lane", self.lane != after.lane, after.lane.as_ref().map(lane)),
            ("focus", self.focus != after.focus, words),
            (IMPORTANT, self.important != after.important, None),
        ];
        let mut changed = settings.into_iter().filter(|(_, differs, _)| *differs);
        let ((name, _, now), None) = (changed.next()?, changed.next()) else { return None };
        Some(match now.as_deref() {
            now if name == SUMMARIES => match now {
                None => format!("set {SUMMARIES} on {branch} to follow the settings and the policy"),
                Some("off") => format!("turned {SUMMARIES} off on {branch}"),
                Some("auto") => format!("set {SUMMARIES} on {branch} to be used at once"),
                Some(_) => format!("set {SUMMARIES} on {branch} to wait as drafts"),
            },
            None if name == IMPORTANT && after.important.len() > self.important.len() => {
                format!("suggested a pin on {branch}")
            }
            Some("") => format!("set the {name} of {branch}"),
            Some(now) => format!("set the {name} of {branch} to {now}"),
            None => format!("removed the {name} of {branch}"),
        })
    }
}

/// A named pointer to a node of the session's tree, with its own marks and settings.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Branch {
    pub id: BranchId,
    pub session: SessionId,
    /// The name, unsanitized.
    pub name: String,
    /// The last node of its path; `None` while it is empty.
    pub head: Option<NodeId>,
    /// The branch that it was forked from.
    pub parent: Option<BranchId>,
    pub fork: Option<NodeId>,
    /// Whether it is hidden from lists; nothing is deleted.
    pub archived: bool,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// Incremented with every move of the head; used for compare-and-swap and fences.
    pub seq: u64,
    /// The branch's own settings.
    pub overrides: Overrides,
    /// The start of the window of an anchored policy.
    pub anchor: Option<Anchor>,
    /// Pins, leases, exclusions.
    pub marks: Vec<Mark>,
    /// The state version that applies on this branch.
    pub state: Option<StateVersion>,
    /// An imported state that would apply here and waits for a person's approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<StateVersion>,
    /// A message of this session that the next question replies to.
    #[serde(default)]
    pub reply: Option<Hash>,
    /// Ids of the summaries in use, at most one of each kind and lane: the newest version of each.
    #[serde(default, rename = "capsules")]
    pub summaries: Vec<Hash>,
}

impl Branch {
    /// Creates a branch without overrides, marks, or a state.
    pub fn new(id: BranchId, session: SessionId, name: &str, head: Option<NodeId>, created_at: i64) -> Self {
        Self { id, session, name: name.to_owned(), head, created_at, ..Self::default() }
    }
}

/// Returns a branch whose path contains a node: the current branch if possible, otherwise preferably one that is not
/// archived.
pub fn holding(branches: &[Branch], current: BranchId, tree: &Tree, wanted: Slot) -> Option<BranchId> {
    let mut sorted: Vec<&Branch> = branches.iter().collect();
    sorted.sort_by_key(|branch| (branch.id != current, branch.archived));
    let tip = |branch: &Branch| branch.head.and_then(|id| tree.slot(id));
    let on_path = |branch: &&&Branch| tip(branch).is_some_and(|tip| tree.contains(wanted, tip));
    sorted.iter().find(on_path).map(|branch| branch.id)
}

/// One version of the state block.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StateVersion {
    /// The block's text without its delimiters.
    pub text: String,
    /// The node whose answer contained it, or the node after which a person wrote it.
    pub node: NodeId,
    /// The same node's key.
    pub key: Hash,
    /// Whether a person wrote it.
    pub edited: bool,
    /// For a version written by a person: the only branch that it applies to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<BranchId>,
    /// Whether undo has reverted it.
    #[serde(default)]
    pub withdrawn: bool,
    /// Whether it was imported. It applies nowhere until a person accepts it; it then counts as that person's version.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub offered: bool,
    /// The version number, which increases within the session.
    pub version: u32,
    /// Milliseconds since 1970.
    pub at: i64,
    /// The pins that the same block suggested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<SuggestedPin>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_act_names_the_changed_setting() {
        let none = Overrides::default();
        let focus = Overrides { focus: vec!["src/net".into(), "Parser".into()], ..none.clone() };
        assert_eq!(none.act(&focus, "main").as_deref(), Some("set the focus of main to src/net, Parser"));
        assert_eq!(focus.act(&none, "main").as_deref(), Some("removed the focus of main"));
        let root = Overrides { lane: Some(String::new()), ..none.clone() };
        assert_eq!(none.act(&root, "main").as_deref(), Some("set the lane of main to root"));
        assert_eq!(root.act(&none, "main").as_deref(), Some("removed the lane of main"));
        let both = Overrides { mode: Some(Mode::Heavy), ..focus.clone() };
        assert_eq!(focus.act(&both, "b").as_deref(), Some("set the mode of b to Heavy"));
        assert_eq!(none.act(&both, "b"), None, "two at once");
        let kind = |text: &str| Overrides { personality: Some(text.into()), ..Overrides::default() };
        assert_eq!(kind("Be kind.").act(&kind("Be brief."), "b").as_deref(), Some("set the personality of b"));
        assert_eq!(both.act(&both, "b"), None);
        let elsewhere = Overrides { profile: Some("own".into()), model: Some("m-2".into()), ..Overrides::default() };
        assert_eq!(none.act(&elsewhere, "main").as_deref(), Some("set the model of main to m-2"));
        let important = Overrides { important: vec![Atom::Message { node: Hash::default() }], ..Overrides::default() };
        assert_eq!(none.act(&important, "main").as_deref(), Some("suggested a pin on main"));
        assert_eq!(important.act(&none, "main").as_deref(), Some("removed the suggested pins of main"));
        let automatic = |chosen| Overrides { auto_summaries: chosen, ..Overrides::default() };
        for (chosen, words) in [
            (AutoSummaryOverride::Off, "turned automatic summaries off on main"),
            (AutoSummaryOverride::Draft, "set automatic summaries on main to wait as drafts"),
            (AutoSummaryOverride::Auto, "set automatic summaries on main to be used at once"),
        ] {
            assert_eq!(none.act(&automatic(Some(chosen)), "main").as_deref(), Some(words));
            let back = "set automatic summaries on main to follow the settings and the policy";
            assert_eq!(automatic(Some(chosen)).act(&none, "main").as_deref(), Some(back));
        }
    }

    #[test]
    fn later_choices_take_precedence_over_the_command_line() {
        let text = |text: &str| Some(text.to_owned());
        let given = Overrides { mode: Some(Mode::Heavy), model: text("a"), ..Overrides::default() };
        let stored = Overrides { mode: Some(Mode::Off), budget: Some(9_000), ..Overrides::default() };
        assert_eq!(given.updated(&stored, &stored), given, "nothing was chosen");
        let chosen = Overrides { mode: Some(Mode::Light), ..stored.clone() };
        assert_eq!(given.updated(&stored, &chosen), Overrides { mode: Some(Mode::Light), ..given.clone() });
        let removed = Overrides { mode: None, ..stored.clone() };
        assert_eq!(given.updated(&stored, &removed), Overrides { mode: None, ..given.clone() });
        let elsewhere = Overrides { profile: text("own"), ..stored.clone() };
        let expected = Overrides { profile: text("own"), model: None, ..given.clone() };
        assert_eq!(given.updated(&stored, &elsewhere), expected, "a model belongs to its profile");
    }

    /// The setting of automatic summaries is stored as before it was renamed.
    #[test]
    fn stored_settings_keep_their_names() {
        for (text, chosen) in [
            (r#"{"compaction":"off"}"#, AutoSummaryOverride::Off),
            (r#"{"compaction":"ask"}"#, AutoSummaryOverride::Draft),
            (r#"{"compaction":"self"}"#, AutoSummaryOverride::Auto),
        ] {
            let stored: Overrides = serde_json::from_str(text).unwrap();
            assert_eq!(stored.auto_summaries, Some(chosen));
            assert_eq!(serde_json::to_string(&stored).unwrap(), text);
        }
    }
}
