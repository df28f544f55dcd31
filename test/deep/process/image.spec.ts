import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { adminReport } from '../../kit/admin.js';
import { type Deployment, environmentOf, makeEnv, unpackImage } from '../../kit/compose-stack.js';
import { createDatabase, startService, type TestService } from '../../kit/index.js';
import { ADMIN } from '../../kit/process.js';

/** The environment of docker-compose.yml, with addresses outside of a container. */
function environmentIn(deployment: Deployment): Record<string, string> {
  return {
    ...environmentOf('service', deployment),
    ...{ HOST: '127.0.0.1', METRICS_PORT: '', DATA_DIR: join(deployment.directory, 'data') },
    PATH: process.env.PATH ?? '',
  };
}

describe('backup verify in the image', () => {
  let service: TestService;
  let root: string;
  let environment: Record<string, string>;
  beforeAll(async () => {
    service = await startService({ env: { AUTH_SECRET: 'x'.repeat(64) } });
    root = mkdtempSync(join(tmpdir(), 'sync-image-'));
    unpackImage(root);
    const deployment = makeEnv(root, 'https://sync.example.org');
    writeFileSync(join(root, 'secrets', 'auth_secret'), 'x'.repeat(64));
    writeFileSync(join(root, 'secrets', 'database_url'), service.database.url);
    environment = environmentIn(deployment);
    const { database, dataDir } = service;
    const beside = { DATABASE_URL: database.url, DATA_DIR: dataDir, AUTH_SECRET: 'x'.repeat(64) };
    await (await (await service.user('alice')).workspace()).put('large', Buffer.alloc(100_000)).expect(201);
    await adminReport(beside, 'backup', 'create', join(root, 'backup'));
  });
  afterAll(async () => {
    await service.close();
    rmSync(root, { recursive: true });
  });

  async function verify(...options: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const args = [ADMIN, 'backup', 'verify', join(root, 'backup'), ...options];
    const child = spawn('node', args, { cwd: root, env: environment });
    const printed = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream].on('data', (chunk: Buffer) => (printed[stream] += String(chunk)));
    const [code] = (await once(child, 'close')) as [number];
    return { code, ...printed };
  }

  it('requires --database, because the image has no embedded PostgreSQL', async () => {
    const { code, stderr } = await verify();
    expect(stderr).toMatch(
      /^There is no embedded PostgreSQL for this system \(.* is not installed\); name an empty database with --database-file FILE\.\n$/,
    );
    expect(code).toBe(1);
  });

  it('names --database when that database cannot be used', async () => {
    const { code, stderr } = await verify('--database', 'postgres://sync@127.0.0.1:1/verify');
    expect(stderr).toBe('PostgreSQL does not answer; check that it runs and that --database points at it.\n');
    expect(code).toBe(1);
  });

  it('verifies the backup in the database that --database-file names', async () => {
    const empty = await createDatabase({ isEmpty: true });
    writeFileSync(join(root, 'verify_url'), `${empty.url}\n`);
    expect(await verify('--database-file', 'verify_url')).toMatchObject({
      ...{ code: 0, stderr: '', stdout: expect.stringMatching(/^The backup is intact: /) },
    });
    await empty.drop();
  });
});
