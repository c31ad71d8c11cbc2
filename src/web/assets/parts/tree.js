// The tree of tasks that came from one task, drawn with lines, folded and opened with the mouse or the arrow keys.

import { navigate } from '../lib/router.js';
import { counted, dollars, firstLine, shorten } from '../lib/text.js';
import { duration, Since } from '../lib/time.js';
import { h } from '../lib/view.js';
import { agentChip, badge, statusBadge } from './badges.js';
import { DOORS } from './chain.js';
import { icon } from './icon.js';
import { empty, loaded } from './states.js';
import { treeOf } from './task-data.js';

/** @param {any} tree @returns {number} */
const size = (tree) => tree.children.reduce((/** @type {number} */ sum, /** @type {any} */ child) => sum + size(child), 1);

/** @param {import('../lib/view.js').Self} self */
export function Tree(self) {
  const tree = self.use(treeOf(self.props.id));
  /** @type {Set<string>} */
  const folded = new Set();
  const toggle = (/** @type {string} */ id, /** @type {boolean} */ isFolded) => {
    if (isFolded) folded.add(id); else folded.delete(id);
    self.update();
  };
  const keys = (/** @type {KeyboardEvent} */ event) => {
    const items = [...self.el.querySelectorAll('[role=treeitem]')];
    const item = /** @type {HTMLElement | null} */ (document.activeElement?.closest('[role=treeitem]'));
    if (!item) return;
    const at = items.indexOf(item);
    const id = item.dataset.task ?? '';
    if (event.key === 'ArrowDown') items[at + 1]?.focus();
    else if (event.key === 'ArrowUp') items[at - 1]?.focus();
    else if (event.key === 'ArrowLeft') toggle(id, true);
    else if (event.key === 'ArrowRight') toggle(id, false);
    else if (event.key === 'Enter') navigate(`/tasks/${id}`);
    else return;
    event.preventDefault();
  };
  const node = (/** @type {any} */ one, /** @type {number} */ level) => {
    const isFolded = folded.has(one.id);
    const hasChildren = one.children.length > 0 || one.omitted > 0;
    return h('li', { key: one.id, role: 'none' },
      h('div', { class: ['tree-node', one.id === self.props.current && 'current'], role: 'treeitem', 'data-task': one.id, 'data-item': one.id, tabindex: level === 0 ? 0 : -1, 'aria-level': level + 1,
        'aria-expanded': hasChildren ? String(!isFolded) : null },
      h('span', { class: 'tree-fold', 'aria-hidden': 'true', onclick: () => { if (hasChildren) toggle(one.id, !isFolded); } }, hasChildren && icon(isFolded ? 'right' : 'down', 'tiny')),
      h('div', { class: 'tree-body' },
        h('div', { class: 'row' }, statusBadge(one.status), one.id === self.props.current ? h('strong', null, shorten(firstLine(one.description), 100))
          : h('a', { href: `/tasks/${one.id}`, tabindex: -1 }, shorten(firstLine(one.description), 100))),
        one.handoffs.map((/** @type {any} */ hop) => h('div', { key: hop.id, class: 'tree-hop' }, agentChip(hop.agentName, { working: !hop.completedAt }),
          h('span', { class: 'muted' }, hop.fromAgent ? `${DOORS[hop.mode]} from ${hop.fromAgent}` : DOORS[hop.mode]),
          hop.outcome && hop.outcome !== 'completed' && badge(hop.outcome), h('span', { class: 'muted' }, hop.completedAt ? duration(hop.completedAt - hop.startedAt) : h(Since, { at: hop.startedAt }), dollars(hop.costUsd) && ` · ${dollars(hop.costUsd)}`))),
        isFolded && h('button', { type: 'button', class: 'hop-toggle', tabindex: -1, onclick: () => toggle(one.id, false) }, `${counted(size(one) - 1, 'task')} below`))),
      hasChildren && !isFolded && h('ul', { role: 'group' }, one.children.map((/** @type {any} */ child) => node(child, level + 1)),
        one.omitted > 0 && h('li', { key: 'omitted', class: 'muted tree-omitted' }, `${counted(one.omitted, 'more task')} not shown`)));
  };
  return () => loaded(tree, (data) => h('div', { class: 'tree-frame' }, data.children.length === 0 && h('p', { class: 'muted' }, 'No task has come from this one. When its agent asks another one, the new task appears here.'),
    data ? h('ul', { class: 'tree', role: 'tree', 'aria-label': 'Tasks', onkeydown: keys }, node(data, 0)) : empty({ title: 'No tree' })));
}
