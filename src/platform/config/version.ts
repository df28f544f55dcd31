import { existsSync, readFileSync } from 'node:fs';

/** Version of this service, from the nearest package.json above the sources or the build. */
export const VERSION = versionAbove(new URL('..', import.meta.url));

function versionAbove(directory: URL): string {
  const file = new URL('package.json', directory);
  if (!existsSync(file)) return versionAbove(new URL('..', directory));
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
