//! Analytics over a small and a large ledger.

use super::Plan;
use super::ledger::PER_SESSION;
use super::subject::Subject;
use super::support::median;

const PATH: &str = "/api/analytics/handoffs";

pub async fn run(plan: &Plan, subjects: &mut [Subject; 2]) {
    println!("Median latency of the analytics, by the number of aggregated hand-offs");
    println!(
        "{:<36} {:>12} {:>12} {:>12} {:>14}",
        "", "stored", "aggregated", "latency", "÷ hand-off"
    );
    for subject in subjects {
        let since = format!("{PATH}?since={}", subject.last_round_at);
        let asked = [
            ("all", PATH, subject.handoffs),
            ("since=", &since, subject.handoffs / PER_SESSION),
        ];
        for (name, path, handoffs) in asked {
            let mut samples = Vec::new();
            for _ in 0..plan.rounds {
                samples.push(subject.time(path).await);
            }
            let latency = median(&mut samples).as_secs_f64();
            let handoffs = u32::try_from(handoffs).expect("the plan has fewer hand-offs");
            println!(
                "{name:<36} {:>12} {handoffs:>12} {:>9.1} ms {:>11.2} µs",
                subject.handoffs,
                latency * 1e3,
                latency * 1e6 / f64::from(handoffs)
            );
        }
    }
    println!();
}
