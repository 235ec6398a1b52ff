// Phases of a lane: their colours, their order, which of them are idle. Hue families: rollout blue, training orange,
// log-probs purple, data teal, weights magenta, saving brown; idle ones are pale and hatched.

import { color } from './theme';

export interface PhaseStyle {
  /** Name of the colour in tokens.css. */
  readonly token: string;
  readonly isIdle: boolean;
  /** What goes on, in one line. */
  readonly what: string;
}

const style = (token: string, what: string, isIdle = false): PhaseStyle => ({
  token: `phase-${token}`,
  isIdle,
  what,
});

/** In the order of a legend. */
export const PHASES: Readonly<Record<string, PhaseStyle>> = {
  initialize: style('initialize', 'from the start of the job to the first phase of this lane'),
  rollout: style('rollout', 'engines generate the samples of a training step'),
  eval_rollout: style('eval-rollout', 'engines generate the samples of an evaluation'),
  data_preprocess: style('data', 'samples are made into batches for training'),
  train_log_probs: style('train-log-probs', 'the trainer recomputes log-probs'),
  log_probs: style('log-probs', 'log-probs of the policy before the update'),
  ref_log_probs: style('ref-log-probs', 'log-probs of the reference model'),
  actor_train: style('actor-train', 'forward, backward and optimizer step'),
  update_weights: style('update-weights', 'new weights go to the engines'),
  ref_model_update: style('ref-model-update', 'the reference model takes the policy’s weights'),
  save_model: style('save', 'a checkpoint is written'),
  wake_up: style('wake-up', 'memory is taken back after a sleep'),
  train_wait: style('train-wait', 'training waits for samples', true),
  sleep: style('sleep', 'memory is given up for the other side', true),
};

const UNKNOWN = style('unknown', 'a phase of this run’s own');

export const phaseStyle = (name: string): PhaseStyle => PHASES[name] ?? UNKNOWN;

/** Resolved for canvas. Tracked. */
export const phaseColor = (name: string): string => color(phaseStyle(name).token);

const hatches = new Map<string, CanvasPattern>();

/** What to fill a phase with: its colour, or for idle ones a hatch on it. Tracked. Give the context's pixel ratio. */
export function phaseFill(
  ctx: CanvasRenderingContext2D,
  name: string,
  ratio: number,
): string | CanvasPattern {
  const { isIdle } = phaseStyle(name);
  const base = phaseColor(name);
  if (!isIdle) return base;
  const line = color('phase-hatch');
  const key = `${base} ${line} ${ratio}`;
  const known = hatches.get(key);
  if (known) return known;
  const size = Math.max(4, Math.round(6 * ratio));
  const tile = new OffscreenCanvas(size, size);
  const pen = tile.getContext('2d');
  if (!pen) return base;
  pen.fillStyle = base;
  pen.fillRect(0, 0, size, size);
  pen.strokeStyle = line;
  pen.lineWidth = ratio;
  pen.beginPath();
  for (const shift of [-size, 0, size]) {
    pen.moveTo(shift, size);
    pen.lineTo(shift + size, 0);
  }
  pen.stroke();
  const pattern = ctx.createPattern(tile, 'repeat');
  if (!pattern) return base;
  pattern.setTransform(new DOMMatrix().scale(1 / ratio));
  hatches.set(key, pattern);
  return pattern;
}

/** Colours for lines that have no meaning of their own, told apart by the colour-blind; then they repeat. */
export const SERIES_COLORS = 8;
export const seriesToken = (index: number): string => `series-${(index % SERIES_COLORS) + 1}`;
export const seriesColor = (index: number): string => color(seriesToken(index));
