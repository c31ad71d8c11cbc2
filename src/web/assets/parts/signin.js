// The sign-in: asks for the operator's token when the server wants it, and shows whether this tab has one.

import { ApiError, call, closeSignIn, p, session, signIn, tokenIn } from '../lib/api.js';
import { h } from '../lib/view.js';
import { Button } from './button.js';
import { dialogHead, openDialog } from './dialog.js';
import { field } from './form.js';
import { toast } from './toast.js';

/** @param {import('../lib/view.js').Self} self */
function SignIn(self) {
  let text = '';
  let error = /** @type {string | null} */ (null);
  let isBusy = false;
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const word = tokenIn(text);
    if (!word) error = 'This is not a token. A token is one word of letters and digits.';
    else {
      isBusy = true;
      const before = session.token;
      session.token = word;
      try {
        await call(p`/api/dispatch`);
        signIn(word);
        toast('Signed in');
        self.props.close(true);
        return;
      } catch (failure) {
        session.token = before;
        error = failure instanceof ApiError && failure.status === 401 ? 'The server does not know this token.' : /** @type {Error} */ (failure).message;
      }
      isBusy = false;
    }
    self.update();
  };
  return (/** @type {any} */ props) => h('form', { class: 'form', onsubmit: submit },
    dialogHead({ ...props, title: 'Sign in as the operator' }), h('p', { class: 'muted' }, props.why),
    field({ id: 'token', name: 'token', label: 'Token or link', kind: 'password', required: true, autofocus: true, value: text, error,
      hint: 'chorus operator link prints a link that contains it. It is also in the file operator.token in the data directory. This tab forgets it when it is closed.',
      change: (given) => { text = given; } }),
    h('div', { class: 'dialog-actions' }, h(Button, { label: 'Not now', run: () => props.close() }), h(Button, { label: 'Sign in', kind: 'main', type: 'submit', disabled: isBusy })));
}

let isOpen = false;

/** Opens the sign-in, once. @param {string} [why] */
export async function openSignIn(why = 'Decisions, agents and tools are the operator’s: they need the token of the server.') {
  if (isOpen) return;
  isOpen = true;
  await openDialog(SignIn, { why });
  isOpen = false;
  closeSignIn();
}

session.subscribe(() => { if (session.wanted) openSignIn(session.wanted); });
