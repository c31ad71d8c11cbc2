// The data of a task that several parts show: the task, its hand-offs, and the tree of its family.

import { p } from '../lib/api.js';
import { snapshot } from '../lib/store.js';

/** The task and everything around it that an event can change. @param {string} id */
export const taskOf = (id) => snapshot(p`/api/tasks/${id}`, { concerns: (event) => event.taskId === id && !['message_added', 'run_started'].includes(event.eventType) });

/** The hand-offs of a task. @param {string} id */
export const handoffsOf = (id) => snapshot(p`/api/tasks/${id}/handoffs`, {
  concerns: (event) => event.taskId === id && /^(agent_handoff_|run_|child_task_created|reported|answer)/.test(event.eventType),
});

/** The family below a task. @param {string} id */
export const treeOf = (id) => snapshot(p`/api/tasks/${id}/tree`, {
  concerns: (event, data) => /^(task_created|agent_handoff_|status_changed|child_task_created|task_updated)/.test(event.eventType)
    && (event.taskId === id || event.masterTaskId === id || isInside(data, event.taskId ?? '') || isInside(data, event.masterTaskId ?? '') || event.masterTaskId === roots.get(id)),
});

/** The first task of each family that is shown. @type {Map<string, string>} */
const roots = new Map();

/** @param {any} tree @param {string} id @returns {boolean} */
const isInside = (tree, id) => Boolean(tree) && (tree.id === id || tree.children.some((/** @type {any} */ child) => isInside(child, id)));

/** Remembers to which family a task belongs, because events name the first task of theirs. @param {any} task */
export function rememberRoot(task) {
  if (task.masterTaskId) roots.set(task.id, task.masterTaskId);
}
