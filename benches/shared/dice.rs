//! Deterministic pseudo-random numbers, and random words with Zipf-distributed frequencies.

const WORDS: f64 = 60_000.0;
/// English stop words.
pub(crate) const STOPS: [&str; 8] = ["the", "what", "did", "you", "about", "and", "is", "of"];

/// Deterministic pseudo-random numbers (`SplitMix64`).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.roll() % end as u64) as usize
    }

    /// A number from 0 to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.roll() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A random word that is not an English one: rank r is r times rarer than rank 1.
    pub(crate) fn word(&mut self) -> String {
        let mut rank = WORDS.powf(self.unit()) as usize;
        let mut word = String::from("q");
        while rank > 0 {
            word.push(char::from(b"bcdfgklmnprtvz"[rank % 14]));
            word.push(char::from(b"aou"[rank / 14 % 3]));
            rank /= 42;
        }
        word
    }

    pub(crate) fn stop(&mut self) -> String {
        STOPS[self.below(STOPS.len())].to_owned()
    }

    /// A text of at least 12 and at most `longest` words, half of them stop words.
    pub(crate) fn text(&mut self, longest: usize) -> String {
        let count = 12 + self.below(longest - 12);
        let word = |dice: &mut Self| if dice.below(2) == 0 { dice.stop() } else { dice.word() };
        (0..count).map(|_| word(self)).collect::<Vec<_>>().join(" ")
    }
}
