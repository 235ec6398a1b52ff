// The view Metrics.

import type { JSX } from 'solid-js';
import { Empty } from '../../kit';

export default function Metrics(): JSX.Element {
  return <Empty title="Metrics">Not built yet.</Empty>;
}
