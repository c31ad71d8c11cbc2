// Small charts as SVG: `h(Bars, { label, bars, format })` over time, `h(Matrix, { label, names… })` for pairs, `ranking(…)` for comparisons. Each is a
// picture with a label; the view puts the numbers as a table below. Colours are classes; the sheet has them.

import { h } from '../lib/view.js';

/** @typedef {{ label: string, parts: { value: number, tone: string }[], title: string }} Bar */

/** A rounded number above all values, for the end of an axis. @param {number} value */
function ceiling(value) {
  if (value <= 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 3, 5, 10].find((step) => step * unit >= value) ?? 10) * unit;
}

/** Draws again at the width that the chart has. @param {import('../lib/view.js').Self} self @param {number} [width] */
function measured(self, width = 600) {
  const size = { width };
  self.onMount((el) => {
    const watch = new ResizeObserver(([entry]) => {
      const now = Math.round(entry.contentRect.width);
      if (now > 0 && now !== size.width) {
        size.width = now;
        self.update();
      }
    });
    watch.observe(el);
    return () => watch.disconnect();
  });
  return size;
}

/** Bars side by side, each of one or more parts on one another; the axis ends at a round number of `unit`. @param {import('../lib/view.js').Self} self */
export function Bars(self) {
  const size = measured(self);
  return (/** @type {{ label: string, bars: Bar[], format: (value: number) => string, unit?: number }} */ { label, bars, format, unit = 1 }) => {
    const [height, left, bottom, top] = [140, 58, 20, 8];
    const most = unit * ceiling(Math.max(0, ...bars.map((bar) => bar.parts.reduce((sum, part) => sum + part.value, 0))) / unit);
    const step = Math.max(1, (size.width - left) / Math.max(bars.length, 1));
    const wide = Math.max(1, Math.min(step - (step > 4 ? 2 : 0.5), 36));
    const tall = (/** @type {number} */ value) => (value / most) * (height - bottom - top);
    const every = Math.ceil(56 / step);
    return h('figure', { class: 'chart' }, h('svg', { viewBox: `0 0 ${size.width} ${height}`, width: size.width, height, role: 'img', 'aria-label': label },
      [0, 0.5, 1].map((part) => h('g', { key: part },
        h('line', { class: 'chart-line', x1: left, x2: size.width, y1: height - bottom - tall(most * part), y2: height - bottom - tall(most * part) }),
        h('text', { class: 'chart-text end', x: left - 6, y: height - bottom - tall(most * part) + 4 }, format(most * part)))),
      bars.map((bar, at) => {
        let below = height - bottom;
        const x = left + at * step + (step - wide) / 2;
        return h('g', { key: at }, h('title', null, bar.title), h('rect', { class: 'chart-touch', x: left + at * step, y: top, width: step, height: height - bottom - top }),
          bar.parts.filter((part) => part.value > 0).map((part, i) => {
            const size_ = Math.max(tall(part.value), 1);
            below -= size_;
            return h('rect', { key: i, class: `chart-bar ${part.tone}`, x, y: below, width: wide, height: size_, rx: Math.min(2, wide / 3) });
          }),
          at % every === 0 && h('text', { class: 'chart-text middle', x: Math.min(Math.max(x + wide / 2, left + 16), size.width - 18), y: height - 5 }, bar.label));
      })));
  };
}

/** Who handed to whom: a field for each pair, the darker the more. @param {import('../lib/view.js').Self} self */
export function Matrix(self) {
  const size = measured(self, 700);
  return (/** @type {{ label: string, rows: string[], columns: string[], cell: (row: string, column: string) => { value: number | null, text: string, title: string } | null }} */ { label, rows, columns, cell }) => {
    const left = Math.min(150, size.width * 0.3);
    const wide = Math.max(34, Math.min(88, (size.width - left - 8) / Math.max(columns.length, 1)));
    const [tall, top] = [30, 84];
    const most = Math.max(0, ...rows.flatMap((row) => columns.map((column) => cell(row, column)?.value ?? 0)));
    const [width, height] = [left + wide * columns.length + 60, top + tall * rows.length + 4];
    const short = (/** @type {string} */ name, /** @type {number} */ letters) => (name.length > letters ? `${name.slice(0, letters - 1)}…` : name);
    return h('figure', { class: 'chart scrolls', tabindex: 0, role: 'region', 'aria-label': label }, h('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': label },
      columns.map((name, at) => h('text', { key: name, class: 'chart-text', transform: `translate(${left + at * wide + wide / 2} ${top - 8}) rotate(-35)` }, h('title', null, name), short(name, 14))),
      rows.map((row, y) => h('g', { key: row },
        h('text', { class: 'chart-text end', x: left - 8, y: top + y * tall + tall / 2 + 4 }, h('title', null, row), short(row, Math.floor(left / 8))),
        columns.map((column, x) => {
          const one = cell(row, column);
          return h('g', { key: column }, one && h('title', null, one.title),
            h('rect', { class: ['chart-field', one && 'filled'], x: left + x * wide + 1, y: top + y * tall + 1, width: wide - 2, height: tall - 2, rx: 4, 'fill-opacity': one && most ? (0.12 + 0.55 * ((one.value ?? 0) / most)).toFixed(2) : null }),
            one && h('text', { class: 'chart-text middle strong', x: left + x * wide + wide / 2, y: top + y * tall + tall / 2 + 4 }, one.text));
        })))));
  };
}

/** Values compared by length. @param {{ label: string, rows: { key: string, name: any, value: number, text: string, tone?: string }[] }} props */
export function ranking({ label, rows }) {
  const most = Math.max(0, ...rows.map((row) => row.value));
  return h('ul', { class: 'ranking', 'aria-label': label }, rows.map((row) => h('li', { key: row.key },
    h('span', { class: 'ranking-name' }, row.name), h('svg', { class: 'ranking-bar', viewBox: '0 0 100 10', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
      h('rect', { class: `chart-bar ${row.tone ?? 'live'}`, x: 0, y: 1, width: most ? Math.max((row.value / most) * 100, 0.5) : 0.5, height: 8 })),
    h('span', { class: 'ranking-text' }, row.text))));
}
