import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * A development secret: made once, kept under `DATA_DIR/secrets` (mode 0600), the same at every later start.
 * Two processes that start at once agree: the file appears complete or not at all, and the first one wins.
 */
export async function keptSecret(dataDir: string, name: string): Promise<string> {
  const directory = join(dataDir, 'secrets');
  const path = join(directory, name);
  const kept = await readFile(path, 'utf8').catch(() => '');
  if (kept) return kept.trim();

  await mkdir(directory, { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(randomBytes(32).toString('base64url'));
    await file.sync();
  } finally {
    await file.close();
  }
  try {
    await link(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
  return (await readFile(path, 'utf8')).trim();
}
