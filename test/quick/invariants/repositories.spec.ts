import { getRepositoryToken } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { AccessToken } from '../../../src/domain/auth/auth.entities.js';
import { Database, newId, sqlState, statement } from '../../../src/platform/database/index.js';
import { eventually, startService, type TestService } from '../../kit/index.js';

const CONNECTIONS = 3;

const backend = statement('test.backend', 'SELECT pg_backend_pid() AS pid');

let service: TestService;
let tokens: Repository<AccessToken>;
let userId: string;
beforeAll(async () => {
  service = await startService({ env: { DATABASE_POOL_SIZE: String(CONNECTIONS) } });
  tokens = service.app.get(getRepositoryToken(AccessToken), { strict: false });
  userId = (await service.user('repositories')).id;
});
afterAll(() => service.close());

const token = (id = newId()): AccessToken => ({
  id,
  userId,
  name: 'name',
  tokenHash: Buffer.alloc(32, id),
  scopes: ['full'],
  workspaceId: null,
  createdAt: new Date(),
  lastUsedAt: null,
  expiresAt: null,
  revokedAt: null,
});

describe('a repository', () => {
  it('takes turns with statements, so that many calls at once need few connections', async () => {
    const database = service.app.get(Database);
    await tokens.insert(token());
    const reads = Array.from({ length: 50 }, () => tokens.countBy({ userId }));
    expect(database.waiting).toBeGreaterThanOrEqual(reads.length - CONNECTIONS);
    expect(database.pool.waitingCount).toBeLessThanOrEqual(CONNECTIONS); // those whose turn it is
    expect(new Set(await Promise.all(reads))).toEqual(new Set([1]));
    expect(database.waiting).toBe(0);
  });

  it('ends its turn after an error, and throws the error of the driver without its parameters', async () => {
    const known = token();
    await tokens.insert(known);
    for (let i = 0; i < 2 * CONNECTIONS; i++) {
      const error: unknown = await tokens.insert(known).catch((thrown: unknown) => thrown);
      expect(sqlState(error)).toBe('23505');
      expect(Object.keys(error as object)).not.toContain('parameters');
      expect(Object.keys(error as object)).not.toContain('query');
    }
    expect(service.app.get(Database).waiting).toBe(0);
  });

  it('of a transaction locks rows, and is rolled back with it', async () => {
    const { id } = token();
    const failed = service.app.get(Database).transaction(async ({ manager }) => {
      const own = manager.getRepository(AccessToken);
      await own.insert(token(id));
      const locked = await own.findOne({ where: { id }, lock: { mode: 'for_no_key_update' } });
      expect(locked?.id).toBe(id);
      throw new Error('rolled back');
    });
    await expect(failed).rejects.toThrow('rolled back');
    expect(await tokens.existsBy({ id })).toBe(false);
  });

  it('refuses a condition that is undefined or null, which would match every row', async () => {
    for (const nothing of [undefined, null])
      await expect(tokens.findBy({ userId: nothing as unknown as string })).rejects.toThrow(
        /null|undefined/i,
      );
  });

  it('makes a transaction run again when its connection is lost between two steps', async () => {
    const database = service.app.get(Database);
    let attempts = 0;
    const { id } = token();
    await database.transaction(async ({ manager, run }) => {
      if (attempts++ === 0) {
        const [own] = await run<{ pid: number }>(backend, []);
        await service.database.query('SELECT pg_terminate_backend($1)', [own?.pid]);
        await service.database.eventually(
          `SELECT 1 WHERE NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = ${own?.pid})`,
        );
        await eventually(() => expect(manager.queryRunner?.isReleased).toBe(true));
      }
      await manager.getRepository(AccessToken).insert(token(id));
    });
    expect(attempts).toBe(2);
    expect(await tokens.existsBy({ id })).toBe(true);
  });

  it('does not read secret columns by default', async () => {
    await tokens.insert(token());
    for (const found of await tokens.findBy({ userId })) expect(found.tokenHash).toBeUndefined();
  });
});
