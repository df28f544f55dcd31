import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Reads all blobs, while others write. */
export class ValidCheckOfBlobs1763600000024 implements MigrationInterface {
  readonly name = 'ValidCheckOfBlobs1763600000024';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE blobs VALIDATE CONSTRAINT blobs_sha256_check');
  }

  /** What is valid may stay so. */
  down(): Promise<void> {
    return Promise.resolve();
  }
}
