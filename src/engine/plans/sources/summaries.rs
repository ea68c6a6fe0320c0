//! Which accepted capsules go with a call: those of the branch that hold on its path, in its mode; else the nearest older
//! level that does.
//! Not for: making capsules (`summaries::drafts`) or using them in a plan (`context`).

use crate::context::render_forms;
use crate::domain::base::hash::Hash;
use crate::domain::conversation::branch::Branch;
use crate::domain::conversation::mark::{Atom, Mark};
use crate::domain::conversation::message::Role;
use crate::domain::conversation::tree::Slot;
use crate::domain::planning::input::{Covered, Gap};
use crate::domain::planning::mode::Mode;
use crate::domain::planning::plan::Warning;
use crate::domain::summary::accepted::{
    Capsule, CapsuleKind, CapsuleSource, CapsuleState, Lag, Newer, Sight, SourceFault, Use,
};
use crate::engine::sessions::session::Session;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A capsule in memory, with what it covers found by key.
pub(crate) struct Held {
    pub(crate) capsule: Arc<Capsule>,
    users: HashMap<Hash, Hash>,
    tips: HashSet<Hash>,
    nodes: HashSet<Hash>,
}

impl Held {
    pub(crate) fn new(capsule: Capsule) -> Self {
        let users = capsule.covers.iter().map(|cover| (cover.user, cover.tip)).collect();
        let nodes = capsule.covers.iter().flat_map(|cover| cover.nodes.iter().map(|(key, _)| *key)).collect();
        let tips = capsule.covers.iter().map(|cover| cover.tip).collect();
        Self { capsule: Arc::new(capsule), users, tips, nodes }
    }

    /// Whether it stands for this turn.
    fn covers(&self, user: Hash, tip: Hash) -> bool {
        self.users.get(&user) == Some(&tip)
    }
}

/// A capsule that goes.
#[derive(Clone, Debug)]
pub(crate) struct Going {
    pub(crate) capsule: Arc<Capsule>,
    /// Why it is stale, where it goes all the same.
    pub(crate) stale: Option<&'static str>,
}

/// What of capsules a call gets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summaries {
    pub(crate) going: Vec<Going>,
    pub(crate) covered: Vec<Covered>,
    pub(crate) warnings: Vec<Warning>,
}

/// Where capsules are looked at: a path with the marks that count on it.
pub(crate) struct Ground<'a> {
    pub(crate) session: &'a Session,
    pub(crate) path: &'a [Slot],
    pub(crate) marks: &'a [Mark],
}

impl Ground<'_> {
    /// How a capsule stands here. Costs a few look-ups, however much it covers: all that it covers lies on one path, so its
    /// last node being here means that all of them are.
    pub(crate) fn sight(&self, held: &Held) -> Sight {
        let tree = &self.session.tree;
        let tip = held.capsule.tip().and_then(|key| tree.by_key(key));
        let Some(tip) = tip.filter(|slot| self.path.get(tree.depth(*slot) as usize) == Some(slot)) else {
            return Sight::default();
        };
        let after = &self.path[tree.depth(tip) as usize + 1..];
        let excluded = self.marks.iter().any(|mark| mark.kind.excludes() && touches(held, &mark.target));
        let grown = after.first().is_some_and(|slot| tree.head(*slot).role != Role::User);
        let source = if held.capsule.text.is_none() {
            Some(SourceFault::Removed)
        } else if excluded {
            Some(SourceFault::Excluded)
        } else {
            grown.then_some(SourceFault::Changed)
        };
        Sight { on_path: true, source, file_changed: false, newer: self.newer(after, held.capsule.generated_at) }
    }

    fn newer(&self, after: &[Slot], since: i64) -> Newer {
        let tree = &self.session.tree;
        let enough = u64::from(Lag::default().tokens) * 4 + 4;
        let mut bytes = 0;
        for slot in after {
            bytes += tree.head(*slot).bytes;
            if bytes > enough {
                break;
            }
        }
        Newer {
            messages: u32::try_from(after.len()).unwrap_or(u32::MAX),
            tokens: u32::try_from(bytes / 4).unwrap_or(u32::MAX),
            ms: after.last().map_or(0, |slot| tree.head(*slot).at - since),
        }
    }

    /// A capsule or the nearest older level that may go, and whether levels above it were passed over.
    pub(crate) fn usable(&self, id: Hash, mode: Mode) -> (Option<Going>, bool) {
        let mut passed = false;
        let mut at = Some(id);
        let mut seen = HashSet::new();
        while let Some(held) = at.filter(|id| seen.insert(*id)).and_then(|id| self.session.capsule(id)) {
            let stale = match self.sight(held).usage(mode) {
                Use::Plain => None,
                Use::Labelled(why) => Some(why),
                Use::Not => {
                    passed = true;
                    at = held.capsule.parent;
                    continue;
                }
            };
            return (Some(Going { capsule: held.capsule.clone(), stale }), passed);
        }
        (None, passed)
    }

    /// The lane that the path's end belongs to.
    pub(crate) fn lane(&self) -> &str {
        self.path.last().map_or("", |slot| &self.session.tree.head(*slot).lane)
    }
}

