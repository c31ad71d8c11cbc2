// The states of a view without content: empty, loading, failed, out of date. `loaded(resource, (data) => …)` shows the right one.

import { h } from '../lib/view.js';
import { Button } from './button.js';
import { icon } from './icon.js';

/** @param {{ icon?: string, title: string, text?: any, action?: any }} props */
export const empty = ({ icon: name, title, text, action }) => h('div', { class: 'state' },
  name && icon(name, 'large'), h('p', { class: 'state-title' }, title), text && h('p', { class: 'muted' }, text), action);

/** @param {string} [label] */
export const loading = (label = 'Loading…') => h('div', { class: 'state loading', role: 'status' }, h('span', { class: 'spinner', 'aria-hidden': 'true' }), h('p', null, label));

/** @param {any} error @param {() => void} [retry] */
export const failed = (error, retry) => h('div', { class: 'state failed', role: 'alert' }, icon('alert', 'large'),
  h('p', { class: 'state-title' }, error.status === 404 ? 'Not found' : 'This could not be loaded'), h('p', { class: 'muted' }, error.message),
  retry && h(Button, { label: 'Try again', run: retry }));

/** @param {import('../lib/store.js').Resource} resource @param {(data: any) => any} show */
export function loaded(resource, show) {
  const { data, error } = resource;
  if (data === undefined) return error ? failed(error, () => resource.reload()) : loading();
  // A server that does not respond is reported once, in the frame of the page.
  if (error && error.status !== 0) return [h('p', { class: 'notice bad', role: 'alert' }, `This may be out of date: ${error.message}`), show(data)];
  return show(data);
}
