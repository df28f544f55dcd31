import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What the nightly jobs have done, and what they have left to do at the payment provider for accounts that are gone.
 * A run without an end is under way, or its process has died.
 */
export class Jobs1763600000014 implements MigrationInterface {
  readonly name = 'Jobs1763600000014';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE job_runs (
        id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
        name text NOT NULL,
        started_at timestamptz NOT NULL,
        ended_at timestamptz,
        counts json NOT NULL DEFAULT '{}',
        error text
      );
      CREATE INDEX job_runs_of_name ON job_runs (name, id);

      CREATE TABLE owed_cancellations (
        id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
        customer_id text,
        subscription_id text,
        since timestamptz NOT NULL,
        CHECK (customer_id IS NOT NULL OR subscription_id IS NOT NULL)
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE owed_cancellations, job_runs');
  }
}
