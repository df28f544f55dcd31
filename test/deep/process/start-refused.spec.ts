import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { refusedStart } from '../../kit/ended.js';
import { createDatabase } from '../../kit/index.js';
import { runProcess } from '../../kit/process.js';
import { refusal, startHere, usePlace } from '../../kit/place-of-start.js';

const place = usePlace();
const IS_ROOT = process.getuid?.() === 0;
const ROOT = join(import.meta.dirname, '..', '..', '..');

async function fileAsSecrets(place: string): Promise<void> {
  await mkdir(place);
  await writeFile(join(place, 'secrets'), '');
}

describe('a start is refused with one sentence and exit code 1 for', () => {
  it('a port in use', async () => {
    const blocker = await listenAnywhere();
    const { port } = blocker.address() as { port: number };
    const { code, output } = await runProcess({
      DATA_DIR: place.dataDir,
      DATABASE_URL: place.database.url,
      PORT: String(port),
    });
    expect(output).toBe(
      `Port ${port} is in use; stop the process that listens there, or set PORT to another one (0 finds a free one).\n`,
    );
    expect(code).toBe(1);
    blocker.close();
  });

  it('malformed variables, all at once', async () => {
    expect(await refusedStart({ DATA_DIR: place.dataDir, PORT: 'http', SUBSCRIPTIONS: 'maybe' })).toEqual(
      refusal(/^Bad configuration: PORT .*; SUBSCRIPTIONS .*\.\n$/),
    );
  });

  it('an external PostgreSQL that does not answer', async () => {
    const url = 'postgres://user:secret-of-db@127.0.0.1:1/nothing';
    expect(await refusedStart({ DATA_DIR: place.dataDir, DATABASE_URL: url })).toEqual(
      refusal('PostgreSQL does not answer; check that it runs and that DATABASE_URL points at it.\n'),
    );
  });

  it('a database that does not exist', async () => {
    const url = place.database.url.replace(place.database.name, 'no_such_database');
    expect(await refusedStart({ DATA_DIR: place.dataDir, DATABASE_URL: url })).toEqual(
      refusal('The database in DATABASE_URL does not exist; create it first.\n'),
    );
  });

  it.each([
    ['options=garbage', 'invalid command-line argument for server process: garbage'],
    ['options=-c%20work_mem%3Dbanana', 'invalid value for parameter "work_mem": "banana"'],
  ])('a DATABASE_URL with %s, which the server refuses', async (parameter, words) => {
    const url = `${place.database.url}${place.database.url.includes('?') ? '&' : '?'}${parameter}`;
    expect(await refusedStart({ DATA_DIR: place.dataDir, DATABASE_URL: url })).toEqual(
      refusal(
        `PostgreSQL cannot be used with DATABASE_URL and the PG* variables (${words}); check their parameters.\n`,
      ),
    );
  });

  it.each([
    [
      'a development version',
      'DELETE FROM migrations WHERE id = (SELECT max(id) FROM migrations)',
      "INSERT INTO migrations (timestamp, name) VALUES (1763600000003, 'Abandoned1763600000003')",
      /^The database was migrated by a development version \(Abandoned1763600000003\) .*\.\n$/,
    ],
    [
      'the version before the baseline that has not finished its migrations',
      'DELETE FROM migrations',
      "INSERT INTO migrations (timestamp, name) VALUES (1763600000001, 'Identity1763600000001')",
      /^The version before has not finished its migrations \(the last one is Identity1763600000001\); .*\.\n$/,
    ],
    [
      'a development version that lost its list',
      'TRUNCATE migrations',
      'SELECT',
      /^The database has tables that no release of this service created \(.* already exists\), .*\.\n$/,
    ],
    [
      'another program',
      'DROP TABLE migrations',
      'CREATE TABLE migrations (id serial, batch int)',
      /^The database has tables that no release of this service created \(column .*\), .*\.\n$/,
    ],
  ])('a schema of %s', async (_, first, second, sentence) => {
    const foreign = await createDatabase();
    for (const statement of [first, second]) await foreign.query(statement);
    expect(await refusedStart({ DATA_DIR: place.dataDir, DATABASE_URL: foreign.url })).toEqual(
      refusal(sentence),
    );
    await foreign.drop();
  });

  it('a schema that a newer version has migrated', async () => {
    const newer = await createDatabase();
    await newer.query(
      `INSERT INTO migrations (timestamp, name) VALUES (9999999999999, 'FromTheFuture9999999999999')`,
    );
    expect(await refusedStart({ DATA_DIR: place.dataDir, DATABASE_URL: newer.url })).toEqual(
      refusal(/^The database was migrated by a newer version \(FromTheFuture9999999999999\); .*\.\n$/),
    );
    await newer.drop();
  });

  it('an old Node.js', async () => {
    const script = await readFile(join(ROOT, 'scripts/start.mjs'), 'utf8');
    const pretend = `Object.defineProperty(process.versions, 'node', { value: '18.19.0' });\n${script}`;
    const old = join(place.dataDir, 'start.mjs');
    await writeFile(old, pretend);
    const child = spawn(process.execPath, [old]);
    let output = '';
    child.stderr.on('data', (chunk: Buffer) => (output += String(chunk)));
    const [code] = (await once(child, 'close')) as [number];
    expect(output).toBe(
      'Node.js 20.19 or later is required, this is 18.19.0; install a current LTS version.\n',
    );
    expect(code).toBe(1);
  });

  it('a DATA_DIR whose blobs cannot be used', async () => {
    const own = await mkdtemp(join(place.dataDir, 'unusable-'));
    await writeFile(join(own, 'blobs'), '');
    const { code, output } = await runProcess({ DATA_DIR: own, DATABASE_URL: place.database.url });
    expect(output).toBe(`${join(own, 'blobs')} is a file or is below one; set DATA_DIR to a directory.\n`);
    expect(code).toBe(1);
  });

  it.each([
    ['is a file', (path: string) => writeFile(path, ''), '', 'is a file or is below one'],
    ['is below a file', (path: string) => writeFile(path, ''), 'data', 'is below one'],
    ['is a link to nowhere', (path: string) => symlink('/nowhere/at-all', path), '', ''],
    ['has a file as secrets', fileAsSecrets, '', 'secrets is a file or is below one'],
  ])('with an external PostgreSQL, a DATA_DIR that %s', async (_, make, below, sentence) => {
    const path = join(place.dataDir, randomUUID());
    await make(path);
    await expect(startHere({ DATA_DIR: join(path, below) })).rejects.toThrow(`${sentence}; set DATA_DIR`);
  });

  it.each([
    ['a workspace', ''],
    ['a directory of a workspace', 'a0'],
    ['a blob', 'a0/00000000-0000-0000-0000-0000000000a0'],
  ])('%s that another user has left unusable', async (_, below) => {
    const blobs = await mkdtemp(join(place.dataDir, 'left-'));
    await chmod(place.dataDir, 0o755);
    await chmod(blobs, 0o777);
    const workspace = join(blobs, randomUUID());
    await mkdir(join(workspace, 'a0'), { recursive: true });
    await writeFile(join(workspace, 'a0/00000000-0000-0000-0000-0000000000a0'), '');
    for (const name of ['', 'a0']) await chmod(join(workspace, name), 0o777);
    await chmod(join(workspace, 'a0/00000000-0000-0000-0000-0000000000a0'), 0o644);
    const look = (): string => {
      const script = `import(${JSON.stringify(join(ROOT, 'dist/src/platform/storage/bytes-check.js'))})
        .then(({ expectUsable }) => expectUsable(${JSON.stringify(blobs)}))
        .then(() => console.log('usable'), ({ name, message }) => console.log(name + ': ' + message));`;
      const user = IS_ROOT ? { uid: 65534, gid: 65534 } : {};
      return execFileSync(process.execPath, ['-e', script], { ...user, encoding: 'utf8' }).trim();
    };
    expect(look()).toBe('usable');
    await chmod(join(workspace, below), 0o000);
    expect(look()).toBe(
      `OperatorError: ${join(workspace, below)} cannot be used by this user (its owner has the id ${process.getuid?.()}); ` +
        `give all of ${blobs} to the user who runs the service (chown -R), and start again.`,
    );
    await chmod(join(workspace, below), 0o755);
  });

  it('a data directory that cannot be written', async () => {
    const file = join(place.dataDir, 'a-file');
    await writeFile(file, '');
    await chmod(file, 0o400);
    expect(await refusedStart({ DATA_DIR: join(file, 'data') })).toEqual(refusal(/^.*DATA_DIR.*\n$/));
  });
});

async function listenAnywhere(): Promise<Server> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
