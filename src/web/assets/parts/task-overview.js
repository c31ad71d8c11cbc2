// The overview of a task: its description, plan, needs, context and figures.

import { p, patch } from '../lib/api.js';
import { markdown } from '../lib/markdown.js';
import { snapshot } from '../lib/store.js';
import { counted, dollars } from '../lib/text.js';
import { duration, exact } from '../lib/time.js';
import { h } from '../lib/view.js';
import { badge } from './badges.js';
import { Button } from './button.js';
import { variablesOf } from './chain.js';
import { openDialog } from './dialog.js';
import { Form } from './form.js';
import { facts, section } from './page.js';

/** @param {import('../lib/view.js').Self} _self */
function Needs(_self) {
  return (/** @type {any} */ props) => h(Form, {
    ...props, title: 'What the task needs', action: 'Save',
    value: { agentRole: props.task.agentRole ?? '', specialistTags: props.task.specialistTags.join(', '), priority: String(props.task.priority), estimatedDuration: props.task.estimatedDuration ?? '' },
    fields: [
      { name: 'agentRole', label: 'Role', hint: 'The router hands the task to an agent with this role. Empty: nobody by itself.', list: ['implementation', 'testing', 'fixing', 'verification'] },
      { name: 'specialistTags', label: 'Skills', hint: 'Separated by commas' },
      { name: 'priority', label: 'Priority', kind: 'select', options: ['0', '1', '2', '3', '4'].map((value) => ({ value, label: `P${value}` })) },
      { name: 'estimatedDuration', label: 'Estimate in minutes', kind: 'number', min: 1 },
    ],
    submit: (/** @type {any} */ value) => patch(p`/api/tasks/${props.task.id}`, {
      agentRole: value.agentRole || null, specialistTags: value.specialistTags.split(',').map((/** @type {string} */ tag) => tag.trim()).filter(Boolean),
      priority: Number(value.priority), estimatedDuration: value.estimatedDuration ? Number(value.estimatedDuration) : null,
    }),
  });
}

/** @param {string} title @param {string[]} list */
const points = (title, list) => list?.length > 0 && h('div', { class: 'stack', key: title }, h('h3', null, title), h('ul', { class: 'points' }, list.map((text, at) => h('li', { key: at }, markdown(text)))));

/** @param {string} title @param {any} value */
const object = (title, value) => value && Object.keys(value).length > 0 && section({ title, id: title.replaceAll(' ', '-') }, h('pre', { class: 'code', tabindex: 0 }, JSON.stringify(value, null, 2)));

/** @param {import('../lib/view.js').Self} self */
export function Overview(self) {
  const usage = self.use(snapshot(p`/api/tasks/${self.props.task.id}/usage`, { concerns: (event) => event.eventType.startsWith('agent_handoff_') }));
  return (/** @type {{ task: any }} */ { task }) => {
    const used = usage.data;
    return h('div', { class: 'stack' },
      section({ title: 'Description' }, h('div', { class: 'panel' }, markdown(task.description))),
      task.taskType === 'planned' && section({ title: 'Plan' }, h('div', { class: 'panel stack' }, task.summary && markdown(task.summary), points('Requirements', task.requirements),
        points('Acceptance criteria', task.acceptanceCriteria), points('Steps', task.plan))),
      section({ title: 'Facts', actions: h(Button, { label: 'Edit needs', small: true, run: () => openDialog(Needs, { task }) }) }, h('div', { class: 'panel' }, facts([
        ['Workspace', h('code', null, task.agentWorkspace)], ['Role', task.agentRole], ['Skills', task.specialistTags.length ? h('span', { class: 'row' }, task.specialistTags.map((/** @type {string} */ tag) => badge(tag, 'plain'))) : null],
        ['Priority', `P${task.priority}`], ['Estimate', task.estimatedDuration && `${task.estimatedDuration} minutes`],
        ['Waits for', task.dependsOn?.length ? task.dependsOn.map((/** @type {any} */ one) => h('a', { key: one.taskId ?? one, href: `/tasks/${one.taskId ?? one}` }, 'task ', String(one.taskId ?? one).slice(-8), ' ')) : null],
        ['Source', `${task.source?.sourceType ?? ''}${task.source?.userId ? ` (${task.source.userId})` : ''}`], ['Created', exact(task.createdAt)], ['Changed', exact(task.updatedAt)],
        ['Used', used && `${counted(used.runs, 'run')}, ${duration(used.durationMs)}, ${used.inputTokens.toLocaleString()} tokens in, ${used.outputTokens.toLocaleString()} out${dollars(used.costUsd) ? `, ${dollars(used.costUsd)}` : ''}`],
        ['Id', h('code', null, task.id)]]))),
      object('Context variables', Object.fromEntries(variablesOf(task.context))), object('Context from earlier work', task.agentContext), object('Hand-off instructions', task.handoffInstructions));
  };
}
