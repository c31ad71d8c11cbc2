// The web app of Chorus. It gets all its data from the public API, and runs without a build: what is here is what runs.
//
// How to add a view:
//  1. Write `views/NAME.js`; its default export is a component (see lib/view.js) that gets `params` (from the path) and `query`:
//
//       export default function Crew(self) {
//         setTitle('Crew');                                           // lib/page.js
//         const agents = self.use(snapshot(p`/api/agents`, { concerns: (event) => event.eventType.startsWith('agent_') }));
//         return () => page({ title: 'Crew' }, loaded(agents, (list) => …));
//       }
//
//     The component is created anew for each path and drawn again when the query changes (read it with `place.query`, change it with
//     `setQuery`). `snapshot` (lib/store.js) keeps an answer up to date by events; `loaded` (parts/states.js) shows loading and errors.
//     Say what to do when there is nothing (`empty`). Mark what `j` and `k` go through with `data-item`. Bind keys with `bindKeys`.
//     Write paths of the API as p`/api/…` (lib/api.js), change things with `post`, `put`, `patch` and `remove` inside `Button`, `Form` or
//     `Menu`, which show errors. Times are `h(Ago, { at })` (lib/time.js), agents' texts `markdown(text)` (lib/markdown.js).
//  2. Add its route below, and its place in the navigation in parts/shell.js.
//  3. If its address begins with a new word, add the word to `VIEWS` in src/web/serve.rs, so that the server answers it.
//  4. Add it to the list of views in tests/it/web, which looks at every view: accessibility, phone width, hostile data.

import { findToken } from './lib/api.js';
import { stream } from './lib/events.js';
import { theme } from './lib/page.js';
import { startRouter } from './lib/router.js';
import { render, h } from './lib/view.js';
import { Shell } from './parts/shell.js';

/** @param {string} name @param {string} path @param {() => Promise<any>} load */
const route = (name, path, load) => ({ name, path, load });

const ROUTES = [
  route('board', '/', () => import('./views/board.js')),
  route('board', '/board', () => import('./views/board.js')),
  route('needs', '/needs', () => import('./views/needs.js')),
  route('task', '/tasks/:id', () => import('./views/task.js')),
  route('chat', '/chat', () => import('./views/chat.js')),
  route('chat', '/chat/:id', () => import('./views/chat.js')),
  route('requests', '/requests', () => import('./views/requests.js')),
  route('requests', '/requests/:id', () => import('./views/request.js')),
  route('increments', '/increments', () => import('./views/increments.js')),
  route('increments', '/increments/:id', () => import('./views/increment.js')),
  route('mail', '/mail', () => import('./views/mail.js')),
  route('mail', '/mail/:id', () => import('./views/thread.js')),
  route('sessions', '/sessions', () => import('./views/sessions.js')),
  route('sessions', '/sessions/:id', () => import('./views/session.js')),
  route('agents', '/agents', () => import('./views/agents.js')),
  route('agents', '/agents/:name', () => import('./views/agent.js')),
  route('tools', '/tools', () => import('./views/tools.js')),
  route('tools', '/tools/:name', () => import('./views/tool.js')),
  route('figures', '/figures', () => import('./views/figures.js')),
];

theme.apply();
findToken();
addEventListener('hashchange', () => findToken());
stream.start();
startRouter(ROUTES);
const app = /** @type {HTMLElement} */ (document.getElementById('app'));
app.replaceChildren();
render(h(Shell), app);
