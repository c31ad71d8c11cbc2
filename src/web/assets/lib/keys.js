// Keys: `bindKeys(self, [{ keys: 'c', label: 'Create a task', run }])` while a component is on the page; `?` lists them. Keys with a space
// are pressed one after the other (`g b`). No key works while a person types, or while a dialog is open.

/** @typedef {{ keys: string, label: string, run: (event: KeyboardEvent) => void, group?: string }} Binding */

/** @type {Set<Binding>} */
const bindings = new Set();
let prefix = '';
/** @type {any} */
let timer = null;

/** @param {EventTarget | null} target */
const isTyping = (target) => target instanceof HTMLElement
  && (target.isContentEditable || (target.matches('input, textarea, select') && !target.matches('[type=checkbox], [type=radio]')));

/** Whether the key presses a control that has the focus: then it belongs to that control. @param {KeyboardEvent} event */
const isPressing = (event) => (event.key === 'Enter' || event.key === ' ') && event.target instanceof Element && event.target.matches('a[href], button, summary, [role=switch]');

/** @param {import('./view.js').Self} self @param {Binding[]} list */
export function bindKeys(self, list) {
  self.onMount(() => {
    for (const one of list) bindings.add(one);
    return () => { for (const one of list) bindings.delete(one); };
  });
}

/** All keys that work now, for the help. */
export const allKeys = () => [...bindings];

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (isTyping(event.target)) {
    if (event.key === 'Escape') /** @type {HTMLElement} */ (event.target).blur();
    return;
  }
  if (document.querySelector('dialog[open]') || event.key === 'Shift' || isPressing(event)) return;
  const pressed = prefix + event.key;
  clearTimeout(timer);
  // The newest binding wins: a view may take a key of the shell.
  const found = [...bindings].reverse().find((one) => one.keys === pressed);
  const isPrefix = [...bindings].some((one) => one.keys.startsWith(`${pressed} `));
  prefix = !found && isPrefix ? `${pressed} ` : '';
  timer = setTimeout(() => { prefix = ''; }, 1500);
  if (found) {
    event.preventDefault();
    found.run(event);
  }
});

/** Moves the focus among the items of the page (`data-item`). @param {1 | -1} step */
export function moveFocus(step) {
  const items = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('main [data-item]')]).filter((item) => item.offsetParent !== null);
  if (!items.length) return;
  const at = items.findIndex((item) => item.contains(document.activeElement));
  const next = items[Math.min(Math.max(at + step, 0), items.length - 1)];
  if (!next.matches('a, button, [tabindex]')) next.tabIndex = -1;
  next.focus();
  next.scrollIntoView({ block: 'nearest', inline: 'nearest' });
}
