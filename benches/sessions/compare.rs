//! Moves of sessions and reads of their histories, compared with another build.

use super::Plan;
use super::sizes::{Request, STRIDE};
use super::subject::{self, Subject as Ledger};
use super::support::compare::{self, Comparison, Unit, clients};
use super::support::reads::Reads;
use super::support::server::Server;
use super::throughput::{CLIENTS, Subject, Work};

/// A ledger of sessions, and the paths of all their histories.
struct Histories {
    ledger: Ledger,
    reads: Reads,
}

pub async fn run(plan: &Plan, comparison: &Comparison) {
    let [this, other] = comparison.programs();
    let mut ledgers = Vec::new();
    for sessions in subject::sizes(plan) {
        ledgers.push([
            Histories::of(Ledger::fill(this, sessions).await),
            Histories::of(Ledger::fill(other, sessions).await),
        ]);
    }
    comparison.print_header("Sessions");
    let window = comparison.window;
    let mut pair = [
        Subject::start(this, Work::Move).await,
        Subject::start(other, Work::Move).await,
    ];
    for count in CLIENTS {
        let name = format!("moves, {}", clients(count));
        let measure = async |subject: &mut Subject| subject.measure(count, window).await;
        comparison
            .row(&name, Unit::PerSecond, &mut pair, measure)
            .await;
    }
    for mut pair in ledgers {
        let name = format!(
            "history of a session, {} hand-offs",
            pair[0].ledger.handoffs
        );
        let measure = async |Histories { ledger, reads }: &mut Histories| {
            reads.per_second(ledger.server.address, 1, window).await
        };
        comparison
            .row(&name, Unit::PerSecond, &mut pair, measure)
            .await;
    }
    println!();
}

impl Histories {
    fn of(ledger: Ledger) -> Self {
        let sessions = ledger.sessions();
        let paths = (0..sessions).map(|nth| Request::History.path(nth * STRIDE % sessions, nth));
        let reads = Reads::of(paths);
        Self { ledger, reads }
    }
}

impl compare::Subject for Subject {
    fn server(&mut self) -> &mut Server {
        &mut self.server
    }
}

impl compare::Subject for Histories {
    fn server(&mut self) -> &mut Server {
        &mut self.ledger.server
    }
}
