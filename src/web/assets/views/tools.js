// Tools: functions with which an agent passes control to another agent, with the variables that go along.

import { bindKeys } from '../lib/keys.js';
import { setTitle } from '../lib/page.js';
import { navigate, place, setQuery } from '../lib/router.js';
import { h } from '../lib/view.js';
import { agentChip, count } from '../parts/badges.js';
import { linkButton } from '../parts/button.js';
import { icon } from '../parts/icon.js';
import { page } from '../parts/page.js';
import { empty, loaded } from '../parts/states.js';
import { table } from '../parts/table.js';
import { NEW_TOOL, tools } from '../parts/tools.js';

/** @typedef {import('../parts/tools.js').Tool} Tool */

const create = () => linkButton({ label: 'New tool', icon: 'plus', kind: 'main', href: `/tools/${NEW_TOOL}` });

/** @param {import('../lib/view.js').Self} self */
export default function Tools(self) {
  setTitle('Tools');
  const all = self.use(tools());
  self.use(place);
  bindKeys(self, [{ keys: 'N', label: 'New tool', run: () => navigate(`/tools/${NEW_TOOL}`) }]);
  const columns = [
    { title: 'Tool', cell: (/** @type {Tool} */ tool) => h('a', { href: `/tools/${tool.name}`, class: 'mono' }, tool.name) },
    { title: 'Passes control to', cell: (/** @type {Tool} */ tool) => agentChip(tool.targetAgent) },
    { title: 'With', cell: (/** @type {Tool} */ tool) => (tool.contextVariables.length ? h('span', { class: 'words' }, tool.contextVariables.map((one) => h('code', { key: one.name, title: `${one.type}${one.required ? ', required' : ''}` }, one.name, one.required ? '' : '?'))) : h('span', { class: 'muted' }, 'nothing')) },
    { title: 'For', cell: (/** @type {Tool} */ tool) => (tool.allowedAgents ? h('span', { class: 'words' }, tool.allowedAgents.map((name) => agentChip(name))) : h('span', { class: 'muted' }, 'every other agent')) },
    { title: 'When', class: 'wide-cell', cell: (/** @type {Tool} */ tool) => h('p', { class: 'clamp' }, tool.description) },
  ];
  return () => page({
    title: ['Tools', all.data && count(all.data.length)], subtitle: 'With a hand-off tool an agent passes control to another agent, in the middle of its work.', actions: create(),
    tools: all.data?.length > 0 && h('label', { class: 'search' }, icon('search'), h('span', { class: 'unseen' }, 'Search tools'),
      h('input', { type: 'search', placeholder: 'Search tools', value: place.query.get('text') ?? '', oninput: (/** @type {any} */ event) => setQuery({ text: event.target.value }) })),
  }, loaded(all, (/** @type {Tool[]} */ data) => {
    if (!data.length) return empty({ icon: 'tools', title: 'No tools yet', text: 'A tool names an agent and the facts that it needs. Agents that may use it find it in their prompt.', action: create() });
    const text = (place.query.get('text') ?? '').toLowerCase();
    const rows = data.filter((tool) => [tool.name, tool.targetAgent, tool.description].some((word) => word.toLowerCase().includes(text)));
    return rows.length ? table({ label: 'Tools', columns, rows, key: (tool) => tool.name, open: (tool) => `/tools/${tool.name}` }) : empty({ icon: 'search', title: 'No tool matches', text: 'Try another word.' });
  }));
}
