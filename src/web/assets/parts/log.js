// Long plain text: only the visible lines are drawn. `h(LogView, { text, label, follow })`; `follow` keeps the end in view while one reads there.

import { h } from '../lib/view.js';

const LINE = 18;
const AROUND = 30;
const LONGEST_LINE = 4000;

/** @param {import('../lib/view.js').Self} self */
export function LogView(self) {
  let top = 0;
  let height = 600;
  let isAtEnd = true;
  let split = { text: '', lines: /** @type {string[]} */ ([]) };
  const scrolled = () => {
    const el = self.el;
    isAtEnd = el.scrollTop + el.clientHeight >= el.scrollHeight - LINE * 2;
    if (Math.abs(el.scrollTop - top) < LINE * (AROUND / 2) && el.clientHeight === height) return;
    top = el.scrollTop;
    height = el.clientHeight;
    self.update();
  };
  self.onMount((el) => {
    height = el.clientHeight;
    const resized = new ResizeObserver(scrolled);
    resized.observe(el);
    self.update();
    return () => resized.disconnect();
  });
  return (/** @type {{ text: string, label: string, follow?: boolean, class?: string }} */ { text, label, follow, class: style }) => {
    if (split.text !== text) split = { text, lines: text.split('\n').map((line) => (line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line)) };
    const first = Math.max(0, Math.floor(top / LINE) - AROUND);
    const last = Math.min(split.lines.length, Math.ceil((top + height) / LINE) + AROUND);
    if (follow) requestAnimationFrame(() => { if (isAtEnd && self.isMounted) self.el.scrollTop = self.el.scrollHeight; });
    return h('div', { class: ['log', style], tabindex: 0, role: 'region', 'aria-label': label, onscroll: scrolled },
      h('pre', { vars: { 'padding-block-start': `${first * LINE}px`, 'padding-block-end': `${(split.lines.length - last) * LINE}px` } }, split.lines.slice(first, last).join('\n')));
  };
}
