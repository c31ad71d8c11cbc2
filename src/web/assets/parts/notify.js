// Browser notifications about what needs a person, if the person allowed them and does not look at the page.

import { navigate } from '../lib/router.js';

export const canAsk = () => 'Notification' in globalThis && Notification.permission === 'default';

/** Asks the person, after a click. */
export const askPermission = async () => (await Notification.requestPermission()) === 'granted';

/** @param {{ title: string, reason?: string | null } | undefined} item @param {number} total */
export function notify(item, total) {
  if (!item || !document.hidden || !('Notification' in globalThis) || Notification.permission !== 'granted') return;
  const note = new Notification(item.title, { body: total > 1 ? `${total} things need you` : item.reason ?? 'Needs you', tag: 'chorus-needs' });
  note.onclick = () => {
    window.focus();
    navigate('/needs');
    note.close();
  };
}
