import { foldedFully } from './names.js';

/** The client's own directory at the top of the folder. */
export const OWN_DIRECTORY = '.cloud-sync';

/** Whoever writes into these decides what a version control program runs. */
const VERSION_CONTROL = [
  '.git',
  '.hg',
  '.svn',
  '.bzr',
  '.jj',
  '.sl',
  '.pijul',
  '.fossil-settings',
  '.fslckout',
  '_fossil_',
  '_darcs',
];

/** Files that systems read to decide what to show or to start when somebody opens the folder. */
const INTERPRETED = ['desktop.ini', 'autorun.inf'];

const PLACES = new Set([OWN_DIRECTORY, ...VERSION_CONTROL, ...INTERPRETED]);

/**
 * A name as the laxest disk would take it: case, Unicode form and invisible characters do not count; Windows drops dots
 * and spaces at the end, and takes what follows a colon for a stream of the file.
 */
function laxest(name: string): string {
  const folded = foldedFully(name.normalize('NFKC'));
  return folded.replace(/:.*$/s, '').replace(/[. ]+$/, '');
}

/** Windows' short names of those places: `GIT~1` is `.git`. */
const SHORT = /^(git|hg|svn|bzr|jj|sl|pijul|fossil|fslcko|cloud-|clouds)~\d+$/;

/** Most names can be told at once: ASCII that begins like none of those places. */
const HARMLESS = /^(?![._]|desktop|autorun)[ -}]+$/i;

/**
 * Whether a path is in a place that is never synced, in either direction and on every disk: what is written there is
 * run or interpreted, or it is the client's own.
 */
export function isDangerous(path: string): boolean {
  return path.split('/').some((name) => {
    if (HARMLESS.test(name)) return false;
    const taken = laxest(name);
    return PLACES.has(taken) || SHORT.test(taken);
  });
}
