// A file that takes most of a minute must not be among the last to start: one worker would be at it when the others have
// nothing left to do. These come first, those that wait beside those that compute; of the others, jest starts the ones
// first that took longest on this machine or, where none has run yet, that are the longest to read.
import TestSequencer from '@jest/test-sequencer';

/** It needs the whole machine, and slows the others down. */
const LAST = 'neighbours';

const FIRST = [
  ...['crash', 'tour', 'model', 'embedded-postgres', 'projections', 'start', 'access-matrix'],
  ...['vault', 'cli', 'batch-memory', 'blob-faults', 'cli-history', 'timings', 'compose', 'scheduled-backup'],
];

const placeOf = ({ path }) => {
  if (path.endsWith(`/${LAST}.spec.ts`)) return FIRST.length + 1;
  const place = FIRST.findIndex((name) => path.endsWith(`/${name}.spec.ts`));
  return place < 0 ? FIRST.length : place;
};

export default class LongestFirst extends TestSequencer {
  sort(tests) {
    return super.sort(tests).sort((a, b) => placeOf(a) - placeOf(b));
  }
}
