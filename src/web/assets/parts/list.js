// A list that draws only what is visible, whatever the heights of its rows:
//   h(VirtualList, { items, keyOf, row: (item) => vnode, estimate: 80, class, label, end: () => more(), stick: true })
// `row` returns one element with a `key`. `end` is called when the end comes near. `stick` keeps the end in view as long as a person reads
// there. Rows that change above the visible ones do not move what a person reads (the browser anchors the scroll position).

import { h } from '../lib/view.js';

const AROUND = 600;

/** @typedef {{ items: any[], keyOf: (item: any) => any, row: (item: any) => any, estimate: number, class?: string, label: string, end?: () => void, stick?: boolean, head?: any, tail?: any, gap?: number, role?: string }} ListProps */

/** @param {import('../lib/view.js').Self} self */
export function VirtualList(self) {
  /** @type {Map<any, number>} */
  const heights = new Map();
  let top = 0;
  let height = 800;
  let isAtEnd = true;
  let shown = [0, 0];
  const props = () => /** @type {ListProps} */ (self.props);
  const heightOf = (/** @type {any} */ item) => (heights.get(props().keyOf(item)) ?? props().estimate) + (props().gap ?? 0);

  const measure = () => {
    let isNew = false;
    for (const el of self.el.querySelectorAll(':scope > .rows > [data-row]')) {
      const key = el.dataset.row;
      const item = byText.get(key);
      if (item === undefined) continue;
      const tall = el.getBoundingClientRect().height;
      if (tall && Math.abs((heights.get(item) ?? -1) - tall) > 0.5) {
        heights.set(item, tall);
        isNew = true;
      }
    }
    return isNew;
  };
  /** @type {Map<string, any>} */
  let byText = new Map();

  const scrolled = () => {
    const { scrollTop, clientHeight, scrollHeight } = self.el;
    isAtEnd = scrollTop + clientHeight >= scrollHeight - 40;
    const isFar = Math.abs(scrollTop - top) > AROUND / 3 || clientHeight !== height;
    if (isFar) {
      top = scrollTop;
      height = clientHeight;
      self.update();
    }
    if (scrollTop + clientHeight > scrollHeight - AROUND) props().end?.();
  };
  const settle = () => {
    if (!self.el) return;
    if (measure()) self.update();
    if (props().stick && isAtEnd) self.el.scrollTop = self.el.scrollHeight;
    else if (self.el.scrollHeight <= self.el.clientHeight + AROUND) props().end?.();
  };
  self.onMount((el) => {
    height = el.clientHeight || 800;
    const resized = new ResizeObserver(() => { scrolled(); settle(); });
    resized.observe(el);
    if (props().stick) el.scrollTop = el.scrollHeight;
    settle();
    return () => resized.disconnect();
  });

  return (/** @type {ListProps} */ { items, keyOf, row, class: style, label, head, tail, role = 'list' }) => {
    let before = 0;
    let first = 0;
    while (first < items.length && before + heightOf(items[first]) < top - AROUND) before += heightOf(items[first++]);
    let last = first;
    let seen = before;
    while (last < items.length && seen < top + height + AROUND) seen += heightOf(items[last++]);
    let after = 0;
    for (let i = last; i < items.length; i += 1) after += heightOf(items[i]);
    shown = [first, last];
    byText = new Map(items.slice(first, last).map((item) => [String(keyOf(item)), keyOf(item)]));
    requestAnimationFrame(settle);
    return h('div', { class: ['virtual', style], onscroll: scrolled, tabindex: 0, role: 'region', 'aria-label': label, 'data-shown': shown.join('-') }, head,
      h('div', { class: 'rows', role, vars: { 'padding-block-start': `${before}px`, 'padding-block-end': `${after}px` } },
        items.slice(first, last).map((item) => h('div', { key: keyOf(item), 'data-row': String(keyOf(item)), role: role === 'list' ? 'listitem' : null }, row(item)))), tail);
  };
}
