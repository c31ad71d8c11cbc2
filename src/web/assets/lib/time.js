// Times for people: "3 minutes ago" that stays true, with the exact time on hover, and durations. No view formats times by itself.

import { now } from './api.js';
import { h } from './view.js';

const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const DAY = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });
const UNITS = /** @type {const} */ ([['y', 31536000], ['mo', 2592000], ['w', 604800], ['d', 86400], ['h', 3600], ['m', 60]]);

/** @type {Set<() => void>} */
const listeners = new Set();
// One clock for all relative times; hidden pages need none.
setInterval(() => { if (!document.hidden) for (const listener of [...listeners]) listener(); }, 5000);
document.addEventListener('visibilitychange', () => { if (!document.hidden) for (const listener of [...listeners]) listener(); });

/** Ticks every few seconds; a source for `self.use`. */
export const clock = {
  /** @param {() => void} listener */
  subscribe(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
};

/** The exact time, for hints. @param {number} time */
export const exact = (time) => EXACT.format(time);
/** @param {number} time */
export const clockTime = (time) => CLOCK.format(time);
/** @param {number} time */
export const day = (time) => DAY.format(time);

/** A short duration: 850 ms, 12 s, 3 m 20 s, 2 h. @param {number} milliseconds */
export function duration(milliseconds) {
  const ms = Math.max(0, milliseconds);
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds < 10 ? Math.round(seconds * 10) / 10 : Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} m${minutes < 10 && Math.floor(seconds % 60) ? ` ${Math.floor(seconds % 60)} s` : ''}`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h${minutes % 60 ? ` ${minutes % 60} m` : ''}` : `${Math.floor(hours / 24)} d`;
}

/** @param {number} time */
function ago(time) {
  const seconds = (now() - time) / 1000;
  if (Math.abs(seconds) < 10) return 'now';
  const past = Math.abs(seconds);
  const [unit, size] = UNITS.find(([, one]) => past >= one) ?? ['s', 1];
  const text = `${Math.floor(past / size)}${unit}`;
  return seconds < 0 ? `in ${text}` : `${text} ago`;
}

/** A relative time with the exact one on hover: `h(Ago, { at: task.createdAt })`. @param {import('./view.js').Self} self */
export function Ago(self) {
  self.use(clock);
  return (/** @type {{ at: number, prefix?: string, class?: string }} */ { at, prefix = '', class: name }) =>
    h('time', { class: ['ago', name], datetime: new Date(at).toISOString(), title: exact(at) }, prefix, ago(at));
}

/** A running duration: `h(Since, { at: handoff.startedAt })`. @param {import('./view.js').Self} self */
export function Since(self) {
  let timer = setInterval(self.update, 1000);
  self.onUnmount(() => clearInterval(timer));
  return (/** @type {{ at: number }} */ { at }) => h('time', { class: 'ago', title: `since ${exact(at)}` }, duration(now() - at));
}
