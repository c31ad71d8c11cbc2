// The board: tasks in columns by status, live. Cards are dragged to another status, or handed to an agent from their menu.

import { bindKeys } from '../lib/keys.js';
import { announce, setTitle } from '../lib/page.js';
import { place, setQuery } from '../lib/router.js';
import { counted, dollars, firstLine } from '../lib/text.js';
import { Ago } from '../lib/time.js';
import { h } from '../lib/view.js';
import { agentChip, badge, blockedBadge, count, priorityBadge, STATUSES, words } from '../parts/badges.js';
import { boardOf, changeCard, loadMore } from '../parts/board-data.js';
import { Button, complain } from '../parts/button.js';
import { draggable } from '../parts/drag.js';
import { agents } from '../parts/form.js';
import { icon } from '../parts/icon.js';
import { VirtualList } from '../parts/list.js';
import { Menu } from '../parts/menu.js';
import { page } from '../parts/page.js';
import { empty, loaded } from '../parts/states.js';
import { cancelAgent, createTask, handOff, handOffNow, setStatus } from '../parts/tasks.js';
import { toast } from '../parts/toast.js';

/** @typedef {import('../parts/board-data.js').Card} Card */
/** @typedef {import('../parts/board-data.js').Column} Column */
/** @typedef {import('../parts/board-data.js').Filter} Filter */

const HINTS = { pending: 'No agent has worked on these yet.', active: 'Agents work on these now.', waiting: 'An agent has finished; you decide what comes next.', completed: 'Done.', failed: 'Given up.' };

/** @param {Card} card @param {string[]} names @param {(status: string) => any} move */
const itemsOf = (card, names, move) => [
  { label: 'Open', href: `/tasks/${card.id}` },
  { label: 'Chat', href: `/chat/${card.id}` },
  { label: 'Hand off…', run: () => handOff(card) },
  ...(card.currentAgent ? [{ label: `Stop ${card.currentAgent}…`, danger: true, run: () => cancelAgent(card) }] : names.map((name) => ({ label: `Hand to ${name}`, run: () => handOffNow(card, name) }))),
  ...STATUSES.filter((status) => status !== card.status.type && status !== 'active').map((status) => ({ label: `Set to ${status}`, run: () => move(status) })),
];

/** One task on the board. @param {{ card: Card, names: string[], move: (card: Card, status: string) => any }} props */
const cardOf = ({ card, names, move }) => h('article', {
  class: ['card', card.blocked && 'blocked', card.currentAgent && 'busy'], 'data-item': card.id, 'data-task': card.id, tabindex: -1, 'aria-label': firstLine(card.description),
},
h('div', { class: 'card-head' },
  h('a', { class: 'card-title clamp', href: `/tasks/${card.id}`, draggable: 'false' }, card.description),
  h(Menu, { label: 'Actions', icon: 'more', iconOnly: true, small: true, kind: 'quiet', items: itemsOf(card, names, (status) => move(card, status)) })),
(card.blocked || card.waitingReason) && h('p', { class: 'card-reason clamp' }, card.blocked && blockedBadge(), ' ', card.waitingReason),
card.status.type === 'failed' && card.status.message && h('p', { class: 'card-reason clamp' }, card.status.message),
card.lastLine && h('p', { class: 'card-line clamp' }, card.lastLine),
h('div', { class: 'card-foot' },
  card.currentAgent && agentChip(card.currentAgent, { working: true }),
  priorityBadge(card.priority), card.stage ? badge(card.stage, 'live') : card.agentRole && badge(card.agentRole, 'plain'),
  card.queued > 0 && badge(`${card.queued} queued`, 'live'),
  card.chainLength > 0 && h('span', { class: 'card-fact', title: counted(card.chainLength, 'hand-off') }, icon('sessions', 'tiny'), h('span', { class: 'unseen' }, 'hand-offs '), card.chainLength),
  card.children > 0 && h('span', { class: 'card-fact', title: counted(card.children, 'child task') }, icon('board', 'tiny'), h('span', { class: 'unseen' }, 'child tasks '), card.children),
  dollars(card.costUsd) && h('span', { class: 'card-fact' }, dollars(card.costUsd)), h(Ago, { at: card.updatedAt, class: 'card-age' })));

