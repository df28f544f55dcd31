import type { Socket } from 'node:net';
import { getRepositoryToken } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { AccessToken } from '../../../src/domain/auth/auth.entities.js';
import { Device } from '../../../src/domain/devices/devices.service.js';
import { WorkspaceEntity } from '../../../src/domain/workspaces/workspace.entity.js';
import { startService, type TestService, type TestUser } from '../../kit/index.js';
import { headOf, openSocket } from '../../kit/raw-http.js';

const PAGE = 500;
const MANY = 100_000;

const time = (column: string): string =>
  `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS ${column}`;

type EntityClass = new () => object;

interface ListOfUser {
  readonly key: string;
  readonly path: string;
  /** The entity whose repository reads a page. */
  readonly page: EntityClass;
  /** $1: the user, $2: how many. */
  readonly fill: string;
  readonly expected: string;
}

const LISTS: ListOfUser[] = [
  {
    key: 'workspaces',
    path: '/api/v1/workspaces',
    page: WorkspaceEntity,
    fill: `INSERT INTO workspaces (id, user_id, name, encryption_salt, verification_hash, verification_salt, created_at, updated_at)
           SELECT gen_random_uuid(), $1, 'notes "' || n || '"', salt, salt, salt, now(), now()
           FROM generate_series(1, $2::int) n, LATERAL (SELECT CASE WHEN n % 2 = 0 THEN repeat('ab', 32) END AS salt) s`,
    expected: `SELECT id, user_id, name, encryption_salt, ${time('created_at')}, ${time('updated_at')}
               FROM workspaces WHERE user_id = $1 ORDER BY id`,
  },
  {
    key: 'tokens',
    path: '/api/v1/auth/tokens',
    page: AccessToken,
    fill: `INSERT INTO access_tokens (id, user_id, name, token_hash, scopes, created_at, revoked_at)
           SELECT id, $1, 'cli', sha256(id::text::bytea), '{documents:read,full}', now(), now()
           FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, $2::int)) ids`,
    expected: `SELECT id, name, ${time('created_at')}, last_used_at, expires_at, ${time('revoked_at')}, scopes, workspace_id
               FROM access_tokens WHERE user_id = $1 ORDER BY id DESC`,
  },
  {
    key: 'devices',
    path: '/api/v1/devices',
    page: Device,
    fill: `INSERT INTO devices (id, user_id, name, platform, created_at)
           SELECT gen_random_uuid(), $1, 'Laptop', 'linux', now() FROM generate_series(1, $2::int)`,
    expected: `SELECT id, name, platform, last_seen_at, ${time('created_at')} FROM devices WHERE user_id = $1 ORDER BY id`,
  },
];

let service: TestService;
let names = 0;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

async function owner({ fill }: ListOfUser, count: number): Promise<TestUser> {
  const user = await service.user(`long-${++names}`);
  await service.database.query(fill, [user.id, count]);
  return user;
}

/** Counts the pages read during `work`; none may have more rows than a page and one. */
async function pagesDuring({ page }: ListOfUser, work: () => PromiseLike<unknown>): Promise<number> {
  const rows: number[] = [];
  const restore = watchFind(page, (count) => rows.push(count));
  try {
    await work();
  } finally {
    restore();
  }
  expect(rows.filter((count) => count > PAGE + 1)).toEqual([]);
  return rows.length;
}

function watchFind(entity: EntityClass, note: (rows: number) => void): () => void {
  const repository = service.app.get<Repository<object>>(getRepositoryToken(entity), { strict: false });
  const find = repository.find.bind(repository);
  repository.find = async (options) => {
    const found = await find(options);
    note(found.length);
    return found;
  };
  return () => Object.assign(repository, { find });
}

function ask({ url, token }: TestUser, path: string): Socket {
  const socket = openSocket(url);
  socket.write(headOf('GET', path, { Host: 'x', Authorization: `Bearer ${token}` }));
  return socket;
}

describe.each(LISTS)('GET $path with many rows', (list) => {
  it.each([0, 1, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE + 7])(
    'lists each of %d rows once, byte for byte as one query would',
    async (count) => {
      const user = await owner(list, count);
      const rows = await service.database.query(list.expected, [user.id]);
      expect(rows).toHaveLength(count);
      const pages = await pagesDuring(list, async () => {
        const { text, headers } = await user.get(list.path).expect(200);
        expect(text === JSON.stringify({ [list.key]: rows })).toBe(true);
        expect(headers['content-type']).toBe('application/json; charset=utf-8');
      });
      expect(pages).toBe(1 + Math.floor(count / PAGE));
    },
  );

  it('answers HEAD with the type and no body, and reads at most a page for it', async () => {
    const user = await owner(list, 2 * PAGE);
    const pages = await pagesDuring(list, async () => {
      const answer = await user.request('head', list.path).expect(200);
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
      expect(answer.text).toBeFalsy();
    });
    expect(pages).toBe(1);
  });

  it(`serves other users during thirty concurrent requests for ${MANY} items each`, async () => {
    const user = await owner(list, MANY);
    const neighbour = await service.newcomer('neighbour');
    const readers = Array.from({ length: 15 }, () => ask(user, list.path).resume());
    const idlers = Array.from({ length: 15 }, () => ask(user, list.path));
    const pages = await pagesDuring(list, async () => {
      for (let n = 0; n < 10; n++) await neighbour.get('/api/v1/auth/me').expect(200);
    });
    expect(pages).toBeGreaterThan(0);
    for (const socket of [...readers, ...idlers]) socket.destroy();
  });
});
