// Where a person writes: Enter sends, Shift and Enter begins a line. `h(Composer, { send: async (text) => …, label, note })`; a text that could
// not be sent stays, and so does one that is not sent yet, per conversation.

import { h } from '../lib/view.js';
import { Button, complain } from './button.js';

/** @type {Map<string, string>} */
const drafts = new Map();

/** @param {import('../lib/view.js').Self} self */
export function Composer(self) {
  const { draft } = self.props;
  let text = drafts.get(draft) ?? '';
  let isBusy = false;
  const grow = () => {
    const area = self.el.querySelector('textarea');
    area.style.height = 'auto';
    area.style.height = `${Math.min(area.scrollHeight + 2, innerHeight * 0.4)}px`;
  };
  self.onMount((el) => {
    grow();
    if (matchMedia('(hover: hover)').matches) el.querySelector('textarea').focus({ preventScroll: true });
  });
  const send = async () => {
    const given = text.trim();
    if (!given || isBusy) return;
    isBusy = true;
    self.update();
    try {
      await self.props.send(given);
      text = '';
      drafts.delete(draft);
    } catch (error) {
      complain(error);
    }
    isBusy = false;
    self.update();
    requestAnimationFrame(() => { if (self.isMounted) { grow(); self.el.querySelector('textarea').focus(); } });
  };
  return (/** @type {{ label: string, note?: any, before?: any, action?: string }} */ { label, note, before, action = 'Send' }) => h('form', { class: 'composer', onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); send(); } },
    before, h('div', { class: 'composer-row' },
      h('textarea', {
        rows: 1, 'aria-label': label, placeholder: label, value: text, 'aria-describedby': 'composer-note',
        oninput: (/** @type {any} */ event) => { text = event.target.value; drafts.set(draft, text); grow(); },
        onkeydown: (/** @type {KeyboardEvent} */ event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          send();
        },
      }), h(Button, { label: action, icon: 'up', kind: 'main', type: 'submit', disabled: isBusy })),
    h('p', { id: 'composer-note', class: 'hint' }, note ?? 'Enter sends; Shift and Enter begins a new line.'));
}
