//! Trees: a family of tasks with their hand-offs.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::id::TaskId;
use super::status::Status;
use crate::domain::{AgentName, Door, HandoffId, Outcome, Text, Timestamp};

/// A task with who worked on it, and the tasks that came from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskTree {
    /// The task.
    pub id: TaskId,
    /// What is to be done.
    pub description: Text,
    /// Where it stands.
    pub status: Status,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who works on it now.
    #[schema(required)]
    pub current_agent: Option<AgentName>,
    /// Who worked on it, in order.
    pub handoffs: Vec<TreeHandoff>,
    /// The tasks that came from it, oldest first.
    #[schema(no_recursion)]
    pub children: Vec<Self>,
    /// How many tasks came from it, or from what came from it, that are not shown because the chain is too large.
    #[serde(default)]
    #[schema(required)]
    pub omitted: u64,
}

/// An entry of an agent chain, in a tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TreeHandoff {
    /// The hand-off.
    pub id: HandoffId,
    /// Who was asked.
    pub agent_name: AgentName,
    /// Who asked, if an agent did.
    #[schema(required)]
    pub from_agent: Option<AgentName>,
    /// Which door it came through.
    pub mode: Door,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ended.
    #[schema(required)]
    pub completed_at: Option<Timestamp>,
    /// How it ended.
    #[schema(required)]
    pub outcome: Option<Outcome>,
    /// What it cost, in US dollars.
    #[schema(required)]
    pub cost_usd: Option<f64>,
}

/// How many tasks deep a tree is shown: what every reader of JSON can read.
const DEEPEST: usize = 40;

impl TaskTree {
    /// Puts a tree together from its tasks, each with its parent, parents first. What is too deep is only counted.
    pub fn grow(mut tasks: Vec<(Option<TaskId>, Self)>) -> Option<Self> {
        let depths = depths(&tasks);
        // From the last to the first: whatever came from a task is complete before the task is hung below its parent.
        while tasks.len() > 1 {
            let place = tasks.len() - 1;
            let (parent_id, mut task) = tasks.pop()?;
            task.children.reverse();
            let is_parent = |(_, other): &&mut (_, Self)| Some(&other.id) == parent_id.as_ref();
            if let Some((_, parent)) = tasks.iter_mut().find(is_parent) {
                if depths[place] > DEEPEST {
                    parent.omitted += 1 + task.omitted;
                } else {
                    parent.children.push(task);
                }
            }
        }
        tasks.pop().map(|(_, mut root)| {
            root.children.reverse();
            root
        })
    }
}

/// Counts, for each task, the tasks from the first to it.
fn depths(tasks: &[(Option<TaskId>, TaskTree)]) -> Vec<usize> {
    let mut depths: HashMap<&TaskId, usize> = HashMap::new();
    let mut all = Vec::with_capacity(tasks.len());
    for (parent_id, task) in tasks {
        let above = parent_id.as_ref().and_then(|id| depths.get(id));
        let depth = above.map_or(1, |above| above + 1);
        depths.insert(&task.id, depth);
        all.push(depth);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: &str) -> TaskTree {
        TaskTree {
            id: TaskId::parse(id).unwrap(),
            description: Text::default(),
            status: Status::Pending,
            created_at: Timestamp::default(),
            current_agent: None,
            handoffs: Vec::new(),
            children: Vec::new(),
            omitted: 0,
        }
    }

    fn shape(tree: &TaskTree) -> String {
        let children: Vec<_> = tree.children.iter().map(shape).collect();
        format!("{}({})", tree.id, children.join(" "))
    }

    #[test]
    fn children_stand_below_their_parents_oldest_first() {
        let child = |parent: &str, id: &str| (Some(TaskId::parse(parent).unwrap()), task(id));
        let tree = TaskTree::grow(vec![
            (None, task("a")),
            child("a", "b"),
            child("a", "c"),
            child("b", "d"),
            child("b", "e"),
            child("c", "f"),
        ]);
        assert_eq!(shape(&tree.unwrap()), "a(b(d() e()) c(f()))");
        assert!(TaskTree::grow(Vec::new()).is_none());
    }

    #[test]
    fn what_is_too_deep_is_counted() {
        let id = |number: usize| TaskId::parse(format!("t{number}")).unwrap();
        let tasks = (0..100).map(|number: usize| {
            let parent = number.checked_sub(1).map(id);
            (parent, task(id(number).as_str()))
        });
        let tree = TaskTree::grow(tasks.collect()).unwrap();
        let (mut deepest, mut depth) = (&tree, 1);
        while let Some(child) = deepest.children.first() {
            (deepest, depth) = (child, depth + 1);
        }
        assert_eq!((depth, deepest.omitted), (DEEPEST, 60));
        let json = serde_json::to_string(&tree).unwrap();
        assert_eq!(serde_json::from_str::<TaskTree>(&json).unwrap(), tree);
    }
}
