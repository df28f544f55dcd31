import pg from 'pg';
import { batchStatements } from '../../src/domain/files/batches/batch-download.js';
import { newId } from '../../src/platform/database/index.js';
import { fileStatements } from '../../src/domain/files/files.queries.js';
import type { Bench } from '../bench.js';
import type { Note } from '../cases/note.js';
import { perSecond } from '../measure/load.js';
import { inParts } from './batches.js';
import type { Keeper, Place } from './keepers.js';
import { PLANNING } from './readers.js';

const MIB = 1024 * 1024;
const GROUP = 64;
/** Concurrent downloads. Uploads run one at a time, because they would wait for the lock of their workspace. */
const IN_FLIGHT = 3;

/** The statements of batches through pg alone, in this process, without a server. The device knows all paths. */
export async function sqlKeeper(bench: Bench): Promise<Keeper> {
  const service = await bench.service();
  const account = await bench.account();
  const pool = new pg.Pool({ connectionString: service.databaseUrl, max: IN_FLIGHT, options: PLANNING });
  bench.ending({ stop: () => pool.end() });
  return {
    name: 'SQL alone, in groups',
    pids: async () => [process.pid, ...(await service.postgres())],
    emptyPlace: async () => {
      const [id = ''] = await account.workspaces(1);
      const { rows } = await pool.query<{ user_id: string }>('SELECT user_id FROM workspaces WHERE id = $1', [
        id,
      ]);
      return placeAt(pool, id, rows[0]?.user_id ?? '');
    },
  };
}

function placeAt(pool: pg.Pool, workspaceId: string, userId: string): Place {
  const access = (): unknown[] => [userId, new Date(), null];
  const put = async (notes: readonly Note[]): Promise<void> => {
    const values = [workspaceId, ...columns(notes), ...access(), null];
    const { rows } = await pool.query<{ outcome: string }>({ ...fileStatements.put, values });
    if (rows.some(({ outcome }) => outcome !== 'created')) throw new Error('an upload was not written');
  };
  const get = async (paths: readonly string[]): Promise<number> => {
    const values = [workspaceId, paths, paths.map(() => null), MIB, MIB, ...access()];
    const { rows } = await pool.query<Head>({ ...batchStatements.heads, values });
    const end = rows.findIndex(({ isCutOff }) => isCutOff);
    const read = end < 0 ? rows : rows.slice(0, end);
    const bytes = read.reduce((sum, row) => sum + Buffer.from(row.base64 ?? '', 'base64').length, 0);
    return end < 0 ? bytes : bytes + (await get(paths.slice(end)));
  };
  return {
    put: (note) => put([note]),
    fetchAll: () => Promise.reject(new Error('only in groups')),
    bulk: {
      putAll: async (notes) => {
        for (const group of groupsOf(notes)) await put(group);
      },
      fetchAll: async (notes) => {
        const groups = inParts(notes, GROUP);
        let bytes = 0;
        await perSecond(groups.length, IN_FLIGHT, async (i) => {
          const its = await get((groups[i] ?? []).map(({ path }) => path));
          bytes += its;
        });
        return bytes;
      },
    },
  };
}

interface Head {
  readonly isCutOff: boolean;
  readonly base64: string | null;
}

/** Groups of notes that fit into one commit of the service. */
function groupsOf(notes: readonly Note[]): Note[][] {
  const groups: Note[][] = [];
  let bytes = Infinity;
  for (const note of notes) {
    const last = groups.at(-1);
    bytes += note.body.length;
    if (last && last.length < GROUP && bytes <= MIB) last.push(note);
    else {
      groups.push([note]);
      bytes = note.body.length;
    }
  }
  return groups;
}

const columns = (notes: readonly Note[]): unknown[] => [
  notes.map(({ path }) => path),
  notes.map(({ headers }) => headers['x-content-hash']),
  notes.map(({ body }) => body.length),
  notes.map(() => 'bench'),
  notes.map(() => new Date().toISOString()),
  notes.map(() => newId()),
  notes.map(() => newId()),
  notes.map(() => newId()),
  Buffer.concat(notes.map(({ body }) => body)),
  notes.map(({ body }) => body.length),
  notes.map(() => null),
  notes.map(() => 'false'),
];
