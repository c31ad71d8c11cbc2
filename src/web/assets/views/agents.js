// Agents: who there is, whether they could work, what they work on now, and how it goes.

import { bindKeys } from '../lib/keys.js';
import { setTitle } from '../lib/page.js';
import { navigate, place, setQuery } from '../lib/router.js';
import { dollars, firstLine } from '../lib/text.js';
import { h } from '../lib/view.js';
import { addAgent, analytics, Availability, figuresOf, rate, setupBadges, setups, work } from '../parts/agents.js';
import { agentChip, badge, count } from '../parts/badges.js';
import { Button, complain } from '../parts/button.js';
import { agents } from '../parts/form.js';
import { icon } from '../parts/icon.js';
import { page } from '../parts/page.js';
import { empty, loaded } from '../parts/states.js';
import { table } from '../parts/table.js';

/** @typedef {import('../parts/agents.js').Agent} Agent */

const add = async () => {
  const agent = await addAgent();
  if (agent) navigate(`/agents/${encodeURIComponent(agent.name)}`);
};

/** @param {import('../lib/view.js').Self} self */
export default function Agents(self) {
  setTitle('Agents');
  const [crew, found, busy, sums] = [self.use(agents()), self.use(setups()), self.use(work()), self.use(analytics())];
  self.use(place);
  bindKeys(self, [{ keys: 'N', label: 'Add an agent', run: () => { add(); } }]);
  const tasksOf = (/** @type {string} */ name) => /** @type {any[]} */ (busy.data ?? []).filter((task) => task.currentAgent === name);
  const columns = [
    { title: 'Agent', cell: (/** @type {Agent} */ agent) => h('div', { class: 'stack tight' }, h('a', { href: `/agents/${encodeURIComponent(agent.name)}` }, agentChip(agent.name, { working: tasksOf(agent.name).length > 0 })),
      agent.responsibilities && h('p', { class: 'muted small-text clamp' }, agent.responsibilities)), class: 'some-cell' },
    { title: 'Available', cell: (/** @type {Agent} */ agent) => h(Availability, { agent, failed: complain }) },
    { title: 'Works on', class: 'some-cell', cell: (/** @type {Agent} */ agent) => {
      const tasks = tasksOf(agent.name);
      if (!tasks.length) return h('span', { class: 'muted' }, 'nothing');
      return h('ul', { class: 'stack tight' }, tasks.slice(0, 3).map((task) => h('li', { key: task.id }, h('a', { href: `/tasks/${task.id}`, class: 'clamp' }, firstLine(task.description)))), tasks.length > 3 && h('li', { class: 'muted' }, `and ${tasks.length - 3} more`));
    } },
    { title: 'Success', end: true, cell: (/** @type {Agent} */ agent) => {
      const figures = figuresOf(sums.data, agent.name);
      return figures.handoffs ? h('span', { title: `${figures.completed} of ${figures.ended} ended hand-offs completed` }, rate(figures), h('span', { class: 'muted' }, ` of ${figures.ended.toLocaleString()}`)) : h('span', { class: 'muted' }, '–');
    } },
    { title: 'Cost', end: true, cell: (/** @type {Agent} */ agent) => dollars(figuresOf(sums.data, agent.name).costUsd) || h('span', { class: 'muted', title: 'No provider reported a cost' }, '–') },
    { title: 'Runs on', cell: (/** @type {Agent} */ agent) => h('div', { class: 'stack tight' }, h('span', null, agent.provider, ' ', setupBadges(/** @type {any[]} */ (found.data ?? []).find((one) => one.agentName === agent.name))), agent.model && h('p', { class: 'muted small-text clamp' }, agent.model)), class: 'some-cell' },
    { title: 'Roles and skills', cell: (/** @type {Agent} */ agent) => (agent.roles.length + agent.skills.length ? h('span', { class: 'words' }, agent.roles.map((role) => badge(role, 'live')), agent.skills.map((skill) => badge(skill, 'plain'))) : h('span', { class: 'muted' }, '–')) },
  ];
  return () => page({
    title: ['Agents', crew.data && count(crew.data.length)], wide: true, subtitle: 'Who can do work, and how it goes.', actions: h(Button, { label: 'Add an agent', icon: 'plus', kind: 'main', run: add }),
    tools: h('label', { class: 'search' }, icon('search'), h('span', { class: 'unseen' }, 'Search agents'),
      h('input', { type: 'search', placeholder: 'Search names, roles and skills', value: place.query.get('text') ?? '', oninput: (/** @type {any} */ event) => setQuery({ text: event.target.value }) })),
  }, loaded(crew, (/** @type {Agent[]} */ data) => {
    if (!data.length) return empty({ icon: 'agents', title: 'No agents', text: 'An agent is a program with a spec: Claude Code, Codex, or any command. Add the first one.', action: h(Button, { label: 'Add an agent', kind: 'main', run: add }) });
    const text = (place.query.get('text') ?? '').toLowerCase();
    const rows = data.filter((agent) => [agent.name, agent.provider, agent.responsibilities, ...agent.roles, ...agent.skills].some((word) => word.toLowerCase().includes(text)));
    return rows.length ? table({ label: 'Agents', columns, rows, key: (agent) => agent.name, open: (agent) => `/agents/${encodeURIComponent(agent.name)}` }) : empty({ icon: 'search', title: 'No agent matches', text: 'Try another word.' });
  }));
}
