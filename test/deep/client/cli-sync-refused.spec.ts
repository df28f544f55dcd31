import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { Machine } from '../../kit/command-line.js';
import { PASSWORD, settle, useMachines } from '../../kit/cli-machines.js';

const machines = useMachines();

describe('sync', () => {
  it('needs --yes for many deletions without a terminal, and otherwise exits with 4', async () => {
    const { one, two } = await machines.pair();
    for (let index = 0; index < 30; index++) one.write(`n/${index}.md`, `${index}`);
    await settle(one, two);
    rmSync(join(one.folder, 'n'), { recursive: true });
    expect(await one.json(['sync', one.folder, '--dry-run'])).toMatchObject({
      code: 4,
      massDeletions: [{ direction: 'on the server', count: 30, of: 30 }],
    });
    one.write('new.md', 'new');
    const refused = await one.json(['sync', one.folder]);
    expect(refused).toMatchObject({ code: 4, unconfirmed: ['on the server'], uploaded: ['new.md'] });
    await settle(two);
    expect(Object.keys(two.files())).toHaveLength(31);
    expect(await one.run(['sync', one.folder, '--yes'])).toMatchObject({ code: 0 });
    expect(await two.json(['sync', two.folder])).toMatchObject({ code: 4, unconfirmed: ['here'] });
    expect(await two.run(['sync', two.folder, '--yes'])).toMatchObject({ code: 0 });
    expect(two.files()).toEqual({ 'new.md': 'new' });
  });

  it('asks on a terminal about many deletions and for a password, which is not shown', async () => {
    const { one } = await machines.pair();
    for (let index = 0; index < 30; index++) one.write(`n/${index}.md`, `${index}`);
    await settle(one);
    rmSync(join(one.folder, 'n'), { recursive: true });
    rmSync(join(one.state, 'master-key'));
    const answers = [
      ['Password of the vault: ', `${PASSWORD}\n`],
      ['Delete 30 of 30 files on the server', 'n\n'],
    ] as const;
    const env = { ACCESS_TOKEN: machines.user.token };
    const asked = await onTerminal(new Machine(one.home, env), ['sync', one.folder], answers);
    expect([asked.code, asked.text]).toEqual([4, expect.stringContaining('[y/N] n')]);
    expect(asked.text).not.toContain(PASSWORD);
    const yes = [answers[0], [answers[1][0], 'y\n']] as const;
    const done = await onTerminal(new Machine(one.home, env), ['sync', one.folder], yes);
    expect([done.code, done.text]).toEqual([0, expect.stringContaining('deleted on the server: 10 more')]);
  });

  it('exits with 1 without the service, and with 5 without access', async () => {
    const { one } = await machines.pair();
    const config = join(one.state, 'config.json');
    const credentials = join(one.state, 'credentials.json');
    const kept = readFileSync(credentials, 'utf8');
    writeFileSync(credentials, '{"accessToken":"revoked"}');
    const denied = await one.json(['sync', one.folder]);
    writeFileSync(credentials, kept);
    expect(denied).toMatchObject({ code: 5, stopped: expect.stringMatching(/401/) });
    for (const [file, text] of [
      [config, readFileSync(config, 'utf8')],
      [credentials, kept],
    ] as const)
      writeFileSync(file, text.replace(machines.service.url, 'http://127.0.0.1:1'));
    const away = await one.json(['sync', one.folder]);
    expect(away).toMatchObject({ code: 1, stopped: expect.stringMatching(/gave no whole answer/) });
    expect(await one.json(['status', one.folder, '--offline'])).toMatchObject({
      ...{ code: 0, next: null, lastSync: { exitCode: 1, stopped: away['stopped'] } },
    });
  });

  it('refuses a folder that has lost its marker', async () => {
    const { one } = await machines.pair();
    one.write('a.md', 'a');
    await settle(one);
    rmSync(one.folder, { recursive: true });
    mkdirSync(one.folder);
    const ended = await one.run(['sync', one.folder]);
    expect([ended.code, ended.stderr]).toEqual([1, expect.stringMatching(/lost its marker/)]);
    expect((await one.json(['doctor', one.folder])).code).toBe(1);
    expect(readdirSync(one.folder)).toEqual([]); // an empty mount point stays empty
    expect(await one.run(['sign-out', one.folder, '--forget'])).toMatchObject({ code: 0 });
    expect(readdirSync(one.stateHome)).toEqual([]);
  });
});

/** Runs a command on a terminal, and types each answer after its question. */
async function onTerminal(
  one: Machine,
  args: readonly string[],
  answers: readonly (readonly [question: string, answer: string])[],
): Promise<{ code: number; text: string }> {
  const child = one.onTerminal(args);
  const left = [...answers];
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    const [next] = left;
    if (!next || !text.includes(next[0])) return;
    left.shift();
    child.stdin.write(next[1]);
  });
  const [code] = (await once(child, 'close')) as [number];
  // Readline moves the cursor to draw what is typed.
  return { code, text: stripVTControlCharacters(text) };
}
