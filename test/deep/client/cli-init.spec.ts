import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import supertest from 'supertest';
import { Machine } from '../../kit/command-line.js';
import { elementOf, Visitor } from '../../kit/visitor.js';
import { PASSWORD, settle, useMachines } from '../../kit/cli-machines.js';

const machines = useMachines();

describe('init', () => {
  it('creates a vault with a token, and opens it on a second machine', async () => {
    const one = machines.machine('one');
    const made = await one.json(['init', one.folder]);
    expect(made).toMatchObject({
      ...{ code: 0, folder: one.folder, service: machines.service.url, isNew: true, keepsKey: true },
      workspace: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect(made.stderr).toMatch(/recovery key now/);
    const two = machines.machine('two');
    const unsaid = await two.run(['init', two.folder]);
    expect([unsaid.code, unsaid.stderr]).toEqual([2, expect.stringContaining(String(made['workspace']))]);
    const opened = await two.json(['init', two.folder, '--workspace', String(made['workspace'])]);
    expect(opened).toMatchObject({ code: 0, isNew: false });
  });

  it('signs in through the page of the service', async () => {
    const account = { email: 'handoff@example.org', password: 'correct horse battery staple' };
    await supertest(machines.service.url)
      .post('/api/auth/sign-up/email')
      .send({ ...account, name: 'Handoff' })
      .expect(200);
    const one = new Machine(join(machines.home, 'one'), {
      SYNC_URL: machines.service.url,
      VAULT_PASSWORD: PASSWORD,
    });
    const child = one.start(['init', one.folder, '--json']);
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    const asked = new Promise<string>((resolve) =>
      child.stderr.on('data', (chunk: Buffer) => {
        stderr += chunk.toString();
        const [, url] = /(http\S+desktop-handoff\S+)[^]*paste it here/.exec(stderr) ?? [];
        if (url !== undefined) resolve(url);
      }),
    );
    const url = new URL(await asked);
    const browser = new Visitor(machines.service.url, { Origin: machines.service.url });
    const page = await browser.get(url.pathname + url.search);
    expect(page.text).toContain(/code: (\S+)/.exec(stderr)?.[1]);
    const answer = await browser.submit(page, 'Sign in', account);
    const link = String(elementOf(answer, 'link')['value']);
    await trial(account);
    child.stdin.end(`${link}\n`);
    const [code] = (await once(child, 'close')) as [number];
    expect([code, stderr]).toEqual([0, expect.any(String)]);
    expect(JSON.parse(stdout)).toMatchObject({ isNew: true, folder: one.folder });
    const kept = JSON.parse(readFileSync(join(one.state, 'credentials.json'), 'utf8'));
    expect(kept).toEqual({ sessionToken: expect.any(String), service: machines.service.url });
    one.write('a.md', 'a');
    expect(await one.run(['sync', one.folder])).toMatchObject({ code: 0 });

    expect(await one.run(['sign-out', one.folder])).toMatchObject({ code: 0 });
    expect(await one.run(['sync', one.folder])).toMatchObject({ code: 5 });
    const answers = await supertest(machines.service.url)
      .get('/api/auth/token')
      .set({ Authorization: `Bearer ${kept.sessionToken}`, Origin: machines.service.url });
    expect(answers.status).toBe(401);
  });

  async function trial(account: { email: string; password: string }): Promise<void> {
    const { body } = await supertest(machines.service.url)
      .post('/api/auth/sign-in/email')
      .send(account)
      .expect(200);
    const bearer = { Authorization: `Bearer ${body.token}` };
    const token = (await supertest(machines.service.url).get('/api/auth/token').set(bearer).expect(200)).body
      .token;
    await supertest(machines.service.url)
      .post('/api/v1/subscription/trial')
      .set('Authorization', `Bearer ${token}`)
      .expect(200);
  }

  it('refuses the link of another attempt', async () => {
    const one = new Machine(join(machines.home, 'one'), {
      SYNC_URL: machines.service.url,
      VAULT_PASSWORD: PASSWORD,
    });
    const link = 'cloudsync://auth/callback?token=x&client_state=somebody-elses\n';
    const ended = await one.run(['init', one.folder], {}, link);
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringMatching(/does not belong to this attempt/)]);
    expect(existsSync(join(one.state, 'config.json'))).toBe(false);
  });

  it('keeps secrets outside the folder, readable only by their owner', async () => {
    const { one } = await machines.pair();
    for (const name of ['credentials.json', 'master-key', 'config.json', 'journal'])
      expect([name, statSync(join(one.state, name)).mode & 0o777]).toEqual([name, 0o600]);
    expect(statSync(one.state).mode & 0o777).toBe(0o700);
    expect(readdirSync(one.folder)).toEqual(['.cloud-sync']);
  });

  it('stores no key with --ask, and asks for the password each time', async () => {
    const one = machines.machine('one');
    await one.json(['init', one.folder, '--ask']);
    expect(existsSync(join(one.state, 'master-key'))).toBe(false);
    one.write('a.md', 'a');
    expect(await one.run(['sync', one.folder])).toMatchObject({ code: 0 });
    const wrong = await one.run(['sync', one.folder], { VAULT_PASSWORD: 'another' });
    expect([wrong.code, wrong.stderr]).toEqual([5, expect.stringMatching(/vault password is wrong/)]);
    const silent = await new Machine(one.home, { ACCESS_TOKEN: machines.user.token }).run([
      'sync',
      one.folder,
    ]);
    expect([silent.code, silent.stderr]).toEqual([5, expect.stringMatching(/variable VAULT_PASSWORD/)]);
  });

  it.each([
    ['in a folder that is synced', (one: Machine) => join(one.folder, 'sub'), /synced twice/],
    ['around a folder that is synced', (one: Machine) => one.home, /state of this client|synced twice/],
    ['in the state', (one: Machine) => join(one.stateHome, 'x'), /in the state of this client/],
    ['at a file', (one: Machine) => join(one.home, 'file'), /not a directory/],
  ])('refuses a folder %s', async (_, place, message) => {
    const one = machines.machine('one');
    await one.json(['init', one.folder]);
    writeFileSync(join(one.home, 'file'), '');
    const ended = await one.run(['init', place(one), '--new', 'Other']);
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringMatching(message)]);
  });

  it('signs in again, and keeps workspace and journal', async () => {
    const { one, workspace } = await machines.pair();
    one.write('a.md', 'a');
    await settle(one);
    expect(await one.json(['init', one.folder], { VAULT_PASSWORD: 'not asked for' })).toMatchObject({
      ...{ code: 0, workspace, isNew: false },
    });
    const other = await one.run(['init', one.folder, '--new', 'Other']);
    expect([other.code, other.stderr]).toEqual([2, expect.stringMatching(/sign-out --forget/)]);
    expect(await one.json(['sync', one.folder])).toMatchObject({ code: 0, files: 1, uploaded: [] });
  });
});