/// Whether an exclusion is of something that was read for a capsule.
fn touches(held: &Held, target: &Atom) -> bool {
    match target {
        Atom::Turn { user, .. } => held.users.contains_key(user),
        Atom::Message { node } | Atom::Episode { call: node, .. } => held.nodes.contains(node),
        Atom::Preamble { .. } | Atom::Section { .. } | Atom::Range { .. } => false,
    }
}

/// What goes: the lane's summary in every mode (in Off the planner takes it only where the window lost turns), the
/// session's in Heavy. Only the lane's takes the place of turns.
pub(crate) fn choose<'t>(
    ground: &Ground<'_>,
    branch: &Branch,
    mode: Mode,
    turns: impl Iterator<Item = (Hash, Hash)> + 't,
    gaps: &[Gap],
) -> Summaries {
    let mut found = Summaries::default();
    for id in &branch.capsules {
        let Some(kind) = ground.session.capsule(*id).map(|held| held.capsule.kind) else { continue };
        if kind == CapsuleKind::Session && mode != Mode::Heavy {
            continue;
        }
        let (going, passed) = ground.usable(*id, mode);
        let going = going.filter(|going| kind == CapsuleKind::Session || going.capsule.lane == ground.lane());
        if passed {
            found.warnings.push(Warning::SummaryOlder { to: going.as_ref().map(|going| going.capsule.turns.1) });
        }
        found.going.extend(going);
    }
    let lanes = || found.going.iter().filter(|going| going.capsule.kind == CapsuleKind::Lane);
    let held: Vec<&Held> = lanes().filter_map(|going| ground.session.capsule(going.capsule.id)).collect();
    if held.is_empty() {
        return found;
    }
    let by = |user: Hash, tip: Hash| {
        let held = held.iter().find(|held| held.covers(user, tip))?;
        Some(Covered { user, tip, by: held.capsule.id })
    };
    found.covered = turns.filter_map(|(user, tip)| by(user, tip)).collect();
    let ends = gaps.iter().filter_map(|gap| {
        let held = held.iter().find(|held| held.tips.contains(&gap.range.1))?;
        Some(Covered { user: gap.range.0, tip: gap.range.1, by: held.capsule.id })
    });
    found.covered.extend(ends);
    found
}

/// A capsule's text as it is sent.
pub(crate) fn summary_text(capsule: &Capsule, stale: Option<&str>) -> String {
    let (from, to) = capsule.turns;
    let by = match (capsule.source, &capsule.model) {
        (CapsuleSource::Llm, Some(model)) => format!("written by {model}"),
        (CapsuleSource::Llm, None) => "written by a model".to_owned(),
        (CapsuleSource::Extractive, _) => "their own sentences".to_owned(),
        (CapsuleSource::User, _) => "written by the user".to_owned(),
    };
    let what = if capsule.kind == CapsuleKind::Session { "Summary of the session" } else { "Summary of older turns" };
    let stale = stale.map_or_else(String::new, |why| format!(" [stale: {why}]"));
    render_forms::block(&format!("{what}, {from}–{to}, {by}{stale}"), capsule.text.as_deref().unwrap_or_default())
}

/// Every text as which a capsule may have been sent.
pub(crate) fn all_texts(capsule: &Capsule) -> impl Iterator<Item = String> + '_ {
    let labels = [None, Some("a turn in it has changed since"), Some("a file in it has changed since")];
    labels.into_iter().map(|label| summary_text(capsule, label))
}

/// Its title in lists.
pub(crate) fn title(capsule: &Capsule) -> String {
    let (from, to) = capsule.turns;
    format!("{} summary of turns {from}–{to} ({})", capsule.kind.name(), capsule.source.name())
}

/// The state that a list shows.
pub(crate) fn state(ground: &Ground<'_>, held: &Held) -> CapsuleState {
    ground.sight(held).state(Lag::default())
}
