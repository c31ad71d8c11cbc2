// The prompt of a hand-off as the agent got it, with everything that the server added.

import { call, p } from '../lib/api.js';
import { h } from '../lib/view.js';
import { Button } from './button.js';
import { dialogHead, openDialog } from './dialog.js';
import { LogView } from './log.js';

/** @param {import('../lib/view.js').Self} _self */
function PromptDialog(_self) {
  return (/** @type {any} */ props) => h('div', null, dialogHead({ ...props, title: 'Prompt as it was sent' }), h(LogView, { text: props.text, label: 'Prompt', class: 'log-dialog' }));
}

/** @param {import('../lib/view.js').Self} _self */
export function Prompt(_self) {
  return (/** @type {{ handoff: string }} */ { handoff }) => h(Button, { label: 'Prompt as sent', small: true, run: async () => {
    const text = await (await call(p`/api/handoffs/${handoff}/log?stream=prompt`)).text();
    openDialog(PromptDialog, { text, wide: true });
  } });
}
