// The frame of the page: navigation, connection, sign-in, colours, keys, and the view that the address names.

import { p, session, signIn } from '../lib/api.js';
import { stream } from '../lib/events.js';
import { bindKeys, moveFocus } from '../lib/keys.js';
import { announce, setCount, setTitle, theme } from '../lib/page.js';
import { navigate, place } from '../lib/router.js';
import { resource, snapshot } from '../lib/store.js';
import { h } from '../lib/view.js';
import { Button } from './button.js';
import { Dialogs, openDialog } from './dialog.js';
import { Help } from './help.js';
import { icon } from './icon.js';
import { Menu } from './menu.js';
import { notify } from './notify.js';
import { openSignIn } from './signin.js';
import { empty, failed, loading } from './states.js';
import { createTask } from './tasks.js';
import { toast, Toasts } from './toast.js';

/** The places of the navigation; `key` follows `g`. `main`: also at the bottom of a phone. */
export const PLACES = [
  { name: 'needs', path: '/needs', label: 'Needs you', key: 'n', main: true },
  { name: 'board', path: '/board', label: 'Board', key: 'b', main: true },
  { name: 'chat', path: '/chat', label: 'Chat', key: 'c', main: true },
  { name: 'requests', path: '/requests', label: 'Requests', key: 'r' },
  { name: 'increments', path: '/increments', label: 'Increments', key: 'i' },
  { name: 'mail', path: '/mail', label: 'Mail', key: 'm' },
  { name: 'sessions', path: '/sessions', label: 'Sessions', key: 's' },
  { name: 'agents', path: '/agents', label: 'Agents', key: 'a' },
  { name: 'tools', path: '/tools', label: 'Tools', key: 't' },
  { name: 'figures', path: '/figures', label: 'Figures', key: 'f' },
];

const ATTENTION = /^(request_|task_blocked|increment_|alert_|mail_|agent_handoff_|status_changed|run_|no_suitable_agent|report_given)/;

/** Everything that waits for a person; the view "Needs you" shows it, the frame counts it. */
export const attention = () => snapshot(p`/api/attention`, { concerns: (event) => ATTENTION.test(event.eventType) });

const WORDS = { live: 'Live', connecting: 'Connecting', lost: 'Server not responding', refused: 'Sign-in needed' };

/** Whether the server has other assets than this page. */
const isOld = () => {
  const own = document.querySelector('meta[name=chorus-assets]')?.getAttribute('content');
  return Boolean(stream.assets && own && stream.assets !== own);
};

/** @param {import('../lib/view.js').Self} self */
function Connection(self) {
  self.use(stream);
  return () => h('p', { class: ['connection', stream.state], role: 'status' }, h('span', { class: 'connection-dot', 'aria-hidden': 'true' }), WORDS[stream.state]);
}

/** @param {import('../lib/view.js').Self} self */
function Navigation(self) {
  self.use(place);
  self.use(session);
  const waiting = self.use(attention());
  let before = -1;
  waiting.subscribe(() => {
    const total = waiting.data?.total ?? 0;
    setCount(total);
    if (before >= 0 && total > before) notify(waiting.data.items[0], total);
    before = waiting.data ? total : before;
  });
  const link = (/** @type {typeof PLACES[0]} */ { name, path, label }) => {
    const total = name === 'needs' ? waiting.data?.total ?? 0 : 0;
    return h('a', { key: name, href: path, 'aria-current': place.route?.name === name ? 'page' : null, },
      icon(name), h('span', null, label), total ? h('span', { class: 'nav-count' }, total > 99 ? '99+' : total, h('span', { class: 'unseen' }, total === 1 ? ' item' : ' items')) : null);
  };
  const themes = () => ['system', 'light', 'dark'].map((value) => ({
    label: `Colours: ${value}`, checked: theme.value === value, run: () => { theme.set(value); self.update(); },
  }));
  const menu = () => [
    ...themes(), { label: 'Keys', run: () => openDialog(Help) },
    { label: 'API documentation', href: '/api/docs' },
    session.token ? { label: 'Sign out of this tab', run: () => { signIn(null); toast('Signed out'); } } : { label: 'Sign in', run: () => openSignIn() },
  ];
  return () => h('nav', { class: 'nav', 'aria-label': 'Main' },
    h('a', { class: 'brand', href: '/board' }, h('span', { class: 'brand-mark', 'aria-hidden': 'true' }), h('span', null, 'Chorus')),
    h('div', { class: 'nav-places' }, PLACES.map(link)),
    h('div', { class: 'nav-foot' }, h(Connection),
      !session.token && h(Button, { label: 'Sign in', icon: 'key', small: true, kind: 'quiet', run: () => openSignIn() }),
      h(Menu, { label: 'Settings', icon: 'more', iconOnly: true, small: true, kind: 'quiet', items: menu() })),
    h('div', { class: 'nav-more' }, h(Menu, { label: 'More', icon: 'more', iconOnly: true, kind: 'quiet', items: [
      ...PLACES.filter((one) => !one.main).map((one) => ({ label: one.label, run: () => navigate(one.path) })), ...menu()] })));
}

