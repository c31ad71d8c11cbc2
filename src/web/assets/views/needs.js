// "Needs you": everything that waits for a person, newest first, each with its action in place.

import { p, post } from '../lib/api.js';
import { bindKeys } from '../lib/keys.js';
import { announce, setTitle } from '../lib/page.js';
import { navigate } from '../lib/router.js';
import { counted } from '../lib/text.js';
import { Ago } from '../lib/time.js';
import { h } from '../lib/view.js';
import { agentChip, count, priorityBadge } from '../parts/badges.js';
import { Button, linkButton, restButtons } from '../parts/button.js';
import { icon } from '../parts/icon.js';
import { actionsOf, Details, KINDS, linkOf } from '../parts/needs.js';
import { askPermission, canAsk } from '../parts/notify.js';
import { page } from '../parts/page.js';
import { attention } from '../parts/shell.js';
import { empty, loaded } from '../parts/states.js';
import { toast } from '../parts/toast.js';

/** @typedef {import('../parts/needs.js').Item} Item */

/** What one item looks like: its kind, title, reason, and actions. @param {import('../lib/view.js').Self} self */
function Row(self) {
  let isOpen = false;
  const toggle = () => {
    isOpen = !isOpen;
    self.update();
  };
  return (/** @type {{ item: Item, isSelected: boolean, select: (isSelected: boolean) => void, done: () => void }} */ { item, isSelected, select, done }) => {
    const kind = KINDS[item.kind] ?? { label: item.kind, icon: 'alert' };
    const canSelect = item.kind === 'request';
    return h('li', { class: ['need', kind.tone, isOpen && 'open'], 'data-item': item.id, tabindex: -1, 'aria-label': `${kind.label}: ${item.title}`,
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        if (event.target !== event.currentTarget) return;
        if (event.key === 'Enter') toggle();
        else if (event.key === 'x' && canSelect) select(!isSelected);
        else if (event.key === 'a') self.el.querySelector('.need-actions button')?.click();
        else return;
        event.preventDefault();
      } },
    canSelect ? h('input', { type: 'checkbox', checked: isSelected, 'aria-label': `Select ${item.title}`, onchange: (/** @type {any} */ event) => select(event.target.checked) })
      : h('span', { class: 'need-mark' }, icon(kind.icon)),
    h('div', { class: 'need-body' },
      h('p', { class: 'need-meta' }, h('span', { class: 'need-kind' }, kind.label), priorityBadge(item.priority), item.agentName && agentChip(item.agentName), h(Ago, { at: item.at })),
      h('button', { type: 'button', class: 'need-title', 'aria-expanded': String(isOpen), onclick: toggle }, item.title),
      item.reason && h('p', { class: 'need-reason clamp' }, item.reason),
      isOpen && h(Details, { item })),
    h('div', { class: 'need-actions' }, actionsOf(item, done).map((action) => (action.href
      ? h('span', { key: action.label }, linkButton({ ...action, href: action.href, small: true })) : h(Button, { key: action.label, small: true, ...action }))),
    linkOf(item) && h('a', { class: 'button quiet small', href: linkOf(item), 'aria-label': `Open ${item.title}` }, 'Open')));
  };
}

