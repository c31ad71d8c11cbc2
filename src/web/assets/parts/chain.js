// The chain of a task, drawn as a line of hops: who, from whom, by which door, how long, with what outcome, cost and variables.

import { p } from '../lib/api.js';
import { markdown } from '../lib/markdown.js';
import { snapshot } from '../lib/store.js';
import { counted, dollars } from '../lib/text.js';
import { Ago, duration, exact, Since } from '../lib/time.js';
import { h } from '../lib/view.js';
import { agentChip, badge, words } from './badges.js';
import { Button } from './button.js';
import { hopsOf } from './chat-data.js';
import { icon } from './icon.js';
import { facts } from './page.js';
import { Prompt } from './prompt.js';
import { empty, loaded } from './states.js';
import { taskOf, treeOf } from './task-data.js';
import { handOff } from './tasks.js';

/** The words for the five doors. @type {Record<string, string>} */
export const DOORS = { delegate: 'delegated', transfer: 'transferred', request: 'by a request', route: 'routed', session: 'in a session' };

/** The variables of a context that agents passed; the others are notes of the server. @param {Record<string, any> | null | undefined} context */
export const variablesOf = (context) => Object.entries(context ?? {}).filter(([name]) => !name.startsWith('_'));

/** @param {[string, any][]} list */
export const variables = (list) => list.length > 0 && h('dl', { class: 'variables' }, list.map(([name, value]) => h('div', { key: name }, h('dt', null, name),
  h('dd', null, typeof value === 'string' ? value : JSON.stringify(value)))));

/** The record of a hop, which the tree does not have. @param {import('../lib/view.js').Self} self */
function Record(self) {
  const { hop } = self.props;
  const record = self.use(snapshot(p`/api/handoffs/${hop.id}`, { concerns: (event) => event.handoffId === hop.id && event.eventType !== 'message_added' }));
  return () => h('div', { class: 'hop-detail' }, loaded(record, (one) => [
    one.reason && h('p', null, h('span', { class: 'muted' }, 'Reason: '), one.reason),
    h('h2', null, 'Asked'), markdown(one.prompt),
    one.error ? [h('h2', null, 'Failed'), h('p', { class: 'error' }, one.error)] : one.output && [h('h2', null, 'Answered'), markdown(one.output)],
    one.report && [h('h2', null, 'Report'), h('p', null, badge(one.report.result), ' ', one.report.summary), one.report.details && markdown(one.report.details)],
    one.run?.failingSince && h('p', { class: 'notice bad' }, 'The program of the agent prints nothing but errors: ', one.run.lastError),
    one.unansweredHandoffs?.length > 0 && h('p', { class: 'notice warn' }, 'Ended without the answer of ', one.unansweredHandoffs.map((/** @type {any} */ other) => other.agentName).join(', ')),
    facts([['Tokens', one.usage?.inputTokens ? `${one.usage.inputTokens.toLocaleString()} in, ${one.usage.outputTokens.toLocaleString()} out, ${counted(one.usage.turns ?? 0, 'turn')}` : null],
      ['Attempt', one.run?.attempt > 1 ? one.run.attempt : null], ['Refused tools', one.run?.deniedTools?.join(', ')], ['Control', one.transferredTo && 'passed on to the next hop']]),
    h('div', { class: 'row' }, h('a', { class: 'button small', href: `/tasks/${hop.taskId}?tab=output&handoff=${hop.id}` }, 'Output and log'), h(Prompt, { handoff: hop.id }))]));
}

/** The variables that a transfer passed: the context of its task. @param {import('../lib/view.js').Self} self */
function Passed(self) {
  const task = self.use(taskOf(self.props.id));
  return () => task.data && h('div', { class: 'stack' }, variables(variablesOf(task.data.context)));
}

