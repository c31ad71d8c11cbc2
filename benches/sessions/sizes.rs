//! Latency with a small and a large ledger of sessions.

use super::Plan;
use super::ledger::{self, PER_SESSION, PER_TRACE};
use super::subject::Subject;
use super::support::median;

/// The number of consecutive requests to one server before the other's turn.
const ROUND: usize = 10;

/// The stride between requested sessions, so that neighbours are not read one after the other.
pub const STRIDE: usize = 7919;

#[derive(Clone, Copy)]
pub enum Request {
    History,
    Last,
    Count,
    CountOfPair,
    Trace,
}

impl Request {
    const ALL: [Self; 5] = [
        Self::History,
        Self::Last,
        Self::Count,
        Self::CountOfPair,
        Self::Trace,
    ];

    fn name(self) -> String {
        match self {
            Self::History => format!("history: {PER_SESSION} hand-offs of a session"),
            Self::Last => "last hand-off of a session".to_owned(),
            Self::Count => "count".to_owned(),
            Self::CountOfPair => "count?from=&to=".to_owned(),
            Self::Trace => format!("handoffs?trace=: {PER_TRACE} hand-offs"),
        }
    }

    pub fn path(self, session: usize, nth: usize) -> String {
        let handoffs = format!("/api/sessions/{}/handoffs", ledger::session_id(session));
        match self {
            Self::History => format!("{handoffs}?limit={PER_SESSION}"),
            Self::Last => format!("{handoffs}/last"),
            Self::Count => format!("{handoffs}/count"),
            Self::CountOfPair => {
                let (from, to) = ledger::agents(session, nth);
                format!("{handoffs}/count?from={from}&to={to}")
            }
            Self::Trace => format!(
                "/api/handoffs?trace={}",
                ledger::trace(session, nth % PER_SESSION)
            ),
        }
    }
}

pub async fn run(plan: &Plan, subjects: &mut [Subject; 2]) {
    println!(
        "Median latency of one client, by the number of hand-offs; every request is for another session"
    );
    let [small, large] = [&subjects[0], &subjects[1]].map(|subject| subject.handoffs.to_string());
    println!("{:<36} {small:>12} {large:>12} {:>6}", "", "ratio");
    for request in Request::ALL {
        let mut samples = [Vec::new(), Vec::new()];
        for round in 0..plan.samples / ROUND {
            for (subject, samples) in subjects.iter_mut().zip(&mut samples) {
                for turn in 0..ROUND {
                    let nth = round * ROUND + turn;
                    let path = request.path(nth * STRIDE % subject.sessions(), nth);
                    samples.push(subject.time(&path).await);
                }
            }
        }
        let [small, large] = samples.map(|mut samples| median(&mut samples).as_secs_f64() * 1e6);
        println!(
            "{:<36} {small:>9.0} µs {large:>9.0} µs {:>6.2}",
            request.name(),
            large / small
        );
    }
    println!();
}
