// Runs this project's TypeScript files directly, even when an import names their build output.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { isTypeScript, transpiled } from './transpiled.cjs';

const SOURCES = ['src', 'client/src', 'crypto/src', 'test', 'examples', 'bench'].map(
  (folder) => new URL(`../../../${folder}/`, import.meta.url).href,
);

export async function resolve(specifier, context, next) {
  if (!/^\.{1,2}\/.*\.js$/.test(specifier) || !isSource(context.parentURL)) return next(specifier, context);
  const url = new URL(specifier.slice(0, -'.js'.length), context.parentURL).href;
  const source = ['.ts', '.tsx']
    .map((extension) => url + extension)
    .find((each) => existsSync(fileURLToPath(each)));
  return source ? { url: source, format: 'module', shortCircuit: true } : next(specifier, context);
}

export async function load(url, context, next) {
  if (!isSource(url) || !isTypeScript(new URL(url).pathname)) return next(url, context);
  const path = fileURLToPath(url);
  const { code } = transpiled(path, await readFile(path, 'utf8'));
  return { format: 'module', source: code, shortCircuit: true };
}

function isSource(url) {
  return SOURCES.some((folder) => url?.startsWith(folder));
}
