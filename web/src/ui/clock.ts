// The time, as a signal: one timer for everything that says how long ago something was.

import { signal } from "@preact/signals";

export const now = signal(Date.now());

setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 5000);
