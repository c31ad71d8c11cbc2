// Increments: work that one agent implements, and others test, fix and verify.

import { p } from '../lib/api.js';
import { bindKeys } from '../lib/keys.js';
import { setTitle } from '../lib/page.js';
import { place } from '../lib/router.js';
import { Ago } from '../lib/time.js';
import { h } from '../lib/view.js';
import { Button, complain } from '../parts/button.js';
import { following } from '../parts/following.js';
import { createIncrement, increments, retryIncrement, stateBadge } from '../parts/increments.js';
import { more, paged } from '../parts/paged.js';
import { page, tabs } from '../parts/page.js';
import { empty, loaded } from '../parts/states.js';
import { table } from '../parts/table.js';

/** @typedef {import('../parts/increments.js').Increment} Increment */

const STATES = [['', 'All'], ['active', 'Active'], ['blocked', 'Blocked'], ['done', 'Done']];

/** @param {import('../lib/view.js').Self} self */
export default function Increments(self) {
  setTitle('Increments');
  const recent = self.use(increments());
  const state = () => place.query.get('state') ?? '';
  const list = following(self, () => paged(p`/api/increments`, { state: state(), newest: true }, { concerns: (event) => event.eventType.startsWith('increment_') }));
  const create = () => createIncrement(recent.data ?? []);
  bindKeys(self, [{ keys: 'N', label: 'New increment', run: () => { create().catch(complain); } }]);
  const columns = [
    { title: 'Increment', class: 'wide-cell', cell: (/** @type {Increment} */ one) => h('a', { href: `/increments/${one.id}`, class: 'clamp' }, one.title) },
    { title: 'State', cell: (/** @type {Increment} */ one) => stateBadge(one) },
    { title: 'Round', end: true, cell: (/** @type {Increment} */ one) => one.round },
    { title: 'What stands in its way', class: 'wide-cell', cell: (/** @type {Increment} */ one) => (one.state === 'blocked' ? h('div', { class: 'row' }, h('p', { class: 'error clamp grow' }, one.blockedBy),
      h(Button, { label: 'Retry', small: true, hint: 'Blocked work is tried again', run: () => retryIncrement(one) })) : h('span', { class: 'muted' }, '–')) },
    { title: 'Changed', end: true, cell: (/** @type {Increment} */ one) => h(Ago, { at: one.updatedAt }) },
  ];
  return () => page({ title: 'Increments', subtitle: 'Steps of a product that different agents implement, test, fix and verify.', actions: h(Button, { label: 'New increment', icon: 'plus', kind: 'main', run: create }) },
    tabs({ label: 'States', items: STATES.map(([name, label]) => ({ href: `/increments${name ? `?state=${name}` : ''}`, label, current: state() === name })) }),
    loaded(list.now, (data) => {
      if (!data.items.length) {
        return state() ? empty({ icon: 'increments', title: `No increment is ${state()}` }) : empty({ icon: 'increments', title: 'No increments yet',
          text: 'Describe a step of your product. Agents with the roles implementation, testing, fixing and verification do it in rounds until it passes.', action: h(Button, { label: 'Create an increment', kind: 'main', run: create }) });
      }
      return [table({ label: 'Increments', columns, rows: data.items, key: (one) => one.id, open: (one) => `/increments/${one.id}` }), more(list.now)];
    }));
}
