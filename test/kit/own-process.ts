import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase } from './database.js';
import { type ProcessEnv, type ServiceProcess, startProcess } from './process.js';
import { TestUser } from './user.js';

/** The service in a process with a database and a directory of its own, so that what the process takes is its own too. */
export interface OwnProcess {
  readonly service: ServiceProcess;
  readonly dataDir: string;
  /** The user has a trial. */
  readonly alice: TestUser;
  end(): Promise<void>;
}

/** @param env beside the two @param command as for `startProcess` */
export async function startOwnProcess(
  env: ProcessEnv = {},
  command?: readonly string[],
): Promise<OwnProcess> {
  const database = await createDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), 'sync-own-'));
  const service = await startProcess({ DATA_DIR: dataDir, DATABASE_URL: database.url, ...env }, command);
  const alice = await TestUser.logIn(service.url, 'alice');
  await alice.post('/api/v1/subscription/trial').expect(200);
  return {
    service,
    dataDir,
    alice,
    end: async () => {
      await service.end('SIGTERM');
      await database.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
