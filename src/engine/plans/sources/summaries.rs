//! Chooses the accepted summaries that may be sent: for each summary of the branch the newest version that is valid on
//! the branch's path. Every summary of the branch gets a row.
//! Not for: making summaries (`summaries::drafts`), or admitting them (`context`).

use crate::context::render::render_forms;
use crate::context::summary::survive::LackingFacts;
use crate::domain::base::{Failure, Hash};
use crate::domain::conversation::{Atom, Branch, Lane, Mark, NodeHead, Role, Slot, TaskSpan, Tree};
use crate::domain::planning::{CoveredTurn, Form, Gap, Mode, OmittedItem, RowKind};
use crate::domain::planning::{Reason, Warning};
use crate::domain::summary::accepted::MAX_SINCE;
use crate::domain::summary::turns_in_words;
use crate::domain::summary::{
    MessagesSince, SourceFault, Summary, SummaryKind, SummaryPosition, SummarySource, SummaryState, SummaryUse,
};
use crate::engine::plans::input_builder::{InputBuilder, send_barrier};
use crate::engine::plans::snapshot::Snapshot;
use crate::engine::sessions::session::Session;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A summary with indexes of the turns and messages that it covers.
pub(crate) struct LoadedSummary {
    pub(crate) summary: Arc<Summary>,
    users: HashMap<Hash, Hash>,
    tips: HashSet<Hash>,
    nodes: HashSet<Hash>,
}

impl LoadedSummary {
    pub(crate) fn new(summary: Summary) -> Self {
        let users = summary.covers.iter().map(|cover| (cover.user, cover.tip)).collect();
        let nodes = summary.covers.iter().flat_map(|cover| cover.nodes.iter().map(|(key, _)| *key)).collect();
        let tips = summary.covers.iter().map(|cover| cover.tip).collect();
        Self { summary: Arc::new(summary), users, tips, nodes }
    }

    /// Whether it covers this turn.
    fn covers(&self, user: Hash, tip: Hash) -> bool {
        self.users.get(&user) == Some(&tip)
    }
}

/// A summary that is sent.
#[derive(Clone, Debug)]
pub(crate) struct SentSummary {
    pub(crate) summary: Arc<Summary>,
    /// Why it is stale, if it is sent although it is stale.
    pub(crate) stale: Option<&'static str>,
    /// Whether it belongs to another lane, so that it is sent only if the question names that lane.
    pub(crate) elsewhere: bool,
    /// Whether it is the version before the next summary.
    pub(crate) older: bool,
    /// The names of the tasks at whose ends it ends.
    pub(crate) tasks: Vec<String>,
}

impl SentSummary {
    /// Whether a question names its lane or one of its tasks.
    pub(crate) fn named_in(&self, question: &str) -> bool {
        let lane = Some(self.summary.lane.as_str()).filter(|lane| self.elsewhere && !lane.is_empty());
        let lane = lane.map(|lane| Lane::read(lane).title());
        let question = question.to_lowercase();
        lane.iter().chain(&self.tasks).any(|name| mentions(&question, &name.trim().to_lowercase()))
    }
}

/// Whether a text contains a name as a separate word.
pub(super) fn mentions(text: &str, name: &str) -> bool {
    let edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
    !name.is_empty()
        && text
            .match_indices(name)
            .any(|(at, _)| edge(text[..at].chars().next_back()) && edge(text[at + name.len()..].chars().next()))
}

/// The summaries for one call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summaries {
    pub(crate) sent: Vec<SentSummary>,
    /// The summaries that are not valid here.
    pub(crate) stale: Vec<Arc<Summary>>,
    pub(crate) covered: Vec<CoveredTurn>,
    pub(crate) warnings: Vec<Warning>,
}

/// The path and marks that summaries are chosen for.
pub(crate) struct SummaryView<'a> {
    pub(crate) session: &'a Session,
    pub(crate) path: &'a [Slot],
    pub(crate) marks: &'a [Mark],
    /// The only lane of the window; `None` if the window contains all lanes.
    pub(crate) lane: Option<&'a str>,
}