/** One hop; opens to its prompt and result. @param {import('../lib/view.js').Self} self */
function HopRow(self) {
  let isOpen = Boolean(self.props.isLast);
  const toggle = () => {
    isOpen = !isOpen;
    self.update();
  };
  return (/** @type {{ hop: import('./chat-data.js').Hop & { costUsd?: number }, own: string, isFirst: boolean }} */ { hop, own, isFirst }) => {
    const isWorking = !hop.completedAt;
    const waitsFor = hop.live?.waitsFor ?? [];
    return h('li', { class: ['hop', hop.outcome ?? 'working', hop.taskId !== own && hop.mode === 'delegate' && 'below'], id: `hop-${hop.id}`, 'data-item': hop.id, tabindex: -1, 'aria-label': `${hop.agentName}, ${words(hop.outcome ?? 'working')}`,
      onkeydown: (/** @type {KeyboardEvent} */ event) => { if (event.key === 'Enter' && event.target === event.currentTarget) toggle(); } },
    h('div', { class: 'hop-mark', 'aria-hidden': 'true' }, isWorking ? h('span', { class: 'spinner' }) : icon(hop.outcome === 'completed' ? 'check' : 'close', 'tiny')),
    h('div', { class: 'hop-body' },
      h('div', { class: 'hop-head' }, agentChip(hop.agentName, { working: isWorking }),
        h('span', { class: 'muted small-text' }, DOORS[hop.mode] ?? hop.mode, hop.fromAgent ? [' from ', agentChip(hop.fromAgent)] : isFirst ? ' by a person' : null),
        hop.outcome && hop.outcome !== 'completed' && badge(hop.outcome),
        h('span', { class: 'hop-figures' }, dollars(hop.costUsd) && h('span', null, dollars(hop.costUsd)),
          hop.completedAt ? h('span', { title: `${exact(hop.startedAt)} – ${exact(hop.completedAt)}` }, duration(hop.completedAt - hop.startedAt)) : h(Since, { at: hop.startedAt }), h(Ago, { at: hop.startedAt }))),
      hop.mode === 'transfer' && h(Passed, { id: hop.taskId }),
      waitsFor.length > 0 && h('p', { class: 'notice' }, 'Waits for ', waitsFor.map((/** @type {any} */ one) => [agentChip(one.agentName), ' '])),
      h('div', { class: 'row' }, h('button', { type: 'button', class: 'hop-toggle', 'aria-expanded': String(isOpen), onclick: toggle }, icon(isOpen ? 'down' : 'right', 'tiny'), isOpen ? 'Hide prompt and result' : 'Prompt and result'),
        hop.taskId !== own && h('a', { class: 'small-text', href: `/tasks/${hop.taskId}` }, 'its task')),
      isOpen && h(Record, { hop })));
  };
}

/** @param {import('../lib/view.js').Self} self */
export function Chain(self) {
  const tree = self.use(treeOf(self.props.task.id));
  const go = (/** @type {string} */ id) => {
    const row = document.getElementById(`hop-${id}`);
    row?.scrollIntoView({ block: 'center' });
    row?.focus();
  };
  return (/** @type {{ task: any }} */ { task }) => loaded(tree, (data) => {
    const list = hopsOf(data);
    if (!list.length) {
      return empty({ icon: 'sessions', title: 'No agent has worked on this yet', text: 'Hand the task to an agent; every hop is then drawn here.',
        action: h(Button, { label: 'Hand off', kind: 'main', run: () => handOff(task) }) });
    }
    return h('div', { class: 'stack' },
      h('nav', { class: 'chain-line', 'aria-label': 'Chain' }, list.map((hop, at) => h('span', { key: hop.id, class: 'row' }, at > 0 && h('span', { class: 'chain-arrow' }, icon('arrow', 'tiny')),
        h('button', { type: 'button', class: ['chain-node', hop.outcome ?? 'working'], onclick: () => go(hop.id), title: `${words(hop.outcome ?? 'working')}${hop.completedAt ? ` after ${duration(hop.completedAt - hop.startedAt)}` : ''}` }, agentChip(hop.agentName, { working: !hop.completedAt }))))),
      h('ol', { class: 'hops', 'aria-label': `${counted(list.length, 'hand-off')}, oldest first` }, list.map((hop, at) => h(HopRow, { key: hop.id, hop, own: task.id, isFirst: at === 0, isLast: at === list.length - 1 }))));
  });
}
