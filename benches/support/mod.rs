//! What the benchmarks share.

pub mod compare;
pub mod fill;
pub mod http;
pub mod memory;
pub mod reads;
pub mod server;
pub mod settings;

/// Returns the value in the middle.
pub fn median<T: Copy + PartialOrd>(values: &mut [T]) -> T {
    percentile(values, 50)
}

/// Returns the value that so many percent of all do not exceed.
pub fn percentile<T: Copy + PartialOrd>(values: &mut [T], percent: usize) -> T {
    values.sort_unstable_by(|a, b| a.partial_cmp(b).expect("durations and rates have an order"));
    values[(values.len() - 1) * percent / 100]
}

/// Returns the nearest number that is at least one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sizes are small and positive"
)]
pub fn whole(size: f64) -> usize {
    size.round().max(1.0) as usize
}
