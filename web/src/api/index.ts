// The API as the page uses it: `createQuery(() => api.summary(step))`.

export * as api from './routes';
export type * from './types';
export { TOKEN_SERIES } from './types';
export { type Heatmap, type HeatmapMetric, isSample, rowOf } from './heatmap';
export { ApiError, type ApiRequest, type StepRef, apiUrl, serverNow } from './request';
export { createQuery, type Query, type QueryOptions, type QueryState } from './query';
export { connection, listen } from './events';
export { failures, type Failure } from './failures';
