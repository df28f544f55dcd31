import type supertest from 'supertest';
import { checkpointStatements } from '../../../src/domain/checkpoints/checkpoints.queries.js';
import { versionStatements } from '../../../src/domain/files/files.queries.js';
import { Database, type Parameter, type Statement } from '../../../src/platform/database/index.js';
import { WorkspacePurge } from '../../../src/domain/workspaces/index.js';
import { eventually, startService, type TestService, type TestWorkspace } from '../../kit/index.js';
import { headOf, openSocket } from '../../kit/raw-http.js';
import { firstOf, itDeep } from '../../kit/rounds.js';

/** A list that may be longer than a page. */
interface LongList {
  readonly key: string;
  readonly path: string;
  readonly page: Statement;
  readonly pageSize: number;
  /** Fills it up to `count` rows, each with a text of `length` characters in it. */
  readonly fill: (notes: TestWorkspace, count: number, length: number) => Promise<void>;
  /** The whole list, in one query. */
  readonly expected: string;
  /** Adds an item at the beginning. */
  readonly add: (notes: TestWorkspace) => Promise<unknown>;
  readonly table: string;
  readonly longest: number;
}

const VERSIONS: LongList = {
  key: 'versions',
  path: '/files/YQ/versions',
  page: versionStatements.page,
  pageSize: 1000,
  fill: async (notes, count, length) => {
    await notes.put('YQ', 'one').expect(201);
    await query(
      `INSERT INTO versions (workspace_id, id, file_id, version, blob_id, content_hash, encrypted_size, device_id, change_cursor, created_at)
       SELECT workspace_id, gen_random_uuid(), file_id, n, blob_id, content_hash, encrypted_size, rpad('', $3, 'd'), n, created_at
       FROM versions, generate_series(2, $2::int) n WHERE workspace_id = $1`,
      [notes.id, count, length],
    );
    await query('UPDATE files SET version = $2 WHERE workspace_id = $1', [notes.id, count]);
  },
  expected: `SELECT id, version, content_hash, encrypted_size::int, device_id,
                    to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
                    change_cursor::int AS "changeCursor"
             FROM versions WHERE workspace_id = $1 ORDER BY version DESC`,
  add: (notes) => notes.put('YQ', 'newest').expect(200),
  table: 'versions',
  longest: 4096,
};

const CHECKPOINTS: LongList = {
  key: 'checkpoints',
  path: '/checkpoints',
  page: checkpointStatements.page,
  pageSize: 100,
  /** Many share a cursor and millisecond, some a microsecond. */
  fill: async ({ id }, count, length) => {
    await query(
      `INSERT INTO checkpoints (workspace_id, id, encrypted_label, kind, cursor, created_at)
       SELECT $1, gen_random_uuid(), rpad('', $3, 'L'), 'manual', n / 450, '2026-01-01'::timestamptz + n % 150 * interval '1 microsecond'
       FROM generate_series(1, $2::int) n`,
      [id, count, length],
    );
    await query('UPDATE workspaces SET head_cursor = $2 WHERE id = $1', [id, count]);
  },
  expected: `SELECT id, encrypted_label AS "encryptedLabel", kind, cursor::int,
                    to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS "createdAt"
             FROM checkpoints WHERE workspace_id = $1 ORDER BY cursor DESC, checkpoints.created_at DESC, id DESC`,
  add: (notes) => notes.checkpoint(),
  table: 'checkpoints',
  longest: 8192,
};

/** Bytes. */
const SOCKETS_TAKE_LESS = 80 * 2 ** 20;

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

function query<Row>(sql: string, values: unknown[]): Promise<Row[]> {
  return service.database.query<Row & Record<string, unknown>>(sql, values);
}

