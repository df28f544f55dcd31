import { arrival } from './cases/arrival.js';
import { batch } from './cases/batch.js';
import type { Case } from './cases/case.js';
import { fanOut } from './cases/fan-out.js';
import { far } from './cases/far.js';
import { growth } from './cases/growth.js';
import { memory } from './cases/memory.js';
import { notes } from './cases/notes.js';
import { profile } from './cases/profile.js';
import { projections } from './cases/projections.js';
import { put } from './cases/put.js';
import { reads } from './cases/reads.js';
import { restart } from './cases/restart.js';
import { retention } from './cases/retention.js';
import { tenants } from './cases/tenants.js';

/** In the order of measurement. */
export const cases: readonly Case[] = [
  put,
  tenants,
  notes,
  batch,
  far,
  reads,
  arrival,
  fanOut,
  memory,
  restart,
  projections,
  retention,
  growth,
  profile,
];
