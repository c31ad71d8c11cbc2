// A button that runs an action, is busy meanwhile, and says what went wrong: `h(Button, { label: 'Approve', run: async () => {…} })`.

import { ApiError, session } from '../lib/api.js';
import { h } from '../lib/view.js';
import { icon } from './icon.js';
import { toast } from './toast.js';

/** Says what went wrong, unless the sign-in says it. @param {any} error */
export function complain(error) {
  const isAsked = error instanceof ApiError && [401, 403].includes(error.status) && session.wanted;
  if (!(error instanceof ApiError)) console.error(error);
  if (!isAsked) toast(error.message, { kind: 'bad' });
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let rest;

/** Lets buttons rest for a moment, so that the second click of a double click does not hit the one that moved under the pointer. */
export function restButtons() {
  clearTimeout(rest);
  document.body.dataset.resting = '';
  rest = setTimeout(() => { delete document.body.dataset.resting; rest = undefined; }, 700);
}

/** @typedef {{ label: string, run?: (event: MouseEvent) => any, icon?: string, kind?: 'main' | 'danger' | 'quiet' | 'plain', small?: boolean,
 *   iconOnly?: boolean, disabled?: boolean, hint?: string, type?: string, expanded?: boolean, class?: string, describedby?: string }} ButtonProps */

/** @param {import('../lib/view.js').Self} self */
export function Button(self) {
  let isBusy = false;
  const press = async (/** @type {MouseEvent} */ event) => {
    if (isBusy || self.props.disabled || rest !== undefined) return;
    const result = self.props.run?.(event);
    if (!(result instanceof Promise)) return;
    isBusy = true;
    self.update();
    try {
      await result;
    } catch (error) {
      complain(error);
    }
    isBusy = false;
    self.update();
  };
  return (/** @type {ButtonProps} */ { label, icon: name, kind = 'plain', small, iconOnly, disabled, hint, type = 'button', expanded, class: style, describedby }) => h('button', {
    type, class: ['button', kind, small && 'small', iconOnly && 'icon-only', style], onclick: press,
    // Not `disabled`: a button that is busy keeps the focus.
    'aria-disabled': isBusy || disabled ? 'true' : null, 'aria-busy': isBusy ? 'true' : null,
    'aria-expanded': expanded === undefined ? null : String(expanded), 'aria-label': iconOnly ? label : null, title: hint ?? (iconOnly ? label : null),
    'aria-describedby': describedby,
  }, name && icon(name), iconOnly ? null : h('span', null, label));
}

/** A link that looks like a button. @param {{ label: string, href: string, icon?: string, kind?: string, small?: boolean }} props */
export const linkButton = ({ label, href, icon: name, kind = 'plain', small }) =>
  h('a', { class: ['button', kind, small && 'small'], href }, name && icon(name), h('span', null, label));
