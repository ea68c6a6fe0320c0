//! Encodes a stored vector: rotated, quantized to one byte per dimension with a scale, and written as bytes for the
//! store.
//! Not for: comparing vectors (`scan`) or finding them (`memory`).
//!
//! Every vector is rotated by one fixed rotation (blocks of Walsh–Hadamard transforms with fixed sign changes between
//! them, as in the fast Johnson–Lindenstrauss transform, Ailon & Chazelle 2009). Angles are preserved, but afterward no
//! coordinate dominates because of the model, so that one byte per coordinate loses little precision and the signs
//! alone are informative.

use super::memory::VectorError;

/// The first byte of a stored vector.
const FORMAT: u8 = 1;
/// Bytes before the values: the format and the scale.
const HEADER_BYTES: usize = 5;
/// Rounds of sign changes and transforms.
const ROUNDS: u64 = 3;
/// Maximum dimensions; keeps the sums of [`Query`] within 32 bits.
const MAX_DIMS: usize = 16_384;

/// A stored vector of length 1 (or 0): coordinate `i` of the rotated vector is about `scale * values[i]`.
#[derive(Clone, PartialEq, Debug)]
pub struct Code {
    pub(crate) scale: f32,
    pub(crate) values: Vec<i8>,
}

impl Code {
    /// Rotates and quantizes a vector of any length. The zero vector is stored as zeros and is similar to nothing.
    pub fn of(vector: &[f32]) -> Result<Self, VectorError> {
        let rotated = rotated(vector)?;
        let largest = rotated.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        let step = if largest > 0.0 { largest / 127.0 } else { 0.0 };
        #[allow(clippy::cast_possible_truncation, reason = "at most 127 either way")]
        let round = |value: &f32| if step > 0.0 { (value / step).round() as i8 } else { 0 };
        let values: Vec<i8> = rotated.iter().map(round).collect();
        // The scale at which the quantized vector has cosine 1 with the exact one, so that quantization has no bias
        // along it.
        let like: f64 =
            rotated.iter().zip(&values).map(|(value, rounded)| f64::from(*value) * f64::from(*rounded)).sum();
        #[allow(clippy::cast_possible_truncation, reason = "about the step")]
        let scale = if like > 0.0 { like.recip() as f32 } else { 0.0 };
        Ok(Self { scale, values })
    }

    /// Returns the rotated and quantized values.
    pub fn values(&self) -> &[i8] {
        &self.values
    }

    /// Returns the cosine of two vectors of one model, about -1 to 1; 0 if their dimensions differ.
    pub fn cosine(&self, other: &Self) -> f32 {
        if self.values.len() != other.values.len() {
            return 0.0;
        }
        let products = self.values.iter().zip(&other.values).map(|(a, b)| i32::from(*a) * i32::from(*b));
        products.sum::<i32>() as f32 * self.scale * other.scale
    }

    /// Returns the number of dimensions.
    pub fn dims(&self) -> usize {
        self.values.len()
    }

    /// Returns its bytes for the store, dims + 5: the format, the scale (f32, little-endian), one byte per dimension.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES + self.values.len());
        bytes.push(FORMAT);
        bytes.extend_from_slice(&self.scale.to_le_bytes());
        bytes.extend(self.values.iter().map(|value| value.to_le_bytes()[0]));
        bytes
    }

    /// Reads the bytes of [`Self::encode`].
    pub fn decode(bytes: &[u8]) -> Result<Self, VectorError> {
        let (header, values) = bytes.split_at_checked(HEADER_BYTES).ok_or(VectorError::Damaged("it is too short"))?;
        let [format, scale @ ..] = header else { return Err(VectorError::Damaged("it is too short")) };
        if *format != FORMAT {
            return Err(VectorError::Damaged("its format is unknown"));
        }
        let scale = f32::from_le_bytes(scale.try_into().map_err(|_| VectorError::Damaged("it is too short"))?);
        if !(0.0..=1.0).contains(&scale) {
            return Err(VectorError::Damaged("its scale is out of range"));
        }
        if values.is_empty() || values.len() > MAX_DIMS {
            return Err(VectorError::Size(values.len()));
        }
        Ok(Self { scale, values: values.iter().map(|byte| i8::from_le_bytes([*byte])).collect() })
    }

    /// Returns the signs of the values, 64 per word; a set bit is a negative value.
    pub(crate) fn signs(&self) -> impl Iterator<Item = u64> + '_ {
        self.values.chunks(64).map(|values| word(values, |value| value < 0))
    }
}

