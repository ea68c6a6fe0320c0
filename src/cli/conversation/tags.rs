//! `message label`, `message favorite`, and `message labels`: labels and favorites.
//! Not for: marks, which change the request (`messages`).

use crate::cli::Run;
use crate::cli::output::column;
use crate::cli::pick;
use crate::cli::stop::Stop;
use crate::domain::conversation::{Slot, Tag, TagFilter, Tree};
use crate::engine::api::{BranchRequest, ItemName, SessionView, TagAct};
use serde_json::{Value, json};

/// `message label MESSAGE [LABEL]`.
pub(crate) fn label(run: &mut Run<'_, '_>, message: &str, label: &[String]) -> Result<(), Stop> {
    set_tag(run, message, TagAct::Label(label.join(" ")), "Label changed.")
}

/// `message favorite MESSAGE [--off]`.
pub(crate) fn favorite(run: &mut Run<'_, '_>, message: &str, off: bool) -> Result<(), Stop> {
    set_tag(
        run,
        message,
        TagAct::Favorite(Some(!off)),
        if off { "Removed from the favorites." } else { "Added to the favorites." },
    )
}

fn set_tag(run: &mut Run<'_, '_>, message: &str, act: TagAct, done_text: &str) -> Result<(), Stop> {
    let view = run.open(false)?;
    let node = pick::message(&view, message)?.id;
    run.change(BranchRequest::Tag { branch: view.current, item: ItemName::Message(node), act }, done_text)
}

/// `message labels [WORDS]`: lists all matching labels of the session in the order of the messages.
pub(crate) fn list(run: &mut Run<'_, '_>, words: &[String], favorites: bool) -> Result<(), Stop> {
    let view = run.open(false)?;
    let tree = pick::tree(&view);
    let wanted = TagFilter { favorite: favorites, ..TagFilter::read(&words.join(" ")) };
    let words_match = |slot: Slot, tag: &Tag| {
        let text = format!("{} {}", tag.label, tree.head(slot).preview).to_lowercase();
        text.contains(&wanted.words)
    };
    let mut found: Vec<(Slot, &Tag)> = view.tags.iter().filter_map(|tag| Some((tree.by_key(tag.node)?, tag))).collect();
    found.retain(|(slot, tag)| wanted.matches(Some(tag)) && words_match(*slot, tag));
    found.sort_by_key(|(slot, _)| *slot);
    let shape = |(slot, tag): &(Slot, &Tag)| -> Value {
        let head = tree.head(*slot);
        json!({
            "message_id": head.id,
            "external_id": head.external_id,
            "label": tag.label,
            "favourite": tag.favorite,
            "role": head.role.name(),
            "preview": head.preview,
            "branches": branches_with(&view, &tree, *slot),
        })
    };
    if run.io.json {
        return run.io.value(&found.iter().map(shape).collect::<Vec<_>>());
    }
    if found.is_empty() {
        run.io.say("No matching labels or favorites.");
    }
    let enough = pick::id_length(&view);
    for (slot, tag) in &found {
        let head = tree.head(*slot);
        let sign = if tag.favorite { "★" } else { " " };
        let id = pick::short(head.id, enough);
        let label = column(&tag.label, 24);
        run.io.say(format!("{id}  {sign} {label}  {}", column(&head.preview, 60)).trim_end());
    }
    Ok(())
}

/// Returns the names of the branches whose path contains a message.
fn branches_with(view: &SessionView, tree: &Tree, slot: Slot) -> Vec<String> {
    let tip = |head| tree.slot(head).is_some_and(|tip| tree.contains(slot, tip));
    let open = view.branches.iter().filter(|branch| !branch.archived && branch.head.is_some_and(tip));
    open.map(|branch| branch.name.clone()).collect()
}
