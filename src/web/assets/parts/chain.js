// The chain of a task, drawn as a line of hops: who, from whom, by which door, how long, with what outcome, cost and variables.

import { markdown } from '../lib/markdown.js';
import { counted, dollars, firstLine, shorten } from '../lib/text.js';
import { Ago, duration, exact, Since } from '../lib/time.js';
import { h } from '../lib/view.js';
import { agentChip, badge, words } from './badges.js';
import { Button } from './button.js';
import { icon } from './icon.js';
import { facts } from './page.js';
import { Prompt } from './prompt.js';
import { empty, loaded } from './states.js';
import { handoffsOf } from './task-data.js';
import { handOff } from './tasks.js';

/** The words for the five doors. @type {Record<string, string>} */
export const DOORS = { delegate: 'delegated', transfer: 'transferred', request: 'by a request', route: 'routed', session: 'in a session' };

/** The variables of a context that agents passed; the others are notes of the server. @param {Record<string, any> | null | undefined} context */
export const variablesOf = (context) => Object.entries(context ?? {}).filter(([name]) => !name.startsWith('_'));

/** @param {[string, any][]} list */
export const variables = (list) => list.length > 0 && h('dl', { class: 'variables' }, list.map(([name, value]) => h('div', { key: name }, h('dt', null, name),
  h('dd', null, typeof value === 'string' ? value : JSON.stringify(value)))));

/** One hop; opens to its prompt and result. @param {import('../lib/view.js').Self} self */
function Hop(self) {
  let isOpen = Boolean(self.props.isLast);
  return (/** @type {any} */ { hop, task, isFirst }) => {
    const isWorking = !hop.completedAt;
    const passed = isFirst && hop.mode === 'transfer' ? variablesOf(task.context) : [];
    const waitsFor = hop.live?.waitsFor ?? [];
    return h('li', { class: ['hop', hop.outcome ?? 'working'], 'data-item': hop.id, tabindex: -1, 'aria-label': `${hop.agentName}, ${words(hop.outcome ?? 'working')}` },
      h('div', { class: 'hop-mark', 'aria-hidden': 'true' }, isWorking ? h('span', { class: 'spinner' }) : icon(hop.outcome === 'completed' ? 'check' : 'close', 'tiny')),
      h('div', { class: 'hop-body' },
        h('div', { class: 'hop-head' }, agentChip(hop.agentName, { working: isWorking }),
          h('span', { class: 'muted small-text' }, DOORS[hop.mode] ?? hop.mode, hop.fromAgent ? [' from ', agentChip(hop.fromAgent)] : null),
          hop.outcome && hop.outcome !== 'completed' && badge(hop.outcome), hop.report && badge(hop.report.result),
          h('span', { class: 'hop-figures' }, dollars(hop.costUsd) && h('span', null, dollars(hop.costUsd)),
            isWorking ? h(Since, { at: hop.startedAt }) : h('span', { title: `${exact(hop.startedAt)} – ${exact(hop.completedAt)}` }, duration(hop.completedAt - hop.startedAt)), h(Ago, { at: hop.startedAt }))),
        hop.reason && h('p', { class: 'small-text' }, h('span', { class: 'muted' }, 'Reason: '), hop.reason),
        variables(passed),
        waitsFor.length > 0 && h('p', { class: 'notice' }, 'Waits for ', waitsFor.map((/** @type {any} */ one) => h('a', { key: one.id, href: `/tasks/${one.taskId}` }, one.agentName, ' '))),
        hop.run?.failingSince && h('p', { class: 'notice bad' }, 'The program of the agent prints nothing but errors: ', hop.run.lastError),
        hop.error && h('p', { class: 'error' }, hop.error),
        hop.report?.summary && h('p', null, hop.report.summary),
        h('button', { type: 'button', class: 'hop-toggle', 'aria-expanded': String(isOpen), onclick: () => { isOpen = !isOpen; self.update(); } }, icon(isOpen ? 'down' : 'right', 'tiny'),
          isOpen ? 'Hide prompt and result' : shorten(firstLine(hop.output) || firstLine(hop.prompt), 140)),
        isOpen && h('div', { class: 'hop-detail' },
          h('h3', null, 'Asked'), markdown(hop.prompt),
          hop.output && !hop.error && [h('h3', null, 'Answered'), markdown(hop.output)],
          hop.report?.details && [h('h3', null, 'Report'), markdown(hop.report.details)],
          hop.unansweredHandoffs?.length > 0 && h('p', { class: 'notice warn' }, 'Ended without the answer of ', hop.unansweredHandoffs.map((/** @type {any} */ one) => one.agentName).join(', ')),
          facts([['Tokens', hop.usage && `${(hop.usage.inputTokens ?? 0).toLocaleString()} in, ${(hop.usage.outputTokens ?? 0).toLocaleString()} out, ${counted(hop.usage.turns ?? 0, 'turn')}`],
            ['Attempt', hop.run?.attempt > 1 ? hop.run.attempt : null], ['Refused tools', hop.run?.deniedTools?.join(', ')],
            ['Continued in', hop.transferredTo && 'another task: control was passed on']]),
          h('div', { class: 'row' }, h('a', { class: 'button small', href: `/tasks/${task.id}?tab=output&handoff=${hop.id}` }, 'Output and log'), h(Prompt, { handoff: hop.id })))));
  };
}

/** @param {import('../lib/view.js').Self} self */
export function Chain(self) {
  const hops = self.use(handoffsOf(self.props.task.id));
  return (/** @type {{ task: any }} */ { task }) => loaded(hops, (list) => (list.length === 0
    ? empty({ icon: 'sessions', title: 'No agent has worked on this yet', text: 'Hand the task to an agent; every hop is then drawn here.',
      action: h(Button, { label: 'Hand off', kind: 'main', run: () => handOff(task) }) })
    : h('div', { class: 'stack' },
      h('div', { class: 'chain-line', 'aria-hidden': 'true' }, list.map((/** @type {any} */ hop, /** @type {number} */ at) => [
        at > 0 && h('span', { key: `${hop.id} arrow`, class: 'chain-arrow' }, icon('arrow', 'tiny')),
        h('span', { key: hop.id, class: ['chain-node', hop.outcome ?? 'working'] }, agentChip(hop.agentName, { working: !hop.completedAt }))])),
      h('ol', { class: 'hops', 'aria-label': 'Hand-offs, oldest first' }, list.map((/** @type {any} */ hop, /** @type {number} */ at) =>
        h(Hop, { key: hop.id, hop, task, isFirst: at === 0, isLast: at === list.length - 1 }))))));
}
