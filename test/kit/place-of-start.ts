import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase, startService, type TestDatabase } from './index.js';
import type { ProcessEnv } from './process.js';
import { useInTests } from './use-in-tests.js';

/** Only this sentence, and exit code 1. */
export const refusal = (sentence: string | RegExp): object => ({
  code: 1,
  stdout: '',
  stderr: typeof sentence === 'string' ? sentence : expect.stringMatching(sentence),
});

/** Starts and ends the service in this process: a separate one takes a second. */
export async function startHere(env: ProcessEnv): Promise<void> {
  await (await startService({ env })).close();
}

/** Call outside of all tests: a database for all of them, and a directory that is no DATA_DIR yet. */
export function usePlace(): Place {
  return useInTests(new Place());
}

export class Place {
  database!: TestDatabase;
  dataDir!: string;

  async open(): Promise<void> {
    this.database = await createDatabase();
    this.dataDir = await mkdtemp(join(tmpdir(), 'sync-start-'));
  }

  async close(): Promise<void> {
    await this.database.drop();
    await rm(this.dataDir, { recursive: true, force: true });
  }
}
