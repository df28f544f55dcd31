import type { MigrationInterface, QueryRunner } from 'typeorm';

/** One row at most: what the operator has set last. */
export class KillSwitch1763600000016 implements MigrationInterface {
  readonly name = 'KillSwitch1763600000016';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE kill_switch (
        id boolean PRIMARY KEY DEFAULT true CHECK (id),
        mode text NOT NULL CHECK (mode IN ('off', 'read-only', 'down')),
        set_at timestamptz NOT NULL
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE kill_switch');
  }
}
