// A list that grows by pages: `const requests = self.use(paged(p`/api/requests`, { newest: true }, { concerns }))`. Its data is `{ items, next }`;
// a reload loads as many items as are shown. `more(list)` below the items loads the next page when it comes into view.

import { get, withQuery } from '../lib/api.js';
import { resource } from '../lib/store.js';
import { h } from '../lib/view.js';
import { Button, complain } from './button.js';

const PAGE = 50;
const LARGEST = 1000;
/** How far below the screen the next page is loaded, in pixels. */
const NEAR = 400;

/** @typedef {import('../lib/store.js').Resource} Resource */

/** @type {WeakMap<Resource, (after: string | null, wanted: number, signal?: AbortSignal) => Promise<{ data: { items: any[], next: string | null }, meta: any }>>} */
const loaders = new WeakMap();

/**
 * @param {string} path @param {Record<string, any>} [parameters]
 * @param {{ concerns?: (event: import('../lib/events.js').ChorusEvent, data: any) => boolean }} [options]
 * @returns {Resource}
 */
export function paged(path, parameters = {}, { concerns } = {}) {
  const read = async (/** @type {string | null} */ after, /** @type {number} */ wanted, /** @type {AbortSignal | undefined} */ signal = undefined) => {
    /** @type {any[]} */
    const items = [];
    let next = after;
    let first = null;
    do {
      const { data, meta } = await get(withQuery(path, { ...parameters, limit: Math.min(wanted - items.length, LARGEST), after: next }), signal);
      items.push(...data);
      next = meta.next ?? null;
      first ??= meta;
    } while (next && items.length < wanted);
    return { data: { items, next }, meta: first };
  };
  /** @type {Resource} */
  const list = resource(`list ${withQuery(path, parameters)}`, { concerns, load: (signal) => read(null, Math.max(PAGE, list.data?.items.length ?? 0), signal) });
  loaders.set(list, read);
  return list;
}

/** @type {WeakSet<Resource>} */
const growing = new WeakSet();

/** Loads the next page of a list. @param {Resource} list */
async function grow(list) {
  const next = list.data?.next;
  if (!next || growing.has(list)) return;
  growing.add(list);
  try {
    const page = await loaders.get(list)?.(next, PAGE);
    list.mutate((now) => {
      const known = new Set(now.items.map((/** @type {any} */ item) => item.id));
      return { items: [...now.items, ...(page?.data.items ?? []).filter((item) => !known.has(item.id))], next: page?.data.next ?? null };
    });
  } finally {
    growing.delete(list);
  }
}

/** The end of a list: loads the next page, also after a reload that has cut the list. @param {Resource} list */
export const more = (list) => h(More, { list, next: list.data?.next ?? null, count: list.data?.items.length });

/** @param {import('../lib/view.js').Self} self */
function More(self) {
  const follow = () => {
    const isNear = self.isMounted && self.el.getBoundingClientRect().top < innerHeight + NEAR;
    if (isNear) grow(self.props.list).catch(complain);
  };
  self.onMount((el) => {
    const watch = new IntersectionObserver(follow, { rootMargin: `${NEAR}px` });
    watch.observe(el);
    return () => watch.disconnect();
  });
  return (/** @type {{ list: Resource, next: string | null }} */ { list, next }) => {
    // A short page leaves the end in view, and the observer silent.
    setTimeout(follow);
    return h('div', { class: 'more' }, next ? h(Button, { label: 'Show more', small: true, run: () => grow(list) }) : null);
  };
}
