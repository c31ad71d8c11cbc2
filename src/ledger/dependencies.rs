//! The table `task_dependencies`: what a task waits for. Triggers keep how much of that is not met.

use std::collections::{HashMap, VecDeque};

use crate::domain::{Dependency, DependencyOutcome, EventKind, Problems, Refusal, TaskId};
use crate::ledger::{history, task};
use crate::store::tables::tasks::{self, StoredTask};
use crate::store::{Result, StoreError, Tx, params, sql};

/// Checks that everything is there that a task is to wait for.
pub(crate) fn check_known(tx: &Tx<'_>, depends_on: &[Dependency]) -> Result<()> {
    for Dependency { task_id, .. } in depends_on {
        task::keys(tx, task_id).map_err(|error| match error {
            StoreError::Refused(Refusal::TaskNotFound(id)) => {
                let mut problems = Problems::default();
                problems.add("dependsOn", format!("there is no task {id}"));
                Refusal::Invalid(problems).into()
            }
            error => error,
        })?;
    }
    Ok(())
}

/// Inserts what a task waits for. What is not there is left out.
pub(crate) fn insert_all(tx: &Tx<'_>, task_number: i64, depends_on: &[Dependency]) -> Result<()> {
    for (position, dependency) in (1_i64..).zip(depends_on) {
        tx.execute(
            sql!(
                "INSERT INTO task_dependencies (task_number, position, depends_on_number, outcome)
                 SELECT $1, $2, number, $3 FROM tasks WHERE id = $4 AND number <> $1"
            ),
            params![
                task_number,
                position,
                dependency.outcome.as_str(),
                dependency.task_id.as_str()
            ],
        )?;
    }
    Ok(())
}

/// Sets what a task waits for.
pub(crate) fn replace(tx: &Tx<'_>, task_number: i64, depends_on: &[Dependency]) -> Result<()> {
    tx.execute(
        sql!("DELETE FROM task_dependencies WHERE task_number = $1"),
        params![task_number],
    )?;
    insert_all(tx, task_number, depends_on)
}

/// Refuses that a task waits for itself, and names the way around.
pub(crate) fn check_no_cycle(
    tx: &Tx<'_>,
    task_number: i64,
    id: &TaskId,
    depends_on: &[Dependency],
) -> Result<()> {
    let is_itself = |dependency: &Dependency| dependency.task_id == *id;
    let is_waited_for = tx.row(
        sql!("SELECT 1 FROM task_dependencies WHERE depends_on_number = $1 LIMIT 1"),
        params![task_number],
        |_| Ok(()),
    )?;
    // No way leads back to what nobody waits for.
    if is_waited_for.is_none() && !depends_on.iter().any(is_itself) {
        return Ok(());
    }
    match find_cycle(tx, id, depends_on)? {
        None => Ok(()),
        Some(cycle) => Err(Refusal::DependencyCycle(cycle).into()),
    }
}

/// Finds the shortest way from what a task is to wait for back to it.
fn find_cycle(tx: &Tx<'_>, id: &TaskId, depends_on: &[Dependency]) -> Result<Option<Vec<TaskId>>> {
    let mut came_from: HashMap<TaskId, TaskId> = HashMap::new();
    let mut line = VecDeque::new();
    for Dependency { task_id, .. } in depends_on {
        if came_from.insert(task_id.clone(), id.clone()).is_none() {
            line.push_back(task_id.clone());
        }
    }
    while let Some(next) = line.pop_front() {
        if next == *id {
            return Ok(Some(way_back(id, &came_from)));
        }
        for target in targets(tx, &next)? {
            if !came_from.contains_key(&target) {
                came_from.insert(target.clone(), next.clone());
                line.push_back(target);
            }
        }
    }
    Ok(None)
}

fn way_back(id: &TaskId, came_from: &HashMap<TaskId, TaskId>) -> Vec<TaskId> {
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

/// Lists what a task waits for.
fn targets(tx: &Tx<'_>, id: &TaskId) -> Result<Vec<TaskId>> {
    tx.rows(
        sql!(
            "SELECT o.id FROM tasks t
               JOIN task_dependencies d ON d.task_number = t.number
               JOIN tasks o ON o.number = d.depends_on_number
              WHERE t.id = $1"
        ),
        params![id.as_str()],
        |row| row.parsed(0),
    )
}

/// Lets those that wait for the good end of a task wait for that of another one, which takes its place. Those that do not wait now
/// may do so again; only stages of the same increment that have ended belong to the round that is over.
pub(crate) fn move_waiters(tx: &mut Tx<'_>, from_number: i64, to: &StoredTask) -> Result<()> {
    let waiters = tx.rows(
        sql!(
            "SELECT d.task_number, d.position, t.id FROM task_dependencies d JOIN tasks t ON t.number = d.task_number
              WHERE d.depends_on_number = $1 AND d.outcome = 'completed'
                AND (t.status = 'pending' OR t.increment_number IS NOT (SELECT increment_number FROM tasks WHERE number = $1))"
        ),
        params![from_number],
        |row| Ok((row.integer(0)?, row.integer(1)?, row.parsed(2)?)),
    )?;
    let successor = [Dependency {
        task_id: to.task.id.clone(),
        outcome: DependencyOutcome::Completed,
    }];
    for (task_number, position, id) in waiters {
        // Whoever the successor itself waits for cannot wait for it.
        if find_cycle(tx, &id, &successor)?.is_some() {
            continue;
        }
        tx.execute(
            sql!("DELETE FROM task_dependencies WHERE task_number = $1 AND position = $2"),
            params![task_number, position],
        )?;
        tx.execute(
            sql!(
                "INSERT INTO task_dependencies (task_number, position, depends_on_number, outcome) VALUES ($1, $2, $3, $4)"
            ),
            params![
                task_number,
                position,
                to.number,
                DependencyOutcome::Completed.as_str()
            ],
        )?;
        tasks::touch(tx, task_number)?;
        let changed = vec!["dependsOn"];
        let place = task::keys(tx, &id)?;
        history::record(tx, place.on(&id), None, EventKind::TaskUpdated { changed })?;
    }
    Ok(())
}
