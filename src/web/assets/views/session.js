// One session: who has the conversation, how often it moved between whom, and each move with the conversation that moved along.

import { p, withQuery } from '../lib/api.js';
import { markdown } from '../lib/markdown.js';
import { setTitle } from '../lib/page.js';
import { place, setQuery } from '../lib/router.js';
import { snapshot } from '../lib/store.js';
import { counted } from '../lib/text.js';
import { Ago, duration } from '../lib/time.js';
import { h } from '../lib/view.js';
import { agentChip, badge, count } from '../parts/badges.js';
import { linkButton } from '../parts/button.js';
import { following } from '../parts/following.js';
import { icon } from '../parts/icon.js';
import { more, paged } from '../parts/paged.js';
import { facts, page, section } from '../parts/page.js';
import { empty, loaded } from '../parts/states.js';

/** @typedef {{ role: string, content: any, agentId?: string | null }} Said */
/** @typedef {{ id: string, taskId: string, fromAgent: string, toAgent: string, reason: string, userIntent: string, conversationHistory: Said[], harnessTraceId: string | null, traceId: string,
 *   invoked: boolean, createdAt: number, completedAt: number | null, outcome: string | null, output: string }} Move */

/** The text of a message: a text, or the texts of its parts. @param {any} content */
const textOf = (content) => (typeof content === 'string' ? content : Array.isArray(content) ? content.map((part) => part.text ?? `(${part.type})`).join('\n') : '');

/** @param {Said[]} history */
const conversation = (history) => h('ol', { class: 'stack' }, history.map((one, at) => h('li', { key: at, class: 'said' },
  h('p', { class: 'row' }, one.agentId ? agentChip(one.agentId) : h('strong', null, one.role)), markdown(textOf(one.content)))));

/** @param {Move} move */
const moved = (move) => h('li', { key: move.id, class: move.outcome === 'completed' ? 'good' : move.outcome ? 'bad' : 'live', 'data-item': move.id, tabindex: -1, 'aria-label': `From ${move.fromAgent} to ${move.toAgent}` },
  h('p', { class: 'row' }, agentChip(move.fromAgent), icon('arrow', 'tiny'), agentChip(move.toAgent, { working: move.invoked && !move.completedAt }),
    move.outcome ? badge(move.outcome) : badge(move.invoked ? 'in progress' : 'has control', 'live'), move.completedAt && h('span', { class: 'muted' }, duration(move.completedAt - move.createdAt)), h(Ago, { at: move.createdAt })),
  facts([['Reason', h('span', { class: 'pre-line' }, move.reason)], ['User wants', h('span', { class: 'pre-line' }, move.userIntent)], ['Run by', !move.invoked && 'the harness']]),
  move.output && h('div', { class: 'panel' }, markdown(move.output)),
  h('details', null, h('summary', null, `The conversation that moved: ${counted(move.conversationHistory.length, 'message')}`), conversation(move.conversationHistory),
    facts([['Hand-off', h('code', null, move.id)], ['Trace', h('code', null, move.traceId)], ['Trace of the harness', move.harnessTraceId && h('code', null, move.harnessTraceId)]])));

/** How often control moved, from one agent to another if these are chosen. @param {import('../lib/view.js').Self} self */
function Counts(self) {
  const number = following(self, () => snapshot(withQuery(p`/api/sessions/${self.props.id}/handoffs/count`, { from: place.query.get('from'), to: place.query.get('to') }), { concerns: self.props.concerns }));
  const choice = (/** @type {string} */ label, /** @type {string} */ name, /** @type {string[]} */ names) => h('label', { class: 'tool-field' }, h('span', null, label), h('select', {
    value: place.query.get(name) ?? '', onchange: (/** @type {any} */ event) => setQuery({ [name]: event.target.value }) }, h('option', { value: '' }, 'any agent'), names.map((one) => h('option', { key: one, value: one, selected: one === place.query.get(name) }, one))));
  return (/** @type {{ names: string[] }} */ { names }) => h('div', { class: 'panel stack' }, h('div', { class: 'row' }, choice('From', 'from', names), choice('to', 'to', names)),
    h('p', { class: 'figure-number', 'aria-live': 'polite' }, number.now.error ? number.now.error.message : number.now.data ? counted(number.now.data.count, 'move') : '…'));
}

/** @param {import('../lib/view.js').Self} self */
export default function OneSession(self) {
  const { id } = self.props.params;
  setTitle(id);
  const concerns = (/** @type {import('../lib/events.js').ChorusEvent} */ event) => event.eventType.startsWith('agent_handoff_') && (!found.data || [event.taskId, event.masterTaskId].includes(found.data.taskId));
  const found = self.use(snapshot(p`/api/sessions/${id}`, { concerns: (event) => event.eventType.startsWith('agent_handoff_') }));
  const last = self.use(snapshot(p`/api/sessions/${id}/handoffs/last`, { concerns }));
  const list = self.use(paged(p`/api/sessions/${id}/handoffs`, {}, { concerns }));
  return () => page({
    crumbs: h('a', { href: '/sessions' }, 'Sessions'), title: h('span', { class: 'mono' }, id),
    subtitle: found.data && h('span', { class: 'row' }, agentChip(found.data.agentName, { working: Boolean(found.data.currentAgent) }), found.data.currentAgent ? 'works on it now' : 'has the conversation'),
    actions: found.data && [linkButton({ label: 'Chat', href: `/chat/${found.data.taskId}`, icon: 'chat', kind: 'main' }), linkButton({ label: 'Task', href: `/tasks/${found.data.taskId}`, icon: 'board' })],
  }, loaded(found, (session) => {
    const moves = /** @type {Move[]} */ (list.data?.items ?? []);
    const names = [...new Set(moves.flatMap((move) => [move.fromAgent, move.toAgent]))].sort();
    return h('div', { class: 'split' },
      section({ title: 'History', count: count(session.handoffs) }, loaded(list, () => (moves.length ? [h('ol', { class: 'life wide-gap' }, moves.map(moved)), more(list)] : empty({ icon: 'sessions', title: 'It has not moved yet' })))),
      h('div', { class: 'stack wide-gap' },
        section({ title: 'Last move' }, h('div', { class: 'panel' }, last.data ? facts([['From', agentChip(last.data.fromAgent)], ['To', agentChip(last.data.toAgent)], ['Reason', last.data.reason], ['User wants', last.data.userIntent], ['When', h(Ago, { at: last.data.createdAt })],
          ['Outcome', last.data.outcome ? badge(last.data.outcome) : 'open']]) : h('p', { class: 'muted' }, 'None.'))),
        section({ title: 'Counts' }, h(Counts, { id, names, concerns })),
        section({ title: 'Facts' }, h('div', { class: 'panel' }, facts([['Began', h(Ago, { at: session.createdAt })], ['Changed', h(Ago, { at: session.updatedAt })], ['Task', h('a', { href: `/tasks/${session.taskId}` }, 'Open the task')]])))));
  }));
}
