// Requests: their states in words, what can be done with one in each state, its life and its recovery.

import { p, post } from '../lib/api.js';
import { shorten } from '../lib/text.js';
import { Ago } from '../lib/time.js';
import { h } from '../lib/view.js';
import { agentChip, badge, words } from './badges.js';
import { openDialog } from './dialog.js';
import { Form } from './form.js';
import { toast } from './toast.js';

/** @typedef {'needs' | 'delegated' | 'next' | 'claimed' | 'done'} State */
/** @typedef {{ from: State | null, to: State, by: string, at: number, reason: string | null }} Transition */
/** @typedef {{ date: number, reason: string, earlierRun: string | null, action: string }} Recovery */
/** @typedef {{ id: string, title: string, body: string, kind: string, state: State, priority: string, effort: string | null, taskId: string | null, response: string | null,
 *   source: { sourceType: string, taskId: string | null, file?: string, line?: number, userId?: string }, attempts: number, stuck: boolean,
 *   lease: { agent: string, fencing: number, expiresAt: number } | null, transitions: Transition[], recovery: Recovery[], createdAt: number, updatedAt: number,
 *   approvedAt: number | null, withdrawnAt: number | null, handoffId: string | null, jobId: string | null, agentWorkspace: string | null }} Request */
/** @typedef {{ label: string, run: () => any, kind?: 'main' | 'plain' | 'danger', hint?: string }} Action */

/** The states in the order of a request's life. @type {Record<string, { label: string, hint: string, tone: string }>} */
export const STATES = {
  needs: { label: 'needs you', hint: 'You decide whether it is done.', tone: 'warn' },
  delegated: { label: 'approved', hint: 'The dispatcher starts an agent as soon as one is free.', tone: 'live' },
  next: { label: 'for the next worker', hint: 'Any worker may claim it.', tone: 'live' },
  claimed: { label: 'in progress', hint: 'A worker holds a lease on it.', tone: 'live' },
  done: { label: 'done', hint: 'It has a response.', tone: 'good' },
};

/** @param {Request} request */
export const stateBadge = ({ state, stuck, withdrawnAt }) => (withdrawnAt ? badge('tag removed', 'plain') : stuck ? badge('stuck', 'bad') : badge(STATES[state].label, STATES[state].tone));

export const concernsRequests = (/** @type {import('../lib/events.js').ChorusEvent} */ event) => event.eventType.startsWith('request_');

/** @param {import('../lib/view.js').Self} _self */
function CreateRequest(_self) {
  return (/** @type {any} */ props) => h(Form, {
    ...props, title: 'Leave work for later', action: 'Create', value: { priority: 'P2', effort: '' },
    fields: [
      { name: 'title', label: 'Title', required: true, autofocus: true },
      { name: 'body', label: 'What should be done', kind: 'area', rows: 6, hint: 'Markdown. The agent gets it as its task.' },
      { name: 'kind', label: 'Kind', required: true, list: props.kinds, hint: 'The kind chooses the agent: lowercase letters, digits and -.' },
      { name: 'priority', label: 'Priority', kind: 'select', options: [{ value: 'P0', label: 'P0 – first' }, { value: 'P1', label: 'P1 – soon' }, { value: 'P2', label: 'P2 – normal' }] },
      { name: 'effort', label: 'Effort', kind: 'select', optional: 'not estimated', options: [{ value: 'S', label: 'S – small' }, { value: 'M', label: 'M – medium' }, { value: 'L', label: 'L – large' }] },
      { name: 'agentWorkspace', label: 'Workspace', hint: 'A directory of this machine. Without one, the work gets a new directory.' },
    ],
    submit: async (/** @type {any} */ value) => {
      const { data } = await post(p`/api/requests`, { title: value.title ?? '', body: value.body ?? '', kind: value.kind ?? '', priority: value.priority, effort: value.effort || null, agentWorkspace: value.agentWorkspace || null });
      toast('Request created');
      return data;
    },
  });
}

/** @param {string[]} kinds @returns {Promise<any>} */
export const createRequest = (kinds) => openDialog(CreateRequest, { kinds });

