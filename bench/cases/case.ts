import type { Bench } from '../bench.js';
import type { Result } from '../measure/beside.js';

/** A named group of measurements. */
export interface Case {
  readonly name: string;
  readonly says: string;
  /** Runs only when requested by name. */
  readonly isExtra?: boolean;
  readonly run: (bench: Bench) => AsyncGenerator<Result>;
}
