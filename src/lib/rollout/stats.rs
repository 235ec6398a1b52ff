//! Masked statistics of per-token series: float32 in, float64 sums, float32 out.
//!
//! A NaN or infinity among the selected values makes the statistic missing rather than hiding.

/// Which positions count.
#[derive(Debug, Clone, Copy)]
pub(super) enum Mask<'a> {
    /// All of them.
    All,
    /// Those above 0.
    Above0(&'a [i32]),
}

impl<'a> Mask<'a> {
    /// A mask that selects everything is not worth looking at again.
    pub fn new(values: Option<&'a [i32]>) -> Self {
        match values {
            Some(v) if !v.iter().all(|&m| m > 0) => Self::Above0(v),
            _ => Self::All,
        }
    }

    fn count(self, len: usize) -> usize {
        match self {
            Self::All => len,
            Self::Above0(m) => m.iter().filter(|&&m| m > 0).count(),
        }
    }
}

/// Mean and maximum of the selected values after `f`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct MeanMax {
    pub mean: Option<f32>,
    pub max: Option<f32>,
}

/// Independent partial sums: floating-point addition has latency, not throughput, in its way.
const LANES: usize = 8;

/// Sums `f` of the positions, 0 for those that the mask leaves out, and tracks the maximum.
fn fold(len: usize, mask: Mask<'_>, f: impl Fn(usize) -> f32) -> (f64, f32) {
    let mut sums = [0f64; LANES];
    let mut tops = [f32::NEG_INFINITY; LANES];
    let mut add = |i: usize, selected: bool| {
        let x = f(i);
        let lane = i % LANES;
        sums[lane] += if selected { f64::from(x) } else { 0.0 };
        // NaN compares as not greater; the sum carries it.
        tops[lane] = if selected && x > tops[lane] { x } else { tops[lane] };
    };
    match mask {
        Mask::All => (0..len).for_each(|i| add(i, true)),
        Mask::Above0(m) => m.iter().take(len).enumerate().for_each(|(i, &m)| add(i, m > 0)),
    }
    (sums.iter().sum(), tops.iter().copied().fold(f32::NEG_INFINITY, f32::max))
}

/// Mean and maximum of `f(i)` over the selected of `len` positions.
pub(super) fn mean_max(len: usize, mask: Mask<'_>, f: impl Fn(usize) -> f32) -> MeanMax {
    let n = mask.count(len);
    if n == 0 {
        return MeanMax::default();
    }
    let (sum, max) = fold(len, mask, f);
    if !sum.is_finite() {
        return MeanMax::default();
    }
    MeanMax { mean: Some((sum / n as f64) as f32), max: Some(max) }
}

/// Standard deviation with n - 1 of the selected values; missing for fewer than two.
pub(super) fn std(values: &[f32], mask: Mask<'_>) -> Option<f32> {
    let n = mask.count(values.len());
    if n < 2 {
        return None;
    }
    let (sum, _) = fold(values.len(), mask, |i| values[i]);
    let mean = sum / n as f64;
    let square = |x: f32| (f64::from(x) - mean).powi(2);
    let squares: f64 = match mask {
        Mask::All => values.iter().map(|&x| square(x)).sum(),
        Mask::Above0(m) => values.iter().zip(m).filter(|&(_, &m)| m > 0).map(|(&x, _)| square(x)).sum(),
    };
    let std = (squares / (n - 1) as f64).sqrt();
    std.is_finite().then_some(std as f32)
}

/// Mean of float64 values; `None` for none.
pub(super) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut n) = (0.0, 0u64);
    for x in values {
        sum += x;
        n += 1;
    }
    (n > 0).then(|| sum / n as f64)
}

/// Standard deviation with n - 1 of float64 values; `None` for fewer than two.
pub(super) fn std_f64(values: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let average = mean(values.clone())?;
    let (mut sum, mut n) = (0.0, 0u64);
    for x in values {
        sum += (x - average).powi(2);
        n += 1;
    }
    (n > 1).then(|| (sum / (n - 1) as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_selected_positions_count() {
        let x = [1.0f32, f32::NAN, 3.0, 100.0];
        let m = [1, 0, 1, 0];
        let got = mean_max(4, Mask::new(Some(&m)), |i| x[i]);
        assert_eq!(got, MeanMax { mean: Some(2.0), max: Some(3.0) });
        assert_eq!(std(&x, Mask::new(Some(&m))), Some(2f32.sqrt()));
    }

    #[test]
    fn an_empty_selection_is_missing() {
        assert_eq!(mean_max(2, Mask::new(Some(&[0, 0])), |_| 1.0), MeanMax::default());
        assert_eq!(mean_max(0, Mask::All, |_| 1.0), MeanMax::default());
        assert_eq!(std(&[1.0], Mask::All), None);
    }

    #[test]
    fn a_nan_that_counts_is_not_hidden() {
        let x = [1.0f32, f32::NAN];
        assert_eq!(mean_max(2, Mask::All, |i| x[i]), MeanMax::default());
        assert_eq!(std(&x, Mask::All), None);
    }

    #[test]
    fn the_spread_of_a_constant_is_zero() {
        assert_eq!(std(&[0.1; 1000], Mask::All), Some(0.0));
    }
}
