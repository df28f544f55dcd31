import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Counters of the current minute. Unlogged: losing them in a crash costs nobody anything. */
export class RateLimits1763600000005 implements MigrationInterface {
  readonly name = 'RateLimits1763600000005';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE UNLOGGED TABLE rate_limits (
        key text PRIMARY KEY,
        window_start timestamptz NOT NULL,
        hits integer NOT NULL
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE rate_limits');
  }
}
