// A menu at a button: `h(Menu, { label: 'Actions', items: [{ label, run, danger, hint, disabled }] })`. Arrow keys move, Escape closes.

import { flush, h } from '../lib/view.js';
import { complain } from './button.js';
import { icon } from './icon.js';

let ids = 0;

/** @typedef {{ label: string, run?: () => any, href?: string, danger?: boolean, hint?: string, disabled?: boolean, checked?: boolean }} Item */

/** @param {HTMLElement} popover @param {HTMLElement} button */
function position(popover, button) {
  const at = button.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = popover;
  const left = Math.max(8, Math.min(at.right - width, innerWidth - width - 8));
  const below = at.bottom + 4 + height < innerHeight || at.top < height;
  popover.style.left = `${Math.max(8, Math.min(at.left, left < 8 ? 8 : at.left + width > innerWidth - 8 ? left : at.left))}px`;
  popover.style.top = `${below ? Math.min(at.bottom + 4, Math.max(8, innerHeight - height - 8)) : at.top - height - 4}px`;
}

/** @param {import('../lib/view.js').Self} self */
export function Menu(self) {
  const id = `menu-${++ids}`;
  let isOpen = false;
  const popover = () => self.el.querySelector('[popover]');
  const button = () => self.el.querySelector('button');
  const items = () => [...popover().querySelectorAll('[role^=menuitem]:not([aria-disabled=true])')];
  const close = () => popover().hidePopover();
  const toggled = (/** @type {any} */ event) => {
    isOpen = event.newState === 'open';
    if (!isOpen && self.el.contains(document.activeElement)) button().focus();
    self.update();
    // Its place depends on its height, so the items come first.
    flush();
    if (!isOpen) return;
    position(popover(), button());
    (items().find((one) => one.getAttribute('aria-checked') === 'true') ?? items()[0])?.focus();
  };
  const move = (/** @type {KeyboardEvent} */ event) => {
    const all = items();
    const at = all.indexOf(document.activeElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1 + (at <= 0 ? all.length : 0), Home: 0, End: all.length - 1 }[event.key];
    if (next === undefined) {
      // A letter goes to the next item that begins with it.
      const found = event.key.length === 1 && [...all.slice(at + 1), ...all].find((one) => one.textContent.trim().toLowerCase().startsWith(event.key.toLowerCase()));
      if (found) found.focus();
      return;
    }
    event.preventDefault();
    all[next % all.length]?.focus();
  };
  const choose = async (/** @type {Item} */ item) => {
    close();
    try { await item.run?.(); } catch (error) { complain(error); }
  };
  return (/** @type {{ label: string, items: Item[], icon?: string, iconOnly?: boolean, small?: boolean, kind?: string, title?: string }} */ { label, items: list, icon: name, iconOnly, small, kind = 'plain', title }) =>
    h('div', { class: 'menu' },
      h('button', {
        type: 'button', class: ['button', kind, small && 'small', iconOnly && 'icon-only'], popovertarget: id, 'aria-haspopup': 'menu', 'aria-expanded': String(isOpen),
        'aria-label': iconOnly ? label : null, title: iconOnly ? label : title,
      }, name && icon(name), !iconOnly && h('span', null, label), !iconOnly && icon('down', 'tiny')),
      h('div', { id, popover: 'auto', class: 'menu-list', role: 'menu', 'aria-label': label, ontoggle: toggled, onkeydown: move },
        isOpen ? list.map((item) => h(item.href ? 'a' : 'button', {
          key: item.label, type: item.href ? null : 'button', href: item.href, class: ['menu-item', item.danger && 'danger'], tabindex: -1,
          role: item.checked === undefined ? 'menuitem' : 'menuitemradio', 'aria-checked': item.checked === undefined ? null : String(item.checked),
          'aria-disabled': item.disabled ? 'true' : null, title: item.hint, onclick: () => { if (item.href) close(); else if (!item.disabled) choose(item); },
        }, item.checked !== undefined && (item.checked ? icon('check', 'tiny') : h('span', { class: 'icon tiny' })), item.label)) : null));
}
