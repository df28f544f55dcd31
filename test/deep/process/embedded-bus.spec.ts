import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { runningServerUrl } from '../../../src/platform/database/index.js';
import { eventually, TestSocket, TestUser } from '../../kit/index.js';
import { startProcess } from '../../kit/process.js';

describe('the event bus on the embedded PostgreSQL', () => {
  it('listens and notifies on its own connections, and logs no error', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'sync-bus-'));
    const service = await startProcess({ DATA_DIR: dataDir, LOG_LEVEL: 'warn' });
    const client = new pg.Client((await runningServerUrl(dataDir)) ?? '');
    try {
      await client.connect();
      const alice = await TestUser.logIn(service.url, 'alice');
      await alice.post('/api/v1/subscription/trial').expect(200);
      const workspace = await alice.workspace();
      const phone = await TestSocket.join(workspace, 'phone');
      await workspace.put('a', 'one').expect(201);
      await phone.frame('changes');
      await phone.close();
      await eventually(async () => {
        const { rows } = await client.query(
          `SELECT application_name FROM pg_stat_activity WHERE application_name ~ ' (listen|notify)$' ORDER BY 1`,
        );
        expect(rows).toEqual([
          { application_name: 'cloud-sync-service listen' },
          { application_name: 'cloud-sync-service notify' },
        ]);
      });
      expect(service.output()).not.toContain('instances');
    } finally {
      await client.end();
      await service.end('SIGTERM');
      await rm(dataDir, { recursive: true, force: true });
    }
  });
});
