import { existsSync, readFileSync } from 'node:fs';

/** The readme of this version: beside the pages' files where it is bundled with them, else at the top of the tree. */
export const README = readFileSync(placeOf(new URL('./assets/readme.md', import.meta.url)));

function placeOf(bundled: URL): URL {
  return existsSync(bundled) ? bundled : above(new URL('..', import.meta.url));
}

function above(directory: URL): URL {
  const file = new URL('README.md', directory);
  return existsSync(file) ? file : above(new URL('..', directory));
}
