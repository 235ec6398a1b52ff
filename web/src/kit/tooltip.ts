// Tooltips for anything with `data-tip`: one element for all of them, on hover and on focus, placed inside the window.

const DELAY_MS = 350;
const GAP = 6;

let box: HTMLDivElement | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;
let shownFor: Element | undefined;

function hide(): void {
  clearTimeout(timer);
  timer = undefined;
  if (!box || !shownFor) return;
  box.hidden = true;
  if (shownFor.getAttribute('aria-describedby') === box.id) shownFor.removeAttribute('aria-describedby');
  shownFor = undefined;
}

function show(target: Element): void {
  const text = target.getAttribute('data-tip');
  if (text === null || text === '' || !target.isConnected) return;
  if (!box) {
    box = document.createElement('div');
    box.id = 'tooltip';
    box.className = 'k-tooltip';
    box.setAttribute('role', 'tooltip');
  }
  // A modal dialog covers everything outside of it.
  const parent = target.closest('dialog') ?? document.body;
  if (box.parentElement !== parent) parent.append(box);
  box.textContent = text;
  box.hidden = false;
  shownFor = target;
  if (!target.hasAttribute('aria-describedby')) target.setAttribute('aria-describedby', box.id);
  const at = target.getBoundingClientRect();
  const own = box.getBoundingClientRect();
  const left = Math.min(Math.max(4, at.left + at.width / 2 - own.width / 2), innerWidth - own.width - 4);
  const below = at.bottom + GAP;
  const top = below + own.height > innerHeight - 4 ? Math.max(4, at.top - GAP - own.height) : below;
  box.style.left = `${left}px`;
  box.style.top = `${top}px`;
}

function later(target: EventTarget | null, delay: number): void {
  const tipped = target instanceof Element ? target.closest('[data-tip]') : null;
  if (tipped !== null && tipped === shownFor) return;
  hide();
  if (tipped) timer = setTimeout(() => show(tipped), delay);
}

/** Called once by the frame. */
export function installTooltips(): void {
  document.addEventListener('pointerover', (event) => later(event.target, DELAY_MS));
  document.addEventListener('focusin', (event) => {
    if (event.target instanceof Element && event.target.matches(':focus-visible'))
      later(event.target, DELAY_MS);
  });
  for (const kind of ['pointerdown', 'focusout', 'keydown', 'scroll'] as const) {
    document.addEventListener(kind, hide, { capture: true, passive: true });
  }
}
