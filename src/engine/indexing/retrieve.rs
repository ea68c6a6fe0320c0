//! Searches a branch's messages on request, in the same way as for a plan.
//! Not for: plans (`plans::sources::retrieval`).

use super::priority::Priority;
use crate::context;
use crate::domain::base::{Failure, SessionId};
use crate::domain::call::{Encoding, Evidence, MissReason, NearMiss};
use crate::engine::api::{Answer, PlanAnswer, Retrieved, Ticket};
use crate::engine::core::Core;
use crate::engine::inbox::Inbox;
use crate::engine::jobs::guarded;
use crate::engine::plans::input_builder::InputBuilder;
use crate::engine::plans::sources::cards;
use crate::engine::plans::sources::retrieval::{self, RetrievalQuery};
use crate::engine::plans::worker::WorkerTask;
use crate::engine::sessions::library::load_session;
use crate::engine::sessions::lookup::{named_branch, named_session};
use crate::engine::sessions::path::PathView;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// The maximum number of near misses that are returned.
const NEAR: usize = 12;

/// A search on request.
pub(crate) struct RetrievalRequest {
    pub(crate) query: String,
    pub(crate) at: Option<i64>,
    pub(crate) budget: Option<u32>,
    pub(crate) anyway: bool,
}

/// The path, the token budget, and the encoding of a search.
struct SearchPlace {
    session: SessionId,
    path: Arc<PathView>,
    until: usize,
    tokens: u32,
    encoding: Encoding,
}

impl Core {
    /// Searches on the planner's thread and answers.
    pub(crate) fn retrieve(
        &mut self,
        ticket: Ticket,
        session: Option<&str>,
        branch: Option<&str>,
        request: RetrievalRequest,
    ) -> Result<(), Failure> {
        let id = named_session(&self.store, session)?.ok_or_else(Failure::no_session)?;
        let branch = named_branch(load_session(&mut self.sessions, &self.store, id)?, branch)?;
        let session = self.sessions.of_branch(branch)?;
        let branch = session.branch(branch)?;
        let path = session.paths.get(&session.tree, session.head(branch));
        let rules = self.rules(branch)?;
        let until = request.at.map_or(path.nodes.len(), |at| path.nodes.partition_point(|node| node.at <= at));
        let place = SearchPlace {
            session: id,
            path,
            until,
            tokens: request.budget.unwrap_or_else(|| rules.mode.limits(rules.budget.prompt).retrieval_tokens),
            encoding: rules.model.encoding,
        };
        let inbox = self.inbox.clone();
        let work = Box::new(move |builder: &mut InputBuilder| {
            let found = guarded("the search", || look(builder, &place, &request));
            let result = found.map(|found| Answer::Plan(PlanAnswer::Retrieved(Box::new(found))));
            let _ = inbox.send(Inbox::Answer(ticket, Box::new(result)));
            None
        });
        self.plans.planner.run(WorkerTask { work, stop: None })
    }
}

fn look(builder: &mut InputBuilder, place: &SearchPlace, request: &RetrievalRequest) -> Result<Retrieved, Failure> {
    let count = builder.counting(place.encoding);
    let path = &place.path.nodes[..place.until];
    let wanted = RetrievalQuery {
        path,
        query: &request.query,
        out: Vec::new(),
        sent: Vec::new(),
        lane: None,
        near: NEAR,
        is_enough: &context::enough_within(place.tokens),
        forced: request.anyway,
        priority: Priority::Asked,
        count: &count,
    };
    if let Some(vectors) = builder.finder.vectors.clone() {
        vectors.want(place.session, path);
        vectors.settle();
    }
    let path_index = builder.finder.path_index(place.session, path)?;
    let started = Instant::now();
    let result = retrieval::search_path(&path_index, &wanted)?;
    let all = &result.composed.cards;
    let (admitted, left_out) = context::within(&result.composed.offer(), place.tokens);
    let mut set = cards::set(&result, &path_index, &place.tokens);
    let tokens: HashMap<_, u32> =
        admitted.iter().map(|one| ((all[one.at].key, all[one.at].span()), one.tokens)).collect();
    let missing: HashMap<_, u32> = left_out.iter().map(|(at, missing)| (all[*at].key, *missing)).collect();
    let why = |near: &NearMiss| missing.get(&near.key).map_or(near.why, |lacks| MissReason::NoRoom { missing: *lacks });
    set.record_sent(&|item: &Evidence| tokens.get(&(item.key, item.span)).copied(), &why, NEAR);
    set.elapsed_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
    let items = admitted.iter().filter_map(|one| {
        let facts = path_index.card_facts(&all[one.at].key)?;
        Some((facts.id, facts.external_id, all[one.at].text(one.after).to_owned()))
    });
    Ok(Retrieved { items: items.collect(), set })
}
