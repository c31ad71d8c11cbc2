// Calls of the server: the token, the envelope, errors, idempotency keys, and the server's clock.
//
// The token: a link carries it in the fragment, which browsers do not send. It moves into `sessionStorage` and leaves the address at
// once, so that it is in no history, no bookmark and no screenshot. Session storage rather than memory, because the page asks people to
// reload after an upgrade; session storage rather than local storage, because it ends with the tab and no other tab, profile or later
// user of the browser finds it. A script that could read it could call the server anyway, so the policy of the page forbids all others.

const KEPT = 'chorus-token';
const PATIENCE = 30000;
const TRIES = 3;

/** An answer that is an error, or no answer (status 0). */
export class ApiError extends Error {
  /** @param {number} status @param {string} code @param {string} message @param {any} [details] */
  constructor(status, code, message, details) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/** @type {Set<() => void>} */
const listeners = new Set();

/** The sign-in of this tab; a source for `self.use`. */
export const session = {
  /** @type {string | null} */
  token: null,
  /** Why a token is wanted; null if none is. @type {string | null} */
  wanted: null,
  /** @param {() => void} listener */
  subscribe(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
};

const changed = () => { for (const listener of [...listeners]) listener(); };

/** Finds the token in a link, or in a text that a person entered. @param {string} text */
export function tokenIn(text) {
  const given = text.trim();
  const word = given.includes('token=') ? new URLSearchParams(given.slice(given.indexOf('#') + 1)).get('token') : given;
  return word && /^[\x21-\x7e]+$/.test(word) ? word : null;
}

/** @param {string | null} token */
export function signIn(token) {
  session.token = token;
  session.wanted = null;
  // Without session storage, the token lasts until the page is left.
  try {
    if (token) sessionStorage.setItem(KEPT, token);
    else sessionStorage.removeItem(KEPT);
  } catch { /* see above */ }
  changed();
}

/** Opens the sign-in. @param {string} reason */
export function wantToken(reason) {
  if (session.wanted) return;
  session.wanted = reason;
  changed();
}

export function closeSignIn() {
  session.wanted = null;
  changed();
}

/** Takes the token out of the address, or finds the one that this tab has kept. */
export function findToken() {
  const word = location.hash.includes('token=') ? tokenIn(location.hash) : null;
  if (location.hash.includes('token=')) history.replaceState(history.state, '', location.pathname + location.search);
  if (word) return signIn(word);
  try { session.token = sessionStorage.getItem(KEPT); } catch { /* no session storage */ }
}

let ahead = 0;
/** The time of the server, in milliseconds. */
export const now = () => Date.now() + ahead;

/** Writes a path; every value is encoded. Every path of the API stands in the code as p`/api/…`. @param {TemplateStringsArray} texts @param {...any} values */
export function p(texts, ...values) {
  return texts.reduce((path, text, i) => path + encodeURIComponent(String(values[i - 1])) + text);
}

/** Adds the parameters that are not empty. @param {string} path @param {Record<string, any>} parameters */
export function withQuery(path, parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined && value !== '' && value !== false) query.set(name, String(value));
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

/** A random key; `crypto.randomUUID` is missing on pages without TLS. */
export function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * Calls the server and returns the response if it is a success.
 * @param {string} path
 * @param {{ method?: string, headers?: Record<string, string>, body?: BodyInit, signal?: AbortSignal }} [options]
 */
export async function call(path, { method = 'GET', headers = {}, body, signal } = {}) {
  const sent = session.token;
  const all = sent ? { ...headers, Authorization: `Bearer ${sent}` } : headers;
  let response;
  try {
    response = await fetch(path, {
      method, headers: all, body, signal: signal ?? AbortSignal.timeout(PATIENCE), cache: 'no-store', credentials: 'omit', redirect: 'error',
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, 'UNREACHABLE', 'The server does not respond.');
  }
  if (response.ok) return response;
  const answer = await response.json().catch(() => null);
  const { code = 'UNKNOWN', message = `The server answered with status ${response.status}.`, details } = answer?.error ?? {};
  if (response.status === 401 && sent === session.token) {
    const why = sent
      ? 'The token is wrong or has expired. Open the link of the running server, or enter its token.'
      : 'This server needs a token. Open the link that it printed, or enter the token.';
    // Only a change is news: those who listen ask again.
    if (sent) signIn(null);
    wantToken(why);
  } else if (response.status === 403 && !sent) {
    wantToken(message);
  }
  throw new ApiError(response.status, code, message, details);
}

/** @param {Response} response @returns {Promise<{ data: any, meta: any }>} */
async function read(response) {
  const answer = await response.json();
  if (Number.isFinite(answer.meta?.timestamp)) ahead = answer.meta.timestamp - Date.now();
  return answer;
}

/** @param {string} path @param {AbortSignal} [signal] */
export const get = async (path, signal) => read(await call(path, { signal }));

/** Gets a text, such as a log. @param {string} path @param {Record<string, string>} [headers] @param {AbortSignal} [signal] */
export const getText = async (path, headers = {}, signal = undefined) => (await call(path, { headers, signal })).text();

/**
 * Changes something. Without an answer, the same request is sent again with the same key, so the change happens once.
 * @param {string} method @param {string} path @param {any} [body] JSON, or a Blob
 */
export async function send(method, path, body) {
  /** @type {Record<string, string>} */
  const headers = { 'Idempotency-Key': newKey() };
  const isFile = body instanceof Blob;
  if (isFile) headers['Content-Type'] = body.type || 'application/octet-stream';
  else if (body !== undefined) headers['Content-Type'] = 'application/json';
  const text = isFile || body === undefined ? body : JSON.stringify(body);
  for (let tries = 1; ; tries += 1) {
    try {
      return await read(await call(path, { method, headers, body: text, signal: AbortSignal.timeout(2 * PATIENCE) }));
    } catch (error) {
      const isLost = !(error instanceof ApiError) || error.status === 0 || error.status === 503;
      if (!isLost || tries === TRIES) {
        throw error instanceof ApiError ? error : new ApiError(0, 'UNREACHABLE', 'The server does not respond.');
      }
      await new Promise((resolve) => setTimeout(resolve, 300 * 3 ** tries));
    }
  }
}

/** @param {string} path @param {any} [body] */
export const post = (path, body) => send('POST', path, body);
/** @param {string} path @param {any} [body] */
export const put = (path, body) => send('PUT', path, body);
/** @param {string} path @param {any} [body] */
export const patch = (path, body) => send('PATCH', path, body);
/** @param {string} path */
export const remove = (path) => send('DELETE', path);
