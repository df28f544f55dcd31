import { foldedFully } from './names.js';

/** The client's own directory at the top of the folder. */
export const OWN_DIRECTORY = '.cloud-sync';

/** The contents of these decide what a version control program runs. */
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

/** Files that systems interpret when a user opens the folder. */
const INTERPRETED = ['desktop.ini', 'autorun.inf'];

const PLACES = new Set([OWN_DIRECTORY, ...VERSION_CONTROL, ...INTERPRETED]);

/**
 * A name as the most lenient disk would match it: case, Unicode form and invisible characters do not count; Windows drops
 * trailing dots and spaces, and takes the part after a colon for a stream of the file.
 */
function laxest(name: string): string {
  const folded = foldedFully(name.normalize('NFKC'));
  return folded.replace(/:.*$/s, '').replace(/[. ]+$/, '');
}

/** Windows' short names of these places: `GIT~1` is `.git`. */
const SHORT = /^(git|hg|svn|bzr|jj|sl|pijul|fossil|fslcko|cloud-|clouds)~\d+$/;

/** Fast path for most names: ASCII, with a beginning that none of these places has. */
const HARMLESS = /^(?![._]|desktop|autorun)[ -}]+$/i;

/**
 * Whether a path is never synced, in either direction and on any disk: its contents would be executed or interpreted, or it
 * is the client's own.
 */
export function isDangerous(path: string): boolean {
  return path.split('/').some((name) => {
    if (HARMLESS.test(name)) return false;
    const taken = laxest(name);
    return PLACES.has(taken) || SHORT.test(taken);
  });
}
