import type { Bench } from '../bench.js';
import type { Result } from '../measure/beside.js';

/** A group of measurements that is asked for by its name. */
export interface Case {
  readonly name: string;
  readonly says: string;
  /** It is measured only when it is asked for by name. */
  readonly isExtra?: boolean;
  readonly run: (bench: Bench) => AsyncGenerator<Result>;
}
