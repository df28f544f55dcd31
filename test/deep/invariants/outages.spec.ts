import { Client } from 'pg';
import { KillSwitch } from '../../../src/platform/kill-switch.js';
import { Database } from '../../../src/platform/database/index.js';
import { WorkspacePurge } from '../../../src/domain/workspaces/index.js';
import { eventually, startService, type TestService } from '../../kit/index.js';

describe('a service', () => {
  let service: TestService;
  beforeAll(async () => (service = await startService()));
  afterAll(() => service.close());

  it('logs once for each outage that it cannot listen to other instances', async () => {
    const { database } = service;
    const said = (): number => service.logged().split('cannot listen to the other instances').length - 1;
    const source = service.app.get(Database);
    const dedicatedClient = source.dedicatedClient.bind(source);
    const connect = jest.spyOn(source, 'dedicatedClient');
    for (const outage of [1, 2]) {
      const asked = connect.mock.calls.length;
      connect.mockImplementation(() => new Client({ host: '127.0.0.1', port: 1 }));
      await database.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND query LIKE '%LISTEN%' AND pid <> pg_backend_pid()`,
      );
      await eventually(() => expect(connect.mock.calls.length - asked).toBeGreaterThan(2)); // it has retried
      expect(said()).toBe(outage);
      connect.mockImplementation(dedicatedClient);
      await service.app.get(KillSwitch).set('off');
      await eventually(async () => {
        const rows = await database.query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%LISTEN%'
             AND pid <> pg_backend_pid()`,
        );
        expect(rows).toHaveLength(1);
      });
    }
    connect.mockRestore();
  });

  it('leaves no connection open when its start fails', async () => {
    const connections = async (): Promise<number> =>
      (await service.database.query(`SELECT FROM pg_stat_activity WHERE datname = current_database()`))
        .length;
    const before = await connections();
    const bootstrap = jest
      .spyOn(WorkspacePurge.prototype, 'onApplicationBootstrap')
      .mockRejectedValueOnce(new Error('cannot start'));
    await expect(startService({ beside: service })).rejects.toThrow('cannot start');
    bootstrap.mockRestore();
    await eventually(async () => expect(await connections()).toBeLessThanOrEqual(before));
  });
});
