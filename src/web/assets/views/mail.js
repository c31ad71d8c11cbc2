// Mail: the boxes of the operator and of each agent.

import { p } from '../lib/api.js';
import { bindKeys } from '../lib/keys.js';
import { setTitle } from '../lib/page.js';
import { navigate, place, setQuery } from '../lib/router.js';
import { firstLine } from '../lib/text.js';
import { Ago } from '../lib/time.js';
import { h } from '../lib/view.js';
import { Button } from '../parts/button.js';
import { following } from '../parts/following.js';
import { agents } from '../parts/form.js';
import { icon } from '../parts/icon.js';
import { ackState, concernsMail, copyActions, copyOf, correspondent, marks, OPERATOR, writeMail } from '../parts/mail.js';
import { more, paged } from '../parts/paged.js';
import { page, tabs } from '../parts/page.js';
import { empty, loaded } from '../parts/states.js';

/** @typedef {import('../parts/mail.js').Mail} Mail */

const EVERYBODY = '*';
const VIEWS = [['', 'All'], ['unread', 'Unread'], ['pending', 'To do'], ['overdue', 'Overdue'], ['sent', 'Sent']];

/** @param {import('../lib/view.js').Self} self */
export default function MailBox(self) {
  setTitle('Mail');
  const crew = self.use(agents());
  const box = () => place.query.get('box') || OPERATOR;
  const show = () => place.query.get('show') ?? '';
  const list = following(self, () => {
    const name = box() === EVERYBODY ? null : box();
    const isSent = show() === 'sent';
    const mark = ['unread', 'pending', 'overdue'].includes(show()) ? { [show()]: true } : {};
    return paged(p`/api/mail`, { to: isSent ? null : name, from: isSent ? name : null, ...mark, q: place.query.get('q'), newest: true }, { concerns: concernsMail });
  });
  /** @type {any} */
  let timer = null;
  const search = (/** @type {any} */ event) => {
    clearTimeout(timer);
    const text = event.target.value;
    timer = setTimeout(() => setQuery({ q: text.trim() }), 250);
  };
  const write = async () => {
    const mail = await writeMail({ from: box() === EVERYBODY ? OPERATOR : box() });
    if (mail) list.now.reload();
  };
  const focused = () => /** @type {Mail | undefined} */ (list.now.data?.items.find((/** @type {Mail} */ one) => one.id === document.activeElement?.closest('[data-item]')?.getAttribute('data-item')));
  bindKeys(self, [
    { keys: 'Enter', label: 'Open the mail', run: () => { const mail = focused(); if (mail && document.activeElement?.matches('[data-item]')) navigate(`/mail/${mail.id}`); } },
    { keys: 'a', label: 'First action of the mail', run: () => /** @type {HTMLElement | null | undefined} */ (document.activeElement?.closest('[data-item]')?.querySelector('.need-actions button'))?.click() },
    { keys: 'N', label: 'Write mail', run: () => { write(); } },
  ]);
  const address = (/** @type {string} */ wanted) => {
    const query = new URLSearchParams(place.query);
    query.delete('show');
    if (wanted) query.set('show', wanted);
    const text = query.toString();
    return `/mail${text ? `?${text}` : ''}`;
  };
  const row = (/** @type {Mail} */ mail) => {
    const copy = copyOf(mail, box());
    const isUnread = Boolean(copy && !copy.readAt);
    return h('li', { key: mail.id, class: ['need', isUnread && 'unread'], 'data-item': mail.id, tabindex: -1, 'aria-label': `${isUnread ? 'Unread: ' : ''}${mail.subject}` },
      h('span', { class: 'unread-mark', title: isUnread ? 'Not read' : null }),
      h('div', { class: 'need-body' },
        h('p', { class: 'need-meta' }, correspondent(mail.from), icon('arrow', 'tiny'), h('span', { class: 'words' }, mail.to.map(correspondent)), marks(mail), ackState(mail, copy), h(Ago, { at: mail.sentAt })),
        h('a', { class: 'need-title clamp', href: `/mail/${mail.id}` }, mail.subject), mail.body && h('p', { class: 'muted clip' }, firstLine(mail.body))),
      h('div', { class: 'need-actions' }, copyActions(mail, copy)));
  };
  const nothing = () => {
    if (place.query.get('q')) return empty({ icon: 'search', title: 'No mail matches', text: 'All words must occur in the subject, the text or the facts.' });
    if (show()) return empty({ icon: 'mail', title: show() === 'sent' ? 'Nothing sent' : `Nothing ${{ unread: 'unread', pending: 'to do', overdue: 'overdue' }[show()] ?? ''}`, text: 'Look at all mail, or at another box.' });
    return empty({ icon: 'mail', title: 'No mail', text: 'Agents write to each other and to you about their work. You can write to an agent: it gets the mail with its next hand-off.', action: h(Button, { label: 'Write mail', kind: 'main', run: write }) });
  };
  return () => page({
    title: 'Mail', subtitle: box() === OPERATOR ? 'Your mail as the operator.' : box() === EVERYBODY ? 'The mail of all.' : `The mail of ${box()}.`, actions: h(Button, { label: 'Write mail', icon: 'plus', kind: 'main', run: write }),
    tools: h('div', { class: 'row grow', role: 'search' },
      h('label', { class: 'tool-field' }, h('span', null, 'Box'), h('select', { value: box(), onchange: (/** @type {any} */ event) => setQuery({ box: event.target.value === OPERATOR ? null : event.target.value }) },
        [[OPERATOR, 'you (operator)'], [EVERYBODY, 'everybody'], ...[...new Set([...(crew.data ?? []).map((/** @type {any} */ one) => one.name), box()])].filter((name) => name !== OPERATOR && name !== EVERYBODY).map((name) => [name, name])]
          .map(([value, label]) => h('option', { key: value, value, selected: value === box() }, label)))),
      h('label', { class: 'search' }, icon('search'), h('span', { class: 'unseen' }, 'Search mail'), h('input', { type: 'search', placeholder: 'Search mail', value: place.query.get('q') ?? '', oninput: search }))),
  }, tabs({ label: 'Mail', items: VIEWS.map(([name, label]) => ({ href: address(name), label, current: show() === name })) }),
  loaded(list.now, (data) => (data.items.length ? [h('ul', { class: 'needs', 'aria-label': 'Mail' }, data.items.map(row)), more(list.now)] : nothing())));
}