impl SummaryView<'_> {
    /// Returns the position of a summary relative to the path. The cost does not depend on how much the summary covers:
    /// everything covered is on one path, so if its last node is on this path, all of its nodes are.
    pub(crate) fn position(&self, loaded: &LoadedSummary) -> SummaryPosition {
        let tree = &self.session.tree;
        let tip = loaded.summary.tip().and_then(|key| tree.by_key(key));
        let Some(tip) = tip.filter(|slot| self.path.get(tree.depth(*slot) as usize) == Some(slot)) else {
            return SummaryPosition::default();
        };
        let after = &self.path[tree.depth(tip) as usize + 1..];
        let excluded = self.marks.iter().any(|mark| mark.kind.excludes() && touches(loaded, &mark.target));
        let grown = after.first().is_some_and(|slot| tree.head(*slot).role != Role::User);
        let source = if loaded.summary.text.is_none() {
            Some(SourceFault::Removed)
        } else if excluded {
            Some(SourceFault::Excluded)
        } else {
            grown.then_some(SourceFault::Changed)
        };
        SummaryPosition {
            on_path: true,
            source,
            file_changed: false,
            newer: messages_since(tree, after, loaded.summary.generated_at),
        }
    }

    /// Returns the summary or its nearest earlier version that may be sent, and whether later versions were skipped.
    pub(crate) fn usable(&self, id: Hash, mode: Mode) -> (Option<SentSummary>, bool) {
        let mut passed = false;
        let mut at = Some(id);
        let mut seen = HashSet::new();
        while let Some(loaded) = at.filter(|id| seen.insert(*id)).and_then(|id| self.session.summary(id)) {
            let stale = match self.position(loaded).usage(mode) {
                SummaryUse::Plain => None,
                SummaryUse::Labelled(why) => Some(why),
                SummaryUse::Not => {
                    passed = true;
                    at = loaded.summary.parent;
                    continue;
                }
            };
            let (summary, elsewhere) = (
                loaded.summary.clone(),
                loaded.summary.kind == SummaryKind::Lane && loaded.summary.lane != self.lane(),
            );
            return (Some(SentSummary { summary, stale, elsewhere, older: false, tasks: Vec::new() }), passed);
        }
        (None, passed)
    }

    /// Returns the lane of the path's last node.
    pub(crate) fn lane(&self) -> &str {
        self.lane.unwrap_or_else(|| self.path.last().map_or("", |slot| &self.session.tree.head(*slot).lane))
    }
}

/// Whether an excluded item was read for a summary.
fn touches(loaded: &LoadedSummary, target: &Atom) -> bool {
    match target {
        Atom::Turn { user, .. } => loaded.users.contains_key(user),
        Atom::Message { node } | Atom::Episode { call: node, .. } => loaded.nodes.contains(node),
        Atom::Preamble { .. } | Atom::Section { .. } | Atom::Range { .. } => false,
    }
}

/// Returns the summaries that may be sent, in the order in which they were accepted. A summary of another lane replaces
/// turns only where the window contains all lanes, and only if the question names its lane.
pub(crate) fn choose<'t>(
    view: &SummaryView<'_>,
    branch: &Branch,
    mode: Mode,
    turns: impl Iterator<Item = (Hash, Hash)> + 't,
    gaps: &[Gap],
) -> Summaries {
    let mut found = Summaries::default();
    for id in &branch.summaries {
        let Some(newest) = view.session.summary(*id).map(|loaded| loaded.summary.clone()) else { continue };
        let (sent, passed) = view.usable(*id, mode);
        if passed {
            found.warnings.push(Warning::SummaryOlder { to: sent.as_ref().map(|sent| sent.summary.turns.1) });
            found.stale.push(newest);
        }
        let Some(sent) = sent else { continue };
        let before = sent.summary.parent.filter(|_| !sent.elsewhere).and_then(|id| view.usable(id, mode).0);
        found.sent.extend(before.map(|before| SentSummary { older: true, ..before }));
        let ends = |task: &&TaskSpan| task.to.is_some() && task.to == sent.summary.tip();
        let tasks = branch.overrides.tasks.iter().filter(ends).map(|task| task.name.clone()).collect();
        found.sent.push(SentSummary { tasks, ..sent });
    }
    let may_replace = found.sent.iter().filter(|sent| !sent.elsewhere || view.lane.is_none());
    let loaded: Vec<(bool, &LoadedSummary)> =
        may_replace.filter_map(|sent| Some((sent.elsewhere, view.session.summary(sent.summary.id)?))).collect();
    if loaded.is_empty() {
        return found;
    }
    for (user, tip) in turns {
        let by = loaded.iter().filter(|(_, loaded)| loaded.covers(user, tip));
        found.covered.extend(by.map(|(_, loaded)| CoveredTurn { user, tip, by: loaded.summary.id, lacks: false }));
    }
    for (user, tip) in gaps.iter().map(|gap| gap.range) {
        let by = loaded.iter().filter(|(elsewhere, loaded)| !elsewhere && loaded.tips.contains(&tip));
        found.covered.extend(by.map(|(_, loaded)| CoveredTurn { user, tip, by: loaded.summary.id, lacks: false }));
    }
    found
}