/** @param {import('../lib/view.js').Self} self */
export default function Needs(self) {
  setTitle('Needs you');
  const waiting = self.use(attention());
  /** @type {Set<string>} */
  const selected = new Set();
  /** Items that are decided here, until the server's list says so. @type {Map<string, number>} */
  const decided = new Map();
  let known = /** @type {Set<string> | null} */ (null);
  self.onUnmount(waiting.subscribe(() => {
    /** @type {Item[]} */
    const items = waiting.data?.items ?? [];
    const fresh = known ? items.filter((item) => !known?.has(item.id)) : [];
    if (fresh.length === 1) announce(`Needs you: ${fresh[0].title}`);
    else if (fresh.length) announce(`${counted(fresh.length, 'more item')} need you`);
    if (waiting.data) known = new Set(items.map((item) => item.id));
    for (const [id, at] of decided) if (waiting.event > at) decided.delete(id);
    for (const id of selected) if (!known?.has(id)) selected.delete(id);
  }));

  const listed = () => /** @type {Item[]} */ (waiting.data?.items ?? []).filter((item) => !decided.has(item.id));
  const settle = (/** @type {Item[]} */ items) => {
    const rows = [...document.querySelectorAll('main [data-item]')];
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    for (const item of items) {
      decided.set(item.id, waiting.event);
      selected.delete(item.id);
    }
    self.update();
    restButtons();
    waiting.reload();
    // The focus goes on to what is next, not to the top of the page.
    if (at >= 0) setTimeout(() => /** @type {HTMLElement | undefined} */ ([...document.querySelectorAll('main [data-item]')].at(Math.min(at, Math.max(listed().length - 1, 0))))?.focus(), 120);
  };
  const choose = (/** @type {Item} */ item, /** @type {boolean} */ isChosen) => {
    if (isChosen) selected.add(item.id); else selected.delete(item.id);
    self.update();
  };
  const approveSelected = async () => {
    const items = listed().filter((item) => selected.has(item.id));
    await post(p`/api/requests/approve`, { ids: items.map((item) => item.requestId) });
    toast(`${counted(items.length, 'request')} approved`);
    settle(items);
  };
  const nextSelected = async () => {
    const items = listed().filter((item) => selected.has(item.id));
    for (const item of items) {
      await post(p`/api/requests/${item.requestId}/next`);
      settle([item]);
    }
    toast(`${counted(items.length, 'request')} left to the next worker`);
  };
  bindKeys(self, [
    { keys: 'x', label: 'Select the request', run: () => {} },
    { keys: 'a', label: 'First action of the item', run: () => {} },
    { keys: 'Enter', label: 'Show or hide the details', run: () => {} },
    { keys: 'A', label: 'Approve the selected requests', run: () => { if (selected.size) approveSelected().catch((error) => toast(error.message, { kind: 'bad' })); } },
  ]);

  const bar = (/** @type {Item[]} */ requests) => {
    const all = requests.length > 0 && requests.every((item) => selected.has(item.id));
    return h('div', { class: 'select-bar' },
      h('label', { class: 'row' }, h('input', { type: 'checkbox', checked: all, indeterminate: !all && selected.size > 0, onchange: () => {
        for (const item of requests) choose(item, !all);
      } }), h('span', null, selected.size ? `${counted(selected.size, 'request')} selected` : 'Select all requests')),
      selected.size > 0 && h(Button, { label: 'Approve selected', kind: 'main', small: true, run: approveSelected }),
      selected.size > 0 && h(Button, { label: 'Next for selected', small: true, hint: 'Leave them to the next worker that claims them', run: nextSelected }));
  };

  return () => page({
    title: ['Needs you', waiting.data && count(waiting.data.total - decided.size)],
    subtitle: 'Everything that waits for your decision, newest first.',
    actions: canAsk() && h(Button, { label: 'Notify me', icon: 'bell', small: true, hint: 'Show a notification of the browser when something new needs you', run: async () => {
      if (await askPermission()) toast('You will be notified while you look elsewhere');
      self.update();
    } }),
  }, loaded(waiting, (data) => {
    const items = listed();
    const requests = items.filter((item) => item.kind === 'request');
    if (!items.length) {
      return empty({ icon: 'check', title: 'Nothing needs you', text: 'Requests, blocked work, alerts, mail to you and failed runs appear here by themselves.',
        action: h(Button, { label: 'Go to the board', run: () => navigate('/board') }) });
    }
    return [requests.length > 1 && bar(requests),
      h('ul', { class: 'needs', 'aria-label': 'Waiting for you' }, items.map((item) => h(Row, { key: `${item.kind} ${item.id}`, item, isSelected: selected.has(item.id),
        select: (/** @type {boolean} */ isChosen) => choose(item, isChosen), done: () => settle([item]) }))),
      data.total > data.items.length && h('p', { class: 'muted' }, `The newest ${data.items.length} of ${data.total}. Decide on these to see older ones.`)];
  }));
}
