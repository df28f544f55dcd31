// Runs before each test file: the model has a time to keep, and the others give way to it, each with its main thread and
// the processes that it starts. Only root could go back, so it matters that a worker begins with the model.
import { getPriority, setPriority } from 'node:os';

const BEHIND = 10;

if (!expect.getState().testPath?.endsWith('/model.spec.ts')) setPriority(Math.max(getPriority(), BEHIND));
