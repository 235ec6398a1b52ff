// The components that views are made of.

export * from './controls';
export * from './layout';
export * from './states';
export { Icon, type IconName } from './icons';
export * as format from './format';
export { MISSING } from './format';
export { Canvas, type Picture } from './Canvas';
export { Seen } from './Seen';
export { attachViewport, clamp, covers, panBy, withMargin, zoomAt, type Limits, type Span } from './viewport';
export {
  LineChart,
  type Hovered,
  type Line,
  type LineChartData,
  type LineChartProps,
  type Range,
} from './LineChart';
export { VirtualTable, type Column } from './VirtualTable';
export { compareCells, nextSort, readSort, sortRows, writeSort, type Sort } from './sort';
export { copyPng, copyText, download, toCsv } from './export';
