import type { MigrationInterface, QueryRunner } from 'typeorm';
import { migrations } from '../../src/platform/database/migrations/index.js';

/** Adds a column and a table. Uses nothing outside the class: `process/postgres-major-older-schema` writes its text into a build. */
class Palettes1999900000001 implements MigrationInterface {
  readonly name = 'Palettes1999900000001';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE workspaces ADD COLUMN colour text');
    await runner.query(`
      CREATE TABLE palettes (
        workspace_id uuid PRIMARY KEY REFERENCES workspaces (id) ON DELETE CASCADE,
        colours text[] NOT NULL
      )
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE palettes');
    await runner.query('ALTER TABLE workspaces DROP COLUMN colour');
  }
}

/** Adds an index, which is built while other transactions write. Rebuilds an index that a crash left incomplete. */
class LargeFiles1999900000002 implements MigrationInterface {
  readonly name = 'LargeFiles1999900000002';
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX CONCURRENTLY IF EXISTS files_large');
    await runner.query('CREATE INDEX CONCURRENTLY files_large ON files (workspace_id, encrypted_size)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX files_large');
  }
}

/**
 * Fills the column page by page, so that no row is locked longer than by an upload. A run that a crash interrupted is
 * repeated, and finds the rest.
 */
class FilledColours1999900000003 implements MigrationInterface {
  readonly name = 'FilledColours1999900000003';
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    for (let above: string | undefined = '00000000-0000-0000-0000-000000000000'; above !== undefined;) {
      const page = (await runner.query(
        'SELECT id FROM workspaces WHERE id > $1 AND colour IS NULL ORDER BY id LIMIT 2',
        [above],
      )) as { id: string }[];
      for (const { id } of page)
        await runner.query(`UPDATE workspaces SET colour = 'grey' WHERE id = $1`, [id]);
      above = page.at(-1)?.id;
    }
  }

  /** The migration that added the column drops it. */
  down(): Promise<void> {
    return Promise.resolve();
  }
}

/** Migrations of a later version: one of each kind in CONTRIBUTING.md. */
export const PLANTED = [Palettes1999900000001, LargeFiles1999900000002, FilledColours1999900000003];

/** Makes this process the later version, for what starts from now on. @returns a function that undoes this */
export function plantMigrations(): () => void {
  const released = migrations.length;
  migrations.push(...PLANTED);
  return () => void migrations.splice(released);
}

/** The migrations of a version with the baseline and the first of the planted ones. */
export const withPlanted = (count: number): (new () => MigrationInterface)[] => [
  ...migrations.filter((one) => !(PLANTED as unknown[]).includes(one)),
  ...PLANTED.slice(0, count),
];

/** The migrations of this version. */
export const THIS_NAMES = withPlanted(0).map(({ name }) => name);
