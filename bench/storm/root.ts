import { join } from 'node:path';

const here = import.meta.dirname;

/** The top of the tree, from the sources and from what is built of them. */
export const ROOT = join(here, here.includes(join('dist', 'bench')) ? '../../..' : '../..');

/** What is built of a file in this directory, to be run as a process. */
export const program = (name: string): string => join(ROOT, 'dist', 'bench', 'storm', `${name}.js`);
