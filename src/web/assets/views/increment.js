// One increment: its rounds and stages, with the reports of the agents.

import { p } from '../lib/api.js';
import { markdown } from '../lib/markdown.js';
import { setTitle } from '../lib/page.js';
import { snapshot } from '../lib/store.js';
import { shorten } from '../lib/text.js';
import { Ago } from '../lib/time.js';
import { h } from '../lib/view.js';
import { priorityBadge } from '../parts/badges.js';
import { Button, linkButton } from '../parts/button.js';
import { drawing, increments, retryIncrement, rounds, stateBadge, StageReports } from '../parts/increments.js';
import { facts, page, section } from '../parts/page.js';
import { loaded } from '../parts/states.js';

/** @typedef {import('../parts/increments.js').Whole} Whole */

/** @param {import('../lib/view.js').Self} self */
export default function OneIncrement(self) {
  setTitle('Increment');
  const { id } = self.props.params;
  const found = self.use(snapshot(p`/api/increments/${id}`, {
    concerns: (event, data) => event.data.incrementId === id || Boolean(event.taskId && data?.tasks.some((/** @type {any} */ task) => task.id === event.taskId)) && event.eventType !== 'message_added',
  }));
  const others = self.use(increments());
  const titleOf = (/** @type {string} */ other) => others.data?.find((/** @type {any} */ one) => one.id === other)?.title ?? other;
  return () => {
    const increment = /** @type {Whole | undefined} */ (found.data);
    if (increment) setTitle(shorten(increment.title, 60));
    return page({
      crumbs: h('a', { href: '/increments' }, 'Increments'), title: increment?.title ?? 'Increment', wide: true,
      subtitle: increment && h('span', { class: 'row' }, stateBadge(increment), `round ${increment.round}`, h(Ago, { at: increment.updatedAt, prefix: 'changed ' }), priorityBadge(increment.tasks[0]?.priority)),
      actions: increment && [increment.state === 'blocked' && h(Button, { label: 'Retry', kind: 'main', hint: 'Blocked work is tried again', run: () => retryIncrement(increment) }),
        linkButton({ label: 'On the board', href: `/board?increment=${increment.id}`, icon: 'board' })],
    }, loaded(found, (/** @type {Whole} */ data) => h('div', { class: 'stack wide-gap' },
      data.blockedBy && h('p', { class: 'notice bad pre-line', role: 'status' }, data.blockedBy),
      section({ title: 'Stages' }, drawing(data)),
      h('div', { class: 'split' },
        section({ title: 'Reports' }, h('div', { class: 'stack wide-gap' }, rounds(data.tasks).reverse().flatMap(([, stages]) => [...stages].reverse().map((task) => h(StageReports, { key: task.id, task }))))),
        h('div', { class: 'stack wide-gap' },
          section({ title: 'What should be built' }, h('div', { class: 'panel' }, data.description ? markdown(data.description) : h('p', { class: 'muted' }, 'The title says it all.'))),
          section({ title: 'Facts' }, h('div', { class: 'panel' }, facts([
            ['Test', data.testCommand && h('code', null, data.testCommand)],
            ['Starts after', data.dependsOn.length > 0 && h('ul', { class: 'stack tight' }, data.dependsOn.map((other) => h('li', { key: other }, h('a', { href: `/increments/${other}` }, titleOf(other)))))],
            ['Workspace', data.tasks[0] && h('code', null, data.tasks[0].agentWorkspace)], ['Created', h(Ago, { at: data.createdAt })], ['Id', h('code', null, data.id)]]))))))));
  };
}
