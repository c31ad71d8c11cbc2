// Beside a conversation: its hand-offs with reason and intent, counted, and the tasks that came from it.

import { p } from '../lib/api.js';
import { snapshot } from '../lib/store.js';
import { dollars, firstLine, shorten } from '../lib/text.js';
import { Ago, duration, Since } from '../lib/time.js';
import { h } from '../lib/view.js';
import { agentChip, badge, count, statusBadge } from './badges.js';
import { hopsOf } from './chat-data.js';
import { DOORS } from './chain.js';
import { section } from './page.js';

/** @param {import('../lib/view.js').Self} self */
export function ChatSide(self) {
  const { task } = self.props;
  // Only sessions keep an intent; the reason of others is in the full record of the hand-off.
  const moves = task.sessionId ? self.use(snapshot(p`/api/sessions/${task.sessionId}/handoffs`, { concerns: (event) => event.eventType.startsWith('agent_handoff_') })) : null;
  const own = self.use(snapshot(p`/api/tasks/${task.id}/handoffs`, { concerns: (event) => event.taskId === task.id && event.eventType.startsWith('agent_handoff_') }));
  return (/** @type {{ tree: any }} */ { tree }) => {
    const hops = hopsOf(tree);
    /** @type {Map<string, any>} */
    const more = new Map([...(own.data ?? []), ...(moves?.data ?? [])].map((one) => [one.id, one]));
    const tasks = tree.children;
    return h('aside', { class: 'chat-side', 'aria-label': 'Hand-offs and tasks' },
      section({ title: 'Hand-offs', count: count(hops.length), level: 2 }, hops.length ? h('ol', { class: 'side-hops' }, hops.map((hop) => {
        const { reason, userIntent } = more.get(hop.id) ?? {};
        return h('li', { key: hop.id }, h('div', { class: 'row' }, hop.fromAgent && [h('span', { class: 'muted' }, hop.fromAgent), h('span', { class: 'muted', 'aria-label': 'to' }, '→')], agentChip(hop.agentName, { working: !hop.completedAt })),
          h('div', { class: 'side-facts' }, h('span', null, DOORS[hop.mode] ?? hop.mode), hop.outcome && hop.outcome !== 'completed' && badge(hop.outcome), hop.completedAt ? h('span', null, duration(hop.completedAt - hop.startedAt)) : h(Since, { at: hop.startedAt }),
            dollars(/** @type {any} */ (hop).costUsd) || null, h(Ago, { at: hop.startedAt })),
          reason && h('p', { class: 'small-text' }, h('span', { class: 'muted' }, 'Reason: '), reason), userIntent && h('p', { class: 'small-text' }, h('span', { class: 'muted' }, 'Intent: '), userIntent));
      })) : h('p', { class: 'muted' }, 'None yet.')),
      tasks.length > 0 && section({ title: 'Tasks below', count: count(tasks.length), level: 2 }, h('ul', { class: 'side-tasks' }, tasks.map((/** @type {any} */ child) => h('li', { key: child.id },
        statusBadge(child.status), ' ', h('a', { href: `/tasks/${child.id}` }, shorten(firstLine(child.description), 70)), child.handoffs[0] && h('div', null, agentChip(child.handoffs[0].agentName)))))));
  };
}