/** The filters, which are part of the address. @param {import('../lib/view.js').Self} self */
function Filters(self) {
  const crew = self.use(agents());
  /** @type {any} */
  let timer = null;
  const search = (/** @type {any} */ event) => {
    const { value } = event.target;
    clearTimeout(timer);
    timer = setTimeout(() => setQuery({ text: value }), 250);
  };
  return (/** @type {{ filter: Filter, roles: string[] }} */ { filter, roles }) => {
    const names = (crew.data ?? []).map((/** @type {any} */ agent) => agent.name);
    const all = [...new Set([...roles, ...(crew.data ?? []).flatMap((/** @type {any} */ agent) => agent.roles ?? []), filter.role].filter(Boolean))];
    const choice = (/** @type {string} */ label, /** @type {'agent' | 'role'} */ name, /** @type {string[]} */ options) => h('label', { class: 'tool-field' }, h('span', null, label),
      h('select', { value: filter[name], onchange: (/** @type {any} */ event) => setQuery({ [name]: event.target.value }) }, h('option', { value: '' }, 'all'),
        [...new Set([...options, filter[name]].filter(Boolean))].map((one) => h('option', { key: one, value: one }, one))));
    const mark = (/** @type {string} */ label, /** @type {'session' | 'increment'} */ name) => filter[name]
      && h(Button, { label: `${label} ${filter[name].slice(-12)}`, icon: 'close', small: true, hint: 'Show the tasks of all again', run: () => setQuery({ [name]: null }) });
    const isFiltered = Object.values(filter).some(Boolean);
    return h('div', { class: 'row grow', role: 'search' },
      h('label', { class: 'search' }, icon('search'), h('span', { class: 'unseen' }, 'Search descriptions'),
        h('input', { type: 'search', placeholder: 'Search descriptions', value: filter.text, oninput: search })),
      choice('Agent', 'agent', names), choice('Role', 'role', /** @type {string[]} */ (all)), mark('Session', 'session'), mark('Increment', 'increment'),
      isFiltered && h(Button, { label: 'Clear', small: true, kind: 'quiet', run: () => setQuery({ text: null, agent: null, role: null, session: null, increment: null }) }));
  };
}

