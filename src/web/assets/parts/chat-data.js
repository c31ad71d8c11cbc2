// The data of a conversation: the messages of a whole family of tasks, who has control, and the queue.

import { get, p, withQuery } from '../lib/api.js';
import { resource, snapshot } from '../lib/store.js';

/** @typedef {import('./message.js').Message} Message */
/** @typedef {{ id: string, agentName: string, fromAgent: string | null, mode: string, startedAt: number, completedAt: number | null, outcome: string | null, taskId: string, description: string, live: any }} Hop */

/** The first task of a task's family, which names the family in events. @param {any} task */
export const rootOf = (task) => task.masterTaskId ?? task.id;

/** All messages of a family in one order; new ones are appended. @param {string} root */
export function conversationOf(root) {
  /** @type {import('../lib/store.js').Resource} */
  const all = resource(`conversation ${root}`, {
    load: async (signal) => {
      const known = all.data ?? [];
      const found = [];
      let meta;
      for (let after = known.at(-1)?.number; ;) {
        const page = await get(withQuery(p`/api/tasks/${root}/conversation`, { after, limit: 1000 }), signal);
        found.push(...page.data);
        meta ??= page.meta;
        after = page.meta.next;
        if (!after) return { data: [...known, ...found], meta };
      }
    },
    concerns: (event) => event.masterTaskId === root && event.eventType === 'message_added',
  });
  return all;
}

/** The tree of a family. @param {string} root */
export const familyOf = (root) => snapshot(p`/api/tasks/${root}/tree`, {
  concerns: (event) => event.masterTaskId === root && /^(task_created|agent_handoff_|status_changed|child_task_created|run_)/.test(event.eventType),
});

/** The messages that wait for the agent in control, without those that an agent has got. @param {string} task */
export const queueOf = (task) => resource(`queue ${task}`, {
  load: async (signal) => {
    const found = [];
    let meta;
    for (let after; ;) {
      const page = await get(withQuery(p`/api/tasks/${task}/queue`, { after }), signal);
      found.push(...page.data.messages.filter((/** @type {any} */ one) => one.deliveredAt === null));
      meta ??= page.meta;
      after = page.meta.next;
      if (!after) return { data: found, meta };
    }
  },
  concerns: (event) => event.taskId === task && /^(message_|agent_handoff_)/.test(event.eventType) && event.eventType !== 'message_added',
});

/** All hand-offs of a family, oldest first. @param {any} tree @returns {Hop[]} */
export function hopsOf(tree) {
  /** @type {Hop[]} */
  const found = [];
  const walk = (/** @type {any} */ task) => {
    for (const hop of task.handoffs) found.push({ ...hop, taskId: task.id, description: task.description });
    for (const child of task.children) walk(child);
  };
  walk(tree);
  return found.sort((a, b) => a.startedAt - b.startedAt || (a.id < b.id ? -1 : 1));
}

/** The task that has control: where the transfers from a task lead. @param {any} tree @param {string} id */
export function controlOf(tree, id) {
  const find = (/** @type {any} */ task) => (task.id === id ? task : task.children.map(find).find(Boolean));
  let task = find(tree) ?? tree;
  for (;;) {
    const next = task.children.filter((/** @type {any} */ child) => child.handoffs[0]?.mode === 'transfer').at(-1);
    if (!next) return task;
    task = next;
  }
}

/** The tasks that agents made for others to answer: their messages stand apart. @param {any} tree @returns {Set<string>} */
export function delegatedIn(tree) {
  const found = new Set();
  const walk = (/** @type {any} */ task, /** @type {boolean} */ isInside) => {
    for (const child of task.children) {
      const is = isInside || (child.handoffs[0]?.mode === 'delegate' && child.handoffs[0]?.fromAgent);
      if (is) found.add(child.id);
      walk(child, Boolean(is));
    }
  };
  walk(tree, false);
  return found;
}

/** The tasks that were worked on last. */
export const recentChats = () => resource('chats', {
  load: async (signal) => {
    const { data, meta } = await get(withQuery(p`/api/board`, { limit: 20 }), signal);
    const cards = data.columns.flatMap((/** @type {any} */ column) => column.cards);
    return { data: cards.sort((/** @type {any} */ a, /** @type {any} */ b) => b.updatedAt - a.updatedAt).slice(0, 40), meta };
  },
  concerns: (event) => /^(task_created|agent_handoff_|status_changed)/.test(event.eventType),
});
