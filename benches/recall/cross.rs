//! Results of questions asked of other conversations, compared with results from their own. The floor was tuned on the
//! first three of five conversations. The figures of the others are printed separately; they were seen during tuning
//! too.

use super::data::{self, Question, Talk, Vectors};
use super::{floor, found};
use pleach::retrieval::gate;
use pleach::retrieval::scope::Filter;
use pleach::retrieval::search::SearchOptions;

/// The number of conversations on which the floor was tuned, from the first.
const TUNED: usize = 3;

/// Tokens of questions, and the number of questions.
#[derive(Clone, Copy, Default)]
struct Sum(u64, u64);

impl Sum {
    fn mean(self) -> f64 {
        self.0 as f64 / self.1.max(1) as f64
    }
}

/// Prints the mean tokens that questions bring through the gate and the floor, for their own and for other
/// conversations.
pub fn print(talks: &[Talk], questions: &[Question], budgets: &[u32], vectors: Option<&Vectors>) {
    let split = TUNED.min(talks.len());
    let (tuned, rest) = (
        sums(talks, 0..split, questions, budgets, vectors),
        sums(talks, split..talks.len(), questions, budgets, vectors),
    );
    let both =
        tuned.iter().zip(&rest).map(|(a, b)| std::array::from_fn(|at| Sum(a[at].0 + b[at].0, a[at].1 + b[at].1)));
    let both: Vec<[Sum; 2]> = both.collect();
    for (named, sums) in [("tuned on", tuned), ("not tuned on", rest), ("all", both)] {
        for ([own, other], budget) in sums.into_iter().zip(budgets) {
            if own.1 > 0 && other.1 > 0 {
                println!(
                    "cross, {named}: of {budget} tokens an own question brings {:.0}, one of another conversation {:.0} ({:.1}%)",
                    own.mean(),
                    other.mean(),
                    100.0 * other.mean() / own.mean().max(1.0)
                );
            }
        }
    }
}

/// For each budget, the tokens that the questions about the conversations in `range` bring: of their own, and of others.
fn sums(
    talks: &[Talk],
    range: std::ops::Range<usize>,
    questions: &[Question],
    budgets: &[u32],
    vectors: Option<&Vectors>,
) -> Vec<[Sum; 2]> {
    let count = data::counter();
    let filter = Filter::default();
    let mut sums = vec![[Sum::default(); 2]; budgets.len()];
    for question in
        questions.iter().filter(|question| talks[range.clone()].iter().any(|talk| talk.session == question.session))
    {
        for talk in talks {
            let own = usize::from(talk.session != question.session);
            let cosines = vectors.map(|vectors| vectors.cosines(talk, vectors.of_question(question)));
            let ask = SearchOptions { cosines: cosines.as_deref(), ..talk.ask(&filter, None) };
            let open = gate::gate(&ask, &question.query).expect("postings are in memory");
            let hits = if open.is_open() { found(talk, &question.query, cosines.as_deref()) } else { Vec::new() };
            let floor = floor(talk, &question.query, cosines.as_deref());
            for (sum, budget) in sums.iter_mut().zip(budgets) {
                sum[own].0 += u64::from(data::filled(talk, &hits, *budget, None, Some(&floor), &count).tokens);
                sum[own].1 += 1;
            }
        }
    }
    sums
}
