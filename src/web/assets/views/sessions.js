// Sessions: conversations that move from agent to agent.

import { p } from '../lib/api.js';
import { setTitle } from '../lib/page.js';
import { Ago } from '../lib/time.js';
import { h } from '../lib/view.js';
import { agentChip } from '../parts/badges.js';
import { more, paged } from '../parts/paged.js';
import { page } from '../parts/page.js';
import { empty, loaded } from '../parts/states.js';
import { table } from '../parts/table.js';

/** @typedef {{ id: string, taskId: string, createdAt: number, updatedAt: number, handoffs: number, agentName: string, currentAgent: string | null }} Session */

/** @param {import('../lib/view.js').Self} self */
export default function Sessions(self) {
  setTitle('Sessions');
  const list = self.use(paged(p`/api/sessions`, { newest: true }, { concerns: (event) => event.eventType.startsWith('agent_handoff_') || event.eventType === 'task_created' }));
  const columns = [
    { title: 'Session', class: 'some-cell', cell: (/** @type {Session} */ one) => h('a', { href: `/sessions/${encodeURIComponent(one.id)}`, class: 'mono' }, one.id) },
    { title: 'Who has the conversation', cell: (/** @type {Session} */ one) => agentChip(one.agentName, { working: Boolean(one.currentAgent) }) },
    { title: 'Moves', end: true, cell: (/** @type {Session} */ one) => one.handoffs.toLocaleString() },
    { title: 'Changed', end: true, cell: (/** @type {Session} */ one) => h(Ago, { at: one.updatedAt }) },
    { title: 'Began', end: true, cell: (/** @type {Session} */ one) => h(Ago, { at: one.createdAt }) },
    { title: 'Conversation', cell: (/** @type {Session} */ one) => h('a', { href: `/chat/${one.taskId}` }, 'Open the chat') },
  ];
  return () => page({ title: 'Sessions', subtitle: 'Conversations with users that moved from agent to agent, newest first.' }, loaded(list, (data) => (data.items.length
    ? [table({ label: 'Sessions', columns, rows: data.items, key: (one) => one.id, open: (one) => `/sessions/${encodeURIComponent(one.id)}` }), more(list)]
    : empty({ icon: 'sessions', title: 'No sessions yet', text: 'A harness moves a conversation with POST /api/sessions/ID/handoffs, or with `chorus session handoff`.', action: h('a', { href: '/api/docs' }, 'API documentation') }))));
}
