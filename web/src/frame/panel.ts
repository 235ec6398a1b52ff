// Which panel of the frame is open, in the address: `panel=alarms` can be sent to somebody.

import { codecs, useParam } from '../state/router';
import { createRoot } from 'solid-js';

export type PanelName = 'alarms' | 'damage' | 'none';

export const [panel, setPanel] = createRoot(() =>
  useParam<PanelName>('panel', codecs.choice<PanelName>('alarms', 'damage', 'none'), 'none'),
);
