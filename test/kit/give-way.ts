// Runs before each test file. Lowers the priority of all files but the model, which has a deadline; their child processes
// inherit it. Only root could raise it again, so a worker has to run the model first.
import { getPriority, setPriority } from 'node:os';

const BEHIND = 10;

if (!expect.getState().testPath?.endsWith('/model.both.spec.ts'))
  setPriority(Math.max(getPriority(), BEHIND));
