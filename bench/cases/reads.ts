import pg from 'pg';
import { insertLargeLog } from '../large-log.js';
import { type Contestant, measureBeside, type Result, WARM_UP_MS } from '../measure/beside.js';
import type { Figures } from '../measure/figures.js';
import { perSecond, timed } from '../measure/load.js';
import { processorMicros } from '../measure/processes.js';
import { type Reader, serviceReader, sqlReader } from '../servers/readers.js';
import type { Case } from './case.js';

const IN_FLIGHT = 8;
/** A tenth of them are deleted. */
const FILES = 111_111;
const TURNS = 2;
const PULLS = 2_000;
const SNAPSHOTS = 100;

export const reads: Case = {
  name: 'reads',
  says: 'pull of 100 changes, snapshot of 1,000 files, walk of 100,000 files, compared with the same rows through pg alone',
  run: async function* (bench) {
    const [workspaceId = ''] = await (await bench.account()).workspaces(1);
    await fill((await bench.service()).databaseUrl, workspaceId);
    const readers = [await serviceReader(bench, workspaceId), await sqlReader(bench, workspaceId, IN_FLIGHT)];
    await requireAlike(readers);
    const measure = (name: string, run: (reader: Reader) => Promise<Figures>): Promise<Result> =>
      measureBeside(
        name,
        readers.map((reader): Contestant => ({ name: reader.name, run: () => run(reader) })),
        { warmUpMs: WARM_UP_MS },
      );
    yield await measure(`pull of 100 changes, ${IN_FLIGHT} in flight`, (reader) =>
      repeated(reader, PULLS, (i) => reader.pull((i * 100) % FILES)),
    );
    yield await measure(`snapshot of 1,000 files, ${IN_FLIGHT} in flight`, (reader) =>
      repeated(reader, SNAPSHOTS, () => reader.snapshot('')),
    );
    yield await measure('walk of 100,000 files, 1,000 a page, one after the other', async (reader) => ({
      milliseconds: await timed(() => walk(reader)),
    }));
  },
};

async function repeated(
  reader: Reader,
  total: number,
  read: (i: number) => Promise<unknown>,
): Promise<Figures> {
  let rate = 0;
  const micros = await processorMicros(reader.pids, async () => {
    rate = await perSecond(total, IN_FLIGHT, read);
  });
  return { perSecond: rate, cpuMicros: micros / total };
}

async function walk(reader: Reader): Promise<void> {
  let pages = 0;
  for (let from: string | undefined = ''; from !== undefined; pages++) {
    const page = await reader.snapshot(from);
    from = /"nextPageCursor":"([^"]+)"/.exec(page.toString('latin1', page.length - 200))?.[1];
  }
  if (pages !== 100) throw new Error(`${reader.name} walked ${pages} pages instead of 100`);
}

/** Compared readers must do the same work: their JSON must be identical, byte for byte. */
async function requireAlike([ours, theirs]: Reader[]): Promise<void> {
  if (!ours || !theirs) return;
  for (const read of [(reader: Reader) => reader.pull(300), (reader: Reader) => reader.snapshot('')]) {
    const [a, b] = [JSON.parse(String(await read(ours))), JSON.parse(String(await read(theirs)))] as object[];
    if (JSON.stringify(a) !== JSON.stringify(b))
      throw new Error('the SQL alone returns different pages than the service');
  }
}

async function fill(databaseUrl: string, workspaceId: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const run = (sql: string, values: unknown[]): Promise<unknown> => client.query(sql, values);
    await insertLargeLog(run, workspaceId, { files: FILES, changes: FILES * TURNS });
    await client.query('VACUUM (ANALYZE) files, changes, versions');
  } finally {
    await client.end();
  }
}
