// Forms: `h(Form, { fields, value, action, submit, close, … })`. A field is `{ name, label, kind, hint, required, options }`; the server's error
// stands at the field that it names. Kinds: text, area, number, select, check, agent (a list of the configured agents).

import { ApiError, p } from '../lib/api.js';
import { snapshot } from '../lib/store.js';
import { flush, h } from '../lib/view.js';
import { Button } from './button.js';
import { dialogHead } from './dialog.js';

/** @typedef {{ name: string, label: string, kind?: string, hint?: string, required?: boolean, options?: (string | { value: string, label: string })[],
 *   rows?: number, placeholder?: string, autofocus?: boolean, optional?: string, min?: number, max?: number, list?: string[] }} Field */

/** All configured agents. */
export const agents = () => snapshot(p`/api/agents`, { concerns: (event) => event.eventType.startsWith('agent_') && !event.eventType.startsWith('agent_handoff_') });

/** The name of the field that a message of the server begins with. @param {string} message @param {string[]} names */
export function fieldOf(message, names) {
  const word = /^["'`]?([A-Za-z][A-Za-z0-9]*)/.exec(message)?.[1];
  return names.find((name) => name === word) ?? names.find((name) => new RegExp(`\\b${name}\\b`).test(message)) ?? null;
}

/**
 * What is wrong with each field. The server lists the problems, or its message begins with the name of a field; `null` has the rest.
 * @param {any} error @param {string[]} names @returns {Map<string | null, string>}
 */
export function problemsOf(error, names) {
  /** @type {Map<string | null, string>} */
  const found = new Map();
  const add = (/** @type {string | null} */ name, /** @type {string} */ message) => found.set(name, found.has(name) ? `${found.get(name)}\n${message}` : message);
  const listed = /** @type {any[]} */ (error?.details?.problems ?? []).filter((one) => typeof one?.field === 'string');
  for (const { field: at, message } of listed) {
    const name = names.includes(at) ? at : names.find((one) => one === at.split(/[.[]/)[0]);
    if (name) add(name, message);
    else add(null, `${at}: ${message}`);
  }
  if (error && !listed.length) add(fieldOf(error.message, names), error.message);
  return found;
}

let ids = 0;

/** One labelled field; `change` gets the new value. @param {Field & { id: string, value: any, error?: string | null, change: (value: any) => void }} props */
export function field({ id, name, label, kind = 'text', hint, required, options = [], rows = 4, placeholder, autofocus, optional, min, max, list, value, error, change }) {
  const describedby = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ') || null;
  const common = { id, name, required, placeholder, autofocus, 'aria-describedby': describedby, 'aria-invalid': error ? 'true' : null };
  const read = (/** @type {any} */ event) => change(kind === 'check' ? event.target.checked : event.target.value);
  let input;
  if (kind === 'area') input = h('textarea', { ...common, rows, value: value ?? '', oninput: read, onkeydown: submitByKey });
  else if (kind === 'select' || kind === 'agent') {
    input = h('select', { ...common, value: value ?? '', onchange: read }, optional !== undefined && h('option', { value: '' }, optional),
      options.map((one) => (typeof one === 'string' ? { value: one, label: one } : one)).map((one) => h('option', { key: one.value, value: one.value, selected: one.value === value }, one.label)));
  } else if (kind === 'check') input = h('input', { ...common, type: 'checkbox', checked: Boolean(value), onchange: read });
  else input = h('input', { ...common, type: kind, min, max, value: value ?? '', oninput: read, autocomplete: 'off', spellcheck: kind === 'text' ? null : 'false', list: list && `${id}-list` });
  return h('div', { class: ['field', kind === 'check' && 'check', error && 'wrong'], key: name },
    h('label', { for: id }, label, required && h('span', { class: 'required', 'aria-hidden': 'true' }, ' *')), input,
    list && h('datalist', { id: `${id}-list` }, list.map((one) => h('option', { key: one, value: one }))),
    hint && h('p', { id: `${id}-hint`, class: 'hint' }, hint), error && h('p', { id: `${id}-error`, class: 'error', role: 'alert' }, error));
}

/** Control and Enter submit a form from a text of several lines. @param {KeyboardEvent} event */
export function submitByKey(event) {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  /** @type {HTMLTextAreaElement} */ (event.target).form?.requestSubmit();
}

/** @param {import('../lib/view.js').Self} self */
export function Form(self) {
  const id = `form-${++ids}`;
  const value = { ...(self.props.value ?? {}) };
  let error = /** @type {any} */ (null);
  let isBusy = false;
  const configured = self.props.fields.some((/** @type {Field} */ one) => one.kind === 'agent') ? self.use(agents()) : null;
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (isBusy) return;
    isBusy = true;
    error = null;
    self.update();
    try {
      const result = await self.props.submit(value);
      self.props.close?.(result ?? true);
    } catch (failure) {
      if (!(failure instanceof ApiError)) console.error(failure);
      error = failure;
    }
    isBusy = false;
    self.update();
    if (!error) return;
    flush();
    /** @type {HTMLElement | null} */ (self.el.querySelector('[aria-invalid=true]'))?.focus();
  };
  return (/** @type {any} */ { fields, title, titleId, close, action, intro, extra, danger }) => {
    const names = fields.map((/** @type {Field} */ one) => one.name);
    const wrong = problemsOf(error, names);
    return h('form', { class: 'form', onsubmit: submit, novalidate: false },
      title && dialogHead({ title, titleId, close }), intro && h('p', { class: 'muted' }, intro),
      fields.map((/** @type {Field} */ one) => field({
        ...one, id: `${id}-${one.name}`, value: value[one.name], error: wrong.get(one.name),
        options: one.kind === 'agent' ? (configured?.data ?? []).map((/** @type {any} */ agent) => agent.name) : one.options,
        change: (given) => { value[one.name] = given; self.props.change?.(value); self.update(); },
      })),
      extra?.(value, self.update), wrong.has(null) && h('p', { class: 'error', role: 'alert' }, wrong.get(null)),
      h('div', { class: 'dialog-actions' }, close && h(Button, { label: 'Back', run: () => close() }),
        h(Button, { label: action, kind: danger ? 'danger' : 'main', type: 'submit', disabled: isBusy })));
  };
}
