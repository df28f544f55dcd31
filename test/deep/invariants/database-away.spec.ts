import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import supertest from 'supertest';
import { freePort } from '../../../bench/free-port.js';
import { Database } from '../../../src/platform/database/index.js';
import { createCertificates } from '../../kit/certificates.js';
import { eventually, startService, type TestService, type TestWorkspace } from '../../kit/index.js';
import { errorAnswer } from '../../kit/postgres-wire.js';

const PASSWORD = 'of-a-test';
const role = `away_${randomBytes(6).toString('hex')}`;

let service: TestService;
let workspace: TestWorkspace;
/** The URL that the service was started with. */
let home: string;
const servers: Server[] = [];

beforeAll(async () => {
  service = await startService();
  workspace = await (await service.user('alice')).workspace();
  await workspace.put('note', 'text').expect(201);
  home = service.database.url;
  await service.database.query(`CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}'`);
});
afterAll(async () => {
  for (const server of servers) server.close();
  const { name } = service.database;
  await service.database.query(`GRANT CONNECT ON DATABASE ${name} TO PUBLIC`);
  await service.database.query(`DROP ROLE ${role}`);
  await service.close();
});

/** Makes the service connect to this URL, and ends its open connections. */
async function lead(url: string): Promise<void> {
  const { pool } = service.app.get(Database);
  (pool as unknown as { options: { connectionString: string } }).options.connectionString = url;
  // A pending connection has the old address, and one whose end has not arrived would fail a statement.
  await eventually(async () => {
    await endConnections();
    expect(pool.totalCount).toBe(0);
  });
}

const endConnections = (): Promise<unknown> =>
  service.database.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name LIKE 'cloud-sync-service%'`,
  );

function changed(change: (url: URL) => void): string {
  const url = new URL(home);
  change(url);
  return url.href;
}

const stranger = (password = PASSWORD): string =>
  changed((url) => Object.assign(url, { username: role, password }));

/** A server in place of PostgreSQL. @param meet what it does with the first bytes of a connection */
async function served(meet: (socket: Socket) => void, parameters = ''): Promise<string> {
  const server = createServer((socket) =>
    socket.on('error', () => undefined).once('data', () => meet(socket)),
  );
  servers.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return `postgres://u:${PASSWORD}@127.0.0.1:${port}/d${parameters}`;
}

const refusing = (code: string, message: string) => (): Promise<string> =>
  served((socket) => socket.end(errorAnswer('FATAL', code, message)));

interface Row {
  readonly why: string;
  readonly url: () => string | Promise<string>;
  /** Statements that change the server, and put it back. */
  readonly before?: () => string;
  readonly after?: () => string;
}

const NO_TLS = (socket: Socket): unknown => socket.write('N');
const certificates = createCertificates('localhost');
const TLS = (socket: Socket): void => {
  socket.write('S');
  new TLSSocket(socket, { isServer: true, ...certificates }).on('error', () => undefined);
};

