//! `message label`, `message favourite` and `message labels`: names and stars on messages.
//! Not for: marks, which change what goes into a call (`messages`).

use crate::cli::Run;
use crate::cli::output::column;
use crate::cli::pick;
use crate::cli::stop::Stop;
use crate::domain::conversation::tag::{Tag, Wanted};
use crate::domain::conversation::tree::Slot;
use crate::engine::api::{BranchRequest, Item, Request, SessionView, TagAct};
use serde_json::{Value, json};

/// `message label MESSAGE [NAME]`.
pub(crate) fn label(run: &mut Run<'_, '_>, message: &str, name: &[String]) -> Result<(), Stop> {
    put(run, message, TagAct::Label(name.join(" ")), "Named.")
}

/// `message favourite MESSAGE [--off]`.
pub(crate) fn favourite(run: &mut Run<'_, '_>, message: &str, off: bool) -> Result<(), Stop> {
    put(run, message, TagAct::Favourite(Some(!off)), if off { "The star is off." } else { "Starred." })
}

fn put(run: &mut Run<'_, '_>, message: &str, act: TagAct, said: &str) -> Result<(), Stop> {
    let view = run.open(false)?;
    let node = pick::message(&view, message)?.id;
    run.done(Request::Branch(BranchRequest::Tag { branch: view.current, item: Item::Message(node), act }), said)
}

/// `message labels [WORDS]`: all of the session that fit the words, in the order in which the messages came.
pub(crate) fn list(run: &mut Run<'_, '_>, words: &[String], favourites: bool) -> Result<(), Stop> {
    let view = run.open(false)?;
    let tree = pick::tree(&view);
    let wanted = Wanted { favourite: favourites, ..Wanted::read(&words.join(" ")) };
    let said = |slot: Slot, tag: &Tag| {
        let text = format!("{} {}", tag.label, tree.head(slot).preview).to_lowercase();
        text.contains(&wanted.words)
    };
    let mut found: Vec<(Slot, &Tag)> = view.tags.iter().filter_map(|tag| Some((tree.by_key(tag.node)?, tag))).collect();
    found.retain(|(slot, tag)| wanted.fits(Some(tag)) && said(*slot, tag));
    found.sort_by_key(|(slot, _)| *slot);
    let shape = |(slot, tag): &(Slot, &Tag)| -> Value {
        let head = tree.head(*slot);
        json!({
            "message_id": head.id,
            "external_id": head.external_id,
            "label": tag.label,
            "favourite": tag.favourite,
            "role": head.role.name(),
            "preview": head.preview,
            "branches": holding(&view, &tree, *slot),
        })
    };
    if run.io.json {
        return run.io.value(&found.iter().map(shape).collect::<Vec<_>>());
    }
    if found.is_empty() {
        run.io.say("No message has such a name or a star.");
    }
    let enough = pick::enough(&view);
    for (slot, tag) in &found {
        let head = tree.head(*slot);
        let star = if tag.favourite { "★" } else { " " };
        let id = pick::short(head.id, enough);
        let label = column(&tag.label, 24);
        run.io.say(format!("{id}  {star} {label}  {}", column(&head.preview, 60)).trim_end());
    }
    Ok(())
}

/// The names of the branches on whose path a message is.
fn holding(view: &SessionView, tree: &crate::domain::conversation::tree::Tree, slot: Slot) -> Vec<String> {
    let tip = |head| tree.slot(head).is_some_and(|tip| tree.contains(slot, tip));
    let open = view.branches.iter().filter(|branch| !branch.archived && branch.head.is_some_and(tip));
    open.map(|branch| branch.name.clone()).collect()
}
