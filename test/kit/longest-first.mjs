// A file that takes most of a minute must not start among the last: one worker would run it while the others idle. So these
// come first, with files that wait beside those that compute. Jest orders the rest by their last duration on this machine,
// or else by size.
import TestSequencer from '@jest/test-sequencer';

/** Needs the whole machine, and slows other files down. */
const LAST = 'neighbours';

const FIRST = [
  ...['crash', 'tour-person', 'model', 'vault-rotation', 'projections', 'compose', 'timings', 'cli-sync'],
  ...['access-matrix-workspaces', 'access-matrix-accounts', 'access-matrix-pages', 'batch-memory'],
  ...['embedded-postgres-killed', 'start-refused', 'blob-faults', 'scheduled-backup-s3-interrupted'],
];

const placeOf = ({ path }) => {
  if (path.endsWith(`/${LAST}.spec.ts`)) return FIRST.length + 1;
  const place = FIRST.findIndex(
    (name) => path.endsWith(`/${name}.spec.ts`) || path.endsWith(`/${name}.both.spec.ts`),
  );
  return place < 0 ? FIRST.length : place;
};

export default class LongestFirst extends TestSequencer {
  sort(tests) {
    return super.sort(tests).sort((a, b) => placeOf(a) - placeOf(b));
  }
}
