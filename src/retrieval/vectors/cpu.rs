//! Runs a loop with the widest instructions of this machine, chosen at run time.
//! Not for: the loops (`scan`).

use pulp::NullaryFnOnce;

#[cfg(target_arch = "x86_64")]
pulp::simd_type! {
    /// Processors with vector population count (since Ice Lake and Zen 4).
    struct Counting {
        pub popcnt: "popcnt",
        pub avx: "avx",
        pub avx2: "avx2",
        pub bmi1: "bmi1",
        pub bmi2: "bmi2",
        pub lzcnt: "lzcnt",
        pub avx512f: "avx512f",
        pub avx512bw: "avx512bw",
        pub avx512dq: "avx512dq",
        pub avx512vl: "avx512vl",
        pub avx512vpopcntdq: "avx512vpopcntdq",
    }
}

/// Runs the work. Only code that is inlined into `call` is compiled for newer processors.
pub(crate) fn run<W: NullaryFnOnce>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(counting) = Counting::try_new() {
        return counting.vectorize(work);
    }
    pulp::Arch::new().dispatch(work)
}
