import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * As the migration before for `sha256`, which each upload writes; in a transaction of its own, because uploads lock the
 * two tables in either order. Not valid yet, so that nobody waits while all blobs are read: the next migration does that.
 */
export class QuickCheckOfBlobs1763600000023 implements MigrationInterface {
  readonly name = 'QuickCheckOfBlobs1763600000023';

  async up(runner: QueryRunner): Promise<void> {
    await replaceCheck(runner, `(length(sha256) = 64 AND sha256 ~ '^[0-9a-f]*$') NOT VALID`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await replaceCheck(runner, `(sha256 ~ '^[0-9a-f]{64}$')`);
  }
}

async function replaceCheck(runner: QueryRunner, check: string): Promise<void> {
  await runner.query(
    `ALTER TABLE blobs DROP CONSTRAINT blobs_sha256_check, ADD CONSTRAINT blobs_sha256_check CHECK ${check}`,
  );
}
