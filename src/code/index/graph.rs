//! The graph of uses between symbols: neighbors, hops, and centrality, overall or starting from some symbols. Sums are
//! integers, so that they do not depend on the order of the edges.
//! Not for: finding uses of names (`parse::file`), or the definitions that they mean (`resolve`).

use super::records::{Index, SymbolId};
use super::resolve::edges;
use std::collections::BTreeMap;

/// A symbol with more users than this passes nothing back to them.
const MAX_USERS: usize = 64;
/// One, as a fixed-point number.
pub const UNIT: u64 = 1 << 32;
/// The share of a symbol's weight that it passes on in each round, in hundredths (Brin and Page 1998 use 85).
const DAMPING_PERCENT: u64 = 85;
/// Rounds of the power iteration; 0.85^20 is below 4%.
const ROUNDS: usize = 20;

/// A use that was derived from a name.
#[derive(Clone, Copy)]
pub(super) struct Edge {
    pub(super) user: SymbolId,
    pub(super) used: SymbolId,
    /// Whether only the name indicates this symbol.
    pub(super) is_guess: bool,
}

/// Adjacency lists in one array.
#[derive(Default)]
struct Neighbors {
    starts: Vec<u32>,
    all: Vec<SymbolId>,
    /// Whether each entry of `all` is a guess.
    guesses: Vec<bool>,
}

impl Neighbors {
    fn of(&self, id: SymbolId) -> &[SymbolId] {
        let at = id as usize;
        match (self.starts.get(at), self.starts.get(at + 1)) {
            (Some(start), Some(end)) => self.all.get(*start as usize..*end as usize).unwrap_or_default(),
            _ => &[],
        }
    }

    fn is_guess(&self, from: SymbolId, to: SymbolId) -> bool {
        let start = self.starts.get(from as usize).copied().unwrap_or_default() as usize;
        let at = self.of(from).iter().position(|id| *id == to);
        at.is_some_and(|at| self.guesses[start + at])
    }

    /// Builds the lists by counting the edges first and then placing them; `reversed` swaps the direction.
    fn build(count: usize, edges: &[Edge], reversed: bool) -> Self {
        let ends = |edge: &Edge| if reversed { (edge.used, edge.user) } else { (edge.user, edge.used) };
        let mut starts = vec![0_u32; count + 1];
        for edge in edges {
            starts[ends(edge).0 as usize + 1] += 1;
        }
        for at in 0..count {
            starts[at + 1] += starts[at];
        }
        let mut next = starts.clone();
        let mut all = vec![0; edges.len()];
        let mut guesses = vec![false; edges.len()];
        for edge in edges {
            let (from, to) = ends(edge);
            let at = &mut next[from as usize];
            all[*at as usize] = to;
            guesses[*at as usize] = edge.is_guess;
            *at += 1;
        }
        Self { starts, all, guesses }
    }
}

/// The graph of uses between symbols.
#[derive(Default)]
pub struct Graph {
    uses: Neighbors,
    users: Neighbors,
}

impl Graph {
    /// Builds the graph from the names that symbols use.
    pub(crate) fn build(index: &Index) -> Self {
        let count = index.symbol_slots();
        let edges = edges(index);
        Self { uses: Neighbors::build(count, &edges, false), users: Neighbors::build(count, &edges, true) }
    }

    /// Returns whether only the name indicates that one symbol uses another: other symbols have the same name, or it
    /// belongs to a type that the source does not show.
    pub fn is_guess(&self, user: SymbolId, target: SymbolId) -> bool {
        self.uses.is_guess(user, target)
    }

    /// Returns the symbols that a symbol uses.
    pub fn uses(&self, id: SymbolId) -> &[SymbolId] {
        self.uses.of(id)
    }

    /// Returns the symbols that use a symbol.
    pub fn users(&self, id: SymbolId) -> &[SymbolId] {
        self.users.of(id)
    }

    /// Returns the symbols that use a symbol; none if there are more than [`MAX_USERS`].
    fn few_users(&self, id: SymbolId) -> &[SymbolId] {
        Some(self.users(id)).filter(|users| users.len() <= MAX_USERS).unwrap_or_default()
    }

    /// Returns the number of uses.
    pub fn edges(&self) -> usize {
        self.uses.all.len()
    }

    /// Returns the distance of each symbol within `most` hops from the nearest start, in either direction of uses.
    pub fn hops(&self, from: &[SymbolId], most: u32) -> BTreeMap<SymbolId, u32> {
        let mut found: BTreeMap<SymbolId, u32> = from.iter().map(|id| (*id, 0)).collect();
        let mut frontier: Vec<SymbolId> = from.to_vec();
        for hop in 1..=most {
            let mut next = Vec::new();
            for id in frontier {
                for other in self.uses(id).iter().chain(self.few_users(id)) {
                    if let std::collections::btree_map::Entry::Vacant(free) = found.entry(*other) {
                        free.insert(hop);
                        next.push(*other);
                    }
                }
            }
            frontier = next;
        }
        found
    }

    /// Returns the weight that flows from seeds to the symbols they use and to their users in `rounds` steps:
    /// personalized `PageRank` (Haveliwala 2002) by pushing, cut off below a thousandth of the unit. Weights are in
    /// [`UNIT`]s.
    pub fn flow(&self, seeds: &[(SymbolId, u64)], rounds: usize, back: u64) -> BTreeMap<SymbolId, u64> {
        let mut sum: BTreeMap<SymbolId, u64> = BTreeMap::new();
        let mut frontier: BTreeMap<SymbolId, u64> = seeds.iter().copied().collect();
        for _ in 0..rounds {
            let mut next: BTreeMap<SymbolId, u64> = BTreeMap::new();
            for (id, weight) in &frontier {
                let share = weight * DAMPING_PERCENT / 100;
                for (side, percent) in [(self.uses(*id), 100 - back), (self.few_users(*id), back)] {
                    let each = share * percent / 100 / side.len().max(2) as u64;
                    if each < UNIT / 2_000 {
                        continue;
                    }
                    for other in side {
                        *next.entry(*other).or_default() += each;
                    }
                }
            }
            for (id, weight) in &next {
                *sum.entry(*id).or_default() += weight;
            }
            frontier = next;
        }
        sum
    }

    /// Returns the centrality of each symbol: `PageRank` by power iteration with uniform restarts (Brin and Page 1998),
    /// in millionths of the total.
    pub fn centrality(&self, index: &Index) -> Vec<u64> {
        let existing: Vec<bool> = (0_u32..).take(index.symbol_slots()).map(|id| index.is_code(id)).collect();
        let count = existing.iter().filter(|existing| **existing).count().max(1) as u64;
        let whole: u64 = 1_000_000_000_000;
        let rest = whole * (100 - DAMPING_PERCENT) / 100 / count;
        let mut rank: Vec<u64> = existing.iter().map(|existing| if *existing { whole / count } else { 0 }).collect();
        for _ in 0..ROUNDS {
            let mut next: Vec<u64> = existing.iter().map(|existing| if *existing { rest } else { 0 }).collect();
            for (id, weight) in (0_u32..).zip(&rank) {
                let each = weight * DAMPING_PERCENT / 100 / self.uses(id).len().max(1) as u64;
                for other in self.uses(id) {
                    next[*other as usize] += each;
                }
            }
            rank = next;
        }
        rank.into_iter().map(|weight| weight / 1_000_000).collect()
    }
}