describe.each([VERSIONS, CHECKPOINTS])('GET $key with many rows', (list) => {
  const { key, path, page, pageSize, expected } = list;
  let names = 0;

  async function filled(count: number, length = 8): Promise<TestWorkspace> {
    const notes = await (await service.user(`${key}-${++names}`)).workspace();
    await list.fill(notes, count, length);
    return notes;
  }

  /** Calls `before` with the page number, from 1, before each page that `work` reads. */
  async function watchPages<T>(
    before: (number: number, values: readonly Parameter[]) => Promise<void> | void,
    work: () => Promise<T>,
  ): Promise<T> {
    const database = service.app.get(Database);
    const run = database.run.bind(database);
    let pages = 0;
    database.run = async (statement, values) => {
      if (statement === page) await before(++pages, values);
      return run(statement, values);
    };
    try {
      return await work();
    } finally {
      Object.assign(database, { run });
    }
  }

  it.each(firstOf(1, [3 * pageSize + 7, pageSize - 1, pageSize, pageSize + 1]))(
    'lists each of %d rows once, byte for byte as one query would',
    async (count) => {
      const notes = await filled(count);
      const rows = await query(expected, [notes.id]);
      expect(rows).toHaveLength(count);
      let pages = 0;
      const { text, headers } = await watchPages(
        (number) => void (pages = number),
        () => notes.user.get(notes.path + path).expect(200),
      );
      expect(text === JSON.stringify({ [key]: rows })).toBe(true);
      expect(headers['content-type']).toBe('application/json; charset=utf-8');
      expect(pages).toBe(1 + Math.floor(count / pageSize));
    },
  );

  itDeep('neither repeats nor loses items when others are added and deleted meanwhile', async () => {
    const notes = await filled(3 * pageSize);
    const rows = await query<{ id: string }>(expected, [notes.id]);
    const gone = [rows[pageSize - 1]!.id, rows[pageSize + 1]!.id]; // the cursor and one row of the next page
    const { body } = await watchPages(
      async (number) => {
        if (number !== 2) return;
        await list.add(notes);
        await query(`DELETE FROM ${list.table} WHERE workspace_id = $1 AND id = ANY ($2)`, [notes.id, gone]);
      },
      () => notes.user.get(notes.path + path).expect(200),
    );
    expect(body[key]).toEqual(rows.filter(({ id }) => id !== gone[1]));
  });

  itDeep('waits for a slow client, and stops when it disconnects', async () => {
    const notes = await filled(SOCKETS_TAKE_LESS / list.longest, list.longest);
    let pages = 0;
    await watchPages(
      (number) => void (pages = number),
      async () => {
        const socket = openSocket(service.url);
        const Authorization = `Bearer ${notes.user.token}`;
        socket.write(headOf('GET', notes.path + path, { Host: 'x', Authorization }));
        await new Promise((resolve) => socket.once('readable', resolve));
        const calm = await settled(() => pages, notes);
        expect(calm).toBeLessThan(SOCKETS_TAKE_LESS / list.longest / pageSize / 2);
        socket.destroy();
        for (let n = 0; n < 20; n++) await notes.status();
        expect(pages).toBeLessThanOrEqual(calm + 1);
      },
    );
  });

  itDeep(
    'is cut off when the database fails between two pages, and is 500 when it fails before',
    async () => {
      const notes = await filled(2 * pageSize);
      const get = (failing: number): Promise<supertest.Response> =>
        watchPages(
          (number) => {
            if (number === failing) throw new Error('the database is away');
          },
          () => notes.user.get(notes.path + path),
        );
      await expect(get(2)).rejects.toThrow('aborted');
      await eventually(() => {
        const lines = service.logged().split('\n');
        const line =
          lines.find((text) => text.includes(notes.id) && text.includes('the database is away')) ?? '{}';
        expect(JSON.parse(line)).toMatchObject({ level: 'error', message: 'request', brokenOff: true });
      });
      expect(await get(1)).toMatchObject({ status: 500, body: { error: expect.any(String) } });
    },
  );

  itDeep('is cut off when the workspace is deleted between two pages, before its rows are', async () => {
    const notes = await filled(2 * pageSize);
    const remove = async (number: number): Promise<void> => {
      if (number === 2) await query('UPDATE workspaces SET deleted_at = now() WHERE id = $1', [notes.id]);
    };
    await expect(watchPages(remove, () => notes.user.get(notes.path + path))).rejects.toThrow('aborted');
  });

  itDeep('is cut off when the workspace and its rows are deleted between two pages', async () => {
    const notes = await filled(2 * pageSize);
    const remove = async (number: number): Promise<void> => {
      if (number !== 2) return;
      await notes.user.delete(notes.path).expect(200);
      await service.app.get(WorkspacePurge).idle();
    };
    await expect(watchPages(remove, () => notes.user.get(notes.path + path))).rejects.toThrow('aborted');
  });

  it('answers HEAD with the type and no body, and reads at most a page for it', async () => {
    const notes = await filled(2 * pageSize);
    let pages = 0;
    const answer = await watchPages(
      (number) => void (pages = number),
      () => notes.user.request('head', notes.path + path).expect(200),
    );
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(answer.text).toBeFalsy();
    expect(pages).toBe(1);
  });

  itDeep('reads no more rows than a page has, at every position', async () => {
    const notes = await filled(5 * pageSize);
    await service.database.query('ANALYZE');
    const asked: (readonly Parameter[])[] = [];
    await watchPages(
      (_page, values) => void asked.push(values),
      () => notes.user.get(notes.path + path).expect(200),
    );
    const connection = await service.app.get(Database).pool.connect();
    const rowsRead = async (): Promise<number> => {
      const { rows } = await connection.query<{ read: number }>(
        'SELECT (idx_tup_fetch + seq_tup_read)::int AS read FROM pg_stat_xact_user_tables WHERE relname = $1',
        [list.table],
      );
      return rows[0]!.read;
    };
    try {
      await connection.query('BEGIN'); // the counts are kept until its end
      for (const values of asked.slice(0, 5)) {
        const before = await rowsRead();
        await connection.query({ ...page, values: [...values] });
        expect((await rowsRead()) - before).toBe(pageSize);
      }
    } finally {
      await connection.query('ROLLBACK');
      connection.release();
    }
  });
});

/** The count once it is stable. */
async function settled(count: () => number, notes: TestWorkspace): Promise<number> {
  for (let before = -1; before !== count();) {
    before = count();
    for (let n = 0; n < 10; n++) await notes.status();
  }
  return count();
}
