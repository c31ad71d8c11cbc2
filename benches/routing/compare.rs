//! Lists of ready tasks, and routed tasks, compared with another build.

use super::Plan;
use super::ready::{self, FIRST_PAGE, FIRST_PAGE_FOR_AGENT, SMALL};
use super::routed::{self, CLIENTS, Choice};
use super::support::compare::{self, Comparison, Unit, clients};
use super::support::reads::Reads;
use super::support::server::Server;

pub async fn run(plan: &Plan, comparison: &Comparison) {
    let [this, other] = comparison.programs();
    let mut ledgers = Vec::new();
    for tasks in [SMALL, plan.tasks.max(SMALL)] {
        let pair = [
            ready::Subject::start(this, tasks).await,
            ready::Subject::start(other, tasks).await,
        ];
        ledgers.push((tasks, pair));
    }
    comparison.print_header("Routing");
    for (tasks, mut pair) in ledgers {
        for (name, path) in [
            ("GET 100 ready tasks", FIRST_PAGE),
            ("GET 100 for an agent", FIRST_PAGE_FOR_AGENT),
        ] {
            let name = format!("{name}, {tasks} tasks");
            let reads = Reads::of([path.to_owned()]);
            let measure = async |subject: &mut ready::Subject| {
                let server = subject.server.address;
                reads.per_second(server, 1, comparison.window).await
            };
            comparison
                .row(&name, Unit::PerSecond, &mut pair, measure)
                .await;
        }
    }
    let mut pair = comparison.programs().map(routed::Subject::start);
    for count in CLIENTS {
        let name = format!("tasks routed and completed, {}", clients(count));
        let measure = async |subject: &mut routed::Subject| {
            subject.rate(plan.compared, count, Choice::Routed).await
        };
        comparison
            .row(&name, Unit::PerSecond, &mut pair, measure)
            .await;
    }
    println!();
}

impl compare::Subject for ready::Subject {
    fn server(&mut self) -> &mut Server {
        &mut self.server
    }
}

impl compare::Subject for routed::Subject {
    fn server(&mut self) -> &mut Server {
        &mut self.server
    }
}
