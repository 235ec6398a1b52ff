// The view Rollouts.

import type { JSX } from 'solid-js';
import { Empty } from '../../kit';

export default function Rollouts(): JSX.Element {
  return <Empty title="Rollouts">Not built yet.</Empty>;
}
