import { EventEmitter, once } from 'node:events';
import { WorkspacePurge } from '../../../src/domain/workspaces/index.js';
import { startService, type TestService } from '../../kit/index.js';
import { unfinishedUpload } from '../../kit/raw-http.js';
import { AccountUnderTest } from '../../kit/model/account-under-test.js';
import { type HttpAnswer, HttpClient, type HttpRequest } from '../../kit/model/http-client.js';
import type { Operation } from '../../kit/model/operations.js';
import { expectLawsOfTables } from '../../kit/model/laws.js';
import { NOTHING } from '../../kit/model/state.js';
import { type Belief, performTogether, type Reality } from '../../kit/model/steps.js';

/** Sends a sync request after an upload was done, and delivers its answer before that of the upload. */
class LateUpload extends HttpClient {
  private readonly events = new EventEmitter();
  private readonly uploaded = once(this.events, 'uploaded');
  private readonly answered = once(this.events, 'answered');

  override async send(url: string, request: HttpRequest): Promise<HttpAnswer> {
    const isUpload = request.method === 'PUT';
    const isBeside = request.path.includes('/sync/');
    if (isBeside) await this.uploaded;
    try {
      return await super.send(url, request);
    } finally {
      if (isBeside) setImmediate(() => this.events.emit('answered'));
      if (isUpload) {
        this.events.emit('uploaded');
        await this.answered;
      }
    }
  }
}

const PLACE = { by: 'owner', at: 0, workspace: 'workspace 1' } as const;
const UPLOAD: Operation = {
  kind: 'put',
  ...PLACE,
  path: 'a',
  content: 'one',
  device: 'phone',
  ifMatch: null,
  ifAbsent: false,
  isMislabelled: false,
};
const SNAPSHOT: Operation = { kind: 'snapshot', ...PLACE, device: 'laptop', limit: null, after: null };

describe('the model', () => {
  let service: TestService;
  const client = new LateUpload();

  beforeAll(async () => {
    service = await startService({ env: { LOG_LEVEL: 'silent' } });
    service.clock.stopAt(new Date('2026-03-25T22:30:00.000Z'));
  });

  afterAll(async () => {
    client.close();
    await service.close();
  });

  it('understands an answer that shows the effect of a request still in flight', async () => {
    const account = await AccountUnderTest.open({ services: [service, service], client }, 'a@example.org');
    const tally = { sequences: 0, operations: 0, looks: 0 };
    const reality: Reality = { account, clock: service.clock, tally, history: [] };
    const belief: Belief = { worlds: [NOTHING], born: 0, names: new Map() };
    await performTogether(belief, reality, [
      { kind: 'create workspace', by: 'owner', at: 0, name: 'workspace 1' },
    ]);

    await performTogether(belief, reality, [SNAPSHOT, UPLOAD]);

    expect(belief.worlds[0]?.workspaces[0]?.log).toHaveLength(1);
  });

  it('accepts the row of a deleted workspace that stays while an upload is in flight', async () => {
    const workspace = await (await service.user('waits')).workspace();
    await workspace.put('YQ', 'one').expect(201);
    const socket = unfinishedUpload(service.url, workspace, 'Yg');
    try {
      await service.database.eventually(`SELECT FROM blobs WHERE state = 'staged'`);

      await workspace.user.delete(workspace.path).expect(200);
      await service.app.get(WorkspacePurge).idle();
      const [row] = await service.database.query(
        'SELECT head_cursor FROM workspaces WHERE deleted_at IS NOT NULL',
      );
      expect(row).toEqual({ head_cursor: '1' });
      await expectLawsOfTables(service.database);
    } finally {
      socket.destroy();
    }
  });
});
