// Compiles the TypeScript sources to dist/ and copies the other files beside them. Does not check types: `npm run lint` does.
import { copyFile, mkdir, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { transformFile } from '@swc/core';
import { swcOptions } from './swc-options.cjs';

const root = join(import.meta.dirname, '..');
const dist = join(root, 'dist');

const SOURCES = ['src', 'client/src', 'crypto/src', 'examples', 'bench'];
const COPIED = /\.sql$|^src\/web\/layout\/assets\//;

/** Its time is that of the oldest source that may have been read: a source that is saved meanwhile is newer. */
const MARKER = join(dist, '.compiled');

const begun = new Date();
const files = (await Promise.all(SOURCES.map(filesIn))).flat();
await rm(MARKER, { force: true });
await Promise.all(SOURCES.map((folder) => rm(join(dist, folder), { recursive: true, force: true })));
for (const folder of new Set(files.map(dirname))) await mkdir(join(dist, folder), { recursive: true });
await Promise.all(files.map((file) => (COPIED.test(file) ? copy(file) : compile(file))));
await writeFile(MARKER, ''); // written last: an interrupted build is repeated
await utimes(MARKER, begun, begun);

/** @returns paths from the root */
async function filesIn(folder) {
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(root, join(parentPath, name)))
    .filter((file) => COPIED.test(file) || (/\.tsx?$/.test(file) && !file.endsWith('.d.ts')));
}

async function compile(file) {
  const source = join(root, file);
  const target = join(dist, file.replace(/\.tsx?$/, '.js'));
  const sourceFileName = relative(dirname(target), source);
  const { code, map } = await transformFile(source, { ...swcOptions(source), sourceFileName });
  await Promise.all([
    writeFile(target, `${code}//# sourceMappingURL=${basename(target)}.map\n`),
    writeFile(`${target}.map`, map),
  ]);
}

function copy(file) {
  return copyFile(join(root, file), join(dist, file));
}