/** Every class of error that the sockets, the driver and the server have for a connection that is not established. */
const ROWS: Row[] = [
  { why: 'its name does not resolve', url: () => `postgres://u:p@database.invalid/d` },
  { why: 'nothing listens', url: async () => `postgres://u:p@127.0.0.1:${await freePort()}/d` },
  { why: 'no route leads there', url: () => 'postgres://u:p@224.0.0.1/d' },
  { why: 'its address is invalid', url: () => 'postgres://u:p@0.0.0.1/d' },
  { why: 'its socket does not exist', url: () => 'postgres://u:p@localhost/d?host=/no/such/directory' },
  { why: 'its socket is in no directory', url: () => `postgres://u:p@localhost/d?host=${process.execPath}` },
  { why: 'the password was changed', url: () => stranger('not-of-a-test') },
  { why: 'the password is missing', url: () => stranger('') },
  {
    why: 'the role may not log in',
    url: stranger,
    before: () => `ALTER ROLE ${role} NOLOGIN`,
    after: () => `ALTER ROLE ${role} LOGIN`,
  },
  {
    why: 'the role may not connect to the database',
    url: stranger,
    before: () => `REVOKE CONNECT ON DATABASE ${service.database.name} FROM PUBLIC`,
    after: () => `GRANT CONNECT ON DATABASE ${service.database.name} TO PUBLIC`,
  },
  {
    why: 'the role has no connection left',
    url: stranger,
    before: () => `ALTER ROLE ${role} CONNECTION LIMIT 0`,
    after: () => `ALTER ROLE ${role} CONNECTION LIMIT -1`,
  },
  {
    why: 'the search path of the role cannot be set',
    url: () => changed((url) => url.searchParams.set('options', '-c no_such_setting=1')),
  },
  { why: 'the database does not exist', url: () => changed((url) => (url.pathname = '/no_such_database')) },
  { why: 'the database takes no connections', url: () => changed((url) => (url.pathname = '/template0')) },
  { why: 'it has no TLS', url: () => served(NO_TLS, '?sslmode=no-verify') },
  { why: 'its certificate is not trusted', url: () => served(TLS, '?sslmode=verify-full') },
  { why: 'it closes the connection', url: () => served((socket) => socket.end()) },
  { why: 'it resets the connection', url: () => served((socket) => void socket.resetAndDestroy()) },
  {
    why: 'another server answers',
    url: () => served((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
  },
  { why: 'pg_hba.conf has no entry', url: refusing('28000', 'no pg_hba.conf entry for host') },
  { why: 'it is full', url: refusing('53300', 'sorry, too many clients already') },
  { why: 'it is out of memory', url: refusing('53200', 'out of memory') },
  { why: 'it is starting', url: refusing('57P03', 'the database system is starting up') },
  {
    why: 'it is shutting down',
    url: refusing('57P01', 'terminating connection due to administrator command'),
  },
  { why: 'it has crashed', url: refusing('57P02', 'terminating connection because of crash') },
  { why: 'it was misconfigured', url: refusing('F0000', 'could not load pg_hba.conf') },
  { why: 'its pooler does not reach it', url: refusing('08P01', 'server login failed: wrong password type') },
  { why: 'it has an internal error', url: refusing('XX000', 'could not read relation mapping file') },
];

describe('a database that cannot be connected to', () => {
  afterEach(() => lead(home));

  it.each(ROWS)('because $why: every request is 503 with Retry-After', async (row) => {
    if (row.before) await service.database.query(row.before());
    const before = service.logged().length;
    await lead(await row.url());
    const requests = {
      read: workspace.user.get('/api/v1/workspaces'),
      write: workspace.put('another', 'text'),
      'sign-in': supertest(service.url)
        .post('/api/auth/sign-in/email')
        .send({ email: 'alice@example.org', password: 'a long enough password' }),
      readiness: supertest(service.url).get('/health/ready'),
    };
    for (const [name, request] of Object.entries(requests)) {
      const { status, headers, body } = await request;
      expect({ name, status, retryAfter: headers['retry-after'], body: body as unknown }).toEqual({
        name,
        status: 503,
        retryAfter: expect.stringMatching(/^\d+$/) as string,
        body: expect.objectContaining({ error: expect.any(String) as string }) as object,
      });
    }
    await supertest(service.url).get('/health').expect(200);
    if (row.after) await service.database.query(row.after());
    await lead(home);
    await workspace.put('note', `after ${row.why}`).expect(200);
    const logged = service.logged().slice(before);
    expect(logged).not.toContain(PASSWORD);
    expect(logged).not.toContain('request failed'); // logged with each 500
  });
});

describe('a PostgreSQL whose disk is full', () => {
  it('refuses uploads with 503 and Retry-After: 60, and serves reads', async () => {
    await service.database.query(
      `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$`,
    );
    await service.database.query(
      `CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON versions EXECUTE FUNCTION full_disk()`,
    );
    const answer = await workspace.put('large', 'text');
    expect([answer.status, answer.headers['retry-after'], answer.body]).toEqual([
      503,
      '60',
      { error: 'the service has no disk space for uploads' },
    ]);
    await workspace.user.get('/api/v1/workspaces').expect(200);
    await service.database.query(`DROP FUNCTION full_disk CASCADE`);
    await workspace.put('large', 'text').expect(201);
  });
});
