import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase } from './database.js';
import { type ProcessEnv, type ServiceProcess, startProcess } from './process.js';
import { TestUser } from './user.js';

/** The service in a process with its own database and directory, so that its resource usage can be measured. */
export interface OwnProcess {
  readonly service: ServiceProcess;
  readonly dataDir: string;
  /** A user with a trial. */
  readonly alice: TestUser;
  end(): Promise<void>;
}

/** @param env in addition to DATABASE_URL and DATA_DIR @param command as for `startProcess` */
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
