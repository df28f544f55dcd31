// Runs before each test file: the model has a time to keep, and all the others give way to it. It is among the first to
// start, in a worker that has not given way yet: only root could go back.
import { setPriority } from 'node:os';

const BEHIND = 10;

if (!expect.getState().testPath?.endsWith('/model.spec.ts')) setPriority(BEHIND);
