//! Questions about trust in the folder, about a deletion, about imported instructions, and about a message that cannot be sent now.
//! Not for: the effect of a choice (`screens::question`).

use crate::domain::base::{BranchId, Failure};
use crate::domain::conversation::{Atom, End, NodeHead, Role};
use crate::domain::planning::{Blocked, BlockedRemedy};
use crate::engine::api::{Draft, DraftKind};
use crate::tui::screens::question::model::{Act, Question};
use crate::tui::update::prelude::*;

/// Opens a question. Its first choice is selected.
pub(crate) fn open<'a>(
    model: &mut Model,
    title: &str,
    words: Vec<String>,
    choices: impl IntoIterator<Item = (char, &'a str, Act)>,
) {
    let choices = choices.into_iter().map(|(key, text, act)| (key, text.to_owned(), act)).collect();
    model.layers.push(Question::new(title, words, choices));
}

/// Asks whether to run a line that deletes something, with `--yes`.
pub(crate) fn deletion(model: &mut Model, title: &str, line: &str) {
    let delete = Act::Command(format!("{line} --yes"));
    let choices = [('n', "no, keep it", Act::Close), ('y', "yes, delete it permanently", delete)];
    open(model, title, vec!["You can't undo this.".to_owned()], choices);
}

/// Asks whether to trust the folder, or to stop trusting it.
pub(crate) fn trust(model: &mut Model) {
    let Some((folder, trusted)) = model.session.as_ref().map(|session| session.workspace.clone()) else { return };
    let (title, words, yes) = if trusted {
        ("Stop trusting this folder?", "The model will no longer be offered tools.".to_owned(), "yes, stop trusting it")
    } else {
        let words = format!(
            "The model may then read, list, and search the files in this folder, and nothing outside it. \
            Requests include a map of its code and its rules (AGENTS.md), and in mode Heavy parts of its \
            code; {} shows each item. All of this text is sent to the model's server. MCP servers in your settings \
            will start. Each file change and each command needs your approval, unless one of your rules allows it.",
            model.keys.key(Action::NextRequest)
        );
        ("Trust this folder?", words, "yes, offer tools here")
    };
    let choices = [('n', "no", Act::Close), ('y', yes, Act::Trust(!trusted))];
    open(model, title, vec![folder, words], choices);
}

/// Topic of the notice about an imported system prompt.
const IMPORTED: &str = "imported";

/// Reports once in a session since the program began that the system prompt of an imported conversation needs a
/// decision. The question itself opens only by a key, so that no typed letter answers it.
pub(crate) fn report_imported_instructions(model: &mut Model) {
    if undecided_instructions(model).is_none() {
        return;
    }
    let Some(id) = model.session.as_ref().map(|session| session.card.id) else { return };
    if model.asked_about_instructions.insert(id) {
        let key = model.keys.key(Action::AnswerTool);
        let text = format!("This conversation's imported system prompt is left out until you decide; {key} shows it.");
        model.status.alarm(IMPORTED, text, model.now);
    }
}

/// The imported system prompts of the path that the branch has no decision about, and their first words; None if there
/// are none.
fn undecided_instructions(model: &Model) -> Option<(Vec<Atom>, Vec<String>)> {
    let (session, branch) = (model.session.as_ref()?, model.branch()?);
    let undecided = |head: &&NodeHead| {
        let atom = Atom::Message { node: head.key };
        let sendable = head.role == Role::System && head.imported && !head.hidden && head.end != End::Removed;
        sendable && branch.marks.iter().all(|mark| mark.target != atom)
    };
    let path = model.conversation.path.iter().map(|slot| session.tree.head(*slot));
    let found: (Vec<Atom>, Vec<String>) =
        path.filter(undecided).map(|head| (Atom::Message { node: head.key }, head.preview.clone())).unzip();
    Some(found).filter(|(atoms, _)| !atoms.is_empty())
}

/// Asks whether to send the system prompt of an imported conversation. Returns false if none needs a decision.
pub(crate) fn imported_instructions(model: &mut Model) -> bool {
    let Some((atoms, mut words)) = undecided_instructions(model) else { return false };
    model.status.end(IMPORTED);
    words.truncate(5);
    words.push("Until you decide, it is left out.".to_owned());
    let choices = [
        ('n', "decide later", Act::Close),
        ('y', "yes, send it with every request", Act::Instructions(atoms.clone(), true)),
        ('x', "no, leave it out", Act::Instructions(atoms, false)),
    ];
    open(model, "Use this conversation's imported system prompt?", words, choices);
    true
}

/// Asks what to do with a message while another answer is still arriving on its branch. Only a new message can wait; for
/// a new or a longer answer, a notice says that the branch is busy.
pub(crate) fn busy(model: &mut Model, branch: BranchId, draft: Draft, failure: &Failure) {
    let wait = match draft.kind {
        DraftKind::Message => Some(Act::Wait(branch, draft.clone())),
        DraftKind::Edit(_) => None,
        DraftKind::Regenerate(_) | DraftKind::Continue(_) => {
            let text = format!("{} Try again when that answer is complete.", failure.what);
            return model.status.say(Severity::Warning, text, model.now);
        }
    };
    let words = vec![failure.what.clone(), "Your message is kept in the composer.".to_owned()];
    let wait = wait.map(|act| ('w', "wait, and send it when that answer is complete", act));
    let others = [
        ('f', "fork here and send it on the fork", Act::ForkAndSend(branch, draft)),
        ('n', "neither; keep writing", Act::Close),
    ];
    open(model, "An answer is still arriving", words, wait.into_iter().chain(others));
}

/// The required items do not fit: asks what to change. The first choice changes nothing, because a raised budget stays
/// raised.
pub(crate) fn blocked(model: &mut Model, branch: BranchId, failure: &Failure) {
    let mut choices = vec![('n', "keep writing".to_owned(), Act::Close)];
    choices.extend(model.plan.blocked(branch).map(|blocked| remedies(blocked)).unwrap_or_default());
    choices.push(('o', "see what doesn't fit".to_owned(), Act::Run(Action::NextRequest)));
    let mut words = vec![failure.what.clone()];
    words.extend([failure.kept.clone(), failure.todo.clone()].into_iter().filter(|s| !s.is_empty()));
    model.layers.push(Question::new("Too large for the budget", words, choices));
}

fn remedies(blocked: &Blocked) -> Vec<(char, String, Act)> {
    let way = |choice: &BlockedRemedy| match choice {
        BlockedRemedy::LargerBudget { at_least } => {
            let round = at_least.div_ceil(500).saturating_mul(500);
            ('b', choice.sentence(), Act::Budget(round.min(blocked.budget.most())))
        }
        BlockedRemedy::OtherModel => ('m', choice.sentence(), Act::Run(Action::Models)),
        BlockedRemedy::Unpin { atoms, .. } => ('u', choice.sentence(), Act::Unpin(atoms.clone())),
        BlockedRemedy::FewerTools { .. } => ('t', choice.sentence(), Act::Trust(false)),
        BlockedRemedy::ShorterMessage { .. } => ('s', choice.sentence(), Act::Close),
        BlockedRemedy::ShortenBodies { .. } => ('p', choice.sentence(), Act::Policy("layered".to_owned())),
    };
    blocked.choices.iter().map(way).collect()
}
