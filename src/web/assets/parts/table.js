// A table that scrolls sideways on a phone: `table({ label, columns: [{ title, cell, end }], rows, key, open })`.

import { navigate } from '../lib/router.js';
import { h } from '../lib/view.js';

/**
 * @param {{ label: string, columns: { title: string, cell: (row: any) => any, end?: boolean, class?: string }[], rows: any[], key: (row: any) => any,
 *   open?: (row: any) => string }} props `open` returns the address of a row
 */
export const table = ({ label, columns, rows, key, open }) => h('div', { class: 'table-scroll', tabindex: 0, role: 'region', 'aria-label': label },
  h('table', { class: 'table' }, h('caption', { class: 'unseen' }, label),
    h('thead', null, h('tr', null, columns.map((one) => h('th', { key: one.title, scope: 'col', class: [one.end && 'end', one.class] }, one.title)))),
    h('tbody', null, rows.map((row) => h('tr', {
      key: key(row), 'data-item': open ? true : null, tabindex: open ? -1 : null, class: open && 'opens',
      onclick: open && ((/** @type {MouseEvent} */ event) => { if (!(/** @type {HTMLElement} */ (event.target).closest('a, button, input')) && !getSelection()?.toString()) navigate(open(row)); }),
      onkeydown: open && ((/** @type {KeyboardEvent} */ event) => { if (event.key === 'Enter' && event.target === event.currentTarget) navigate(open(row)); }),
    }, columns.map((one) => h('td', { key: one.title, class: [one.end && 'end', one.class] }, one.cell(row))))))));
