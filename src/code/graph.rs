//! Which symbol uses which: edges from names, hops, and how central a symbol is, from everywhere or from some symbols.
//! Sums are in whole numbers, so that they do not depend on the order of the edges.
//! Not for: what uses a name (`parse`).

use super::index::{Index, SymbolId};
use std::collections::BTreeMap;

/// A name with more definitions than this says nothing of which one is meant.
const MOST_DEFINITIONS: usize = 6;
/// A symbol used by more than this carries nothing back to its users.
const MOST_USERS: usize = 64;
/// One, in the whole numbers of the sums.
pub const UNIT: u64 = 1 << 32;
/// Share of a symbol's weight that it passes on in each round, in hundredths (Brin and Page 1998 use 85).
const PASSED: u64 = 85;
/// Rounds of the power iteration; 0.85^20 is below 4 %.
const ROUNDS: usize = 20;

/// Lists of neighbours, one after the other.
#[derive(Default)]
struct Neighbours {
    starts: Vec<u32>,
    all: Vec<SymbolId>,
}

impl Neighbours {
    fn of(&self, id: SymbolId) -> &[SymbolId] {
        let at = id as usize;
        match (self.starts.get(at), self.starts.get(at + 1)) {
            (Some(start), Some(end)) => self.all.get(*start as usize..*end as usize).unwrap_or_default(),
            _ => &[],
        }
    }

    /// From pairs counted first, then placed.
    fn build(count: usize, pairs: &[(SymbolId, SymbolId)], turned: bool) -> Self {
        let ends = |pair: &(SymbolId, SymbolId)| if turned { (pair.1, pair.0) } else { *pair };
        let mut starts = vec![0_u32; count + 1];
        for pair in pairs {
            starts[ends(pair).0 as usize + 1] += 1;
        }
        for at in 0..count {
            starts[at + 1] += starts[at];
        }
        let mut next = starts.clone();
        let mut all = vec![0; pairs.len()];
        for pair in pairs {
            let (from, to) = ends(pair);
            let at = &mut next[from as usize];
            all[*at as usize] = to;
            *at += 1;
        }
        Self { starts, all }
    }
}

/// The graph of uses between symbols.
#[derive(Default)]
pub struct Graph {
    uses: Neighbours,
    users: Neighbours,
}

impl Graph {
    /// From the names that symbols use. A definition in the user's own file is preferred, then one in its folder.
    pub(super) fn build(index: &Index) -> Self {
        let mut pairs = Vec::new();
        for file in index.files() {
            let folder = file.shown.rsplit_once('/').map_or("", |(folder, _)| folder);
            for user in file.first..file.first + file.count {
                for name in index.used(user) {
                    let definitions = index.definitions(*name);
                    if definitions.is_empty() || definitions.len() > 64 {
                        continue;
                    }
                    let alive = || definitions.iter().filter(|id| **id != user && index.symbol(**id).is_some());
                    let within = |id: &&SymbolId| (file.first..file.first + file.count).contains(id);
                    let beside = |id: &&SymbolId| {
                        index.symbol(**id).is_some_and(|(_, file)| {
                            file.shown.rsplit_once('/').map_or("", |(folder, _)| folder) == folder
                        })
                    };
                    let chosen: Vec<SymbolId> = match () {
                        () if alive().any(|id| within(&id)) => alive().filter(within).copied().collect(),
                        () if definitions.len() > 1 && alive().any(|id| beside(&id)) => {
                            alive().filter(beside).copied().collect()
                        }
                        () => alive().copied().collect(),
                    };
                    if chosen.len() <= MOST_DEFINITIONS {
                        pairs.extend(chosen.into_iter().map(|definition| (user, definition)));
                    }
                }
            }
        }
        let count = index.numbers();
        Self { uses: Neighbours::build(count, &pairs, false), users: Neighbours::build(count, &pairs, true) }
    }

    /// What a symbol uses.
    #[must_use]
    pub fn uses(&self, id: SymbolId) -> &[SymbolId] {
        self.uses.of(id)
    }

    /// What uses a symbol.
    #[must_use]
    pub fn users(&self, id: SymbolId) -> &[SymbolId] {
        self.users.of(id)
    }

    /// How many uses there are.
    #[must_use]
    pub fn edges(&self) -> usize {
        self.uses.all.len()
    }

    /// How far each symbol within `most` hops is from the nearest of some, in either direction of uses.
    #[must_use]
    pub fn hops(&self, from: &[SymbolId], most: u32) -> BTreeMap<SymbolId, u32> {
        let mut found: BTreeMap<SymbolId, u32> = from.iter().map(|id| (*id, 0)).collect();
        let mut edge: Vec<SymbolId> = from.to_vec();
        for hop in 1..=most {
            let mut next = Vec::new();
            for id in edge {
                let users = self.users(id);
                let users = if users.len() > MOST_USERS { &[] } else { users };
                for other in self.uses(id).iter().chain(users) {
                    if let std::collections::btree_map::Entry::Vacant(free) = found.entry(*other) {
                        free.insert(hop);
                        next.push(*other);
                    }
                }
            }
            edge = next;
        }
        found
    }

    /// Weight that flows from seeds to what they use and what uses them, in `rounds` steps: personalised centrality
    /// (Haveliwala 2002) by pushing, cut off below a thousandth of the unit. Weights in [`UNIT`]s.
    #[must_use]
    pub fn flow(&self, seeds: &[(SymbolId, u64)], rounds: usize, back: u64) -> BTreeMap<SymbolId, u64> {
        let mut sum: BTreeMap<SymbolId, u64> = BTreeMap::new();
        let mut edge: BTreeMap<SymbolId, u64> = seeds.iter().copied().collect();
        for _ in 0..rounds {
            let mut next: BTreeMap<SymbolId, u64> = BTreeMap::new();
            for (id, weight) in &edge {
                let share = weight * PASSED / 100;
                let (uses, users) = (self.uses(*id), self.users(*id));
                let users = if users.len() > MOST_USERS { &[] } else { users };
                for (side, percent) in [(uses, 100 - back), (users, back)] {
                    let each = share * percent / 100 / side.len().max(4) as u64;
                    if each >= UNIT / 2_000 {
                        side.iter().for_each(|other| *next.entry(*other).or_default() += each);
                    }
                }
            }
            for (id, weight) in &next {
                *sum.entry(*id).or_default() += weight;
            }
            edge = next;
        }
        sum
    }

    /// How central each number is: `PageRank` by power iteration (Brin and Page 1998), from everywhere alike. In millionths of the whole.
    #[must_use]
    pub fn centrality(&self, index: &Index) -> Vec<u64> {
        let alive: Vec<bool> = (0..index.numbers()).map(|id| index.symbol(id as SymbolId).is_some()).collect();
        let count = alive.iter().filter(|alive| **alive).count().max(1) as u64;
        let whole: u64 = 1_000_000_000_000;
        let rest = whole * (100 - PASSED) / 100 / count;
        let mut rank: Vec<u64> = alive.iter().map(|alive| if *alive { whole / count } else { 0 }).collect();
        for _ in 0..ROUNDS {
            let mut next: Vec<u64> = alive.iter().map(|alive| if *alive { rest } else { 0 }).collect();
            for (id, weight) in rank.iter().enumerate() {
                let uses = self.uses(id as SymbolId);
                let each = weight * PASSED / 100 / uses.len().max(1) as u64;
                uses.iter().for_each(|other| next[*other as usize] += each);
            }
            rank = next;
        }
        rank.into_iter().map(|weight| weight / 1_000_000).collect()
    }
}
