// One message of a conversation. `message(one, { isFirst })`: a person, an agent, a step of an agent, a move of control.

import { markdown } from '../lib/markdown.js';
import { firstLine, shorten } from '../lib/text.js';
import { clockTime, exact } from '../lib/time.js';
import { h } from '../lib/view.js';
import { agentChip, words } from './badges.js';
import { variables } from './chain.js';
import { icon } from './icon.js';

/** @typedef {{ number: number, timestamp: number, taskId: string, handoffId: string | null, agentName: string | null, type: string, content: string,
 *   data: { fromAgent: string | null, toAgent: string, taskId: string, tool?: string, variables?: Record<string, any>, reason?: string } | null }} Message */

/** The types that are steps on the way to an answer. */
const STEPS = new Set(['thinking', 'tool_call', 'tool_result', 'skill_load', 'status_change']);

/** @param {Message} one */
const time = (one) => h('time', { class: 'ago message-time', datetime: new Date(one.timestamp).toISOString(), title: exact(one.timestamp) }, clockTime(one.timestamp));

/** Where control moved, and with what. @param {Message} one */
function move(one) {
  const { data } = one;
  const isTransfer = one.type === 'handoff';
  return h('div', { class: ['move', isTransfer ? 'transfer' : 'asked'], key: one.number },
    h('div', { class: 'move-head' }, icon('arrow'), data ? [isTransfer ? 'Routed to ' : 'Asked ', agentChip(data.toAgent)] : one.content,
      data?.fromAgent && h('span', { class: 'muted' }, 'from ', data.fromAgent), data?.tool && h('code', null, data.tool), time(one)),
    data?.reason && h('p', { class: 'small-text' }, data.reason), data?.variables && variables(Object.entries(data.variables)),
    data && h('a', { class: 'small-text', href: `/tasks/${data.taskId}` }, isTransfer ? 'Continues in this task' : 'Its task'));
}

/** @param {Message} one @param {{ isFollowUp?: boolean }} options `isFollowUp`: the same agent spoke just before */
export function message(one, { isFollowUp = false }) {
  if (one.type === 'handoff' || one.type === 'subtask_created') return move(one);
  if (STEPS.has(one.type)) {
    return h('details', { class: ['step', one.type], key: one.number },
      h('summary', null, h('span', { class: 'step-kind' }, words(one.type)), ' ', shorten(firstLine(one.content), 140)), h('pre', { class: 'code', tabindex: 0 }, one.content));
  }
  const isPerson = one.type === 'user_message';
  return h('article', { class: ['message', isPerson ? (one.agentName ? 'asking' : 'person') : 'agent-message', one.type, isFollowUp && 'follow-up'], key: one.number },
    !isFollowUp && h('p', { class: 'message-head' }, one.agentName ? agentChip(one.agentName) : h('strong', null, 'You'), isPerson && one.agentName && h('span', { class: 'muted' }, 'asks'), time(one)),
    markdown(one.content || (one.type === 'error' ? 'The agent failed.' : '')));
}

/** The most messages that are shown as one. */
const MOST = 100;

/**
 * Joins what an agent said in a row. Programs that print lines make a message of each; a table or a list in them is one.
 * @param {Message[]} list @returns {(Message & { isFollowUp: boolean })[]}
 */
export function grouped(list) {
  /** @type {(Message & { isFollowUp: boolean, lines: string[] })[]} */
  const found = [];
  for (const one of list) {
    const last = found.at(-1);
    const isSame = Boolean(last) && one.type === 'assistant_message' && last?.type === one.type && last.agentName === one.agentName && last.handoffId === one.handoffId;
    if (last && isSame && last.lines.length < MOST) last.lines.push(one.content);
    else found.push({ ...one, isFollowUp: isSame, lines: [one.content] });
  }
  return found.map(({ lines, ...one }) => ({ ...one, content: lines.reduce((text, line, at) => {
    const isLines = at > 0 && !lines[at - 1].includes('\n') && !line.includes('\n');
    return at === 0 ? line : `${text}${isLines ? '\n' : '\n\n'}${line}`;
  }, '') }));
}
