// One request: its text, its life and recovery, its response, and what can be done with it now.

import { p } from '../lib/api.js';
import { bindKeys } from '../lib/keys.js';
import { markdown } from '../lib/markdown.js';
import { setTitle } from '../lib/page.js';
import { snapshot } from '../lib/store.js';
import { shorten } from '../lib/text.js';
import { Ago } from '../lib/time.js';
import { h } from '../lib/view.js';
import { priorityBadge } from '../parts/badges.js';
import { Button } from '../parts/button.js';
import { facts, page, section } from '../parts/page.js';
import { actionsOf, holder, life, recoveries, sourceOf, stateBadge, STATES } from '../parts/requests.js';
import { loaded } from '../parts/states.js';

/** @typedef {import('../parts/requests.js').Request} Request */

/** @param {import('../lib/view.js').Self} self */
export default function OneRequest(self) {
  setTitle('Request');
  const { id } = self.props.params;
  const found = self.use(snapshot(p`/api/requests/${id}`, { concerns: (event) => event.requestId === id }));
  bindKeys(self, [{ keys: 'a', label: 'First action', run: () => /** @type {HTMLElement | null} */ (document.querySelector('main .view-actions button'))?.click() }]);
  const crumbs = h('a', { href: '/requests' }, 'Requests');
  return () => {
    const request = /** @type {Request | undefined} */ (found.data);
    if (request) setTitle(shorten(request.title, 60));
    return page({
      crumbs, title: request?.title ?? 'Request', actions: request && actionsOf(request).map((action) => h(Button, { key: action.label, ...action })),
      subtitle: request && h('span', { class: 'row' }, stateBadge(request), h('span', null, request.kind), priorityBadge(request.priority), h('span', null, STATES[request.state].hint)),
    }, loaded(found, (/** @type {Request} */ data) => h('div', { class: 'split' },
      h('div', { class: 'stack wide-gap' },
        section({ title: 'Work' }, h('div', { class: 'panel' }, data.body ? markdown(data.body) : h('p', { class: 'muted' }, 'The request has no text.'))),
        data.response !== null && section({ title: 'Response' }, h('div', { class: 'panel' }, markdown(data.response)))),
      h('div', { class: 'stack wide-gap' },
        section({ title: 'Facts' }, h('div', { class: 'panel' }, facts([
          ['Kind', data.kind], ['Effort', data.effort], ['From', sourceOf(data)], ['Created', h(Ago, { at: data.createdAt })], ['Approved', data.approvedAt && h(Ago, { at: data.approvedAt })],
          ['Worker', holder(data)], ['Attempts', data.attempts || null], ['Task', data.taskId && h('a', { href: `/tasks/${data.taskId}` }, 'Open the task')],
          ['Chat', data.taskId && h('a', { href: `/chat/${data.taskId}` }, 'Open the chat')], ['Job', data.jobId && h('code', null, data.jobId)],
          ['Workspace', data.agentWorkspace && h('code', null, data.agentWorkspace)], ['Id', h('code', null, data.id)]]))),
        section({ title: 'Life' }, life(data)),
        data.recovery.length > 0 && section({ title: 'Recovery' }, recoveries(data))))));
  };
}
