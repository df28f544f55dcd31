import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import supertest from 'supertest';
import { createDatabase, type TestDatabase } from '../kit/index.js';
import { compose, dockerfileStages, execForm, interpolated, ROOT, text } from '../kit/deployment.js';
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
    const secrets: Record<string, string> = {
      ...{ auth_secret: 'x'.repeat(64), database_url: database.url },
      ...{ s3_access_key: s3.accessKey, s3_secret_key: s3.secretKey },
    };
    for (const [name, secret] of Object.entries(secrets)) writeFileSync(join(root, name), `${secret}\n`);
    const declared = Object.entries(compose.services.service?.environment ?? {}).map(([name, value]) => [
      name,
      interpolated(value, { BASE_URL: 'http://127.0.0.1' }).replace('/run/secrets', root),
    ]);
    environment = {
      ...(Object.fromEntries(declared) as Record<string, string>),
      // What is different outside of a container: addresses, and the path of node.
      ...{ HOST: '127.0.0.1', PORT: '0', METRICS_PORT: '', DATA_DIR: join(root, 'data') },
      ...{ S3_ENDPOINT: s3.endpoint, S3_BUCKET: s3.bucketName(), PATH: process.env.PATH ?? '' },
    };
  });
  afterAll(async () => {
    child?.kill('SIGKILL'); // when the test has failed
    await database.drop();
    rmSync(root, { recursive: true });
  });

  it('starts with the packages of the image alone, is healthy, and ends with 0', async () => {
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
