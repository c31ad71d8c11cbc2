// Dialogs: `openDialog(CreateTask, { … })` shows a component in a modal dialog; it gets `close`. `ask({ title, text, action })` asks for a
// confirmation and resolves to true or false. The browser keeps the focus inside and gives it back.

import { h } from '../lib/view.js';
import { Button } from './button.js';

/** @typedef {{ id: number, component: import('../lib/view.js').Component, props: any, done: (value: any) => void }} Open */

/** @type {Open[]} */
let open = [];
let last = 0;
/** @type {Set<() => void>} */
const listeners = new Set();
const changed = () => { for (const listener of [...listeners]) listener(); };

/** Opens a dialog and resolves with what it is closed with. @param {import('../lib/view.js').Component} component @param {any} [props] @returns {Promise<any>} */
export function openDialog(component, props = {}) {
  return new Promise((done) => {
    open = [...open, { id: ++last, component, props, done }];
    changed();
  });
}

/** @param {number} id @param {any} [value] */
function close(id, value) {
  const closed = open.find((one) => one.id === id);
  open = open.filter((one) => one.id !== id);
  changed();
  closed?.done(value);
}

/** @param {import('../lib/view.js').Self} self */
function Frame(self) {
  self.onMount((el) => {
    const before = document.activeElement;
    el.showModal();
    (el.querySelector('[autofocus]') ?? el.querySelector('input, textarea, select'))?.focus();
    return () => { if (before instanceof HTMLElement && before.isConnected) before.focus(); };
  });
  return (/** @type {Open} */ { id, component, props }) => h('dialog', {
    class: ['dialog', props.wide && 'wide'], 'aria-labelledby': `dialog-${id}`,
    oncancel: (/** @type {Event} */ event) => { event.preventDefault(); close(id); },
    // A click on the backdrop is a click on the dialog itself.
    onmousedown: (/** @type {MouseEvent} */ event) => { if (event.target === event.currentTarget) close(id); },
  }, h('div', { class: 'dialog-body' }, h(component, { ...props, titleId: `dialog-${id}`, close: (/** @type {any} */ value) => close(id, value) })));
}

/** @param {import('../lib/view.js').Self} self */
export function Dialogs(self) {
  self.use({ subscribe: (listener) => { listeners.add(listener); return () => listeners.delete(listener); } });
  return () => h('div', null, open.map((one) => h(Frame, { key: one.id, ...one })));
}

/** The head of a dialog. @param {{ title: string, titleId: string, close: (value?: any) => void }} props */
export const dialogHead = ({ title, titleId, close: closeIt }) => h('header', { class: 'dialog-head' },
  h('h2', { id: titleId }, title), h(Button, { label: 'Close', icon: 'close', iconOnly: true, kind: 'quiet', small: true, run: () => closeIt() }));

/** @param {import('../lib/view.js').Self} _self */
function Ask(_self) {
  return (/** @type {any} */ props) => h('form', { method: 'dialog', onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); props.close(true); } },
    dialogHead(props), h('p', { class: 'pre-line' }, props.text),
    h('div', { class: 'dialog-actions' }, h(Button, { label: 'Back', run: () => props.close(false) }),
      h(Button, { label: props.action, kind: props.danger ? 'danger' : 'main', type: 'submit' })));
}

/** @param {{ title: string, text: string, action: string, danger?: boolean }} props @returns {Promise<boolean>} */
export const ask = async (props) => Boolean(await openDialog(Ask, props));
