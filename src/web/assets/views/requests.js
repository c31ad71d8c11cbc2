// Requests: work that agents and people left for later, by state and kind. The operator approves one, many, or leaves them to the next worker.

import { p, post } from '../lib/api.js';
import { bindKeys } from '../lib/keys.js';
import { markdown } from '../lib/markdown.js';
import { setTitle } from '../lib/page.js';
import { place, setQuery } from '../lib/router.js';
import { snapshot } from '../lib/store.js';
import { counted } from '../lib/text.js';
import { Ago } from '../lib/time.js';
import { h } from '../lib/view.js';
import { agentChip, badge, count, priorityBadge } from '../parts/badges.js';
import { Button, complain } from '../parts/button.js';
import { following } from '../parts/following.js';
import { more, paged } from '../parts/paged.js';
import { page, tabs } from '../parts/page.js';
import { actionsOf, concernsRequests, createRequest, stateBadge, STATES } from '../parts/requests.js';
import { empty, loaded } from '../parts/states.js';
import { toast } from '../parts/toast.js';

/** @typedef {import('../parts/requests.js').Request} Request */

/** One request in the list. @param {import('../lib/view.js').Self} self */
function Row(self) {
  let isOpen = false;
  const toggle = () => {
    isOpen = !isOpen;
    self.update();
  };
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (event.target !== event.currentTarget) return;
    const { canSelect, select, isSelected } = self.props;
    const button = (/** @type {number} */ at) => self.el.querySelectorAll('.need-actions button')[at]?.click();
    if (event.key === 'Enter') toggle();
    else if (event.key === 'x' && canSelect) select(!isSelected);
    else if (event.key === 'a') button(0);
    else if (event.key === 'n' && canSelect) button(1);
    else return;
    event.preventDefault();
  };
  return (/** @type {{ request: Request, canSelect: boolean, isSelected: boolean, select: (isSelected: boolean) => void }} */ { request, canSelect, isSelected, select }) =>
    h('li', { class: ['need', request.stuck && 'bad', isOpen && 'open'], 'data-item': request.id, tabindex: -1, 'aria-label': request.title, onkeydown: press },
      canSelect ? h('input', { type: 'checkbox', checked: isSelected, 'aria-label': `Select ${request.title}`, onchange: (/** @type {any} */ event) => select(event.target.checked) }) : h('span'),
      h('div', { class: 'need-body' },
        h('p', { class: 'need-meta' }, stateBadge(request), h('span', { class: 'need-kind' }, request.kind), priorityBadge(request.priority), request.effort && badge(request.effort, 'plain'),
          request.lease && agentChip(request.lease.agent, { working: true }), request.attempts > 0 && h('span', null, counted(request.attempts, 'attempt')), h(Ago, { at: request.updatedAt })),
        h('button', { type: 'button', class: ['need-title', !isOpen && 'clamp'], 'aria-expanded': String(isOpen), onclick: toggle }, request.title),
        request.recovery.length > 0 && request.state !== 'done' && h('p', { class: 'need-reason clamp' }, request.recovery.at(-1)?.reason),
        isOpen && h('div', { class: 'need-details' }, request.body ? markdown(request.body) : h('p', { class: 'muted' }, 'The request has no text.'),
          request.response !== null && h('div', { class: 'stack' }, h('h3', null, 'Response'), markdown(request.response)))),
      h('div', { class: 'need-actions' }, actionsOf(request).map((action) => h(Button, { key: action.label, small: true, ...action })),
        h('a', { class: 'button quiet small', href: `/requests/${request.id}`, 'aria-label': `Open ${request.title}` }, 'Open')));
}

/** What the dispatcher does, and why it holds requests back. @param {import('../lib/view.js').Self} self */
function Dispatcher(self) {
  const overview = self.use(snapshot(p`/api/dispatch`, { concerns: (event) => concernsRequests(event) || event.eventType === 'dispatch_routes_changed' }));
  return () => {
    const { data } = overview;
    if (!data) return null;
    return h('div', { class: 'stack' },
      h('p', { class: 'muted' }, data.enabled
        ? `The dispatcher starts approved requests by itself, at most ${data.maxRuns} at a time. ${counted(data.running.length, 'request')} in progress, ${data.waiting.length} waiting.`
        : 'The dispatcher is off: approved requests wait until the server is started with it.'),
      data.held.map((/** @type {any} */ one) => h('p', { key: one.kind, class: 'notice warn' }, h('strong', null, one.kind), `: ${one.reason}`)));
  };
}