/// A question's vector, rotated like the stored ones and quantized more finely.
pub(crate) struct Query {
    pub(crate) scale: f32,
    pub(crate) values: Vec<i16>,
    pub(crate) signs: Vec<u64>,
    /// The dimensions with a large absolute value: above the root mean square, the border of a quantizer with four
    /// uniform steps.
    pub(crate) heavy: Vec<u64>,
}

impl Query {
    /// Rotates and quantizes a question's vector; `None` for the zero vector, which is similar to nothing.
    pub(crate) fn of(vector: &[f32]) -> Result<Option<Self>, VectorError> {
        let rotated = rotated(vector)?;
        let largest = rotated.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        if largest <= 0.0 {
            return Ok(None);
        }
        // Sums of products with bytes must fit in 31 bits.
        let finest = u16::try_from(i32::MAX / 127 / i32::try_from(rotated.len()).unwrap_or(i32::MAX)).unwrap_or(8191);
        let step = largest / f32::from(finest.min(8191));
        #[allow(clippy::cast_possible_truncation, reason = "at most 8191 either way")]
        let values = rotated.iter().map(|value| (value / step).round() as i16).collect();
        let border = (rotated.len() as f32).sqrt().recip();
        let (signs, heavy) = (bits(&rotated, |value| value < 0.0), bits(&rotated, |value| value.abs() > border));
        Ok(Some(Self { scale: step, values, signs, heavy }))
    }
}

/// Packs one bit per value, 64 per word, the first value in the lowest bit.
fn bits<T: Copy>(values: &[T], is: impl Fn(T) -> bool) -> Vec<u64> {
    values.chunks(64).map(|values| word(values, &is)).collect()
}

fn word<T: Copy>(values: &[T], is: impl Fn(T) -> bool) -> u64 {
    values.iter().enumerate().fold(0, |word, (at, value)| word | (u64::from(is(*value)) << at))
}

/// Returns the vector scaled to length 1 and rotated; zeros for a zero vector.
fn rotated(vector: &[f32]) -> Result<Vec<f32>, VectorError> {
    if vector.is_empty() || vector.len() > MAX_DIMS {
        return Err(VectorError::Size(vector.len()));
    }
    if vector.iter().any(|value| !value.is_finite()) {
        return Err(VectorError::NotANumber);
    }
    let length = vector.iter().map(|value| f64::from(*value) * f64::from(*value)).sum::<f64>().sqrt();
    if length <= 0.0 {
        return Ok(vec![0.0; vector.len()]);
    }
    #[allow(clippy::cast_possible_truncation, reason = "at most 1 either way")]
    let mut rotated: Vec<f32> = vector.iter().map(|value| (f64::from(*value) / length) as f32).collect();
    rotate(&mut rotated);
    Ok(rotated)
}

/// Rotates the values in place. If the number of dimensions is not a power of two, the transform covers the beginning,
/// then the end.
fn rotate(values: &mut [f32]) {
    let block = if values.len().is_power_of_two() { values.len() } else { values.len().next_power_of_two() / 2 };
    let tail = values.len() - block;
    for round in 0..ROUNDS {
        change_signs(values, round);
        hadamard(&mut values[..block]);
        if tail > 0 {
            hadamard(&mut values[tail..]);
        }
    }
}

fn change_signs(values: &mut [f32], round: u64) {
    for (word, values) in (0_u64..).zip(values.chunks_mut(64)) {
        let bits = mixed_bits((round << 32) | word);
        for (at, value) in values.iter_mut().enumerate() {
            *value = f32::from_bits(value.to_bits() ^ (((bits >> at & 1) as u32) << 31));
        }
    }
}

