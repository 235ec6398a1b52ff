// The time, once a second while somebody looks.

import { createSignal } from 'solid-js';
import { serverNow } from '../api/request';

const [now, setNow] = createSignal(serverNow());

/** Unix seconds by the server's clock. Tracked: read it in a memo whose result moves less often. */
export { now };

setInterval(() => {
  if (!document.hidden) setNow(serverNow());
}, 1000);
document.addEventListener('visibilitychange', () => setNow(serverNow()));
