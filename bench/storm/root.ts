import { join } from 'node:path';

const here = import.meta.dirname;

/** The root of the repository; works from the sources and from the build output. */
export const ROOT = join(here, here.includes(join('dist', 'bench')) ? '../../..' : '../..');

/** The build output of a file in this directory, to run as a process. */
export const program = (name: string): string => join(ROOT, 'dist', 'bench', 'storm', `${name}.js`);
