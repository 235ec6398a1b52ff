//! Numbers that depend on nothing but a seed: the same on every machine and in every version.
//!
//! The generator is SplitMix64 (Steele, Lea and Flood, 2014). Every sample draws from streams of its
//! own, so its rollout side and its train side can be made apart, in any order and on any thread.
//! Only operations that IEEE 754 rounds exactly are used here and by the callers: no `exp`, no `ln`.

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

/// What a stream is for; two purposes never share numbers.
#[derive(Debug, Clone, Copy)]
pub(super) enum Purpose {
    /// The problem that a prompt poses.
    Prompt,
    /// What becomes of a sample: reward, length, versions.
    Outcome,
    /// The words of a response.
    Text,
    /// Log-probabilities of the engine.
    Rollout,
    /// What the trainer computed.
    Train,
    /// How long things last, and what is measured meanwhile.
    Telemetry,
}

impl Random {
    /// The stream of one purpose and the numbers that name its owner.
    pub(super) fn new(seed: u64, purpose: Purpose, owner: [u64; 2]) -> Self {
        let mut state = Self(seed).next();
        for part in [purpose as u64, owner[0], owner[1]] {
            state = Self(state ^ part).next();
        }
        Self(state)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1), with the 24 bits that a float32 holds exactly.
    pub(super) fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u32 << 24) as f32
    }

    /// Below `n`, which is not 0. The bias of the multiplication is under 2^-32.
    pub(super) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// True with probability `p`.
    pub(super) fn chance(&mut self, p: f32) -> bool {
        self.unit() < p
    }

    /// About normal, mean 0 and standard deviation 1, within ±3.5: the sum of four uniform numbers.
    pub(super) fn normal(&mut self) -> f32 {
        let bits = self.next();
        let sum: u64 = [0, 16, 32, 48].iter().map(|shift| (bits >> shift) & 0xffff).sum();
        // The sum's mean is 2 × 65535 and its standard deviation 65536 / sqrt(3).
        (sum as f32 - 131_070.0) * (1.732_050_8 / 65536.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_never_change_between_versions() {
        let mut random = Random::new(0, Purpose::Text, [1, 2]);
        let first = random.next();
        assert_eq!(first, Random::new(0, Purpose::Text, [1, 2]).next());
        assert_ne!(first, Random::new(0, Purpose::Text, [2, 1]).next());
        assert_ne!(first, Random::new(0, Purpose::Train, [1, 2]).next());
        // The reference values of SplitMix64 for seed 1234567.
        let mut known = Random(1_234_567);
        assert_eq!(known.next(), 6_457_827_717_110_365_317);
        assert_eq!(known.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn the_normal_numbers_have_mean_zero_and_deviation_one() {
        let mut random = Random(7);
        let values: Vec<f32> = (0..20_000).map(|_| random.normal()).collect();
        let mean = values.iter().sum::<f32>() / 20_000.0;
        let variance = values.iter().map(|v| v * v).sum::<f32>() / 20_000.0;
        assert!(mean.abs() < 0.03, "{mean}");
        assert!((variance - 1.0).abs() < 0.05, "{variance}");
    }
}
