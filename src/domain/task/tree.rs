//! Trees: families of tasks with their hand-offs.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::id::TaskId;
use super::status::Status;
use crate::domain::{
    AgentName, AskedHandoff, Door, HandoffId, LiveHandoff, Outcome, Text, Timestamp,
};

/// A task with its hand-offs and child tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskTree {
    /// The id of the task.
    pub id: TaskId,
    /// The description of the task.
    pub description: Text,
    /// The status of the task.
    pub status: Status,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The agent that works on the task now.
    #[schema(required)]
    pub current_agent: Option<AgentName>,
    /// The hand-offs in order.
    pub handoffs: Vec<TreeHandoff>,
    /// The child tasks, oldest first.
    #[schema(no_recursion)]
    pub children: Vec<Self>,
    /// The number of descendants that are not shown because the tree is too large.
    #[serde(default)]
    #[schema(required)]
    pub omitted: u64,
}

/// A hand-off in a tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TreeHandoff {
    /// The id of the hand-off.
    pub id: HandoffId,
    /// The agent that works, or worked.
    pub agent_name: AgentName,
    /// The agent that handed off, or the agent whose work a routed hand-off continues; null if there is none.
    #[schema(required)]
    pub from_agent: Option<AgentName>,
    /// The way in which the hand-off was started.
    pub mode: Door,
    /// The start time.
    pub started_at: Timestamp,
    /// The end time.
    #[schema(required)]
    pub completed_at: Option<Timestamp>,
    /// The outcome.
    #[schema(required)]
    pub outcome: Option<Outcome>,
    /// The cost in US dollars.
    #[schema(required)]
    pub cost_usd: Option<f64>,
    /// The present state; null after the end.
    #[serde(default)]
    #[schema(required)]
    pub live: Option<LiveHandoff>,
    /// The hand-offs that the agent asked for, and whose answers it had not got when it ended.
    #[serde(default)]
    #[schema(required)]
    pub unanswered_handoffs: Vec<AskedHandoff>,
}

/// The nesting limit of a tree. Every JSON parser can read it.
const DEEPEST: usize = 40;

impl TaskTree {
    /// Builds a tree from tasks with their parents, parents first. Tasks below the nesting limit are only counted.
    pub fn build(mut tasks: Vec<(Option<TaskId>, Self)>) -> Option<Self> {
        let depths = depths(&tasks);
        // Backwards, so that a task has all its children before it is moved into its parent.
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

/// Returns the depth of each task; the root has depth 1.
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
    fn children_are_below_their_parents_oldest_first() {
        let child = |parent: &str, id: &str| (Some(TaskId::parse(parent).unwrap()), task(id));
        let tree = TaskTree::build(vec![
            (None, task("a")),
            child("a", "b"),
            child("a", "c"),
            child("b", "d"),
            child("b", "e"),
            child("c", "f"),
        ]);
        assert_eq!(shape(&tree.unwrap()), "a(b(d() e()) c(f()))");
        assert!(TaskTree::build(Vec::new()).is_none());
    }

    #[test]
    fn tasks_below_the_limit_are_counted() {
        let id = |number: usize| TaskId::parse(format!("t{number}")).unwrap();
        let tasks = (0..100).map(|number: usize| {
            let parent = number.checked_sub(1).map(id);
            (parent, task(id(number).as_str()))
        });
        let tree = TaskTree::build(tasks.collect()).unwrap();
        let (mut deepest, mut depth) = (&tree, 1);
        while let Some(child) = deepest.children.first() {
            (deepest, depth) = (child, depth + 1);
        }
        assert_eq!((depth, deepest.omitted), (DEEPEST, 60));
        let json = serde_json::to_string(&tree).unwrap();
        assert_eq!(serde_json::from_str::<TaskTree>(&json).unwrap(), tree);
    }
}
