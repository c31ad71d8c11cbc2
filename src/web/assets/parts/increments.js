// Increments: their stages drawn round by round, the reports of the stages, and the form for a new one.

import { p, post } from '../lib/api.js';
import { markdown } from '../lib/markdown.js';
import { navigate } from '../lib/router.js';
import { snapshot } from '../lib/store.js';
import { dollars } from '../lib/text.js';
import { Ago, duration, Since } from '../lib/time.js';
import { h } from '../lib/view.js';
import { agentChip, badge } from './badges.js';
import { openDialog } from './dialog.js';
import { Form } from './form.js';
import { icon } from './icon.js';
import { loaded } from './states.js';
import { toast } from './toast.js';

/** @typedef {{ id: string, title: string, description: string, testCommand: string | null, state: 'active' | 'done' | 'blocked', round: number, blockedBy: string | null,
 *   createdAt: number, updatedAt: number }} Increment */
/** @typedef {Increment & { dependsOn: string[], tasks: any[] }} Whole */

/** @type {Record<string, string>} */
export const TONES = { active: 'live', done: 'good', blocked: 'bad' };
const ORDER = ['implementation', 'fix', 'test', 'verify'];

export const increments = () => snapshot(`${p`/api/increments`}?newest=true&limit=100`, { concerns: (event) => event.eventType.startsWith('increment_') });

/** @param {Increment} increment */
export const stateBadge = ({ state }) => badge(state, TONES[state]);

/** The stages by rounds, in the order of the work: a fix is created last. @param {any[]} tasks @returns {[number, any[]][]} */
export function rounds(tasks) {
  /** @type {Map<number, any[]>} */
  const found = new Map();
  for (const task of tasks.filter((one) => one.stage)) found.set(task.round, [...(found.get(task.round) ?? []), task]);
  return [...found].sort(([a], [b]) => a - b).map(([round, stages]) => [round, stages.sort((a, b) => ORDER.indexOf(a.stage) - ORDER.indexOf(b.stage))]);
}

/** @param {any} task @returns {{ tone: string, mark: string, word: string }} */
function standing(task) {
  if (task.currentAgent) return { tone: 'live', mark: 'play', word: 'in progress' };
  if (task.blocked) return { tone: 'bad', mark: 'blocked', word: 'blocked' };
  if (task.status.type === 'completed') return { tone: 'good', mark: 'check', word: task.stage === 'test' || task.stage === 'verify' ? 'passed' : 'done' };
  if (task.status.type === 'failed') return { tone: 'bad', mark: 'close', word: 'failed' };
  return { tone: 'plain', mark: 'clock', word: 'waiting' };
}

/** One stage as a box. @param {any} task */
function stage(task) {
  const { tone, mark, word } = standing(task);
  const last = task.agentChain.at(-1);
  const reason = task.status.type === 'failed' ? task.status.message : task.waitingReason;
  return h('a', { class: ['stage', tone], href: `/tasks/${task.id}`, 'data-item': task.id },
    h('span', { class: 'stage-head' }, icon(mark, 'tiny'), h('strong', null, task.stage), h('span', { class: 'stage-word' }, word)),
    h('span', { class: 'stage-line' }, last ? agentChip(last.agentName, { working: Boolean(task.currentAgent) }) : h('span', { class: 'muted' }, 'no agent yet'),
      last && (last.completedAt ? h('span', { class: 'muted', title: 'Time of the last hand-off' }, duration(last.completedAt - last.startedAt)) : h(Since, { at: last.startedAt }))),
    reason && h('span', { class: ['clamp small-text', tone === 'bad' ? 'error' : 'muted'] }, reason));
}

/** The stages of all rounds. @param {Whole} increment */
export const drawing = (increment) => h('ol', { class: 'rounds', 'aria-label': 'Rounds' }, rounds(increment.tasks).map(([round, stages]) => h('li', { key: round, class: 'round' },
  h('p', { class: 'round-name' }, `Round ${round}`),
  h('ol', { class: 'stages' }, stages.map((task, at) => h('li', { key: task.id, class: 'stage-place' }, at > 0 && h('span', { class: 'stage-arrow', 'aria-hidden': 'true' }, icon('arrow', 'tiny')), stage(task)))))));

