// One mail in its thread, oldest first, with the answer below.

import { p, withQuery } from '../lib/api.js';
import { bindKeys } from '../lib/keys.js';
import { setTitle } from '../lib/page.js';
import { snapshot } from '../lib/store.js';
import { counted, shorten } from '../lib/text.js';
import { h } from '../lib/view.js';
import { Button, complain } from '../parts/button.js';
import { answerMail, concernsMail, letter } from '../parts/mail.js';
import { page } from '../parts/page.js';
import { loaded } from '../parts/states.js';

/** @typedef {import('../parts/mail.js').Mail} Mail */

/** @param {import('../lib/view.js').Self} self */
function Letters(self) {
  const thread = self.use(snapshot(withQuery(p`/api/mail`, { thread: self.props.threadId, limit: 1000 }), { concerns: concernsMail }));
  const last = () => /** @type {Mail | undefined} */ (thread.data?.at(-1));
  const answer = async () => {
    const mail = last();
    if (mail && await answerMail(mail)) thread.reload();
  };
  bindKeys(self, [{ keys: 'r', label: 'Answer', run: () => { answer().catch(complain); } }]);
  // The mail of the address comes into view once; later mail moves nothing.
  let hasShown = false;
  return (/** @type {{ id: string }} */ { id }) => loaded(thread, (/** @type {Mail[]} */ data) => {
    if (!hasShown && data.length > 1) {
      hasShown = true;
      setTimeout(() => document.querySelector('.letter.current')?.scrollIntoView({ block: 'nearest' }), 60);
    }
    return h('div', { class: 'stack' }, data.length > 1 && h('p', { class: 'muted' }, counted(data.length, 'mail', 'mails'), ' in this thread'), h('div', { class: 'stack' }, data.map((mail) => letter({ mail, isCurrent: mail.id === id }))),
      h('div', null, h(Button, { label: 'Answer…', kind: 'main', hint: 'r', run: answer })));
  });
}

/** @param {import('../lib/view.js').Self} self */
export default function Thread(self) {
  setTitle('Mail');
  const { id } = self.props.params;
  const found = self.use(snapshot(p`/api/mail/${id}`, { concerns: (event) => event.data.mailId === id }));
  return () => {
    const mail = /** @type {Mail | undefined} */ (found.data);
    if (mail) setTitle(shorten(mail.subject, 60));
    return page({ crumbs: h('a', { href: '/mail' }, 'Mail'), title: mail?.subject ?? 'Mail' }, loaded(found, () => h(Letters, { key: mail?.threadId, threadId: mail?.threadId, id })));
  };
}
