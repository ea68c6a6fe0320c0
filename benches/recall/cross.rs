//! Results of questions asked of other conversations, compared with results from their own. The floor was tuned on the
//! first three of five conversations. The figures of the others are printed separately; they were seen during tuning
//! too.

use super::data::{self, Question, Talk};
use super::{floor, found};
use pleach::retrieval::gate;
use pleach::retrieval::scope::Filter;

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
pub fn print(talks: &[Talk], questions: &[Question], budgets: &[u32]) {
    let count = data::counter();
    let filter = Filter::default();
    for (named, range) in
        [("tuned on", 0..TUNED.min(talks.len())), ("not tuned on", TUNED.min(talks.len())..talks.len())]
    {
        let mut sums = vec![[Sum::default(); 2]; budgets.len()];
        for question in
            questions.iter().filter(|question| talks[range.clone()].iter().any(|talk| talk.session == question.session))
        {
            for talk in talks {
                let own = usize::from(talk.session != question.session);
                let open = gate::gate(&talk.ask(&filter, None), &question.query).expect("postings are in memory");
                let hits = if open.is_open() { found(talk, &question.query, None) } else { Vec::new() };
                let floor = floor(talk, &question.query, None);
                for (sum, budget) in sums.iter_mut().zip(budgets) {
                    sum[own].0 += u64::from(data::filled(talk, &hits, *budget, None, Some(&floor), &count).tokens);
                    sum[own].1 += 1;
                }
            }
        }
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
