// The view Sample.

import type { JSX } from 'solid-js';
import { Empty } from '../../kit';

export default function Sample(): JSX.Element {
  return <Empty title="Sample">Not built yet.</Empty>;
}