/** @param {import('../lib/view.js').Self} self */
export default function Requests(self) {
  setTitle('Requests');
  const rules = self.use(snapshot(p`/api/dispatch/routes`, { concerns: (event) => event.eventType === 'dispatch_routes_changed' }));
  /** @type {Set<string>} */
  const selected = new Set();
  const state = () => place.query.get('state') ?? '';
  const list = following(self, () => paged(p`/api/requests`, { state: state() === 'removed' ? '' : state(), withdrawn: state() === 'removed', kind: place.query.get('kind'), priority: place.query.get('priority'), newest: true },
    { concerns: concernsRequests }));

  const listed = () => /** @type {Request[]} */ (list.now.data?.items ?? []);
  const chosen = () => listed().filter((one) => selected.has(one.id) && one.state === 'needs');
  const choose = (/** @type {Request} */ request, /** @type {boolean} */ isChosen) => {
    if (isChosen) selected.add(request.id); else selected.delete(request.id);
    self.update();
  };
  const approve = async () => {
    const requests = chosen();
    await post(p`/api/requests/approve`, { ids: requests.map((one) => one.id) });
    toast(`${counted(requests.length, 'request')} approved`);
    selected.clear();
    self.update();
  };
  const leaveToNext = async () => {
    const requests = chosen();
    for (const one of requests) {
      await post(p`/api/requests/${one.id}/next`);
      selected.delete(one.id);
    }
    toast(`${counted(requests.length, 'request')} left to the next worker`);
    self.update();
  };
  const kinds = () => /** @type {string[]} */ ([...new Set([...(rules.data ?? []).map((/** @type {any} */ one) => one.kind), ...listed().map((one) => one.kind), place.query.get('kind')].filter(Boolean))]).sort();
  const create = async () => {
    if (await createRequest(kinds())) list.now.reload();
  };
  bindKeys(self, [
    { keys: 'Enter', label: 'Show or hide the text', run: () => {} },
    { keys: 'a', label: 'First action of the request', run: () => {} },
    { keys: 'n', label: 'Leave the request to the next worker', run: () => {} },
    { keys: 'x', label: 'Select the request', run: () => {} },
    { keys: 'A', label: 'Approve the selected requests', run: () => { if (chosen().length) approve().catch(complain); } },
  ]);

  const choice = (/** @type {string} */ label, /** @type {string} */ name, /** @type {string[]} */ options) => h('label', { class: 'tool-field' }, h('span', null, label),
    h('select', { value: place.query.get(name) ?? '', onchange: (/** @type {any} */ event) => setQuery({ [name]: event.target.value }) }, h('option', { value: '' }, 'all'), options.map((one) => h('option', { key: one, value: one }, one))));
  const address = (/** @type {string} */ wanted) => {
    const query = new URLSearchParams(place.query);
    query.delete('state');
    if (wanted) query.set('state', wanted);
    const text = query.toString();
    return `/requests${text ? `?${text}` : ''}`;
  };
  const bar = (/** @type {Request[]} */ open) => {
    const number = chosen().length;
    const all = open.every((one) => selected.has(one.id));
    return h('div', { class: 'select-bar' },
      h('label', { class: 'row' }, h('input', { type: 'checkbox', checked: all, indeterminate: !all && number > 0, onchange: () => { for (const one of open) choose(one, !all); } }),
        h('span', null, number ? `${counted(number, 'request')} selected` : 'Select all that need you')),
      number > 0 && h(Button, { label: 'Approve selected', kind: 'main', small: true, run: approve }),
      number > 0 && h(Button, { label: 'Next for selected', small: true, hint: 'Leave them to the next worker that claims them', run: leaveToNext }));
  };
  const nothing = () => {
    if (place.query.get('kind') || place.query.get('priority')) return empty({ icon: 'search', title: 'No request matches', text: 'Choose another kind or priority.' });
    if (state() === 'removed') return empty({ icon: 'requests', title: 'No tag was removed', text: 'A request whose tag is removed from its file is kept here.' });
    if (state()) return empty({ icon: 'requests', title: `No request is ${STATES[state()]?.label ?? 'in this state'}`, text: STATES[state()]?.hint });
    return empty({ icon: 'requests', title: 'No requests yet', text: 'Agents leave work for later with `chorus request create` or a tag in a file. You decide here what is done.',
      action: h(Button, { label: 'Create a request', kind: 'main', run: create }) });
  };

  return () => {
    const items = [['', 'All'], ...Object.entries(STATES).map(([name, one]) => [name, one.label]), ['removed', 'tag removed']];
    return page({
      title: 'Requests', subtitle: 'Work for later: you approve, and an agent does it.', actions: h(Button, { label: 'New request', icon: 'plus', kind: 'main', run: create }),
      tools: h('div', { class: 'row grow', role: 'search' }, choice('Kind', 'kind', kinds()), choice('Priority', 'priority', ['P0', 'P1', 'P2'])),
    }, tabs({ label: 'States', items: items.map(([name, label]) => ({ href: address(name), label: label[0].toUpperCase() + label.slice(1), current: state() === name })) }),
    h(Dispatcher), loaded(list.now, (data) => {
      const open = listed().filter((one) => one.state === 'needs' && !one.withdrawnAt);
      if (!data.items.length) return nothing();
      return [open.length > 1 && bar(open),
        h('ul', { class: 'needs', 'aria-label': 'Requests' }, data.items.map((/** @type {Request} */ request) => h(Row, {
          key: request.id, request, canSelect: request.state === 'needs' && !request.withdrawnAt, isSelected: selected.has(request.id), select: (/** @type {boolean} */ isChosen) => choose(request, isChosen) }))),
        h('p', { class: 'muted small-text' }, 'Shown: ', count(data.items.length, Boolean(data.next))), more(list.now)];
    }));
  };
}
