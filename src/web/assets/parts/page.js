// The frame of a view: `page({ title, actions, tools, wide }, …content)`. `actions` stand beside the title, `tools` (filters) below it.

import { h } from '../lib/view.js';

/** @typedef {import('../lib/view.js').Child} Child */

/** @param {{ title: Child, subtitle?: Child, crumbs?: Child, actions?: Child, tools?: Child, wide?: boolean, class?: string, fill?: boolean }} props @param {...Child} content */
export const page = ({ title, subtitle, crumbs, actions, tools, wide, class: style, fill }, ...content) =>
  h('div', { class: ['view', wide && 'wide', fill && 'fill', style] },
    h('header', { class: 'view-head' },
      h('div', { class: 'view-title' }, crumbs && h('p', { class: 'crumbs' }, crumbs), h('h1', { tabindex: -1 }, title), subtitle && h('p', { class: 'subtitle' }, subtitle)),
      actions && h('div', { class: 'view-actions' }, actions)),
    tools && h('div', { class: 'view-tools' }, tools), ...content);

/** @param {{ title: string, count?: Child, actions?: Child, id?: string, class?: string, level?: number }} props @param {...Child} content */
export const section = ({ title, count, actions, id, class: style, level = 2 }, ...content) => h('section', { class: ['section', style], 'aria-label': title, id, key: id },
  h('div', { class: 'section-head' }, h(`h${level}`, null, title, count), actions && h('div', { class: 'section-actions' }, actions)), ...content);

/** Names and values side by side; rows without a value are left out. @param {([string, Child] | null | false | undefined)[]} rows */
export const facts = (rows) => h('dl', { class: 'facts' }, rows.map((row) => row && row[1] !== null && row[1] !== undefined && row[1] !== '' && row[1] !== false
  && h('div', { key: row[0] }, h('dt', null, row[0]), h('dd', null, row[1]))));

/** Tabs that are links, so that each has an address. @param {{ label: string, items: { href: string, label: Child, current: boolean }[] }} props */
export const tabs = ({ label, items }) => h('nav', { class: 'tabs', 'aria-label': label }, items.map((item) =>
  h('a', { key: item.href, href: item.href, 'aria-current': item.current ? 'page' : null }, item.label)));
