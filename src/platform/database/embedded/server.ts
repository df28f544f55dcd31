import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { findManner, serverAccount } from './account.js';
import { findBinaries } from './binaries.js';
import { openCluster } from './cluster.js';
import { type ConnectionTarget, embeddedTarget } from './connection-target.js';
import { type DataDirectory, openDataDirectory } from './data-directory.js';
import type { LaunchOptions } from './launcher.js';
import { type Log, makeSocketDirectory, serverArguments } from './socket-directory.js';

export interface Server {
  readonly data: DataDirectory;
  readonly manner: LaunchOptions;
  readonly command: readonly string[];
  readonly socketDirectory: string;
  readonly target: ConnectionTarget;
  readonly log: Log;
}

/**
 * Finds the programs, the account and the paths, and creates the cluster if there is none.
 * @throws OperatorError when the machine or DATA_DIR does not allow it
 */
export async function prepareServer(dataDir: string, log: Log): Promise<Server> {
  const data = await openDataDirectory(dataDir);
  const binaries = await findBinaries(join(data.path, 'postgres-libraries'));
  const account = await serverAccount(data);
  const socketDirectory = await makeSocketDirectory(data, account);
  const { manner, version } = await findManner(account, binaries, data, socketDirectory);
  if (manner.capability !== undefined) {
    const message = `PostgreSQL needs a capability to pass directories closed to its account (${manner.capability})`;
    log({ level: 'info', message });
  }
  const { password, isNew } = await openCluster(data, binaries, manner, version);
  if (isNew) log({ level: 'info', message: `created a database in ${dataDir}` });

  const { blocks, bsize } = await statfs(data.path);
  const settings = serverArguments(socketDirectory, blocks * bsize);
  const command = [binaries.postgres, '-D', data.cluster, ...settings];
  return { data, manner, command, socketDirectory, target: embeddedTarget(socketDirectory, password), log };
}
