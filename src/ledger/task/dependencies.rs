//! Dependencies between tasks.

use std::collections::{HashMap, VecDeque};

use crate::domain::{
    Dependency, DependencyOutcome, EventKind, Problems, Refusal, TaskId, UnmetDependency,
};
use crate::ledger::history;
use crate::store::tables::task_dependencies;
use crate::store::tables::tasks::{self, StoredTask};
use crate::store::{Result, Tx, View};

use super::find::keys;

/// The limit of dependants of one task. All of them are released in one transaction, and other writes wait for it.
const MOST_DEPENDANTS: u32 = 2000;

/// Refuses dependencies on tasks that do not exist, or that have too many dependants already.
pub fn check_known(view: &View<'_>, depends_on: &[Dependency]) -> Result<()> {
    for Dependency { task_id, .. } in depends_on {
        let problem = match tasks::find_number(view, task_id)? {
            None => format!("task {task_id} does not exist"),
            Some(number)
                if task_dependencies::has_dependants_from(view, number, MOST_DEPENDANTS)? =>
            {
                format!(
                    "{MOST_DEPENDANTS} tasks depend on task {task_id} already; depend on one of them, or on a task between"
                )
            }
            Some(_) => continue,
        };
        let mut problems = Problems::default();
        problems.add("dependsOn", problem);
        return Err(Refusal::Invalid(problems).into());
    }
    Ok(())
}

/// Refuses dependencies that form a cycle, and names the cycle.
pub fn check_no_cycle(
    view: &View<'_>,
    task_number: i64,
    id: &TaskId,
    depends_on: &[Dependency],
) -> Result<()> {
    let is_itself = |dependency: &Dependency| dependency.task_id == *id;
    // A task without dependants is on no cycle.
    if !depends_on.iter().any(is_itself) && !task_dependencies::has_dependants(view, task_number)? {
        return Ok(());
    }
    match find_cycle(view, id, depends_on)? {
        None => Ok(()),
        Some(cycle) => Err(Refusal::DependencyCycle(cycle).into()),
    }
}

/// Finds the shortest path from dependencies of a task back to it, by breadth-first search.
fn find_cycle(
    view: &View<'_>,
    id: &TaskId,
    depends_on: &[Dependency],
) -> Result<Option<Vec<TaskId>>> {
    let mut came_from: HashMap<TaskId, TaskId> = HashMap::new();
    let mut queue = VecDeque::new();
    for Dependency { task_id, .. } in depends_on {
        if came_from.insert(task_id.clone(), id.clone()).is_none() {
            queue.push_back(task_id.clone());
        }
    }
    while let Some(next) = queue.pop_front() {
        if next == *id {
            return Ok(Some(path_back(id, &came_from)));
        }
        for target in task_dependencies::targets(view, &next)? {
            if !came_from.contains_key(&target) {
                came_from.insert(target.clone(), next.clone());
                queue.push_back(target);
            }
        }
    }
    Ok(None)
}

fn path_back(id: &TaskId, came_from: &HashMap<TaskId, TaskId>) -> Vec<TaskId> {
    let mut cycle = vec![id.clone()];
    let mut step = &came_from[id];
    while step != id {
        cycle.push(step.clone());
        step = &came_from[step];
    }
    cycle.push(id.clone());
    cycle.reverse();
    cycle
}

pub fn unmet(view: &View<'_>, task_number: i64) -> Result<Vec<UnmetDependency>> {
    let all = task_dependencies::of_task(view, task_number)?;
    let unmet = all
        .into_iter()
        .filter(|each| !each.outcome.is_met_by(each.status));
    let unmet = unmet.map(|each| UnmetDependency {
        dependency: Dependency {
            task_id: each.task_id,
            outcome: each.outcome,
        },
        status: each.status,
    });
    Ok(unmet.collect())
}

/// Repoints `completed` dependencies on `from_number` to its replacement, also those of tasks that are not pending now. Skips
/// ended stages of the same increment, because they belong to a finished round.
pub fn repoint_dependants(tx: &mut Tx<'_>, from_number: i64, to: &StoredTask) -> Result<()> {
    let replacement = [Dependency {
        task_id: to.task.id.clone(),
        outcome: DependencyOutcome::Completed,
    }];
    for dependant in task_dependencies::dependants_to_repoint(tx, from_number)? {
        // The replacement itself may depend on this task; repointing would form a cycle.
        if find_cycle(tx, &dependant.id, &replacement)?.is_some() {
            continue;
        }
        task_dependencies::repoint(tx, &dependant, to.number)?;
        tasks::touch(tx, dependant.task_number)?;
        let changed = vec!["dependsOn"];
        let keys = keys(tx, &dependant.id)?;
        let updated = EventKind::TaskUpdated { changed };
        history::record(tx, keys.on(&dependant.id), None, updated)?;
    }
    Ok(())
}
