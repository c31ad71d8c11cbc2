// Small marks that look alike everywhere: status, outcome, agent, priority, blocked, count.

import { h } from '../lib/view.js';
import { hue } from '../lib/text.js';
import { icon } from './icon.js';

/** The statuses of tasks in the order of the board. */
export const STATUSES = ['pending', 'active', 'waiting', 'completed', 'failed'];

/** @type {Record<string, string>} */
const TONES = {
  pending: 'plain', active: 'live', waiting: 'warn', completed: 'good', failed: 'bad', cancelled: 'plain', timed_out: 'bad', interrupted: 'bad',
  needs: 'warn', delegated: 'live', next: 'live', claimed: 'live', done: 'good', withdrawn: 'plain', blocked: 'bad', passed: 'good',
  implementation: 'live', testing: 'live', fixing: 'live', verification: 'live', P0: 'bad', P1: 'warn', urgent: 'bad', high: 'warn',
};

/** Words of the API for people. @param {string} word */
export const words = (word) => word.replaceAll('_', ' ');

/** @param {string} text @param {string} [tone] good, warn, bad, live or plain */
export const badge = (text, tone) => h('span', { class: ['badge', tone ?? TONES[text] ?? 'plain'] }, words(text));

/** @param {{ type: string, message?: string } | string} status */
export function statusBadge(status) {
  const type = typeof status === 'string' ? status : status.type;
  return h('span', { class: ['badge dot', TONES[type] ?? 'plain'], title: typeof status === 'object' ? status.message : null }, words(type));
}

/** An agent, always in its own colour. @param {string} name @param {{ working?: boolean, plain?: boolean }} [options] */
export const agentChip = (name, { working = false, plain = false } = {}) => h('span', { class: ['agent', working && 'working', plain && 'plain-agent'], vars: { '--hue': hue(name) } },
  h('span', { class: 'agent-dot', 'aria-hidden': 'true' }), h('span', { class: 'agent-name' }, name), working && h('span', { class: 'unseen' }, ' (working)'));

/** @param {string | number | null | undefined} priority P0 to P2, or 0 to 3 */
export function priorityBadge(priority) {
  if (priority === null || priority === undefined || priority === 2 || priority === 'P2') return null;
  const text = typeof priority === 'number' ? `P${priority}` : priority;
  return h('span', { class: ['badge', TONES[text] ?? 'plain'], title: 'Priority' }, text);
}

export const blockedBadge = () => h('span', { class: 'badge bad' }, icon('blocked', 'tiny'), 'blocked');

/** @param {number} number @param {boolean} [more] */
export const count = (number, more = false) => h('span', { class: 'count' }, `${number.toLocaleString()}${more ? '+' : ''}`);
