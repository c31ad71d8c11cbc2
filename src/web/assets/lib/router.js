// Addresses and views. `navigate('/board')` goes to an address, `setQuery({…})` keeps filters in it, so that every view can be shared.
// Links are plain `<a href="/tasks/…">`: the page takes the clicks.

/** @typedef {{ path: string, load: () => Promise<{ default: any }>, name: string }} Route */

/** @type {Set<() => void>} */
const listeners = new Set();
/** @type {Route[]} */
let routes = [];

/** The place of the page; a source for `self.use`. */
export const place = {
  /** @type {Route | null} */
  route: null,
  /** The parts of the path that the route names. @type {Record<string, string>} */
  params: {},
  query: new URLSearchParams(),
  /** The path, without the query. */
  path: '/',
  /** @param {() => void} listener */
  subscribe(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
};

/** @param {string} pattern @param {string} path */
function match(pattern, path) {
  const wanted = pattern.split('/');
  const given = path.replace(/(.)\/+$/, '$1').split('/');
  if (wanted.length !== given.length) return null;
  /** @type {Record<string, string>} */
  const params = {};
  for (const [i, part] of wanted.entries()) {
    if (part.startsWith(':')) {
      try { params[part.slice(1)] = decodeURIComponent(given[i]); } catch { return null; }
    } else if (part !== given[i]) return null;
  }
  return params;
}

function read() {
  const url = new URL(location.href);
  place.path = url.pathname;
  place.query = url.searchParams;
  place.route = null;
  for (const route of routes) {
    const params = match(route.path, url.pathname);
    if (params) {
      place.route = route;
      place.params = params;
      break;
    }
  }
  for (const listener of [...listeners]) listener();
}

/** @param {string} address @param {{ replace?: boolean }} [options] */
export function navigate(address, { replace = false } = {}) {
  if (address === location.pathname + location.search) return;
  if (replace) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  read();
}

/** Changes parameters of the address; an empty value removes one. @param {Record<string, string | null | undefined>} changes */
export function setQuery(changes) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  navigate(location.pathname + (text ? `?${text}` : ''), { replace: true });
}

/** Whether a click should stay with the browser, for example to open a tab. @param {MouseEvent} event @param {HTMLAnchorElement} link */
const isForBrowser = (event, link) => event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey
  || event.altKey || link.target || link.hasAttribute('download') || link.origin !== location.origin
  || link.pathname.startsWith('/api/') || link.pathname.startsWith('/assets/');

/** @param {Route[]} all */
export function startRouter(all) {
  routes = all;
  document.addEventListener('click', (event) => {
    const link = /** @type {HTMLElement} */ (event.target).closest?.('a[href]');
    if (!(link instanceof HTMLAnchorElement) || isForBrowser(event, link)) return;
    event.preventDefault();
    navigate(link.pathname + link.search);
  });
  addEventListener('popstate', read);
  read();
}