/** @param {import('../lib/view.js').Self} self */
export default function Board(self) {
  setTitle('Board');
  const crew = self.use(agents());
  /** @type {Filter} */
  let filter = { text: '', agent: '', role: '', session: '', increment: '' };
  let board = boardOf(filter);
  let leave = () => {};
  let over = /** @type {string | null} */ (null);
  const follow = () => {
    /** @type {any} */
    const next = {};
    for (const name of Object.keys(filter)) next[name] = place.query.get(name) ?? '';
    const found = boardOf(next);
    filter = next;
    if (found === board && leave !== none) return;
    // Old cards stay until the new ones are there: nothing flickers while one types.
    if (found.data === undefined && board.data) found.data = board.data;
    leave();
    board = found;
    leave = board.subscribe(self.update);
  };
  const none = leave;
  follow();
  self.onUnmount(() => leave());
  self.onUnmount(place.subscribe(() => { if (place.route?.name === 'board') { follow(); self.update(); } }));

  const move = async (/** @type {Card} */ card, /** @type {string} */ status) => {
    if (status === card.status.type) return;
    if (status === 'active') {
      await handOff(card);
      return;
    }
    const before = card.status;
    const show = (/** @type {any} */ to) => board.mutate((data) => changeCard(data, card.id, { status: to }));
    if (status !== 'failed') show({ type: status });
    try {
      if (!await setStatus(card, status)) return;
      announce(`Set to ${status}`);
      toast(`Set to ${status}${card.currentAgent ? `; ${card.currentAgent} keeps working` : ''}`, before.type === 'active' || before.type === 'failed' ? {} : {
        action: { label: 'Undo', run: () => setStatus(card, before.type).catch(complain) },
      });
    } catch (error) {
      show(before);
      complain(error);
    }
  };
  const drag = draggable({
    pick: (event) => {
      const target = /** @type {HTMLElement} */ (event.target);
      return target.closest('button, .menu, select, input') ? null : target.closest('.card');
    },
    over: (target) => {
      const status = target?.closest('[data-status]')?.getAttribute('data-status') ?? null;
      if (status === over) return;
      over = status;
      self.update();
    },
    drop: (target) => {
      const status = target?.closest('[data-status]')?.getAttribute('data-status');
      const card = board.data?.columns.flatMap((/** @type {Column} */ one) => one.cards).find((/** @type {Card} */ one) => one.id === dragged);
      if (status && card) move(card, status).catch(complain);
    },
  });
  let dragged = '';
  const pick = (/** @type {PointerEvent} */ event) => {
    dragged = /** @type {HTMLElement} */ (event.target).closest('.card')?.getAttribute('data-task') ?? '';
    drag(event);
  };
  const focused = () => {
    const id = document.activeElement?.closest('.card')?.getAttribute('data-task');
    return board.data?.columns.flatMap((/** @type {Column} */ one) => one.cards).find((/** @type {Card} */ one) => one.id === id);
  };
  bindKeys(self, [
    { keys: 'Enter', label: 'Open the card', run: () => /** @type {HTMLElement | null} */ (document.activeElement?.querySelector('.card-title'))?.click() },
    { keys: 'h', label: 'Hand the card to an agent', run: () => { const card = focused(); if (card) handOff(card); } },
    { keys: 'm', label: 'Actions of the card', run: () => /** @type {HTMLElement | null} */ (document.activeElement?.closest('.card')?.querySelector('.menu button'))?.click() },
  ]);

  const column = (/** @type {Column} */ one) => h('section', { key: one.status, class: ['column', over === one.status && 'over'], 'data-status': one.status, 'aria-label': `${words(one.status)}, ${counted(one.total, 'task')}` },
    h('h2', { class: 'column-head', title: HINTS[/** @type {keyof typeof HINTS} */ (one.status)] }, h('span', { class: ['column-dot', one.status] }), words(one.status), count(one.total, one.more)),
    one.cards.length ? h(VirtualList, {
      items: one.cards, keyOf: (/** @type {Card} */ card) => card.id, estimate: 116, label: `Tasks: ${one.status}`, class: 'column-cards', end: () => loadMore(board, filter, one).catch(complain),
      row: (/** @type {Card} */ card) => cardOf({ card, names: (crew.data ?? []).filter((/** @type {any} */ agent) => agent.available).map((/** @type {any} */ agent) => agent.name), move }),
    }) : h('p', { class: 'column-empty' }, one.status === 'active' ? 'No agent is working.' : 'None.'));

  return () => page({
    title: 'Board', fill: true, class: 'board-view',
    actions: h(Button, { label: 'New task', icon: 'plus', kind: 'main', hint: 'c', run: async () => { await createTask(); board.reload(); } }),
    tools: h(Filters, { filter, roles: [], key: 'filters' }),
  }, loaded(board, (/** @type {{ columns: Column[] }} */ data) => {
    const isFiltered = Object.values(filter).some(Boolean);
    if (data.columns.every((one) => one.total === 0) && !isFiltered) {
      return empty({ icon: 'board', title: 'No tasks yet', text: 'A task is a piece of work that agents hand to one another. Create one, or let an agent create it.',
        action: h(Button, { label: 'Create a task', kind: 'main', run: () => createTask() }) });
    }
    if (data.columns.every((one) => one.cards.length === 0) && isFiltered && !board.isLoading) return empty({ icon: 'search', title: 'No task matches', text: 'Try another word, or clear the filters.' });
    return h('div', { class: 'board', onpointerdown: pick }, data.columns.map(column));
  }));
}
