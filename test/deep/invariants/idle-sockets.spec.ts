import { eventually, TestSocket, type TestWorkspace } from '../../kit/index.js';
import { residentBytes } from '../../kit/memory.js';
import { type OwnProcess, startOwnProcess } from '../../kit/own-process.js';

const MIB = 1024 * 1024;
const SOCKETS = 2_000;
const AT_ONCE = 300;

describe('2,000 idle sockets on one instance', () => {
  let own: OwnProcess;
  let workspaces: TestWorkspace[];

  beforeAll(async () => {
    own = await startOwnProcess();
    workspaces = [];
    for (let i = 0; i < 50; i++) workspaces.push(await own.alice.workspace());
  });
  afterAll(() => own.end());

  it(`are accepted ${AT_ONCE} at a time, stay under 200 MiB resident, and all get a change`, async () => {
    const sockets: TestSocket[] = [];
    while (sockets.length < SOCKETS) {
      const part = Array.from({ length: Math.min(AT_ONCE, SOCKETS - sockets.length) }, (_, index) => {
        const workspace = workspaces[(sockets.length + index) % workspaces.length] as TestWorkspace;
        return TestSocket.join(workspace, 'listener');
      });
      sockets.push(...(await Promise.all(part)));
    }
    for (const workspace of workspaces) await workspace.put('note', 'text', 'writer').expect(201);
    for (const socket of sockets) expect(await socket.frame('changes')).toMatchObject({ cursor: 1 });
    // Garbage from before is collected only when requests need memory.
    await eventually(async () => {
      await workspaces[0]!.status();
      expect((await residentBytes(own.service.child.pid!)) / MIB).toBeLessThan(200);
    });
    for (const socket of sockets) socket.raw.terminate();
  });
});
