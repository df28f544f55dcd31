import { arrival } from './cases/arrival.js';
import type { Case } from './cases/case.js';
import { fanOut } from './cases/fan-out.js';
import { memory } from './cases/memory.js';
import { notes } from './cases/notes.js';
import { profile } from './cases/profile.js';
import { projections } from './cases/projections.js';
import { put } from './cases/put.js';
import { reads } from './cases/reads.js';
import { restart } from './cases/restart.js';
import { retention } from './cases/retention.js';

/** In the order of measurement. */
export const cases: readonly Case[] = [
  put,
  notes,
  reads,
  arrival,
  fanOut,
  memory,
  restart,
  projections,
  retention,
  profile,
];
