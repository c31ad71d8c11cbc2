// Short messages at the edge of the page: `toast('3 requests approved')`, `toast(error.message, { kind: 'bad' })`. One that offers an
// action (`action: { label: 'Undo', run }`) stays longer; a failure stays until it is closed.

import { h } from '../lib/view.js';
import { Button } from './button.js';

/** @typedef {{ label: string, run: () => any }} Action */
/** @typedef {{ id: number, text: string, kind: string, action?: Action }} Toast */

/** @type {Toast[]} */
let toasts = [];
let last = 0;
/** @type {Set<() => void>} */
const listeners = new Set();

/** @param {Toast[]} next */
function set(next) {
  toasts = next;
  for (const listener of [...listeners]) listener();
}

/** @param {number} id */
const close = (id) => set(toasts.filter((one) => one.id !== id));

/** @param {string} text @param {{ kind?: 'plain' | 'bad', action?: Action }} [options] */
export function toast(text, { kind = 'plain', action } = {}) {
  const id = ++last;
  // The same complaint twice is one complaint.
  set([...toasts.filter((one) => one.text !== text).slice(-3), { id, text, kind, action }]);
  if (kind !== 'bad') setTimeout(() => close(id), action ? 10000 : 4000);
}

/** @param {import('../lib/view.js').Self} self */
export function Toasts(self) {
  self.use({ subscribe: (listener) => { listeners.add(listener); return () => listeners.delete(listener); } });
  return () => h('div', { class: 'toasts', role: 'region', 'aria-label': 'Notices' }, toasts.map(({ id, text, kind, action }) =>
    h('div', { key: id, class: ['toast', kind], role: kind === 'bad' ? 'alert' : 'status' }, h('p', null, text),
      action && h(Button, { label: action.label, small: true, run: () => { close(id); return action.run(); } }),
      h(Button, { label: 'Close', icon: 'close', iconOnly: true, kind: 'quiet', small: true, run: () => close(id) }))));
}
