// One agent: what it is, what it works on, how it goes, its tools, and its spec.

import { p } from '../lib/api.js';
import { bindKeys } from '../lib/keys.js';
import { markdown } from '../lib/markdown.js';
import { setTitle } from '../lib/page.js';
import { snapshot } from '../lib/store.js';
import { counted, dollars, firstLine } from '../lib/text.js';
import { Ago, duration } from '../lib/time.js';
import { h } from '../lib/view.js';
import { analytics, Availability, deleteAgent, editAgent, figuresOf, rate, setupBadges, work } from '../parts/agents.js';
import { agentChip, badge } from '../parts/badges.js';
import { Button, complain, linkButton } from '../parts/button.js';
import { facts, page, section } from '../parts/page.js';
import { loaded } from '../parts/states.js';

/** @typedef {import('../parts/agents.js').Agent} Agent */

/** @param {import('../lib/view.js').Self} self */
export default function OneAgent(self) {
  const { name } = self.props.params;
  setTitle(name);
  const isOwn = (/** @type {import('../lib/events.js').ChorusEvent} */ event) => /^agent_(created|changed|deleted)$/.test(event.eventType) && event.data.name === name;
  const hasEnded = (/** @type {import('../lib/events.js').ChorusEvent} */ event) => /^agent_handoff_(?!started)/.test(event.eventType) && event.data.agentName === name;
  const found = self.use(snapshot(p`/api/agents/${name}`, { concerns: isOwn }));
  const setup = self.use(snapshot(p`/api/agents/${name}/setup`, { concerns: isOwn }));
  const usage = self.use(snapshot(p`/api/agents/${name}/usage`, { concerns: hasEnded }));
  const tools = self.use(snapshot(p`/api/agents/${name}/tools`, { concerns: (event) => event.eventType.startsWith('tool_') || isOwn(event) }));
  const [busy, sums] = [self.use(work()), self.use(analytics())];
  bindKeys(self, [{ keys: 'e', label: 'Edit the agent', run: () => { if (found.data) editAgent(found.data); } }]);

  const spec = () => {
    const { data } = setup;
    if (!data) return h('p', { class: 'muted' }, 'Reading the spec…');
    if (data.specProblem) return h('p', { class: 'error' }, data.specProblem);
    return data.spec === null ? h('p', { class: 'muted' }, 'This agent has no spec.') : h('div', { class: 'panel' }, markdown(data.spec));
  };
  const now = () => {
    const tasks = /** @type {any[]} */ (busy.data ?? []).filter((task) => task.currentAgent === name);
    if (!tasks.length) return h('p', { class: 'muted' }, 'It works on nothing now.');
    return h('ul', { class: 'stack' }, tasks.map((task) => h('li', { key: task.id, 'data-item': task.id, class: 'row' }, h('a', { href: `/tasks/${task.id}`, class: 'clip' }, firstLine(task.description)), h(Ago, { at: task.updatedAt }))));
  };
  const words = (/** @type {string[]} */ list, /** @type {string} */ tone) => list.length > 0 && h('span', { class: 'words' }, list.map((one) => badge(one, tone)));
  const seconds = (/** @type {number | null} */ number) => number !== null && duration(number * 1000);

  return () => {
    const agent = /** @type {Agent | undefined} */ (found.data);
    const figures = figuresOf(sums.data, name);
    return page({
      crumbs: h('a', { href: '/agents' }, 'Agents'), title: agentChip(name), subtitle: agent?.responsibilities,
      actions: agent && [h('span', { class: 'row' }, agent.available ? 'Available' : 'Not available', h(Availability, { agent, failed: complain })), h(Button, { label: 'Edit', hint: 'e', run: () => editAgent(agent) }), h(Button, { label: 'Delete…', run: () => deleteAgent(agent) })],
    }, loaded(found, (/** @type {Agent} */ data) => h('div', { class: 'split' },
      h('div', { class: 'stack wide-gap' }, section({ title: 'Works on' }, now()), section({ title: 'Spec', actions: data.specPath && h('code', { class: 'muted' }, data.specPath) }, spec())),
      h('div', { class: 'stack wide-gap' },
        section({ title: 'How it goes' }, h('div', { class: 'panel' }, facts([
          ['Success', `${rate(figures)}${figures.ended ? ` of ${counted(figures.ended, 'hand-off')}` : ''}`], ['Runs', usage.data?.runs], ['Time', usage.data && duration(usage.data.durationMs)], ['Turns', usage.data?.turns || null],
          ['Tokens', usage.data && (usage.data.inputTokens || usage.data.outputTokens) ? `${usage.data.inputTokens.toLocaleString()} in, ${usage.data.outputTokens.toLocaleString()} out` : null],
          ['Cost', usage.data && (dollars(usage.data.costUsd) || 'not reported')]]))),
        section({ title: 'Setup' }, h('div', { class: 'panel' }, facts([
          ['Provider', data.provider], ['Program', setup.data && h('span', { class: 'stack tight' }, setupBadges(setup.data), h('code', null, setup.data.programPath ?? setup.data.program))], ['Model', data.model],
          ['Arguments', data.arguments.length > 0 && h('code', { class: 'pre-line' }, data.arguments.join('\n'))], ['Roles', words(data.roles, 'live')], ['Skills', words(data.skills, 'plain')],
          ['Allowed tools', data.allowedTools && h('code', null, data.allowedTools)], ['Permissions', data.permissionMode], ['Output', data.provider === 'command' && data.outputForm],
          ['Environment', Object.keys(data.environment).length > 0 && h('code', { class: 'pre-line' }, Object.entries(data.environment).map(([key, value]) => `${key}=${value}`).join('\n'))],
          ['Longest run', seconds(data.maxSeconds)], ['Longest silence', seconds(data.idleSeconds)], ['Upper limit', data.maxSessionDuration !== null && counted(data.maxSessionDuration, 'minute')], ['Isolation', data.isolation]]))),
        section({ title: 'Tools' }, tools.data?.length ? h('span', { class: 'words' }, tools.data.map((/** @type {any} */ tool) => h('a', { key: tool.function.name, href: `/tools/${tool.function.name}`, class: 'mono' }, tool.function.name))) : h('p', { class: 'muted' }, 'It can pass control with no tool.')),
        h('div', { class: 'row' }, linkButton({ label: 'Tasks', href: `/board?agent=${encodeURIComponent(name)}`, icon: 'board', small: true }), linkButton({ label: 'Mail', href: `/mail?box=${encodeURIComponent(name)}`, icon: 'mail', small: true }), linkButton({ label: 'Figures', href: `/figures?agent=${encodeURIComponent(name)}`, icon: 'figures', small: true }))))));
  };
}
