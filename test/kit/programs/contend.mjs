// Takes the lock in STATE again and again, at least LEAST times and for FOR_MS, and leaves it behind each time as a killed
// process does. Prints how often it was taken, and how often another process had it at the same time.
import { closeSync, openSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const { PACKAGE, STATE, FOR_MS, LEAST } = process.env;
const { AlreadyRunning, Lock } = await import(pathToFileURL(join(PACKAGE, 'folder/index.js')).href);
const [path, inside, dead] = ['lock', 'inside', `dead.${process.pid}`].map((name) => join(STATE, name));
const [end, result] = [Date.now() + Number(FOR_MS), { taken: 0, twice: 0 }];

while (Date.now() < end || result.taken < Number(LEAST)) {
  try {
    await Lock.take(path);
  } catch (error) {
    if (error instanceof AlreadyRunning) continue;
    throw error;
  }
  result.taken++;
  try {
    closeSync(openSync(inside, 'wx'));
    await new Promise((resolve) => setImmediate(resolve)); // lets other processes run
    unlinkSync(inside);
  } catch (error) {
    if (!['EEXIST', 'ENOENT'].includes(error.code)) throw error;
    result.twice++;
  }
  writeFileSync(dead, '4194304 1'); // larger than every process id
  renameSync(dead, path);
}
console.log(JSON.stringify(result));
