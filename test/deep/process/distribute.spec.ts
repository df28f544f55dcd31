import { runProcess } from '../../kit/process.js';

const DISTRIBUTE = 'dist/src/operations/admin/distribute.js';

it('npm run distribute takes no password from its arguments, which every user can see', async () => {
  for (const url of [
    'postgres://sync:hidden@127.0.0.1:1/sync',
    'postgres://127.0.0.1:1/sync?password=hidden',
  ]) {
    const { code, output } = await runProcess({}, DISTRIBUTE, ['--dry-run', '--database-url', url]);
    expect([code, output.trim()]).toEqual([
      1,
      'A password in --database-url is visible to every user; set DATABASE_URL, or DATABASE_URL_FILE to a file with it.',
    ]);
  }
});
