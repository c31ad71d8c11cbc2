// Markdown of agents to nodes, never to HTML: headings, lists, code, quotes, tables, emphasis and links to http(s). Everything else,
// HTML included, stays the text that it is.

import { h } from './view.js';

/** Longer texts are shown as they are: no agent's output may stall the page. */
const LONGEST = 200_000;

const INLINE = /(`+)([\s\S]+?)\1(?!`)|\[([^\]\n]*)\]\(\s*<?((?:https?:\/\/)[^\s)>]+)>?\s*\)|<?((?:https?:\/\/)[^\s<>()[\]"'`]+[^\s<>()[\]"'`.,;:!?])>?|\*\*(?=\S)([\s\S]*?\S)\*\*|__(?=\S)([\s\S]*?\S)__|\*(?=[^\s*])([^*\n]*[^\s*])\*|(?<![\w])_(?=\S)([^_\n]*\S)_(?![\w])|~~(?=\S)([\s\S]*?\S)~~|\\([\\`*_{}[\]()#+.!~>-])/;

/** @typedef {import('./view.js').Child} Child */

/** @param {string} text @param {number} [depth] @returns {Child[]} */
function inline(text, depth = 0) {
  /** @type {Child[]} */
  const parts = [];
  let rest = text;
  while (rest) {
    const found = depth < 8 ? INLINE.exec(rest) : null;
    if (!found) break;
    if (found.index) parts.push(rest.slice(0, found.index));
    const [all, , code, label, address, bare, strong, strong2, em, em2, gone, escaped] = found;
    if (code !== undefined) parts.push(h('code', null, code.trim() || code));
    else if (address !== undefined) parts.push(link(address, inline(label, depth + 1)));
    else if (bare !== undefined) parts.push(link(bare, [bare]));
    else if (strong !== undefined || strong2 !== undefined) parts.push(h('strong', null, inline(strong ?? strong2, depth + 1)));
    else if (em !== undefined || em2 !== undefined) parts.push(h('em', null, inline(em ?? em2, depth + 1)));
    else if (gone !== undefined) parts.push(h('del', null, inline(gone, depth + 1)));
    else parts.push(escaped);
    rest = rest.slice(found.index + all.length);
  }
  if (rest) parts.push(rest);
  return parts;
}

/** @param {string} address @param {Child[]} label */
const link = (address, label) => h('a', { href: address, rel: 'noopener noreferrer nofollow', target: '_blank' }, label.length ? label : address);

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/;
const RULE = /^ {0,3}([-*_])(\s*\1){2,}\s*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const QUOTE = /^ {0,3}>\s?(.*)$/;
const TABLE = /^\s*\|?(\s*:?-+:?\s*\|)+\s*:?-*:?\s*$/;

/** @param {string} line */
const cells = (line) => line.trim().replace(/^\||\|$/g, '').split(/(?<!\\)\|/).map((cell) => cell.trim().replace(/\\\|/g, '|'));

/** @param {string[]} lines @param {number} depth @returns {Child[]} */
function blocks(lines, depth) {
  /** @type {Child[]} */
  const found = [];
  let i = 0;
  /** @type {string[]} */
  let paragraph = [];
  const close = () => {
    if (paragraph.length) found.push(h('p', null, inline(paragraph.join('\n'))));
    paragraph = [];
  };
  while (i < lines.length) {
    const line = lines[i];
    const fence = FENCE.exec(line);
    const heading = HEADING.exec(line);
    const item = ITEM.exec(line);
    if (fence) {
      close();
      const code = [];
      for (i += 1; i < lines.length && !lines[i].trim().startsWith(fence[1]); i += 1) code.push(lines[i]);
      i += 1;
      found.push(h('pre', { tabindex: 0, 'data-language': fence[2] || null }, h('code', null, code.join('\n'))));
    } else if (heading) {
      close();
      // The page has headings of its own above: these begin at the third level.
      found.push(h(`h${Math.min(heading[1].length + 2, 6)}`, null, inline(heading[2])));
      i += 1;
    } else if (RULE.test(line)) {
      close();
      found.push(h('hr'));
      i += 1;
    } else if (QUOTE.test(line) && depth < 6) {
      close();
      const quoted = [];
      for (; i < lines.length && QUOTE.test(lines[i]); i += 1) quoted.push(/** @type {RegExpExecArray} */ (QUOTE.exec(lines[i]))[1]);
      found.push(h('blockquote', null, blocks(quoted, depth + 1)));
    } else if (line.includes('|') && TABLE.test(lines[i + 1] ?? '')) {
      close();
      const head = cells(line);
      const rows = [];
      for (i += 2; i < lines.length && lines[i].includes('|') && lines[i].trim(); i += 1) rows.push(cells(lines[i]));
      found.push(h('div', { class: 'table-scroll', tabindex: 0 }, h('table', null,
        h('thead', null, h('tr', null, head.map((cell) => h('th', null, inline(cell))))),
        h('tbody', null, rows.map((row) => h('tr', null, head.map((_, at) => h('td', null, inline(row[at] ?? '')))))))));
    } else if (item && depth < 6) {
      close();
      i = list(lines, i, depth, found);
    } else if (!line.trim()) {
      close();
      i += 1;
    } else {
      paragraph.push(line);
      i += 1;
    }
  }
  close();
  return found;
}

/** @param {string[]} lines @param {number} start @param {number} depth @param {Child[]} found */
function list(lines, start, depth, found) {
  const first = /** @type {RegExpExecArray} */ (ITEM.exec(lines[start]));
  const isOrdered = /\d/.test(first[2]);
  const indent = first[1].length;
  const items = [];
  let i = start;
  while (i < lines.length) {
    const item = ITEM.exec(lines[i]);
    if (!item || item[1].length > indent + 1 || item[1].length < indent || /\d/.test(item[2]) !== isOrdered) break;
    const inner = [item[3]];
    for (i += 1; i < lines.length; i += 1) {
      const next = ITEM.exec(lines[i]);
      const isDeeper = /^\s/.test(lines[i]) && lines[i].search(/\S/) > indent;
      if (next ? next[1].length <= indent + 1 : !isDeeper && (!lines[i].trim() ? !/^\s+\S/.test(lines[i + 1] ?? '') : true)) break;
      inner.push(lines[i].replace(new RegExp(`^\\s{1,${indent + first[2].length + 1}}`), ''));
    }
    items.push(h('li', null, inner.length === 1 ? inline(inner[0]) : [inline(inner[0]), blocks(inner.slice(1), depth + 1)]));
    while (i < lines.length && !lines[i].trim() && ITEM.test(lines[i + 1] ?? '')) i += 1;
  }
  if (i === start) {
    found.push(h('p', null, inline(lines[i])));
    return start + 1;
  }
  const number = Number.parseInt(first[2], 10);
  found.push(isOrdered ? h('ol', { start: number === 1 ? null : number }, items) : h('ul', null, items));
  return i;
}

/** Renders Markdown: `markdown(message.content)`. @param {string} text @returns {import('./view.js').VNode} */
export function markdown(text) {
  if (text.length > LONGEST) return h('pre', { class: 'markdown', tabindex: 0 }, text);
  return h('div', { class: 'markdown' }, blocks(text.replace(/\r\n?/g, '\n').replace(/\t/g, '    ').split('\n'), 0));
}
