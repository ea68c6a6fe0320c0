//! The two loops that a search spends its time in: how many signs differ, and sums of products of whole numbers.
//! Not for: choosing what is compared (`vector`).
//!
//! Both are written so that the compiler turns them into vector instructions that every machine of the kind has; the
//! sums are of whole numbers and therefore the same everywhere.

/// Vectors whose signs stand side by side, word for word.
pub(super) const LANES: usize = 8;

/// How far [`LANES`] vectors are from the question by their signs: one for each sign that differs, three where the
/// question's own value is large (`heavy`), as if it had two bits for each dimension. `block` has for each word of the
/// question the words of all lanes. Counting follows the classic sums in fields (Warren, Hacker's Delight, 5-1).
pub(super) fn differing(block: &[[u64; LANES]], signs: &[u64], heavy: &[u64]) -> [u16; LANES] {
    let mut total = [0_u16; LANES];
    // A word adds at most 24 to a byte.
    for ((block, signs), heavy) in block.chunks(10).zip(signs.chunks(10)).zip(heavy.chunks(10)) {
        let mut bytes = [0_u64; LANES];
        for ((words, sign), heavy) in block.iter().zip(signs).zip(heavy) {
            for (byte, word) in bytes.iter_mut().zip(words) {
                let differ = word ^ sign;
                let nibbles = in_nibbles(differ) + 2 * in_nibbles(differ & heavy);
                *byte += (nibbles & 0x0F0F_0F0F_0F0F_0F0F) + (nibbles >> 4 & 0x0F0F_0F0F_0F0F_0F0F);
            }
        }
        for (total, byte) in total.iter_mut().zip(&bytes) {
            *total += sum_of_bytes(*byte);
        }
    }
    total
}

fn in_nibbles(word: u64) -> u64 {
    let pairs = word - (word >> 1 & 0x5555_5555_5555_5555);
    (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333)
}

/// The sum of eight bytes.
fn sum_of_bytes(bytes: u64) -> u16 {
    let mut sums = (bytes & 0x00FF_00FF_00FF_00FF) + (bytes >> 8 & 0x00FF_00FF_00FF_00FF);
    sums += sums >> 32;
    sums += sums >> 16;
    (sums & 0xFFFF) as u16
}

/// The sum of the products.
pub(super) fn product(query: &[i16], values: &[i8]) -> i32 {
    query.iter().zip(values).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counts_what_differs(words in proptest::collection::vec(any::<[u64; LANES]>(), 1..70), seed in any::<u64>()) {
            let scrambled = |salt: u64| (0..words.len() as u64).map(move |n| (seed ^ salt).wrapping_mul(2 * n + 1)).collect();
            let (signs, heavy): (Vec<u64>, Vec<u64>) = (scrambled(0), scrambled(0xABCD_EF01_2345));
            let found = differing(&words, &signs, &heavy);
            for lane in 0..LANES {
                let count = |word: usize| {
                    let differ = words[word][lane] ^ signs[word];
                    differ.count_ones() + 2 * (differ & heavy[word]).count_ones()
                };
                prop_assert_eq!(u32::from(found[lane]), (0..words.len()).map(count).sum::<u32>());
            }
        }

        #[test]
        fn products_add_up(pairs in proptest::collection::vec((-8191_i16..=8191, any::<i8>()), 0..500)) {
            let (query, values): (Vec<i16>, Vec<i8>) = pairs.iter().copied().unzip();
            let expected: i64 = pairs.iter().map(|(a, b)| i64::from(*a) * i64::from(*b)).sum();
            prop_assert_eq!(i64::from(product(&query, &values)), expected);
        }
    }

    #[test]
    fn the_most_that_can_differ() {
        let found = differing(&[[u64::MAX; LANES]; 256], &[0; 256], &[u64::MAX; 256]);
        assert_eq!(found, [3 * 16_384; LANES]);
    }
}
