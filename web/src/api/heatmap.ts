// Reads the binary answer of /api/timeline/heatmap: 4 bytes of header length, a JSON header, cells row after row.

export interface HeatmapLane {
  readonly node: string;
  readonly gpu: number;
  readonly index: number;
  readonly roles: readonly string[];
}

export interface HeatmapSample {
  readonly sample_index: number;
  readonly group_index: number | null;
}

interface Header {
  readonly x_buckets: number;
  readonly t0: number;
  readonly t1: number;
  readonly metric: HeatmapMetric;
  /** What 255 means, for magnitudes. */
  readonly scale: { readonly max: number } | null;
  /** What a cell's index means, for `phase` and `lifecycle`; 0 is none. */
  readonly palette: readonly string[] | null;
  /** Of `lifecycle`: how many samples there are, shown or not. */
  readonly rows_total?: number;
}

export type HeatmapMetric = 'util' | 'mem_mb' | 'power_w' | 'phase' | 'lifecycle';

export interface Heatmap extends Header {
  readonly rows: readonly (HeatmapLane | HeatmapSample)[];
  /** `rows.length * x_buckets` bytes. */
  readonly cells: Uint8Array;
}

export const isSample = (row: HeatmapLane | HeatmapSample): row is HeatmapSample => 'sample_index' in row;

export function decodeHeatmap(body: ArrayBuffer): Heatmap {
  if (body.byteLength < 4) throw new Error('heatmap: the answer is cut');
  const size = new DataView(body).getUint32(0, true);
  if (body.byteLength < 4 + size) throw new Error('heatmap: the header is cut');
  const text = new TextDecoder().decode(new Uint8Array(body, 4, size));
  const header = JSON.parse(text) as Header & Pick<Heatmap, 'rows'>;
  const cells = new Uint8Array(body, 4 + size);
  const wanted = header.rows.length * header.x_buckets;
  if (cells.length !== wanted) throw new Error(`heatmap: ${cells.length} cells instead of ${wanted}`);
  return { ...header, cells };
}

/** One row's cells, without a copy. */
export const rowOf = (map: Heatmap, row: number): Uint8Array =>
  map.cells.subarray(row * map.x_buckets, (row + 1) * map.x_buckets);
