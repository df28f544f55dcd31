import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rolldown } from 'rolldown';

const ROOT = join(import.meta.dirname, '..', '..');

/** Builds the client's package with its dependencies, for use in another process. @param directory output directory */
export async function buildClientPackage(directory: string): Promise<void> {
  const input = {
    core: join(ROOT, 'client/src/core/index.ts'),
    folder: join(ROOT, 'client/src/folder/index.ts'),
  };
  const made = await rolldown({ input, platform: 'node', logLevel: 'silent' });
  await mkdir(directory, { recursive: true });
  await made.write({ dir: directory, format: 'esm' });
  await made.close();
  const exports = { '.': './core.js', './folder': './folder.js' };
  const manifest = { name: 'cloud-sync-client', type: 'module', exports };
  await writeFile(join(directory, 'package.json'), JSON.stringify(manifest));
}

/** Bundles the client library with its dependencies into one file for browsers. */
export async function bundleForBrowsers(file: string): Promise<void> {
  const input = join(ROOT, 'client/src/core/index.ts');
  const made = await rolldown({ input, platform: 'browser', logLevel: 'silent' });
  await made.write({ file, format: 'esm', codeSplitting: false });
  await made.close();
}
