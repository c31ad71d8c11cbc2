// Small pictures, drawn with lines of the text's colour: `icon('board')`. They mean nothing to a screen reader: a label stands beside.

import { h } from '../lib/view.js';

/** @type {Record<string, string[]>} */
const PATHS = {
  needs: ['M4 13h4l1.5 3h5L16 13h4', 'M6 5h12l2 8v5a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1v-5z'],
  board: ['M4 5h4v14H4z', 'M10 5h4v9h-4z', 'M16 5h4v11h-4z'],
  chat: ['M5 5h14a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1h-7l-5 4v-4H5a1 1 0 0 1-1-1V6a1 1 0 0 1 1-1z'],
  requests: ['M9 5H6v15h12V5h-3', 'M9 3.5h6v3H9z', 'M9 13l2 2 4-4'],
  increments: ['M4 18h4v-4h4v-4h4V6h4'],
  mail: ['M4 6h16v12H4z', 'M4 7l8 6 8-6'],
  sessions: ['M7 7h10', 'M14 4l3 3-3 3', 'M17 17H7', 'M10 14l-3 3 3 3'],
  agents: ['M12 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7z', 'M5 20c0-4 3-6 7-6s7 2 7 6'],
  tools: ['M14.5 5.5a4 4 0 0 0-5 5L4 16v4h4l5.5-5.5a4 4 0 0 0 5-5L16 12l-4-4z'],
  figures: ['M4 20h16', 'M7 20v-6', 'M12 20V6', 'M17 20v-9'],
  more: ['M5.5 12a.5.5 0 1 0 1 0a.5.5 0 1 0-1 0', 'M11.5 12a.5.5 0 1 0 1 0a.5.5 0 1 0-1 0', 'M17.5 12a.5.5 0 1 0 1 0a.5.5 0 1 0-1 0'],
  plus: ['M12 5v14', 'M5 12h14'],
  close: ['M6 6l12 12', 'M18 6L6 18'],
  search: ['M11 17a6 6 0 1 0 0-12 6 6 0 0 0 0 12z', 'M20 20l-4.5-4.5'],
  check: ['M5 13l4 4L19 7'],
  arrow: ['M5 12h14', 'M13 6l6 6-6 6'],
  down: ['M6 9l6 6 6-6'],
  right: ['M9 6l6 6-6 6'],
  up: ['M12 19V6', 'M6 12l6-6 6 6'],
  blocked: ['M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16z', 'M6.5 6.5l11 11'],
  alert: ['M12 4l9 16H3z', 'M12 10v4', 'M12 17h.01'],
  file: ['M6 3h8l4 4v14H6z', 'M14 3v4h4'],
  clock: ['M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16z', 'M12 8v4l3 2'],
  keyboard: ['M3 7h18v10H3z', 'M7 10h.01', 'M11 10h.01', 'M15 10h.01', 'M8 14h8'],
  sun: ['M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8z', 'M12 3v2', 'M12 19v2', 'M3 12h2', 'M19 12h2', 'M5.6 5.6l1.4 1.4', 'M17 17l1.4 1.4', 'M5.6 18.4L7 17', 'M17 7l1.4-1.4'],
  moon: ['M19 14.5A7.5 7.5 0 0 1 9.5 5 7.5 7.5 0 1 0 19 14.5z'],
  system: ['M4 5h16v11H4z', 'M9 20h6', 'M12 16v4'],
  key: ['M8 15a4 4 0 1 0 0-8 4 4 0 0 0 0 8z', 'M12 11h9', 'M18 11v3', 'M15 11v2'],
  bell: ['M6 16V11a6 6 0 0 1 12 0v5l1.5 2h-15z', 'M10 20h4'],
  undo: ['M9 7L4 12l5 5', 'M4 12h10a5 5 0 0 1 5 5v1'],
  stop: ['M7 7h10v10H7z'],
  play: ['M8 5l11 7-11 7z'],
  link: ['M10 14a4 4 0 0 0 6 .5l3-3a4 4 0 0 0-5.5-5.5L12 7.5', 'M14 10a4 4 0 0 0-6-.5l-3 3A4 4 0 0 0 10.5 18L12 16.5'],
};

/** @param {string} name @param {string} [style] a class */
export const icon = (name, style) => h('svg', {
  class: ['icon', style], viewBox: '0 0 24 24', fill: 'none', stroke: 'currentColor', 'stroke-width': 1.75, 'stroke-linecap': 'round',
  'stroke-linejoin': 'round', 'aria-hidden': 'true', focusable: 'false',
}, PATHS[name].map((d) => h('path', { d })));
