// The data of the page: one `Resource` for each snapshot that the page shows, kept up to date by the event stream.
//
//   const board = self.use(resource('board', {
//     load: (signal) => get(p`/api/board`, signal),             // {data, meta}; meta.event is the event that the snapshot includes
//     apply: (data, event) => data,                             // optional: the data after an event, or RELOAD
//   }));
//   board.data, board.error, board.isLoading
//
// `apply` makes the page as fast as the stream; without it, each event loads the snapshot again (name the events that matter with
// `concerns`). Reloads are taken together: the slower the answers, the longer the pause between them.

import { get, session } from './api.js';
import { stream } from './events.js';

/** Returned by `apply` where an event says too little. */
export const RELOAD = Symbol('reload');

const TOGETHER = 150;
const LONGEST_PAUSE = 5000;
/** How long data without a view is kept for a quick way back. */
const KEPT = 20000;

/** @typedef {import('./events.js').ChorusEvent} ChorusEvent */
/**
 * @typedef {object} Options
 * @property {(signal: AbortSignal) => Promise<{ data: any, meta?: any }>} load
 * @property {(data: any, event: ChorusEvent, meta: any) => any} [apply]
 * @property {(event: ChorusEvent, data: any) => boolean} [concerns]
 */

/** @type {Map<string, Resource>} */
const resources = new Map();

export class Resource {
  /** @param {string} key @param {Options} options */
  constructor(key, options) {
    this.key = key;
    this.options = options;
    /** @type {any} */
    this.data = undefined;
    /** @type {any} */
    this.meta = null;
    /** @type {any} */
    this.error = null;
    this.isLoading = false;
    /** The last event that the data includes. */
    this.event = -1;
    this.isStale = true;
    /** @type {Set<() => void>} */
    this.listeners = new Set();
    /** Events that arrived while the data was loading. @type {ChorusEvent[]} */
    this.missed = [];
    this.pause = TOGETHER;
    this.loadedAt = 0;
    /** @type {any} */
    this.timer = null;
    /** @type {any} */
    this.forget = null;
    this.controller = new AbortController();
  }

  /** @param {() => void} listener */
  subscribe(listener) {
    clearTimeout(this.forget);
    this.listeners.add(listener);
    if (this.isStale || this.error) this.reload();
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) this.forget = setTimeout(() => this.drop(), KEPT);
    };
  }

  drop() {
    resources.delete(this.key);
    clearTimeout(this.timer);
    this.controller.abort();
  }

  changed() { for (const listener of [...this.listeners]) listener(); }

  /** Changes the data before the server has confirmed it. @param {(data: any) => any} change */
  mutate(change) {
    if (this.data === undefined) return;
    this.data = change(this.data);
    this.changed();
  }

  /** Loads the data again, soon. */
  reload() {
    this.isStale = true;
    if (this.isLoading || this.timer !== null) return;
    const since = Date.now() - this.loadedAt;
    if (since >= this.pause) this.load();
    else this.timer = setTimeout(() => this.load(), this.pause - since);
  }

  async load() {
    clearTimeout(this.timer);
    this.timer = null;
    this.isLoading = true;
    this.isStale = false;
    this.missed = [];
    const began = Date.now();
    const before = stream.last;
    const { signal } = this.controller;
    try {
      const { data, meta } = await this.options.load(AbortSignal.any([signal, AbortSignal.timeout(60000)]));
      this.data = data;
      this.meta = meta;
      this.event = meta?.event ?? before;
      this.error = null;
      const missed = this.missed;
      this.missed = [];
      this.isLoading = false;
      this.hear(missed);
    } catch (error) {
      if (signal.aborted) return;
      this.error = error;
      this.isLoading = false;
      // The stream says when the server is back.
      if (stream.state === 'live') this.isStale = this.isStale || /** @type {any} */ (error).status === 0;
    }
    this.loadedAt = Date.now();
    this.pause = Math.min(Math.max(TOGETHER, 3 * (this.loadedAt - began)), LONGEST_PAUSE);
    this.changed();
    if (this.isStale && this.listeners.size) this.reload();
  }

  /** @param {ChorusEvent[]} events */
  hear(events) {
    if (this.isLoading) {
      this.missed.push(...events);
      if (this.missed.length > 1000) {
        this.missed = [];
        this.isStale = true;
      }
      if (this.data === undefined) return;
    }
    if (this.data === undefined) return;
    const { apply, concerns } = this.options;
    const old = this.data;
    let mustReload = false;
    for (const event of events) {
      if (event.number <= this.event) continue;
      if (apply) {
        const data = apply(this.data, event, this.meta);
        if (data === RELOAD) mustReload = true;
        else this.data = data;
      }
      if (concerns ? concerns(event, this.data) : !apply) mustReload = true;
    }
    if (this.data !== old) this.changed();
    if (mustReload) {
      if (this.isLoading) this.isStale = true;
      else if (this.listeners.size) this.reload();
      else this.isStale = true;
    }
  }

  /** @param {number} number @param {boolean} isForeign */
  restart(number, isForeign) {
    if (isForeign) this.event = -1;
    if (this.error || this.event < number) {
      this.isStale = true;
      if (this.listeners.size) this.reload();
    }
  }
}

/** Returns the resource with this key, which is shared by all views. @param {string} key @param {Options} options @returns {Resource} */
export function resource(key, options) {
  let found = resources.get(key);
  if (!found) {
    found = new Resource(key, options);
    resources.set(key, found);
  }
  return found;
}

/**
 * A resource that is one answer of the server, for example `snapshot(p`/api/agents`, { concerns: … })`; the path is its key.
 * @param {string} path @param {Omit<Options, 'load'>} [options]
 */
export const snapshot = (path, options = {}) => resource(path, { ...options, load: (signal) => get(path, signal) });

stream.onEvents((events) => { for (const one of [...resources.values()]) one.hear(events); });
const retry = () => { for (const one of [...resources.values()]) if (one.error && one.listeners.size) one.reload(); };
stream.subscribe(() => { if (stream.state === 'live') retry(); });
let { token } = session;
session.subscribe(() => {
  if (token === session.token) return;
  token = session.token;
  retry();
});
stream.onStart((number, isForeign) => { for (const one of [...resources.values()]) one.restart(number, isForeign); });
