import { join } from 'node:path';
import type { Bench } from '../bench.js';
import type { Note } from '../cases/note.js';
import { freePort } from '../free-port.js';
import { Client } from '../measure/client.js';
import { fetchEach, type Keeper } from './keepers.js';
import { npmPeer } from './npm-peer.js';
import { startProgram } from './program.js';

const VERSION = '4.2.0';

/** One document per note, with its bytes in base64: one by one, like replication of single edits, or all in one request. */
export async function pouchdb(bench: Bench): Promise<Keeper> {
  const home = await npmPeer('pouchdb-server', VERSION);
  const port = await freePort();
  const command = join(home, 'node_modules/pouchdb-server/bin/pouchdb-server');
  const args = ['--port', String(port), '--host', '127.0.0.1', '--no-color'];
  const program = bench.ending(
    await startProgram(
      [process.execPath, command, ...args],
      { cwd: await bench.place('pouchdb'), env: { PATH: process.env.PATH, NODE_ENV: 'production' } },
      /has started/,
    ),
  );
  const client = new Client(`http://127.0.0.1:${port}`);
  let places = 0;
  return {
    name: `pouchdb-server ${VERSION}`,
    pids: () => [program.pid],
    emptyPlace: async () => {
      const place = `/notes-${places++}`;
      await client.send('PUT', place);
      return {
        put: ({ path, body }) =>
          client.sendJson('PUT', `${place}/n${path}`, { data: body.toString('base64') }),
        fetchAll: (notes, inFlight) =>
          fetchEach(notes, inFlight, async ({ path }) => {
            const document = JSON.parse(String(await client.send('GET', `${place}/n${path}`))) as {
              data: string;
            };
            return Buffer.byteLength(document.data, 'base64');
          }),
        bulk: {
          putAll: (notes) => putBulk(client, place, notes),
          fetchAll: (notes) => getBulk(client, place, notes),
        },
      };
    },
  };
}

async function putBulk(client: Client, place: string, notes: readonly Note[]): Promise<void> {
  const docs = notes.map(({ path, body }) => ({ _id: `n${path}`, data: body.toString('base64') }));
  const results = (await client.sendJson('POST', `${place}/_bulk_docs`, { docs })) as { ok?: boolean }[];
  if (results.length !== notes.length || !results.every(({ ok }) => ok))
    throw new Error('a document was refused');
}

async function getBulk(client: Client, place: string, notes: readonly Note[]): Promise<number> {
  const docs = notes.map(({ path }) => ({ id: `n${path}` }));
  const { results } = (await client.sendJson('POST', `${place}/_bulk_get`, { docs })) as BulkAnswer;
  return results.reduce((sum, { docs: [first] }) => sum + Buffer.byteLength(first.ok.data, 'base64'), 0);
}

interface BulkAnswer {
  readonly results: { readonly docs: [{ readonly ok: { readonly data: string } }] }[];
}
