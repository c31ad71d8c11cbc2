// The history of a task: every event, oldest first, new ones as they happen.

import { get, p, withQuery } from '../lib/api.js';
import { resource } from '../lib/store.js';
import { Ago } from '../lib/time.js';
import { h } from '../lib/view.js';
import { words } from './badges.js';
import { VirtualList } from './list.js';
import { empty, loaded } from './states.js';

/** @param {string} id */
const historyOf = (id) => resource(`history ${id}`, {
  load: async (signal) => {
    const found = [];
    let meta;
    for (let after; ;) {
      const page = await get(withQuery(p`/api/tasks/${id}/history`, { after }), signal);
      found.push(...page.data.events);
      meta ??= page.meta;
      after = page.meta.next;
      if (!after) return { data: found, meta };
    }
  },
  apply: (data, event) => (event.taskId === id ? [...data, event] : data),
});

/** @param {import('../lib/view.js').Self} self */
export function History(self) {
  const events = self.use(historyOf(self.props.id));
  return () => loaded(events, (list) => {
    if (!list.length) return empty({ title: 'No events yet' });
    const rows = list.map((/** @type {any} */ event, /** @type {number} */ at) => ({ ...event, at }));
    return h(VirtualList, { items: rows, keyOf: (/** @type {any} */ event) => event.at, estimate: 40, label: 'History', class: 'history panel', row: (/** @type {any} */ event) => h('div', { key: event.at, class: 'event' },
      h(Ago, { at: event.timestamp }), h('div', { class: 'event-body' }, h('span', { class: 'event-type' }, words(event.eventType)),
        h('span', { class: 'event-data' }, Object.entries(event.data).map(([name, value]) => h('span', { key: name, class: 'event-datum' }, h('span', { class: 'muted' }, `${name} `), String(value)))))) });
  });
}
