// The actions on tasks that several views offer: create one, hand it to an agent, set its status, cancel its agent.

import { p, post, put } from '../lib/api.js';
import { navigate } from '../lib/router.js';
import { shorten } from '../lib/text.js';
import { h } from '../lib/view.js';
import { badge } from './badges.js';
import { ask, openDialog } from './dialog.js';
import { Form } from './form.js';
import { toast } from './toast.js';

const PRIORITIES = [{ value: '1', label: 'P1 – urgent' }, { value: '2', label: 'P2 – normal' }, { value: '3', label: 'P3 – low' }];

/** @param {import('../lib/view.js').Self} _self */
function CreateTask(_self) {
  return (/** @type {any} */ props) => h(Form, {
    ...props, title: 'Create a task', action: 'Create', value: { priority: '2' },
    fields: [
      { name: 'description', label: 'Description', kind: 'area', rows: 5, required: true, autofocus: true, hint: 'What should be done. Ctrl+Enter creates the task.' },
      { name: 'agentName', label: 'Hand it to', kind: 'agent', optional: 'nobody yet' },
      { name: 'agentRole', label: 'Or to any agent with the role', list: ['implementation', 'testing', 'fixing', 'verification'], hint: 'The router finds the best free agent.' },
      { name: 'priority', label: 'Priority', kind: 'select', options: PRIORITIES },
      { name: 'agentWorkspace', label: 'Workspace', hint: 'A directory of this machine. Without one, the task gets a new directory.' },
    ],
    submit: async (/** @type {any} */ value) => {
      const { data } = await post(p`/api/tasks`, {
        description: value.description, agentRole: value.agentRole || null, priority: Number(value.priority), agentWorkspace: value.agentWorkspace || null,
      });
      if (value.agentName) await post(p`/api/tasks/${data.id}/handoff`, { agentName: value.agentName, prompt: 'Complete this task.' });
      toast('Task created', { action: { label: 'Open', run: () => navigate(`/tasks/${data.id}`) } });
      return data;
    },
  });
}

/** Opens the form for a new task; resolves with the task. @returns {Promise<any>} */
export const createTask = () => openDialog(CreateTask);

/** @param {import('../lib/view.js').Self} _self */
function HandOff(_self) {
  return (/** @type {any} */ props) => h(Form, {
    ...props, title: 'Hand off', action: 'Hand off', intro: shorten(props.task.description, 200), value: { agentName: props.agentName ?? '', prompt: props.prompt ?? '', resume: props.resume ?? false },
    fields: [
      { name: 'agentName', label: 'Agent', kind: 'agent', required: true, optional: 'Choose an agent', autofocus: !props.agentName },
      { name: 'prompt', label: 'Prompt', kind: 'area', rows: 5, required: true, autofocus: Boolean(props.agentName), hint: 'What the agent should do now. It gets the task, its files and earlier results anyway.' },
      { name: 'reason', label: 'Reason', hint: 'Kept in the history.' },
      { name: 'resume', label: 'Continue the agent’s last session on this task, where its provider can', kind: 'check' },
    ],
    submit: async (/** @type {any} */ value) => {
      await post(p`/api/tasks/${props.task.id}/handoff`, { agentName: value.agentName, prompt: value.prompt, reason: value.reason || null, resume: value.resume });
      toast(`Handed to ${value.agentName}`);
    },
  });
}

/** Opens the form for a hand-off. @param {{ id: string, description: string }} task @param {{ agentName?: string, prompt?: string, resume?: boolean }} [preset] */
export const handOff = (task, preset = {}) => openDialog(HandOff, { task, ...preset });

/** Hands a task to an agent at once, with the standard prompt. @param {{ id: string }} task @param {string} agentName */
export async function handOffNow(task, agentName) {
  await post(p`/api/tasks/${task.id}/handoff`, { agentName, prompt: 'Complete this task.' });
  toast(`Handed to ${agentName}`);
}

/** @param {import('../lib/view.js').Self} _self */
function Fail(_self) {
  return (/** @type {any} */ props) => h(Form, {
    ...props, title: 'Set the status to failed', action: 'Set to failed', danger: true,
    fields: [{ name: 'message', label: 'What went wrong', kind: 'area', required: true, autofocus: true }],
    submit: (/** @type {any} */ value) => put(p`/api/tasks/${props.task.id}/status`, { status: { type: 'failed', message: value.message } }),
  });
}

/** Sets a status; `failed` asks for the message. Resolves to whether it was set. @param {{ id: string }} task @param {string} status @returns {Promise<boolean>} */
export async function setStatus(task, status) {
  if (status === 'failed') return Boolean(await openDialog(Fail, { task }));
  await put(p`/api/tasks/${task.id}/status`, { status });
  return true;
}

/** @param {{ id: string, currentAgent?: string | null }} task */
export async function cancelAgent(task) {
  const agent = task.currentAgent ?? 'the agent';
  if (!await ask({ title: `Stop ${agent}?`, text: `The hand-off ends as cancelled. What ${agent} has written so far is kept.`, action: 'Stop', danger: true })) return;
  await post(p`/api/tasks/${task.id}/handoff/cancel`, { reason: 'Cancelled on the page' });
  toast(`${agent} is being stopped`);
}

/** @param {number} number */
export const childrenBadge = (number) => (number ? badge(`${number} below`, 'plain') : null);
