// Dragging with pointer events, for mouse, pen and finger alike: `draggable({ pick, over, drop })` gives the handler for `onpointerdown`. A finger
// drags after a long press, so that it can scroll. Escape lets go.

const FAR = 6;
const LONG = 350;

/**
 * @param {{ pick: (event: PointerEvent) => HTMLElement | null, over: (target: Element | null) => void, drop: (target: Element | null) => void }} props
 *   `pick` returns the element to drag, `over` and `drop` get what is below the pointer
 */
export const draggable = ({ pick, over, drop }) => (/** @type {PointerEvent} */ down) => {
  const card = down.button === 0 ? pick(down) : null;
  if (!card) return;
  /** @type {HTMLElement | null} */
  let ghost = null;
  const box = card.getBoundingClientRect();
  const controller = new AbortController();
  const { signal } = controller;
  const isFinger = down.pointerType === 'touch';
  const below = (/** @type {PointerEvent} */ event) => document.elementFromPoint(event.clientX, event.clientY);

  const begin = () => {
    ghost = /** @type {HTMLElement} */ (card.cloneNode(true));
    ghost.classList.add('ghost');
    ghost.setAttribute('aria-hidden', 'true');
    ghost.style.width = `${box.width}px`;
    document.body.append(ghost);
    card.classList.add('dragged');
    getSelection()?.removeAllRanges();
  };
  const move = (/** @type {PointerEvent} */ event) => {
    if (!ghost) {
      const isFar = Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY) > FAR;
      if (isFinger && isFar) end();
      else if (isFar) begin();
      if (!ghost) return;
    }
    event.preventDefault();
    ghost.style.translate = `${box.left + event.clientX - down.clientX}px ${box.top + event.clientY - down.clientY}px`;
    over(below(event));
  };
  const end = () => {
    clearTimeout(timer);
    controller.abort();
    ghost?.remove();
    card.classList.remove('dragged');
    over(null);
  };
  const timer = isFinger ? setTimeout(begin, LONG) : 0;
  document.addEventListener('pointermove', move, { signal });
  document.addEventListener('touchmove', (event) => { if (ghost) event.preventDefault(); }, { signal, passive: false });
  document.addEventListener('pointerup', (event) => {
    const isDragged = ghost !== null;
    end();
    if (!isDragged) return;
    // The click that follows a drag opens nothing.
    document.addEventListener('click', (click) => { click.preventDefault(); click.stopPropagation(); }, { capture: true, once: true, signal: AbortSignal.timeout(50) });
    drop(below(event));
  }, { signal });
  document.addEventListener('pointercancel', end, { signal });
  document.addEventListener('keydown', (event) => { if (event.key === 'Escape') end(); }, { signal });
};
