import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Agent, type IncomingMessage } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type supertest from 'supertest';
import { eventually, startService, type TestService, type TestWorkspace } from '../../kit/index.js';

const REQUESTS = 20;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

let service: TestService;
let workspace: TestWorkspace;
beforeAll(async () => {
  service = await startService();
  workspace = await (await service.user('alice')).workspace();
});
afterAll(() => service.close());

describe('a finished request', () => {
  it.each<[string, (n: number) => supertest.Test]>([
    ['an upload', (n) => workspace.put(`path-${n}`, 'content')],
    ['a large upload', (n) => workspace.put(`large-${n}`, Buffer.alloc(100_000, n))],
    ['a pull', () => workspace.pull(0)],
    ['a refused one', () => workspace.get('absent')],
  ])('is not referenced by the service: %s', async (_, ask) => {
    const requests: WeakRef<IncomingMessage>[] = [];
    const note = (message: unknown): void => {
      const { request, server } = message as { request: IncomingMessage; server: unknown };
      if (server === service.app.getHttpServer()) requests.push(new WeakRef(request));
    };
    // A persistent connection, as devices use them: it may refer to its last request.
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    subscribe('http.server.request.start', note);
    for (let n = 0; n < REQUESTS; n++) await ask(n).agent(agent);
    unsubscribe('http.server.request.start', note);
    expect(requests).toHaveLength(REQUESTS);
    await eventually(() => {
      collectGarbage();
      expect(requests.filter((request) => request.deref()).length).toBeLessThanOrEqual(1);
    });
    agent.destroy();
  });
});