/// Returns the output of the `SplitMix64` function (Steele, Lea & Flood 2014).
fn mixed_bits(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Applies the orthonormal Walsh–Hadamard transform in place; the number of values must be a power of two.
fn hadamard(values: &mut [f32]) {
    let mut half = 1;
    while half < values.len() {
        for pair in values.chunks_exact_mut(2 * half) {
            let (low, high) = pair.split_at_mut(half);
            for (a, b) in low.iter_mut().zip(high) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
    let scale = (values.len() as f32).sqrt().recip();
    for value in values {
        *value *= scale;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dot(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    proptest! {
        #[test]
        fn rotation_keeps_angles(pair in (1_usize..700).prop_flat_map(|dims| {
            let one = || proptest::collection::vec(-1.0_f32..1.0, dims);
            (one(), one())
        })) {
            let (a, b) = pair;
            let before = dot(&a, &b) / (dot(&a, &a).sqrt() * dot(&b, &b).sqrt()).max(1e-9);
            let (a, b) = (rotated(&a).unwrap(), rotated(&b).unwrap());
            prop_assert!((dot(&a, &b) - before).abs() < 1e-4);
        }

        #[test]
        fn bytes_round_trip(values in proptest::collection::vec(-1e30_f32..1e30, 1..400)) {
            let code = Code::of(&values).unwrap();
            let bytes = code.encode();
            prop_assert_eq!(bytes.len(), values.len() + 5);
            prop_assert_eq!(Code::decode(&bytes).unwrap(), code);
        }

        #[test]
        fn any_bytes_decode_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(code) = Code::decode(&bytes) {
                prop_assert!(code.scale.is_finite() && code.dims() > 0);
            }
        }
    }

    #[test]
    fn rounding_loses_little() {
        for dims in [384, 768, 1000] {
            let vector: Vec<f32> =
                (0..dims).map(|at| f32::from(i8::from_le_bytes([mixed_bits(at).to_le_bytes()[0]]))).collect();
            let (exact, code) = (rotated(&vector).unwrap(), Code::of(&vector).unwrap());
            let rounded: Vec<f32> = code.values.iter().map(|value| f32::from(*value) * code.scale).collect();
            assert!((dot(&exact, &rounded) - 1.0).abs() < 1e-3, "{dims}");
        }
    }

    #[test]
    fn a_single_spike_is_spread() {
        let mut vector = vec![0.0; 384];
        vector[17] = 1.0;
        let rotated = rotated(&vector).unwrap();
        assert!(rotated.iter().all(|value| value.abs() < 0.25), "{rotated:?}");
    }

    #[test]
    fn invalid_vectors_are_refused() {
        assert!(matches!(Code::of(&[]), Err(VectorError::Size(0))));
        assert!(matches!(Code::of(&[1.0, f32::NAN]), Err(VectorError::NotANumber)));
        assert!(matches!(Code::of(&[f32::INFINITY]), Err(VectorError::NotANumber)));
        assert_eq!(Code::of(&[0.0; 70]).unwrap().values, vec![0; 70]);
        assert!(Query::of(&[0.0; 70]).unwrap().is_none());
        for bytes in [&[][..], &[1, 0, 0, 0], &[2, 0, 0, 0, 0, 7], &[1, 0, 0, 0xC0, 0x7F, 7], &[1, 0, 0, 0, 0]] {
            assert!(Code::decode(bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn the_rotation_never_changes() {
        let vector: Vec<f32> = (1_u8..=6).map(f32::from).collect();
        assert_eq!(Code::of(&vector).unwrap().values, [-127, 91, -43, -89, 38, 43]);
    }

    #[test]
    fn signs_and_large_values_are_bits() {
        let spike = Query::of(&[0.0, 3.0, 0.0, 0.0]).unwrap().unwrap();
        assert_eq!(
            (spike.values.len(), spike.heavy.as_slice()),
            (4, &[0_u64][..]),
            "all are the root of the mean square"
        );
        assert_eq!(
            spike.signs[0].count_ones(),
            u32::try_from(spike.values.iter().filter(|value| **value < 0).count()).unwrap()
        );
        assert!(spike.values.iter().all(|value| value.abs() == 8191));
        assert_eq!(bits(&[1, -1, -1, 0], |value| value < 0), [0b0110]);
        let wide: Vec<i32> = (0..130).map(|at| if at % 64 == 1 { -1 } else { 1 }).collect();
        assert_eq!(bits(&wide, |value| value < 0), [2, 2, 2]);
        let vector: Vec<f32> = (0..300_i16).map(|at| f32::from(at % 17) - 6.5).collect();
        let (query, exact) = (Query::of(&vector).unwrap().unwrap(), rotated(&vector).unwrap());
        let border = 1.0 / 300.0_f32.sqrt();
        for (at, value) in exact.iter().enumerate() {
            let bit = |words: &[u64]| words[at / 64] >> (at % 64) & 1 == 1;
            assert_eq!((bit(&query.signs), bit(&query.heavy)), (*value < 0.0, value.abs() > border), "{at}");
            assert!((f32::from(query.values[at]) * query.scale - value).abs() <= query.scale * 0.51, "{at}");
        }
    }
}
