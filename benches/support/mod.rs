//! Shared parts of the benchmarks.

pub mod compare;
pub mod fill;
pub mod http;
pub mod memory;
pub mod reads;
pub mod server;
pub mod settings;

pub fn median<T: Copy + PartialOrd>(values: &mut [T]) -> T {
    percentile(values, 50)
}

pub fn percentile<T: Copy + PartialOrd>(values: &mut [T], percent: usize) -> T {
    values.sort_unstable_by(|a, b| a.partial_cmp(b).expect("durations and rates have an order"));
    values[(values.len() - 1) * percent / 100]
}

/// Rounds to an integer of at least 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sizes are small and positive"
)]
pub fn whole(size: f64) -> usize {
    size.round().max(1.0) as usize
}
