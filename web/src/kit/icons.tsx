// Signs, drawn: fonts differ in which they have. 16 units wide, in the colour of the text around them.

import type { JSX } from 'solid-js';

const PATHS = {
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.5 10.5l4 4',
  close: 'M3.5 3.5l9 9M12.5 3.5l-9 9',
  expand: 'M9.5 2.5h4v4M13.5 2.5l-5 5M6.5 13.5h-4v-4M2.5 13.5l5-5',
  star: 'M8 1.8l1.9 4 4.3.6-3.1 3 .8 4.3L8 11.6l-3.9 2.1.8-4.3-3.1-3 4.3-.6z',
  left: 'M10 3L5 8l5 5',
  right: 'M6 3l5 5-5 5',
  sun: 'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1',
  moon: 'M13.5 9.8A6 6 0 0 1 6.2 2.5 6 6 0 1 0 13.5 9.8z',
  system: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 2v12',
  critical: 'M5.5 1.8h5l3.7 3.7v5l-3.7 3.7h-5l-3.7-3.7v-5zM8 4.8v4M8 11v.4',
  warning: 'M8 2l6.5 11.5h-13zM8 6.3v3.4M8 11.3v.4',
  info: 'M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8M8 7.2v4M8 4.6v.4',
  check: 'M3 8.5l3.5 3.5L13 4.5',
  menu: 'M3 4h10M3 8h10M3 12h10',
  download: 'M8 2v8.5M4.5 7.5L8 11l3.5-3.5M2.5 14h11',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon(props: { readonly name: IconName; readonly filled?: boolean }): JSX.Element {
  return (
    <svg
      class="k-svg"
      viewBox="0 0 16 16"
      aria-hidden="true"
      classList={{ 'k-filled': props.filled === true }}
    >
      <path d={PATHS[props.name]} />
    </svg>
  );
}
