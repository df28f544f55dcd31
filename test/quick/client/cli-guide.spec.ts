import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EXIT } from '../../../client/src/cli/exit-codes.js';
import { Machine } from '../../kit/command-line.js';
import { text } from '../../kit/deployment.js';

const guide = text('docs/guide/sync-a-folder.md');
const listings = new Map(
  [...guide.matchAll(/^```\w+ file=(\S+)\n(.*?)^```$/gms)].map(([, name = '', body = '']) => [name, body]),
);

/** The first cells of the table below a heading. */
function firstCells(heading: string): string[] {
  const [, section = ''] = guide.split(new RegExp(`^#+ ${heading}$`, 'm'));
  const rows = section.split(/^#/m)[0]!.matchAll(/^\| (?!--)(.*?) \|/gm);
  return [...rows].map(([, cell = '']) => cell).slice(1);
}

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'cli-guide-'));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

describe('docs/guide/sync-a-folder.md', () => {
  it('lists every exit code', () => {
    expect(firstCells('Exit codes').map(Number)).toEqual(Object.values(EXIT));
  });

  it('lists only commands that exist, and every command is in some guide', async () => {
    const { stdout } = await new Machine(home, {}).run(['--help']);
    const [, list = ''] = stdout.split('Commands:');
    const commands = [...list.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name = '']) => name);
    const documented = firstCells('Commands').map((cell) => /^`([a-z-]+)/.exec(cell)?.[1]);
    expect(commands).toEqual(expect.arrayContaining(documented));
    const guides = readdirSync(join(import.meta.dirname, '../../../docs/guide')).filter((name) =>
      name.endsWith('.md'),
    );
    const all = guides.map((name) => text(`docs/guide/${name}`)).join('\n');
    const absent = commands.filter(
      (name) => name !== 'help' && !new RegExp(`\`(cloud-sync )?${name}[ \`]`).test(all),
    );
    expect(absent).toEqual([]);
  });

  it('lists every event of watch', () => {
    const source = text('client/src/cli/watch/events.ts');
    const told = [...source.matchAll(/event: (?:isConnected \? )?'([a-z-]+)'(?: : '([a-z-]+)')?/g)];
    const events = told.flatMap(([, ...names]) => names.filter((name) => name !== undefined));
    const documented = firstCells('Keep in sync').flatMap((cell) => cell.replaceAll('`', '').split(', '));
    expect(documented.sort()).toEqual(events.sort());
  });

  it('lists only state files that the program writes', () => {
    const sources = ['synced-folder', 'settings'].map((name) => text(`client/src/cli/${name}.ts`)).join('\n');
    for (const cell of firstCells('Where the state is'))
      expect([cell, sources.includes(`'${cell.replaceAll('`', '')}'`)]).toEqual([cell, true]);
  });
});

describe('the systemd unit', () => {
  const unit = listings.get('cloud-sync.service') ?? '';
  const valuesOf = (key: string): string[] =>
    [...unit.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value = '']) => value);

  it('runs watch, and does not restart it after a usage error or when a sign-in is needed', () => {
    expect(valuesOf('ExecStart')).toEqual(['/usr/bin/env cloud-sync watch %h/Notes']);
    expect(valuesOf('RestartPreventExitStatus')).toEqual([`${EXIT.usage} ${EXIT.signInNeeded}`]);
    expect(unit.match(/^\[.*\]$/gm)).toEqual(['[Unit]', '[Service]', '[Install]']);
    for (const line of unit.split('\n')) expect(line).toMatch(/^(|#.*|\[\w+\]|\w+=\S.*)$/);
  });

  const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
  (hasSystemd ? it : it.skip)('is accepted by systemd-analyze', () => {
    const file = join(home, 'cloud-sync.service');
    writeFileSync(file, unit);
    const env = { ...process.env, XDG_RUNTIME_DIR: home, HOME: home };
    const printed = execFileSync('systemd-analyze', ['verify', '--user', '--man=no', file], {
      env,
      encoding: 'utf8',
    });
    expect(printed).toBe('');
  });
});

describe('the launchd file', () => {
  const plist = listings.get('org.example.cloud-sync.plist') ?? '';

  it('is well-formed, and has a value for each key', () => {
    const open: string[] = [];
    for (const [, end, name = '', empty] of plist.matchAll(/<(\/?)([a-z]+)[^>?!]*?(\/?)>/g)) {
      if (end) expect(open.pop()).toBe(name);
      else if (!empty) open.push(name);
    }
    expect(open).toEqual([]);
    const dictionary = plist.slice(plist.indexOf('<dict>'));
    const keys = [...dictionary.matchAll(/<key>(\w+)<\/key>\s*<(string|integer|array|dict|true|false)\b/g)];
    expect(keys).toHaveLength([...dictionary.matchAll(/<key>/g)].length);
  });

  it('runs watch, and restarts it only after a failure', () => {
    const words = /<array>(.*?)<\/array>/s.exec(plist)?.[1] ?? '';
    const args = [...words.matchAll(/<string>(.*?)<\/string>/g)].map(([, word]) => word);
    expect(args).toEqual(['/usr/local/bin/cloud-sync', 'watch', '/Users/ada/Notes']);
    expect(plist).toMatch(/<key>SuccessfulExit<\/key>\s*<false\/>/);
    expect(/<key>Umask<\/key>\s*<integer>(\d+)</.exec(plist)?.[1]).toBe(String(0o077));
  });
});
