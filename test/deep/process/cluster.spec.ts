import { randomBytes } from 'node:crypto';
import supertest from 'supertest';
import { adminJson } from '../../kit/admin.js';
import { TestVault } from '../../kit/automation.js';
import { startCluster, type TestCluster } from '../../kit/cluster.js';
import { eventually, sha256, TestSocket, TestUser, type TestWorkspace } from '../../kit/index.js';
import { ADMIN, runProcess } from '../../kit/process.js';
import { describeWithTestServers } from '../../kit/test-servers.js';

describeWithTestServers('two instances behind nginx, on one PostgreSQL and one S3 server', () => {
  let cluster: TestCluster;
  let one: string;
  let two: string;
  let alice: TestUser;
  let workspace: TestWorkspace;

  beforeAll(async () => {
    cluster = await startCluster({ RATE_LIMIT_PER_MINUTE: '100000' });
    [one = '', two = ''] = cluster.instances.map(({ url }) => url);
    alice = await TestUser.logIn(cluster.url, 'alice');
    await alice.post('/api/v1/subscription/trial').expect(200);
    workspace = await alice.workspace();
  });
  afterAll(async () => {
    const output = cluster.output();
    await cluster.stop();
    expect(output).not.toMatch(/pat_|token=(?!\[)/); // neither instances nor nginx log a token
  });

  const admin = (...args: string[]): Promise<unknown> => adminJson(cluster.env, ...args);

  it('a file is readable on both at once, whatever its size', async () => {
    const large = randomBytes(3 << 20); // streamed to the S3 server
    await workspace.put('small', 'content').expect(201);
    await workspace.put('large', large).expect(201);
    for (const url of [one, two, cluster.url]) {
      const there = workspace.as(alice.at(url));
      expect(((await there.get('small').expect(200)).body as Buffer).toString()).toBe('content');
      expect(((await there.get('large').expect(200)).body as Buffer).equals(large)).toBe(true);
    }
  });

  it('a download of 100 MiB through nginx arrives whole, even at a client that pauses', async () => {
    const largest = randomBytes(100 << 20);
    await workspace.put('largest', largest).expect(201);
    const paused = await fetch(cluster.url + workspace.file('largest'), {
      headers: { authorization: `Bearer ${alice.token}` },
    });
    // Another whole download, during which nginx could write the paused one to files.
    expect(sha256((await workspace.get('largest').expect(200)).body as Buffer)).toBe(sha256(largest));
    expect(sha256(Buffer.from(await paused.arrayBuffer()))).toBe(sha256(largest));
  });

  it('a live room is shared by sockets on both and through nginx', async () => {
    const sockets = await Promise.all(
      [one, two, cluster.url, cluster.url].map((url, index) =>
        TestSocket.join(workspace.as(alice.at(url)), `device-${index}`),
      ),
    );
    await workspace.put('heard', 'by all', 'elsewhere').expect(201);
    for (const socket of sockets) {
      await eventually(() => {
        const paths = socket.of('changes').flatMap(({ changes }) => changes as { encryptedPath: string }[]);
        expect(paths.map(({ encryptedPath }) => encryptedPath)).toContain('heard');
      });
    }
    const late = await TestSocket.join(workspace.as(alice.at(one)), 'late');
    expect((await late.frame('welcome')).deviceCount).toBe(5);
    for (const socket of [...sockets, late]) await socket.close();
  });

  it('a revoked token and its sockets end on both at once', async () => {
    const minted = await alice.post('/api/v1/auth/tokens').send({ name: 'tool' }).expect(201);
    const tool = alice.at(cluster.url, minted.body.token);
    for (const url of [one, two]) await tool.at(url).get(workspace.path).expect(200);
    const socket = await TestSocket.join(workspace.as(tool.at(two)), 'tool');
    await alice.at(one).delete(`/api/v1/auth/tokens/${minted.body.id}`).expect(200);
    for (const url of [one, two]) await tool.at(url).get(workspace.path).expect(401);
    expect(await socket.closed()).toBe(4401);
  });

  it('a rate limit counts on both together', async () => {
    let guessers = 0;
    // The minute may end meanwhile: then another user tries in the next one.
    await eventually(async () => {
      const guesser = await TestUser.logIn(cluster.url, `guesser-${++guessers}`);
      await guesser.post('/api/v1/subscription/trial').expect(200);
      const { path } = await guesser.workspace();
      const guess = (url: string): supertest.Test =>
        guesser
          .at(url)
          .post(`${path}/verify-password`)
          .send({ verificationHash: 'a'.repeat(64) });
      for (let round = 0; round < 5; round++) for (const url of [one, two]) await guess(url).expect(200);
      for (const url of [one, two, cluster.url]) await guess(url).expect(429);
    });
  });

  it('a key session opened on one works on the other, until it is ended on either', async () => {
    const vault = await TestVault.setUp(await alice.at(one).workspace('plain'));
    await vault.create('a note.md', 'in plaintext').expect(201);
    const elsewhere = vault.with(vault.keySession, alice.at(two));
    expect((await elsewhere.read('a note.md').expect(200)).body.content).toBe('in plaintext');
    await elsewhere.endSession().expect(200);
    await vault.read('a note.md').expect(401);
  });

  it('jobs that two start at once both succeed, one after the other, and leave a row each', async () => {
    // A run during the other one is refused, and tried again.
    const run = async (): Promise<void> => {
      for (;;) {
        const { code, output } = await runProcess(cluster.env, ADMIN, ['retention', 'run']);
        if (code === 0) return;
        expect(output).toContain('another run is under way');
      }
    };
    await Promise.all([run(), run()]);
    const { runs } = (await admin('jobs')) as { runs: { name: string; error: string | null }[] };
    const ofRetention = runs.filter(({ name }) => name.includes('retention'));
    expect(ofRetention.map(({ error }) => error)).toEqual([null, null]);
  });

  it('the kill switch holds on both', async () => {
    await admin('kill-switch', 'read-only');
    for (const url of [one, two, cluster.url]) {
      const there = workspace.as(alice.at(url));
      await eventually(() => there.put('held-off', 'content').expect(503).expect('Retry-After', /\d/));
      await there.get('small').expect(200);
    }
    // nginx must not take an instance for dead because of 503 responses.
    await Promise.all(
      Array.from({ length: 8 }, (_, n) => workspace.put(`held-off-${n}`, 'content').expect(503)),
    );
    for (let read = 0; read < 20; read++) await workspace.get('small').expect(200);
    await admin('kill-switch', 'off');
    for (const [index, url] of [one, two].entries())
      await eventually(() => workspace.as(alice.at(url)).put(`after-${index}`, 'content').expect(201));
  });

  it('a killed instance causes no user-visible outage: nginx uses the other', async () => {
    const socket = await TestSocket.join(workspace.as(alice.at(two)), 'survivor');
    process.kill(cluster.instances[0]!.pid, 'SIGKILL');
    // URLs with tokens first: nginx logs an error for the one that reaches the dead instance.
    for (let opened = 0; opened < 4; opened++) {
      const throughNginx = await TestSocket.join(workspace.as(alice.at(cluster.url)), `late-${opened}`);
      await throughNginx.close();
    }
    for (let request = 0; request < 50; request++) await alice.get(workspace.path).expect(200);
    await workspace.put('afterwards', 'content').expect(201);
    await eventually(() => expect(socket.of('changes').length).toBeGreaterThan(0));
    await socket.close();
  });
});
