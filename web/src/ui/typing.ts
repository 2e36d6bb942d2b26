// Whether a key belongs to something that is typed into. A terminal that is only looked at is not: the
// page's keys work there as everywhere.

export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  const screen = target.closest(".screen");
  if (screen) return screen.classList.contains("taken");
  return target.closest("input,textarea,select") !== null;
}
