// The files of a task: drop one to add it, open, download and delete them.

import { call, p, remove, send, withQuery } from '../lib/api.js';
import { bytes } from '../lib/text.js';
import { Ago } from '../lib/time.js';
import { h } from '../lib/view.js';
import { Button, complain } from './button.js';
import { ask } from './dialog.js';
import { icon } from './icon.js';
import { toast } from './toast.js';

const LARGEST = 10 * 1024 * 1024;

/** @param {any} task @param {any} file */
async function download(task, file) {
  // A link cannot send a token, so the page fetches the file and hands it over.
  const blob = await (await call(p`/api/tasks/${task.id}/attachments/${file.filename}`)).blob();
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([blob], { type: 'application/octet-stream' }));
  link.download = file.filename;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

/** @param {import('../lib/view.js').Self} self */
export function Attachments(self) {
  let isOver = false;
  let isBusy = false;
  const add = async (/** @type {any} */ task, /** @type {File[]} */ files) => {
    isBusy = true;
    self.update();
    for (const file of files) {
      try {
        if (file.size > LARGEST) throw new Error(`${file.name} is larger than 10 MB. Put it into the workspace of the task instead.`);
        await send('POST', withQuery(p`/api/tasks/${task.id}/attachments`, { filename: file.name }), file);
        toast(`${file.name} added`);
      } catch (error) {
        complain(error);
      }
    }
    isBusy = false;
    self.update();
  };
  const over = (/** @type {DragEvent} */ event, /** @type {boolean} */ now) => {
    event.preventDefault();
    if (isOver === now) return;
    isOver = now;
    self.update();
  };
  return (/** @type {{ task: any }} */ { task }) => h('div', { class: 'stack' },
    h('label', {
      class: ['drop', isOver && 'over'], ondragover: (/** @type {DragEvent} */ event) => over(event, true), ondragleave: (/** @type {DragEvent} */ event) => over(event, false),
      ondrop: (/** @type {DragEvent} */ event) => { over(event, false); add(task, [...(event.dataTransfer?.files ?? [])]); },
    }, icon('file', 'large'), h('span', null, isBusy ? 'Adding…' : 'Drop files here, or choose some'), h('span', { class: 'hint' }, 'Agents get their paths in the prompt. At most 10 MB each.'),
    h('input', { type: 'file', multiple: true, class: 'unseen', onchange: (/** @type {any} */ event) => { add(task, [...event.target.files]); event.target.value = ''; } })),
    task.attachments.length > 0 && h('ul', { class: 'files', 'aria-label': 'Files' }, task.attachments.map((/** @type {any} */ file) => h('li', { key: file.filename, 'data-item': file.filename, tabindex: -1 }, icon('file'),
      h('span', { class: 'grow clip' }, file.filename), h('span', { class: 'muted' }, bytes(file.size)), h(Ago, { at: file.uploadedAt }),
      h(Button, { label: 'Download', small: true, run: () => download(task, file) }),
      h(Button, { label: `Delete ${file.filename}`, icon: 'close', iconOnly: true, small: true, kind: 'quiet', run: async () => {
        if (await ask({ title: 'Delete the file?', text: file.filename, action: 'Delete', danger: true })) await remove(p`/api/tasks/${task.id}/attachments/${file.filename}`);
      } })))));
}
