import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import pg from 'pg';
import supertest from 'supertest';
import { createApp } from '../../../src/app.js';
import { loadConfiguration, OperatorError } from '../../../src/platform/config/index.js';
import { type Certificates, createCertificates } from '../../kit/certificates.js';
import { DatabaseLink } from '../../kit/database-link.js';
import {
  BASE_URL,
  createDatabase,
  eventually,
  startService,
  type TestDatabase,
  type TestService,
} from '../../kit/index.js';
import { startPooler } from '../../kit/pooler.js';
import { describeWithTestServers } from '../../kit/test-servers.js';

/** Values of DATABASE_URL that operators try and that cannot work. */
describe('a database that the service cannot use', () => {
  let home: TestDatabase;
  const role = `r_${randomBytes(6).toString('hex')}`;
  const databases: string[] = [];
  let dataDir: string;
  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'sync-unusable-'));
    home = await createDatabase();
    await home.query(`CREATE ROLE ${role} LOGIN PASSWORD 'of-a-test'`);
  });
  afterAll(async () => {
    for (const name of databases) await home.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    await home.query(`DROP ROLE ${role}`);
    await home.drop();
    await rm(dataDir, { recursive: true, force: true });
  });

  /** A new database, as the URL of its owner or of another user. */
  async function created(options: string, user?: { name: string; password: string }): Promise<string> {
    const name = `unusable_${randomBytes(6).toString('hex')}`;
    databases.push(name);
    await home.query(`CREATE DATABASE ${name} ${options}`);
    const url = new URL(home.url);
    url.pathname = `/${name}`;
    if (user) Object.assign(url, { username: user.name, password: user.password });
    return url.href;
  }

  /** The one sentence that the operator sees. */
  async function refusal(url: string): Promise<string> {
    const configuration = loadConfiguration({
      NODE_ENV: 'test',
      BASE_URL,
      DATABASE_URL: url,
      DATA_DIR: dataDir,
      LOG_LEVEL: 'silent',
    });
    const error: unknown = await createApp(configuration).catch((reason: unknown) => reason);
    if (!(error instanceof OperatorError)) throw new Error('no sentence for the operator', { cause: error });
    expect(error.message).not.toContain('of-a-test');
    return error.message;
  }
  const stranger = { name: role, password: 'of-a-test' };

  it.each(['LATIN1', 'SQL_ASCII'])('is refused in the encoding %s', async (encoding) => {
    const url = await created(`ENCODING '${encoding}' TEMPLATE template0 LOCALE 'C'`);
    expect(await refusal(url)).toBe(
      `The database has the encoding ${encoding}, which cannot store every text; create it with ENCODING 'UTF8' TEMPLATE template0.`,
    );
  });

  it('is refused when its user may not create tables', async () => {
    expect(await refusal(await created('', stranger))).toBe(
      'The user of DATABASE_URL lacks privileges that the service needs (permission denied for schema public); ' +
        'make it the owner of the database, or of a schema in its search_path.',
    );
  });

  it('is refused when its user has no schema', async () => {
    const url = await created('', stranger);
    await home.query(`ALTER ROLE ${role} SET search_path = 'nowhere'`);
    try {
      expect(await refusal(url)).toMatch(
        /^The search_path of DATABASE_URL's user has no existing schema \(.*\); create/,
      );
    } finally {
      await home.query(`ALTER ROLE ${role} RESET search_path`);
    }
  });

  it('is refused when it is read-only', async () => {
    const url = await created('');
    await home.query(`ALTER DATABASE ${databases.at(-1)} SET default_transaction_read_only = on`);
    expect(await refusal(url)).toBe(
      'PostgreSQL is read-only here (a standby, or default_transaction_read_only); point DATABASE_URL at the primary.',
    );
  });

  it('is refused when the user or the password is wrong', async () => {
    const url = await created('', { ...stranger, password: 'not-of-a-test' });
    expect(await refusal(url)).toBe('PostgreSQL refused the user or password; check DATABASE_URL.');
  });

  it('is refused when it asks for a password and none is given', async () => {
    const link = await DatabaseLink.to({ url: await created('', { ...stranger, password: '' }) });
    expect(await refusal(link.url)).toBe('PostgreSQL refused the user or password; check DATABASE_URL.');
    // The driver closes its connection only when the process ends, and DROP DATABASE would wait for that.
    await link.cut();
  });

  it('is refused behind a socket that cannot be opened', async () => {
    const noDirectory = process.execPath;
    expect(await refusal(`postgres://u:of-a-test@localhost/d?host=${noDirectory}`)).toBe(
      'PostgreSQL does not answer; check that it runs and that DATABASE_URL points at it.',
    );
  });

  describeWithTestServers('behind a pooler', () => {
    it.each([
      ['transaction', ''],
      ['transaction', 'server_round_robin = 1'],
      ['transaction', 'server_reset_query_always = 1'],
      ['statement', ''],
    ] as const)('in %s mode is refused at the start (%s)', async (mode, settings) => {
      const pooler = await startPooler(home, mode, settings);
      const others = Array.from({ length: 2 }, () => new pg.Client(pooler.url));
      try {
        // The pooler then has more than one connection to choose from.
        for (const other of others) await other.connect();
        await Promise.all(others.map((other) => other.query('SELECT pg_sleep(0.05)')));
        expect(await refusal(pooler.url)).toMatch(
          /^DATABASE_URL leads to a connection pooler in transaction or statement mode, .*; set its pool mode to session, or /,
        );
      } finally {
        for (const other of others) await other.end();
        await pooler.stop();
      }
    });
  });

  describe('without the TLS that DATABASE_URL requires', () => {
    let certificates: Certificates;
    beforeAll(() => (certificates = createCertificates('localhost')));

    /** A server's answer to the question whether it has TLS. */
    const no = (socket: Socket): unknown => socket.write('N');
    const yes = (socket: Socket): unknown => {
      socket.write('S');
      return new TLSSocket(socket, { isServer: true, ...certificates }).on('error', () => undefined);
    };

    it.each([
      [
        'sslmode=no-verify',
        no,
        /^A TLS connection to PostgreSQL cannot .* \(The server does not support SSL connections\); check sslmode/,
      ],
      [
        'sslmode=verify-full',
        yes,
        /^A TLS connection to PostgreSQL cannot .* \(self-signed certificate in certificate chain\); check sslmode/,
      ],
      ['sslrootcert=/', no, /^A file that DATABASE_URL names cannot be read \(EISDIR: .*\)\.$/],
      [
        'sslrootcert=/no/such/file',
        no,
        /^A file that DATABASE_URL names cannot be read \(ENOENT: .*\/no\/such\/file'\)\.$/,
      ],
    ])('is refused with %s', async (parameter, answer, sentence) => {
      const server = createServer((socket) =>
        socket.on('error', () => undefined).once('data', () => answer(socket)),
      );
      await once(server.listen(0), 'listening');
      const { port } = server.address() as AddressInfo;
      try {
        expect(await refusal(`postgres://u:of-a-test@localhost:${port}/d?${parameter}`)).toMatch(sentence);
      } finally {
        server.close();
      }
    });
  });

  describe('after a good start', () => {
    let service: TestService;
    beforeAll(async () => (service = await startService()));
    afterAll(() => service.close());

    it('makes the service not ready while it is read-only, as after a failover to a standby', async () => {
      const ready = (): supertest.Test => supertest(service.url).get('/health/ready');
      await ready().expect(200);
      const set = (value: string): Promise<unknown> =>
        home.query(`ALTER DATABASE ${service.database.name} SET default_transaction_read_only = ${value}`);
      await set('on');
      await eventually(async () =>
        expect((await ready()).body).toMatchObject({ ready: false, database: 'away' }),
      );
      await set('off');
      await eventually(async () =>
        expect((await ready()).body).toMatchObject({ ready: true, database: 'ok' }),
      );
    });
  });
});
