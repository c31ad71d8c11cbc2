// A resource that depends on the address: `const list = following(self, () => paged(p`/api/mail`, { to: place.query.get('box') }))`; `list.now` is
// the resource to show. While another one loads, the old one stays: nothing flickers while a person types or chooses.

import { place } from '../lib/router.js';

/** @typedef {import('../lib/store.js').Resource} Resource */

/** @param {import('../lib/view.js').Self} self @param {() => Resource} choose @returns {{ now: Resource }} */
export function following(self, choose) {
  const { path } = place;
  let wanted = choose();
  const state = { now: wanted };
  const settle = () => {
    if (wanted.data !== undefined || wanted.error || state.now.data === undefined) state.now = wanted;
    self.update();
  };
  let leave = wanted.subscribe(settle);
  self.onUnmount(place.subscribe(() => {
    if (place.path !== path) return;
    const next = choose();
    if (next !== wanted) {
      const old = leave;
      wanted = next;
      leave = next.subscribe(settle);
      old();
    }
    settle();
  }));
  self.onUnmount(() => leave());
  return state;
}
