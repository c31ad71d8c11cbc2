// The kinds of what needs a person: their words, their actions, and their details.

import { get, p, post, put } from '../lib/api.js';
import { markdown } from '../lib/markdown.js';
import { resource } from '../lib/store.js';
import { h } from '../lib/view.js';
import { facts } from './page.js';
import { loaded } from './states.js';
import { handOff, setStatus } from './tasks.js';
import { toast } from './toast.js';

/** @typedef {{ kind: string, id: string, at: number, title: string, reason: string | null, taskId: string | null, requestId: string | null,
 *   incrementId: string | null, alertId: string | null, mailId: string | null, handoffId: string | null, agentName: string | null, priority: string | null }} Item */
/** @typedef {{ label: string, run?: () => any, href?: string, kind?: 'main' | 'plain', hint?: string }} Action */

/** @type {Record<string, { label: string, icon: string, tone?: string }>} */
export const KINDS = {
  request: { label: 'Request', icon: 'requests' },
  stuckRequest: { label: 'Stuck request', icon: 'requests', tone: 'bad' },
  blockedTask: { label: 'Blocked task', icon: 'blocked', tone: 'warn' },
  blockedIncrement: { label: 'Blocked increment', icon: 'increments', tone: 'warn' },
  alert: { label: 'Alert', icon: 'alert', tone: 'bad' },
  mail: { label: 'Mail', icon: 'mail' },
  overdueAcknowledgement: { label: 'Acknowledgement overdue', icon: 'clock', tone: 'warn' },
  failedRun: { label: 'Failed run', icon: 'alert', tone: 'bad' },
};

/** @param {Item} item */
export function linkOf(item) {
  if (item.kind === 'mail' || item.kind === 'overdueAcknowledgement') return `/mail/${item.mailId}`;
  if (item.kind === 'blockedIncrement') return `/increments/${item.incrementId}`;
  if (item.requestId) return `/requests/${item.requestId}`;
  return item.taskId ? `/tasks/${item.taskId}` : undefined;
}

/** Hands a failed task to the same agent again, with the same words. @param {Item} item */
async function retry(item) {
  const { data } = await get(p`/api/handoffs/${item.handoffId}`);
  await post(p`/api/tasks/${item.taskId}/handoff`, { agentName: data.agentName, prompt: data.prompt, reason: 'Tried again' });
  toast(`${data.agentName} tries again`);
}

/** @param {Item} item @param {() => void} done @returns {Action[]} */
export function actionsOf(item, done) {
  const act = (/** @type {() => Promise<any>} */ run, /** @type {string} */ said) => async () => {
    await run();
    if (said) toast(said);
    done();
  };
  /** Runs something that a person can leave without a decision. @param {() => Promise<any>} run */
  const choose = (run) => async () => { if (await run()) done(); };
  const task = { id: item.taskId ?? '', description: item.title };
  switch (item.kind) {
    case 'request':
    case 'stuckRequest': return [
      { label: item.kind === 'request' ? 'Approve' : 'Try again', kind: 'main', hint: 'Lets the dispatcher start an agent', run: act(() => post(p`/api/requests/${item.requestId}/approve`), `Approved: ${item.title}`) },
      { label: 'Next', hint: 'Leaves it to the next worker that claims it', run: act(() => post(p`/api/requests/${item.requestId}/next`), 'Left to the next worker') },
    ];
    case 'blockedTask': return [
      { label: 'Route again', kind: 'main', hint: 'Lets the router choose an agent', run: act(() => post(p`/api/tasks/${item.taskId}/route`), 'Routed') },
      { label: 'Hand off…', run: choose(() => handOff(task)) },
    ];
    case 'blockedIncrement': return [
      { label: 'Retry', kind: 'main', run: act(() => post(p`/api/increments/${item.incrementId}/retry`), 'The increment continues') },
    ];
    case 'alert': return [{ label: 'Resolve', kind: 'main', run: act(() => post(p`/api/alerts/${item.alertId}/resolve`), 'Alert resolved') }];
    case 'mail': return [
      { label: 'Mark as read', kind: 'main', run: act(() => post(p`/api/mail/${item.mailId}/read`, { recipient: 'operator' }), '') },
      { label: 'Answer', href: `/mail/${item.mailId}` },
    ];
    case 'overdueAcknowledgement': return [
      { label: item.agentName ? `Acknowledge for ${item.agentName}` : 'Acknowledge', kind: 'main',
        run: act(() => post(p`/api/mail/${item.mailId}/ack`, item.agentName ? { recipient: item.agentName } : {}), 'Acknowledged') },
    ];
    case 'failedRun': return [
      { label: 'Try again', kind: 'main', run: act(() => retry(item), '') },
      { label: 'Hand off…', run: choose(() => handOff(task)) },
      { label: 'Give up…', hint: 'Set the status of the task to failed', run: choose(() => setStatus(task, 'failed')) },
      { label: 'Done', hint: 'Set the status of the task to completed', run: act(() => put(p`/api/tasks/${item.taskId}/status`, { status: 'completed' }), 'The task is completed') },
    ];
    default: return [];
  }
}

/** @param {Item} item */
function source(item) {
  if (item.requestId) return p`/api/requests/${item.requestId}`;
  if (item.mailId) return p`/api/mail/${item.mailId}`;
  if (item.alertId) return p`/api/alerts/${item.alertId}`;
  if (item.handoffId) return p`/api/handoffs/${item.handoffId}`;
  if (item.incrementId) return p`/api/increments/${item.incrementId}`;
  return p`/api/tasks/${item.taskId}`;
}

/** What a person needs to know for the decision. @param {import('../lib/view.js').Self} self */
export function Details(self) {
  const item = /** @type {Item} */ (self.props.item);
  const path = source(item);
  const found = self.use(resource(`details ${path}`, { load: (signal) => get(path, signal), concerns: (event) => event.requestId === item.requestId && Boolean(item.requestId) }));
  return () => h('div', { class: 'need-details' }, loaded(found, (data) => {
    if (item.requestId) {
      return [data.body ? markdown(data.body) : h('p', { class: 'muted' }, 'The request has no text.'),
        facts([['Kind', data.kind], ['Effort', data.effort], ['Attempts', data.attempts || null], ['From', data.source?.agentName ?? data.source?.file ?? data.source?.type],
          ['Task', data.taskId && h('a', { href: `/tasks/${data.taskId}` }, 'open the task')]]),
        data.recovery?.length ? h('p', { class: 'error' }, data.recovery.at(-1).reason ?? '') : null];
    }
    if (item.mailId) return [facts([['From', data.from], ['To', data.to.join(', ')]]), markdown(data.body)];
    if (item.alertId) return [h('p', { class: 'pre-line' }, data.message), facts([['Raised by', data.raisedBy], ['File', data.file && `${data.file}${data.line ? `:${data.line}` : ''}`]])];
    if (item.handoffId) {
      return [facts([['Agent', data.agentName], ['Outcome', data.outcome], ['Error', data.error]]), data.output && h('pre', { class: 'code', tabindex: 0 }, data.output)];
    }
    return markdown(data.description ?? '');
  }));
}
