// The output of an agent: its messages, live, and the raw log of its program, followed while it runs.

import { call, get, p, withQuery } from '../lib/api.js';
import { navigate } from '../lib/router.js';
import { resource } from '../lib/store.js';
import { exact } from '../lib/time.js';
import { h } from '../lib/view.js';
import { words } from './badges.js';
import { LogView } from './log.js';
import { VirtualList } from './list.js';
import { grouped, message } from './message.js';
import { Prompt } from './prompt.js';
import { empty, failed, loaded } from './states.js';
import { handoffsOf } from './task-data.js';

/** The most characters of a log that are kept. */
const LONGEST = 4_000_000;

/** All messages of a task, new ones appended. @param {string} id */
export function messagesOf(id) {
  const load = async (/** @type {number} */ after, /** @type {AbortSignal} */ signal) => {
    const found = [];
    let meta;
    for (let next = after; ;) {
      const page = await get(withQuery(p`/api/tasks/${id}/messages`, { limit: 1000, after: next || undefined }), signal);
      found.push(...page.data);
      meta ??= page.meta;
      if (!page.meta.next) return { data: found, meta };
      next = page.meta.next;
    }
  };
  /** @type {import('../lib/store.js').Resource} */
  const all = resource(`messages ${id}`, {
    load: async (signal) => {
      const known = all.data ?? [];
      const { data, meta } = await load(known.at(-1)?.number ?? 0, signal);
      return { data: [...known, ...data], meta };
    },
    concerns: (event) => event.taskId === id && event.eventType === 'message_added',
  });
  return all;
}

/** The raw output of a hand-off's program. @param {import('../lib/view.js').Self} self */
function Log(self) {
  let text = '';
  let error = /** @type {any} */ (null);
  let isOpen = true;
  const { handoff, stream, isRunning } = self.props;
  const controller = new AbortController();
  self.onUnmount(() => { isOpen = false; controller.abort(); });
  const read = async () => {
    const response = await call(withQuery(p`/api/handoffs/${handoff}/log`, { stream, follow: isRunning }), { signal: controller.signal });
    const reader = /** @type {ReadableStream<any>} */ (response.body).pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done || !isOpen) return;
      text = (text + value).slice(-LONGEST);
      self.update();
    }
  };
  self.onMount(() => { read().catch((failure) => { if (isOpen && failure.status !== 416) { error = failure; self.update(); } }); });
  return () => (error && error.status !== 404 ? failed(error)
    : text ? h(LogView, { text, label: `Log: ${stream}`, follow: true }) : empty({ title: error ? 'This agent has not run' : 'Nothing yet', text: error ? error.message : 'What the program prints appears here.' }));
}

const VIEWS = [['', 'Messages'], ['stdout', 'Raw output'], ['stderr', 'Errors of the program']];

/** @param {import('../lib/view.js').Self} self */
export function Output(self) {
  const { id } = self.props;
  const hops = self.use(handoffsOf(id));
  const messages = self.use(messagesOf(id));
  let view = '';
  return (/** @type {{ id: string, handoff: string | null }} */ { handoff }) => loaded(hops, (list) => {
    if (!list.length) return empty({ icon: 'play', title: 'No agent has run', text: 'Hand the task to an agent to see its output here.' });
    const hop = list.find((/** @type {any} */ one) => one.id === handoff) ?? list.at(-1);
    const own = grouped((messages.data ?? []).filter((/** @type {any} */ one) => one.handoffId === hop.id));
    return h('div', { class: 'stack' },
      h('div', { class: 'row' },
        h('label', { class: 'tool-field' }, 'Hand-off', h('select', { value: hop.id, onchange: (/** @type {any} */ event) => navigate(`/tasks/${id}?tab=output&handoff=${event.target.value}`, { replace: true }) },
          list.map((/** @type {any} */ one) => h('option', { key: one.id, value: one.id }, `${one.agentName}, ${exact(one.startedAt)}, ${words(one.outcome ?? 'working')}`)))),
        h('div', { class: 'segments', role: 'group', 'aria-label': 'What to show' }, VIEWS.map(([name, label]) => h('button', {
          key: name, type: 'button', 'aria-pressed': String(view === name), onclick: () => { view = name; self.update(); } }, label))),
        h(Prompt, { handoff: hop.id })),
      view ? h(Log, { key: `${hop.id} ${view}`, handoff: hop.id, stream: view, isRunning: !hop.completedAt })
        : own.length ? h(VirtualList, { key: `${hop.id} messages`, items: own, keyOf: (/** @type {any} */ one) => one.number, row: (/** @type {any} */ one) => message(one, { isFollowUp: one.isFollowUp }), estimate: 80, label: 'Messages', class: 'output-messages', stick: true })
          : empty({ title: 'Nothing said yet', text: 'What the agent says appears here while it works.' }));
  });
}