/** What the agents of a stage reported and said. @param {import('../lib/view.js').Self} self */
export function StageReports(self) {
  const { task } = self.props;
  const handoffs = self.use(snapshot(p`/api/tasks/${task.id}/handoffs`, { concerns: (event) => event.taskId === task.id && /^(agent_handoff_|report_given)/.test(event.eventType) }));
  const one = (/** @type {any} */ handoff) => h('li', { key: handoff.id, class: ['life-entry', handoff.outcome === 'completed' ? 'good' : handoff.outcome ? 'bad' : 'live'] },
    h('p', { class: 'row' }, agentChip(handoff.agentName, { working: !handoff.outcome }), handoff.outcome && badge(handoff.outcome), handoff.report && badge(handoff.report.result),
      handoff.completedAt && h('span', { class: 'muted' }, duration(handoff.completedAt - handoff.startedAt)), dollars(handoff.costUsd) && h('span', { class: 'muted' }, dollars(handoff.costUsd)), h(Ago, { at: handoff.startedAt })),
    handoff.report?.summary && h('div', { class: 'panel' }, markdown(handoff.report.summary)),
    handoff.report?.details != null && h('pre', { class: 'code', tabindex: 0 }, JSON.stringify(handoff.report.details, null, 2)),
    handoff.error && h('p', { class: 'error' }, handoff.error),
    handoff.output && handoff.output !== handoff.error && h('details', null, h('summary', null, 'Final message'), markdown(handoff.output)));
  return (/** @type {{ task: any }} */ { task: now }) => h('section', { class: 'stack', 'aria-label': `Round ${now.round}, ${now.stage}` },
    h('h3', null, `Round ${now.round}, ${now.stage}`),
    loaded(handoffs, (data) => (data.length ? h('ol', { class: 'life' }, data.map(one)) : h('p', { class: 'muted' }, now.waitingReason ?? 'No agent has worked on it yet.'))));
}

/** @param {import('../lib/view.js').Self} _self */
function CreateIncrement(_self) {
  return (/** @type {any} */ props) => h(Form, {
    ...props, title: 'Create an increment', action: 'Create', value: { priority: '2', dependsOn: [] },
    intro: 'One agent implements it, another tests it, a third verifies it. When a test fails, a fix and another test follow.',
    fields: [
      { name: 'title', label: 'Title', required: true, autofocus: true },
      { name: 'description', label: 'What should be built', kind: 'area', rows: 6, hint: 'Markdown. All agents get it.' },
      { name: 'testCommand', label: 'Test command', placeholder: 'cargo test', hint: 'The agents run it; without one they decide how to test.' },
      { name: 'specialistTags', label: 'Skills', hint: 'What the agents should know, for example: rust sql' },
      { name: 'priority', label: 'Priority', kind: 'select', options: ['0', '1', '2', '3', '4'].map((value) => ({ value, label: `${value}${{ 0: ' – first', 2: ' – normal', 4: ' – last' }[value] ?? ''}` })) },
      { name: 'agentWorkspace', label: 'Workspace', hint: 'A directory of this machine. Without one, the increment gets a new directory.' },
    ],
    extra: (/** @type {any} */ value, /** @type {() => void} */ update) => props.others.length > 0 && h('fieldset', { class: 'field group' }, h('legend', null, 'Starts after'),
      h('div', { class: 'choices tall' }, props.others.map((/** @type {Increment} */ other) => h('label', { key: other.id, class: 'row nowrap' }, h('input', { type: 'checkbox', checked: value.dependsOn.includes(other.id), onchange: (/** @type {any} */ event) => {
        value.dependsOn = event.target.checked ? [...value.dependsOn, other.id] : value.dependsOn.filter((/** @type {string} */ id) => id !== other.id);
        update();
      } }), h('span', { class: 'clip', title: other.title }, other.title))))),
    submit: async (/** @type {any} */ value) => {
      const { data } = await post(p`/api/increments`, { title: value.title ?? '', description: value.description ?? '', testCommand: value.testCommand || null, dependsOn: value.dependsOn,
        specialistTags: (value.specialistTags ?? '').split(/[\s,]+/).filter(Boolean), priority: Number(value.priority), agentWorkspace: value.agentWorkspace || null });
      toast('Increment created');
      return data;
    },
  });
}

/** Opens the form for a new increment, then its page. @param {Increment[]} others those that it can wait for */
export async function createIncrement(others) {
  const made = await openDialog(CreateIncrement, { others: others.filter((one) => one.state !== 'done').slice(0, 50) });
  if (made) navigate(`/increments/${made.id}`);
}

/** @param {Increment} increment */
export async function retryIncrement(increment) {
  await post(p`/api/increments/${increment.id}/retry`);
  toast('The increment continues');
}
