import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { Clock, Random } from './ports.js';

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms) => setTimeout(ms),
};

export const systemRandom: Random = { bytes: (count) => randomBytes(count) };
