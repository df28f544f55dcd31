import type { MigrationInterface, QueryRunner } from 'typeorm';

/** But the workspace's and the content's, of which no plan needs to know anything. */
const COLUMNS = ['id', 'state', 'location', 'size', 'sha256', 'not_before', 'created_at', 'claimed_until'];

/**
 * A tenth of the usual sample. Rows are sampled whole, and one holds a content of up to 2 kB: ANALYZE of a table of small contents
 * took 62 MiB for 30,000 of them, each time it had grown by a tenth. All plans need to know is what `state` and `location` are mostly.
 */
export class SmallSamplesOfBlobs1763600000021 implements MigrationInterface {
  readonly name = 'SmallSamplesOfBlobs1763600000021';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE blobs ALTER COLUMN bytes SET STATISTICS 0');
    for (const column of COLUMNS)
      await runner.query(`ALTER TABLE blobs ALTER COLUMN ${column} SET STATISTICS 10`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const column of ['bytes', ...COLUMNS])
      await runner.query(`ALTER TABLE blobs ALTER COLUMN ${column} SET STATISTICS -1`);
  }
}
