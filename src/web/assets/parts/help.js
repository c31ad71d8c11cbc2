// The list of keys (`?`).

import { allKeys } from '../lib/keys.js';
import { h } from '../lib/view.js';
import { dialogHead } from './dialog.js';

/** @param {import('../lib/view.js').Self} _self */
export function Help(_self) {
  return (/** @type {any} */ props) => {
    /** @type {Map<string, any[]>} */
    const groups = new Map();
    for (const one of allKeys()) {
      const group = one.group ?? 'On this page';
      groups.set(group, [...(groups.get(group) ?? []), one]);
    }
    return h('div', null, dialogHead({ ...props, title: 'Keys' }),
      h('div', { class: 'keys' }, [...groups].map(([group, keys]) => h('section', { key: group }, h('h3', null, group),
        h('dl', null, keys.map((one) => h('div', { key: one.keys }, h('dt', null, one.keys.split(' ').map((/** @type {string} */ key) => h('kbd', { key }, key))), h('dd', null, one.label))))))));
  };
}
