import { shardFunction, shardStatement } from '../../src/platform/database/distribution/shard-text.js';
import type { Shard } from '../../src/platform/database/distribution/shards.js';
import { knownStatements } from '../../src/platform/database/index.js';
import { startService, type TestService } from '../kit/index.js';

const names = ['workspaces', 'blobs', 'files', 'versions', 'changes', 'checkpoints', 'key_slots', 'assets'];
const others = ['asset_idempotency_keys', 'blob_leftovers', 'push_subscriptions', 'users', 'subscriptions'];
const shard: Shard = {
  id: '102008',
  node: { host: 'node', port: 5432 },
  tables: new Map([...names, ...others].map((name, index) => [name, `${name}_${102008 + index}`])),
};

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

describe('the text of a statement for the node of its workspace', () => {
  it('names the tables of the shard, and asks whether they are still there', () => {
    const text =
      'SELECT w.id FROM workspaces w WHERE w.id = $1 AND EXISTS (SELECT 1 FROM files WHERE id = $2)';
    expect(shardStatement(text, shard)).toBe(
      'SELECT * FROM (SELECT w.id FROM workspaces_102008 w WHERE w.id = $1 AND EXISTS (SELECT 1 FROM files_102010 WHERE id = $2)) ' +
        'AS routed WHERE shard_is_here(102008)',
    );
  });

  it('leaves columns, functions and other tables alone', () => {
    const text = 'SELECT f.versions FROM unnest($2) AS f JOIN devices d ON true';
    expect(shardStatement(text, shard)).toContain(text);
  });

  it('has no table of the schema left in any statement that is sent there', () => {
    const sent = knownStatements().flatMap(({ onShard }) => (onShard === undefined ? [] : [onShard]));
    const left = sent.flatMap((text) =>
      [...shardStatement(text, shard).matchAll(/\b(?:FROM|JOIN|UPDATE|INTO) ([a-z_]+\d*)\b(?! ?\()/g)]
        .map(([, table = '']) => table)
        .filter((table) => shard.tables.has(table)),
    );
    expect(sent.length).toBeGreaterThan(10);
    expect(left).toEqual([]);
  });

  it('calls functions that hold the shard before anything else', async () => {
    const [row] = await service.database.query<{ definition: string }>(
      `SELECT pg_get_functiondef(oid) AS definition FROM pg_proc WHERE proname = 'put_documents'`,
    );
    const text = shardFunction(row?.definition ?? '', shard);
    expect(text).toContain('CREATE OR REPLACE FUNCTION pg_temp.put_documents_102008(');
    expect(text).toContain('pg_temp.put_documents_of_many_102008(');
    expect(text.slice(text.indexOf('BEGIN')).split('\n')[1]?.trim()).toBe('PERFORM hold_shard(102008);');
    expect(text).toContain('FROM workspaces_102008 w');
  });
});
