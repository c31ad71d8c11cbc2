// The view layer: `h()` describes elements, `render()` makes a part of the page equal to a description.
//
// How it works: a description is an element (`h('div', {class: 'x'}, …)`), a component (`h(Board, {…})`), a text, or nothing (null,
// false). A component is a function that is called once for each place where it stands, with `self`, and returns its render function:
//
//   function Counter(self) {
//     let count = 0;
//     return (props) => h('button', { onclick: () => { count += 1; self.update(); } }, `${props.label}: ${count}`);
//   }
//
// `self.props` are the newest properties, `self.update()` draws again, `self.use(source)` draws again whenever the source changes (anything
// with `subscribe(listener)`), `self.onMount(f)` and `self.onUnmount(f)` run when it appears and disappears, `self.el` is its element.
// Children of lists need a `key` that is unique among their siblings. Texts always become text nodes: no data is ever read as HTML.

/** @typedef {{ type: string | Component, props: Props, key: any, children: Child[] }} VNode */
/** @typedef {VNode | string | number | boolean | null | undefined | any[]} Child */
/** @typedef {Record<string, any>} Props */
/** @typedef {(self: Self) => (props: any) => Child} Component */
/** @typedef {{ subscribe: (listener: () => void) => () => void }} Source */
/** @typedef {{ vnode: any, key?: any, el?: any, child?: Node_, children?: Node_[], self?: Self, scope: Scope }} Node_ */
/** @typedef {{ svg: boolean, depth: number }} Scope */

