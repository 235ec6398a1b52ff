// Numbers, times and sizes as text. Missing is "–", never 0.

export const MISSING = '–';

type Number_ = number | null | undefined;

const isMissing = (value: Number_): value is null | undefined =>
  value === null || value === undefined || !Number.isFinite(value);

/** About `digits` significant digits, without an exponent where it can be read without one. */
export function num(value: Number_, digits = 4): string {
  if (isMissing(value)) return MISSING;
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e6) return String(value).replace('-', '−');
  if (size >= 1e6 || size < 1e-4)
    return value
      .toExponential(Math.max(0, digits - 2))
      .replace(/\.?0*e\+?/, 'e')
      .replace(/-/g, '−');
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  const text = value.toFixed(Math.min(decimals, 8));
  return (text.includes('.') ? text.replace(/\.?0+$/, '') : text).replace('-', '−');
}

/** Whole numbers with thin spaces between thousands. */
export function count(value: Number_): string {
  if (isMissing(value)) return MISSING;
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ' ')
    .replace('-', '−');
}

/** A fraction in percent. */
export function percent(value: Number_, digits = 1): string {
  return isMissing(value) ? MISSING : `${(value * 100).toFixed(digits).replace('-', '−')} %`;
}

/** For axes: 1.2k, 3.4M. */
export function short(value: Number_): string {
  if (isMissing(value)) return MISSING;
  const size = Math.abs(value);
  const step = size >= 1e12 ? [1e12, 'T'] : size >= 1e9 ? [1e9, 'G'] : size >= 1e6 ? [1e6, 'M'] : [1e3, 'k'];
  if (size < 1e4) return num(value, 4);
  return `${num(value / (step[0] as number), 3)}${step[1]}`;
}

/** A duration in seconds: 0.42 s, 42 s, 3 m 20 s, 2 h 05 m, 3 d 4 h. */
export function duration(seconds: Number_): string {
  if (isMissing(seconds)) return MISSING;
  if (seconds < 0) return `−${duration(-seconds)}`;
  if (seconds < 0.001 && seconds > 0) return `${num(seconds * 1e6, 3)} µs`;
  if (seconds < 1 && seconds > 0) return `${num(seconds * 1e3, 3)} ms`;
  if (seconds < 9.995) return `${num(seconds, 3)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const pad = (n: number): string => String(n).padStart(2, '0');
  if (whole < 3600) return `${Math.floor(whole / 60)} m ${pad(whole % 60)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${pad(minutes % 60)} m`;
  const hours = Math.round(seconds / 3600);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

const two = (n: number): string => String(n).padStart(2, '0');

/** Wall clock of a Unix time, in the reader's zone: 14:03:22. */
export function clock(ts: Number_, millis = false): string {
  if (isMissing(ts)) return MISSING;
  const at = new Date(ts * 1000);
  const text = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  return millis ? `${text}.${String(at.getMilliseconds()).padStart(3, '0')}` : text;
}

/** 2026-01-01 14:03:22. */
export function dateTime(ts: Number_): string {
  if (isMissing(ts)) return MISSING;
  const at = new Date(ts * 1000);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${clock(ts)}`;
}

/** Time since the start of something: +0:12:03. */
export function since(seconds: Number_): string {
  if (isMissing(seconds)) return MISSING;
  const whole = Math.floor(Math.abs(seconds));
  const text = `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
  return `${seconds < 0 ? '−' : '+'}${text}`;
}

/** MiB as people say it. */
export function memory(mib: Number_): string {
  if (isMissing(mib)) return MISSING;
  return mib < 1024 ? `${num(mib, 3)} MiB` : `${num(mib / 1024, 3)} GiB`;
}

/** "1 sample", "3 samples". */
export const plural = (n: number, one: string, many = `${one}s`): string =>
  `${count(n)} ${n === 1 ? one : many}`;

/** Any cell of the API. */
export function cell(value: unknown): string {
  if (value === null || value === undefined) return MISSING;
  if (typeof value === 'number') return num(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