/** @param {import('../lib/view.js').Self} self */
function Upgrade(self) {
  self.use(stream);
  return () => (isOld() ? h('div', { class: 'upgrade', role: 'alert' }, h('p', null, 'The server has a new version of this page.'),
    h(Button, { label: 'Reload', kind: 'main', small: true, run: () => location.reload() })) : null);
}

/** Says on every screen that nothing is current, once the server has been away for a moment. @param {import('../lib/view.js').Self} self */
function Away(self) {
  self.use(stream);
  let isAway = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const look = () => {
    clearTimeout(timer);
    if (stream.state === 'live' && isAway) {
      isAway = false;
      self.update();
    } else if (stream.state === 'lost' && !isAway) {
      timer = setTimeout(() => { isAway = true; self.update(); }, 2000);
    }
  };
  self.onUnmount(stream.subscribe(look));
  self.onUnmount(() => clearTimeout(timer));
  return () => (isAway ? h('div', { class: 'upgrade', role: 'status' },
    h('p', null, 'The server does not respond. What you see may be old; what you do is sent when the server is back.')) : null);
}

/** The view that the address names; its file is loaded when it is first shown. @param {import('../lib/view.js').Self} self */
function Outlet(self) {
  self.use(place);
  /** @type {Map<any, import('../lib/store.js').Resource>} */
  const files = new Map();
  return () => {
    const { route } = place;
    if (!route) return empty({ title: 'There is no such page', text: place.path, action: h('a', { href: '/board' }, 'Go to the board') });
    const found = files.get(route) ?? resource(`view ${route.path}`, { load: async () => ({ data: (await route.load()).default }), concerns: () => false });
    if (!files.has(route)) {
      files.set(route, found);
      self.use(found);
    }
    if (!found.data) {
      if (!found.error) return loading();
      return failed({ message: isOld() ? 'The server has a new version of this page. Reload it.' : found.error.message }, () => location.reload());
    }
    return h(found.data, { key: place.path, params: place.params, query: place.query.toString() });
  };
}

/** @param {import('../lib/view.js').Self} self */
export function Shell(self) {
  bindKeys(self, [
    { keys: '?', label: 'Show all keys', group: 'Everywhere', run: () => openDialog(Help) },
    { keys: 'j', label: 'Next item', group: 'Everywhere', run: () => moveFocus(1) },
    { keys: 'k', label: 'Previous item', group: 'Everywhere', run: () => moveFocus(-1) },
    { keys: '/', label: 'Search', group: 'Everywhere', run: () => {
      const search = /** @type {HTMLElement | null} */ (document.querySelector('main input[type=search]'));
      if (search) search.focus();
      else navigate('/board');
    } },
    { keys: 'c', label: 'Create a task', group: 'Everywhere', run: () => createTask() },
    ...PLACES.map((one) => ({ keys: `g ${one.key}`, label: one.label, group: 'Go to', run: () => navigate(one.path) })),
  ]);
  let path = place.path;
  place.subscribe(() => {
    if (place.path === path) return;
    path = place.path;
    scrollTo(0, 0);
    setTimeout(() => {
      const head = /** @type {HTMLElement | null} */ (document.querySelector('main h1'));
      // A click on a link of the navigation keeps its focus; a screen reader hears the new view.
      if (head) announce(head.textContent ?? '');
      if (document.activeElement === document.body) head?.focus({ preventScroll: true });
    }, 150);
  });
  setTitle('');
  return () => h('div', { class: 'shell' }, h('a', { class: 'skip', href: '#main', onclick: (/** @type {Event} */ event) => {
    event.preventDefault();
    document.getElementById('main')?.focus();
  } }, 'Skip to the content'), h(Navigation),
  h('main', { id: 'main', tabindex: -1 }, h(Upgrade), h(Away), h(Outlet)), h(Dialogs), h(Toasts));
}