const SVG = 'http://www.w3.org/2000/svg';
const FORBIDDEN = /^(inner|outer)html$|^srcdoc$|^style$/i;
const PROPERTIES = new Set(['value', 'checked', 'indeterminate', 'selected', 'disabled', 'readOnly', 'scrollTop']);
const ADDRESSES = new Set(['href', 'src', 'action', 'formaction', 'xlink:href']);
const SAFE_ADDRESS = /^(https?:\/\/|\/(?!\/)|#|\?|data:image\/(png|jpeg|gif|webp|svg\+xml)[;,])/i;

/**
 * @param {string | Component} type
 * @param {Props | null} [props]
 * @param {...Child} children
 * @returns {VNode}
 */
export function h(type, props, ...children) {
  const { key, ...rest } = props ?? {};
  return { type, props: rest, key, children: flatten(children, []) };
}

/** @param {Child[]} children @param {Child[]} into */
function flatten(children, into) {
  for (const child of children) {
    if (Array.isArray(child)) flatten(child, into);
    else into.push(child === undefined || child === false || child === true ? null : child);
  }
  return into;
}

/** @type {WeakMap<Element, Node_[]>} */
const roots = new WeakMap();

/** Makes the children of an element equal to a description. @param {Child} child @param {Element} container */
export function render(child, container) {
  roots.set(container, reconcile(container, roots.get(container) ?? [], flatten([child], []), { svg: false, depth: 0 }));
}

/** A component at one place of the page. */
export class Self {
  /** @param {Node_} node @param {Props} props */
  constructor(node, props) {
    this.node = node;
    this.props = props;
    this.isMounted = false;
    this.cleanups = /** @type {(() => void)[]} */ ([]);
    this.mounts = /** @type {((el: any) => any)[]} */ ([]);
    this.update = () => { if (this.isMounted) schedule(this); };
  }

  get el() { return domOf(this.node); }

  /** Draws again whenever the source changes, and returns the source. @template {Source} T @param {T} source @returns {T} */
  use(source) { return this.cleanups.push(source.subscribe(this.update)), source; }

  /** @param {(el: any) => any} f may return a function that runs at the end */
  onMount(f) { this.mounts.push(f); }

  /** @param {() => void} f */
  onUnmount(f) { this.cleanups.push(f); }
}

/** @type {Set<Self>} */
const dirty = new Set();
let isScheduled = false;

/** @param {Self} self */
function schedule(self) {
  dirty.add(self);
  if (isScheduled) return;
  isScheduled = true;
  // A hidden page gets no animation frames, but its title and its notifications must stay right.
  if (!document.hidden) requestAnimationFrame(flush);
  setTimeout(flush, document.hidden ? 20 : 100);
}

/** Draws everything that has changed, at once. */
export function flush() {
  isScheduled = false;
  const parts = [...dirty].sort((a, b) => a.node.scope.depth - b.node.scope.depth);
  for (const self of parts) {
    if (dirty.delete(self) && self.isMounted) redraw(self.node);
  }
}

/** @param {Node_} node */
function draw(node) {
  const self = /** @type {any} */ (node.self);
  dirty.delete(self);
  try {
    const drawn = self.draw(self.props);
    return Array.isArray(drawn) ? h('div', null, drawn) : drawn ?? null;
  } catch (error) {
    console.error(error);
    return h('p', { class: 'part-failed', role: 'alert' }, `This part of the page has failed: ${/** @type {Error} */ (error).message}`);
  }
}

/** @param {Node_} node */
function redraw(node) {
  const old = /** @type {Node_} */ (node.child);
  const before = domOf(old);
  node.child = update(old, draw(node), node.scope);
  const now = domOf(node.child);
  if (before !== now) before.replaceWith(now);
  if (old !== node.child) started(node.child);
}

// ---- Nodes: what stands on the page for a description

/** @param {Node_} node @returns {any} */
const domOf = (node) => (node.child ? domOf(node.child) : node.el);

/** @param {any} vnode @param {Scope} scope @returns {Node_} */
function create(vnode, scope) {
  if (vnode === null || typeof vnode !== 'object') {
    return { vnode, el: document.createTextNode(vnode === null ? '' : String(vnode)), scope };
  }
  if (typeof vnode.type === 'function') {
    /** @type {Node_} */
    const node = { vnode, scope: { ...scope, depth: scope.depth + 1 } };
    const self = /** @type {any} */ (new Self(node, { ...vnode.props, children: vnode.children }));
    node.self = self;
    try { self.draw = vnode.type(self); } catch (error) { self.draw = () => { throw error; }; }
    node.child = create(draw(node), node.scope);
    return node;
  }
  const svg = vnode.type === 'svg' || (scope.svg && vnode.type !== 'foreignObject');
  const el = svg ? document.createElementNS(SVG, vnode.type) : document.createElement(vnode.type);
  const inner = { svg, depth: scope.depth + 1 };
  const children = reconcile(el, [], vnode.children, inner);
  // After the children: the value of a <select> needs its options.
  setProps(el, {}, vnode.props);
  return { vnode, el, children, scope: inner };
}

/** Runs after a node has got its place on the page. @param {Node_} node */
function started(node) {
  for (const child of node.child ? [node.child] : node.children ?? []) started(child);
  const { self } = node;
  if (self && !self.isMounted) {
    self.isMounted = true;
    for (const f of self.mounts) {
      const cleanup = f(self.el);
      if (typeof cleanup === 'function') self.cleanups.push(cleanup);
    }
  }
  if (node.el && node.vnode?.props?.ref) node.vnode.props.ref(node.el);
}

/** @param {Node_} node */
function ended(node) {
  if (node.self) {
    node.self.isMounted = false;
    dirty.delete(node.self);
    for (const f of node.self.cleanups.splice(0)) f();
  }
  for (const child of node.child ? [node.child] : node.children ?? []) ended(child);
}

/** Makes a node equal to a description: changes it, or returns another one. @param {Node_} node @param {any} vnode @param {Scope} scope */
function update(node, vnode, scope) {
  const old = node.vnode;
  const isText = vnode === null || typeof vnode !== 'object';
  const isSame = isText ? old === null || typeof old !== 'object' : old?.type === vnode.type && old?.key === vnode.key;
  if (!isSame) {
    ended(node);
    return create(vnode, scope);
  }
  node.vnode = vnode;
  if (isText) {
    const text = vnode === null ? '' : String(vnode);
    if (node.el.data !== text) node.el.data = text;
  } else if (node.self) {
    const props = { ...vnode.props, children: vnode.children };
    if (dirty.has(node.self) || !areEqual(node.self.props, props)) {
      node.self.props = props;
      redraw(node);
    }
  } else {
    node.children = reconcile(node.el, node.children ?? [], vnode.children, node.scope);
    setProps(node.el, old.props, vnode.props);
  }
  return node;
}

/** @param {Props} a @param {Props} b */
function areEqual(a, b) {
  if (a.children.length || b.children.length) return false;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => name === 'children' || Object.is(a[name], b[name]));
}

