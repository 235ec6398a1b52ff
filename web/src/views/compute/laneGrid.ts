// Where each lane of a large fleet is on the map: nodes from left to right, their GPUs downwards, in several bands of
// nodes where one is too wide.

export interface MapCell {
  readonly node: string;
  readonly gpu: number;
  readonly index: number;
  readonly x: number;
  readonly y: number;
}

export interface LaneGrid {
  readonly cells: readonly MapCell[];
  /** CSS pixels of a cell, with the gap after it. */
  readonly size: number;
  readonly height: number;
  readonly at: (x: number, y: number) => MapCell | undefined;
  readonly within: (box: { left: number; top: number; width: number; height: number }) => MapCell[];
  /** The lane that an arrow key leads to, the first one from nowhere; undefined for other keys. */
  readonly move: (index: number | undefined, key: string) => number | undefined;
}

const LARGEST = 16;
const SMALLEST = 7;
const BAND_GAP = 6;

interface Lane {
  readonly node: string;
  readonly gpu: number;
  readonly index: number;
}

export function laneMap(lanes: readonly Lane[], width: number): LaneGrid {
  const columns: Lane[][] = [];
  let node: string | undefined;
  for (const lane of lanes) {
    if (lane.node !== node) columns.push([]);
    node = lane.node;
    columns.at(-1)?.push(lane);
  }
  const deep = Math.max(1, ...columns.map((column) => column.length));
  const size = Math.min(LARGEST, Math.max(SMALLEST, Math.floor(width / Math.max(1, columns.length))));
  const perBand = Math.max(1, Math.floor(width / size));
  const bandHeight = deep * size + BAND_GAP;
  const cells = columns.flatMap((column, at) =>
    column.map((lane, down): MapCell => ({
      ...lane,
      x: (at % perBand) * size,
      y: Math.floor(at / perBand) * bandHeight + down * size,
    })),
  );
  const bands = Math.max(1, Math.ceil(columns.length / perBand));
  const inside = (cell: MapCell, x: number, y: number): boolean =>
    x >= cell.x && x < cell.x + size && y >= cell.y && y < cell.y + size;
  return {
    cells,
    size,
    height: bands * bandHeight,
    at: (x, y) => cells.find((cell) => inside(cell, x, y)),
    within: (box) =>
      cells.filter(
        (cell) =>
          cell.x + size > box.left &&
          cell.x < box.left + box.width &&
          cell.y + size > box.top &&
          cell.y < box.top + box.height,
      ),
    move: (index, key) => {
      const steps: Readonly<Record<string, readonly [number, number]>> = {
        ArrowLeft: [-1, 0],
        ArrowRight: [1, 0],
        ArrowUp: [0, -1],
        ArrowDown: [0, 1],
      };
      const step = steps[key];
      if (!step) return undefined;
      const here = cells.find((cell) => cell.index === index);
      if (!here) return cells[0]?.index;
      const half = size / 2;
      const next = cells.find((cell) =>
        inside(cell, here.x + half + step[0] * size, here.y + half + step[1] * size),
      );
      return next?.index ?? here.index;
    },
  };
}