/// Returns the turns that the offered summaries cover, which are those with an entry in `lacking`: what the question
/// names and the summary lacks.
pub(crate) fn covered(
    builder: &mut InputBuilder,
    snapshot: &Snapshot,
    lacking: &[(Hash, LackingFacts)],
) -> Result<Vec<CoveredTurn>, Failure> {
    let mut covered = Vec::new();
    let turns = snapshot.turns.iter().filter(|_| lacking.iter().any(|(_, lacking)| !lacking.is_empty()));
    let turns: HashMap<Hash, &[NodeHead]> =
        turns.filter_map(|turn| Some((turn.heads.first()?.key, turn.heads.as_slice()))).collect();
    for turn in &snapshot.summaries.covered {
        let Some((_, lacking)) = lacking.iter().find(|(by, _)| *by == turn.by) else { continue };
        let mut lacks = false;
        for head in turns.get(&turn.user).filter(|_| !lacking.is_empty()).copied().unwrap_or_default() {
            if send_barrier(head, false).is_none() && !snapshot.excludes_message(head.key) {
                let content = builder.content(head.key, Some(head.id))?.unwrap_or_default();
                lacks |= lacking.any_in(&render_forms::message_text(head.key, head.role, &content, Form::NoState));
            }
        }
        covered.push(CoveredTurn { lacks, ..*turn });
    }
    Ok(covered)
}

/// Returns a summary's text as it is sent.
pub(crate) fn summary_text(summary: &Summary, stale: Option<&str>) -> String {
    let (from, to) = summary.turns;
    let by = match (summary.source, &summary.model) {
        (SummarySource::Llm, Some(model)) => format!("written by {model}"),
        (SummarySource::Llm, None) => "written by a model".to_owned(),
        (SummarySource::Extractive, _) => "their own sentences".to_owned(),
        (SummarySource::User, _) => "written by the user".to_owned(),
    };
    let what = if summary.kind == SummaryKind::Session { "Summary of the session" } else { "Summary of older turns" };
    let stale = stale.map_or_else(String::new, |why| format!(" [stale: {why}]"));
    render_forms::block(&format!("{what}, {from}–{to}, {by}{stale}"), summary.text.as_deref().unwrap_or_default())
}

/// Returns all texts in which a summary may have been sent.
pub(crate) fn all_texts(summary: &Summary) -> impl Iterator<Item = String> + '_ {
    let labels = [None, Some("a turn in it has changed since"), Some("a file in it has changed since")];
    labels.into_iter().map(|label| summary_text(summary, label))
}

/// Returns the title of a summary in lists. A summary of a path without lanes is no lane's.
pub(crate) fn title(summary: &Summary) -> String {
    let turns = turns_in_words(summary.turns);
    let kind = match summary.kind {
        SummaryKind::Lane if summary.lane.is_empty() => String::new(),
        kind => format!("{} ", kind.name()),
    };
    format!("{kind}summary of {turns} ({})", summary.source.name())
}

/// Returns the row of a summary that is not offered.
pub(crate) fn omitted(summary: &Summary, reason: Reason) -> OmittedItem {
    let atom = Atom::Section { text: summary.id };
    let remedy = ("capsules", "lists the summaries in use");
    OmittedItem::new(atom, RowKind::Summary, &title(summary), summary.tokens, reason, remedy)
}

/// Returns the state of a summary that a list shows.
pub(crate) fn state(view: &SummaryView<'_>, loaded: &LoadedSummary) -> SummaryState {
    view.position(loaded).state()
}

/// Describes the messages after a summary of this time. Their tokens are counted up to the limit of stale summaries.
fn messages_since(tree: &Tree, after: &[Slot], since: i64) -> MessagesSince {
    let enough = u64::from(MAX_SINCE.tokens) * 4 + 4;
    let mut bytes = 0;
    for slot in after {
        bytes += tree.head(*slot).bytes;
        if bytes > enough {
            break;
        }
    }
    MessagesSince {
        messages: u32::try_from(after.len()).unwrap_or(u32::MAX),
        tokens: u32::try_from(bytes / 4).unwrap_or(u32::MAX),
        ms: after.last().map_or(0, |slot| tree.head(*slot).at - since),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::conversation::message::NodeHead;
    use crate::domain::conversation::tree::tests::head;

    #[test]
    fn messages_since_a_summary_are_counted_with_their_tokens_and_time() {
        let sized = |(at, bytes): (u32, u64)| {
            let id = u128::from(at) + 1;
            NodeHead { bytes, at: 100 * i64::from(at), ..head(id, (at > 0).then_some(id - 1), Role::User) }
        };
        let enough = u64::from(MAX_SINCE.tokens) * 4 + 4;
        let tree = Tree::build((0..).zip([7, 9, 2 * enough, 400]).map(sized).collect());
        let since = |after: &[Slot]| {
            let MessagesSince { messages, tokens, ms } = messages_since(&tree, after, 50);
            (messages, u64::from(tokens), ms)
        };
        assert_eq!((since(&[]), since(&[0]), since(&[0, 1])), ((0, 0, 0), (1, 1, -50), (2, 4, 50)));
        assert_eq!(since(&[1, 2, 3]), (3, (9 + 2 * enough) / 4, 250), "the sum stops at the limit");
    }
}
