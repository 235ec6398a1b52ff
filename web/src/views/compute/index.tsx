// The view Compute.

import type { JSX } from 'solid-js';
import { Empty } from '../../kit';

export default function Compute(): JSX.Element {
  return <Empty title="Compute">Not built yet.</Empty>;
}