/** @param {any} parent @param {Node_[]} old @param {Child[]} vnodes @param {Scope} scope @returns {Node_[]} */
function reconcile(parent, old, vnodes, scope) {
  const places = new Map(old.map((node, place) => [node.key, place]));
  const [kept, fresh, from] = [new Set(), new Set(), /** @type {number[]} */ ([])];
  let unkeyed = 0;
  const nodes = vnodes.map((vnode) => {
    // Children without a key are told apart by their number among themselves.
    let key = /** @type {any} */ (vnode)?.key ?? `#${unkeyed++}`;
    while (kept.has(key)) key = `${key}'`;
    kept.add(key);
    const place = places.get(key);
    const before = place === undefined ? null : old[place];
    const was = before && domOf(before);
    const node = before ? update(before, vnode, scope) : create(vnode, scope);
    if (node !== before) {
      fresh.add(node);
      was?.remove();
    }
    node.key = key;
    from.push(node === before && place !== undefined ? place : -1);
    return node;
  });
  for (const node of old.filter((one) => !kept.has(one.key))) {
    ended(node);
    domOf(node).remove();
  }
  const stay = longestRise(from);
  for (let i = nodes.length - 1, next = null; i >= 0; i -= 1) {
    if (!stay.has(i)) move(parent, domOf(nodes[i]), next);
    next = domOf(nodes[i]);
  }
  if (parent.isConnected) for (const node of fresh) started(node);
  return nodes;
}

/** @param {any} parent @param {any} el @param {any} next */
function move(parent, el, next) {
  // `moveBefore` keeps focus, scroll position and animations of an element that moves.
  if (el.isConnected && parent.isConnected && parent.moveBefore) parent.moveBefore(el, next);
  else parent.insertBefore(el, next);
}

/** Returns the indices of a longest increasing subsequence: these elements need not move. @param {number[]} numbers */
function longestRise(numbers) {
  const [ends, before] = [/** @type {number[]} */ ([]), /** @type {number[]} */ ([])];
  numbers.forEach((number, i) => {
    if (number < 0) return;
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (numbers[ends[middle]] < number) low = middle + 1; else high = middle;
    }
    before[i] = low ? ends[low - 1] : -1;
    ends[low] = i;
  });
  const stay = new Set();
  for (let i = ends.at(-1) ?? -1; i >= 0; i = before[i]) stay.add(i);
  return stay;
}

// ---- Properties

/** @param {any} el @param {Props} old @param {Props} props */
function setProps(el, old, props) {
  for (const name in old) if (!(name in props)) setProp(el, name, old[name], undefined);
  for (const name in props) if (old[name] !== props[name] || name === 'value' || name === 'checked') setProp(el, name, old[name], props[name]);
}

/** @param {any} el @param {string} name @param {any} old @param {any} value */
function setProp(el, name, old, value) {
  if (name === 'ref') return;
  if (FORBIDDEN.test(name)) throw new Error(`${name} cannot be set: use children, or vars for custom properties`);
  if (name.startsWith('on')) {
    if (value && typeof value !== 'function') throw new Error(`${name} must be a function`);
    const [listeners, type] = [(el.chorusListeners ??= {}), name.slice(2)];
    if (!(type in listeners)) el.addEventListener(type, (/** @type {Event} */ event) => listeners[type]?.(event));
    listeners[type] = value || undefined;
  } else if (name === 'vars') {
    for (const key of Object.keys({ ...old, ...value })) el.style.setProperty(key, value?.[key] ?? '');
  } else if (PROPERTIES.has(name) && !(el instanceof SVGElement)) {
    const wanted = value ?? (name === 'value' ? '' : false);
    if (el[name] !== wanted) el[name] = wanted;
  } else {
    const text = name === 'class' && Array.isArray(value) ? value.filter(Boolean).join(' ') : value;
    if (ADDRESSES.has(name) && text != null && !SAFE_ADDRESS.test(String(text))) el.removeAttribute(name);
    else if (text === null || text === undefined || text === false) el.removeAttribute(name);
    else el.setAttribute(name, text === true ? '' : String(text));
  }
}
