import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLES = ['blobs', 'files', 'versions', 'changes', 'checkpoints', 'assets'];

/**
 * No statistics on which workspaces have how many rows. A workspace that was small or not there at the last ANALYZE and has grown
 * since would be taken for one of a row or two, and any index that begins with it for as good as the right one: rows
 * would be looked up by walking the whole workspace. Without statistics every workspace counts as a two-hundredth of the
 * table, and a whole key beats the half of one; but for tables of so few rows, which `PlannerStatistics` sees to.
 */
export class PlansByKey1763600000019 implements MigrationInterface {
  readonly name = 'PlansByKey1763600000019';

  async up(runner: QueryRunner): Promise<void> {
    for (const table of TABLES)
      await runner.query(`ALTER TABLE ${table} ALTER COLUMN workspace_id SET STATISTICS 0`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of TABLES)
      await runner.query(`ALTER TABLE ${table} ALTER COLUMN workspace_id SET STATISTICS -1`);
  }
}
