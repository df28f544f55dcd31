import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import supertest from 'supertest';
import { adminReport } from '../kit/admin.js';
import { createDatabase, startService, type TestDatabase, type TestService } from '../kit/index.js';
import { compose, dockerfileStages, execForm, interpolated, ROOT, text } from '../kit/deployment.js';
import { ADMIN } from '../kit/process.js';
import { describeWithTestServers, startS3 } from '../kit/s3.js';

const [, final = []] = dockerfileStages();

/** The file system of the image's last stage, as far as it is ours; packages are links into this tree's. */
function unpackImage(root: string): void {
  const { packages } = JSON.parse(text('package-lock.json')) as {
    packages: Record<string, { dev?: true; optional?: true; devOptional?: true }>;
  };
  for (const [path, { dev, optional, devOptional }] of Object.entries(packages)) {
    const isInImage = /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path) && !dev && !optional && !devOptional;
    if (!isInImage) continue;
    mkdirSync(dirname(join(root, path)), { recursive: true });
    symlinkSync(join(ROOT, path), join(root, path));
  }
  for (const { name, rest } of final) {
    const [source = '', target = ''] = rest.replace('--from=build /build/', '').split(' ');
    if (name !== 'COPY' || source.startsWith('--') || source === 'node_modules') continue;
    cpSync(join(ROOT, source), join(root, target === './' ? source : target), { recursive: true });
  }
}

/** What docker-compose.yml sets, with the secrets in files; addresses and the path of node are those outside of a container. */
function environmentIn(root: string, secrets: Readonly<Record<string, string>>): Record<string, string> {
  for (const [name, secret] of Object.entries(secrets)) writeFileSync(join(root, name), `${secret}\n`);
  const declared = Object.entries(compose.services.service?.environment ?? {}).map(([name, value]) => [
    name,
    interpolated(value, { BASE_URL: 'http://127.0.0.1' }).replace('/run/secrets', root),
  ]);
  return {
    ...(Object.fromEntries(declared) as Record<string, string>),
    ...{ HOST: '127.0.0.1', PORT: '0', METRICS_PORT: '', DATA_DIR: join(root, 'data') },
    PATH: process.env.PATH ?? '',
  };
}

describeWithTestServers('the start command of the image, with the environment of docker-compose.yml', () => {
  let database: TestDatabase;
  let root: string;
  let environment: Record<string, string>;
  let child: ChildProcess | undefined;
  beforeAll(async () => {
    database = await createDatabase();
    root = mkdtempSync(join(tmpdir(), 'sync-image-'));
    unpackImage(root);
    const s3 = await startS3();
    environment = {
      ...environmentIn(root, {
        ...{ auth_secret: 'x'.repeat(64), database_url: database.url },
        ...{ s3_access_key: s3.accessKey, s3_secret_key: s3.secretKey },
      }),
      ...{ S3_ENDPOINT: s3.endpoint, S3_BUCKET: s3.bucketName() },
    };
  });
  afterAll(async () => {
    child?.kill('SIGKILL'); // when the test has failed
    await database.drop();
    rmSync(root, { recursive: true });
  });

  it('starts with the packages of the image alone, is healthy, and exits 0', async () => {
    const [command = '', ...args] = execForm(final, 'CMD');
    const service = (child = spawn(command, args, { cwd: root, env: environment }));
    let output = '';
    const port = await new Promise<string>((resolve, reject) => {
      const read = (chunk: Buffer): void => {
        output += String(chunk);
        const found = /"message":"listening".*"port":(\d+)/.exec(output)?.[1];
        if (found) resolve(found);
      };
      service.stdout.on('data', read);
      service.stderr.on('data', read);
      service.once('exit', () => reject(new Error(output)));
    });
    await supertest(`http://127.0.0.1:${port}`).get('/health/ready').expect(200);

    const [check = '', ...checkArgs] = execForm(final, 'HEALTHCHECK');
    const healthy = spawn(check, checkArgs, { cwd: root, env: { ...environment, PORT: port } });
    expect(await once(healthy, 'exit')).toEqual([0, null]);

    service.kill('SIGTERM');
    expect(await once(service, 'exit')).toEqual([0, null]);
    const unhealthy = spawn(check, checkArgs, { cwd: root, env: { ...environment, PORT: port } });
    expect(((await once(unhealthy, 'exit')) as [number])[0]).toBe(1);
  });
});

describe('backup verify in the image', () => {
  let service: TestService;
  let root: string;
  let environment: Record<string, string>;
  beforeAll(async () => {
    service = await startService({ env: { AUTH_SECRET: 'x'.repeat(64) } });
    root = mkdtempSync(join(tmpdir(), 'sync-image-'));
    unpackImage(root);
    environment = environmentIn(root, {
      ...{ auth_secret: 'x'.repeat(64), database_url: service.database.url },
      ...{ s3_access_key: 'key', s3_secret_key: 'secret' },
    });
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

  it('asks for --database, because the image has no embedded PostgreSQL', async () => {
    const { code, stderr } = await verify();
    expect(stderr).toMatch(
      /^There is no embedded PostgreSQL for this system \(.* is not installed\); name an empty database with --database URL\.\n$/,
    );
    expect(code).toBe(1);
  });

  it('names --database when that one cannot be used', async () => {
    const { code, stderr } = await verify('--database', 'postgres://sync:secret@127.0.0.1:1/verify');
    expect(stderr).toBe('PostgreSQL does not answer; check that it runs and that --database points at it.\n');
    expect(code).toBe(1);
  });

  it('tries the backup in the database that it names', async () => {
    const empty = await createDatabase({ isEmpty: true });
    expect(await verify('--database', empty.url)).toMatchObject({
      ...{ code: 0, stderr: '', stdout: expect.stringMatching(/^The backup is intact: /) },
    });
    await empty.drop();
  });
});