/** @param {import('../lib/view.js').Self} _self */
function Finish(_self) {
  return (/** @type {any} */ props) => {
    const { request } = props;
    return h(Form, {
      ...props, title: request.state === 'needs' ? 'Close the request' : 'Finish the request', action: 'Done', intro: shorten(request.title, 200),
      fields: [{ name: 'response', label: 'Response', kind: 'area', rows: 6, required: true, autofocus: true,
        hint: request.state === 'needs' ? 'Why it is not needed, or what you have done yourself.' : 'What was done. If an agent still works on it, its run is stopped.' }],
      submit: async (/** @type {any} */ value) => {
        await post(p`/api/requests/${request.id}/done`, { response: value.response ?? '', fencing: request.lease?.fencing });
        toast('The request is done');
      },
    });
  };
}

/** @param {import('../lib/view.js').Self} _self */
function Requeue(_self) {
  return (/** @type {any} */ props) => h(Form, {
    ...props, title: 'Return it to you', action: 'Return', danger: true, intro: 'The work on it ends, and its run is stopped. Then you decide again.',
    fields: [{ name: 'reason', label: 'Reason', kind: 'area', required: true, autofocus: true, hint: 'Shown in the life of the request.' }],
    submit: async (/** @type {any} */ value) => {
      await post(p`/api/requests/${props.request.id}/requeue`, { reason: value.reason ?? '', fencing: props.request.lease?.fencing });
      toast('The request needs a decision again');
    },
  });
}

/** @param {Request} request */
export const finishRequest = (request) => openDialog(Finish, { request });
/** @param {Request} request */
export const requeueRequest = (request) => openDialog(Requeue, { request });

/** What a person can do with a request now; the first action is the usual one. @param {Request} request @returns {Action[]} */
export function actionsOf(request) {
  const act = (/** @type {() => Promise<any>} */ run, /** @type {string} */ said) => async () => {
    await run();
    toast(said);
  };
  const close = { label: 'Close…', hint: 'With a response, without an agent', run: () => finishRequest(request) };
  if (request.withdrawnAt) return request.state === 'needs' ? [close] : [];
  switch (request.state) {
    case 'needs': return [
      { label: request.stuck ? 'Try again' : 'Approve', kind: 'main', hint: 'Lets the dispatcher start an agent', run: act(() => post(p`/api/requests/${request.id}/approve`), 'Approved') },
      { label: 'Next', hint: 'Leaves it to the next worker that claims it', run: act(() => post(p`/api/requests/${request.id}/next`), 'Left to the next worker') }, close];
    case 'delegated':
    case 'next': return [{ label: 'Withdraw', hint: 'Takes the approval back', run: act(() => post(p`/api/requests/${request.id}/withdraw`), 'The approval is taken back') }];
    case 'claimed': return [{ label: 'Done…', hint: 'Finish it with a response', run: () => finishRequest(request) }, { label: 'Return…', hint: 'Stops the work; you decide again', run: () => requeueRequest(request) }];
    default: return [];
  }
}

/** Where a request comes from. @param {Request} request */
export function sourceOf({ source }) {
  if (source.taskId) return h('a', { href: `/tasks/${source.taskId}` }, 'a task');
  if (source.file) return h('code', null, `${source.file}${source.line ? `:${source.line}` : ''}`);
  return source.userId ?? words(source.sourceType);
}

/** The changes of state as a line from the first to the last. @param {Request} request */
export const life = ({ transitions }) => h('ol', { class: 'life' }, transitions.map((one, at) => h('li', { key: at, class: STATES[one.to]?.tone },
  h('p', { class: 'row' }, badge(STATES[one.to]?.label ?? one.to, STATES[one.to]?.tone), h('span', { class: 'muted' }, 'by'), h('bdi', null, one.by), h(Ago, { at: one.at })),
  one.reason && h('p', { class: 'muted pre-line' }, one.reason))));

/** The failed claims, with what happened then. @param {Request} request */
export const recoveries = ({ recovery }) => h('ol', { class: 'life' }, recovery.map((one, at) => h('li', { key: at, class: 'bad' },
  h('p', { class: 'row' }, badge(`attempt ${at + 1} failed`, 'bad'), h(Ago, { at: one.date })), h('p', { class: 'pre-line' }, one.reason), h('p', { class: 'muted' }, one.action))));

/** Who holds the lease. @param {Request} request */
export const holder = ({ lease }) => lease && h('span', { class: 'row' }, agentChip(lease.agent, { working: true }), h(Ago, { at: lease.expiresAt, prefix: 'lease ends ' }));
